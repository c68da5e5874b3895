//! A clock that stands still until a test moves it.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use registry_model::{Clock, Mono, UnixMillis};
use service_runtime::Timers;

/// Not zero, so that a test notices code which takes zero for "never" or subtracts below its start.
const START_MONO: Mono = Mono::from_nanos(5_000_000_000_000);
const START_UNIX: UnixMillis = UnixMillis(1_700_000_010_000);

/// A clock for tests; clones share its time. It starts at Unix time 1,700,000,010,000 ms.
#[derive(Debug, Clone)]
pub struct ManualClock {
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    mono: Mono,
    unix: UnixMillis,
    /// Who waits, by deadline, then by order of arrival.
    sleepers: BTreeMap<(Mono, u64), Waker>,
    arrivals: u64,
}

impl ManualClock {
    /// A clock at its fixed start.
    pub fn new() -> Self {
        let state = State { mono: START_MONO, unix: START_UNIX, sleepers: BTreeMap::new(), arrivals: 0 };
        Self { state: Arc::new(Mutex::new(state)) }
    }

    /// Moves both times on by `period`, then wakes who is due, the earliest deadline first. It is one jump: a loop that
    /// sleeps 30 s wakes once from 90 s, and sees the time at the end of the jump.
    pub fn advance(&self, period: Duration) {
        let due = {
            let mut state = self.state.lock();
            state.mono = state.mono + period;
            state.unix = state.unix + period;
            let after_now = (state.mono, u64::MAX);
            let later = state.sleepers.split_off(&after_now);
            std::mem::replace(&mut state.sleepers, later)
        };
        due.into_values().for_each(Waker::wake);
    }

    /// Moves wall-clock time alone, back or forth, as a machine's clock being set does.
    pub fn set_unix(&self, unix: UnixMillis) {
        self.state.lock().unix = unix;
    }

    /// How many are asleep now: wait for a loop to be asleep before moving the clock past its deadline.
    pub fn sleepers(&self) -> usize {
        self.state.lock().sleepers.len()
    }
}

impl Default for ManualClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for ManualClock {
    fn mono(&self) -> Mono {
        self.state.lock().mono
    }

    fn unix(&self) -> UnixMillis {
        self.state.lock().unix
    }
}

impl Timers for ManualClock {
    fn sleep_until(&self, at: Mono) -> BoxFuture<'static, ()> {
        Sleep { state: Arc::clone(&self.state), at, place: None }.boxed()
    }
}

/// Counts as asleep from its first poll until it is due or dropped.
struct Sleep {
    state: Arc<Mutex<State>>,
    at: Mono,
    place: Option<(Mono, u64)>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let shared = Arc::clone(&self.state);
        let mut state = shared.lock();
        if state.mono >= self.at {
            return Poll::Ready(());
        }
        let place = self.place.unwrap_or_else(|| {
            state.arrivals += 1;
            (self.at, state.arrivals)
        });
        let replaced = state.sleepers.insert(place, cx.waker().clone());
        // A waker may own a task, and that task another sleep: never drop one under the lock.
        drop(state);
        drop(replaced);
        self.place = Some(place);
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some(place) = self.place {
            let mut state = self.state.lock();
            let waker = state.sleepers.remove(&place);
            drop(state);
            drop(waker);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{eventually, eventually_async};

    #[test]
    fn both_times_stand_still_until_they_are_moved() {
        let clock = ManualClock::new();
        let start = clock.mono();
        assert_eq!(clock.unix(), UnixMillis(1_700_000_010_000));
        assert_ne!(start, Mono::from_nanos(0));

        let shared = clock.clone();
        shared.advance(Duration::from_millis(1500));

        assert_eq!((clock.mono(), clock.unix()), (shared.mono(), shared.unix()));
        assert_eq!(clock.mono().saturating_since(start), Duration::from_millis(1500));
        assert_eq!(clock.unix(), UnixMillis(1_700_000_011_500));
        clock.set_unix(UnixMillis(5));
        assert_eq!(clock.unix(), UnixMillis(5));
    }

    #[tokio::test]
    async fn who_is_due_wakes_in_order_of_time_and_sees_the_new_time() {
        let clock = ManualClock::new();
        let start = clock.mono();
        let woken = Arc::new(Mutex::new(Vec::new()));
        for seconds in [3, 1, 2, 10] {
            let (clock, woken) = (clock.clone(), Arc::clone(&woken));
            tokio::spawn(async move {
                clock.sleep(Duration::from_secs(seconds)).await;
                woken.lock().push((seconds, clock.mono().saturating_since(start).as_secs()));
            });
        }
        eventually("all sleep", || clock.sleepers() == 4).await;

        clock.advance(Duration::from_secs(3));

        eventually("three wake", || woken.lock().len() == 3).await;
        assert_eq!(*woken.lock(), [(1, 3), (2, 3), (3, 3)]);
        assert_eq!(clock.sleepers(), 1);
    }

    #[tokio::test]
    async fn a_deadline_in_the_past_does_not_sleep_and_a_dropped_sleep_is_forgotten() {
        let clock = ManualClock::new();
        clock.sleep_until(clock.mono()).await;

        let mut sleep = clock.sleep(Duration::from_secs(1));
        assert_eq!(clock.sleepers(), 0);
        assert!(futures::poll!(&mut sleep).is_pending());
        assert!(futures::poll!(&mut sleep).is_pending());
        assert_eq!(clock.sleepers(), 1);
        drop(sleep);
        assert_eq!(clock.sleepers(), 0);
        eventually_async("an awaited condition", async || true).await;
    }
}
