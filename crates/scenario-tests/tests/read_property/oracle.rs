//! What tier 2 has to look like at each moment, kept plainly. It takes the registry's history from the registry's own
//! answers, and from the watch only how far it has come; the view that follows from both is worked out here.

use registry_model::{ActionType, Clock as _, InstanceInfo, LeaseTimes, Mono, Position, Record};
use registry_proto::{cache::Watermark, registry::watch_response::Step};
use scenario_tests::{Fields, fields};
use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
    time::Duration,
};
use testkit::ManualClock;
use wire_codec::{Form, encode_instance};

pub(crate) const COLD_START: Duration = Duration::from_secs(90);

/// Application and id.
pub(crate) type Key = (String, String);

/// A record, and the leaves of its document that a cached read has to show.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) record: Record,
    pub(crate) fields: Fields,
}

impl Shown {
    fn new(record: Record) -> Arc<Self> {
        let document: serde_json::Value = serde_json::from_slice(&encode_instance(Form::Json, &record)).unwrap();
        let mut fields = fields(&document["instance"]);
        without_renewal(&mut fields);
        Arc::new(Self { record, fields })
    }
}

/// Renewals are no changes, so caches show any of them.
pub(crate) fn without_renewal(fields: &mut Fields) {
    fields.remove("leaseInfo.lastRenewalTimestamp");
}

pub(crate) type Table = BTreeMap<Key, Arc<Shown>>;

/// An entry of the delta and when tier 2 took it.
#[derive(Clone, Debug)]
pub(crate) struct DeltaEntry {
    pub(crate) shown: Arc<Shown>,
    pub(crate) taken: Mono,
}

/// One life of the registry: the change and the table at each revision.
#[derive(Debug)]
pub(crate) struct Life {
    epoch: u64,
    started: Mono,
    changes: Vec<(Key, Arc<Shown>)>,
    /// By revision; the first is empty.
    tables: Vec<Table>,
}

/// Tier 2 at one moment.
#[derive(Clone, Debug)]
pub(crate) struct View {
    /// Which cache-sync.
    pub(crate) cache: u64,
    pub(crate) at: Position,
    pub(crate) complete: bool,
    pub(crate) table: Table,
    pub(crate) delta: BTreeMap<Key, DeltaEntry>,
    pub(crate) taken: Mono,
}

/// The follow stream of the facade.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Follow {
    /// Counts streams.
    pub(crate) stream: u64,
    pub(crate) open: bool,
    /// The last watermark of this stream.
    pub(crate) mark: Option<(Position, bool)>,
    held_is_subscribed: bool,
    /// Whether all that the facade holds has been compared on this stream.
    pub(crate) level: bool,
}

#[derive(Debug)]
pub(crate) struct Oracle {
    clock: ManualClock,
    lives: Vec<Life>,
    /// All views of all lives of cache-sync, in the order in which they came to be.
    pub(crate) views: Vec<View>,
    cache: u64,
    at: Option<Position>,
    complete: bool,
    named: Option<HashSet<Key>>,
    table: Table,
    delta: BTreeMap<Key, DeltaEntry>,
    arriving: Option<(Position, bool)>,
    pub(crate) follow: Follow,
    /// Whether the facade may hold anything.
    pub(crate) may_hold: bool,
    /// Whether the facade has ever been told that the view is complete.
    pub(crate) was_complete: bool,
    /// What was last acknowledged to a writer.
    pub(crate) acknowledged: Option<Position>,
}

fn key_of(record: &Record) -> Key {
    let key = record.key();
    (key.app.as_str().to_owned(), key.id.as_str().to_owned())
}

fn revision(position: Position) -> usize {
    usize::try_from(position.revision.0).unwrap()
}

impl Oracle {
    pub(crate) fn new(clock: ManualClock) -> Self {
        Self {
            clock,
            lives: Vec::new(),
            views: Vec::new(),
            cache: 0,
            at: None,
            complete: false,
            named: None,
            table: Table::new(),
            delta: BTreeMap::new(),
            arriving: None,
            follow: Follow::default(),
            may_hold: false,
            was_complete: false,
            acknowledged: None,
        }
    }

    pub(crate) fn registry_started(&mut self, epoch: u64) {
        let started = self.clock.mono();
        self.lives.push(Life { epoch, started, changes: Vec::new(), tables: vec![Table::new()] });
    }

