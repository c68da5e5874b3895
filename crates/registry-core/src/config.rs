//! Settings of registry-core; `heureka` flattens them into its own.

use crate::{access_gate::AccessGate, own_instance::OwnInstance, preservation::PreservationSettings, rules::Rules};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use registry_model::LeaseExpiry;
use service_runtime::{ConfigError, config::units};
use std::{num::NonZeroUsize, time::Duration};

/// Settings of registry-core.
#[derive(Clone, Debug, clap::Args)]
#[group(skip)]
pub struct Config {
    /// How many changes are kept for those who resume a watch; older ones are made good by a snapshot.
    #[arg(long, value_name = "CHANGES", default_value = "65536")]
    pub change_log_capacity: NonZeroUsize,
    /// How long after a start without any other source the registry counts as incomplete; 0 for not at all.
    #[arg(long, value_name = "DURATION", default_value = "90s", value_parser = units::duration)]
    pub cold_start: Duration,
    /// When a renewed lease ends: `exact`, one duration after the renewal, or `doubled`, as the Java server does.
    #[arg(long, value_name = "RULE", default_value = "exact", value_parser = lease_expiry())]
    pub lease_expiry: LeaseExpiry,
    /// From when on lists are served.
    #[command(flatten)]
    pub access_gate: AccessGate,
    /// The rules that commands and renewals follow.
    #[command(flatten)]
    pub rules: Rules,
    /// Self-preservation, and Eureka's figures.
    #[command(flatten)]
    pub preservation: PreservationSettings,
    /// The node as an instance of its own registry.
    #[command(flatten)]
    pub own_instance: OwnInstance,
}

impl Config {
    /// Checks what no setting can tell for itself.
    ///
    /// # Errors
    /// The node is to register itself, and nothing says where it is reached.
    pub fn check(&self) -> Result<(), ConfigError> {
        match self.own_instance.lacks_address() {
            false => Ok(()),
            true => Err(ConfigError::Invalid {
                name: "register-self".to_owned(),
                origin: "the settings".to_owned(),
                reason: "`advertise` has to say where clients reach this node".to_owned(),
            }),
        }
    }
}

fn lease_expiry() -> impl TypedValueParser<Value = LeaseExpiry> {
    PossibleValuesParser::new(["exact", "doubled"]).map(|name| match name.as_str() {
        "doubled" => LeaseExpiry::Doubled,
        // The parser has let only the two names pass.
        _ => LeaseExpiry::Exact,
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Settings {
        #[command(flatten)]
        config: Config,
    }

    /// The settings that these arguments give.
    pub(crate) fn parsed(arguments: &[&str]) -> Option<Config> {
        Settings::try_parse_from([&["registry-core"], arguments].concat()).ok().map(|settings| settings.config)
    }

    #[test]
    fn settings_have_their_defaults_and_refuse_what_makes_no_sense() {
        let config = parsed(&[]).unwrap();
        assert_eq!(config.change_log_capacity.get(), 65_536);
        assert_eq!(config.cold_start, Duration::from_secs(90));
        assert_eq!(config.lease_expiry, LeaseExpiry::Exact);
        assert_eq!(parsed(&["--lease-expiry", "doubled"]).unwrap().lease_expiry, LeaseExpiry::Doubled);
        assert!(parsed(&["--lease-expiry", "triple"]).is_none());
        assert!(parsed(&["--change-log-capacity", "0"]).is_none());
    }
}
