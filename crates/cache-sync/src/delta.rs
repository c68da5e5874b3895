//! What changed lately: one entry per instance, retained by time. Owned by `view_state`.

use crate::{
    leaf::{Entry, Leaf},
    paged_list::PagedList,
};
use foldhash::fast::RandomState;
use registry_model::{ActionType, InstanceKey, Mono, Record};
use std::{
    cmp::Ordering,
    collections::{HashMap, VecDeque},
    sync::Arc,
    time::Duration,
};

/// An entry of the delta.
///
/// Within an application the present instances come first, by their last change, then the removed ones: the Java client applies entries in
/// their order and forgets an application whose last instance goes, so a removal before an addition would lose the latter (B55).
#[derive(Clone, Debug)]
pub(crate) struct Changed {
    record: Record,
    size: u32,
    place: Place,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    presence: Presence,
    /// Grows with each change.
    order: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Presence {
    Present,
    Removed,
}

impl Entry for Changed {
    fn record(&self) -> &Record {
        &self.record
    }

    fn size(&self) -> usize {
        self.size as usize
    }

    fn compare_in_app(&self, other: &Self) -> Ordering {
        self.place.cmp(&other.place)
    }
}

/// So many old changes are dropped in one go: some milliseconds, for which all followers may have to wait.
const PART: usize = 4096;

/// The delta.
#[derive(Debug, Default)]
pub(crate) struct Delta {
    list: PagedList<Changed>,
    /// What is shown instead of the list since entries have left it by age: that alone rebuilds nothing.
    outdated: Option<Vec<Arc<Leaf<Changed>>>>,
    latest: HashMap<InstanceKey, Changed, RandomState>,
    /// Every change in the order of its arrival; superseded ones are passed over when they leave.
    arrivals: VecDeque<(Mono, InstanceKey, u64)>,
    order: u64,
}

impl Delta {
    /// The pages of the document.
    pub(crate) fn leaves(&self) -> &[Arc<Leaf<Changed>>] {
        self.outdated.as_deref().unwrap_or(self.list.leaves())
    }

    /// How many changes are retained.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.latest.len()
    }

    /// Takes a change that was made at `at`, after all others that it has taken.
    pub(crate) fn add(&mut self, record: Record, at: Mono, now: Mono) {
        self.order += 1;
        let presence = match record.instance.action {
            ActionType::Added | ActionType::Modified => Presence::Present,
            ActionType::Deleted => Presence::Removed,
        };
        let size = u32::try_from(record.instance.approximate_size()).unwrap_or(u32::MAX);
        let key = record.key().clone();
        let entry = Changed { record, size, place: Place { presence, order: self.order } };
        self.arrivals.push_back((at, key.clone(), self.order));
        if let Some(old) = self.latest.insert(key, entry.clone()) {
            self.list.remove(&old, now);
        }
        self.list.put(entry, now);
        self.forget_superseded();
    }

    /// Takes lease times that were read anew: each entry stays where it is, and leaves when it would have.
    pub(crate) fn renew(&mut self, records: impl IntoIterator<Item = Record>, now: Mono) {
        for record in records {
            let entry = self.latest.get_mut(record.key());
            // A later change knows better.
            if let Some(entry) = entry.filter(|entry| Arc::ptr_eq(&entry.record.instance, &record.instance)) {
                entry.record = record;
                self.list.put(entry.clone(), now);
            }
        }
    }

    /// One instance that changes all the time must not fill the memory: superseded arrivals go once they are the larger part.
    fn forget_superseded(&mut self) {
        const FEW: usize = 1024;
        if self.arrivals.len() > 2 * self.latest.len() + FEW {
            let latest = &self.latest;
            self.arrivals.retain(|(_, key, order)| latest.get(key).is_some_and(|entry| entry.place.order == *order));
        }
    }

    /// Drops what is older than the retention, or a part of it: says whether there is more. It stays in the document until that is rebuilt.
    pub(crate) fn drop_older(&mut self, retention: Duration, now: Mono) -> bool {
        if self.has_older(retention, now) {
            self.outdated.get_or_insert_with(|| self.list.leaves().to_vec());
            self.forget_older(retention, now);
        }
        self.has_older(retention, now)
    }

    /// Rebuilds the document, and drops as much as `drop_older` does: of a mass start some is left for the next time.
    pub(crate) fn rebuild(&mut self, retention: Duration, now: Mono) {
        self.outdated = None;
        self.forget_older(retention, now);
    }

    /// Whether something is older: strictly, as for Eureka's retention job.
    fn has_older(&self, retention: Duration, now: Mono) -> bool {
        self.arrivals.front().is_some_and(|(at, ..)| now.saturating_since(*at) > retention)
    }

