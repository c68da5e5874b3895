//! The registry as the relay knows it, cut into buckets that snapshots share. Owned by `history`; read by `watcher` through snapshots.

use registry_model::{InstanceInfo, InstanceKey};
use registry_proto::types;
use std::{
    hash::{BuildHasher as _, RandomState},
    sync::Arc,
};

/// A change copies one bucket at most: some hundred pointers with 100,000 instances.
const BUCKETS: usize = 1024;

/// How much one message carries.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limit {
    /// Records or changes.
    pub(super) count: usize,
    /// Bytes of them together, estimated; a single one that is larger goes alone.
    pub(super) bytes: usize,
}

/// An instance, and the message that carries it: encoded once, however many watchers it goes to.
#[derive(Clone, Debug)]
struct Entry {
    instance: Arc<InstanceInfo>,
    message: types::Record,
}

type Bucket = Vec<Entry>;

/// All instances at one revision. A clone shares every bucket until that bucket changes.
#[derive(Clone, Debug)]
pub(super) struct Records {
    hasher: RandomState,
    /// Each ordered by key.
    buckets: Vec<Arc<Bucket>>,
}

/// How far a snapshot has been read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place {
    bucket: usize,
    entry: usize,
}

impl Records {
    pub(super) fn new() -> Self {
        Self { hasher: RandomState::new(), buckets: vec![Arc::default(); BUCKETS] }
    }

    fn bucket(&mut self, key: &InstanceKey) -> Option<&mut Arc<Bucket>> {
        let hash = self.hasher.hash_one(key);
        let place = usize::try_from(hash % BUCKETS as u64).ok()?;
        self.buckets.get_mut(place)
    }

    /// The instance is there, as this record says.
    pub(super) fn put(&mut self, instance: Arc<InstanceInfo>, message: types::Record) {
        let Some(bucket) = self.bucket(&instance.key) else { return };
        let bucket = Arc::make_mut(bucket);
        match bucket.binary_search_by(|entry| entry.instance.key.cmp(&instance.key)) {
            Ok(place) => {
                if let Some(entry) = bucket.get_mut(place) {
                    *entry = Entry { instance, message };
                }
            }
            Err(place) => bucket.insert(place, Entry { instance, message }),
        }
    }

    /// The instance is gone.
    pub(super) fn remove(&mut self, key: &InstanceKey) {
        let Some(bucket) = self.bucket(key) else { return };
        if let Ok(place) = bucket.binary_search_by(|entry| entry.instance.key.cmp(key)) {
            Arc::make_mut(bucket).remove(place);
        }
    }

    /// The records from `place` on, as many as the limit lets pass; none at the end.
    pub(super) fn part(&self, place: &mut Place, limit: Limit) -> Vec<types::Record> {
        let mut part = Vec::new();
        let mut bytes = 0_usize;
        while let Some(bucket) = self.buckets.get(place.bucket) {
            let Some(entry) = bucket.get(place.entry) else {
                *place = Place { bucket: place.bucket + 1, entry: 0 };
                continue;
            };
            bytes = bytes.saturating_add(entry.instance.approximate_size());
            if !part.is_empty() && (part.len() >= limit.count || bytes > limit.bytes) {
                break;
            }
            part.push(entry.message.clone());
            place.entry += 1;
        }
        part
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use registry_proto::IntoModel as _;
    use testkit::instances::{key, record};

    fn put(records: &mut Records, id: &str) {
        let record = record("A", id);
        records.put(Arc::clone(&record.instance), record.into());
    }

    fn ids(records: &Records, limit: Limit) -> Vec<Vec<String>> {
        let mut place = Place::default();
        let parts = std::iter::from_fn(|| {
            let part = records.part(&mut place, limit);
            (!part.is_empty()).then_some(part)
        });
        let id = |record: types::Record| record.into_model().unwrap().key().id.as_str().to_owned();
        parts.map(|part| part.into_iter().map(id).collect()).collect()
    }

    #[test]
    fn a_snapshot_stays_as_it_was_and_shares_what_has_not_changed() {
        let all = Limit { count: usize::MAX, bytes: usize::MAX };
        let mut records = Records::new();
        (0..500).for_each(|id| put(&mut records, &format!("n{id}")));
        let snapshot = records.clone();
        records.remove(&key("A", "n7"));
        records.remove(&key("A", "nobody"));
        put(&mut records, "n500");
        put(&mut records, "n3");
        let count = |records: &Records| ids(records, all).concat().len();
        assert_eq!((count(&snapshot), count(&records)), (500, 500));
        assert!(ids(&snapshot, all).concat().contains(&"n7".to_owned()));
        let buckets = snapshot.buckets.iter().zip(&records.buckets);
        let copied = buckets.filter(|(left, right)| !Arc::ptr_eq(left, right)).count();
        assert!((1..=3).contains(&copied), "{copied} buckets of {BUCKETS}");
    }

    #[test]
    fn parts_keep_to_their_limits_and_name_each_instance_once() {
        let mut records = Records::new();
        (0..10).for_each(|id| put(&mut records, &format!("n{id}")));
        let size = record("A", "n0").instance.approximate_size();
        for (count, bytes, sizes) in [
            (4, usize::MAX, vec![4, 4, 2]),
            (9, 5 * size, vec![5, 5]),
            (9, 5 * size - 1, vec![4, 4, 2]),
            (3, 0, vec![1; 10]),
        ] {
            let parts = ids(&records, Limit { count, bytes });
            assert_eq!(parts.iter().map(Vec::len).collect::<Vec<_>>(), sizes, "{count} records, {bytes} bytes");
            let mut all = parts.concat();
            all.sort();
            all.dedup();
            assert_eq!(all.len(), 10);
        }
        assert!(ids(&Records::new(), Limit { count: 1, bytes: 1 }).is_empty());
    }
}
