//! The relay as its watchers meet it: when it watches registry-core, and what they see of that.

use crate::{
    tests::{Bench, fakes},
    watch_relay::{CATCH_UP, LINGER, LONGEST_DELAY},
};
use futures::{FutureExt as _, StreamExt as _};
use registry_model::{Change, Revision, UnixMillis};
use registry_proto::{
    BoxStream,
    registry::{
        ChangeBatch, ResumeToken, SnapshotEnd, SnapshotPart, WatchRequest, WatchResponse, WatchStart,
        registry_service_server::RegistryService as _, watch_response::Step,
    },
};
use std::time::Duration;
use testkit::{eventually, instances::record};
use tokio::sync::mpsc;
use tonic::{Code, Request, Status};

/// The registry's end of a watch.
struct Line(mpsc::Sender<Result<WatchResponse, Status>>);

impl Line {
    fn says(&self, step: Step) {
        self.0.try_send(Ok(WatchResponse { step: Some(step) })).unwrap();
    }

    /// A snapshot of one instance.
    fn snapshot(&self, epoch: u64, revision: u64) {
        self.starts(epoch, revision, true);
        let records = vec![record("A", &format!("e{epoch}")).into()];
        self.says(Step::Snapshot(SnapshotPart { records, recent: Vec::new() }));
        self.says(Step::SnapshotEnd(SnapshotEnd::default()));
    }

    fn starts(&self, epoch: u64, revision: u64, snapshot_follows: bool) {
        let position = Some(fakes::at(epoch, revision).into());
        let (warm_since, open_since) = (Some(2), Some(3));
        let gate_closed = false;
        let start = WatchStart { node: 7, position, snapshot_follows, warm: true, gate_closed, warm_since, open_since };
        self.says(Step::Start(start));
    }

    fn change(&self, previous: u64) {
        self.changes(previous, UnixMillis(1));
    }

    /// One change, made at this time by the registry's clock.
    fn changes(&self, previous: u64, at: UnixMillis) {
        let changes = vec![change(previous + 1, at)];
        self.says(Step::Changes(ChangeBatch { previous_revision: previous, revision: previous + 1, changes }));
    }
}

fn change<C: From<Change>>(revision: u64, at: UnixMillis) -> C {
    Change { revision: Revision(revision), at, record: record("A", "n") }.into()
}

/// What a watcher is told of [`Line::snapshot`] at 1/5.
const SNAPSHOT: [&str; 3] = ["start 1/5 true", "records 1", "end"];

impl Bench {
    /// A facade whose first watch of the registry will be the line.
    fn with_line() -> (Self, Line) {
        let bench = Self::new(&[]);
        let line = bench.line();
        (bench, line)
    }

    /// The same with a watcher, which has been told the snapshot at 1/5.
    async fn with_watcher() -> (Self, Line, BoxStream<WatchResponse>) {
        let (bench, line) = Self::with_line();
        let mut stream = bench.watches(None).await;
        line.snapshot(1, 5);
        assert_eq!(told(&mut stream, 3).await, SNAPSHOT);
        (bench, line, stream)
    }

    /// The next watch of the registry will be this.
    fn line(&self) -> Line {
        let (to, mut messages) = mpsc::channel(64);
        let stream: BoxStream<WatchResponse> = Box::pin(futures::stream::poll_fn(move |cx| messages.poll_recv(cx)));
        self.registry.watches.lock().push_back(stream);
        Line(to)
    }

    async fn watches(&self, resume: Option<ResumeToken>) -> BoxStream<WatchResponse> {
        let service = crate::PublicRegistry::of(&self.facade);
        service.watch(Request::new(WatchRequest { resume, recent_ms: 0 })).await.unwrap().into_inner()
    }

    /// The relay tries again, and is given this.
    fn line_again(&self) -> Line {
        let line = self.line();
        self.clock.advance(Duration::from_secs(1));
        line
    }

    async fn has_noticed(&self) {
        eventually("it has noticed", || self.facade.watches.held.lock().away.is_some()).await;
    }

    /// The relay has nobody to tell, and waits beside these sleepers for somebody to come.
    async fn lingers(&self, sleepers: usize) {
        eventually("the relay waits", || self.clock.sleepers() == sleepers + 1).await;
    }

    /// How often the registry has been asked for a watch.
    fn asked(&self) -> usize {
        self.registry.watched.lock().len()
    }
}

fn token(epoch: u64, revision: u64) -> Option<ResumeToken> {
    Some(ResumeToken { node: 7, position: Some(fakes::at(epoch, revision).into()) })
}

