//! What the relay knows of one life of registry-core: its instances, its latest changes, whether it is warm and its gate open.
//! Written by `intake`, read by `watcher`; pure.

use super::{
    log::{Log, Reading},
    records::{Limit, Records},
};
use registry_model::{ActionType, Change, InstanceInfo, NodeId, Position, Revision, UnixMillis};
use registry_proto::{registry::ResumeToken, types};
use std::sync::{Arc, Weak};

/// How many snapshots are kept for readers at a time. Each keeps what has changed since, the whole registry at worst.
const SNAPSHOTS: usize = 4;
/// Who asks within so many changes after a snapshot was taken reads that one.
const NEAR: u64 = 512;

/// The instances at one revision.
#[derive(Debug)]
pub(super) struct Snapshot {
    pub(super) revision: Revision,
    pub(super) records: Records,
}

/// A change, and the message that carries it.
#[derive(Debug)]
pub(super) struct Shared {
    instance: Arc<InstanceInfo>,
    message: types::Change,
}

impl From<Change> for Shared {
    fn from(change: Change) -> Self {
        Self { instance: Arc::clone(&change.record.instance), message: change.into() }
    }
}

impl Shared {
    pub(super) fn revision(&self) -> Revision {
        Revision(self.message.revision)
    }
}

/// One life of registry-core, as far as it is known.
#[derive(Debug)]
pub(super) struct History {
    node: NodeId,
    position: Position,
    records: Records,
    log: Log,
    /// The first revision at which the registry was known to be warm; absent while it is cold.
    warm_since: Option<Revision>,
    /// The same of the access gate.
    open_since: Option<Revision>,
    snapshots: Vec<Arc<Snapshot>>,
}

/// Where a snapshot of registry-core begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Beginning {
    pub(super) node: NodeId,
    pub(super) position: Position,
    /// From which revision on it has been warm; absent where it is not yet.
    pub(super) warm_since: Option<Revision>,
    /// The same of the access gate.
    pub(super) open_since: Option<Revision>,
}

impl History {
    /// The life that a snapshot tells of. The log begins with the recent changes, where they lead up to the snapshot.
    pub(super) fn new(
        beginning: Beginning,
        records: Records,
        recent: Vec<Shared>,
        complete_since: UnixMillis,
        capacity: Limit,
    ) -> Self {
        let Beginning { node, position, warm_since, open_since } = beginning;
        let leads_up = recent.last().is_some_and(|last| last.revision() == position.revision)
            && recent.is_sorted_by(|left, right| left.revision() < right.revision());
        let before = recent.first().and_then(|first| first.message.revision.checked_sub(1)).filter(|_| leads_up);
        let mut log = Log::new(capacity, before.map_or(position.revision, Revision), complete_since);
        if before.is_some() {
            for change in recent {
                log.append(change.message, change.instance.approximate_size());
            }
        }
        Self { node, position, records, log, warm_since, open_since, snapshots: Vec::new() }
    }

    pub(super) fn node(&self) -> NodeId {
        self.node
    }

    /// The latest position.
    pub(super) fn position(&self) -> Position {
        self.position
    }

    /// This life at another revision.
    pub(super) fn at(&self, revision: Revision) -> Position {
        Position { revision, ..self.position }
    }

    pub(super) fn complete_since(&self) -> UnixMillis {
        self.log.complete_since()
    }

    /// The changes that follow the latest position, which are known to.
    pub(super) fn append(&mut self, changes: Vec<Shared>) {
        for Shared { instance, message } in changes {
            let size = instance.approximate_size();
            match instance.action {
                ActionType::Added | ActionType::Modified => {
                    if let Some(record) = message.record.clone() {
                        self.records.put(instance, record);
                    }
                }
                ActionType::Deleted => self.records.remove(&instance.key),
            }
            self.log.append(message, size);
        }
        self.position.revision = self.log.latest();
        self.prune();
    }

    pub(super) fn warm(&mut self) {
        self.warm_since.get_or_insert(self.position.revision);
    }

    pub(super) fn open_gate(&mut self) {
        self.open_since.get_or_insert(self.position.revision);
    }

    pub(super) fn warm_since(&self) -> Option<Revision> {
        self.warm_since
    }

    pub(super) fn open_since(&self) -> Option<Revision> {
        self.open_since
    }

    pub(super) fn is_warm_at(&self, revision: Revision) -> bool {
        self.warm_since.is_some_and(|since| revision >= since)
    }

    pub(super) fn is_open_at(&self, revision: Revision) -> bool {
        self.open_since.is_some_and(|since| revision >= since)
    }

    /// The position of a token of this life; absent where it is of another one.
    pub(super) fn recognises(&self, token: ResumeToken) -> Option<Position> {
        let position = Position::from(token.position?);
        (NodeId(token.node) == self.node && position.epoch == self.position.epoch).then_some(position)
    }

