//! Why settings could not be loaded, and how a binary's `main` ends over it.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Exit code of a process whose settings are wrong.
const USAGE_EXIT_CODE: u8 = 2;

/// Why there are no settings to run with.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// Nothing is wrong: `--help`, `--version` or `--print-config` was asked for, and this is the answer.
    #[error("{0}")]
    Answered(String),
    /// The command line is wrong.
    #[error(transparent)]
    Usage(clap::Error),
    /// The file named by `--config` cannot be read.
    #[error("read settings from {path}", path = .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file is not TOML.
    #[error("{path} is not a TOML file", path = .path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Where and why.
        source: Box<toml::de::Error>,
    },
    /// A key or variable that no setting has.
    #[error("unknown setting `{name}` in {origin}")]
    Unknown {
        /// The key, or the variable's whole name.
        name: String,
        /// `the environment`, or the file.
        origin: String,
    },
    /// A setting whose value cannot be taken.
    #[error("bad value for `{name}` in {origin}: {reason}")]
    Invalid {
        /// The key, or the variable's whole name.
        name: String,
        /// `the environment`, or the file.
        origin: String,
        /// What is wrong with the value.
        reason: String,
    },
}

impl ConfigError {
    /// Writes the answer to standard output or the error to standard error, and gives the code to exit with: 0 for an
    /// answer, 2 for wrong settings.
    pub fn finish(self) -> ExitCode {
        match self {
            // A reader that left early, as `| head` does, is not a failure.
            Self::Answered(text) => {
                let _ = std::io::stdout().write_all(text.as_bytes());
                ExitCode::SUCCESS
            }
            Self::Usage(error) => {
                let _ = error.print();
                ExitCode::from(USAGE_EXIT_CODE)
            }
            Self::Unreadable { .. } | Self::Malformed { .. } | Self::Unknown { .. } | Self::Invalid { .. } => {
                let mut line = format!("error: {self}");
                let mut cause = std::error::Error::source(&self);
                while let Some(error) = cause {
                    line.push_str(": ");
                    line.push_str(error.to_string().trim_end());
                    cause = error.source();
                }
                let _ = writeln!(std::io::stderr(), "{line}");
                ExitCode::from(USAGE_EXIT_CODE)
            }
        }
    }
}
