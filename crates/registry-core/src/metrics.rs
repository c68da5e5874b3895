//! What registry-core counts. Owned by the registry and the watches; read through `/metrics`.

use prometheus_client::{
    metrics::{counter::Counter, gauge::Gauge},
    registry::Registry as Collected,
};
use std::sync::atomic::AtomicU64;

/// A level that is never negative.
pub(crate) type Level = Gauge<u64, AtomicU64>;

/// The counters and levels of one registry.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    pub(crate) renewals: Counter,
    pub(crate) renewals_not_found: Counter,
    pub(crate) registrations: Counter,
    pub(crate) cancels: Counter,
    pub(crate) leases: Level,
    pub(crate) revision: Level,
    pub(crate) watches_started: Counter,
    pub(crate) watches_ended: Counter,
    pub(crate) watch_snapshots: Counter,
}

impl Metrics {
    /// Adds them to what the process collects.
    pub(crate) fn new(collected: &mut Collected) -> Self {
        let metrics = Self::default();
        let collected = collected.sub_registry_with_prefix("heureka_registry");
        let counters = [
            ("renewals", "Leases renewed", &metrics.renewals),
            ("renewals_not_found", "Renewals of unknown leases", &metrics.renewals_not_found),
            ("registrations", "Registrations applied", &metrics.registrations),
            ("cancels", "Instances removed by their own wish", &metrics.cancels),
            ("watches_started", "Watches begun", &metrics.watches_started),
            ("watches_ended", "Watches ended", &metrics.watches_ended),
            ("watch_snapshots", "Snapshots taken for watches", &metrics.watch_snapshots),
        ];
        for (name, help, counter) in counters {
            collected.register(name, help, counter.clone());
        }
        collected.register("leases", "Leases held", metrics.leases.clone());
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
}
