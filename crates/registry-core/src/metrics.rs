//! What registry-core counts. Owned by the registry and the watches; read through `/metrics`.

use crate::eureka_metrics::EurekaNames;
use prometheus_client::{
    metrics::{
        counter::Counter,
        gauge::Gauge,
        histogram::{Histogram, exponential_buckets},
    },
    registry::{Registry as Collected, Unit},
};
use std::sync::atomic::AtomicU64;

/// A level that is never negative.
pub(crate) type Level = Gauge<u64, AtomicU64>;

/// How long leases outlive their end.
#[derive(Clone, Debug)]
pub(crate) struct EvictionDelay(pub(crate) Histogram);

impl Default for EvictionDelay {
    /// From a quarter of a second, which a look every second often meets, to an hour, for which leases are protected.
    fn default() -> Self {
        Self(Histogram::new(exponential_buckets(0.25, 4.0, 8)))
    }
}

/// Calls that other servers replicated, by kind; nothing is added to these for a client's call.
#[derive(Clone, Debug, Default)]
pub(crate) struct Replicated {
    pub(crate) renewals: Counter,
    pub(crate) renewals_not_found: Counter,
    pub(crate) registrations: Counter,
    pub(crate) cancels: Counter,
    pub(crate) cancels_not_found: Counter,
    pub(crate) status_updates: Counter,
    pub(crate) status_override_deletes: Counter,
}

/// The counters and levels of one registry. Clones count together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Metrics {
    pub(crate) replicated: Replicated,
    pub(crate) renewals: Counter,
    pub(crate) renewals_not_found: Counter,
    pub(crate) registrations: Counter,
    pub(crate) registrations_after_cancel: Counter,
    pub(crate) cancels: Counter,
    pub(crate) evictions: Counter,
    pub(crate) stalls: Counter,
    pub(crate) cancels_not_found: Counter,
    pub(crate) status_updates: Counter,
    pub(crate) status_override_deletes: Counter,
    pub(crate) status_mismatches: Counter,
    pub(crate) address_changes: Counter,
    pub(crate) leases: Level,
    pub(crate) leases_missing: Level,
    pub(crate) leases_given_up: Level,
    pub(crate) protecting: Level,
    pub(crate) expected_clients: Level,
    pub(crate) renewals_last_minute: Level,
    pub(crate) renewals_threshold: Level,
    pub(crate) replications_last_minute: Level,
    pub(crate) below_threshold: Level,
    pub(crate) preservation_enabled: Level,
    pub(crate) gate_open: Level,
    pub(crate) eviction_delay: EvictionDelay,
    pub(crate) overrides: Level,
    pub(crate) revision: Level,
    pub(crate) watches_started: Counter,
    pub(crate) watches_ended: Counter,
    pub(crate) watch_snapshots: Counter,
}

impl Metrics {
    /// Adds them to what the process collects.
    pub(crate) fn new(collected: &mut Collected) -> Self {
        let metrics = Self::default();
        collected.register_collector(Box::new(EurekaNames(metrics.clone())));
        let collected = collected.sub_registry_with_prefix("heureka_registry");
        let counters = [
            ("renewals", "Leases renewed", &metrics.renewals),
            ("renewals_not_found", "Renewals of unknown leases", &metrics.renewals_not_found),
            ("registrations", "Registrations applied", &metrics.registrations),
            (
                "registrations_after_cancel",
                "Registrations as DOWN right after a cancel, ignored",
                &metrics.registrations_after_cancel,
            ),
            ("evictions", "Leases removed because they had run out", &metrics.evictions),
            ("stalls", "Times at which this process did not run for a while", &metrics.stalls),
            ("cancels", "Instances removed by their own wish", &metrics.cancels),
            ("cancels_not_found", "Cancels of unknown instances", &metrics.cancels_not_found),
            ("status_updates", "Calls that override a status", &metrics.status_updates),
            ("status_override_deletes", "Calls that remove an override", &metrics.status_override_deletes),
            (
                "status_mismatches",
                "Renewals whose client believed another status than the stored one",
                &metrics.status_mismatches,
            ),
            (
                "address_changes",
                "Registrations that moved an id with a lease to another address: two processes may share it",
                &metrics.address_changes,
            ),
            ("watches_started", "Watches begun", &metrics.watches_started),
            ("watches_ended", "Watches ended", &metrics.watches_ended),
            ("watch_snapshots", "Snapshots taken for watches", &metrics.watch_snapshots),
        ];
        for (name, help, counter) in counters {
            collected.register(name, help, counter.clone());
        }
        let levels = [
            ("leases", "Leases held", &metrics.leases),
            ("leases_missing", "Leases that miss their renewals", &metrics.leases_missing),
            ("leases_given_up", "Leases given up: they go although leases are protected", &metrics.leases_given_up),
            ("self_preservation", "1 while leases are protected", &metrics.protecting),
            ("expected_clients", "Eureka's number of clients expected to renew", &metrics.expected_clients),
            ("renewals_last_minute", "Renewals of the last complete minute", &metrics.renewals_last_minute),
            ("renewals_threshold", "The renewals a minute to be exceeded, by Eureka", &metrics.renewals_threshold),
        ];
        for (name, help, level) in levels {
            collected.register(name, help, level.clone());
        }
        collected.register_with_unit(
            "eviction_delay",
            "How long after its end a lease was evicted",
            Unit::Seconds,
            metrics.eviction_delay.0.clone(),
        );
        collected.register("overrides", "Overrides held", metrics.overrides.clone());
        collected.register("revision", "The latest revision", metrics.revision.clone());
        metrics
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_carry_the_name_of_the_service() {
        let mut collected = Collected::default();
        let metrics = Metrics::new(&mut collected);
        metrics.renewals.inc();
        metrics.leases.set(3);
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &collected).unwrap();
        assert!(text.contains("heureka_registry_renewals_total 1\n"), "{text}");
        assert!(text.contains("heureka_registry_leases 3\n"), "{text}");
    }

    #[test]
    fn the_same_figures_have_eurekas_names() {
        let mut collected = Collected::default();
        let metrics = Metrics::new(&mut collected);
        let counts = [
            (&metrics.renewals, 5),
            (&metrics.renewals_not_found, 2),
            (&metrics.replicated.renewals, 3),
            (&metrics.cancels, 4),
            (&metrics.cancels_not_found, 1),
            (&metrics.evictions, 6),
            (&metrics.replicated.cancels, 2),
        ];
        for (counter, count) in counts {
            counter.inc_by(count);
        }
        metrics.protecting.set(1);
        metrics.renewals_threshold.set(17);
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &collected).unwrap();
        for line in [
            "eureka_renew_total 7",
            "eureka_renew_minus_replication_total 4",
            "eureka_renew_not_found_total 2",
            "eureka_cancel_total 11",
            "eureka_cancel_minus_replication_total 9",
            "eureka_cancel_not_found_total 1",
            "eureka_expired_total 6",
            "eureka_is_lease_expiration_enabled 0",
            "eureka_num_of_renews_per_min_threshold 17",
        ] {
            assert!(text.contains(&format!("{line}\n")), "{line} is not in\n{text}");
        }
    }
}
