//! One lease and the instance that holds it, as it stood when it was looked at. Made by `registration`, kept by the table.

use registry_model::{
    ActionType, InstanceInfo, InstanceStatus, Lease, LeaseExpiry, LeaseTerms, LeaseTimes, Mono, Record, UnixMillis,
};
use std::{sync::Arc, time::Duration};

/// A lease: granted, last renewed, duration, and what it was granted for.
#[derive(Clone, Debug)]
pub struct LeaseEntry {
    pub(super) lease: Lease,
    pub(super) grant: Arc<Grant>,
}

/// What a lease was granted for. Unchanging: each command makes a new one.
#[derive(Debug)]
pub(super) struct Grant {
    pub(super) instance: Arc<InstanceInfo>,
    registered: UnixMillis,
    service_up: UnixMillis,
    /// How often the client means to renew.
    pub(super) renewal_interval_secs: u32,
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
    pub fn grant(instance: Arc<InstanceInfo>, terms: LeaseTerms, service_up: UnixMillis, now: Moment) -> Self {
        let size = instance.approximate_size();
        Self {
            lease: Lease::grant(now.mono, terms),
            grant: Arc::new(Grant {
                instance,
                registered: now.unix,
                service_up,
                renewal_interval_secs: terms.renewal_interval_secs,
                size,
            }),
        }
    }

    /// The same lease with a description that was changed at `now`.
    pub(crate) fn modified(&self, now: UnixMillis, change: impl FnOnce(&mut InstanceInfo)) -> Self {
        let mut instance =
            InstanceInfo { action: ActionType::Modified, last_updated: now, ..(**self.instance()).clone() };
        change(&mut instance);
        let size = instance.approximate_size();
        Self { lease: self.lease, grant: Arc::new(Grant { instance: Arc::new(instance), size, ..*self.grant }) }
    }

    /// The same with its first time `UP`, if that has not been yet.
    #[must_use]
    pub(crate) fn up_since(self, now: UnixMillis) -> Self {
        match self.grant.service_up {
            UnixMillis::NEVER => {
                let instance = Arc::clone(self.instance());
                Self { lease: self.lease, grant: Arc::new(Grant { instance, service_up: now, ..*self.grant }) }
            }
            _ => self,
        }
    }

    /// The description.
    pub fn instance(&self) -> &Arc<InstanceInfo> {
        &self.grant.instance
    }

    /// The lease itself.
    pub fn lease(&self) -> Lease {
        self.lease
    }

    /// The first time the instance was `UP`, or [`UnixMillis::NEVER`].
    pub(crate) fn service_up(&self) -> UnixMillis {
        self.grant.service_up
    }

    /// About how many bytes its record takes on the wire.
    pub(crate) fn size(&self) -> usize {
        self.grant.size
    }

    /// The times that are shown.
    pub(crate) fn times(&self, expiry: LeaseExpiry) -> LeaseTimes {
        let Grant { registered, service_up, .. } = *self.grant;
        let shown_late = match expiry {
            LeaseExpiry::Exact => Duration::ZERO,
            LeaseExpiry::Doubled => self.lease.duration,
        };
        let shown = |renewed: Mono| registered + renewed.saturating_since(self.lease.granted) + shown_late;
        LeaseTimes {
            registered,
            renewed: self.lease.renewed.map_or(registered, shown),
            evicted: UnixMillis::NEVER,
            service_up,
        }
    }

    /// The instance with the times that are shown.
    pub(crate) fn record(&self, expiry: LeaseExpiry) -> Record {
        Record { instance: Arc::clone(self.instance()), lease: self.times(expiry) }
    }

    /// The record of its removal at `now`: the status stays as it was.
    pub(crate) fn removal(&self, expiry: LeaseExpiry, now: UnixMillis) -> Record {
        let instance = InstanceInfo { action: ActionType::Deleted, last_updated: now, ..(**self.instance()).clone() };
        Record { instance: Arc::new(instance), lease: LeaseTimes { evicted: now, ..self.times(expiry) } }
    }
}

/// The override that a description carries, if it carries one.
pub(crate) fn override_of(status: InstanceStatus) -> Option<InstanceStatus> {
    (status != InstanceStatus::Unknown).then_some(status)
}
