//! `fleet churn`: a steady rate of changes that leaves the fleet as it was. Called by `lib.rs`.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, ValueEnum};

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
    /// Changes per second; each request is one change.
    #[arg(long, default_value = "100")]
    rate: NonZeroUsize,
    /// How long to send. Each instance in hand is brought back to where it was before the run ends.
    #[arg(long, default_value = "60s", value_parser = humantime::parse_duration)]
    duration: Duration,
    /// Make about this many changes at most; an instance in hand is finished.
    #[arg(long)]
    count: Option<u64>,
    /// Which changes to make.
    #[arg(long, value_enum, default_value = "both")]
    kind: Kind,
    /// Connections kept alive, each with one request at a time.
    #[arg(long, default_value = "8")]
    connections: NonZeroUsize,
}

/// Which changes an instance goes through in its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// Cancel, then register.
    Registration,
    /// Out of service, then back in service.
    Status,
    /// All four.
    Both,
}

/// One request of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Cancel,
    Register,
    TakeOutOfService,
    ReturnToService,
}

pub(crate) async fn run(options: &Options, run: &RunOptions) -> anyhow::Result<Report> {
    // An instance belongs to one connection only, so that its changes keep their order.
    let connections = options.connections.min(options.first.fleet.fleet.instances);
    let Fleet { population, writer, target } = options.first.prepare(connections, run).await?;
    let load = Load {
        target,
        connections,
        pace: Pace::Every(Duration::from_secs(1).div_f64(options.rate.get() as f64)),
        duration: Some(options.duration),
        count: options.count,
        pid: run.pid,
    };
    let outcome = load
        .run(|number| Changes {
            writer: writer.clone(),
            population: population.clone(),
            steps: options.kind.steps(),
            connection: number,
            stride: connections.get(),
            instance: number,
            position: 0,
            request: Vec::new(),
        })
        .await?;
    Ok(Report::load("churn", options.first.fleet.address(), connections.get(), outcome))
}

/// The changes of every `stride`th instance, one instance after another, over and over.
struct Changes {
    writer: RequestWriter,
    population: Arc<Population>,
    steps: &'static [Step],
    connection: usize,
    stride: usize,
    instance: usize,
    position: usize,
    request: Vec<u8>,
}

impl Requests for Changes {
    fn next(&mut self) -> Option<&[u8]> {
        let step = *self.steps.get(self.position)?;
        let (instance, population) = (self.instance, &self.population);
        self.request.clear();
        match step {
            Step::Cancel => self.writer.cancel(population, instance, &mut self.request),
            Step::Register => {
                self.writer.register(population, instance, population.first_version(instance), &mut self.request);
            }
            Step::TakeOutOfService => self.writer.take_out_of_service(population, instance, &mut self.request),
            Step::ReturnToService => self.writer.return_to_service(population, instance, &mut self.request),
        }
        self.position += 1;
        if self.position == self.steps.len() {
            self.position = 0;
            let next = instance + self.stride;
            self.instance = if next < population.len() { next } else { self.connection };
        }
        Some(&self.request)
    }

    fn at_rest(&self) -> bool {
        self.position == 0
    }
}

impl Kind {
    fn steps(self) -> &'static [Step] {
        match self {
            Self::Registration => &[Step::Cancel, Step::Register],
            Self::Status => &[Step::TakeOutOfService, Step::ReturnToService],
            Self::Both => &[Step::Cancel, Step::Register, Step::TakeOutOfService, Step::ReturnToService],
        }
    }
}
