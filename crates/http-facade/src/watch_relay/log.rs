//! The latest changes of one life of registry-core, bounded by count and bytes. Owned by `history`.

use super::records::Limit;
use registry_model::{Revision, UnixMillis};
use registry_proto::types;
use std::collections::VecDeque;

#[derive(Clone, Debug)]
struct Entry {
    message: types::Change,
    size: usize,
}

/// What came after a revision.
#[derive(Debug)]
pub(super) enum Reading {
    /// The next changes; none at the latest revision.
    Changes(Vec<types::Change>),
    /// The log does not reach back to it, or has not come to it yet.
    OutOfReach,
}

/// A ring of changes. It reaches back to `floor`: everything after that, up to `latest`, is in it.
#[derive(Debug)]
pub(super) struct Log {
    capacity: Limit,
    changes: VecDeque<Entry>,
    bytes: usize,
    floor: Revision,
    latest: Revision,
    /// None of this life's changes from this time on is missing.
    complete_since: UnixMillis,
}

impl Log {
    /// A log that reaches back to this revision, and whose times are complete from then on.
    pub(super) fn new(capacity: Limit, floor: Revision, complete_since: UnixMillis) -> Self {
        Self { capacity, changes: VecDeque::new(), bytes: 0, floor, latest: floor, complete_since }
    }

    pub(super) fn latest(&self) -> Revision {
        self.latest
    }

    pub(super) fn complete_since(&self) -> UnixMillis {
        self.complete_since
    }

    /// The next change; the oldest ones go if there is no room.
    pub(super) fn append(&mut self, message: types::Change, size: usize) {
        self.latest = Revision(message.revision);
        self.bytes = self.bytes.saturating_add(size);
        self.changes.push_back(Entry { message, size });
        while (self.changes.len() > self.capacity.count || self.bytes > self.capacity.bytes)
            && self.changes.len() > 1
            && let Some(dropped) = self.changes.pop_front()
        {
            self.bytes = self.bytes.saturating_sub(dropped.size);
            self.floor = Revision(dropped.message.revision);
            // Others of that millisecond may have gone with it.
            self.complete_since = self.complete_since.max(UnixMillis(dropped.message.at_ms.saturating_add(1)));
        }
    }

    /// Whether changes can go on from this revision without a gap.
    pub(super) fn reaches(&self, revision: Revision) -> bool {
        (self.floor..=self.latest).contains(&revision)
    }

    fn place_after(&self, revision: Revision) -> usize {
        self.changes.partition_point(|entry| entry.message.revision <= revision.0)
    }

    /// The changes after `revision`, oldest first, as many as the limit lets pass.
    pub(super) fn after(&self, revision: Revision, limit: Limit) -> Reading {
        if !self.reaches(revision) {
            return Reading::OutOfReach;
        }
        Reading::Changes(self.read(revision, self.latest, limit))
    }

    fn read(&self, after: Revision, through: Revision, limit: Limit) -> Vec<types::Change> {
        let mut changes = Vec::new();
        let mut bytes = 0_usize;
        let entries = self.changes.range(self.place_after(after)..);
        for entry in entries.take_while(|entry| entry.message.revision <= through.0).take(limit.count) {
            bytes = bytes.saturating_add(entry.size);
            if bytes > limit.bytes && !changes.is_empty() {
                break;
            }
            changes.push(entry.message.clone());
        }
        changes
    }

    /// The revision after which the changes since a time begin, of those up to `through`. Where the wall clock was set back in
    /// between, some older ones come along.
    pub(super) fn before_recent(&self, since: UnixMillis, through: Revision) -> Revision {
        let mut entries = self.changes.range(..self.place_after(through)).rev();
        entries.find(|entry| entry.message.at_ms < since.0).map_or(self.floor, |entry| Revision(entry.message.revision))
    }

    /// Changes after one revision up to another, those that are still here.
    pub(super) fn recent(&self, after: Revision, through: Revision, limit: Limit) -> Vec<types::Change> {
        self.read(after.max(self.floor), through, limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Limit = Limit { count: usize::MAX, bytes: usize::MAX };

    fn log_of(count: usize, bytes: usize, times: &[i64]) -> Log {
        let mut log = Log::new(Limit { count, bytes }, Revision(10), UnixMillis(5));
        for (revision, at_ms) in (11..).zip(times) {
            log.append(types::Change { revision, at_ms: *at_ms, record: None }, 100);
        }
        log
    }

    fn revisions(changes: &[types::Change]) -> Vec<u64> {
        changes.iter().map(|change| change.revision).collect()
    }

    #[test]
    fn what_came_after_a_revision_is_whole_or_out_of_reach() {
        for (count, bytes) in [(3, usize::MAX), (usize::MAX, 399)] {
            let log = log_of(count, bytes, &[10, 20, 30, 40, 50]);
            for (after, expected) in [
                (11, None),
                (12, Some(vec![13, 14, 15])),
                (14, Some(vec![15])),
                (15, Some(vec![])),
                (16, None),
                (u64::MAX, None),
            ] {
                let read = match log.after(Revision(after), ALL) {
                    Reading::Changes(changes) => Some(revisions(&changes)),
                    Reading::OutOfReach => None,
                };
                assert_eq!(read, expected, "after {after}");
            }
        }
        assert!(log_of(3, 0, &[]).reaches(Revision(10)) && !log_of(3, 0, &[]).reaches(Revision(9)));
        assert!(log_of(3, 0, &[1, 2]).reaches(Revision(11)), "the latest change stays, however large");
    }

    #[test]
    fn a_reading_keeps_to_its_limits_but_always_moves_on() {
        let log = log_of(9, usize::MAX, &[1, 2, 3, 4]);
        for (count, bytes, read) in [(2, usize::MAX, 2), (9, 300, 3), (9, 299, 2), (9, 0, 1)] {
            let Reading::Changes(changes) = log.after(Revision(10), Limit { count, bytes }) else {
                panic!("out of reach")
            };
            assert_eq!(changes.len(), read, "{count} changes, {bytes} bytes");
        }
    }

    #[test]
    fn recent_changes_begin_at_a_time_and_say_since_when_they_are_complete() {
        let table: [(usize, i64, u64, &[u64], i64); 5] = [
            (9, 20, 15, &[12, 13, 14, 15], 5),
            (9, 20, 13, &[12, 13], 5),
            (9, 21, 15, &[14, 15], 5),
            (3, 0, 15, &[13, 14, 15], 21),
            (9, 99, 15, &[], 5),
        ];
        for (count, since, through, expected, complete) in table {
            let log = log_of(count, usize::MAX, &[10, 20, 20, 30, 40]);
            let before = log.before_recent(UnixMillis(since), Revision(through));
            assert_eq!(revisions(&log.recent(before, Revision(through), ALL)), expected, "since {since}");
            assert_eq!(log.complete_since(), UnixMillis(complete));
        }
    }
}
