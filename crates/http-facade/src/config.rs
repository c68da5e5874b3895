//! Settings of the facade.

use crate::{context_path::ContextPath, rate_limiter::RateLimits};
use clap::ArgAction;
use service_runtime::{Address, ProcessConfig, config::units};
use std::time::Duration;

/// Settings of the facade; flatten them into a binary's own.
#[derive(Clone, Debug, clap::Args)]
#[group(skip)]
pub struct Config {
    /// Where the REST API is served: `host:port` or `unix:/path`.
    #[arg(long, value_name = "ADDR", default_value = "0.0.0.0:8761")]
    pub http_listen: Address,
    /// What stands before `/eureka` in every path, as `/registry`; not before those of probes and metrics.
    #[arg(long, value_name = "PATH", default_value = "/", value_parser = ContextPath::parse)]
    pub context_path: ContextPath,
    /// Whether changes reach cached reads at once; without, they come with the periodic sync, as in Eureka.
    #[arg(long, value_name = "BOOL", default_value = "true", action = ArgAction::Set,
          num_args = 0..=1, default_missing_value = "true")]
    pub cache_push: bool,
    /// How long between two periodic syncs of the read-only cache, at multiples on the wall clock.
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = interval)]
    pub response_cache_update_interval: Duration,
    /// Whether the delta is refused, so that clients read everything each time.
    #[arg(long, value_name = "BOOL", default_value = "false", action = ArgAction::Set,
          num_args = 0..=1, default_missing_value = "true")]
    pub disable_delta: bool,
    /// How many bytes the body of a request may have.
    #[arg(long, value_name = "SIZE", default_value = "1MiB", value_parser = units::byte_size)]
    pub max_body: usize,
    /// How many bytes the body of another server's batch may have.
    #[arg(long, value_name = "SIZE", default_value = "16MiB", value_parser = units::byte_size)]
    pub max_batch_body: usize,
    /// The name of the environment that the status page shows.
    #[arg(long, value_name = "TEXT", default_value = "test")]
    pub environment: String,
    /// How many connections are served at a time; more wait to be accepted.
    #[arg(long, value_name = "COUNT", default_value = "20000", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_connections: u32,
    /// Whether requests are counted by the name that their clients give themselves.
    #[arg(long, value_name = "BOOL", default_value = "true", action = ArgAction::Set,
          num_args = 0..=1, default_missing_value = "true")]
    pub auth_should_log_identity_headers: bool,
    /// How many reads of lists are answered.
    #[command(flatten)]
    pub rate_limits: RateLimits,
}

fn interval(text: &str) -> Result<Duration, String> {
    match units::duration(text)? {
        interval if interval < Duration::from_millis(1) => Err("must be at least 1ms".to_owned()),
        interval => Ok(interval),
    }
}

/// Settings of a facade in a process of its own.
#[derive(Clone, Debug, clap::Parser)]
#[command(name = "http-facade", about = "Serves Eureka's REST API over a registry and a read-write cache.")]
pub struct Settings {
    /// What every process has.
    #[command(flatten)]
    pub process: ProcessConfig,
    /// The facade's own.
    #[command(flatten)]
    pub facade: Config,
    /// Where registry-core is reached.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:7101")]
    pub registry: Address,
    /// Where cache-sync is reached.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:7102")]
    pub cache: Address,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[test]
    fn settings_have_eurekas_defaults_and_refuse_nonsense() {
        let facade = |arguments: &[&str]| {
            Settings::try_parse_from([&["test"], arguments].concat()).map(|settings| settings.facade)
        };
        let defaults = facade(&[]).unwrap();
        assert_eq!(defaults.http_listen.to_string(), "0.0.0.0:8761");
        assert!(defaults.cache_push);
        assert_eq!(defaults.response_cache_update_interval, Duration::from_secs(30));
        assert_eq!((defaults.max_body, defaults.max_connections), (1 << 20, 20_000));
        assert_eq!((defaults.max_batch_body, defaults.environment.as_str()), (16 << 20, "test"));
        assert!(facade(&["--context-path", "/a b"]).is_err());
        assert!(!facade(&["--cache-push", "false"]).unwrap().cache_push);
        for bad in [["--response-cache-update-interval", "0"], ["--max-connections", "0"], ["--max-body", "x"]] {
            assert!(facade(&bad).is_err(), "{bad:?}");
        }
    }
}
