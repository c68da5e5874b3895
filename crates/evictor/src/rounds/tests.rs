//! Rounds against leases that are not really there, on a manual clock.

use super::*;
use crate::ShareLimit;
use parking_lot::Mutex;
use registry_model::{ExpiredLease, LeaseReport, RenewalPercentThreshold, RenewalStamp};
use testkit::{ManualClock, eventually, instances::key};

#[test]
fn srv_67_the_compensation_is_what_a_round_is_late_by_in_whole_milliseconds() {
    let minute = Duration::from_secs(60);
    let mut lateness = Lateness::new(minute);
    let start = Mono::from_nanos(1);
    let late = start + minute * 2 + Duration::from_millis(10);
    let early = Mono::from_nanos((start + minute * 3).as_nanos() - 1);
    let compensations = [start, start + minute, late, early].map(|now| lateness.begin(now).as_millis());
    assert_eq!(compensations, [0, 0, 10, 0]);
}

/// What was asked for.
#[derive(Clone, Debug, PartialEq)]
enum Call {
    Report { extra_ms: u128 },
    Evict(usize),
}

#[derive(Clone, Default)]
struct Fake {
    calls: Arc<Mutex<Vec<Call>>>,
    report: Arc<Mutex<Option<LeaseReport>>>,
}

#[tonic::async_trait]
impl Leases for Fake {
    async fn report(&self, extra: Duration) -> Result<LeaseReport, Status> {
        self.calls.lock().push(Call::Report { extra_ms: extra.as_millis() });
        self.report.lock().clone().ok_or_else(|| Status::unavailable("not now"))
    }

    async fn evict(&self, leases: Vec<ExpiredLease>) -> Result<u64, Status> {
        self.calls.lock().push(Call::Evict(leases.len()));
        Ok(leases.len() as u64)
    }
}

struct Case {
    fake: Fake,
    clock: ManualClock,
    rounds: Arc<Rounds<Fake>>,
    process: ProcessHandle,
}

impl Case {
    fn start(interval_secs: u64) -> Self {
        let clock = ManualClock::new();
        let process = ProcessHandle::detached("evictor", Arc::new(clock.clone()));
        let fake = Fake::default();
        let interval = Duration::from_secs(interval_secs);
        let rounds = Arc::new(Rounds {
            interval,
            policy: EvictionPolicy {
                share: RenewalPercentThreshold::DEFAULT,
                limit: ShareLimit::for_rounds_every(interval),
            },
            registry: fake.clone(),
            switch: Arc::default(),
            metrics: Arc::new(process.metrics().register(Metrics::new)),
        });
        let (running, handle) = (Arc::clone(&rounds), process.clone());
        process.spawn("rounds", async move {
            running.run(&handle).await;
            Ok(())
        });
        Self { fake, clock, rounds, process }
    }

    fn expired(&self, count: usize, leases: u64) {
        let expired = (0..count)
            .map(|place| ExpiredLease { key: key("A", &format!("i{place}")), stamp: RenewalStamp(1), given_up: false })
            .collect();
        let report = LeaseReport { leases, expired, expiration_enabled: true, ..LeaseReport::default() };
        *self.fake.report.lock() = Some(report);
    }

    /// Moves on once the loop sleeps; returns what it called since.
    async fn after(&self, seconds: u64) -> Vec<Call> {
        eventually("the loop sleeps", || self.clock.sleepers() == 1).await;
        self.fake.calls.lock().clear();
        self.clock.advance(Duration::from_secs(seconds));
        eventually("the loop sleeps again", || self.clock.sleepers() == 1).await;
        self.fake.calls.lock().clone()
    }
}

#[tokio::test]
async fn srv_68_69_rounds_are_counted_from_the_last_one_and_a_late_one_gives_more_time() {
    let case = Case::start(60);
    case.expired(0, 0);
    assert_eq!(case.after(59).await, []);
    assert_eq!(case.after(1).await, [Call::Report { extra_ms: 0 }]);
    assert_eq!(case.after(80).await, [Call::Report { extra_ms: 20_000 }]);
    assert_eq!(case.after(59).await, []);
    assert_eq!(case.after(1).await, [Call::Report { extra_ms: 0 }]);
}

#[tokio::test]
async fn a_round_evicts_what_the_plan_says_in_bounded_calls() {
    let case = Case::start(1);
    case.expired(2000, 4000);
    let calls = case.after(1).await;
    assert_eq!(calls, [Call::Report { extra_ms: 0 }, Call::Evict(500), Call::Evict(100)]);
    let metrics = case.process.metrics().encode();
    for line in ["evicted_total 600", "expired 2000", "rounds_total 1", "interval_seconds 1.0"] {
        assert!(metrics.contains(&format!("heureka_evictor_{line}\n")), "{line} in {metrics}");
    }
}

#[tokio::test]
async fn rounds_survive_a_registry_that_does_not_answer() {
    let case = Case::start(1);
    assert_eq!(case.after(1).await, [Call::Report { extra_ms: 0 }]);
    case.expired(1, 1);
    assert_eq!(case.after(1).await, [Call::Report { extra_ms: 0 }, Call::Evict(1)]);
    assert_eq!(case.rounds.metrics.rounds_failed.get(), 1);
}

#[tokio::test]
async fn suspended_rounds_do_nothing_until_they_are_resumed() {
    let case = Case::start(1);
    case.expired(1, 1);
    case.rounds.switch.suspend();
    assert_eq!(case.after(1).await, []);
    case.rounds.switch.resume();
    assert_eq!(case.after(1).await.len(), 2);
    case.process.stop().await;
    assert_eq!(case.process.failure(), None);
}
