//! The binary of a whole node: settings, process, run.

use heureka::{Ports, Settings};
use service_runtime::{Process, Sources};
use std::process::ExitCode;

fn main() -> ExitCode {
    let settings = match Settings::load(&Sources::from_process()) {
        Ok(settings) => settings,
        Err(error) => return error.finish(),
    };
    Process::start("heureka", &settings.process.clone()).supervise(|process| async move {
        heureka::run(settings.clone(), Ports::bind(&settings).await?, process).await
    })
}
