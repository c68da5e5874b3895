//! What a renewal says and what it comes to: pure rules, called by the table under a read lock and by `registry` where a
//! renewal changes a status.

use super::LeaseEntry;
use crate::rules::Rules;
use registry_model::{InstanceStatus, Origin, UnixMillis, effective_status};
use std::cmp::Ordering;

/// A heartbeat.
#[derive(Clone, Copy, Debug)]
pub struct RenewalCall<'a> {
    /// The application's name in any case.
    pub app: &'a str,
    /// The instance's id.
    pub id: &'a str,
    /// The sender's version stamp of the description; if it is not given, it is not compared.
    pub last_dirty: Option<UnixMillis>,
    /// Who sends it.
    pub origin: Origin,
    /// The status that the sender believes the instance to have.
    pub said: Option<InstanceStatus>,
    /// The override that a sending peer holds.
    pub overridden: Option<InstanceStatus>,
}

/// What became of a renewal.
#[derive(Debug)]
pub enum Renewal {
    /// The lease is renewed.
    Renewed,
    /// The lease is renewed, though its client believes to have another status.
    StatusDiffers,
    /// There is no such lease, or its status is UNKNOWN; nothing is renewed.
    NotFound,
    /// The lease is renewed, but the stored description is older than the sender's.
    StoredIsOlder,
    /// The lease is renewed, and the stored description is newer than the sending peer's.
    StoredIsNewer(LeaseEntry),
}

/// The status is to be another than the stored one: only a command can do that. Nothing is renewed yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangesStatus;

/// How the sender's description relates to the stored one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Versions {
    Same,
    /// The sender's is older.
    StoredIsNewer,
    /// The sender's is newer.
    StoredIsOlder,
}

/// A renewal beside the lease that it is for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Met<'a> {
    call: &'a RenewalCall<'a>,
    rules: &'a Rules,
    stored: InstanceStatus,
    acting: Option<InstanceStatus>,
    versions: Versions,
}

impl<'a> RenewalCall<'a> {
    /// This renewal meets a lease with this status, override and version stamp.
    pub(crate) fn meets(
        &'a self,
        stored: InstanceStatus,
        acting: Option<InstanceStatus>,
        last_dirty: UnixMillis,
        rules: &'a Rules,
    ) -> Met<'a> {
        let sent = self.last_dirty.filter(|_| rules.sync_when_timestamp_differs);
        let versions = match sent.map_or(Ordering::Equal, |sent| sent.cmp(&last_dirty)) {
            Ordering::Less => Versions::StoredIsNewer,
            Ordering::Equal => Versions::Same,
            Ordering::Greater => Versions::StoredIsOlder,
        };
        Met { call: self, rules, stored, acting, versions }
    }

    /// What the client of the instance itself says about its status.
    fn clients_word(&self) -> Option<InstanceStatus> {
        match self.origin {
            Origin::Client => self.said.filter(|said| *said != InstanceStatus::Unknown),
            Origin::Peer => None,
        }
    }
}

impl Met<'_> {
    /// The status that the instance has from now on. Only its own description's heartbeat can heal it.
    pub(crate) fn status(&self) -> InstanceStatus {
        let heals = self.rules.heal_status_from_heartbeat && self.versions == Versions::Same;
        let said = self.call.clients_word().filter(|_| heals).unwrap_or(self.stored);
        let kept = self.rules.kept_status(self.stored);
        effective_status(said, self.acting, kept, self.call.origin)
    }

    /// Whether the client's word, under the override, gives another status than the one that was stored.
    fn status_differs(&self) -> bool {
        self.call
            .clients_word()
            .is_some_and(|said| effective_status(said, self.acting, None, Origin::Client) != self.stored)
    }

    /// What to tell the sender, the lease being renewed.
    pub(crate) fn outcome(&self, entry: impl FnOnce() -> LeaseEntry) -> Renewal {
        match (self.versions, self.call.origin) {
            (Versions::StoredIsOlder, _) => Renewal::StoredIsOlder,
            (Versions::StoredIsNewer, Origin::Peer) => Renewal::StoredIsNewer(entry()),
            (Versions::StoredIsNewer, Origin::Client) => Renewal::Renewed,
            (Versions::Same, _) if self.status_differs() => Renewal::StatusDiffers,
            (Versions::Same, _) => Renewal::Renewed,
        }
    }
}
