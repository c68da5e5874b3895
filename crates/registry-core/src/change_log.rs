//! The latest changes, bounded: assigns revisions, answers "what came after". Written by `registry`'s commands, read by watches.

use registry_model::{Change, Record, Revision, UnixMillis};
use registry_proto::types;
use std::{collections::VecDeque, num::NonZeroUsize};

/// How many bytes of changes are kept at most: an instance that is registered over and over keeps its old descriptions alive here.
const BYTES: usize = 64 << 20;

/// For how many changes room is reserved from the start, at most: no more are kept of instances of 1 KB.
const RESERVED: usize = 65_536;

/// A ring of the latest changes. Revisions start at 1 and have no gaps.
#[derive(Debug)]
pub(crate) struct ChangeLog {
    capacity: usize,
    latest: Revision,
    changes: VecDeque<Sized<types::Change>>,
    /// The sizes of them all.
    bytes: usize,
    /// The latest time of a change that is no longer here.
    dropped_through: Option<UnixMillis>,
}

/// A message and about how many bytes it takes on the wire.
#[derive(Clone, Debug)]
pub(crate) struct Sized<T> {
    pub(crate) message: T,
    pub(crate) size: usize,
}

/// How much is read at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit {
    /// Messages.
    pub(crate) messages: usize,
    /// Bytes of them together; a single one that is larger is read alone.
    pub(crate) bytes: usize,
}

/// What came after a revision.
#[derive(Debug)]
pub(crate) enum Reading {
    /// The next changes; none at the latest revision.
    Changes(Vec<types::Change>),
    /// The log does not reach back to it, or has not come to it yet.
    OutOfReach,
}

/// The changes of a past time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recent {
    /// Oldest first.
    pub(crate) changes: Vec<Sized<types::Change>>,
    /// From here on none of this life's changes is missing.
    pub(crate) complete_since: UnixMillis,
}

impl ChangeLog {
    pub(crate) fn new(capacity: NonZeroUsize) -> Self {
        Self {
            capacity: capacity.get(),
            latest: Revision(0),
            // Pages that nothing was written to take no memory; growing would copy everything while commands wait.
            changes: VecDeque::with_capacity(capacity.get().min(RESERVED)),
            bytes: 0,
            dropped_through: None,
        }
    }

    /// The revision of the latest change; zero before the first.
    pub(crate) fn latest(&self) -> Revision {
        self.latest
    }

    /// Gives a change its revision; the oldest ones go if there is no room. `size`: of the record, about, on the wire.
    pub(crate) fn append(&mut self, at: UnixMillis, record: Record, size: usize) -> Revision {
        self.latest = self.latest.next();
        self.bytes += size;
        self.changes.push_back(Sized { message: Change { revision: self.latest, at, record }.into(), size });
        while (self.changes.len() > self.capacity || self.bytes > BYTES)
            && self.changes.len() > 1
            && let Some(dropped) = self.changes.pop_front()
        {
            self.bytes -= dropped.size;
            self.dropped_through = self.dropped_through.max(Some(UnixMillis(dropped.message.at_ms)));
        }
        self.latest
    }

    /// Whether changes can go on from this revision without a gap.
    pub(crate) fn reaches(&self, revision: Revision) -> bool {
        self.start_after(revision).is_some()
    }

    /// The place of the first change after `revision`.
    fn start_after(&self, revision: Revision) -> Option<usize> {
        let missing = self.latest.0.checked_sub(revision.0)?;
        self.changes.len().checked_sub(usize::try_from(missing).ok()?)
    }

    /// The changes after `revision`, oldest first, as many as the limit lets pass.
    pub(crate) fn after(&self, revision: Revision, limit: Limit) -> Reading {
        let Some(start) = self.start_after(revision) else { return Reading::OutOfReach };
        let mut changes = Vec::new();
        let mut bytes = 0_usize;
        for change in self.changes.iter().skip(start).take(limit.messages) {
            bytes = bytes.saturating_add(change.size);
            if bytes > limit.bytes && !changes.is_empty() {
                break;
            }
            changes.push(change.message.clone());
        }
        Reading::Changes(changes)
    }

