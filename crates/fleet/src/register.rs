//! `fleet register`: every instance of the fleet once, flat out. Called by `lib.rs`, and by the subcommands that need a
//! registered fleet first.

use std::num::NonZeroUsize;
use std::sync::Arc;

use anyhow::bail;
use clap::Args;

use crate::cli::{FleetOptions, RunOptions, TargetOptions};
use crate::connection::Target;
use crate::load::{Load, Outcome, Pace, Requests};
use crate::population::Population;
use crate::report::Report;
use crate::request::RequestWriter;

#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(flatten)]
    target: TargetOptions,
    #[command(flatten)]
    fleet: FleetOptions,
    /// Connections kept alive, each with one request at a time.
    #[arg(long, default_value = "64")]
    connections: NonZeroUsize,
}

pub(crate) async fn run(options: &Options, run: &RunOptions) -> anyhow::Result<Report> {
    let population = Arc::new(Population::new(&options.fleet));
    let outcome = all(&options.target, &population, options.connections, run.pid).await?;
    Ok(Report::load("register", &options.target.target, options.connections.get(), outcome))
}

/// Registers the fleet before a run that is about something else.
///
/// # Errors
/// When a registration fails and failures are not allowed.
pub(crate) async fn first(
    target: &TargetOptions,
    population: &Arc<Population>,
    connections: NonZeroUsize,
    run: &RunOptions,
) -> anyhow::Result<()> {
    let outcome = all(target, population, connections, None).await?;
    let failed = outcome.tally.failed();
    let failure = outcome.tally.first_failure.unwrap_or_default();
    if failed > 0 && !run.allow_errors {
        bail!("{failed} registrations failed, the first with: {failure}");
    }
    if failed > 0 {
        eprintln!("fleet: {failed} registrations failed, the first with: {failure}");
    }
    eprintln!("fleet: {} instances registered in {:.3} s", population.len(), outcome.elapsed.as_secs_f64());
    Ok(())
}

async fn all(
    target: &TargetOptions,
    population: &Arc<Population>,
    connections: NonZeroUsize,
    pid: Option<u32>,
) -> anyhow::Result<Outcome> {
    let writer = RequestWriter::new(&target.target, &target.prefix);
    let target = Target::resolve(target).await?;
    let load = Load { target, connections, pace: Pace::FlatOut, duration: None, count: None, pid };
    load.run(|number| Registrations {
        writer: writer.clone(),
        population: population.clone(),
        next: number,
        step: connections.get(),
        request: Vec::new(),
    })
    .await
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
