//! The facade as a process of its own: settings, then `http_facade::run` until it is stopped.

use http_facade::Settings;
use service_runtime::{Process, Sources, config};
use std::process::ExitCode;

fn main() -> ExitCode {
    let loaded = config::load_with(&Sources::from_process(), |command| {
        config::with_default(command, "grpc-listen", "0.0.0.0:7100")
    });
    let settings: Settings = match loaded {
        Ok(settings) => settings,
        Err(error) => return error.finish(),
    };
    Process::start("http-facade", &settings.process).supervise(|process| http_facade::run(settings, process))
}
