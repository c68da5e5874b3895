use super::*;
use crate::tests::fakes::FakeRegistry;
use futures::FutureExt;
use service_runtime::SharedClock;
use testkit::{ManualClock, eventually};
use tonic::Code;

struct Bench {
    process: ProcessHandle,
    registry: Arc<FakeRegistry>,
    renewals: Arc<Renewals>,
}

fn bench() -> Bench {
    let clock: SharedClock = Arc::new(ManualClock::new());
    let process = ProcessHandle::detached("test", clock);
    let registry = Arc::new(FakeRegistry::default());
    let metrics = Arc::new(Metrics::new(process.metrics()));
    let renewals = Arc::new(Renewals::batched(registry.clone(), metrics, &process));
    Bench { process, registry, renewals }
}

type Answer = Result<RenewResponse, Status>;

impl Bench {
    /// A renewal on its way; the fake gives it its stamp back as its outcome.
    fn renew(&self, stamp: i64) -> tokio::task::JoinHandle<Answer> {
        let renewals = Arc::clone(&self.renewals);
        let request = RenewRequest { last_dirty_ms: Some(stamp), ..RenewRequest::default() };
        tokio::spawn(async move { renewals.renew(request).await })
    }

    async fn waits(&self, count: usize) {
        eventually("renewals wait", || QUEUE - self.queue().entrance.capacity() == count).await;
    }

    fn queue(&self) -> &Queue {
        match &*self.renewals {
            Renewals::Batched(queue) => queue,
            Renewals::Direct(_) => panic!("not in batches"),
        }
    }

    fn opens(&self, open: bool) {
        self.registry.open.send_replace(open);
    }

    fn batches(&self) -> Vec<usize> {
        self.registry.batches.lock().clone()
    }
}

fn outcome(answer: Answer) -> i32 {
    answer.unwrap().outcome
}

#[tokio::test]
async fn a_lone_renewal_leaves_at_once_and_what_arrives_meanwhile_together() {
    let bench = bench();
    bench.opens(false);
    let first = bench.renew(0);
    eventually("the first call is under way", || bench.batches() == [1]).await;
    let later: Vec<_> = (1..=100).map(|stamp| bench.renew(stamp)).collect();
    bench.waits(100).await;
    assert_eq!(bench.batches(), [1], "one call at a time");
    bench.opens(true);
    assert_eq!(outcome(first.await.unwrap()), 0);
    for (stamp, renewal) in (1..).zip(later) {
        assert_eq!(outcome(renewal.await.unwrap()), stamp, "each gets its own answer");
    }
    assert_eq!(bench.batches(), [1, 100]);
}

#[tokio::test]
async fn a_failed_call_fails_its_renewals_and_no_others() {
    let bench = bench();
    bench.opens(false);
    let first = bench.renew(0);
    eventually("the first call is under way", || bench.batches() == [1]).await;
    *bench.registry.batch_failure.lock() = Some(Status::unavailable("away"));
    bench.opens(true);
    assert_eq!(first.await.unwrap().unwrap_err().code(), Code::Unavailable);
    *bench.registry.batch_failure.lock() = None;
    assert_eq!(outcome(bench.renew(7).await.unwrap()), 7);
}

#[tokio::test]
async fn a_call_that_fails_for_a_reason_of_its_own_asks_to_try_again() {
    let bench = bench();
    for status in [Status::internal("broken"), Status::invalid_argument("what"), Status::resource_exhausted("long")] {
        *bench.registry.batch_failure.lock() = Some(status);
        assert_eq!(bench.renew(0).await.unwrap().unwrap_err().code(), Code::Unavailable);
    }
}

