//! What the relay counts. Added to the process's metrics by `watch_relay`.

use prometheus_client::{metrics::counter::Counter, registry::Registry};

/// All counters of the relay.
#[derive(Debug, Default)]
pub(super) struct Metrics {
    pub(super) started: Counter,
    pub(super) ended: Counter,
    pub(super) snapshots: Counter,
    pub(super) opened: Counter,
    pub(super) breaks: Counter,
}

impl Metrics {
    pub(super) fn new(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        let counters = [
            ("watches_started", "Watches of users begun", &metrics.started),
            ("watches_ended", "Watches of users ended", &metrics.ended),
            ("watch_snapshots", "Snapshots begun for watches of users", &metrics.snapshots),
            ("registry_watches", "Watches of the registry opened for users", &metrics.opened),
            ("registry_watch_breaks", "Watches of the registry that broke", &metrics.breaks),
        ];
        let registry = registry.sub_registry_with_prefix("heureka_facade");
        for (name, help, counter) in counters {
            registry.register(name, help, counter.clone());
        }
        metrics
    }
}
