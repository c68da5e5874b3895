//! A watcher that applies what it is sent always ends with what the registry holds.

use super::*;
use crate::{Life, config, metrics::Metrics};
use futures::{FutureExt, StreamExt};
use proptest::prelude::*;
use prost::Message;
use registry_model::{ActionType, Clock, Epoch, InstanceInfo, InstanceKey, Metadata, Origin, UnixMillis};
use registry_proto::{IntoModel, registry::SnapshotEnd};
use std::collections::BTreeMap;
use testkit::{ManualClock, eventually, instances::instance};

const LIFE: Life = Life { node: NodeId(7), epoch: Epoch(9) };

fn registry(capacity: usize, clock: &ManualClock) -> Arc<Registry> {
    let config = config::tests::parsed(&["--change-log-capacity", &capacity.to_string()]).unwrap();
    Arc::new(Registry::new(LIFE, &config, Arc::new(clock.clone()), Metrics::default()))
}

fn register(registry: &Registry, ids: std::ops::Range<usize>) {
    for id in ids {
        registry.register(Arc::new(instance("A", &format!("n{id}"))), Origin::Client);
    }
}

fn token(revision: u64) -> ResumeToken {
    ResumeToken { node: 7, position: Some(types::Position { epoch: 9, revision }) }
}

fn from(resume: Option<ResumeToken>) -> WatchRequest {
    WatchRequest { resume, recent_ms: 0 }
}

type View = BTreeMap<InstanceKey, Arc<InstanceInfo>>;

fn held(registry: &Registry) -> View {
    registry
        .snapshot(Duration::ZERO)
        .leases
        .iter()
        .map(|entry| (entry.instance().key.clone(), Arc::clone(entry.instance())))
        .collect()
}

/// A watcher of one registry; what it knows survives its streams.
struct Follower {
    registry: Arc<Registry>,
    stream: BoxStream<WatchResponse>,
    view: View,
    revision: Option<u64>,
    /// Of the present stream.
    told_warm: bool,
    /// Of the present stream: whether it has been told that lists may be served.
    told_open: bool,
    recent: Vec<u64>,
    recent_since: i64,
    parts: Vec<usize>,
    snapshots: usize,
    /// Whether the present stream has said where it starts.
    started: bool,
    /// Between the start of a snapshot and its end.
    in_snapshot: bool,
}

impl Follower {
    fn new(registry: &Arc<Registry>, request: &WatchRequest) -> Self {
        Self {
            stream: stream(registry, request, CancellationToken::new()),
            registry: Arc::clone(registry),
            view: View::new(),
            revision: None,
            told_warm: false,
            told_open: false,
            recent: Vec::new(),
            recent_since: 0,
            parts: Vec::new(),
            snapshots: 0,
            started: false,
            in_snapshot: false,
        }
    }

    /// Opens the stream anew with this token.
    fn reconnect(&mut self, resume: Option<ResumeToken>) {
        self.stream = stream(&self.registry, &from(resume), CancellationToken::new());
        self.revision = resume.and_then(|resume| resume.position).map(|position| position.revision);
        self.started = false;
        self.told_warm = false;
        self.told_open = false;
        self.in_snapshot = false;
    }

    fn is_level(&self) -> bool {
        let level = self.registry.hub().level();
        self.started
            && !self.in_snapshot
            && self.revision == Some(level.latest.0)
            && self.told_warm == level.warm_since.is_some()
            && self.told_open == level.open_since.is_some()
    }

