//! The whole registry at one revision, and the parts in which it is sent. Taken by `registry` when a watch asks for it.

use crate::{
    change_log::{Limit, Recent, Sized},
    lease_table::LeaseEntry,
};
use registry_model::{LeaseExpiry, Revision};
use registry_proto::{
    registry::{SnapshotEnd, SnapshotPart},
    types,
};
use std::{iter::Peekable, vec};

/// All leases at one revision; the descriptions are shared with the table.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) revision: Revision,
    pub(crate) warm: bool,
    pub(crate) leases: Vec<LeaseEntry>,
    pub(crate) recent: Recent,
}

/// What is left to send of a snapshot; each part is made when it is asked for.
#[derive(Debug)]
pub(crate) struct SnapshotParts {
    expiry: LeaseExpiry,
    limit: Limit,
    leases: Peekable<vec::IntoIter<LeaseEntry>>,
    recent: Peekable<vec::IntoIter<Sized<types::Change>>>,
    end: Option<SnapshotEnd>,
}

/// The next piece of a snapshot.
#[derive(Debug)]
pub(crate) enum SnapshotStep {
    /// Records, or recent changes.
    Part(SnapshotPart),
    /// All has been sent.
    End(SnapshotEnd),
}

impl SnapshotParts {
    pub(crate) fn of(snapshot: Snapshot, expiry: LeaseExpiry, limit: Limit) -> Self {
        Self {
            expiry,
            limit,
            leases: snapshot.leases.into_iter().peekable(),
            end: Some(SnapshotEnd { recent_since_ms: snapshot.recent.complete_since.0 }),
            recent: snapshot.recent.changes.into_iter().peekable(),
        }
    }

    fn next_part(&mut self) -> Option<SnapshotPart> {
        let records: Vec<_> = up_to(&mut self.leases, self.limit, LeaseEntry::size)
            .into_iter()
            .map(|entry| entry.record(self.expiry).into())
            .collect();
        if !records.is_empty() {
            return Some(SnapshotPart { records, recent: Vec::new() });
        }
        let recent = up_to(&mut self.recent, self.limit, |change| change.size);
        (!recent.is_empty()).then(|| SnapshotPart {
            records: Vec::new(),
            recent: recent.into_iter().map(|change| change.message).collect(),
        })
    }
}

impl Iterator for SnapshotParts {
    type Item = SnapshotStep;

    fn next(&mut self) -> Option<SnapshotStep> {
        self.next_part().map(SnapshotStep::Part).or_else(|| self.end.take().map(SnapshotStep::End))
    }
}

/// Takes what fits the limit, at least one.
fn up_to<T>(items: &mut Peekable<vec::IntoIter<T>>, limit: Limit, size: impl Fn(&T) -> usize) -> Vec<T> {
    let mut taken = Vec::with_capacity(limit.messages.min(items.len()));
    let mut bytes = 0_usize;
    while taken.len() < limit.messages {
        let fits = |item: &T| taken.is_empty() || bytes.saturating_add(size(item)) <= limit.bytes;
        let Some(item) = items.next_if(fits) else { break };
        bytes = bytes.saturating_add(size(&item));
        taken.push(item);
    }
    taken
}
