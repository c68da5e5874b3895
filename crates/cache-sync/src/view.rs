//! The registry as cache-sync saw it at one revision, cut into pages. Made by `view_state`, unchanging, shared by all readers.

use crate::{
    delta::Changed,
    keys::{PayloadKey, Scope},
    leaf::{Leaf, Piece, Present},
    vips::{Members, Vips},
};
use registry_model::{AppName, Position, StatusCounts};
use std::{
    collections::{HashMap, HashSet},
    ops::Range,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicI64, Ordering::Relaxed},
    },
};
use wire_codec::{Document, Form, Page, PerForm, encode_head, encode_tail};

/// Eureka's constant `versions__delta` of full lists.
const FULL_VERSION: i64 = 1;
/// And of lists by address.
const VIP_VERSION: i64 = -1;

/// Gives each delta document that is built a number of its own; those for clients that name regions are numbered apart.
///
/// The Python client ignores a delta whose number and hash both equal the last ones it saw, so a number never comes twice:
/// not in another form, and, since they start at the wall clock, not after a restart.
#[derive(Debug)]
pub(crate) struct DeltaVersions {
    plain: AtomicI64,
    regional: AtomicI64,
}

impl DeltaVersions {
    pub(crate) const fn starting_at(first: i64) -> Self {
        Self { plain: AtomicI64::new(first), regional: AtomicI64::new(first) }
    }
}

/// How far a view is: all that a follower without payloads is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Level {
    pub(crate) position: Position,
    /// Whether it was taken from a warm registry, or followed from one that was.
    pub(crate) complete: bool,
    /// Whether lists may be served.
    pub(crate) gate_open: bool,
}

/// The view.
#[derive(Debug)]
pub(crate) struct View {
    pub(crate) level: Level,
    pub(crate) registry: Arc<[Arc<Leaf<Present>>]>,
    pub(crate) delta: Arc<[Arc<Leaf<Changed>>]>,
    pub(crate) vips: Vips,
    pub(crate) counts: StatusCounts,
    pub(crate) versions: Arc<DeltaVersions>,
    pub(crate) ends: Ends,
}

/// Heads and tails of the documents that count all instances, made once per view: each follower sends them with every change.
#[derive(Debug, Default)]
pub(crate) struct Ends {
    all: PerForm<OnceLock<(Page, Page)>>,
    delta: PerForm<OnceLock<(Page, Page)>>,
    regional_delta: PerForm<OnceLock<(Page, Page)>>,
}

impl View {
    /// The pages of a payload; none if there is no such application, or no instance with such an address.
    pub(crate) fn pages(&self, scope: &Scope) -> Option<PageList> {
        match scope {
            Scope::All => Some(PageList::All(Arc::clone(&self.registry))),
            Scope::Delta => Some(PageList::Delta(Arc::clone(&self.delta))),
            Scope::Application(app) => self.application(app).map(PageList::Application),
            Scope::Vip(vip) => self.vips.get(vip).cloned().map(PageList::Vip),
        }
    }

    fn application(&self, app: &AppName) -> Option<Arc<[Arc<Piece<Present>>]>> {
        let start = self.registry.partition_point(|leaf| leaf.last_app().is_some_and(|last| last < app));
        let leaves = self.registry.get(start..).unwrap_or_default().iter();
        let pieces: Arc<[_]> = leaves
            .take_while(|leaf| leaf.first_app().is_some_and(|first| first <= app))
            .filter_map(|leaf| leaf.pieces().iter().find(|piece| piece.app() == Some(app)).cloned())
            .collect();
        (!pieces.is_empty()).then_some(pieces)
    }

    fn document(&self, scope: &Scope) -> Document {
        match scope {
            Scope::All => Document::Registry { version: FULL_VERSION, hash: self.counts },
            Scope::Delta => {
                Document::Registry { version: self.versions.plain.fetch_add(1, Relaxed), hash: self.counts }
            }
            Scope::Application(name) => Document::Application { name: name.clone() },
            Scope::Vip(vip) => {
                let hash = self.vips.get(vip).map(|members| members.counts()).unwrap_or_default();
                Document::Registry { version: VIP_VERSION, hash }
            }
        }
    }

    /// What stands before and behind the pages of a payload: made together, so that a delta's number is the same wherever it stands.
    pub(crate) fn ends(&self, key: &PayloadKey) -> (Page, Page) {
        let make = || ends(key.form, &self.document(&key.scope));
        let kept = match &key.scope {
            Scope::All => Some(self.ends.all.of(key.form)),
            Scope::Delta => Some(self.ends.delta.of(key.form)),
            Scope::Application(_) | Scope::Vip(_) => None,
        };
        kept.map_or_else(make, |kept| kept.get_or_init(make).clone())
    }

    /// The same of the delta for those who name regions. As none is configured, only the number is another one.
    pub(crate) fn regional_ends(&self, key: &PayloadKey) -> Option<(Page, Page)> {
        let make = || {
            let version = self.versions.regional.fetch_add(1, Relaxed);
            ends(key.form, &Document::Registry { version, hash: self.counts })
        };
        match &key.scope {
            Scope::Delta => Some(self.ends.regional_delta.of(key.form).get_or_init(make).clone()),
            Scope::All | Scope::Application(_) | Scope::Vip(_) => None,
        }
    }

    /// The applications and addresses whose instances differ from an older view's.
    pub(crate) fn changed(&self, old: &Self) -> HashSet<Scope> {
        let apps = self.changed_apps(old).into_iter().map(Scope::Application);
        apps.chain(self.vips.changed(&old.vips).into_iter().map(Scope::Vip)).collect()
    }

