//! Clients that stop send a cancel and, on another thread, a last registration as DOWN; where that comes second it would bring
//! the instance back until its lease runs out. Cancels are remembered here for a moment. Asked by `registry`.

use crate::key_ref::KeyRef;
use foldhash::quality::RandomState;
use hashbrown::HashMap;
use parking_lot::RwLock;
use registry_model::{InstanceKey, Mono};
use std::time::Duration;

/// The instances that were cancelled a moment ago.
#[derive(Debug)]
pub(crate) struct CancelGrace {
    grace: Duration,
    cancelled: RwLock<Cancelled>,
}

#[derive(Debug, Default)]
struct Cancelled {
    at: HashMap<InstanceKey, Mono, RandomState>,
    swept: Mono,
}

impl CancelGrace {
    /// Each cancel is remembered for so long; with zero none is.
    pub(crate) fn new(grace: Duration) -> Self {
        Self { grace, cancelled: RwLock::default() }
    }

    /// An instance was cancelled.
    pub(crate) fn remember(&self, key: InstanceKey, now: Mono) {
        if self.grace.is_zero() {
            return;
        }
        let mut cancelled = self.cancelled.write();
        if now.saturating_since(cancelled.swept) >= self.grace {
            cancelled.swept = now;
            cancelled.at.retain(|_, at| now.saturating_since(*at) < self.grace);
        }
        cancelled.at.insert(key, now);
    }

    /// A heartbeat was answered with "not found": a registration after that is meant. The application's name is in upper case.
    pub(crate) fn forget(&self, app: &str, id: &str) {
        let key = KeyRef { app, id };
        // Looked at first: after a restart everybody's heartbeats come here, and only few find anything.
        if self.cancelled.read().at.contains_key(&key) {
            self.cancelled.write().at.remove(&key);
        }
    }

    /// Whether the instance was cancelled within the grace.
    pub(crate) fn holds(&self, key: &InstanceKey, now: Mono) -> bool {
        let cancelled = self.cancelled.read();
        cancelled.at.get(key).is_some_and(|at| now.saturating_since(*at) < self.grace)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use testkit::instances::key;

    fn at(millis: u64) -> Mono {
        Mono::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn b38_a_cancel_is_remembered_until_its_grace_is_over_or_a_heartbeat_was_told() {
        let grace = CancelGrace::new(Duration::from_secs(3));
        let (one, other) = (key("ORDERS", "i1"), key("ORDERS", "i2"));
        grace.remember(one.clone(), at(0));
        for (millis, holds) in [(0, true), (2999, true), (3000, false)] {
            assert_eq!(grace.holds(&one, at(millis)), holds, "{millis}");
        }
        assert!(!grace.holds(&other, at(0)));
        grace.forget("ORDERS", "i2");
        assert!(grace.holds(&one, at(0)));
        grace.forget("ORDERS", "i1");
        assert!(!grace.holds(&one, at(0)));
    }

    #[test]
    fn only_the_cancels_of_the_last_moments_take_room() {
        let grace = CancelGrace::new(Duration::from_secs(3));
        for step in 0..1000 {
            grace.remember(key("ORDERS", &format!("i{step}")), at(step * 100));
        }
        assert!(grace.cancelled.read().at.len() <= 60);
        let none = CancelGrace::new(Duration::ZERO);
        none.remember(key("ORDERS", "i1"), at(0));
        assert!(none.cancelled.read().at.is_empty());
    }
}
