//! Settings in layers: flag > environment > file > default. Called by every binary's `main`, once; services receive the
//! typed result and never ask again.
//!
//! The typed settings are a `clap::Parser` struct. Every long flag is also a key of the TOML file named by `--config`
//! (or `HEUREKA_CONFIG`) and a variable `HEUREKA_<FLAG>`; clap sees the lower layers as defaults of the upper ones.
//!
//! ```
//! use std::time::Duration;
//! use service_runtime::config::{self, Sources, units};
//!
//! #[derive(clap::Parser)]
//! #[command(name = "example")]
//! struct Settings {
//!     /// How often caches compare.
//!     #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = units::duration)]
//!     response_cache_update_interval: Duration,
//!     /// Whether changes are pushed: `--cache-push`, `--cache-push false`, `HEUREKA_CACHE_PUSH=false`.
//!     #[arg(long, value_name = "BOOL", default_value = "false", action = clap::ArgAction::Set,
//!           num_args = 0..=1, default_missing_value = "true")]
//!     cache_push: bool,
//! }
//!
//! let sources = Sources::of(["example", "--cache-push"], [("HEUREKA_RESPONSE_CACHE_UPDATE_INTERVAL", "5s")]);
//! let settings: Settings = config::load(&sources)?;
//! assert_eq!(settings.response_cache_update_interval, Duration::from_secs(5));
//! assert!(settings.cache_push);
//! # Ok::<(), config::ConfigError>(())
//! ```

pub mod address;
mod error;
mod layers;
mod print;
#[cfg(test)]
mod tests;
pub mod units;

use std::collections::BTreeMap;
use std::ffi::OsString;

use clap::{Arg, ArgAction, Command};

pub use error::ConfigError;

/// What every variable of ours starts with.
const VARIABLE_PREFIX: &str = "HEUREKA_";
/// The flag that names the settings file.
const CONFIG_FLAG: &str = "config";
/// The flag that shows the settings and exits.
const PRINT_FLAG: &str = "print-config";
/// Flags that are not settings: they have no key and no variable (save `HEUREKA_CONFIG`).
const NOT_SETTINGS: [&str; 4] = [CONFIG_FLAG, PRINT_FLAG, "help", "version"];

/// What settings are read from, as values, so that tests never touch their process.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// The command line, the program's name first.
    pub arguments: Vec<OsString>,
    /// The environment variables that start with `HEUREKA_`; others are ignored.
    pub environment: BTreeMap<String, String>,
}

impl Sources {
    /// This process's command line and environment.
    pub fn from_process() -> Self {
        let environment = std::env::vars_os()
            .map(|(name, value)| (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned()))
            .filter(|(name, _)| name.starts_with(VARIABLE_PREFIX))
            .collect();
        Self { arguments: std::env::args_os().collect(), environment }
    }

    /// The given command line (the program's name first) and environment.
    pub fn of<'a>(
        arguments: impl IntoIterator<Item = &'a str>,
        environment: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Self {
        Self {
            arguments: arguments.into_iter().map(OsString::from).collect(),
            environment: environment.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        }
    }
}

/// Loads the settings of a binary.
///
/// # Errors
/// See `ConfigError`; `--help` and its like arrive as errors too, `ConfigError::finish` tells them apart.
pub fn load<S: clap::Parser>(sources: &Sources) -> Result<S, ConfigError> {
    load_with(sources, |command| command)
}

/// As `load`, for a binary that changes the command, mostly to give shared settings its own defaults
/// (`|command| with_default(command, "grpc-listen", "127.0.0.1:7101")`).
///
/// # Errors
/// As `load`.
pub fn load_with<S: clap::Parser>(
    sources: &Sources,
    customise: impl FnOnce(Command) -> Command,
) -> Result<S, ConfigError> {
    let command = with_own_flags(customise(S::command()));
    // Help shows the binary's own defaults, and must be there above all when a file or a variable is wrong.
    if let Err(error) = command.clone().try_get_matches_from(&sources.arguments)
        && !error.use_stderr()
    {
        return Err(from_clap(error));
    }
    let (command, origins) = layers::apply(command, sources)?;
    let matches = command.clone().try_get_matches_from(&sources.arguments).map_err(from_clap)?;
    if matches.get_flag(PRINT_FLAG) {
        return Err(ConfigError::Answered(print::settings(&command, &matches, &origins)));
    }
    S::from_arg_matches(&matches).map_err(|error| from_clap(error.format(&mut command.clone())))
}

/// Gives a setting, named by its long flag, another default. A name that `command` does not have changes nothing.
pub fn with_default(command: Command, long_name: &str, value: &str) -> Command {
    let value = value.to_owned();
    match layers::find(&command, long_name).map(|arg| arg.get_id().clone()) {
        Some(id) => command.mut_arg(id, |arg| arg.required(false).default_value(value)),
        None => {
            debug_assert!(false, "no setting is called {long_name}");
            command
        }
    }
}

/// One setting as documentation shows it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Setting {
    /// The long flag without its dashes, which is also the key in the file.
    pub name: String,
    /// The environment variable.
    pub variable: String,
    /// The default as it would be written, where there is one; several values are joined by commas.
    pub default: Option<String>,
    /// The first line of the setting's help.
    pub help: String,
}

/// All settings of a command (`S::command()`, customised or not), sorted by name.
pub fn settings(command: &Command) -> Vec<Setting> {
    let mut settings: Vec<_> = setting_args(command)
        .map(|(name, arg)| {
            let defaults: Vec<_> = arg.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
            Setting {
                name: name.to_owned(),
                variable: variable_of(name),
                default: (!defaults.is_empty()).then(|| defaults.join(",")),
                help: arg.get_help().map(ToString::to_string).unwrap_or_default(),
            }
        })
        .collect();
    settings.sort();
    settings
}

fn setting_args(command: &Command) -> impl Iterator<Item = (&str, &Arg)> {
    command
        .get_arguments()
        .filter_map(|arg| arg.get_long().map(|long| (long, arg)))
        .filter(|(long, _)| !NOT_SETTINGS.contains(long))
}

fn variable_of(long_name: &str) -> String {
    format!("{VARIABLE_PREFIX}{}", long_name.replace('-', "_").to_uppercase())
}

fn with_own_flags(command: Command) -> Command {
    let command = if command.get_version().is_none() { command.version(env!("CARGO_PKG_VERSION")) } else { command };
    command
        .arg(
            Arg::new(CONFIG_FLAG)
                .long(CONFIG_FLAG)
                .value_name("FILE")
                .help("Reads settings from this TOML file; HEUREKA_CONFIG names it too"),
        )
        .arg(
            Arg::new(PRINT_FLAG)
                .long(PRINT_FLAG)
                .action(ArgAction::SetTrue)
                .help("Prints every setting with its source, and exits"),
        )
}

fn from_clap(error: clap::Error) -> ConfigError {
    match error.use_stderr() {
        true => ConfigError::Usage(error),
        false => ConfigError::Answered(error.render().to_string()),
    }
}
