//! The owner of all leases. Commands replace and remove entries under a shard's write lock; a renewal takes the read lock
//! and touches one entry's atomics. Called by `registry`.

mod entry;
mod key_text;
mod slot;
#[cfg(test)]
mod tests;

pub(crate) use entry::override_of;
pub use entry::{LeaseEntry, Moment};

use foldhash::quality::RandomState;
use hashbrown::{HashTable, hash_table::Entry};
use parking_lot::RwLock;
use registry_model::{InstanceStatus, Mono, Origin, UnixMillis, effective_status};
use slot::Slot;
use std::{
    borrow::Cow,
    cmp::Ordering,
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

/// What became of a renewal.
#[derive(Debug)]
pub enum Renewal {
    /// The lease is renewed.
    Renewed,
    /// There is no such lease, or its status is UNKNOWN; nothing is renewed.
    NotFound,
    /// The lease is renewed, but the stored description is older than the sender's.
    StoredIsOlder,
    /// The lease is renewed, and the stored description is newer than the sending peer's.
    StoredIsNewer(LeaseEntry),
}

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

    /// Renews a lease at `now`. The application's name may come in any case. Allocates nothing for an upper-case ASCII name.
    pub fn renew(&self, app: &str, id: &str, last_dirty: Option<UnixMillis>, origin: Origin, now: Mono) -> Renewal {
        let app = upper_cased(app);
        self.with(&app, id, |slot| {
            let Some(slot) = slot else { return Renewal::NotFound };
            let status = slot.status();
            if effective_status(status, slot.overridden(), Some(status), origin) == InstanceStatus::Unknown {
                return Renewal::NotFound;
            }
            slot.renew(now);
            match (last_dirty.map_or(Ordering::Equal, |sent| sent.cmp(&slot.last_dirty())), origin) {
                (Ordering::Equal, _) | (Ordering::Less, Origin::Client) => Renewal::Renewed,
                (Ordering::Greater, _) => Renewal::StoredIsOlder,
                (Ordering::Less, Origin::Peer) => Renewal::StoredIsNewer(slot.entry()),
            }
        })
    }

    /// The lease of this instance; the application's name may come in any case.
    pub fn get(&self, app: &str, id: &str) -> Option<LeaseEntry> {
        self.with(&upper_cased(app), id, |slot| slot.map(Slot::entry))
    }

    /// Puts a new lease in the place of the one of the same key, if there is one, and returns that.
    pub fn put(&self, entry: LeaseEntry) -> Option<LeaseEntry> {
        let key = entry.instance().key.clone();
        let hash = self.hash(key.app.as_str(), key.id.as_str());
        let same = |slot: &Slot| slot.is(hash, key.app.as_str(), key.id.as_str());
        let slot = Slot::new(hash, entry);
        let replaced = match self.shard(hash).write().entry(hash, same, Slot::hash) {
            Entry::Occupied(mut place) => Some(std::mem::replace(place.get_mut(), slot)),
            Entry::Vacant(place) => {
                place.insert(slot);
                self.len.fetch_add(1, Relaxed);
                None
            }
        };
        replaced.as_ref().map(Slot::entry)
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
fn upper_cased(app: &str) -> Cow<'_, str> {
    if app.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_lowercase()) {
        Cow::Borrowed(app)
    } else {
        Cow::Owned(app.to_uppercase())
    }
}
