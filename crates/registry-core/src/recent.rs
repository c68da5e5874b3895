//! The leases that lately came and went, for those who look after the registry. Written by `registry`'s commands, read for
//! statistics.

use parking_lot::Mutex;
use registry_model::{InstanceKey, UnixMillis};
use std::collections::VecDeque;

/// How many of each kind are kept, as in Eureka.
const CAPACITY: usize = 1000;

/// Something that happened to a lease.
pub(crate) type Event = (UnixMillis, InstanceKey);

/// The latest events; the oldest one goes where there is no room.
#[derive(Debug, Default)]
pub(crate) struct Recents(Mutex<VecDeque<Event>>);

impl Recents {
    /// Adds one.
    pub(crate) fn add(&self, at: UnixMillis, key: InstanceKey) {
        let mut events = self.0.lock();
        if events.len() == CAPACITY {
            events.pop_front();
        }
        events.push_back((at, key));
    }

    /// The latest ones, newest first, so many at most.
    pub(crate) fn latest(&self, most: usize) -> Vec<Event> {
        self.0.lock().iter().rev().take(most).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use testkit::instances::key;

    #[test]
    fn srv_23_the_last_thousand_are_kept_newest_first() {
        let recents = Recents::default();
        for place in 1..=1001 {
            recents.add(UnixMillis(place), key("ORDERS", &format!("i{place}")));
        }
        let all = recents.latest(usize::MAX);
        assert_eq!(all.len(), 1000);
        assert_eq!(all.first(), Some(&(UnixMillis(1001), key("ORDERS", "i1001"))));
        assert_eq!(all.last(), Some(&(UnixMillis(2), key("ORDERS", "i2"))));
        assert_eq!(recents.latest(2), all[..2]);
        assert!(recents.latest(0).is_empty());
    }
}
