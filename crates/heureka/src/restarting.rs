//! Parts of a node that may fail without ending it: they are started again, with growing delays. Used by `wiring`.

use futures::FutureExt as _;
use service_runtime::{Backoff, ProcessHandle};
use std::{future::Future, panic::AssertUnwindSafe, time::Duration};

/// After a run of this length a failure counts as a first one again.
const STABLE: Duration = Duration::from_secs(60);

/// Runs a part until the process stops. Where it panics, or ends before, it is logged and started again.
pub(crate) fn spawn<R>(name: &'static str, process: &ProcessHandle, part: impl Fn() -> R + Send + 'static)
where
    R: Future<Output = ()> + Send + 'static,
{
    let (clock, stopping) = (process.clock(), process.stopping());
    process.spawn_short(name, async move {
        let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(60));
        loop {
            let started = clock.mono();
            let end = AssertUnwindSafe(part()).catch_unwind().await;
            if stopping.is_cancelled() {
                return;
            }
            if clock.mono().saturating_since(started) >= STABLE {
                backoff.reset();
            }
            let delay = backoff.next_delay();
            let why = if end.is_ok() { "ended" } else { "panicked" };
            tracing::error!(part = name, why, ?delay, "a part of this node has failed and is started again");
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

    #[tokio::test]
    async fn a_part_that_panics_or_ends_is_started_again_and_ends_nothing() {
        let clock = ManualClock::new();
        let process = ProcessHandle::detached("heureka", Arc::new(clock.clone()));
        let runs = Arc::new(AtomicU32::new(0));
        let (counted, stopping) = (Arc::clone(&runs), process.stopping());
        spawn("part", &process, move || {
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
