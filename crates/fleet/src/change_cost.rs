//! `fleet change-cost`: the server CPU that one registration takes until the full payload is ready to send again. Called
//! by `lib.rs`.
//!
//! The payload is asked for with HEAD, for which a server does everything but write the body. The server promises that a
//! client reads its own writes, so the first HEAD behind a registration waits for the new payload. A HEAD with nothing
//! changed is measured beside each change and its median taken off.

use std::num::NonZeroUsize;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail};
use clap::Args;
use serde::Serialize;
use tokio::time::sleep;

use crate::cli::RunOptions;
use crate::connection::Connection;
use crate::cpu::{Memory, WatchedProcess};
use crate::population::{Version, mix};
use crate::register::{Fleet, FleetFirst};
use crate::report::{Report, memory_in_words};
use crate::request::{Encoding, Format, Read};
use crate::response::{Expect, Response};

#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(flatten)]
    first: FleetFirst,
    /// Number of changes to measure.
    #[arg(long, default_value = "200")]
    samples: NonZeroUsize,
    /// Document format of the payload.
    #[arg(long, value_enum, default_value = "json")]
    format: Format,
    /// Register a new instance in each sample (and cancel it outside the measured span) in place of changing one.
    #[arg(long)]
    new: bool,
    /// Wait this long behind the HEAD before reading the CPU time, to include what the server does afterwards.
    #[arg(long, default_value = "2ms", value_parser = humantime::parse_duration)]
    settle: Duration,
}

/// CPU times in microseconds.
#[derive(Debug, Serialize)]
pub(crate) struct ChangeCost {
    command: &'static str,
    target: String,
    samples: usize,
    /// Of a HEAD with nothing changed.
    head_cpu_us: Spread,
    /// Of a change, the median HEAD taken off.
    change_cpu_us: Spread,
    /// How often the payload's declared length was another one behind the change: far below `samples` means that the
    /// HEAD did not wait for the change and the figure is too small.
    payload_changed: usize,
    /// Requests that failed.
    pub(crate) failed: u64,
    first_failure: Option<String>,
    #[serde(flatten)]
    memory: Memory,
}

/// Median, 90th percentile and mean.
#[derive(Debug, Serialize)]
struct Spread {
    p50: f64,
    p90: f64,
    mean: f64,
}

pub(crate) async fn run(options: &Options, run: &RunOptions) -> anyhow::Result<Report> {
    let Some(pid) = run.pid else { bail!("change-cost needs --pid, the server's process id") };
    let server = WatchedProcess::open(pid)?;
    let connections = options.first.fleet.fleet.instances.min(NonZeroUsize::MIN.saturating_add(15));
    let Fleet { population, writer, target } = options.first.prepare(connections, run).await?;
    let mut client = Client {
        connection: Connection::open(target).await.context("connect to the target")?,
        head: writer.read(Read::Head, "/apps/", options.format, Encoding::Gzip),
        server,
        settle: options.settle,
        failed: 0,
        first_failure: None,
    };
    let mut measured = Measured::default();
    let dirty = now_millis()?;
    // The first one may have to fill a cache.
    client.settled_head().await?;
    for sample in 0..options.samples.get() {
        let dirty = dirty + sample as u64;
        let version = Version { dirty, build: mix(dirty) };
        let mut change = Vec::new();
        let mut undo = Vec::new();
        if options.new {
            let instance = population.len() + sample;
            writer.register(&population, instance, version, &mut change);
            writer.cancel(&population, instance, &mut undo);
        } else {
            writer.register(&population, spread(sample, population.len()), version, &mut change);
        }
        measured.add(client.measure(&change).await?);
        if !undo.is_empty() {
            client.send(&undo, Expect::Body).await?;
            client.settled_head().await?;
        }
    }
    let head_cpu_us = Spread::of(&mut measured.heads);
    for cost in &mut measured.changes {
        *cost -= head_cpu_us.p50;
    }
    Ok(Report::ChangeCost(ChangeCost {
        command: "change-cost",
        target: options.first.fleet.address().to_owned(),
        samples: options.samples.get(),
        change_cpu_us: Spread::of(&mut measured.changes),
        head_cpu_us,
        payload_changed: measured.payload_changed,
        failed: client.failed,
        first_failure: client.first_failure,
        memory: server.memory()?,
    }))
}

