use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::mpsc;

use super::supervise::{Outcome, StopRequests, until_stopped};
use super::*;
use crate::operations;

const STOP_TIMEOUT: Duration = Duration::from_secs(10);

fn process() -> ProcessHandle {
    process_with_drain(Duration::ZERO)
}

fn process_with_drain(drain_delay: Duration) -> ProcessHandle {
    ProcessHandle::new("example", Arc::new(SystemClock::new()), drain_delay, STOP_TIMEOUT)
}

/// Requests to stop, sent by the test.
struct Requests(mpsc::Receiver<()>);

impl StopRequests for Requests {
    async fn next(&mut self) {
        if self.0.recv().await.is_none() {
            std::future::pending::<()>().await;
        }
    }
}

fn requests() -> (mpsc::Sender<()>, Requests) {
    let (sender, receiver) = mpsc::channel(2);
    (sender, Requests(receiver))
}

fn readyz(process: &ProcessHandle) -> (u16, String) {
    let answer = operations::answer(process, "/readyz").unwrap();
    (answer.status, answer.body)
}

#[tokio::test]
async fn ready_means_every_part_is_ready_and_nothing_stops() {
    let process = process();
    assert_eq!(readyz(&process).0, 200);

    let (cache, registry) = (process.readiness("cache"), process.readiness("registry"));
    assert_eq!(readyz(&process), (503, "not ready:\ncache\nregistry\n".to_owned()));
    assert!(!*process.ready().borrow());

    cache.set(true);
    assert_eq!(readyz(&process), (503, "not ready:\nregistry\n".to_owned()));
    registry.set(true);
    assert_eq!(readyz(&process), (200, "ready\n".to_owned()));
    assert!(*process.ready().borrow());

    // A part that starts over is not ready until it says so.
    let cache = process.readiness("cache");
    assert_eq!(readyz(&process), (503, "not ready:\ncache\n".to_owned()));
    cache.set(true);

    process.stop().await;
    assert_eq!(readyz(&process), (503, "not ready:\nstopping\n".to_owned()));
    cache.set(true);
    assert!(!*process.ready().borrow());
}

#[tokio::test]
async fn a_degraded_process_is_ready_and_says_what_has_failed() {
    let process = process();
    let (eviction, other) =
        (process.degradable("eviction", "test.v1.Eviction"), process.degradable("agent", "test.v1.Agent"));
    assert_eq!(readyz(&process), (200, "ready\n".to_owned()));
    eviction.set("panicked");
    other.set("ended");
    assert_eq!(readyz(&process), (200, "ready\ndegraded: agent: ended\ndegraded: eviction: panicked\n".to_owned()));
    other.clear();
    assert_eq!(readyz(&process), (200, "ready\ndegraded: eviction: panicked\n".to_owned()));
    let sound = |service| process.is_sound(service);
    assert_eq!(
        [sound("test.v1.Eviction"), sound("test.v1.Agent"), sound("test.v1.Unknown")],
        [Some(false), Some(true), None]
    );
    let missing = process.readiness("cache");
    assert_eq!(readyz(&process), (503, "not ready:\ncache\n".to_owned()));
    missing.set(true);
    assert!(*process.ready().borrow());
}

#[tokio::test(start_paused = true)]
async fn stopping_is_ordered() {
    let process = process_with_drain(Duration::from_secs(3));
    let start = tokio::time::Instant::now();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let note = |what: &'static str| {
        let seen = Arc::clone(&seen);
        move || seen.lock().push((what, start.elapsed().as_secs()))
    };

    let mut ready = process.ready();
    let unready = note("not ready");
    process.spawn("watch readiness", async move {
        ready.wait_for(|ready| !ready).await?;
        unready();
        std::future::pending().await
    });
    let (stopping, told, finished) = (process.stopping(), note("told to stop"), note("finished"));
    process.spawn("serve", async move {
        stopping.cancelled().await;
        told();
        tokio::time::sleep(Duration::from_secs(2)).await;
        finished();
        Ok(())
    });

    process.stop().await;
    note("stopped")();

    // The task that never ends is dropped once the stop timeout has passed.
    assert_eq!(*seen.lock(), [("not ready", 0), ("told to stop", 3), ("finished", 5), ("stopped", 13)]);
    assert_eq!(process.failure(), None);
}