    /// Whether changes can go on from this position without a gap.
    pub(super) fn reaches(&self, position: Position) -> bool {
        position.epoch == self.position.epoch && self.log.reaches(position.revision)
    }

    /// The changes after a position.
    pub(super) fn after(&self, position: Position, limit: Limit) -> Reading {
        if position.epoch != self.position.epoch {
            return Reading::OutOfReach;
        }
        self.log.after(position.revision, limit)
    }

    /// The revision after which the changes since a time begin, of those up to `through`.
    pub(super) fn before_recent(&self, since: UnixMillis, through: Revision) -> Revision {
        self.log.before_recent(since, through)
    }

    /// Changes after one revision up to another, those that are still held.
    pub(super) fn recent(&self, after: Revision, through: Revision, limit: Limit) -> Vec<types::Change> {
        self.log.recent(after, through, limit)
    }

    /// A snapshot from which the log leads on. It lives as long as that is so, and somebody reads it.
    pub(super) fn snapshot(&mut self) -> (Revision, Weak<Snapshot>) {
        self.prune();
        let latest = self.position.revision;
        let snapshot = match self.snapshots.last() {
            Some(last) if self.snapshots.len() >= SNAPSHOTS || latest.0.saturating_sub(last.revision.0) <= NEAR => {
                Arc::clone(last)
            }
            Some(_) | None => {
                let taken = Arc::new(Snapshot { revision: latest, records: self.records.clone() });
                self.snapshots.push(Arc::clone(&taken));
                taken
            }
        };
        (snapshot.revision, Arc::downgrade(&snapshot))
    }

    fn prune(&mut self) {
        let log = &self.log;
        self.snapshots.retain(|snapshot| Arc::weak_count(snapshot) > 0 && log.reaches(snapshot.revision));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use registry_model::Epoch;
    use testkit::instances::record;

    fn history(count: usize) -> History {
        let position = Position { epoch: Epoch(1), revision: Revision(0) };
        let beginning = Beginning { node: NodeId(1), position, warm_since: None, open_since: None };
        let capacity = Limit { count, bytes: usize::MAX };
        History::new(beginning, Records::new(), Vec::new(), UnixMillis(0), capacity)
    }

    fn change(history: &mut History, count: u64) {
        for _ in 0..count {
            let revision = history.position().revision.next();
            history.append(vec![Change { revision, at: UnixMillis(1), record: record("A", "i") }.into()]);
        }
    }

    #[test]
    fn who_asks_soon_after_a_snapshot_reads_the_same_one() {
        let mut history = history(10_000);
        let (first, held) = history.snapshot();
        change(&mut history, NEAR);
        assert_eq!(history.snapshot().0, first);
        change(&mut history, 1);
        assert_eq!(history.snapshot().0, Revision(NEAR + 1));
        drop(held);
        change(&mut history, 1);
        assert_eq!(history.snapshots.len(), 0, "nobody reads them");
    }

    #[test]
    fn readers_that_have_stopped_keep_four_snapshots_at_most_and_none_beyond_the_log() {
        let mut history = history(10_000);
        let readers: Vec<_> = (0..10)
            .map(|_| {
                change(&mut history, NEAR + 1);
                history.snapshot()
            })
            .collect();
        let revisions: Vec<_> = readers.iter().map(|(revision, _)| revision.0 / (NEAR + 1)).collect();
        assert_eq!(revisions, [1, 2, 3, 4, 4, 4, 4, 4, 4, 4]);
        change(&mut history, 9000);
        for (revision, snapshot) in &readers {
            assert_eq!(snapshot.upgrade().is_some(), history.reaches(history.at(*revision)), "{revision:?}");
        }
        change(&mut history, 10_000);
        assert!(readers.iter().all(|(_, snapshot)| snapshot.upgrade().is_none()) && history.snapshots.is_empty());
    }

    #[test]
    fn the_log_begins_with_recent_changes_only_where_they_lead_up_to_the_snapshot() {
        let shared = |revision| {
            Shared::from(Change { revision: Revision(revision), at: UnixMillis(1), record: record("A", "i") })
        };
        let table: [(&[u64], u64); 5] = [(&[], 9), (&[7, 8, 9], 6), (&[7, 8], 9), (&[8, 7, 9], 9), (&[9], 8)];
        for (recent, floor) in table {
            let position = Position { epoch: Epoch(1), revision: Revision(9) };
            let beginning = Beginning { node: NodeId(1), position, warm_since: None, open_since: None };
            let recent_changes = recent.iter().copied().map(shared).collect();
            let capacity = Limit { count: 100, bytes: usize::MAX };
            let history = History::new(beginning, Records::new(), recent_changes, UnixMillis(0), capacity);
            assert!(history.reaches(history.at(Revision(floor))), "{recent:?}");
            assert!(!history.reaches(history.at(Revision(floor - 1))), "{recent:?}");
            assert_eq!(history.position(), position);
        }
    }
}
