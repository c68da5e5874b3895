//! The command line: what every subcommand shares. Each subcommand's own flags live in its module; called by `lib.rs`.

use std::num::NonZeroUsize;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};

use crate::{bare, change_cost, churn, fetch, register, renew};

/// Simulated Eureka instances for measuring a registry.
///
/// Exit codes: 0 when every request succeeded, 1 when at least one failed, 2 when the run was not possible.
#[derive(Debug, Parser)]
#[command(name = "fleet", version)]
pub struct Cli {
    #[command(flatten)]
    pub(crate) run: RunOptions,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Flags that every subcommand takes.
#[derive(Debug, Clone, Args)]
pub(crate) struct RunOptions {
    /// Worker threads; one means a single-threaded runtime [default: 1, for `bare` 2].
    #[arg(long, global = true)]
    pub(crate) threads: Option<NonZeroUsize>,
    /// Print one JSON object instead of a table.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Process id of the server: adds its CPU time per request and its memory to the report.
    #[arg(long, global = true)]
    pub(crate) pid: Option<u32>,
    /// Exit with 0 even if requests failed; failures are still counted and printed.
    #[arg(long, global = true)]
    pub(crate) allow_errors: bool,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Register every instance of the fleet once.
    Register(register::Options),
    /// Renew the leases of the fleet, at Eureka's pace or flat out.
    Renew(renew::Options),
    /// Read the registry over and over.
    Fetch(fetch::Options),
    /// Cancel, re-register and change the status of instances at a fixed rate.
    Churn(churn::Options),
    /// Measure the server CPU that one registration costs until the full payload is ready again.
    ChangeCost(change_cost::Options),
    /// Serve fixed answers with as little code as possible: the limit to compare a server with.
    Bare(bare::Options),
}

/// Where the server is.
#[derive(Debug, Clone, Args)]
pub(crate) struct TargetOptions {
    /// Server address, `HOST:PORT`.
    #[arg(long)]
    pub(crate) target: String,
    /// Path in front of `/apps`.
    #[arg(long, default_value = "/eureka")]
    pub(crate) prefix: String,
    /// A request without an answer after this long has failed.
    #[arg(long, default_value = "10s", value_parser = humantime::parse_duration)]
    pub(crate) request_timeout: Duration,
}

/// How large the simulated fleet is.
#[derive(Debug, Clone, Args)]
pub(crate) struct FleetOptions {
    /// Number of instances.
    #[arg(long)]
    pub(crate) instances: NonZeroUsize,
    /// Number of applications that they are spread over.
    #[arg(long, default_value = "100")]
    pub(crate) apps: NonZeroUsize,
    /// Bytes of JSON in one registration; metadata fills up. Smaller than the smallest possible body means that one.
    #[arg(long, default_value_t = 1000)]
    pub(crate) body_bytes: usize,
}

/// A fleet, and the server that it talks to.
#[derive(Debug, Clone, Args)]
pub(crate) struct FleetAtTarget {
    #[command(flatten)]
    pub(crate) target: TargetOptions,
    #[command(flatten)]
    pub(crate) fleet: FleetOptions,
}

impl FleetAtTarget {
    /// The server's address as it was given.
    pub(crate) fn address(&self) -> &str {
        &self.target.target
    }
}

impl Cli {
    /// Worker threads of the runtime.
    pub(crate) fn threads(&self) -> usize {
        let default = match self.command {
            Command::Bare(_) => 2,
            Command::Register(_)
            | Command::Renew(_)
            | Command::Fetch(_)
            | Command::Churn(_)
            | Command::ChangeCost(_) => 1,
        };
        self.run.threads.map_or(default, NonZeroUsize::get)
    }
}