#[tokio::test]
async fn what_still_runs_after_the_stop_timeout_is_dropped() {
    struct Dropped(Arc<Mutex<bool>>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            *self.0.lock() = true;
        }
    }

    let process =
        ProcessHandle::new("example", Arc::new(SystemClock::new()), Duration::ZERO, Duration::from_millis(10));
    let dropped = Arc::new(Mutex::new(false));
    let witness = Dropped(Arc::clone(&dropped));
    process.spawn_short("hang", async move {
        let _witness = witness;
        std::future::pending::<()>().await;
    });

    process.stop().await;

    assert!(*dropped.lock());
}

#[tokio::test]
async fn a_task_that_ends_before_its_time_ends_the_process_with_a_failure() {
    type Task = fn(ProcessHandle) -> futures::future::BoxFuture<'static, anyhow::Result<()>>;
    let cases: [(Task, &str); 3] = [
        (|_| Box::pin(async { anyhow::bail!("disk full") }), "follow: disk full"),
        (|_| Box::pin(async { Ok(()) }), "follow: ended before the process was stopped"),
        (|_| Box::pin(async { panic!("a broken rule") }), "follow: panicked: a broken rule"),
    ];
    for (task, expected) in cases {
        let process = process();
        let (_sender, mut requests) = requests();
        let service = |handle: ProcessHandle| async move {
            handle.spawn("follow", task(handle.clone()));
            let stopping = handle.stopping();
            handle.spawn("serve", async move {
                stopping.cancelled().await;
                Ok(())
            });
            Ok(())
        };
        assert_eq!(until_stopped(&process, service, &mut requests).await, Outcome::Failed);
        assert_eq!(process.failure().as_deref(), Some(expected));
    }
}

#[tokio::test]
async fn a_service_that_cannot_start_ends_the_process_with_a_failure() {
    let process = process();
    let (_sender, mut requests) = requests();
    let service = |_| async { Err(anyhow::anyhow!("address in use").context("listen")) };
    assert_eq!(until_stopped(&process, service, &mut requests).await, Outcome::Failed);
    assert_eq!(process.failure().as_deref(), Some("service: listen: address in use"));
}

#[tokio::test]
async fn a_short_task_may_end_and_even_panic() {
    let process = process();
    process.spawn_short("connection", async {});
    process.spawn_short("connection", async { panic!("one client's doing") });
    process.stop().await;
    assert_eq!(process.failure(), None);
}

#[tokio::test]
async fn a_request_to_stop_stops_in_order() {
    let process = process();
    let (sender, mut requests) = requests();
    sender.send(()).await.unwrap();
    let service = |handle: ProcessHandle| async move {
        handle.stopping().cancelled().await;
        Ok(())
    };
    assert_eq!(until_stopped(&process, service, &mut requests).await, Outcome::Stopped);
}

#[tokio::test]
async fn a_second_request_does_not_wait() {
    let process = process();
    let (sender, mut requests) = requests();
    sender.send(()).await.unwrap();
    sender.send(()).await.unwrap();
    let service = |_| std::future::pending();
    assert_eq!(until_stopped(&process, service, &mut requests).await, Outcome::Forced);
}

#[tokio::test]
async fn a_service_with_nothing_left_to_run_has_stopped() {
    let process = process();
    let (_sender, mut requests) = requests();
    assert_eq!(until_stopped(&process, |_| async { Ok(()) }, &mut requests).await, Outcome::Stopped);
}

#[test]
fn metrics_say_what_runs_since_when_and_what_services_add() {
    let process = process();
    let counter = process.metrics().register(|registry| {
        let counter = prometheus_client::metrics::counter::Counter::<u64>::default();
        registry.register("heureka_example_things", "Things", counter.clone());
        counter
    });
    counter.inc();

    let answer = operations::answer(&process, "/metrics").unwrap();

    assert_eq!(answer.status, 200);
    let build = format!("heureka_build_info{{version=\"{}\",service=\"example\"}} 1\n", env!("CARGO_PKG_VERSION"));
    for line in [build.as_str(), "process_start_time_seconds ", "heureka_example_things_total 1\n", "# EOF\n"] {
        assert!(answer.body.contains(line), "{line} is not in\n{}", answer.body);
    }
}

#[test]
fn only_an_operators_paths_are_answered() {
    let process = process();
    assert_eq!(operations::answer(&process, "/livez").unwrap().status, 200);
    for path in ["/", "/metrics/", "/eureka/apps"] {
        assert_eq!(operations::answer(&process, path), None);
    }
}
