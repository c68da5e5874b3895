//! What operators have overridden: a status by application and id, with Eureka's time limit. A table of its own, because an
//! override outlives its lease. Read by `lease_table` for renewals of overridden instances; written by `registry`'s commands.

use crate::key_ref::KeyRef;
use foldhash::quality::RandomState;
use hashbrown::HashMap;
use parking_lot::RwLock;
use registry_model::{InstanceKey, InstanceStatus, Mono};
use std::{
    sync::atomic::{
        AtomicU64, AtomicUsize,
        Ordering::{Acquire, Relaxed, Release},
    },
    time::Duration,
};

/// How often what has run out is cleared away, at most; it counts for nothing before that either.
const SWEEP_INTERVAL: Duration = Duration::from_secs(60);

/// All overrides. Applications' names come in upper case.
#[derive(Debug)]
pub struct Overrides {
    limit: Duration,
    held: RwLock<Held>,
    /// How many are held. Written under the lock, read without: nearly always there is none, and then nobody needs to lock.
    count: AtomicUsize,
}

#[derive(Debug, Default)]
struct Held {
    overrides: HashMap<InstanceKey, Override, RandomState>,
    swept: Mono,
}

#[derive(Debug)]
struct Override {
    status: InstanceStatus,
    /// Nanoseconds of [`Mono`]: when a rule last read it or a command wrote it.
    used: AtomicU64,
}

impl Override {
    fn holds(&self, limit: Duration, now: Mono) -> bool {
        now.saturating_since(Mono::from_nanos(self.used.load(Relaxed))) < limit
    }
}

impl Overrides {
    /// No overrides; each will hold for so long after its last use.
    pub fn new(limit: Duration) -> Self {
        Self { limit, held: RwLock::default(), count: AtomicUsize::new(0) }
    }

    /// How many there are, among them some that have run out.
    pub fn len(&self) -> usize {
        self.count.load(Acquire)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The override of an instance, for a rule: this is a use, it holds anew from now on. Allocates nothing.
    pub fn acting(&self, app: &str, id: &str, now: Mono) -> Option<InstanceStatus> {
        if self.is_empty() {
            return None;
        }
        let held = self.held.read();
        let found = held.overrides.get(&KeyRef { app, id }).filter(|found| found.holds(self.limit, now))?;
        found.used.fetch_max(now.as_nanos(), Relaxed);
        Some(found.status)
    }

    /// Stores an override, in the place of the one there is.
    pub fn put(&self, key: InstanceKey, status: InstanceStatus, now: Mono) {
        let mut held = self.held.write();
        if now.saturating_since(held.swept) >= SWEEP_INTERVAL {
            held.swept = now;
            held.overrides.retain(|_, found| found.holds(self.limit, now));
        }
        held.overrides.insert(key, Override { status, used: AtomicU64::new(now.as_nanos()) });
        self.count.store(held.overrides.len(), Release);
    }

    /// Removes an override and returns it, unless it had run out.
    pub fn remove(&self, key: &InstanceKey, now: Mono) -> Option<InstanceStatus> {
        if self.is_empty() {
            return None;
        }
        let mut held = self.held.write();
        let removed = held.overrides.remove(key)?;
        self.count.store(held.overrides.len(), Release);
        removed.holds(self.limit, now).then_some(removed.status)
    }

    /// All that hold, in no order. No use of them.
    pub fn list(&self, now: Mono) -> Vec<(InstanceKey, InstanceStatus)> {
        let held = self.held.read();
        let holding = held.overrides.iter().filter(|(_, found)| found.holds(self.limit, now));
        holding.map(|(key, found)| (key.clone(), found.status)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use InstanceStatus::{Down, OutOfService, Up};
    use testkit::instances::key;

    const HOUR: Duration = Duration::from_secs(3600);

    fn at(seconds: u64) -> Mono {
        Mono::from_nanos(seconds * 1_000_000_000)
    }

    fn one() -> Overrides {
        let overrides = Overrides::new(HOUR);
        overrides.put(key("ORDERS", "i1"), OutOfService, at(0));
        overrides
    }

    #[test]
    fn srv_51_an_override_that_nobody_uses_holds_for_less_than_an_hour() {
        for (seconds, holds) in [(0, true), (3599, true), (3600, false), (9999, false)] {
            assert_eq!(one().list(at(seconds)).len(), usize::from(holds), "listed at {seconds}");
            let acting = one().acting("ORDERS", "i1", at(seconds));
            assert_eq!(acting, holds.then_some(OutOfService), "acting at {seconds}");
            let removed = one().remove(&key("ORDERS", "i1"), at(seconds));
            assert_eq!(removed, holds.then_some(OutOfService), "removed at {seconds}");
        }
    }

    #[test]
    fn srv_52_each_use_restarts_the_hour() {
        let overrides = one();
        for seconds in (30..=7200).step_by(30) {
            assert_eq!(overrides.acting("ORDERS", "i1", at(seconds)), Some(OutOfService));
        }
        assert_eq!(overrides.list(at(7200 + 3599)).len(), 1);
        overrides.put(key("ORDERS", "i1"), Up, at(10_000));
        assert_eq!(overrides.acting("ORDERS", "i1", at(13_599)), Some(Up));
    }

    #[test]
    fn srv_53_listing_does_not_restart_the_hour() {
        let overrides = one();
        for minute in 0..60 {
            assert_eq!(overrides.list(at(minute * 60)), [(key("ORDERS", "i1"), OutOfService)]);
        }
        assert!(overrides.list(at(3600)).is_empty());
    }

    #[test]
    fn equal_ids_of_two_applications_have_overrides_of_their_own() {
        let overrides = one();
        overrides.put(key("BILLING", "i1"), Down, at(1));
        assert_eq!(overrides.acting("ORDERS", "i1", at(1)), Some(OutOfService));
        assert_eq!(overrides.acting("BILLING", "i1", at(1)), Some(Down));
        assert_eq!(overrides.acting("BILLINGI", "1", at(1)), None);
        assert_eq!(overrides.remove(&key("ORDERS", "i1"), at(1)), Some(OutOfService));
        assert_eq!(overrides.acting("BILLING", "i1", at(1)), Some(Down));
    }

    #[test]
    fn what_has_run_out_is_cleared_away_when_others_come() {
        let overrides = Overrides::new(HOUR);
        for second in 0..10_000 {
            overrides.put(key("ORDERS", &format!("i{second}")), OutOfService, at(second));
        }
        assert!(overrides.len() <= 3600 + 60, "{}", overrides.len());
    }
}
