//! The registry: table, change log and watches joined, so that the order of revisions is the order of effects.
//! Called by the methods of `service`.

#[cfg(test)]
mod tests;

use crate::{
    Life,
    change_log::{ChangeLog, Limit, Reading, Recent},
    lease_table::{LeaseEntry, LeaseTable, Moment, Renewal},
    metrics::Metrics,
    registration,
    snapshot::Snapshot,
    watch_hub::WatchHub,
};
use parking_lot::RwLock;
use registry_model::{InstanceInfo, LeaseExpiry, Origin, Position, Record, Revision, UnixMillis};
use service_runtime::SharedClock;
use std::{num::NonZeroUsize, sync::Arc, time::Duration};

/// One life of a registry.
pub(crate) struct Registry {
    life: Life,
    clock: SharedClock,
    expiry: LeaseExpiry,
    table: LeaseTable,
    /// Held exclusively by a command from its first look at the table to its change's announcement: commands come one after
    /// another. Snapshots hold it shared. Renewals never take it.
    log: RwLock<ChangeLog>,
    hub: WatchHub,
    metrics: Metrics,
}

impl Registry {
    /// An empty, cold registry.
    pub(crate) fn new(
        life: Life,
        log_capacity: NonZeroUsize,
        expiry: LeaseExpiry,
        clock: SharedClock,
        metrics: Metrics,
    ) -> Self {
        Self {
            life,
            clock,
            expiry,
            table: LeaseTable::new(),
            log: RwLock::new(ChangeLog::new(log_capacity)),
            hub: WatchHub::default(),
            metrics,
        }
    }

    /// Which life this is.
    pub(crate) fn life(&self) -> Life {
        self.life
    }

    /// Which renewal time is shown.
    pub(crate) fn expiry(&self) -> LeaseExpiry {
        self.expiry
    }

    /// What watches wait on.
    pub(crate) fn hub(&self) -> &WatchHub {
        &self.hub
    }

    /// What is counted.
    pub(crate) fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Now, in both kinds of time.
    pub(crate) fn now(&self) -> Moment {
        Moment { mono: self.clock.mono(), unix: self.clock.unix() }
    }

    /// Registers an instance, or registers it again.
    pub(crate) fn register(&self, mut incoming: Arc<InstanceInfo>, origin: Origin) -> Position {
        // Where the sender still holds the description its copy is made here, before others have to wait.
        let _ = Arc::make_mut(&mut incoming);
        let mut log = self.log.write();
        let now = self.now();
        let stored = self.table.get(incoming.key.app.as_str(), incoming.key.id.as_str());
        let entry = registration::register(incoming, stored.as_ref(), origin, now);
        let record = entry.record(self.expiry);
        self.table.put(entry);
        self.metrics.registrations.inc();
        self.publish(&mut log, now, record)
    }

    /// Removes an instance. The position includes the removal; there is no record if there was no such instance.
    pub(crate) fn cancel(&self, app: &str, id: &str) -> (Option<Record>, Position) {
        let mut log = self.log.write();
        let Some(removed) = self.table.remove(app, id) else {
            return (None, self.position(log.latest()));
        };
        let now = self.now();
        let record = removed.removal(self.expiry, now.unix);
        self.metrics.cancels.inc();
        let position = self.publish(&mut log, now, record.clone());
        (Some(record), position)
    }

    /// Renews a lease: one entry's atomics, no revision.
    pub(crate) fn renew(
        &self,
        app: &str,
        id: &str,
        last_dirty: Option<UnixMillis>,
        origin: Origin,
        now: Moment,
    ) -> Renewal {
        self.table.renew(app, id, last_dirty, origin, now.mono)
    }

    /// One instance with its present lease times.
    pub(crate) fn get(&self, app: &str, id: &str) -> Option<Record> {
        self.table.get(app, id).map(|entry| self.record_of(&entry))
    }

    /// A lease's record at this moment.
    pub(crate) fn record_of(&self, entry: &LeaseEntry) -> Record {
        entry.record(self.expiry)
    }

    /// From now on absence means something; only the first call counts.
    pub(crate) fn become_warm(&self) {
        let log = self.log.write();
        self.hub.warm(log.latest());
    }

    /// Whether changes can go on from this position.
    pub(crate) fn reaches(&self, position: Position) -> bool {
        position.epoch == self.life.epoch && self.log.read().reaches(position.revision)
    }

    /// The changes after a revision of this life.
    pub(crate) fn changes_after(&self, revision: Revision, limit: Limit) -> Reading {
        self.log.read().after(revision, limit)
    }

    /// All leases at one revision, with the changes of so much past time. Commands wait meanwhile, renewals do not.
    pub(crate) fn snapshot(&self, recent: Duration) -> Snapshot {
        let log = self.log.read();
        self.metrics.watch_snapshots.inc();
        Snapshot {
            revision: log.latest(),
            warm: self.hub.level().warm_since.is_some(),
            leases: self.table.entries(),
            recent: if recent.is_zero() { Recent::default() } else { log.since(self.now().unix - recent) },
        }
    }

    /// A revision of this life.
    pub(crate) fn position(&self, revision: Revision) -> Position {
        Position { epoch: self.life.epoch, revision }
    }

    fn publish(&self, log: &mut ChangeLog, now: Moment, record: Record) -> Position {
        let revision = log.append(now.unix, record);
        self.metrics.leases.set(self.table.len() as u64);
        self.metrics.revision.set(revision.0);
        self.hub.changed(revision);
        self.position(revision)
    }
}