    /// The changes since a time. Where the wall clock was set back in between, some older ones come along.
    pub(crate) fn since(&self, since: UnixMillis) -> Recent {
        let recent = self.changes.iter().rev().take_while(|change| change.message.at_ms >= since.0).count();
        let changes = self.changes.iter().skip(self.changes.len() - recent).cloned().collect();
        // Others of that millisecond may have gone with it.
        let kept = self.dropped_through.map(|dropped| UnixMillis(dropped.0.saturating_add(1)));
        Recent { changes, complete_since: kept.map_or(since, |kept| kept.max(since)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use testkit::instances::record;

    const ALL: Limit = Limit { messages: usize::MAX, bytes: usize::MAX };

    fn log_of(capacity: usize, times: &[i64]) -> ChangeLog {
        let mut log = ChangeLog::new(NonZeroUsize::new(capacity).unwrap());
        for (place, at) in times.iter().enumerate() {
            let record = record("A", &format!("i{place}"));
            let size = record.instance.approximate_size();
            let revision = log.append(UnixMillis(*at), record, size);
            assert_eq!(revision.0, place as u64 + 1);
        }
        log
    }

    fn revisions(reading: Reading) -> Option<Vec<u64>> {
        match reading {
            Reading::Changes(changes) => Some(changes.iter().map(|change| change.revision).collect()),
            Reading::OutOfReach => None,
        }
    }

    #[test]
    fn what_came_after_a_revision_is_whole_or_out_of_reach() {
        let log = log_of(3, &[10, 20, 30, 40, 50]);
        for (after, expected) in [
            (0, None),
            (1, None),
            (2, Some(vec![3, 4, 5])),
            (4, Some(vec![5])),
            (5, Some(vec![])),
            (6, None),
            (u64::MAX, None),
        ] {
            assert_eq!(revisions(log.after(Revision(after), ALL)), expected, "after {after}");
            assert_eq!(log.reaches(Revision(after)), expected.is_some(), "after {after}");
        }
        assert_eq!(revisions(log_of(3, &[]).after(Revision(0), ALL)), Some(vec![]));
    }

    #[test]
    fn large_changes_are_bounded_by_their_bytes() {
        let mut log = ChangeLog::new(NonZeroUsize::new(65_536).unwrap());
        let mut large = testkit::instances::instance("A", "i1");
        large.metadata = [("m", "x".repeat(1 << 20))].into_iter().collect();
        let large = Record { instance: std::sync::Arc::new(large), ..record("A", "i1") };
        let size = large.instance.approximate_size();
        for _ in 0..200 {
            log.append(UnixMillis(1), large.clone(), size);
        }
        assert_eq!(log.latest(), Revision(200));
        assert!(log.bytes <= BYTES && (50..64).contains(&log.changes.len()), "{} changes", log.changes.len());
        assert!(!log.reaches(Revision(0)) && log.reaches(Revision(199)));
    }

    #[test]
    fn a_reading_keeps_to_its_limits_but_always_moves_on() {
        let log = log_of(9, &[1, 2, 3, 4]);
        let size = record("A", "i0").instance.approximate_size();
        for (messages, bytes, read) in [(2, usize::MAX, 2), (9, 3 * size, 3), (9, 3 * size - 1, 2), (9, 0, 1)] {
            let reading = log.after(Revision(0), Limit { messages, bytes });
            assert_eq!(revisions(reading).unwrap().len(), read, "{messages} messages, {bytes} bytes");
        }
    }

    #[test]
    fn recent_changes_say_since_when_they_are_complete() {
        let table: [(usize, i64, usize, i64); 5] =
            [(9, 20, 4, 20), (9, 21, 2, 21), (9, 0, 5, 0), (3, 0, 3, 21), (2, 25, 2, 25)];
        for (capacity, since, count, complete_since) in table {
            let recent = log_of(capacity, &[10, 20, 20, 30, 40]).since(UnixMillis(since));
            assert_eq!((recent.changes.len(), recent.complete_since.0), (count, complete_since), "{capacity} {since}");
        }
    }

    #[test]
    fn a_clock_that_was_set_back_hides_no_recent_change() {
        let recent = log_of(9, &[1000, 2000, 100, 200]).since(UnixMillis(150));
        assert_eq!(recent.changes.iter().map(|change| change.message.revision).collect::<Vec<_>>(), [4]);
        let recent = log_of(2, &[1000, 2000, 100, 200]).since(UnixMillis(50));
        assert_eq!((recent.changes.len(), recent.complete_since), (2, UnixMillis(2001)));
    }
}
