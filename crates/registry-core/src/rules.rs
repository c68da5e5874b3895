//! Settings of the rules that commands and renewals follow; part of `config`, read by `registry` and `lease_table`.

use clap::ArgAction;
use registry_model::InstanceStatus;
use service_runtime::config::units;
use std::time::Duration;

/// Settings of the rules that commands and renewals follow.
#[derive(Clone, Debug, clap::Args)]
#[group(skip)]
pub struct Rules {
    /// How long an override holds that no renewal, registration or operator has used.
    #[arg(long, value_name = "DURATION", default_value = "1h", value_parser = some_time)]
    pub override_expiry: Duration,
    /// Whether an override is stored even if the instance has that status already; without, as in Eureka, it is not.
    #[arg(long, value_name = "BOOL", default_value = "true", action = ArgAction::Set,
          num_args = 0..=1, default_missing_value = "true")]
    pub store_unchanged_override: bool,
    /// How long after a cancel a registration as DOWN of the same id has no effect; 0 for not at all.
    #[arg(long, value_name = "DURATION", default_value = "3s", value_parser = units::duration)]
    pub cancel_grace: Duration,
    /// Whether a client can switch itself between UP and OUT_OF_SERVICE where no override acts; in Eureka it cannot.
    #[arg(long, value_name = "BOOL", default_value = "false", action = ArgAction::Set,
          num_args = 0..=1, default_missing_value = "true")]
    pub client_status_wins: bool,
    /// Whether a heartbeat that says another status than the stored one corrects it; in Eureka it does not.
    #[arg(long, value_name = "BOOL", default_value = "false", action = ArgAction::Set,
          num_args = 0..=1, default_missing_value = "true")]
    pub heal_status_from_heartbeat: bool,
    /// Whether a new id replaces another one of the same application, address and ports.
    #[arg(long, value_name = "BOOL", default_value = "false", action = ArgAction::Set,
          num_args = 0..=1, default_missing_value = "true")]
    pub replace_same_address: bool,
    /// Whether a renewal's version stamp is compared with the stored one.
    #[arg(long, value_name = "BOOL", default_value = "true", action = ArgAction::Set,
          num_args = 0..=1, default_missing_value = "true")]
    pub sync_when_timestamp_differs: bool,
}

impl Rules {
    /// The stored status as far as it binds the client: see the third rule of [`effective_status`](registry_model::effective_status).
    pub(crate) fn kept_status(&self, stored: InstanceStatus) -> Option<InstanceStatus> {
        (!self.client_status_wins).then_some(stored)
    }
}

/// Those of the `heureka` profile.
impl Default for Rules {
    fn default() -> Self {
        Self {
            override_expiry: Duration::from_secs(3600),
            store_unchanged_override: true,
            cancel_grace: Duration::from_secs(3),
            client_status_wins: false,
            heal_status_from_heartbeat: false,
            replace_same_address: false,
            sync_when_timestamp_differs: true,
        }
    }
}

fn some_time(text: &str) -> Result<Duration, String> {
    match units::duration(text)? {
        Duration::ZERO => Err("must be more than 0".to_owned()),
        duration => Ok(duration),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Settings {
        #[command(flatten)]
        rules: Rules,
    }

    #[test]
    fn settings_have_their_defaults_and_refuse_what_makes_no_sense() {
        let parsed = |arguments: &[&str]| Settings::try_parse_from([&["registry-core"], arguments].concat());
        assert_eq!(format!("{:?}", parsed(&[]).unwrap().rules), format!("{:?}", Rules::default()));
        let set = parsed(&["--client-status-wins", "--store-unchanged-override", "false", "--cancel-grace", "0"]);
        let set = set.unwrap().rules;
        assert_eq!((set.client_status_wins, set.store_unchanged_override), (true, false));
        assert_eq!(set.cancel_grace, Duration::ZERO);
        assert!(parsed(&["--override-expiry", "0"]).is_err());
    }
}
