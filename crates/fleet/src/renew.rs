//! `fleet renew`: heartbeats of the whole fleet, round robin. Called by `lib.rs`.

use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;

use crate::cli::{FleetOptions, RunOptions, TargetOptions};
use crate::connection::Target;
use crate::load::{Load, Pace, Requests};
use crate::population::Population;
use crate::register;
use crate::report::Report;
use crate::request::RequestWriter;

#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(flatten)]
    target: TargetOptions,
    #[command(flatten)]
    fleet: FleetOptions,
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
    /// Register the whole fleet before measuring.
    #[arg(long)]
    register_first: bool,
}

pub(crate) async fn run(options: &Options, run: &RunOptions) -> anyhow::Result<Report> {
    let population = Arc::new(Population::new(&options.fleet));
    // More connections than instances would leave some without anything to renew.
    let connections = options.connections.min(options.fleet.instances);
    if options.register_first {
        register::first(&options.target, &population, connections, run).await?;
    }
    let writer = RequestWriter::new(&options.target.target, &options.target.prefix);
    let pace =
        if options.flat_out { Pace::FlatOut } else { Pace::Every(options.interval.div_f64(population.len() as f64)) };
    let load = Load {
        target: Target::resolve(&options.target).await?,
        connections,
        pace,
        duration: Some(options.duration),
        count: options.count,
        pid: run.pid,
    };
    let outcome = load.run(|number| Renewals::prepare(&writer, &population, number, connections.get())).await?;
    Ok(Report::load("renew", &options.target.target, connections.get(), outcome))
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
