//! Logs to standard error, for people or for machines. Called once, by `Process::start`.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

/// How a log line looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// A line for people.
    Human,
    /// One JSON object a line.
    Json,
}

/// Which log lines are written, in the syntax of `tracing_subscriber::EnvFilter`: `info`, `info,registry_core=debug`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLevel(String);

impl std::str::FromStr for LogLevel {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        EnvFilter::try_new(text).map_err(|error| error.to_string())?;
        Ok(Self(text.to_owned()))
    }
}

impl std::fmt::Display for LogLevel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Makes this process log to standard error; keeps what is there if a subscriber has been installed before.
pub fn install(format: LogFormat, level: &LogLevel) {
    let builder = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(&level.0))
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal());
    let installed = match format {
        LogFormat::Human => builder.try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
    if let Err(error) = installed {
        tracing::debug!(%error, "logs stay as they were set up before");
    }
}