    /// At most a part of it.
    fn forget_older(&mut self, retention: Duration, now: Mono) {
        for _ in 0..PART {
            let is_older = self.has_older(retention, now);
            let Some((_, key, order)) = is_older.then(|| self.arrivals.pop_front()).flatten() else { break };
            if self.latest.get(&key).is_some_and(|entry| entry.place.order == order)
                && let Some(entry) = self.latest.remove(&key)
            {
                self.list.remove(&entry, now);
            }
        }
        if self.latest.is_empty() {
            // A mass start must not hold its memory for ever.
            self.latest = HashMap::default();
            self.arrivals = VecDeque::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use testkit::instances::{instance, record};

    fn at(seconds: u64) -> Mono {
        Mono::from_nanos(seconds * 1_000_000_000)
    }

    fn change(app: &str, id: &str, action: ActionType) -> Record {
        let mut instance = instance(app, id);
        instance.action = action;
        Record { instance: Arc::new(instance), ..record(app, id) }
    }

    fn listed(delta: &Delta) -> Vec<String> {
        delta
            .list
            .entries()
            .map(|entry| format!("{} {}", entry.record().key(), entry.record().instance.action.as_str()))
            .collect()
    }

    #[test]
    fn b55_present_instances_come_before_removed_ones() {
        let mut delta = Delta::default();
        let story = [("A", "i1", ActionType::Added), ("A", "i1", ActionType::Deleted), ("A", "i2", ActionType::Added)];
        for (app, id, action) in story {
            delta.add(change(app, id, action), at(0), at(0));
        }
        assert_eq!(listed(&delta), ["A/i2 ADDED", "A/i1 DELETED"]);
    }

    #[test]
    fn srv_95_96_an_instance_has_one_entry_the_newest() {
        let mut delta = Delta::default();
        for (action, expected) in [
            (ActionType::Added, "A/i1 ADDED"),
            (ActionType::Modified, "A/i1 MODIFIED"),
            (ActionType::Deleted, "A/i1 DELETED"),
            (ActionType::Added, "A/i1 ADDED"),
        ] {
            delta.add(change("A", "i1", action), at(0), at(0));
            assert_eq!(listed(&delta), [expected]);
        }
    }

    #[test]
    fn srv_97_entries_stand_in_the_order_of_their_last_changes() {
        let mut delta = Delta::default();
        let story = [("i1", ActionType::Added), ("i2", ActionType::Added), ("i1", ActionType::Modified)];
        for (id, action) in story {
            delta.add(change("A", id, action), at(0), at(0));
        }
        assert_eq!(listed(&delta), ["A/i2 ADDED", "A/i1 MODIFIED"]);
    }

    #[test]
    fn an_instance_that_changes_all_the_time_takes_the_room_of_one() {
        let mut delta = Delta::default();
        for n in 0..10_000 {
            delta.add(change("A", "i1", ActionType::Added), at(n / 1000), at(n / 1000));
        }
        assert!(delta.arrivals.len() <= 2000, "{} arrivals", delta.arrivals.len());
        delta.drop_older(Duration::from_secs(180), at(200));
        assert_eq!(listed(&delta), [""; 0]);
    }

    #[test]
    fn a_change_takes_out_no_more_than_a_part_of_a_mass_start() {
        let retention = Duration::from_secs(180);
        let mut delta = Delta::default();
        for n in 0..=PART {
            delta.add(change(&format!("A{}", n % 100), &format!("i{n}"), ActionType::Added), at(0), at(0));
        }
        for left in [1, 0] {
            delta.rebuild(retention, at(200));
            assert_eq!(delta.leaves().iter().flat_map(|leaf| leaf.entries()).count(), left);
        }
    }

    #[test]
    fn who_leaves_with_a_change_is_taken_out_in_place() {
        let mut delta = Delta::default();
        for n in 0..60 {
            delta.add(change("A", &format!("i{n}"), ActionType::Added), at(n), at(n));
        }
        let first = |delta: &Delta| delta.leaves().first().map(Arc::as_ptr);
        let before = first(&delta);
        delta.rebuild(Duration::from_secs(180), at(190));
        assert_eq!((listed(&delta).len(), first(&delta)), (50, before));
    }

    #[test]
    fn a_mass_start_leaves_in_parts_and_stays_in_the_document_until_it_is_rebuilt() {
        let retention = Duration::from_secs(180);
        let mut delta = Delta::default();
        for n in 0..=PART {
            delta.add(change(&format!("A{}", n % 100), &format!("i{n}"), ActionType::Added), at(0), at(0));
        }
        let shown = |delta: &Delta| delta.leaves().iter().flat_map(|leaf| leaf.entries()).count();
        assert!(delta.drop_older(retention, at(200)));
        assert_eq!((delta.len(), shown(&delta)), (1, PART + 1));
        delta.add(change("B", "i", ActionType::Added), at(200), at(200));
        assert_eq!(shown(&delta), PART + 1);
        assert!(!delta.drop_older(retention, at(200)));
        assert_eq!((delta.len(), shown(&delta)), (1, PART + 1));
        delta.rebuild(retention, at(200));
        assert_eq!(shown(&delta), 1);
    }

    #[test]
    fn srv_98_an_entry_stays_as_long_as_its_last_change_is_within_the_retention() {
        let retention = Duration::from_secs(180);
        let mut delta = Delta::default();
        for id in ["i1", "i2"] {
            delta.add(change("A", id, ActionType::Added), at(0), at(0));
        }
        delta.add(change("A", "i1", ActionType::Modified), at(100), at(100));
        for (now, expected) in [(180, 2), (181, 1), (280, 1), (281, 0)] {
            delta.drop_older(retention, at(now));
            assert_eq!(listed(&delta).len(), expected, "at {now} s");
        }
    }
}