struct Client {
    connection: Connection,
    head: Vec<u8>,
    server: WatchedProcess,
    settle: Duration,
    failed: u64,
    first_failure: Option<String>,
}

/// CPU times of one sample.
struct Sample {
    head: Duration,
    change: Duration,
    payload_changed: bool,
}

impl Client {
    /// One HEAD alone, then one behind a change.
    async fn measure(&mut self, change: &[u8]) -> anyhow::Result<Sample> {
        let start = self.server.total()?;
        let unchanged = self.settled_head().await?;
        let between = self.server.total()?;
        self.send(change, Expect::Body).await?;
        let changed = self.settled_head().await?;
        let end = self.server.total()?;
        Ok(Sample {
            head: between.saturating_sub(start),
            change: end.saturating_sub(between),
            payload_changed: changed.content_length != unchanged.content_length,
        })
    }

    async fn settled_head(&mut self) -> anyhow::Result<Response> {
        let head = std::mem::take(&mut self.head);
        let result = self.send(&head, Expect::HeadOnly).await;
        self.head = head;
        if !self.settle.is_zero() {
            sleep(self.settle).await;
        }
        result
    }

    /// A refused request is counted; one without an answer ends the run, because its cost is unknown.
    async fn send(&mut self, request: &[u8], expect: Expect) -> anyhow::Result<Response> {
        let response = self.connection.exchange(request, expect).await.context("send a request")?;
        if !response.is_success() {
            self.failed += 1;
            let excerpt = self.connection.excerpt();
            self.first_failure.get_or_insert_with(|| format!("status {} {excerpt}", response.status));
        }
        Ok(response)
    }
}

#[derive(Debug, Default)]
struct Measured {
    heads: Vec<f64>,
    changes: Vec<f64>,
    payload_changed: usize,
}

impl Measured {
    fn add(&mut self, sample: Sample) {
        self.heads.push(sample.head.as_secs_f64() * 1e6);
        self.changes.push(sample.change.as_secs_f64() * 1e6);
        self.payload_changed += usize::from(sample.payload_changed);
    }
}

impl Spread {
    /// Sorts the values.
    fn of(values: &mut [f64]) -> Self {
        values.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let rank = (share * values.len() as f64).ceil() as usize;
            values.get(rank.saturating_sub(1)).copied().unwrap_or_default()
        };
        let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
        Self { p50: at(0.5), p90: at(0.9), mean }
    }
}

impl ChangeCost {
    pub(crate) fn rows(&self) -> Vec<(&'static str, String)> {
        let words =
            |spread: &Spread| format!("median {:.1}, p90 {:.1}, mean {:.1}", spread.p50, spread.p90, spread.mean);
        let mut rows = vec![
            ("command", format!("{} {}, {} samples", self.command, self.target, self.samples)),
            ("HEAD alone, CPU µs", words(&self.head_cpu_us)),
            ("one change, CPU µs", words(&self.change_cpu_us)),
            ("payload length changed", format!("{} of {}", self.payload_changed, self.samples)),
            ("failed", self.failed.to_string()),
        ];
        if let Some(failure) = &self.first_failure {
            rows.push(("first failure", failure.clone()));
        }
        rows.push(("server memory", memory_in_words(&self.memory)));
        rows
    }
}

/// Instances far from each other, so that no two samples in a row touch the same part of the payload.
fn spread(sample: usize, instances: usize) -> usize {
    (mix(sample as u64) % instances.max(1) as u64) as usize
}

/// Milliseconds since 1970.
fn now_millis() -> anyhow::Result<u64> {
    #[expect(clippy::disallowed_methods, reason = "a stamp must be newer than those of an earlier run on this server")]
    let now = SystemTime::now();
    let since = now.duration_since(UNIX_EPOCH).context("read the clock")?;
    u64::try_from(since.as_millis()).context("read the clock")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_the_nearest_rank() {
        for (values, p50, p90) in [
            (vec![], 0.0, 0.0),
            (vec![7.0], 7.0, 7.0),
            (vec![3.0, 1.0, 2.0], 2.0, 3.0),
            ((1..=10).rev().map(f64::from).collect(), 5.0, 9.0),
        ] {
            let spread = Spread::of(&mut values.clone());
            assert_eq!((spread.p50, spread.p90), (p50, p90), "{values:?}");
        }
    }
}
