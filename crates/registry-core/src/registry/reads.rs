//! Reads that go past the caches. Called by `service::queries`.

use super::Registry;
use crate::{lease_table::LeaseEntry, recent::Event};
use registry_model::{InstanceKey, InstanceStatus, LeaseTimes, Record};

impl Registry {
    /// One instance with its present lease times.
    pub(crate) fn get(&self, app: &str, id: &str) -> Option<Record> {
        self.present(app, id).map(|entry| self.record_of(&entry))
    }

    /// An instance with this id in any application, with its present lease times.
    pub(crate) fn get_by_id(&self, id: &str) -> Option<Record> {
        self.table.find_by_id(id, |entry| self.shows(entry)).map(|entry| self.record_of(&entry))
    }

    /// This server's own instance.
    pub(crate) fn own(&self) -> Option<Record> {
        self.get_by_id(self.own_id.as_ref()?.as_str())
    }

    /// The lease of an instance, as single reads and operators' commands see it.
    pub(super) fn present(&self, app: &str, id: &str) -> Option<LeaseEntry> {
        self.table.get(app, id).filter(|entry| self.shows(entry))
    }

    /// Whether single reads show this lease: not once it has run out, unless leases are protected.
    fn shows(&self, entry: &LeaseEntry) -> bool {
        let now = self.now().mono;
        !(self.preservation.has_run_out(entry, now) && self.preservation.expiration_enabled(now))
    }

    /// The present times of a lease, whether it has run out or not.
    pub(crate) fn lease_times(&self, app: &str, id: &str) -> Option<LeaseTimes> {
        self.table.get(app, id).map(|entry| entry.times(self.expiry))
    }

    /// All overrides, in no order.
    pub(crate) fn list_overrides(&self) -> Vec<(InstanceKey, InstanceStatus)> {
        self.overrides.list(self.now().mono)
    }

    /// The latest registrations, newest first.
    pub(crate) fn recently_registered(&self, most: usize) -> Vec<Event> {
        self.recently_registered.latest(most)
    }

    /// The latest removals, and cancels of what was not there, newest first.
    pub(crate) fn recently_cancelled(&self, most: usize) -> Vec<Event> {
        self.recently_cancelled.latest(most)
    }
}
