//! Lease times that are read anew, because pages have expired or a payload is wanted that nobody kept fresh. Renewals are no changes,
//! so nothing else brings them here. Called by `follow_registry` on behalf of `refresh`.

use super::ViewState;
use crate::{
    delta::Changed,
    expiry::{Expiry, Split},
    keys::Scope,
    leaf::{Entry, Leaf, Present},
};
use registry_model::{ActionType, LeaseTimes, Mono, Record};
use std::sync::Arc;

/// Pages whose lease times are to be read anew.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stale {
    present: Vec<Arc<Leaf<Present>>>,
    changed: Vec<Arc<Leaf<Changed>>>,
    /// Whether the delta is to be rebuilt: what has left it by age leaves its document.
    rebuilds_delta: bool,
}

/// What has been read: records that have other lease times now, and these.
pub(crate) type LeaseReading = Vec<(Record, LeaseTimes)>;

impl Stale {
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many pages these are.
    pub(crate) fn len(&self) -> usize {
        self.present.len() + self.changed.len()
    }

    /// The records to ask for, page by page.
    pub(crate) fn pages(&self) -> impl Iterator<Item = Vec<Record>> {
        let present = self.present.iter().map(|leaf| records(leaf));
        present.chain(self.changed.iter().map(|leaf| records(leaf))).filter(|page| !page.is_empty())
    }

    fn add_present(&mut self, split: Split<Present>) -> Option<Mono> {
        self.present.extend(split.expired);
        split.next
    }

    fn add_changed(&mut self, split: Split<Changed>) -> Option<Mono> {
        self.rebuilds_delta |= !split.expired.is_empty();
        self.changed.extend(split.expired);
        split.next
    }
}

/// What is removed has no lease any more.
fn records<E: Entry>(leaf: &Leaf<E>) -> Vec<Record> {
    let present = leaf.entries().map(Entry::record).filter(|record| match record.instance.action {
        ActionType::Added | ActionType::Modified => true,
        ActionType::Deleted => false,
    });
    present.cloned().collect()
}

impl ViewState {
    /// What has expired of some payloads, and when something will next.
    pub(crate) fn expired(&self, scopes: &[Scope], expiry: Expiry, now: Mono) -> (Stale, Option<Mono>) {
        let mut stale = Stale::default();
        let mut next: Option<Mono> = None;
        for scope in scopes {
            let due = match scope {
                Scope::All => stale.add_present(expiry.split(self.registry.leaves(), now)),
                Scope::Delta => stale.add_changed(expiry.split(self.delta.leaves(), now)),
                Scope::Application(app) => stale.add_present(expiry.split(self.registry.leaves_of(app), now)),
                Scope::Vip(vip) => {
                    let leaves = self.vips.get(vip).map(|members| members.leaves()).unwrap_or_default();
                    stale.add_present(expiry.split(leaves, now))
                }
            };
            next = [next, due].into_iter().flatten().min();
        }
        (stale, next)
    }

    /// All pages of some payloads, however old.
    pub(crate) fn whole(&self, scopes: &[Scope], now: Mono) -> Stale {
        let (stale, _) = self.expired(scopes, Expiry::AT_ONCE, now);
        stale
    }

    /// Takes what was asked for at `asked`. Says whether anything is to be shown for it.
    pub(crate) fn read_lease_times(&mut self, stale: &Stale, reading: LeaseReading, asked: Mono, now: Mono) -> bool {
        // Before the edits, whose leaves inherit it. A page that has been made anew meanwhile stays expired.
        stale.present.iter().for_each(|leaf| leaf.is_read(asked));
        stale.changed.iter().for_each(|leaf| leaf.is_read(asked));
        let read: Vec<Record> = reading.into_iter().map(|(record, lease)| Record { lease, ..record }).collect();
        let shown = |record: &&Record| {
            let held = self.registry.get(&Present::new((*record).clone()));
            // Of an instance that has changed meanwhile, the change knows better.
            held.is_some_and(|held| {
                Arc::ptr_eq(&held.record().instance, &record.instance) && held.record().lease != record.lease
            })
        };
        let renewed: Vec<Record> = read.iter().filter(shown).cloned().collect();
        let mut changes = !renewed.is_empty();
        renewed.into_iter().for_each(|record| self.put(record, now));
        if stale.rebuilds_delta {
            let before = self.delta.leaves().to_vec();
            self.delta.renew(read, now);
            self.delta.rebuild(self.retention, now);
            let same = |(old, new): (&Arc<Leaf<Changed>>, &Arc<Leaf<Changed>>)| Arc::ptr_eq(old, new);
            let after = self.delta.leaves();
            changes |= before.len() != after.len() || !before.iter().zip(after).all(same);
        }
        changes
    }
}

#[cfg(test)]
mod tests;
