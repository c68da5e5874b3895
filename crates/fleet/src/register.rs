//! `fleet register`: every instance of the fleet once, flat out. Called by `lib.rs`, and by the subcommands that need a
//! registered fleet first.

use std::num::NonZeroUsize;
use std::sync::Arc;

use anyhow::bail;
use clap::Args;

use crate::cli::{FleetAtTarget, RunOptions};
use crate::connection::Target;
use crate::load::{Load, Outcome, Pace, Requests};
use crate::population::Population;
use crate::report::Report;
use crate::request::RequestWriter;

#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(flatten)]
    fleet: FleetAtTarget,
    /// Connections kept alive, each with one request at a time.
    #[arg(long, default_value = "64")]
    connections: NonZeroUsize,
}

pub(crate) async fn run(options: &Options, run: &RunOptions) -> anyhow::Result<Report> {
    let fleet = Fleet::of(&options.fleet).await?;
    let outcome = fleet.register(options.connections, run.pid).await?;
    Ok(Report::load("register", options.fleet.address(), options.connections.get(), outcome))
}

/// The fleet of a run that is about something else than its registration.
#[derive(Debug, Args)]
pub(crate) struct FleetFirst {
    #[command(flatten)]
    pub(crate) fleet: FleetAtTarget,
    /// Register the whole fleet before measuring.
    #[arg(long)]
    register_first: bool,
}

impl FleetFirst {
    /// The fleet, registered over so many connections if that is asked for.
    ///
    /// # Errors
    /// When the target has no address, or a registration fails and failures are not allowed.
    pub(crate) async fn prepare(&self, connections: NonZeroUsize, run: &RunOptions) -> anyhow::Result<Fleet> {
        let fleet = Fleet::of(&self.fleet).await?;
        if self.register_first {
            fleet.register_first(connections, run).await?;
        }
        Ok(fleet)
    }
}

/// Instances, and the means to send their requests.
pub(crate) struct Fleet {
    pub(crate) population: Arc<Population>,
    pub(crate) writer: RequestWriter,
    pub(crate) target: Target,
}

impl Fleet {
    async fn of(options: &FleetAtTarget) -> anyhow::Result<Self> {
        let FleetAtTarget { target, fleet } = options;
        let writer = RequestWriter::new(&target.target, &target.prefix);
        Ok(Self { population: Arc::new(Population::new(fleet)), writer, target: Target::resolve(target).await? })
    }

    async fn register_first(&self, connections: NonZeroUsize, run: &RunOptions) -> anyhow::Result<()> {
        let outcome = self.register(connections, None).await?;
        let failed = outcome.tally.failed();
        let failure = outcome.tally.first_failure.unwrap_or_default();
        if failed > 0 && !run.allow_errors {
            bail!("{failed} registrations failed, the first with: {failure}");
        }
        if failed > 0 {
            eprintln!("fleet: {failed} registrations failed, the first with: {failure}");
        }
        eprintln!("fleet: {} instances registered in {:.3} s", self.population.len(), outcome.elapsed.as_secs_f64());
        Ok(())
    }

    async fn register(&self, connections: NonZeroUsize, pid: Option<u32>) -> anyhow::Result<Outcome> {
        let pace = Pace::FlatOut;
        let load = Load { target: self.target, connections, pace, duration: None, count: None, pid };
        load.run(|number| Registrations {
            writer: self.writer.clone(),
            population: self.population.clone(),
            next: number,
            step: connections.get(),
            request: Vec::new(),
        })
        .await
    }
}

/// Every `step`th instance once. Bodies are made as they are sent: all of a large fleet would not fit the memory that is
/// the server's.
struct Registrations {
    writer: RequestWriter,
    population: Arc<Population>,
    next: usize,
    step: usize,
    request: Vec<u8>,
}

impl Requests for Registrations {
    fn next(&mut self) -> Option<&[u8]> {
        let instance = self.next;
        if instance >= self.population.len() {
            return None;
        }
        self.next += self.step;
        self.request.clear();
        let version = self.population.first_version(instance);
        self.writer.register(&self.population, instance, version, &mut self.request);
        Some(&self.request)
    }
}
