//! Which instances list which address (`vipAddress`, `secureVipAddress`). Owned by `view_state`, shared with every published view.
//!
//! An edit copies the addresses that it touches, and the shards that these are in; so a view costs nothing for the other addresses.

use crate::{
    keys::{Security, Vip},
    leaf::{Entry as _, Leaf, Present},
    paged_list::{Edit, PagedList},
};
use registry_model::{InstanceInfo, Mono, StatusCounts};
use std::{
    collections::{HashMap, HashSet, hash_map::RandomState},
    hash::BuildHasher as _,
    sync::Arc,
};

/// Each shard of 100,000 addresses has some hundred.
const SHARDS: usize = 512;

/// So many addresses of one list are heeded: each takes more room here than in the list, and real lists have a handful.
const MOST_ADDRESSES: usize = 256;

/// The instances with one address.
#[derive(Clone, Debug, Default)]
pub(crate) struct Members {
    list: PagedList<Present>,
    counts: StatusCounts,
}

impl Members {
    /// Their pages.
    pub(crate) fn leaves(&self) -> &[Arc<Leaf<Present>>] {
        self.list.leaves()
    }

    /// How many have which status.
    pub(crate) const fn counts(&self) -> StatusCounts {
        self.counts
    }

    fn edit(&mut self, steps: Vec<Step>, now: Mono) {
        let mut edits = Vec::with_capacity(steps.len());
        for Step { before, after } in steps {
            let status = |entry: &Present| entry.record().instance.status;
            before.iter().for_each(|entry| self.counts.remove(status(entry)));
            after.iter().for_each(|entry| self.counts.add(status(entry)));
            edits.extend(after.map(Edit::Put).or(before.map(Edit::Remove)));
        }
        self.list.edit(edits, now);
    }
}

type Shard = HashMap<Vip, Arc<Members>>;

/// All addresses that some instance lists. A clone shares everything.
#[derive(Clone, Debug)]
pub(crate) struct Vips {
    shards: Arc<[Arc<Shard>]>,
    hasher: RandomState,
}

impl Default for Vips {
    fn default() -> Self {
        Self { shards: vec![Arc::default(); SHARDS].into(), hasher: RandomState::new() }
    }
}

impl Vips {
    /// The instances with an address; none if there is no such instance.
    pub(crate) fn get(&self, vip: &Vip) -> Option<&Arc<Members>> {
        self.shards.get(self.shard_of(vip))?.get(vip)
    }

    /// Takes what has become of instances.
    pub(crate) fn edit(&mut self, edits: VipEdits, now: Mono) {
        if edits.0.is_empty() {
            return;
        }
        let hasher = &self.hasher;
        let shards = Arc::make_mut(&mut self.shards);
        for (vip, steps) in edits.0 {
            let Some(shard) = shards.get_mut(shard_of(hasher, &vip)).map(Arc::make_mut) else { continue };
            let members = Arc::make_mut(shard.entry(vip.clone()).or_default());
            members.edit(steps, now);
            if members.leaves().is_empty() {
                shard.remove(&vip);
            }
        }
    }

    /// The addresses whose instances differ from those of an older state of the same index.
    pub(crate) fn changed(&self, old: &Self) -> HashSet<Vip> {
        let mut changed = HashSet::new();
        for (new, old) in self.shards.iter().zip(&*old.shards).filter(|(new, old)| !Arc::ptr_eq(new, old)) {
            let is_new =
                |(vip, members): &(&Vip, &Arc<Members>)| !old.get(vip).is_some_and(|old| Arc::ptr_eq(members, old));
            changed.extend(new.iter().filter(is_new).map(|(vip, _)| vip.clone()));
            changed.extend(old.keys().filter(|vip| !new.contains_key(*vip)).cloned());
        }
        changed
    }

    fn shard_of(&self, vip: &Vip) -> usize {
        shard_of(&self.hasher, vip)
    }
}

fn shard_of(hasher: &RandomState, vip: &Vip) -> usize {
    let hash = hasher.hash_one(vip) % SHARDS as u64;
    usize::try_from(hash).unwrap_or_default()
}

/// What becomes of an instance under one address.
#[derive(Debug)]
struct Step {
    before: Option<Present>,
    after: Option<Present>,
}

/// What becomes of instances, by address: of the old values and of the new ones.
#[derive(Debug, Default)]
pub(crate) struct VipEdits(HashMap<Vip, Vec<Step>>);

impl VipEdits {
    /// An instance was `before`, and is `after`; none is absent.
    pub(crate) fn add(&mut self, before: Option<&Present>, after: Option<&Present>) {
        let listed =
            |entry: Option<&Present>| entry.map(|entry| addresses(&entry.record().instance)).unwrap_or_default();
        let (old, new) = (listed(before), listed(after));
        for vip in old.union(&new) {
            let step = Step {
                before: before.filter(|_| old.contains(vip)).cloned(),
                after: after.filter(|_| new.contains(vip)).cloned(),
            };
            self.0.entry(vip.clone()).or_default().push(step);
        }
    }
}

/// The addresses that an instance lists: split at commas, neither trimmed nor changed in case, as Eureka does.
fn addresses(instance: &InstanceInfo) -> HashSet<Vip> {
    let lists = [(Security::Plain, &instance.vip_address), (Security::Secure, &instance.secure_vip_address)];
    let mut found = HashSet::new();
    for (security, list) in lists {
        let list = list.as_deref().unwrap_or_default();
        let addresses = list.split(',').filter(|address| !address.is_empty()).take(MOST_ADDRESSES);
        found.extend(addresses.map(|address| Vip { security, address: address.into() }));
    }
    found
}

#[cfg(test)]
mod tests;
