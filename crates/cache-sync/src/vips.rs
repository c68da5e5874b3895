//! Which instances list which address (`vipAddress`, `secureVipAddress`). Owned by `view_state`, shared with every published view.
//!
//! An edit copies the addresses that it touches, and the shards that these are in; so a view costs nothing for the other addresses.

use crate::{
    keys::{Security, Vip},
    leaf::{Entry as _, Leaf, Present},
    paged_list::PagedList,
};
use foldhash::fast::RandomState;
use registry_model::{InstanceInfo, Mono, StatusCounts};
use std::{
    collections::{HashMap, HashSet},
    hash::BuildHasher as _,
    sync::Arc,
};

/// How many shards there are of either kind: each of 100,000 addresses has some hundred.
const SHARDS: usize = 256;

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

    fn put(&mut self, entry: Present, now: Mono) {
        self.counts.add(entry.status());
        let held = self.list.put(entry, now);
        held.iter().for_each(|held| self.counts.remove(held.status()));
    }

    fn remove(&mut self, entry: &Present, now: Mono) {
        let held = self.list.remove(entry, now);
        held.iter().for_each(|held| self.counts.remove(held.status()));
    }
}

type Shard = HashMap<Arc<str>, Arc<Members>, RandomState>;

/// All addresses that some instance lists. A clone shares everything.
#[derive(Clone, Debug)]
pub(crate) struct Vips {
    /// Plain addresses in the first half, secure ones in the other.
    shards: Arc<[Arc<Shard>]>,
    hasher: RandomState,
}

impl Default for Vips {
    fn default() -> Self {
        Self { shards: vec![Arc::default(); 2 * SHARDS].into(), hasher: RandomState::default() }
    }
}

impl Vips {
    /// The instances with an address; none if there is no such instance.
    pub(crate) fn get(&self, vip: &Vip) -> Option<&Arc<Members>> {
        self.shards.get(self.shard_of(vip.security, &vip.address))?.get(&vip.address)
    }

    /// An instance was `before`, and is `after`; none is absent.
    pub(crate) fn edit(&mut self, before: Option<&Present>, after: Option<&Present>, now: Mono) {
        let lists = |entry: &Present, wanted| addresses(&entry.record().instance).any(|address| address == wanted);
        let both = before.zip(after).map(|(old, new)| (&*old.record().instance, &*new.record().instance));
        let same = both.is_some_and(|(old, new)| {
            (&old.vip_address, &old.secure_vip_address) == (&new.vip_address, &new.secure_vip_address)
        });
        // Whoever comes back mostly lists what it listed before.
        if let Some(old) = before.filter(|_| !same) {
            for address in addresses(&old.record().instance) {
                if !after.is_some_and(|new| lists(new, address)) {
                    self.remove(address, old, now);
                }
            }
        }
        if let Some(new) = after {
            for address in addresses(&new.record().instance) {
                self.put(address, new.clone(), now);
            }
        }
    }

    fn put(&mut self, (security, address): (Security, &str), entry: Present, now: Mono) {
        let at = self.shard_of(security, address);
        let Some(shard) = Arc::make_mut(&mut self.shards).get_mut(at).map(Arc::make_mut) else { return };
        match shard.get_mut(address) {
            Some(members) => Arc::make_mut(members).put(entry, now),
            None => {
                let mut members = Members::default();
                members.put(entry, now);
                shard.insert(address.into(), Arc::new(members));
            }
        }
    }

    fn remove(&mut self, (security, address): (Security, &str), entry: &Present, now: Mono) {
        let at = self.shard_of(security, address);
        let Some(shard) = Arc::make_mut(&mut self.shards).get_mut(at).map(Arc::make_mut) else { return };
        let Some(members) = shard.get_mut(address).map(Arc::make_mut) else { return };
        members.remove(entry, now);
        if members.leaves().is_empty() {
            shard.remove(address);
        }
    }

    /// The addresses whose instances differ from those of an older state of the same index.
    pub(crate) fn changed(&self, old: &Self) -> HashSet<Vip> {
        let mut changed = HashSet::new();
        for (at, (new, old)) in self.shards.iter().zip(&*old.shards).enumerate() {
            if Arc::ptr_eq(new, old) {
                continue;
            }
            let security = if at < SHARDS { Security::Plain } else { Security::Secure };
            let vip = |address: &Arc<str>| Vip { security, address: Arc::clone(address) };
            let is_new = |(address, members): &(&Arc<str>, &Arc<Members>)| {
                !old.get(*address).is_some_and(|old| Arc::ptr_eq(members, old))
            };
            changed.extend(new.iter().filter(is_new).map(|(address, _)| vip(address)));
            changed.extend(old.keys().filter(|address| !new.contains_key(*address)).map(vip));
        }
        changed
    }

    fn shard_of(&self, security: Security, address: &str) -> usize {
        let place = usize::try_from(self.hasher.hash_one(address) % SHARDS as u64).unwrap_or_default();
        match security {
            Security::Plain => place,
            Security::Secure => SHARDS + place,
        }
    }
}

/// The addresses that an instance lists: split at commas, neither trimmed nor changed in case, as Eureka does.
fn addresses(instance: &InstanceInfo) -> impl Iterator<Item = (Security, &str)> {
    let lists = [(Security::Plain, &instance.vip_address), (Security::Secure, &instance.secure_vip_address)];
    lists.into_iter().flat_map(|(security, list)| {
        let addresses = list.as_deref().unwrap_or_default().split(',').filter(|address| !address.is_empty());
        addresses.take(MOST_ADDRESSES).map(move |address| (security, address))
    })
}

#[cfg(test)]
mod tests;
