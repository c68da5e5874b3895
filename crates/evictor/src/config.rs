//! Settings of the evictor; `heureka` flattens them into its own.

use service_runtime::config::units;
use std::time::Duration;

/// Settings of the evictor.
#[derive(Clone, Debug, clap::Args)]
#[group(skip)]
pub struct Config {
    /// How often leases that have run out are looked for. From a minute on each round may take its share of the leases;
    /// below that the share is of what was there in the last 60 s.
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = interval)]
    pub eviction_interval: Duration,
}

fn interval(text: &str) -> Result<Duration, String> {
    match units::duration(text)? {
        Duration::ZERO => Err("an interval of zero has no end".to_owned()),
        interval => Ok(interval),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_a_duration_above_zero() {
        for (text, expected) in [("1s", Some(1)), ("60s", Some(60)), ("0", None), ("0s", None), ("60", None)] {
            assert_eq!(interval(text).ok(), expected.map(Duration::from_secs), "{text}");
        }
    }
}