/// The next steps, in short.
async fn told(stream: &mut BoxStream<WatchResponse>, count: usize) -> Vec<String> {
    let mut told = Vec::new();
    for _ in 0..count {
        told.push(match stream.next().await.unwrap().unwrap().step.unwrap() {
            Step::Start(start) => {
                let position = start.position.unwrap();
                format!("start {}/{} {}", position.epoch, position.revision, start.snapshot_follows)
            }
            Step::Snapshot(part) => format!("records {}", part.records.len()),
            Step::SnapshotEnd(_) => "end".to_owned(),
            Step::Changes(batch) => format!("changes {}..{}", batch.previous_revision, batch.revision),
            Step::Warm(_) => "warm".to_owned(),
            Step::GateOpened(_) => "open".to_owned(),
        });
    }
    told
}

fn is_silent(stream: &mut BoxStream<WatchResponse>) -> bool {
    stream.next().now_or_never().is_none()
}

#[tokio::test]
async fn a_thousand_watchers_share_one_watch_of_the_registry() {
    let (bench, line) = Bench::with_line();
    let mut streams = Vec::new();
    for _ in 0..1000 {
        streams.push(bench.watches(None).await);
    }
    line.snapshot(1, 5);
    for stream in &mut streams {
        assert_eq!(told(stream, 3).await, SNAPSHOT);
    }
    line.change(5);
    for stream in &mut streams {
        assert_eq!(told(stream, 1).await, ["changes 5..6"]);
        assert!(is_silent(stream));
    }
    // Who was there before goes on without a snapshot.
    assert_eq!(told(&mut bench.watches(token(1, 5)).await, 2).await, ["start 1/5 false", "changes 5..6"]);
    assert_eq!(bench.asked(), 1);
}

#[tokio::test]
async fn a_lost_watch_is_resumed_and_its_watchers_stay() {
    let (bench, line, mut stream) = Bench::with_watcher().await;
    drop(line);
    bench.has_noticed().await;

    // Meanwhile what is held is told.
    assert_eq!(told(&mut bench.watches(None).await, 3).await, SNAPSHOT);
    let mut ahead = bench.watches(token(1, 6)).await;
    assert_eq!(ahead.next().await.unwrap().unwrap_err().code(), Code::Unavailable, "another facade may know more");

    let line = bench.line_again();
    line.starts(1, 5, false);
    line.change(5);
    assert_eq!(told(&mut stream, 1).await, ["changes 5..6"]);
    let asked: Vec<_> = bench.registry.watched.lock().iter().map(|request| request.resume).collect();
    assert_eq!(asked, [None, token(1, 5)]);

    // Another life, or a gap: everybody gets the snapshot.
    drop(line);
    bench.has_noticed().await;
    let line = bench.line_again();
    line.snapshot(2, 1);
    assert_eq!(told(&mut stream, 3).await, ["start 2/1 true", "records 1", "end"]);
    line.change(1);
    assert_eq!(told(&mut stream, 1).await, ["changes 1..2"]);
}

#[tokio::test]
async fn what_does_not_fit_is_asked_for_again_and_never_told() {
    let (bench, line, mut stream) = Bench::with_watcher().await;
    line.change(6);
    bench.has_noticed().await;
    assert!(is_silent(&mut stream));
    let line = bench.line_again();
    line.starts(1, 5, false);
    line.change(5);
    assert_eq!(told(&mut stream, 1).await, ["changes 5..6"]);
}

#[tokio::test]
async fn without_a_registry_a_first_watcher_is_refused() {
    let bench = Bench::new(&[]);
    let mut stream = bench.watches(None).await;
    assert_eq!(stream.next().await.unwrap().unwrap_err().code(), Code::Unavailable);
    assert!(stream.next().await.is_none());
}

#[tokio::test]
async fn a_watcher_that_is_ahead_waits_but_not_for_ever() {
    let (bench, line) = Bench::with_line();
    let mut ahead = bench.watches(token(1, 6)).await;
    let mut nonsense = bench.watches(token(1, 99)).await;
    line.snapshot(1, 5);
    let mut third = bench.watches(None).await;
    told(&mut third, 3).await;
    assert!(is_silent(&mut ahead) && is_silent(&mut nonsense));
    line.change(5);
    assert_eq!(told(&mut ahead, 1).await, ["start 1/6 false"]);
    assert!(is_silent(&mut nonsense));
    bench.clock.advance(CATCH_UP);
    assert_eq!(told(&mut nonsense, 1).await, ["start 1/6 true"]);
}