    /// A new cache-sync, which knows nothing.
    pub(crate) fn cache_started(&mut self) {
        self.cache += 1;
        (self.at, self.complete, self.named, self.arriving) = (None, false, None, None);
        self.table.clear();
        self.delta.clear();
    }

    fn life(&self) -> &Life {
        self.lives.last().unwrap()
    }

    /// What the registry holds now.
    pub(crate) fn present(&self) -> &Table {
        self.life().tables.last().unwrap()
    }

    fn publish(&mut self) {
        let Some(at) = self.at else { return };
        self.views.push(View {
            cache: self.cache,
            at,
            complete: self.complete,
            table: self.table.clone(),
            delta: self.delta.clone(),
            taken: self.clock.mono(),
        });
    }

    /// Which cache-sync runs.
    pub(crate) fn cache(&self) -> u64 {
        self.cache
    }

    /// Whether tier 2 has come to the present life of the registry, and this position is of it.
    pub(crate) fn is_of_present_life(&self, position: Position) -> bool {
        let epoch = self.life().epoch;
        position.epoch.0 == epoch && self.at.is_some_and(|at| at.epoch.0 == epoch)
    }

    // What the registry says to writers.

    /// `record` is what the registry holds afterwards. A registration may be acknowledged without any effect: the last word of
    /// a client that has just been cancelled.
    pub(crate) fn registered(&mut self, position: Position, record: Option<Record>) {
        self.acknowledged = Some(position);
        if revision(position) + 1 == self.life().tables.len() {
            return;
        }
        let record = record.unwrap();
        let key = key_of(&record);
        let mut table = self.present().clone();
        let shown = Shown::new(record);
        table.insert(key.clone(), Arc::clone(&shown));
        self.changed(position, key, shown, table);
    }

    pub(crate) fn cancelled(&mut self, position: Position, before: Option<Record>) {
        if let Some(before) = before {
            let shown = removed(&before, &self.clock);
            let key = key_of(&before);
            let mut table = self.present().clone();
            table.remove(&key).unwrap();
            self.changed(position, key, shown, table);
        }
        self.acknowledged = Some(position);
    }

    fn changed(&mut self, position: Position, key: Key, shown: Arc<Shown>, table: Table) {
        let life = self.lives.last_mut().unwrap();
        assert_eq!((position.epoch.0, revision(position)), (life.epoch, life.tables.len()), "revisions have no gaps");
        life.changes.push((key, shown));
        life.tables.push(table);
        self.acknowledged = Some(position);
    }

    // What goes over the watch.

    pub(crate) fn watch_opened(&mut self) {
        self.arriving = None;
    }

    pub(crate) fn watched(&mut self, step: &Step) {
        match step {
            Step::Start(start) => {
                let position = Position::from(start.position.unwrap());
                assert_eq!(position.epoch.0, self.life().epoch);
                if start.snapshot_follows {
                    self.arriving = Some((position, start.warm));
                } else {
                    assert_eq!(self.at, Some(position), "resumed where it was");
                    if start.warm {
                        self.warm();
                        self.publish();
                    }
                }
            }
            Step::Snapshot(_) => {}
            Step::SnapshotEnd(_) => {
                let (position, warm) = self.arriving.take().unwrap();
                self.snapshot(position, warm);
                self.publish();
            }
            Step::Changes(batch) => {
                let at = self.at.unwrap();
                assert_eq!(at.revision.0, batch.previous_revision, "no gap");
                let (from, to) = (revision(at), usize::try_from(batch.revision).unwrap());
                assert_eq!(batch.changes.len(), to - from, "all changes");
                let changes = self.life().changes[from..to].to_vec();
                for (key, shown) in changes {
                    self.take(key, shown);
                }
                self.at = Some(Position { revision: registry_model::Revision(batch.revision), ..at });
                self.publish();
            }
            Step::Warm(_) => {
                self.warm();
                self.publish();
            }
            Step::GateOpened(_) => {}
        }
    }

    fn put(&mut self, key: &Key, shown: &Arc<Shown>) {
        match shown.record.instance.action {
            ActionType::Added | ActionType::Modified => self.table.insert(key.clone(), Arc::clone(shown)),
            ActionType::Deleted => self.table.remove(key),
        };
    }

    fn take(&mut self, key: Key, shown: Arc<Shown>) {
        self.put(&key, &shown);
        if let Some(named) = &mut self.named {
            named.insert(key.clone());
        }
        self.delta.insert(key, DeltaEntry { shown, taken: self.clock.mono() });
    }

