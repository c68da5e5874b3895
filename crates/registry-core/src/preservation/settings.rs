//! Settings of self-preservation and of the figures that Eureka reports; part of `config`.

use clap::{
    ArgAction,
    builder::{PossibleValuesParser, TypedValueParser},
};
use registry_model::{
    ExpectedRenewals, PreservationPolicy, PreservationRule, RenewalPercentThreshold, SelfPreservation,
};
use service_runtime::config::units;
use std::time::Duration;

/// Settings of self-preservation and of the figures that Eureka reports.
#[derive(Clone, Debug, clap::Args)]
#[group(skip)]
pub struct PreservationSettings {
    /// Whether leases are protected when too many of them are missing at once.
    #[arg(long, value_name = "BOOL", default_value = "true", action = ArgAction::Set,
          num_args = 0..=1, default_missing_value = "true")]
    pub enable_self_preservation: bool,
    /// What decides: `missing`, the leases that have missed two renewals, or `renewals-per-minute`, as in the Java server.
    #[arg(long, value_name = "RULE", default_value = "missing", value_parser = rule())]
    pub self_preservation: PreservationRule,
    /// How long leases are protected at most; those missing then are given up. 0 for any time.
    #[arg(long, value_name = "DURATION", default_value = "1h", value_parser = units::duration)]
    pub self_preservation_max: Duration,
    /// The share of the leases, or of the renewals expected, that has to be there; an eviction leaves it in place, too.
    #[arg(long, value_name = "SHARE", default_value_t = RenewalPercentThreshold::DEFAULT)]
    pub renewal_percent_threshold: RenewalPercentThreshold,
    /// Which renewals are expected: `intervals`, what each lease's own interval says, or `clients`, as in the Java server.
    #[arg(long, value_name = "WHICH", default_value = "intervals", value_parser = expected_renewals())]
    pub expected_renewals: ExpectedRenewals,
    /// How often a client is expected to renew where `expected-renewals` is `clients`.
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = units::duration)]
    pub expected_client_renewal_interval: Duration,
    /// How often the number of expected clients is compared with the leases.
    #[arg(long, value_name = "DURATION", default_value = "15m", value_parser = units::duration)]
    pub renewal_threshold_update_interval: Duration,
    /// The least number of clients expected. With 0, as in Netflix's server, registrations alone never raise it.
    #[arg(long, value_name = "CLIENTS", default_value = "1")]
    pub expected_clients_floor: u64,
}

impl PreservationSettings {
    pub(crate) fn policy(&self) -> PreservationPolicy {
        PreservationPolicy {
            switch: if self.enable_self_preservation { SelfPreservation::Enabled } else { SelfPreservation::Disabled },
            rule: self.self_preservation,
            share: self.renewal_percent_threshold,
            longest: (!self.self_preservation_max.is_zero()).then_some(self.self_preservation_max),
        }
    }
}

/// Those of the `heureka` profile.
impl Default for PreservationSettings {
    fn default() -> Self {
        Self {
            enable_self_preservation: true,
            self_preservation: PreservationRule::Missing,
            self_preservation_max: Duration::from_secs(3600),
            renewal_percent_threshold: RenewalPercentThreshold::DEFAULT,
            expected_renewals: ExpectedRenewals::Intervals,
            expected_client_renewal_interval: Duration::from_secs(30),
            renewal_threshold_update_interval: Duration::from_secs(900),
            expected_clients_floor: 1,
        }
    }
}

fn rule() -> impl TypedValueParser<Value = PreservationRule> {
    PossibleValuesParser::new(["missing", "renewals-per-minute"]).map(|name| match name.as_str() {
        "renewals-per-minute" => PreservationRule::RenewalsPerMinute,
        // The parser has let only the two names pass.
        _ => PreservationRule::Missing,
    })
}

fn expected_renewals() -> impl TypedValueParser<Value = ExpectedRenewals> {
    PossibleValuesParser::new(["intervals", "clients"]).map(|name| match name.as_str() {
        "clients" => ExpectedRenewals::Clients,
        // The parser has let only the two names pass.
        _ => ExpectedRenewals::Intervals,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Settings {
        #[command(flatten)]
        preservation: PreservationSettings,
    }

    fn parsed(arguments: &[&str]) -> Option<PreservationSettings> {
        Settings::try_parse_from([&["registry-core"], arguments].concat()).ok().map(|settings| settings.preservation)
    }

    #[test]
    fn defaults_are_the_default_and_names_are_checked() {
        assert_eq!(format!("{:?}", parsed(&[]).unwrap()), format!("{:?}", PreservationSettings::default()));
        let theirs = parsed(&["--self-preservation", "renewals-per-minute", "--self-preservation-max", "0"]).unwrap();
        let policy = theirs.policy();
        assert_eq!((policy.rule, policy.longest), (PreservationRule::RenewalsPerMinute, None));
        for wrong in
            [["--self-preservation", "on"], ["--renewal-percent-threshold", "85"], ["--expected-renewals", "x"]]
        {
            assert!(parsed(&wrong).is_none(), "{wrong:?}");
        }
    }
}
