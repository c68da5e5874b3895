//! `fleet renew`: heartbeats of the whole fleet, round robin. Called by `lib.rs`.

use std::num::NonZeroUsize;
use std::ops::Range;
use std::time::Duration;

use clap::Args;

use crate::cli::RunOptions;
use crate::load::{Load, Pace, Requests};
use crate::population::Population;
use crate::register::{Fleet, FleetFirst};
use crate::report::Report;
use crate::request::RequestWriter;

#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(flatten)]
    first: FleetFirst,
    /// Every instance renews once in this time, evenly spread. A request that is late is sent at once and its latency
    /// counts from when it was due.
    #[arg(long, default_value = "30s", value_parser = humantime::parse_duration, conflicts_with = "flat_out")]
    interval: Duration,
    /// Each connection sends the next renewal as soon as the answer is in.
    #[arg(long)]
    flat_out: bool,
    /// How long to send.
    #[arg(long, default_value = "10s", value_parser = humantime::parse_duration)]
    duration: Duration,
    /// Send at most this many renewals.
    #[arg(long)]
    count: Option<u64>,
    /// Connections kept alive, each with one request at a time.
    #[arg(long, default_value = "64")]
    connections: NonZeroUsize,
}

pub(crate) async fn run(options: &Options, run: &RunOptions) -> anyhow::Result<Report> {
    // More connections than instances would leave some without anything to renew.
    let connections = options.connections.min(options.first.fleet.fleet.instances);
    let Fleet { population, writer, target } = options.first.prepare(connections, run).await?;
    let pace =
        if options.flat_out { Pace::FlatOut } else { Pace::Every(options.interval.div_f64(population.len() as f64)) };
    let load = Load { target, connections, pace, duration: Some(options.duration), count: options.count, pid: run.pid };
    let outcome = load.run(|number| Renewals::prepare(&writer, &population, number, connections.get())).await?;
    Ok(Report::load("renew", options.first.fleet.address(), connections.get(), outcome))
}

/// The renewals of every `step`th instance over and over, made ahead in one piece of memory that is walked in order.
struct Renewals {
    bytes: Vec<u8>,
    requests: Vec<Range<usize>>,
    next: usize,
}

impl Renewals {
    fn prepare(writer: &RequestWriter, population: &Population, first: usize, step: usize) -> Self {
        let mut bytes = Vec::new();
        let mut requests = Vec::new();
        for instance in (first..population.len()).step_by(step) {
            let start = bytes.len();
            writer.renew(population, instance, &mut bytes);
            requests.push(start..bytes.len());
        }
        Self { bytes, requests, next: 0 }
    }
}

impl Requests for Renewals {
    fn next(&mut self) -> Option<&[u8]> {
        let range = self.requests.get(self.next)?.clone();
        self.next = if self.next + 1 == self.requests.len() { 0 } else { self.next + 1 };
        self.bytes.get(range)
    }
}
