//! Settings of cache-sync; `heureka` flattens them into its own.

use clap::{Args, ValueEnum};
use service_runtime::config::units;
use std::time::Duration;

/// Settings of cache-sync.
#[derive(Clone, Debug, Args)]
#[group(skip)]
pub struct Config {
    /// How long a change stays in the delta.
    #[arg(long, value_name = "DURATION", default_value = "180s", value_parser = units::duration)]
    pub retention_time_in_delta_queue: Duration,
    /// How often older changes are dropped from the delta.
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = units::duration)]
    pub delta_retention_timer_interval: Duration,
    /// How old the lease times of a payload may be before they are read anew.
    #[arg(long, value_name = "DURATION", default_value = "180s", value_parser = units::duration)]
    pub response_cache_expiration: Duration,
    /// Over how long the pages of a payload are read anew, one after the other; 0s for all at once.
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = units::duration)]
    pub response_cache_expiry_spread: Duration,
    /// Which `versions__delta` the first delta has; each further one that is built has the next.
    #[arg(long, value_name = "WHICH", value_enum, default_value_t = FirstDeltaVersion::Time)]
    pub first_delta_version: FirstDeltaVersion,
}

/// Which number the first delta has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FirstDeltaVersion {
    /// The milliseconds since 1970, so that no start repeats a number of an earlier one.
    Time,
    /// 1, as in the Java server.
    One,
}
