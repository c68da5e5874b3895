//! `fleet fetch`: the same read over and over. Called by `lib.rs`.

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
    /// What to read: `full`, `delta` or `app:NAME`.
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
}

pub(crate) async fn run(options: &Options, run: &RunOptions) -> anyhow::Result<Report> {
    let encoding = if options.gzip { Encoding::Gzip } else { Encoding::Identity };
    let writer = RequestWriter::new(&options.target.target, &options.target.prefix);
    let request = match &options.path {
        Some(path) => writer.read_absolute(Read::Get, path, options.format, encoding),
        None => writer.read(Read::Get, &options.what.path(), options.format, encoding),
    };
    let load = Load {
        target: Target::resolve(&options.target).await?,
        connections: options.connections,
        pace: Pace::FlatOut,
        duration: Some(options.duration),
        count: options.count,
        pid: run.pid,
    };
    let outcome = load.run(|_| Repeated { request: request.clone() }).await?;
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

impl What {
    fn path(&self) -> String {
        match self {
            Self::Full => "/apps/".to_owned(),
            Self::Delta => "/apps/delta".to_owned(),
            Self::App(name) => format!("/apps/{name}"),
        }
    }
}

impl FromStr for What {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "full" => Ok(Self::Full),
            "delta" => Ok(Self::Delta),
            other => match other.strip_prefix("app:") {
                Some(name) if !name.is_empty() => Ok(Self::App(name.to_owned())),
                Some(_) | None => Err("expected full, delta or app:NAME".to_owned()),
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
            ("full", Ok("/apps/")),
            ("delta", Ok("/apps/delta")),
            ("app:FLEET-0001", Ok("/apps/FLEET-0001")),
            ("app:", Err(())),
            ("all", Err(())),
        ] {
            let read = text.parse::<What>().map(|what| what.path()).map_err(|_| ());
            assert_eq!(read, path.map(str::to_owned), "{text}");
        }
    }
}
