//! What cache-sync counts. Read through `/metrics`.

use prometheus_client::{
    metrics::{counter::Counter, gauge::Gauge},
    registry::Registry as Collected,
};
use std::sync::atomic::AtomicU64;

/// A level that is never negative.
type Level = Gauge<u64, AtomicU64>;

/// The counters and levels of one cache.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    pub(crate) changes: Counter,
    pub(crate) snapshots: Counter,
    pub(crate) watch_breaks: Counter,
    pub(crate) pages_sent: Counter,
    pub(crate) pages_refreshed: Counter,
    pub(crate) payloads_repaired: Counter,
    pub(crate) revision: Level,
    pub(crate) instances: Level,
    pub(crate) followers: Level,
}

impl Metrics {
    /// Adds them to what the process collects.
    pub(crate) fn new(collected: &mut Collected) -> Self {
        let metrics = Self::default();
        let collected = collected.sub_registry_with_prefix("heureka_cache");
        let counters = [
            ("changes", "Changes taken from the registry", &metrics.changes),
            ("snapshots", "Snapshots taken from the registry", &metrics.snapshots),
            ("watch_breaks", "Watches of the registry that broke", &metrics.watch_breaks),
            ("pages_sent", "Pages sent to followers", &metrics.pages_sent),
            ("pages_refreshed", "Pages whose lease times were read anew", &metrics.pages_refreshed),
            (
                "payloads_repaired",
                "Payloads sent whole because a follower had missed something",
                &metrics.payloads_repaired,
            ),
        ];
        for (name, help, counter) in counters {
            collected.register(name, help, counter.clone());
        }
        let levels = [
            ("revision", "The revision of the view", &metrics.revision),
            ("instances", "Instances in the view", &metrics.instances),
            ("followers", "Read-only caches that follow", &metrics.followers),
        ];
        for (name, help, level) in levels {
            collected.register(name, help, level.clone());
        }
        metrics
    }
}
