//! The facade as a process of its own: settings, then `http_facade::run` until it is stopped.

use http_facade::Settings;
use service_runtime::{Process, Sources};
use std::process::ExitCode;

fn main() -> ExitCode {
    let settings: Settings = match service_runtime::load(&Sources::from_process()) {
        Ok(settings) => settings,
        Err(error) => return error.finish(),
    };
    Process::start("http-facade", &settings.process).supervise(|process| http_facade::run(settings, process))
}
