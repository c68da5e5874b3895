//! The binary of the evictor alone: settings, process, run.

use clap::Parser;
use evictor::Config;
use registry_model::RenewalPercentThreshold;
use registry_proto::RemoteRegistry;
use service_runtime::{Address, Process, ProcessConfig, Sources, config, grpc};
use std::{process::ExitCode, sync::Arc};

/// Evicts leases that have run out.
#[derive(Debug, Parser)]
#[command(name = "evictor", version)]
struct Settings {
    #[command(flatten)]
    process: ProcessConfig,
    #[command(flatten)]
    evictor: Config,
    /// The share of the leases that an eviction leaves in place; registry-core has the same setting.
    #[arg(long, value_name = "SHARE", default_value_t = RenewalPercentThreshold::DEFAULT)]
    renewal_percent_threshold: RenewalPercentThreshold,
    /// Where registry-core listens.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:7101")]
    registry: Address,
}

fn main() -> ExitCode {
    let loaded = config::load_with(&Sources::from_process(), |command| {
        config::with_default(command, "grpc-listen", "0.0.0.0:7103")
    });
    let settings: Settings = match loaded {
        Ok(settings) => settings,
        Err(error) => return error.finish(),
    };
    Process::start("evictor", &settings.process).supervise(|process| async move {
        let Settings { process: own, evictor, renewal_percent_threshold: share, registry } = settings;
        let registry = Arc::new(RemoteRegistry::new(grpc::channel(&registry)));
        evictor::run(evictor, share, own.grpc_listen, registry, process).await
    })
}