    fn changed_apps(&self, old: &Self) -> HashSet<AppName> {
        let mut changed = HashSet::new();
        for difference in differences(&old.registry, &self.registry) {
            let pieces = |leaves: &[Arc<Leaf<Present>>], range: Range<usize>| {
                let leaves = leaves.get(range).unwrap_or_default();
                leaves.iter().flat_map(|leaf| leaf.pieces().iter().cloned()).collect::<Vec<_>>()
            };
            let (removed, inserted) =
                (pieces(&old.registry, difference.removed), pieces(&self.registry, difference.inserted));
            for (some, others) in [(&removed, &inserted), (&inserted, &removed)] {
                let others: HashSet<*const Piece<Present>> = others.iter().map(Arc::as_ptr).collect();
                let new = some.iter().filter(|piece| !others.contains(&Arc::as_ptr(piece)));
                changed.extend(new.filter_map(|piece| piece.app().cloned()));
            }
        }
        changed
    }
}

fn ends(form: Form, document: &Document) -> (Page, Page) {
    (Page::deflate(&encode_head(form, document)), Page::deflate(&encode_tail(form, document)))
}

/// The pages of one payload, shared with the view that they came from.
#[derive(Clone, Debug)]
pub(crate) enum PageList {
    All(Arc<[Arc<Leaf<Present>>]>),
    Delta(Arc<[Arc<Leaf<Changed>>]>),
    Application(Arc<[Arc<Piece<Present>>]>),
    Vip(Arc<Members>),
}

/// New pages in the place of old ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Difference {
    /// Pages of the old list.
    pub(crate) removed: Range<usize>,
    /// Pages of the new list.
    pub(crate) inserted: Range<usize>,
}

impl PageList {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::All(leaves) => leaves.len(),
            Self::Delta(leaves) => leaves.len(),
            Self::Application(pieces) => pieces.len(),
            Self::Vip(members) => members.leaves().len(),
        }
    }

    /// What has to be replaced in an older list of the same payload to get this one; everything where there is none.
    pub(crate) fn differences(&self, old: Option<&Self>) -> Vec<Difference> {
        match (old, self) {
            (Some(Self::All(old)), Self::All(new)) => differences(old, new),
            (Some(Self::Delta(old)), Self::Delta(new)) => differences(old, new),
            (Some(Self::Application(old)), Self::Application(new)) => differences(old, new),
            (Some(Self::Vip(old)), Self::Vip(new)) => differences(old.leaves(), new.leaves()),
            (None, _) if self.len() == 0 => Vec::new(),
            (Some(_) | None, _) => vec![Difference { removed: 0..0, inserted: 0..self.len() }],
        }
    }

    /// One page, encoded if nobody has asked for it yet.
    pub(crate) fn page(&self, at: usize, form: Form) -> Option<Page> {
        match self {
            Self::All(leaves) => leaves.get(at).map(|leaf| leaf.page(form)),
            Self::Delta(leaves) => leaves.get(at).map(|leaf| leaf.page(form)),
            Self::Application(pieces) => pieces.get(at).map(|piece| piece.page(form)),
            Self::Vip(members) => members.leaves().get(at).map(|leaf| leaf.page(form)),
        }
    }
}

/// Where two lists differ that share their unchanged members, in the same order.
fn differences<T>(old: &[Arc<T>], new: &[Arc<T>]) -> Vec<Difference> {
    let same = |(left, right): &(&Arc<T>, &Arc<T>)| Arc::ptr_eq(left, right);
    let start = old.iter().zip(new).take_while(same).count();
    let (old_rest, new_rest) = (old.get(start..).unwrap_or_default(), new.get(start..).unwrap_or_default());
    let end = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(same).count();
    let old_middle = old_rest.get(..old_rest.len() - end).unwrap_or_default();
    let new_middle = new_rest.get(..new_rest.len() - end).unwrap_or_default();

    let places: HashMap<*const T, usize> =
        new_middle.iter().enumerate().map(|(at, member)| (Arc::as_ptr(member), at)).collect();
    let mut found = Vec::new();
    let (mut removed_from, mut inserted_from) = (0, 0);
    let kept = old_middle
        .iter()
        .enumerate()
        .filter_map(|(at, member)| places.get(&Arc::as_ptr(member)).map(|place| (at, *place)));
    for (old_at, new_at) in kept.chain([(old_middle.len(), new_middle.len())]) {
        if new_at < inserted_from {
            // Never happens while order is kept; the member then counts as new.
            continue;
        }
        if removed_from < old_at || inserted_from < new_at {
            found.push(Difference {
                removed: start + removed_from..start + old_at,
                inserted: start + inserted_from..start + new_at,
            });
        }
        (removed_from, inserted_from) = (old_at + 1, new_at + 1);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn differences_turn_the_old_list_into_the_new_one(
            keep in prop::collection::vec((any::<bool>(), 0usize..3), 0..40)
        ) {
            let old: Vec<Arc<usize>> = (0..keep.len()).map(Arc::new).collect();
            let mut new = Vec::new();
            for (member, (kept, fresh)) in old.iter().zip(&keep) {
                new.extend(kept.then(|| Arc::clone(member)));
                new.extend((0..*fresh).map(|n| Arc::new(1000 + n)));
            }
            let mut rebuilt = old.clone();
            let found = differences(&old, &new);
            for difference in found.iter().rev() {
                rebuilt.splice(difference.removed.clone(), new[difference.inserted.clone()].iter().cloned());
            }
            prop_assert_eq!(&rebuilt, &new);
            let changed = keep.iter().filter(|(kept, _)| !kept).count() + new.len() - keep.iter().filter(|(kept, _)| *kept).count();
            prop_assert!(found.iter().map(|difference| difference.removed.len() + difference.inserted.len()).sum::<usize>() <= changed);
        }
    }
}
