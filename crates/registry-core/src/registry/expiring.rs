//! Leases that have run out: which they are, and their removal. Called by `service::leases` and by the ticks.

use super::Registry;
use crate::preservation::Figures;
use registry_model::{ExpiredLease, LeaseReport, Origin, Position, PreservationStatus, UnixMillis};
use std::time::Duration;

/// How many leases are evicted before other commands get their turn.
const EVICTED_AT_ONCE: usize = 256;

impl Registry {
    /// The registry serves from now on, with so many clients taken over from other servers.
    pub(crate) fn open(&self, taken_over: u64) {
        self.preservation.opened(taken_over, self.table.len() as u64);
    }

    /// When it was opened.
    pub(crate) fn opened(&self) -> UnixMillis {
        self.opened
    }

    /// Once a second: what time does to leases as a whole.
    pub(crate) fn tick(&self) {
        self.preservation.tick(&self.table, self.now(), &self.metrics);
    }

    /// The leases that have run out, even with `extra` time.
    pub(crate) fn report_leases(&self, extra: Duration) -> LeaseReport {
        self.preservation.report(&self.table, self.now(), extra)
    }

    /// Removes the leases that have run out and are still as they were seen. How many that were, and a position that includes it.
    pub(crate) fn evict(&self, leases: &[ExpiredLease]) -> (u64, Position) {
        let evicted = leases.chunks(EVICTED_AT_ONCE).map(|some| self.evict_at_once(some)).sum();
        (evicted, self.position(self.log.read().latest()))
    }

    fn evict_at_once(&self, leases: &[ExpiredLease]) -> u64 {
        let mut log = self.log.write();
        let now = self.now();
        let excuses = self.preservation.excuses(now.mono);
        let mut evicted = 0;
        for ExpiredLease { key, stamp, .. } in leases {
            // Seen as run out, renewed since: it stays, as it does where time was lost since.
            let goes = |lease: registry_model::Lease| {
                lease.stamp() == *stamp && lease.has_run_out(now.mono, self.expiry, excuses.since(lease.last_sign()))
            };
            let Some(removed) = self.table.remove_if(key, goes) else { continue };
            let delay = now.mono.saturating_since(removed.lease().holds_until(self.expiry));
            self.metrics.eviction_delay.0.observe(delay.as_secs_f64());
            self.metrics.evictions.inc();
            self.announce_removal(&mut log, &removed, now);
            evicted += 1;
        }
        self.preservation.evicted(evicted, now.mono);
        evicted
    }

    /// An operator says that what is missing is gone. How many leases were given up.
    pub(crate) fn give_up_missing(&self) -> u64 {
        self.preservation.give_up_missing(&self.table, self.now())
    }

    /// Eureka's figures and self-preservation, looked at anew.
    pub(crate) fn figures(&self) -> (u64, Figures, PreservationStatus) {
        let leases = self.report_leases(Duration::ZERO).leases;
        (leases, self.preservation.figures(self.now().mono), self.preservation.status())
    }

    /// Counts a call that another server has replicated.
    pub(crate) fn count_replication(&self, origin: Origin) {
        match origin {
            Origin::Peer => self.preservation.replicated(self.now().mono),
            Origin::Client => {}
        }
    }
}
