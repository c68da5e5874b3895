//! The binary: parses flags, runs one subcommand, and turns the verdict into an exit code.

use std::process::ExitCode;

use clap::Parser;
use fleet::{Cli, Verdict};

fn main() -> ExitCode {
    match fleet::run(&Cli::parse()) {
        Ok(Verdict::Passed) => ExitCode::SUCCESS,
        Ok(Verdict::Failed) => ExitCode::from(1),
        Err(error) => {
            eprintln!("fleet: {error:#}");
            ExitCode::from(2)
        }
    }
}
