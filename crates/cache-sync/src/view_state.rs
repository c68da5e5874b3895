//! The view in the making: takes the change stream in order, and makes views. Owned by `shown`, changed by the loop in `follow_registry`.
//!
//! A registry-core that comes back empty empties nobody: while its snapshot is cold, nothing is removed for being absent; once it is
//! warm, what its new life never named goes.

use crate::{
    delta::Delta,
    leaf::{Entry, Present},
    paged_list::PagedList,
    view::{DeltaVersions, Ends, Level, View},
    vips::Vips,
};
use foldhash::fast::RandomState;
use registry_model::{
    ActionType, Change, InstanceKey, Mono, NodeId, Position, Record, Revision, StatusCounts, UnixMillis,
};
use std::{collections::HashSet, sync::Arc, time::Duration};

/// The two times of one moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Now {
    pub(crate) mono: Mono,
    pub(crate) unix: UnixMillis,
}

/// Changes that do not follow on what the view has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("changes follow revision {previous}, the view is at {held}", previous = previous.0, held = held.0)]
pub(crate) struct Gap {
    pub(crate) previous: Revision,
    pub(crate) held: Revision,
}

/// A whole snapshot.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) node: NodeId,
    pub(crate) position: Position,
    pub(crate) warm: bool,
    /// Whether the registry lets lists be served.
    pub(crate) gate_open: bool,
    pub(crate) records: Vec<Record>,
    /// Recent changes, oldest first, if they were asked for.
    pub(crate) recent: Vec<Change>,
}

/// The view in the making.
#[derive(Debug)]
pub(crate) struct ViewState {
    registry: PagedList<Present>,
    vips: Vips,
    counts: StatusCounts,
    delta: Delta,
    retention: Duration,
    versions: Arc<DeltaVersions>,
    /// Where the view is; none before the first snapshot.
    at: Option<(NodeId, Position)>,
    complete: bool,
    /// Whether any registry that was followed has let lists be served: one that starts over closes nothing.
    gate_open: bool,
    /// While the registry is not warm: the instances that its present life has named.
    named: Option<HashSet<InstanceKey, RandomState>>,
}

impl ViewState {
    /// A view of nothing yet, whose delta keeps entries for `retention` and has this number when it is first made.
    pub(crate) fn new(retention: Duration, first_version: i64) -> Self {
        Self {
            registry: PagedList::default(),
            vips: Vips::default(),
            counts: StatusCounts::default(),
            delta: Delta::default(),
            retention,
            versions: Arc::new(DeltaVersions::starting_at(first_version)),
            at: None,
            complete: false,
            gate_open: false,
            named: None,
        }
    }

    /// Node and position to resume from; none before the first snapshot.
    pub(crate) const fn resume(&self) -> Option<(NodeId, Position)> {
        self.at
    }

    /// Takes consecutive changes after `previous`.
    ///
    /// # Errors
    /// They do not follow on what the view has; nothing is changed then.
    pub(crate) fn changes(
        &mut self,
        previous: Revision,
        revision: Revision,
        changes: Vec<Change>,
        now: Mono,
    ) -> Result<(), Gap> {
        let Some((_, position)) = self.at.as_mut().filter(|(_, position)| position.revision == previous) else {
            return Err(Gap { previous, held: self.at.map_or(Revision(0), |(_, position)| position.revision) });
        };
        position.revision = revision;
        if let Some(named) = &mut self.named {
            named.extend(changes.iter().map(|change| change.record.key().clone()));
        }
        for Change { record, .. } in changes {
            self.put(record.clone(), now);
            self.delta.add(record, now, now);
        }
        self.delta.rebuild(self.retention, now);
        Ok(())
    }

    /// Takes a snapshot: replaces the view, or, while the registry is not warm, adds to it. Every difference becomes a delta entry.
    pub(crate) fn snapshot(&mut self, snapshot: Snapshot, now: Now) {
        let Snapshot { node, position, warm, gate_open, records, recent } = snapshot;
        let first = self.at.is_none();
        let same_life = self.at.is_some_and(|(_, held)| held.epoch == position.epoch);
        self.at = Some((node, position));
        self.complete = self.complete || warm;
        self.gate_open |= gate_open;
        let named: HashSet<InstanceKey, RandomState> = records.iter().map(|record| record.key().clone()).collect();
        if same_life && let Some(known) = self.named.take() {
            // What this life had named and its snapshot lacks was removed in the part of the log that is lost.
            self.remove(now, |key| known.contains(key) && !named.contains(key));
        }
        let (changed, refreshed) = self.compare(records);
        refreshed.into_iter().for_each(|record| self.put(record, now.mono));
        for record in changed {
            self.put(record.clone(), now.mono);
            if !first {
                self.delta.add(record, now.mono, now.mono);
            }
        }
        if first {
            for change in recent {
                let arrived = now.mono.saturating_sub(now.unix.since(change.at));
                self.delta.add(change.record, arrived, now.mono);
            }
        }
        self.named = Some(named);
        if warm {
            self.warm(now);
        }
        self.delta.rebuild(self.retention, now.mono);
    }