    fn snapshot(&mut self, position: Position, warm: bool) {
        let is_first = self.at.replace(position).is_none();
        let now = self.clock.mono();
        let snapshot = self.life().tables[revision(position)].clone();
        for (key, shown) in &snapshot {
            let differs = self.table.get(key).is_none_or(|held| held.record.instance != shown.record.instance);
            self.put(key, shown);
            if differs && !is_first {
                self.delta.insert(key.clone(), DeltaEntry { shown: Arc::clone(shown), taken: now });
            }
        }
        if is_first {
            let changes = self.life().changes[..revision(position)].to_vec();
            let unix = self.clock.unix();
            for (key, shown) in changes {
                // Every change stamps its instance.
                let age = unix.since(shown.record.instance.last_updated);
                self.delta.insert(key, DeltaEntry { shown, taken: now.saturating_sub(age) });
            }
        }
        self.named = Some(snapshot.into_keys().collect());
        if warm {
            self.warm();
        }
    }

    fn warm(&mut self) {
        assert!(self.is_warm_due(), "warm too early");
        self.complete = true;
        let Some(named) = self.named.take() else { return };
        let gone: Vec<Key> = self.table.keys().filter(|key| !named.contains(*key)).cloned().collect();
        for key in gone {
            let shown = removed(&self.table[&key].record, &self.clock);
            self.take(key, shown);
        }
        let same = self.table.keys().eq(self.life().tables[revision(self.at.unwrap())].keys());
        assert!(same, "the oracle itself: a warm view is the registry's");
    }

    fn is_warm_due(&self) -> bool {
        self.clock.mono().saturating_since(self.life().started) >= COLD_START
    }

    /// Whether tier 2 has nothing left to take from a registry that it reaches.
    pub(crate) fn is_view_level(&self) -> Result<(), String> {
        let life = self.life();
        let latest = life.tables.len() - 1;
        match self.at {
            Some(at) if at.epoch.0 == life.epoch && revision(at) == latest => {}
            other => return Err(format!("tier 2 is at {other:?}, the registry at {latest} of {}", life.epoch)),
        }
        if self.is_warm_due() && (self.named.is_some() || !self.complete) {
            return Err("the registry is warm, and tier 2 has not been told".to_owned());
        }
        Ok(())
    }

    /// Whether the facade, which has had all the time that it needs, has taken all from a cache-sync that it reaches.
    pub(crate) fn is_facade_level(&mut self) -> Result<(), String> {
        let expected = self.at.map(|at| (at, self.complete));
        if self.follow.open && self.follow.mark == expected {
            self.follow.level = expected.is_some();
            Ok(())
        } else {
            Err(format!("the facade is at {:?}, tier 2 at {expected:?}", self.follow))
        }
    }

    /// Whether the facade, once it follows a cache-sync that has a view, has told it all that it holds.
    pub(crate) fn is_held_compared(&self) -> Result<(), String> {
        if self.follow.mark.is_none() || self.follow.level || self.follow.held_is_subscribed {
            Ok(())
        } else {
            Err(format!("what the facade holds is not compared on its stream: {:?}", self.follow))
        }
    }

    // What goes over the follow stream.

    pub(crate) fn follow_opened(&mut self) -> u64 {
        let stream = self.follow.stream + 1;
        self.follow = Follow { stream, open: true, held_is_subscribed: !self.may_hold, ..Follow::default() };
        stream
    }

    pub(crate) fn follow_ended(&mut self, stream: u64) {
        if self.follow.stream == stream {
            self.follow = Follow { stream, ..Follow::default() };
        }
    }

    pub(crate) fn follow_is_cut(&mut self) {
        self.follow_ended(self.follow.stream);
    }

    pub(crate) fn watermark(&mut self, stream: u64, watermark: &Watermark) {
        if self.follow.stream == stream && self.follow.open {
            self.follow.mark = Some((watermark.position.unwrap().into(), watermark.complete));
            self.follow.level |= self.follow.held_is_subscribed;
            self.was_complete |= watermark.complete;
        }
    }

    pub(crate) fn held_is_subscribed(&mut self) {
        self.follow.held_is_subscribed = true;
    }
}

fn removed(before: &Record, clock: &ManualClock) -> Arc<Shown> {
    let now = clock.unix();
    let instance = InstanceInfo { action: ActionType::Deleted, last_updated: now, ..(*before.instance).clone() };
    Shown::new(Record { instance: Arc::new(instance), lease: LeaseTimes { evicted: now, ..before.lease } })
}
