//! Parts of a node that may fail without ending it: they are started again, with growing delays, and the node is degraded until
//! they have run well for a while. Used by `wiring`.

use futures::{
    FutureExt as _,
    future::{Either, pending, select},
};
use service_runtime::{Backoff, ProcessHandle};
use std::{convert::Infallible, future::Future, panic::AssertUnwindSafe, pin::pin, time::Duration};

/// After a run of this length a part is sound, and a failure counts as a first one again.
const STABLE: Duration = Duration::from_secs(60);

/// A part of a node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    /// What it is called in logs, metrics and `/readyz`.
    pub(crate) name: &'static str,
    /// The gRPC service that does not work without it.
    pub(crate) service: &'static str,
}

/// Runs a part until the process stops. Where it panics, or ends before, it is logged and started again.
pub(crate) fn spawn<R>(part: Part, process: &ProcessHandle, run: impl Fn() -> R + Send + 'static)
where
    R: Future<Output = ()> + Send + 'static,
{
    let (clock, stopping) = (process.clock(), process.stopping());
    let Part { name, service } = part;
    let degraded = process.degradable(name, service);
    process.spawn_short(name, async move {
        let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(60));
        let mut failures = 0_u64;
        loop {
            let proving = async {
                if failures > 0 {
                    clock.sleep(STABLE).await;
                    backoff.reset();
                    failures = 0;
                    degraded.clear();
                    tracing::info!(part = name, "a part of this node that had failed runs well again");
                }
                pending::<Infallible>().await
            };
            let running = AssertUnwindSafe(run()).catch_unwind();
            let end = match select(pin!(running), pin!(proving)).await {
                Either::Left((end, _)) => end,
                Either::Right((never, _)) => match never {},
            };
            if stopping.is_cancelled() {
                return;
            }
            let why = if end.is_ok() { "ended" } else { "panicked" };
            failures += 1;
            degraded.set(&format!("{why}, is started again (failures: {failures})"));
            let delay = backoff.next_delay();
            tracing::warn!(part = name, why, failures, ?delay, "a part of this node has failed and is started again");
            if stopping.run_until_cancelled(clock.sleep(delay)).await.is_none() {
                return;
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{
        Arc,
        atomic::{AtomicU32, Ordering::Relaxed},
    };
    use testkit::{ManualClock, eventually};

    const PART: Part = Part { name: "part", service: "test.v1.Service" };

    fn shown(process: &ProcessHandle) -> Vec<String> {
        process.degraded().iter().map(|(part, reason)| format!("{part}: {reason}")).collect()
    }

    #[tokio::test]
    async fn a_node_is_degraded_from_a_failure_until_the_part_has_run_well_for_a_while() {
        let clock = ManualClock::new();
        let process = ProcessHandle::detached("heureka", Arc::new(clock.clone()));
        let (runs, fails) = (Arc::new(AtomicU32::new(0)), Arc::new(tokio::sync::Notify::new()));
        let (counted, failing) = (Arc::clone(&runs), Arc::clone(&fails));
        spawn(PART, &process, move || {
            counted.fetch_add(1, Relaxed);
            let failing = Arc::clone(&failing);
            async move {
                failing.notified().await;
                panic!("a fault");
            }
        });
        // It sleeps only while it has a failure to live down.
        let runs_for = async |run, asleep| {
            eventually("it runs", || runs.load(Relaxed) == run && clock.sleepers() == asleep).await;
        };
        runs_for(1, 0).await;
        assert!(shown(&process).is_empty());
        for (run, failures) in [(2, 1), (3, 2)] {
            fails.notify_one();
            let reason = format!("part: panicked, is started again (failures: {failures})");
            eventually("it is degraded", || shown(&process) == [reason.as_str()] && clock.sleepers() == 1).await;
            assert!(process.not_ready().is_empty(), "it serves on");
            clock.advance(Duration::from_secs(2));
            runs_for(run, 1).await;
        }
        clock.advance(STABLE - Duration::from_millis(1));
        assert_eq!(shown(&process).len(), 1, "it has not run for long");
        let text = process.metrics().encode();
        assert!(text.contains("heureka_degraded{part=\"part\"} 1"), "{text}");
        clock.advance(Duration::from_millis(1));
        eventually("it is sound", || shown(&process).is_empty()).await;
        let text = process.metrics().encode();
        assert!(text.contains("heureka_degraded{part=\"part\"} 0"), "{text}");

        // The next failure is a first one.
        fails.notify_one();
        eventually("it is degraded", || shown(&process) == ["part: panicked, is started again (failures: 1)"]).await;
        process.stop().await;
        assert_eq!(process.failure(), None);
    }

    #[tokio::test]
    async fn a_part_that_panics_or_ends_is_started_again_and_ends_nothing() {
        let clock = ManualClock::new();
        let process = ProcessHandle::detached("heureka", Arc::new(clock.clone()));
        let runs = Arc::new(AtomicU32::new(0));
        let (counted, stopping) = (Arc::clone(&runs), process.stopping());
        spawn(PART, &process, move || {
            let run = counted.fetch_add(1, Relaxed);
            let stopping = stopping.clone();
            async move {
                match run {
                    0 => panic!("a fault"),
                    1 => {}
                    _ => stopping.cancelled().await,
                }
            }
        });
        for run in 1..=2 {
            eventually("it has failed and waits", || runs.load(Relaxed) == run && clock.sleepers() == 1).await;
            clock.advance(Duration::from_secs(2));
        }
        eventually("it runs", || runs.load(Relaxed) == 3).await;
        process.stop().await;
        assert_eq!((process.failure(), runs.load(Relaxed)), (None, 3));
    }
}
