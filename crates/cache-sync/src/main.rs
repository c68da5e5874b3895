//! The binary of cache-sync alone: settings, process, run.

use cache_sync::Config;
use clap::Parser;
use registry_proto::RemoteRegistry;
use service_runtime::{Address, Process, ProcessConfig, Sources, config, grpc};
use std::{process::ExitCode, sync::Arc};

/// The read-write cache: encoded payloads of the registry, kept fresh by its change stream.
#[derive(Debug, Parser)]
#[command(name = "cache-sync", version)]
struct Settings {
    #[command(flatten)]
    process: ProcessConfig,
    #[command(flatten)]
    cache: Config,
    /// Where registry-core listens.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:7101")]
    registry: Address,
}

fn main() -> ExitCode {
    let loaded = config::load_with(&Sources::from_process(), |command| {
        config::with_default(command, "grpc-listen", "0.0.0.0:7102")
    });
    let settings: Settings = match loaded {
        Ok(settings) => settings,
        Err(error) => return error.finish(),
    };
    Process::start("cache-sync", &settings.process).supervise(|process| async move {
        let registry = Arc::new(RemoteRegistry::new(grpc::channel(&settings.registry)));
        cache_sync::run(settings.cache, settings.process.grpc_listen, registry, process).await
    })
}
