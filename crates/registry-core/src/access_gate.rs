//! The access gate: until when lists are not served, because what this registry holds is not what there is. Part of `config`;
//! `service::opening` asks it once the start-up sync has ended, `watch_hub` tells the caches.
//!
//! What clients register themselves does not open it: a list of the first few would empty the caches of all others.

use clap::ValueEnum;
use service_runtime::config::units;
use std::time::Duration;

/// Eureka compares strictly: in the very millisecond in which the time has passed lists are still refused.
const STRICTLY: Duration = Duration::from_millis(1);

/// Settings of the access gate.
#[derive(Clone, Debug, clap::Args)]
#[group(skip)]
pub struct AccessGate {
    /// From when on lists are served; registrations, renewals and reads of one instance always are.
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = ServeBeforeSync::Synced)]
    pub serve_before_sync: ServeBeforeSync,
    /// How long lists are refused after a start-up sync that has copied nothing, with `serve-before-sync = wait`.
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = units::duration)]
    pub wait_time_when_sync_empty: Duration,
}

/// From when on lists are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ServeBeforeSync {
    /// Once the start-up sync has ended, whatever it brought; at once where there are no peers.
    Synced,
    /// At once, as Spring's server does.
    Always,
    /// Once the start-up sync has brought instances or, where it has ended without any, some time later, as Netflix's server does.
    Wait,
}

impl AccessGate {
    /// Whether lists are served before the start-up sync has ended.
    pub(crate) fn is_open_at_start(&self) -> bool {
        match self.serve_before_sync {
            ServeBeforeSync::Always => true,
            ServeBeforeSync::Synced | ServeBeforeSync::Wait => false,
        }
    }

    /// How long after the end of a start-up sync that copied so many instances lists are served; zero: from then on.
    pub(crate) fn delay(&self, instances: u64) -> Duration {
        match self.serve_before_sync {
            ServeBeforeSync::Wait if instances == 0 && !self.wait_time_when_sync_empty.is_zero() => {
                self.wait_time_when_sync_empty + STRICTLY
            }
            ServeBeforeSync::Synced | ServeBeforeSync::Always | ServeBeforeSync::Wait => Duration::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::config::tests::parsed;

    #[test]
    fn the_gate_opens_when_the_setting_says() {
        const WAIT: &[&str] = &["--serve-before-sync", "wait"];
        const WAIT_5: &[&str] = &["--serve-before-sync", "wait", "--wait-time-when-sync-empty", "5s"];
        const WAIT_0: &[&str] = &["--serve-before-sync", "wait", "--wait-time-when-sync-empty", "0"];
        // Settings, whether it is open before the sync has ended, and milliseconds after its end with 0 and 3 instances.
        let table: [(&[&str], bool, u64, u64); 5] = [
            (&[], false, 0, 0),
            (&["--serve-before-sync", "always"], true, 0, 0),
            (WAIT, false, 300_001, 0),
            (WAIT_5, false, 5001, 0),
            (WAIT_0, false, 0, 0),
        ];
        for (arguments, at_start, empty, full) in table {
            let gate = parsed(arguments).unwrap().access_gate;
            assert_eq!(gate.is_open_at_start(), at_start, "{arguments:?}");
            let delays = [0, 3].map(|instances| gate.delay(instances).as_millis());
            assert_eq!(delays, [empty, full].map(u128::from), "{arguments:?}");
        }
        assert!(parsed(&["--serve-before-sync", "never"]).is_none());
    }
}