#[tokio::test]
async fn long_names_fail_nobody_elses_renewals() {
    let bench = bench();
    bench.opens(false);
    let first = bench.renew(0);
    eventually("the first call is under way", || bench.batches() == [1]).await;
    let long = "i".repeat(MAX_NAME_BYTES);
    let named =
        |app: &str, id: &str| RenewRequest { app: app.into(), instance_id: id.into(), ..RenewRequest::default() };
    // At once, and not with the others.
    for renewal in [named(&format!("{long}x"), "i"), named("a", &format!("{long}x"))] {
        assert_eq!(bench.renewals.renew(renewal).await.unwrap().outcome(), RenewOutcome::NotFound);
    }
    let mut waiting: Vec<_> = (0..1000)
        .map(|_| {
            let (renewals, renewal) = (Arc::clone(&bench.renewals), named(&long, &long));
            async move { renewals.renew(renewal).await }.boxed()
        })
        .collect();
    assert!(waiting.iter_mut().all(|renewal| renewal.now_or_never().is_none()));
    bench.opens(true);
    assert!(first.await.unwrap().is_ok());
    assert!(futures::future::join_all(waiting).await.iter().all(Result::is_ok));
    let batches = bench.batches();
    assert_eq!(batches.iter().sum::<usize>(), 1001);
    assert!(batches.iter().all(|count| count * 2 * MAX_NAME_BYTES <= BATCH_BYTES), "{batches:?}");
}

#[tokio::test]
async fn renewals_of_other_servers_go_alone() {
    let bench = bench();
    let renewal = RenewRequest { origin: types::Origin::Peer.into(), ..RenewRequest::default() };
    assert!(bench.renewals.renew(renewal).await.is_ok());
    assert_eq!((bench.registry.renewed.lock().len(), bench.batches().len()), (1, 0));
}

#[tokio::test]
async fn a_caller_that_goes_away_harms_nobody() {
    let bench = bench();
    bench.opens(false);
    let first = bench.renew(0);
    eventually("the first call is under way", || bench.batches() == [1]).await;
    let (leaving, staying) = (bench.renew(1), bench.renew(2));
    bench.waits(2).await;
    leaving.abort();
    first.abort();
    bench.opens(true);
    assert_eq!(outcome(staying.await.unwrap()), 2);
}

#[tokio::test]
async fn a_full_queue_refuses() {
    let bench = bench();
    bench.opens(false);
    let first = bench.renew(0);
    eventually("the first call is under way", || bench.batches() == [1]).await;
    // Polled once, so that each stands in the queue.
    let mut waiting: Vec<_> = (0..QUEUE)
        .map(|_| {
            let renewals = Arc::clone(&bench.renewals);
            async move { renewals.renew(RenewRequest::default()).await }.boxed()
        })
        .collect();
    assert!(waiting.iter_mut().all(|renewal| renewal.now_or_never().is_none()));
    let refused = bench.renewals.renew(RenewRequest::default()).await.unwrap_err();
    assert_eq!(refused.code(), Code::Unavailable);
    bench.opens(true);
    assert!(first.await.unwrap().is_ok());
    assert!(futures::future::join_all(waiting).await.iter().all(Result::is_ok));
    assert_eq!(bench.batches(), [1, BATCH, BATCH]);
}

#[tokio::test]
async fn renewals_are_still_answered_while_the_process_stops() {
    let bench = bench();
    bench.opens(false);
    let (first, second) = (bench.renew(3), bench.renew(4));
    eventually("a call is under way", || !bench.batches().is_empty()).await;
    let stopping = tokio::spawn({
        let process = bench.process.clone();
        async move { process.stop().await }
    });
    eventually("the process stops", || bench.process.stopping().is_cancelled()).await;
    bench.opens(true);
    assert_eq!((outcome(first.await.unwrap()), outcome(second.await.unwrap())), (3, 4));
    stopping.await.unwrap();
    // Now one by one.
    assert_eq!(outcome(bench.renew(5).await.unwrap()), 0);
    assert_eq!(bench.registry.renewed.lock().len(), 1);
    assert_eq!(bench.process.failure(), None);
}
