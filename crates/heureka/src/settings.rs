//! Settings of the node: those of its services, and the profile that chooses between two sets of their defaults.

use clap::{Command, Parser, ValueEnum};
use service_runtime::{
    ConfigError, ProcessConfig, Sources,
    config::{load_with, with_default},
};

/// A node of the registry: registry, caches and REST API in one process.
#[derive(Clone, Debug, Parser)]
#[command(name = "heureka", version)]
pub struct Settings {
    /// Which defaults the other settings have.
    #[arg(long, value_enum, default_value_t = Profile::Heureka)]
    pub profile: Profile,
    /// Logs, the gRPC port, stopping.
    #[command(flatten)]
    pub process: ProcessConfig,
    /// The registry.
    #[command(flatten)]
    pub registry: registry_core::Config,
    /// Evictions.
    #[command(flatten)]
    pub evictor: evictor::Config,
    /// The read-write cache.
    #[command(flatten)]
    pub cache: cache_sync::Config,
    /// The REST API and the read-only cache.
    #[command(flatten)]
    pub facade: http_facade::Config,
}

/// A set of defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Profile {
    /// What users want: exact leases, changes visible at once.
    Heureka,
    /// As the Java server behaves: doubled leases, caches synced every 30 s.
    Eureka,
}

impl Profile {
    /// The settings whose defaults differ from the `heureka` profile's.
    const fn defaults(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Heureka => &[],
            Self::Eureka => &[
                ("lease-expiry", "doubled"),
                ("cache-push", "false"),
                ("response-cache-expiry-spread", "0s"),
                ("store-unchanged-override", "false"),
                ("cancel-grace", "0s"),
                ("eviction-interval", "60s"),
                ("self-preservation", "renewals-per-minute"),
                ("self-preservation-max", "0s"),
                ("expected-renewals", "clients"),
                ("serve-before-sync", "always"),
                ("first-delta-version", "one"),
            ],
        }
    }

    fn apply(self, command: Command) -> Command {
        let command = with_default(command, "grpc-listen", "0.0.0.0:7100");
        self.defaults().iter().fold(command, |command, (name, value)| with_default(command, name, value))
    }
}

impl Settings {
    /// Loads them; the profile is read first, since it decides the defaults of the rest.
    ///
    /// # Errors
    /// A setting that is unknown or has no sensible value; also `--help` and the like, which end the process as well.
    pub fn load(sources: &Sources) -> Result<Self, ConfigError> {
        // `--print-config` ends the first load already: the profile is found without it.
        let mut quiet = sources.clone();
        quiet.arguments.retain(|argument| argument != "--print-config");
        let profile = load_with::<Self>(&quiet, |command| Profile::Heureka.apply(command))?.profile;
        let settings = load_with::<Self>(sources, |command| profile.apply(command))?;
        settings.registry.check()?;
        Ok(settings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cache_sync::FirstDeltaVersion;
    use registry_core::ServeBeforeSync;
    use registry_model::{ExpectedRenewals, LeaseExpiry, PreservationRule};

    fn load(arguments: &[&str], environment: &[(&str, &str)]) -> Settings {
        let arguments = ["heureka"].iter().chain(arguments).copied();
        Settings::load(&Sources::of(arguments, environment.iter().copied())).unwrap()
    }

    #[test]
    fn the_profile_decides_defaults_and_nothing_else() {
        let ours = load(&[], &[]);
        assert_eq!((ours.registry.lease_expiry, ours.facade.cache_push), (LeaseExpiry::Exact, true));
        let theirs = load(&["--profile", "eureka"], &[]);
        assert_eq!((theirs.registry.lease_expiry, theirs.facade.cache_push), (LeaseExpiry::Doubled, false));
        let rules = |settings: &Settings| {
            let rules = &settings.registry.rules;
            (rules.store_unchanged_override, rules.cancel_grace.as_secs())
        };
        assert_eq!((rules(&ours), rules(&theirs)), ((true, 3), (false, 0)));
        let eviction = |settings: &Settings| {
            let preservation = &settings.registry.preservation;
            let rules = (preservation.self_preservation, preservation.expected_renewals);
            (settings.evictor.eviction_interval.as_secs(), preservation.self_preservation_max.as_secs(), rules)
        };
        assert_eq!(eviction(&ours), (1, 3600, (PreservationRule::Missing, ExpectedRenewals::Intervals)));
        assert_eq!(eviction(&theirs), (60, 0, (PreservationRule::RenewalsPerMinute, ExpectedRenewals::Clients)));
        let gate =
            |settings: &Settings| (settings.registry.access_gate.serve_before_sync, settings.cache.first_delta_version);
        assert_eq!(gate(&ours), (ServeBeforeSync::Synced, FirstDeltaVersion::Time));
        assert_eq!(gate(&theirs), (ServeBeforeSync::Always, FirstDeltaVersion::One));
        let mixed = load(&["--cache-push", "true"], &[("HEUREKA_PROFILE", "eureka")]);
        assert_eq!((mixed.registry.lease_expiry, mixed.facade.cache_push), (LeaseExpiry::Doubled, true));
    }
}