    /// The registry is warm: what its present life never named is gone.
    pub(crate) fn warm(&mut self, now: Now) {
        self.complete = true;
        if let Some(named) = self.named.take() {
            self.remove(now, |key| !named.contains(key));
        }
    }

    /// The registry lets lists be served.
    pub(crate) fn open_gate(&mut self) {
        self.gate_open = true;
    }

    /// Removes instances that went without a word.
    fn remove(&mut self, now: Now, gone: impl Fn(&InstanceKey) -> bool) {
        let held = self.registry.entries().map(Entry::record);
        let gone: Vec<Record> =
            held.filter(|record| gone(record.key())).map(|record| removed(record, now.unix)).collect();
        if gone.is_empty() {
            return;
        }
        for record in gone {
            self.put(record.clone(), now.mono);
            self.delta.add(record, now.mono, now.mono);
        }
        self.delta.rebuild(self.retention, now.mono);
    }

    /// Drops delta entries that are older than the retention, or a part of them: says whether there are more. They leave the document
    /// when it is next rebuilt, or expires.
    pub(crate) fn drop_old_changes(&mut self, now: Mono) -> bool {
        self.delta.drop_older(self.retention, now)
    }

    /// How far it is; none before the first snapshot.
    pub(crate) fn level(&self) -> Option<Level> {
        self.at.map(|(_, position)| Level { position, complete: self.complete, gate_open: self.gate_open })
    }

    /// How many instances there are.
    pub(crate) const fn counts(&self) -> StatusCounts {
        self.counts
    }

    /// The view as it is; none before the first snapshot.
    pub(crate) fn view(&self) -> Option<Arc<View>> {
        self.level().map(|level| {
            Arc::new(View {
                level,
                registry: self.registry.leaves().into(),
                delta: self.delta.leaves().into(),
                vips: self.vips.clone(),
                counts: self.counts,
                versions: Arc::clone(&self.versions),
                ends: Ends::default(),
            })
        })
    }

    /// Which of these records say something new, and which only have other lease times than the view.
    fn compare(&self, records: Vec<Record>) -> (Vec<Record>, Vec<Record>) {
        let (mut changed, mut refreshed) = (Vec::new(), Vec::new());
        for record in records {
            let entry = Present::new(record);
            match self.registry.get(&entry).map(Entry::record) {
                Some(held)
                    if Arc::ptr_eq(&held.instance, &entry.record().instance)
                        || held.instance == entry.record().instance =>
                {
                    let lease = entry.record().lease;
                    if (held.lease.registered, held.lease.service_up) != (lease.registered, lease.service_up) {
                        refreshed.push(entry.record().clone());
                    }
                }
                Some(_) | None => changed.push(entry.record().clone()),
            }
        }
        (changed, refreshed)
    }

    /// Puts a record into the lists, or takes it out, as its action says.
    fn put(&mut self, record: Record, now: Mono) {
        let is_present = match record.instance.action {
            ActionType::Added | ActionType::Modified => true,
            ActionType::Deleted => false,
        };
        let entry = Present::new(record);
        let before = if is_present { self.registry.put(entry.clone(), now) } else { self.registry.remove(&entry, now) };
        let after = is_present.then_some(&entry);
        before.iter().for_each(|entry| self.counts.remove(entry.status()));
        after.iter().for_each(|entry| self.counts.add(entry.status()));
        self.vips.edit(before.as_ref(), after, now);
    }
}

/// The record of an instance that went without a word.
fn removed(record: &Record, now: UnixMillis) -> Record {
    let mut instance = (*record.instance).clone();
    instance.action = ActionType::Deleted;
    instance.last_updated = now;
    let mut lease = record.lease;
    lease.evicted = now;
    Record { instance: Arc::new(instance), lease }
}

mod lease_times;

pub(crate) use lease_times::{LeaseReading, Stale};

#[cfg(test)]
mod tests;
