//! The binary of registry-core alone: settings, process, run.

use clap::Parser;
use registry_core::Config;
use service_runtime::{Process, ProcessConfig, Sources, config};
use std::process::ExitCode;

/// The registry itself: leases, changes, watches.
#[derive(Debug, Parser)]
#[command(name = "registry-core")]
struct Settings {
    #[command(flatten)]
    process: ProcessConfig,
    #[command(flatten)]
    registry: Config,
}

fn main() -> ExitCode {
    let loaded = config::load_with(&Sources::from_process(), |command| {
        config::with_default(command, "grpc-listen", "0.0.0.0:7101")
    });
    let checked = loaded.and_then(|settings: Settings| settings.registry.check().map(|()| settings));
    let settings = match checked {
        Ok(settings) => settings,
        Err(error) => return error.finish(),
    };
    Process::start("registry-core", &settings.process)
        .supervise(|process| registry_core::run(settings.registry, settings.process.grpc_listen, process))
}
