//! A load generator: simulated instances that register, renew, fetch and churn. Called by `main.rs` and by measuring
//! scripts; speaks Eureka's REST API to any server and depends on no other crate of the workspace.
//!
//! The hot path is one task per connection that writes request bytes made ahead and reads answers with a minimal parser,
//! because the generator usually shares its cores with the server it measures.

mod bare;
mod change_cost;
mod churn;
mod cli;
mod connection;
mod cpu;
mod fetch;
mod load;
mod population;
mod register;
mod renew;
mod report;
mod request;
mod response;
mod tally;

#[cfg(test)]
mod tests;

use std::io::Write;

use anyhow::Context;
use tokio::runtime::{Builder, Runtime};

pub use cli::Cli;
use cli::Command;
use report::Report;

/// Whether a run that could be carried out met failed requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Every request succeeded, or failures were allowed by flag.
    Passed,
    /// At least one request failed.
    Failed,
}

/// Runs the chosen subcommand and prints its report to standard output.
///
/// # Errors
/// When the run cannot be carried out at all: the target refuses connections, the process to watch does not exist.
pub fn run(cli: &Cli) -> anyhow::Result<Verdict> {
    let runtime = runtime(cli.threads())?;
    let report = runtime.block_on(execute(cli))?;
    let text = if cli.run.json { report.json()? } else { report.table() };
    let mut out = std::io::stdout().lock();
    writeln!(out, "{text}").context("write the report")?;
    let passed = cli.run.allow_errors || report.failed() == 0;
    Ok(if passed { Verdict::Passed } else { Verdict::Failed })
}

async fn execute(cli: &Cli) -> anyhow::Result<Report> {
    match &cli.command {
        Command::Register(options) => register::run(options, &cli.run).await,
        Command::Renew(options) => renew::run(options, &cli.run).await,
        Command::Fetch(options) => fetch::run(options, &cli.run).await,
        Command::Churn(options) => churn::run(options, &cli.run).await,
        Command::ChangeCost(options) => change_cost::run(options, &cli.run).await,
        Command::Bare(options) => match bare::run(options).await? {},
    }
}

fn runtime(threads: usize) -> anyhow::Result<Runtime> {
    let mut builder = if threads == 1 { Builder::new_current_thread() } else { Builder::new_multi_thread() };
    if threads > 1 {
        builder.worker_threads(threads);
    }
    builder.enable_all().build().context("start the runtime")
}
