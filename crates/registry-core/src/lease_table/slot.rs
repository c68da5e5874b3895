//! A lease as it lies in a shard: all that a renewal touches, in two cache lines, without a pointer to follow.

use super::{
    entry::{Grant, LeaseEntry, override_of},
    key_text::KeyText,
};
use registry_model::{InstanceKey, InstanceStatus, Lease, Mono, UnixMillis};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

/// What stands in the place of the last renewal as long as there was none.
const NEVER: u64 = 0;

// The order is kept: what is compared first comes first.
#[repr(C, align(64))]
#[derive(Debug)]
pub(crate) struct Slot {
    /// Kept, so that most mismatches cost no comparison of texts and growth no hashing.
    hash: u64,
    key: KeyText,
    last_dirty: UnixMillis,
    /// Nanoseconds of [`Mono`], or [`NEVER`].
    renewed: AtomicU64,
    granted: Mono,
    grant: Arc<Grant>,
    duration_secs: u32,
    renewal_interval_secs: u32,
    status: InstanceStatus,
    overridden: InstanceStatus,
}

const _: () = assert!(size_of::<Slot>() == 128, "a slot takes two cache lines");

impl Slot {
    pub(super) fn new(hash: u64, LeaseEntry { lease, grant }: LeaseEntry) -> Self {
        let instance = &grant.instance;
        Self {
            hash,
            key: KeyText::new(instance.key.app.as_str(), instance.key.id.as_str()),
            last_dirty: instance.last_dirty,
            renewed: AtomicU64::new(lease.renewed.map_or(NEVER, nanos)),
            granted: lease.granted,
            duration_secs: u32::try_from(lease.duration.as_secs()).unwrap_or(u32::MAX),
            renewal_interval_secs: grant.renewal_interval_secs,
            status: instance.status,
            overridden: instance.overridden_status,
            grant,
        }
    }

    pub(super) fn is(&self, hash: u64, app: &str, id: &str) -> bool {
        self.hash == hash && self.key.is(app, id)
    }

    /// Whether both are of the same instance.
    pub(super) fn is_for(&self, other: &Self) -> bool {
        self.hash == other.hash && self.key == other.key
    }

    pub(super) fn has_id(&self, id: &str) -> bool {
        self.key.has_id(id)
    }

    pub(super) fn hash(&self) -> u64 {
        self.hash
    }

    pub(super) fn renew(&self, now: Mono) {
        // Renewals that overtake each other must not take the lease back.
        self.renewed.fetch_max(nanos(now), Relaxed);
    }

    /// Takes over the lease of the slot that this one replaces: nobody may renew that one meanwhile.
    pub(super) fn keep_lease_of(&mut self, replaced: &Self) {
        self.renewed = AtomicU64::new(replaced.renewed.load(Relaxed));
        self.granted = replaced.granted;
        self.duration_secs = replaced.duration_secs;
    }

    pub(super) fn last_dirty(&self) -> UnixMillis {
        self.last_dirty
    }

    pub(super) fn status(&self) -> InstanceStatus {
        self.status
    }

    /// The override that the description carries, if it carries one.
    pub(super) fn overridden(&self) -> Option<InstanceStatus> {
        override_of(self.overridden)
    }

    /// The lease as it stands now.
    pub(super) fn entry(&self) -> LeaseEntry {
        LeaseEntry { lease: self.lease(), grant: Arc::clone(&self.grant) }
    }

    /// When it was granted and last renewed, and for how long it holds.
    pub(crate) fn lease(&self) -> Lease {
        let renewed = match self.renewed.load(Relaxed) {
            NEVER => None,
            nanos => Some(Mono::from_nanos(nanos)),
        };
        Lease { granted: self.granted, renewed, duration: Duration::from_secs(self.duration_secs.into()) }
    }

    /// How often its client means to renew.
    pub(crate) fn renewal_interval(&self) -> Duration {
        Duration::from_secs(self.renewal_interval_secs.into())
    }

    /// Whose it is: a pointer to follow, so not asked of every slot.
    pub(crate) fn instance_key(&self) -> &InstanceKey {
        &self.grant.instance.key
    }
}

fn nanos(renewed: Mono) -> u64 {
    renewed.as_nanos().max(NEVER + 1)
}
