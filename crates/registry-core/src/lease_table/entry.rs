//! One lease and the instance that holds it. Unchanging but for the last renewal: a command makes a new entry.

use super::key_text::KeyText;
use registry_model::{
    ActionType, InstanceInfo, InstanceStatus, Lease, LeaseExpiry, LeaseTimes, Mono, Record, UnixMillis,
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

/// What stands in the place of the last renewal as long as there was none.
const NEVER: u64 = 0;

/// One lease: granted, last renewed, duration, and the instance.
// The order is kept: a renewal touches only what comes before `instance`.
#[repr(C)]
#[derive(Debug)]
pub struct LeaseEntry {
    /// Nanoseconds of [`Mono`], or [`NEVER`].
    renewed: AtomicU64,
    last_dirty: UnixMillis,
    status: InstanceStatus,
    overridden: InstanceStatus,
    key: KeyText,
    instance: Arc<InstanceInfo>,
    granted: Mono,
    registered: UnixMillis,
    service_up: UnixMillis,
    duration: Duration,
    size: usize,
}

/// A moment in both kinds of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// For deadlines.
    pub mono: Mono,
    /// For what is shown.
    pub unix: UnixMillis,
}

impl LeaseEntry {
    /// A new lease, never renewed. `service_up` is the first time the instance was `UP`, or [`UnixMillis::NEVER`].
    pub fn grant(instance: Arc<InstanceInfo>, duration: Duration, service_up: UnixMillis, now: Moment) -> Self {
        Self {
            renewed: AtomicU64::new(NEVER),
            last_dirty: instance.last_dirty,
            status: instance.status,
            overridden: instance.overridden_status,
            key: KeyText::new(instance.key.app.as_str(), instance.key.id.as_str()),
            granted: now.mono,
            registered: now.unix,
            service_up,
            duration,
            size: instance.approximate_size(),
            instance,
        }
    }

    /// The description.
    pub fn instance(&self) -> &Arc<InstanceInfo> {
        &self.instance
    }

    /// The lease as it is now.
    pub fn lease(&self) -> Lease {
        let renewed = match self.renewed.load(Relaxed) {
            NEVER => None,
            nanos => Some(Mono::from_nanos(nanos)),
        };
        Lease { granted: self.granted, renewed, duration: self.duration }
    }

    /// The first time the instance was `UP`, or [`UnixMillis::NEVER`].
    pub(crate) fn service_up(&self) -> UnixMillis {
        self.service_up
    }

    /// About how many bytes its record takes on the wire.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// The times that are shown at this moment.
    pub(crate) fn times(&self, expiry: LeaseExpiry) -> LeaseTimes {
        let shown_late = match expiry {
            LeaseExpiry::Exact => Duration::ZERO,
            LeaseExpiry::Doubled => self.duration,
        };
        let renewed = self
            .lease()
            .renewed
            .map_or(self.registered, |renewed| self.registered + renewed.saturating_since(self.granted) + shown_late);
        LeaseTimes { registered: self.registered, renewed, evicted: UnixMillis::NEVER, service_up: self.service_up }
    }

    /// The instance with the times that are shown at this moment.
    pub(crate) fn record(&self, expiry: LeaseExpiry) -> Record {
        Record { instance: Arc::clone(&self.instance), lease: self.times(expiry) }
    }

    /// The record of its removal at `now`: the status stays as it was.
    pub(crate) fn removal(&self, expiry: LeaseExpiry, now: UnixMillis) -> Record {
        let instance = InstanceInfo { action: ActionType::Deleted, last_updated: now, ..(*self.instance).clone() };
        Record { instance: Arc::new(instance), lease: LeaseTimes { evicted: now, ..self.times(expiry) } }
    }

    pub(super) fn renew(&self, now: Mono) {
        // Renewals that overtake each other must not take the lease back.
        self.renewed.fetch_max(now.as_nanos().max(NEVER + 1), Relaxed);
    }

    pub(super) fn has_key(&self, app: &str, id: &str) -> bool {
        self.key.is(app, id)
    }

    pub(super) fn last_dirty(&self) -> UnixMillis {
        self.last_dirty
    }

    pub(super) fn status(&self) -> InstanceStatus {
        self.status
    }

    /// The override that acts, if there is one.
    pub(super) fn overridden(&self) -> Option<InstanceStatus> {
        override_of(self.overridden)
    }
}

/// The override that a description carries, if it carries one.
pub(crate) fn override_of(status: InstanceStatus) -> Option<InstanceStatus> {
    (status != InstanceStatus::Unknown).then_some(status)
}
