//! When to look: one round after another. Each takes a report, makes a plan and carries it out. Run by `lib`.

use crate::{EvictionPlan, EvictionPolicy, execute::execute, metrics::Metrics, upstream::Leases};
use rand::{SeedableRng, rngs::SmallRng};
use registry_model::Mono;
use service_runtime::ProcessHandle;
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};
use tonic::Status;

/// How late rounds come. A late one gives every lease that much more time, for this round only.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lateness {
    interval: Duration,
    last: Option<Mono>,
}

impl Lateness {
    pub(crate) const fn new(interval: Duration) -> Self {
        Self { interval, last: None }
    }

    /// A round begins: how much more than the interval has passed since the last one, in whole milliseconds.
    pub(crate) fn begin(&mut self, now: Mono) -> Duration {
        let Some(last) = self.last.replace(now) else { return Duration::ZERO };
        let millis = now.saturating_since(last).as_millis().saturating_sub(self.interval.as_millis());
        Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX))
    }
}

/// Whether rounds evict; the operator's switch, shared with `service`.
#[derive(Debug, Default)]
pub(crate) struct Switch(AtomicBool);

impl Switch {
    pub(crate) fn suspend(&self) {
        self.0.store(true, Relaxed);
    }

    pub(crate) fn resume(&self) {
        self.0.store(false, Relaxed);
    }

    pub(crate) fn is_suspended(&self) -> bool {
        self.0.load(Relaxed)
    }
}

/// What the rounds need.
pub(crate) struct Rounds<L> {
    pub(crate) interval: Duration,
    pub(crate) policy: EvictionPolicy,
    pub(crate) registry: L,
    pub(crate) switch: Arc<Switch>,
    pub(crate) metrics: Arc<Metrics>,
}

impl<L: Leases> Rounds<L> {
    /// Goes on until the process stops. The first round comes one interval after the start.
    pub(crate) async fn run(&self, process: &ProcessHandle) {
        let (clock, stopping) = (process.clock(), process.stopping());
        self.metrics.interval.set(self.interval.as_secs_f64());
        let mut lateness = Lateness::new(self.interval);
        let mut reached = true;
        let mut due = clock.mono() + self.interval;
        while stopping.run_until_cancelled(clock.sleep_until(due)).await.is_some() {
            let now = clock.mono();
            // From when this one began, as in the Java server: rounds that were missed are not made up for.
            due = now + self.interval;
            let extra = lateness.begin(now);
            if self.switch.is_suspended() {
                continue;
            }
            let round = self.round(extra);
            match stopping.run_until_cancelled(round).await {
                None => return,
                Some(Ok(())) => {
                    if !reached {
                        tracing::info!("the registry answers again");
                    }
                    reached = true;
                }
                Some(Err(status)) => {
                    self.metrics.rounds_failed.inc();
                    if reached {
                        tracing::warn!(%status, "the registry does not answer: nothing is evicted");
                    }
                    reached = false;
                }
            }
        }
    }

    async fn round(&self, extra: Duration) -> Result<(), Status> {
        self.metrics.rounds.inc();
        let report = self.registry.report(extra).await?;
        self.metrics.expired.set(report.expired.len() as u64);
        if report.expired.is_empty() {
            return Ok(());
        }
        let seed = rand::random();
        match EvictionPlan::compute(&report, &self.policy, &mut SmallRng::seed_from_u64(seed)) {
            EvictionPlan::Protected => {
                tracing::debug!(expired = report.expired.len(), "leases that have run out are protected");
            }
            EvictionPlan::Evict(leases) if leases.is_empty() => {}
            EvictionPlan::Evict(leases) => {
                let evicted = execute(&leases, &self.registry).await?;
                let chosen = leases.len() as u64;
                self.metrics.evicted.inc_by(evicted);
                self.metrics.spared.inc_by(chosen.saturating_sub(evicted));
                tracing::info!(expired = report.expired.len(), chosen, evicted, "evicted leases that had run out");
                tracing::debug!(seed, ?extra, "the choice was random");
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
