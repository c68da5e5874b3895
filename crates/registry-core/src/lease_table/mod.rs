//! The owner of all leases. Commands replace and remove entries under a shard's write lock; a renewal takes the read lock
//! and touches one entry's atomics. Called by `registry`.

mod entry;
mod key_text;
mod renewal;
mod slot;
#[cfg(test)]
mod tests;

pub(crate) use entry::override_of;
pub use entry::{LeaseEntry, Moment};
pub use renewal::{ChangesStatus, Renewal, RenewalCall};

use crate::{overrides::Overrides, rules::Rules};
pub(crate) use slot::Slot;

use foldhash::quality::RandomState;
use hashbrown::{HashTable, hash_table::Entry};
use parking_lot::RwLock;
use registry_model::{InstanceKey, InstanceStatus, Lease, Mono};
use std::{
    borrow::Cow,
    hash::{BuildHasher, Hasher},
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

const SHARDS: usize = 64;

/// All leases, found by application and id.
///
/// Commands are serialised by the caller; renewals and reads may come from any thread at any time.
#[derive(Debug)]
pub struct LeaseTable {
    /// Seeded at random, so that nobody can choose names that collide.
    hashing: RandomState,
    shards: [Shard; SHARDS],
    len: AtomicUsize,
}

/// On a cache line of its own, so that readers of one shard do not slow those of the next.
#[repr(align(128))]
#[derive(Debug, Default)]
struct Shard(RwLock<HashTable<Slot>>);

impl LeaseTable {
    /// A table without leases.
    pub fn new() -> Self {
        Self {
            hashing: RandomState::default(),
            shards: std::array::from_fn(|_| Shard::default()),
            len: AtomicUsize::new(0),
        }
    }

    /// How many leases there are.
    pub fn len(&self) -> usize {
        self.len.load(Relaxed)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Renews a lease at `now`, unless its status changes with that. Allocates nothing for an upper-case ASCII name.
    ///
    /// # Errors
    /// The status has to be changed first.
    pub fn renew(
        &self,
        call: &RenewalCall<'_>,
        overrides: &Overrides,
        rules: &Rules,
        now: Mono,
    ) -> Result<Renewal, ChangesStatus> {
        let app = upper_cased(call.app);
        self.with(&app, call.id, |slot| {
            let Some(slot) = slot else { return Ok(Renewal::NotFound) };
            // Whoever stores an override notes it in the description: where there is no note, no table needs to be asked.
            let acting = slot.overridden().and_then(|_| overrides.acting(&app, call.id, now));
            let met = call.meets(slot.status(), acting, slot.last_dirty(), rules);
            let status = met.status();
            if status == InstanceStatus::Unknown {
                return Ok(Renewal::NotFound);
            }
            if status != slot.status() {
                return Err(ChangesStatus);
            }
            slot.renew(now);
            Ok(met.outcome(|| slot.entry()))
        })
    }

    /// Renews a lease, whatever its status: what a command does beside.
    pub(crate) fn touch(&self, key: &InstanceKey, now: Mono) {
        self.with(key.app.as_str(), key.id.as_str(), |slot| {
            if let Some(slot) = slot {
                slot.renew(now);
            }
        });
    }

    /// The lease of this instance; the application's name may come in any case.
    pub fn get(&self, app: &str, id: &str) -> Option<LeaseEntry> {
        self.with(&upper_cased(app), id, |slot| slot.map(Slot::entry))
    }

    /// Puts a new lease in the place of the one of the same key, if there is one, and returns that.
    pub fn put(&self, entry: LeaseEntry) -> Option<LeaseEntry> {
        let slot = self.slot_of(entry);
        let replaced = match self.shard(slot.hash()).write().entry(slot.hash(), |held| held.is_for(&slot), Slot::hash) {
            Entry::Occupied(mut place) => Some(std::mem::replace(place.get_mut(), slot)),
            Entry::Vacant(place) => {
                place.insert(slot);
                self.len.fetch_add(1, Relaxed);
                None
            }
        };
        replaced.as_ref().map(Slot::entry)
    }

    /// Puts another description in the place of the one of the same key, if there is one; the lease stays, renewals of
    /// this very moment included. Returns it as it is then.
    pub(crate) fn redescribe(&self, entry: LeaseEntry) -> Option<LeaseEntry> {
        let mut slot = self.slot_of(entry);
        let mut shard = self.shard(slot.hash()).write();
        let place = shard.find_mut(slot.hash(), |held| held.is_for(&slot))?;
        slot.keep_lease_of(place);
        let replaced = std::mem::replace(place, slot);
        let entry = place.entry();
        drop(shard);
        drop(replaced);
        Some(entry)
    }

    /// Removes a lease and returns it; the application's name may come in any case.
    pub fn remove(&self, app: &str, id: &str) -> Option<LeaseEntry> {
        let app = upper_cased(app);
        let hash = self.hash(&app, id);
        let removed = match self.shard(hash).write().find_entry(hash, |slot| slot.is(hash, &app, id)) {
            Ok(found) => found.remove().0,
            Err(_) => return None,
        };
        self.len.fetch_sub(1, Relaxed);
        Some(removed.entry())
    }

    /// Removes a lease only if `condition` holds of it as it stands, which no renewal can change meanwhile.
    pub(crate) fn remove_if(&self, key: &InstanceKey, condition: impl FnOnce(Lease) -> bool) -> Option<LeaseEntry> {
        let (app, id) = (key.app.as_str(), key.id.as_str());
        let hash = self.hash(app, id);
        let mut shard = self.shard(hash).write();
        let found = shard.find_entry(hash, |slot| slot.is(hash, app, id)).ok()?;
        if !condition(found.get().lease()) {
            return None;
        }
        let removed = found.remove().0;
        drop(shard);
        self.len.fetch_sub(1, Relaxed);
        Some(removed.entry())
    }

    /// Calls `look` with each lease where it lies, under one shard's read lock after another.
    pub(crate) fn visit(&self, mut look: impl FnMut(&Slot)) {
        for shard in &self.shards {
            shard.0.read().iter().for_each(&mut look);
        }
    }

    /// A lease with this id in any application of which `condition` holds; looks at one shard at a time.
    pub(crate) fn find_by_id(&self, id: &str, condition: impl Fn(&LeaseEntry) -> bool) -> Option<LeaseEntry> {
        self.shards.iter().find_map(|shard| {
            let shard = shard.0.read();
            shard.iter().filter(|slot| slot.has_id(id)).map(Slot::entry).find(|entry| condition(entry))
        })
    }

    /// All leases, in no order. Consistent only while no command runs.
    pub fn entries(&self) -> Vec<LeaseEntry> {
        let mut entries = Vec::with_capacity(self.len());
        for shard in &self.shards {
            entries.extend(shard.0.read().iter().map(Slot::entry));
        }
        entries
    }

    /// Calls `act` with the slot under the shard's read lock: nothing may be waited for in it.
    fn with<T>(&self, app: &str, id: &str, act: impl FnOnce(Option<&Slot>) -> T) -> T {
        let hash = self.hash(app, id);
        let shard = self.shard(hash).read();
        act(shard.find(hash, |slot| slot.is(hash, app, id)))
    }

    fn slot_of(&self, entry: LeaseEntry) -> Slot {
        let key = &entry.instance().key;
        Slot::new(self.hash(key.app.as_str(), key.id.as_str()), entry)
    }

    fn hash(&self, app: &str, id: &str) -> u64 {
        let mut hasher = self.hashing.build_hasher();
        hasher.write(app.as_bytes());
        // No text contains this byte, so ("A", "BC") and ("AB", "C") differ.
        hasher.write_u8(0xff);
        hasher.write(id.as_bytes());
        hasher.finish()
    }

    /// Picked by bits in the middle: a shard's table uses the lowest and the highest ones.
    fn shard(&self, hash: u64) -> &RwLock<HashTable<Slot>> {
        let place = (hash >> 40) as usize % SHARDS;
        #[expect(clippy::indexing_slicing, reason = "a remainder by the array's own length")]
        &self.shards[place].0
    }
}

impl Default for LeaseTable {
    fn default() -> Self {
        Self::new()
    }
}

/// An application's name as tables hold it, see [`registry_model::AppName`]; borrowed where nothing changes.
pub(crate) fn upper_cased(app: &str) -> Cow<'_, str> {
    if app.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_lowercase()) {
        Cow::Borrowed(app)
    } else {
        Cow::Owned(app.to_uppercase())
    }
}