#[tokio::test]
async fn the_watch_of_the_registry_outlives_its_last_watcher_for_a_while() {
    let (bench, line, stream) = Bench::with_watcher().await;
    let sleepers = bench.clock.sleepers();
    drop(stream);
    bench.lingers(sleepers).await;
    bench.clock.advance(LINGER - Duration::from_millis(1));
    let mut stream = bench.watches(token(1, 5)).await;
    assert_eq!(told(&mut stream, 1).await, ["start 1/5 false"]);
    eventually("it does not wait any more", || bench.clock.sleepers() == sleepers).await;

    drop(stream);
    bench.lingers(sleepers).await;
    bench.clock.advance(LINGER);
    eventually("it is closed", || line.0.is_closed() && !bench.facade.watches.held.lock().running).await;
    assert!(bench.facade.watches.held.lock().history.is_none());

    let line = bench.line();
    let mut stream = bench.watches(token(1, 5)).await;
    line.snapshot(1, 6);
    assert_eq!(told(&mut stream, 1).await, ["start 1/6 true"]);
    assert_eq!(bench.asked(), 2);
}

#[tokio::test]
async fn watches_end_when_the_process_stops() {
    let (bench, _line, mut stream) = Bench::with_watcher().await;
    bench.process.stop().await;
    assert!(stream.next().await.is_none());
    let text = bench.process.metrics().encode();
    assert!(text.contains("heureka_facade_watches_ended_total 1") && text.contains("registry_watch_breaks_total 0"));
}

#[tokio::test]
async fn a_relay_without_watchers_ends_though_the_registry_is_away() {
    let (bench, line, stream) = Bench::with_watcher().await;
    drop((line, stream));
    bench.has_noticed().await;
    let relay = &bench.facade.watches;
    let mut passed = Duration::ZERO;
    while passed <= LINGER {
        let asked = bench.asked();
        bench.clock.advance(LONGEST_DELAY);
        passed += LONGEST_DELAY;
        eventually("it has tried again", || bench.asked() > asked || !relay.held.lock().running).await;
    }
    let held = relay.held.lock();
    assert!(!held.running && held.history.is_none());
}

#[tokio::test]
async fn a_watcher_that_is_ahead_does_not_wait_for_ever_where_there_is_always_a_change() {
    let (bench, line) = Bench::with_line();
    let mut nonsense = bench.watches(token(1, 999)).await;
    let mut other = bench.watches(None).await;
    line.snapshot(1, 5);
    told(&mut other, 3).await;
    for revision in 5..15 {
        if let Some(step) = nonsense.next().now_or_never() {
            assert!(matches!(step, Some(Ok(WatchResponse { step: Some(Step::Start(_)) }))));
            return;
        }
        line.change(revision);
        told(&mut other, 1).await;
        bench.clock.advance(CATCH_UP / 5);
    }
    panic!("it still waits");
}

#[tokio::test]
async fn what_never_fits_is_asked_for_ever_more_rarely() {
    let (bench, line, _stream) = Bench::with_watcher().await;
    line.change(6);
    let breaks = || bench.facade.watches.metrics.breaks.get();
    for round in 1..10 {
        eventually("it has broken", || breaks() == round).await;
        let line = bench.line();
        line.starts(1, 5, false);
        line.change(6);
        bench.clock.advance(LONGEST_DELAY);
    }
    eventually("it has broken", || breaks() == 10).await;
    let asked = bench.asked();
    bench.clock.advance(Duration::from_secs(2));
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
    assert_eq!(bench.asked(), asked);
}

#[tokio::test]
async fn who_asks_for_no_recent_changes_is_sent_none_though_the_registrys_clock_is_ahead() {
    let (bench, line, mut first) = Bench::with_watcher().await;
    line.changes(5, UnixMillis(i64::MAX - 1));
    told(&mut first, 1).await;
    drop(first);
    let mut stream = bench.watches(None).await;
    // Not the snapshot at 5, which nobody reads any more.
    assert_eq!(told(&mut stream, 3).await, ["start 1/6 true", "records 2", "end"]);
}

#[tokio::test]
async fn who_goes_on_from_before_the_relays_snapshot_is_not_told_that_a_gate_is_closed_that_was_open() {
    for (revision, told) in [(1, (false, true)), (2, (true, true)), (3, (true, false)), (4, (true, false))] {
        let (bench, line) = Bench::with_line();
        let mut stream = bench.watches(token(1, revision)).await;
        line.starts(1, 5, true);
        let recent = (2..=5).map(|revision| change(revision, UnixMillis(1))).collect();
        line.says(Step::Snapshot(SnapshotPart { records: vec![record("A", "n").into()], recent }));
        line.says(Step::SnapshotEnd(SnapshotEnd::default()));
        let Step::Start(start) = stream.next().await.unwrap().unwrap().step.unwrap() else { panic!("no start") };
        assert!(!start.snapshot_follows);
        assert_eq!((start.warm, start.gate_closed), told, "at {revision}");
    }
}
