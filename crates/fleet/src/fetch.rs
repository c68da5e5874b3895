//! `fleet fetch`: the same read over and over, or reads of names that nobody registered. Called by `lib.rs`.

use std::num::NonZeroUsize;
use std::str::FromStr;
use std::time::Duration;

use clap::{ArgAction, Args};

use crate::cli::{RunOptions, TargetOptions};
use crate::connection::Target;
use crate::load::{Load, Pace, Requests};
use crate::report::Report;
use crate::request::{Encoding, Format, Read, RequestWriter};

#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(flatten)]
    target: TargetOptions,
    /// What to read: `full`, `delta`, `app:NAME`, or `unknown` (applications and addresses that nobody registered,
    /// another one with each read; the 404 of an application counts as a failure).
    #[arg(long, default_value = "full")]
    what: What,
    /// Absolute path to read in place of `--what`, without the prefix.
    #[arg(long)]
    path: Option<String>,
    /// Document format to ask for.
    #[arg(long, value_enum, default_value = "json")]
    format: Format,
    /// Whether to ask for gzip.
    #[arg(long, action = ArgAction::Set, default_value_t = true)]
    gzip: bool,
    /// Reads per second, evenly spread [default: flat out].
    #[arg(long)]
    rate: Option<NonZeroUsize>,
    /// How long to read.
    #[arg(long, default_value = "10s", value_parser = humantime::parse_duration)]
    duration: Duration,
    /// Read at most this many times.
    #[arg(long)]
    count: Option<u64>,
    /// Connections kept alive, each with one request at a time.
    #[arg(long, default_value = "4")]
    connections: NonZeroUsize,
}

/// A document of the registry.
#[derive(Debug, Clone, PartialEq, Eq)]
enum What {
    Full,
    Delta,
    App(String),
    Unknown,
}

pub(crate) async fn run(options: &Options, run: &RunOptions) -> anyhow::Result<Report> {
    let encoding = if options.gzip { Encoding::Gzip } else { Encoding::Identity };
    let writer = RequestWriter::new(&options.target.target, &options.target.prefix);
    let load = Load {
        target: Target::resolve(&options.target).await?,
        connections: options.connections,
        pace: match options.rate {
            Some(rate) => Pace::Every(Duration::from_secs(1).div_f64(rate.get() as f64)),
            None => Pace::FlatOut,
        },
        duration: Some(options.duration),
        count: options.count,
        pid: run.pid,
    };
    let outcome = match (&options.path, options.what.path()) {
        (Some(path), _) => {
            let request = writer.read_absolute(Read::Get, path, options.format, encoding);
            load.run(|_| Repeated { request: request.clone() }).await?
        }
        (None, Some(path)) => {
            let request = writer.read(Read::Get, &path, options.format, encoding);
            load.run(|_| Repeated { request: request.clone() }).await?
        }
        (None, None) => {
            let (format, step) = (options.format, options.connections.get());
            load.run(|next| Unknown { writer: writer.clone(), format, encoding, next, step, request: Vec::new() })
                .await?
        }
    };
    Ok(Report::load("fetch", &options.target.target, options.connections.get(), outcome))
}

struct Repeated {
    request: Vec<u8>,
}

impl Requests for Repeated {
    fn next(&mut self) -> Option<&[u8]> {
        Some(&self.request)
    }
}

/// Every `step`th of the names that nobody registered, each once.
struct Unknown {
    writer: RequestWriter,
    format: Format,
    encoding: Encoding,
    next: usize,
    step: usize,
    request: Vec<u8>,
}

impl Requests for Unknown {
    fn next(&mut self) -> Option<&[u8]> {
        self.request = self.writer.read(Read::Get, &unknown(self.next), self.format, self.encoding);
        self.next += self.step;
        Some(&self.request)
    }
}

/// The path of the `number`th name that nobody registered: an application or an address of either kind.
fn unknown(number: usize) -> String {
    let kind = ["apps", "vips", "svips"];
    let kind = kind.get(number % kind.len()).copied().unwrap_or("apps");
    format!("/{kind}/UNKNOWN-{number:08}")
}

impl What {
    /// The path of one document; nothing where each read has another one.
    fn path(&self) -> Option<String> {
        match self {
            Self::Full => Some("/apps/".to_owned()),
            Self::Delta => Some("/apps/delta".to_owned()),
            Self::App(name) => Some(format!("/apps/{name}")),
            Self::Unknown => None,
        }
    }
}

impl FromStr for What {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "full" => Ok(Self::Full),
            "delta" => Ok(Self::Delta),
            "unknown" => Ok(Self::Unknown),
            other => match other.strip_prefix("app:") {
                Some(name) if !name.is_empty() => Ok(Self::App(name.to_owned())),
                Some(_) | None => Err("expected full, delta, unknown or app:NAME".to_owned()),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_to_read_becomes_a_path() {
        for (text, path) in [
            ("full", Ok(Some("/apps/"))),
            ("delta", Ok(Some("/apps/delta"))),
            ("app:FLEET-0001", Ok(Some("/apps/FLEET-0001"))),
            ("unknown", Ok(None)),
            ("app:", Err(())),
            ("all", Err(())),
        ] {
            let read = text.parse::<What>().map(|what| what.path()).map_err(|_| ());
            assert_eq!(read, path.map(|path| path.map(str::to_owned)), "{text}");
        }
    }
    #[test]
    fn each_connection_reads_unknown_names_of_its_own() {
        let mut seen = std::collections::BTreeSet::new();
        for connection in 0..4 {
            let writer = RequestWriter::new("localhost", "/eureka");
            let (format, encoding) = (Format::Json, Encoding::Identity);
            let mut reads = Unknown { writer, format, encoding, next: connection, step: 4, request: Vec::new() };
            for _ in 0..6 {
                assert!(seen.insert(reads.next().map(<[u8]>::to_vec)));
            }
        }
        for kind in ["apps", "vips", "svips"] {
            assert!(seen.iter().flatten().any(|read| read.starts_with(format!("GET /eureka/{kind}/").as_bytes())));
        }
    }
}