    async fn step(&mut self) {
        match self.stream.next().await.unwrap().unwrap().step.unwrap() {
            Step::Start(start) => {
                let position = start.position.unwrap();
                assert_eq!((start.node, position.epoch), (7, 9));
                assert!(start.warm || !self.told_warm, "a registry that has been warm stays so");
                self.told_warm = start.warm;
                self.told_open = !start.gate_closed;
                self.started = true;
                if start.snapshot_follows {
                    self.view.clear();
                    self.snapshots += 1;
                    self.in_snapshot = true;
                } else {
                    assert_eq!(self.revision, Some(position.revision), "resumed where it was asked to");
                }
                self.revision = Some(position.revision);
            }
            Step::Snapshot(part) => {
                assert!(self.in_snapshot);
                self.parts.push(part.records.len());
                for record in part.records {
                    let record = record.into_model().unwrap();
                    assert_ne!(record.instance.action, ActionType::Deleted);
                    assert!(self.view.insert(record.key().clone(), record.instance).is_none(), "sent twice");
                }
                self.recent.extend(part.recent.iter().map(|change| change.revision));
            }
            Step::SnapshotEnd(SnapshotEnd { recent_since_ms }) => {
                assert!(std::mem::take(&mut self.in_snapshot));
                self.recent_since = recent_since_ms;
            }
            Step::Changes(batch) => {
                assert!(!self.in_snapshot && batch.changes.len() <= 512);
                assert_eq!(self.revision, Some(batch.previous_revision));
                for (change, revision) in batch.changes.into_iter().zip(batch.previous_revision + 1..) {
                    assert_eq!(change.revision, revision);
                    self.apply(change.into_model().unwrap().record);
                    self.revision = Some(revision);
                }
                assert_eq!(self.revision, Some(batch.revision));
            }
            Step::Warm(_) => {
                assert!(!std::mem::replace(&mut self.told_warm, true), "told twice");
                let since = self.registry.hub().level().warm_since.unwrap();
                assert!(self.revision >= Some(since.0), "told before the changes that precede it");
            }
            Step::GateOpened(_) => {
                assert!(!std::mem::replace(&mut self.told_open, true), "told twice");
                let since = self.registry.hub().level().open_since.unwrap();
                assert!(self.revision >= Some(since.0), "told before the changes that precede it");
            }
        }
    }

    fn apply(&mut self, record: registry_model::Record) {
        match record.instance.action {
            ActionType::Deleted => assert!(self.view.remove(record.key()).is_some()),
            ActionType::Added | ActionType::Modified => {
                self.view.insert(record.key().clone(), record.instance);
            }
        }
    }

    async fn catch_up(&mut self) {
        while !self.is_level() {
            self.step().await;
        }
        assert_eq!(self.view, held(&self.registry));
        tokio::time::advance(COALESCE).await;
        assert!(self.stream.next().now_or_never().is_none(), "there is nothing more to say");
    }
}

#[tokio::test(start_paused = true)]
async fn a_new_watcher_gets_a_snapshot_and_then_every_change() {
    let registry = registry(100, &ManualClock::new());
    register(&registry, 0..5);
    let mut follower = Follower::new(&registry, &from(None));
    follower.catch_up().await;
    assert_eq!((follower.snapshots, follower.parts.as_slice()), (1, [5].as_slice()));
    register(&registry, 3..8);
    registry.cancel("a", "n0");
    follower.catch_up().await;
    assert_eq!((follower.snapshots, follower.revision), (1, Some(11)));
}

#[tokio::test(start_paused = true)]
async fn a_waiting_watcher_is_woken_by_a_change() {
    let registry = registry(100, &ManualClock::new());
    let mut follower = Follower::new(&registry, &from(None));
    follower.catch_up().await;
    let waiting = tokio::spawn(async move {
        follower.step().await;
        follower.revision
    });
    tokio::task::yield_now().await;
    register(&registry, 0..1);
    assert_eq!(waiting.await.unwrap(), Some(1));
}

#[tokio::test(start_paused = true)]
async fn a_lone_change_leaves_at_once_and_what_follows_it_goes_together() {
    let registry = registry(100, &ManualClock::new());
    let mut follower = Follower::new(&registry, &from(None));
    follower.catch_up().await;
    register(&registry, 0..1);
    let lone = follower.stream.next().now_or_never();
    assert!(matches!(lone.unwrap().unwrap().unwrap().step, Some(Step::Changes(batch)) if batch.revision == 1));
    register(&registry, 1..2);
    assert!(follower.stream.next().now_or_never().is_none());
    register(&registry, 2..9);
    tokio::time::advance(COALESCE).await;
    let rest = follower.stream.next().now_or_never();
    assert!(matches!(rest.unwrap().unwrap().unwrap().step, Some(Step::Changes(batch)) if batch.revision == 9));
}

