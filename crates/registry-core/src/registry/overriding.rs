//! Commands that override an instance's status, or remove the override. Called by `service::commands`, and for a peer's override
//! by `renewing`.

use super::Registry;
use crate::{
    change_log::ChangeLog,
    lease_table::{LeaseEntry, Moment},
};
use registry_model::{InstanceInfo, InstanceStatus, Position, UnixMillis};

impl Registry {
    /// Overrides an instance's status and renews its lease; `last_dirty` raises the stored stamp. A position that includes it,
    /// or none if there is no such instance.
    pub(crate) fn set_status(
        &self,
        app: &str,
        id: &str,
        status: InstanceStatus,
        last_dirty: Option<UnixMillis>,
    ) -> Option<Position> {
        let mut log = self.log.write();
        self.metrics.status_updates.inc();
        let now = self.now();
        let stored = self.present(app, id)?;
        let instance = stored.instance();
        self.table.touch(&instance.key, now.mono);
        let has_it = instance.status == status;
        if has_it && !self.rules.store_unchanged_override {
            return Some(self.position(log.latest()));
        }
        let held = self.overrides.acting(instance.key.app.as_str(), instance.key.id.as_str(), now.mono);
        if has_it && held == Some(status) {
            return Some(self.position(log.latest()));
        }
        self.overrides.put(instance.key.clone(), status, now.mono);
        let mut entry = stored.modified(now.unix, |instance| {
            instance.overridden_status = status;
            instance.status = status;
            raise_dirty(instance, last_dirty);
        });
        if status == InstanceStatus::Up {
            entry = entry.up_since(now.unix);
        }
        self.publish_modified(&mut log, entry, now);
        Some(self.position(log.latest()))
    }

    /// Removes an instance's override, if it has one, and renews its lease in any case. The status afterwards is `status`; if
    /// that is UNKNOWN the client's next registration decides. A position that includes it, or none if there is no such instance.
    pub(crate) fn clear_status(
        &self,
        app: &str,
        id: &str,
        status: InstanceStatus,
        last_dirty: Option<UnixMillis>,
    ) -> Option<Position> {
        let mut log = self.log.write();
        self.metrics.status_override_deletes.inc();
        let now = self.now();
        let stored = self.present(app, id)?;
        let key = &stored.instance().key;
        self.table.touch(key, now.mono);
        if self.overrides.remove(key, now.mono).is_some() {
            let entry = stored.modified(now.unix, |instance| {
                instance.overridden_status = InstanceStatus::Unknown;
                instance.status = status;
                raise_dirty(instance, last_dirty);
            });
            self.publish_modified(&mut log, entry, now);
        }
        Some(self.position(log.latest()))
    }

    /// Stores an override without applying it, unless it is stored already.
    pub(super) fn store_override(&self, app: &str, id: &str, status: InstanceStatus) {
        let mut log = self.log.write();
        let now = self.now();
        let Some(stored) = self.table.get(app, id) else { return };
        let key = &stored.instance().key;
        if self.overrides.acting(key.app.as_str(), key.id.as_str(), now.mono) == Some(status) {
            return;
        }
        self.overrides.put(key.clone(), status, now.mono);
        let entry = stored.modified(now.unix, |instance| instance.overridden_status = status);
        self.publish_modified(&mut log, entry, now);
    }

    /// Puts a changed description in its place and tells everybody. Returns the lease as it is then.
    pub(super) fn publish_modified(&self, log: &mut ChangeLog, entry: LeaseEntry, now: Moment) -> LeaseEntry {
        // Commands come one after another: what was there a moment ago is there still.
        let entry = self.table.redescribe(entry.clone()).unwrap_or(entry);
        self.publish(log, now, entry.record(self.expiry), entry.size());
        entry
    }
}

fn raise_dirty(instance: &mut InstanceInfo, last_dirty: Option<UnixMillis>) {
    instance.last_dirty = last_dirty.map_or(instance.last_dirty, |sent| sent.max(instance.last_dirty));
}
