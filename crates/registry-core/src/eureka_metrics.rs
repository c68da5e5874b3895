//! The registry's figures under Eureka's names, made from what `metrics` counts whenever somebody looks: nothing is counted twice.

use crate::metrics::Metrics;
use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeMetric},
    metrics::{counter::ConstCounter, gauge::ConstGauge},
};
use std::fmt;

/// Calls of one kind: all, and those among them that other servers replicated.
type Calls = (u64, u64);

/// Name, meaning, and where the value comes from.
type Figure<T> = (&'static str, &'static str, fn(&Metrics) -> T);

const COUNTERS: [Figure<Calls>; 7] = [
    ("renew", "Renewals, those that found no lease included", |metrics| {
        (metrics.renewals.get() + metrics.renewals_not_found.get(), metrics.replicated.renewals.get())
    }),
    ("renew_not_found", "Renewals that found no lease", |metrics| {
        (metrics.renewals_not_found.get(), metrics.replicated.renewals_not_found.get())
    }),
    ("register", "Registrations and changes of metadata", |metrics| {
        (metrics.registrations.get(), metrics.replicated.registrations.get())
    }),
    ("cancel", "Removals: cancels, those of unknown instances included, and evictions", |metrics| {
        let cancels = metrics.cancels.get() + metrics.cancels_not_found.get();
        (cancels + metrics.evictions.get(), metrics.replicated.cancels.get())
    }),
    ("cancel_not_found", "Cancels of unknown instances", |metrics| {
        (metrics.cancels_not_found.get(), metrics.replicated.cancels_not_found.get())
    }),
    ("status_update", "Calls that override a status", |metrics| {
        (metrics.status_updates.get(), metrics.replicated.status_updates.get())
    }),
    ("status_override_delete", "Calls that remove an override", |metrics| {
        (metrics.status_override_deletes.get(), metrics.replicated.status_override_deletes.get())
    }),
];

const GAUGES: [Figure<u64>; 9] = [
    ("num_of_renews_in_last_min", "Renewals of the last complete minute", |metrics| metrics.renewals_last_minute.get()),
    ("num_of_renews_per_min_threshold", "The renewals a minute to be exceeded", |metrics| {
        metrics.renewals_threshold.get()
    }),
    ("num_of_replications_in_last_min", "Calls replicated here in the last complete minute", |metrics| {
        metrics.replications_last_minute.get()
    }),
    (
        "is_below_renew_threshold",
        "1 while the threshold is not exceeded, once wait-time-when-sync-empty has passed",
        |metrics| metrics.below_threshold.get(),
    ),
    ("is_lease_expiration_enabled", "1 while leases that have run out may be evicted", |metrics| {
        u64::from(metrics.protecting.get() == 0)
    }),
    ("is_self_preservation_mode_enabled", "1 if self-preservation is configured", |metrics| {
        metrics.preservation_enabled.get()
    }),
    ("should_allow_access", "1 while lists may be served", |metrics| metrics.gate_open.get()),
    ("local_registry_size", "Leases held", |metrics| metrics.leases.get()),
    ("num_of_elements_in_instance_cache", "Overrides held", |metrics| metrics.overrides.get()),
];

/// Collected beside the registry's own metrics.
pub(crate) struct EurekaNames(pub(crate) Metrics);

impl fmt::Debug for EurekaNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EurekaNames").finish_non_exhaustive()
    }
}

impl Collector for EurekaNames {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut counter = |name: &str, help: &str, value: u64| {
            let counter = ConstCounter::new(value);
            counter.encode(encoder.encode_descriptor(name, &format!("{help}."), None, counter.metric_type())?)
        };
        for (name, help, calls) in COUNTERS {
            let (all, replicated) = calls(&self.0);
            counter(&format!("eureka_{name}"), help, all)?;
            let help = format!("{help}, without what other servers replicated");
            counter(&format!("eureka_{name}_minus_replication"), &help, all.saturating_sub(replicated))?;
        }
        counter("eureka_expired", "Leases evicted", self.0.evictions.get())?;
        for (name, help, level) in GAUGES {
            let gauge = ConstGauge::new(level(&self.0));
            let name = format!("eureka_{name}");
            gauge.encode(encoder.encode_descriptor(&name, &format!("{help}."), None, gauge.metric_type())?)?;
        }
        Ok(())
    }
}