#[tokio::test(start_paused = true)]
async fn a_token_of_this_life_within_the_log_resumes_and_any_other_gets_a_snapshot() {
    let registry = registry(4, &ManualClock::new());
    register(&registry, 0..10);
    let other_node = ResumeToken { node: 8, ..token(8) };
    let other_epoch = ResumeToken { node: 7, position: Some(types::Position { epoch: 8, revision: 8 }) };
    let table = [
        (Some(token(6)), true),
        (Some(token(10)), true),
        (Some(token(5)), false),
        (Some(token(11)), false),
        (Some(token(u64::MAX)), false),
        (Some(other_node), false),
        (Some(other_epoch), false),
        (Some(ResumeToken { node: 7, position: None }), false),
        (None, false),
    ];
    for (resume, resumes) in table {
        let mut stream = stream(&registry, &from(resume), CancellationToken::new());
        let Some(Step::Start(start)) = stream.next().await.unwrap().unwrap().step else {
            panic!("a start comes first")
        };
        assert_eq!(start.snapshot_follows, !resumes, "{resume:?}");
        if resumes {
            assert_eq!(start.position, resume.unwrap().position);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_watcher_that_falls_out_of_the_log_starts_over() {
    let registry = registry(4, &ManualClock::new());
    let mut follower = Follower::new(&registry, &from(None));
    follower.catch_up().await;
    register(&registry, 0..4);
    follower.catch_up().await;
    assert_eq!(follower.snapshots, 1);
    register(&registry, 0..5);
    follower.catch_up().await;
    assert_eq!(follower.snapshots, 2);
}

#[tokio::test(start_paused = true)]
async fn large_snapshots_come_in_bounded_parts_and_changes_in_bounded_batches() {
    let registry = registry(3000, &ManualClock::new());
    let mut changes = Follower::new(&registry, &from(None));
    changes.catch_up().await;
    register(&registry, 0..2500);
    changes.catch_up().await;
    let mut snapshot = Follower::new(&registry, &from(None));
    snapshot.catch_up().await;
    assert_eq!(snapshot.parts, [1000, 1000, 500]);
}

#[tokio::test(start_paused = true)]
async fn no_message_is_longer_than_its_bound_however_large_the_instances() {
    let registry = registry(3000, &ManualClock::new());
    let large = |id: usize| InstanceInfo {
        metadata: Metadata::default().with("blob", &"x".repeat(50_000 + id * 1000)),
        ..instance("A", &format!("n{id}"))
    };
    for id in 0..100 {
        registry.register(Arc::new(large(id)), Origin::Client);
    }
    for resume in [None, Some(token(0))] {
        let request = WatchRequest { resume, recent_ms: 1000 };
        let mut stream = stream(&registry, &request, CancellationToken::new());
        let (mut seen, mut longest) = (0, 0);
        while seen < 100 {
            let message = stream.next().await.unwrap().unwrap();
            longest = longest.max(message.encoded_len());
            match message.step.unwrap() {
                Step::Snapshot(part) => seen += part.records.len(),
                Step::Changes(batch) => seen += batch.changes.len(),
                Step::Start(_) | Step::SnapshotEnd(_) | Step::Warm(_) | Step::GateOpened(_) => {}
            }
        }
        assert!(longest > 500_000 && longest < 1 << 20, "{longest} bytes");
    }
}

#[tokio::test(start_paused = true)]
async fn recent_changes_come_with_the_snapshot_and_say_since_when_they_are_complete() {
    let clock = ManualClock::new();
    let registry = registry(4, &clock);
    register(&registry, 0..3);
    clock.advance(Duration::from_secs(100));
    let late = clock.unix();
    register(&registry, 3..6);
    // The log holds revisions 3 to 6 now, the first of them from before the jump.
    for (recent_ms, recent, since) in
        [(0, vec![], 0), (50_000, vec![4, 5, 6], late.0 - 50_000), (500_000, vec![3, 4, 5, 6], late.0 - 100_000 + 1)]
    {
        let mut follower = Follower::new(&registry, &WatchRequest { resume: None, recent_ms });
        follower.catch_up().await;
        assert_eq!((follower.recent, follower.recent_since), (recent, since), "{recent_ms} ms");
    }
}

#[tokio::test(start_paused = true)]
async fn each_stream_is_told_once_that_the_registry_is_warm() {
    let registry = registry(100, &ManualClock::new());
    register(&registry, 0..2);
    let mut early = Follower::new(&registry, &from(None));
    early.catch_up().await;
    assert!(!early.told_warm);
    register(&registry, 2..4);
    registry.become_warm();
    register(&registry, 4..6);
    registry.become_warm();
    early.catch_up().await;
    assert!(early.told_warm);

    // (resumed at, whether the start says it): the registry became warm at 4.
    for (at, at_once) in [(2, false), (3, false), (4, true), (6, true)] {
        let mut resumed = Follower::new(&registry, &from(Some(token(at))));
        resumed.revision = Some(at);
        resumed.step().await;
        assert_eq!(resumed.told_warm, at_once, "resumed at {at}");
        while !resumed.is_level() {
            resumed.revision.unwrap();
            match resumed.stream.next().await.unwrap().unwrap().step.unwrap() {
                Step::Changes(batch) => resumed.revision = Some(batch.revision),
                Step::Warm(_) => assert!(!std::mem::replace(&mut resumed.told_warm, true)),
                other => panic!("{other:?}"),
            }
        }
    }
    let mut late = Follower::new(&registry, &from(None));
    late.step().await;
    assert!(late.told_warm);
    late.catch_up().await;
}

#[tokio::test(start_paused = true)]
async fn stopping_ends_watches_that_wait_and_watches_that_are_busy() {
    let registry = registry(100, &ManualClock::new());
    register(&registry, 0..2);
    let stopping = CancellationToken::new();
    let mut waiting = stream(&registry, &from(Some(token(2))), stopping.clone());
    let mut busy = stream(&registry, &from(None), stopping.clone());
    assert!(waiting.next().await.is_some());
    assert!(busy.next().await.is_some());
    let waiting = tokio::spawn(async move { waiting.next().await.is_none() });
    tokio::task::yield_now().await;
    stopping.cancel();
    assert!(waiting.await.unwrap());
    assert!(busy.next().await.is_none());
    drop(busy);
    let metrics = registry.metrics();
    eventually("both have ended", || metrics.watches_ended.get() == metrics.watches_started.get()).await;
}

#[derive(Clone, Debug)]
enum Act {
    Register(usize, i64),
    Cancel(usize),
    Steps(usize),
    Warm,
    OpenGate,
    Reconnect(Resume),
}

#[derive(Clone, Copy, Debug)]
enum Resume {
    Last,
    /// As a watcher that has forgotten everything.
    Nothing,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        6 => (0..8_usize, 0..4_i64).prop_map(|(id, dirty)| Act::Register(id, dirty)),
        3 => (0..8_usize).prop_map(Act::Cancel),
        4 => (1..4_usize).prop_map(Act::Steps),
        1 => Just(Act::Warm),
        1 => Just(Act::OpenGate),
        2 => prop::sample::select(vec![Resume::Last, Resume::Last, Resume::Nothing]).prop_map(Act::Reconnect),
    ]
}

proptest! {
    #[test]
    fn a_follower_always_ends_with_what_the_registry_holds(capacity in 1..6_usize, acts in prop::collection::vec(act(), 1..80)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let registry = registry(capacity, &ManualClock::new());
            let mut follower = Follower::new(&registry, &from(None));
            for act in acts {
                match act {
                    Act::Register(id, dirty) => {
                        let instance = InstanceInfo { last_dirty: UnixMillis(dirty), ..instance("A", &format!("n{id}")) };
                        registry.register(Arc::new(instance), Origin::Client);
                    }
                    Act::Cancel(id) => drop(registry.cancel("A", &format!("n{id}"))),
                    Act::Warm => registry.become_warm(),
                    Act::OpenGate => registry.open_gate(),
                    Act::Steps(count) => {
                        for _ in 0..count {
                            if !follower.is_level() {
                                follower.step().await;
                            }
                        }
                    }
                    Act::Reconnect(resume) => {
                        // A snapshot that broke off is worth nothing.
                        let known = follower.revision.filter(|_| !follower.in_snapshot);
                        let resume = match resume {
                            Resume::Last => known.map(token),
                            Resume::Nothing => None,
                        };
                        follower.reconnect(resume);
                    }
                }
            }
            follower.catch_up().await;
        });
    }
}
