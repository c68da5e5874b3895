//! The registry: table, change log and watches joined, so that the order of revisions is the order of effects.
//! Called by the methods of `service`.

mod addresses;
mod expiring;
mod metadata;
mod overriding;
mod reads;
mod renewing;
#[cfg(test)]
mod tests;

pub(crate) use metadata::MetadataTooLarge;

use crate::{
    Config, Life,
    cancel_grace::CancelGrace,
    change_log::{ChangeLog, Limit, Reading, Recent},
    lease_table::{LeaseEntry, LeaseTable, Moment},
    metrics::Metrics,
    overrides::Overrides,
    preservation::Preservation,
    recent::Recents,
    registration::{self, Found},
    rules::Rules,
    same_address::LastRegistrants,
    snapshot::Snapshot,
    watch_hub::WatchHub,
};
use parking_lot::{Mutex, RwLock};
use registry_model::{
    AppName, InstanceId, InstanceInfo, InstanceKey, InstanceStatus, LeaseExpiry, Origin, Position, Record, Revision,
    UnixMillis,
};
use service_runtime::SharedClock;
use std::{sync::Arc, time::Duration};

/// One life of a registry.
pub(crate) struct Registry {
    life: Life,
    clock: SharedClock,
    opened: UnixMillis,
    expiry: LeaseExpiry,
    /// The id of this server's own instance, if it has one.
    own_id: Option<InstanceId>,
    rules: Rules,
    table: LeaseTable,
    /// Written under the log's lock, and before the description that tells of it; so renewals need not look where none is told of.
    overrides: Overrides,
    cancelled_lately: CancelGrace,
    last_registrants: Mutex<LastRegistrants>,
    recently_registered: Recents,
    recently_cancelled: Recents,
    preservation: Preservation,
    /// Held exclusively by a command from its first look at the table to its change's announcement: commands come one after
    /// another. Snapshots hold it shared. Renewals never take it.
    log: RwLock<ChangeLog>,
    hub: WatchHub,
    metrics: Metrics,
}

impl Registry {
    /// An empty, cold registry.
    pub(crate) fn new(life: Life, config: &Config, clock: SharedClock, metrics: Metrics) -> Self {
        let silence = config.access_gate.wait_time_when_sync_empty;
        let preservation = Preservation::new(config.preservation.clone(), config.lease_expiry, silence, clock.mono());
        let opened = clock.unix();
        let hub = WatchHub::default();
        if config.access_gate.is_open_at_start() {
            hub.open_gate(Revision(0));
            metrics.gate_open.set(1);
        }
        Self {
            life,
            clock,
            opened,
            preservation,
            expiry: config.lease_expiry,
            own_id: config.own_instance.id(),
            rules: config.rules.clone(),
            table: LeaseTable::new(),
            overrides: Overrides::new(config.rules.override_expiry),
            cancelled_lately: CancelGrace::new(config.rules.cancel_grace),
            last_registrants: Mutex::default(),
            recently_registered: Recents::default(),
            recently_cancelled: Recents::default(),
            log: RwLock::new(ChangeLog::new(config.change_log_capacity)),
            hub,
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

    /// Registers an instance, or registers it again. Without effect, a client's last word on its way out.
    pub(crate) fn register(&self, mut incoming: Arc<InstanceInfo>, origin: Origin) -> Position {
        // Where the sender still holds the description its copy is made here, before others have to wait.
        // Only this server knows whether it is itself.
        let is_own = self.own_id.as_ref() == Some(&incoming.key.id);
        Arc::make_mut(&mut incoming).coordinating = is_own;
        let mut log = self.log.write();
        let now = self.now();
        let key = &incoming.key;
        let stored = self.table.get(key.app.as_str(), key.id.as_str());
        let last_word = stored.is_none() && origin == Origin::Client && incoming.status == InstanceStatus::Down;
        if last_word && self.cancelled_lately.holds(key, now.mono) {
            self.metrics.registrations_after_cancel.inc();
            tracing::debug!(instance = %key, "a registration as DOWN came right after the cancel, ignored");
            return self.position(log.latest());
        }
        self.look_at_addresses(&mut log, &incoming, stored.as_ref(), origin, now);
        self.put_registered(&mut log, incoming, stored.as_ref(), origin, now)
    }

    fn put_registered(
        &self,
        log: &mut ChangeLog,
        incoming: Arc<InstanceInfo>,
        stored: Option<&LeaseEntry>,
        origin: Origin,
        now: Moment,
    ) -> Position {
        let key = incoming.key.clone();
        let acting = self.overrides.acting(key.app.as_str(), key.id.as_str(), now.mono);
        let registered = registration::register(incoming, Found { stored, acting }, origin, &self.rules, now);
        if let Some(brought) = registered.brought {
            self.overrides.put(key.clone(), brought, now.mono);
        }
        let (record, size) = (registered.entry.record(self.expiry), registered.entry.size());
        if self.table.put(registered.entry).is_none() {
            self.preservation.registered();
        }
        self.recently_registered.add(now.unix, key);
        self.metrics.registrations.inc();
        self.publish(log, now, record, size)
    }

    /// Removes an instance and its override. The position includes the removal; there is no record if there was no such instance.
    pub(crate) fn cancel(&self, app: &str, id: &str) -> (Option<Record>, Position) {
        let mut log = self.log.write();
        let now = self.now();
        let Some(stored) = self.table.get(app, id) else {
            self.metrics.cancels_not_found.inc();
            if let (Ok(app), Ok(id)) = (AppName::parse(app), InstanceId::parse(id)) {
                self.recently_cancelled.add(now.unix, InstanceKey { app, id });
            }
            return (None, self.position(log.latest()));
        };
        let key = &stored.instance().key;
        // First, so that a heartbeat that does not find the instance any more finds this to take back.
        self.cancelled_lately.remember(key.clone(), now.mono);
        self.overrides.remove(key, now.mono);
        let removed = self.table.remove(app, id).unwrap_or_else(|| stored.clone());
        self.metrics.cancels.inc();
        let (record, position) = self.announce_removal(&mut log, &removed, now);
        (Some(record), position)
    }

    /// Tells everybody that a lease is removed from the table.
    fn announce_removal(&self, log: &mut ChangeLog, removed: &LeaseEntry, now: Moment) -> (Record, Position) {
        self.preservation.removed();
        let record = removed.removal(self.expiry, now.unix);
        self.recently_cancelled.add(now.unix, record.key().clone());
        let position = self.publish(log, now, record.clone(), removed.size());
        (record, position)
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

    /// From now on lists may be served; only the first call counts.
    pub(crate) fn open_gate(&self) {
        let log = self.log.write();
        if self.hub.open_gate(log.latest()) {
            self.metrics.gate_open.set(1);
            tracing::info!("lists are served from now on");
        }
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

    fn publish(&self, log: &mut ChangeLog, now: Moment, record: Record, size: usize) -> Position {
        let revision = log.append(now.unix, record, size);
        self.metrics.leases.set(self.table.len() as u64);
        let overrides = self.overrides.len() as u64;
        // Nearly always as many as before: then it stays where all cores have it at hand.
        if self.metrics.overrides.get() != overrides {
            self.metrics.overrides.set(overrides);
        }
        self.metrics.revision.set(revision.0);
        self.hub.changed(revision);
        self.position(revision)
    }
}
