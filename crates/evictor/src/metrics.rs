//! What the evictor counts. Read through `/metrics`.

use prometheus_client::{
    metrics::{counter::Counter, gauge::Gauge},
    registry::{Registry as Collected, Unit},
};
use std::sync::atomic::AtomicU64;

/// A level that is never negative.
type Level = Gauge<u64, AtomicU64>;

/// The counters and levels of one evictor.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    pub(crate) rounds: Counter,
    pub(crate) rounds_failed: Counter,
    pub(crate) evicted: Counter,
    pub(crate) spared: Counter,
    pub(crate) expired: Level,
    pub(crate) suspended: Level,
    /// A lease ends within its time and this, where neither protection nor the share limit holds it.
    pub(crate) interval: Gauge<f64, AtomicU64>,
}

impl Metrics {
    /// Adds them to what the process collects.
    pub(crate) fn new(collected: &mut Collected) -> Self {
        let metrics = Self::default();
        let collected = collected.sub_registry_with_prefix("heureka_evictor");
        let counters = [
            ("rounds", "Rounds begun", &metrics.rounds),
            ("rounds_failed", "Rounds that the registry did not answer", &metrics.rounds_failed),
            ("evicted", "Leases evicted", &metrics.evicted),
            ("spared", "Leases chosen that were renewed or removed before they could be evicted", &metrics.spared),
        ];
        for (name, help, counter) in counters {
            collected.register(name, help, counter.clone());
        }
        collected.register("expired", "Leases that had run out in the latest round", metrics.expired.clone());
        collected.register("suspended", "1 while an operator has suspended evictions", metrics.suspended.clone());
        collected.register_with_unit(
            "interval",
            "How often leases that have run out are looked for: no lease that may go stays longer",
            Unit::Seconds,
            metrics.interval.clone(),
        );
        metrics
    }
}
