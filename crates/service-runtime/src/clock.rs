//! The only reader of system time. `Process` makes the one `SystemClock` of a process and hands it to every service;
//! tests pass a clock of their own instead.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use registry_model::{Clock, Mono, UnixMillis};

/// A clock that one can also wait on.
pub trait Timers: Clock {
    /// Completes once `mono()` has reached `at`; at once if it already has.
    fn sleep_until(&self, at: Mono) -> BoxFuture<'static, ()>;

    /// Completes once `period` has passed.
    fn sleep(&self, period: Duration) -> BoxFuture<'static, ()> {
        self.sleep_until(self.mono() + period)
    }
}

/// The clock as services hold it; it is also an `Arc<dyn Clock>` by upcasting.
pub type SharedClock = Arc<dyn Timers>;

/// Longest wait that is handed to the timer: a later deadline is out of any process's life, and must not overflow.
const LONGEST_WAIT: Duration = Duration::from_secs(60 * 60 * 24 * 365);

/// The machine's clock; its monotonic time starts with the value's making.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock {
    // tokio's instant is the machine's own, save under a paused test runtime, where timers and readings then agree.
    origin: tokio::time::Instant,
}

impl SystemClock {
    /// Starts counting monotonic time now.
    pub fn new() -> Self {
        Self { origin: tokio::time::Instant::now() }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn mono(&self) -> Mono {
        Mono::from_nanos(u64::try_from(self.origin.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    #[expect(clippy::disallowed_methods, reason = "the one place that reads the machine's wall clock")]
    fn unix(&self) -> UnixMillis {
        let since_epoch = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        UnixMillis(i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX))
    }
}

impl Timers for SystemClock {
    fn sleep_until(&self, at: Mono) -> BoxFuture<'static, ()> {
        let wait = at.saturating_since(self.mono()).min(LONGEST_WAIT);
        tokio::time::sleep(wait).boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn sleeping_ends_when_the_clock_has_reached_the_deadline() {
        let clock = SystemClock::new();
        let deadline = clock.mono() + Duration::from_secs(90);

        clock.sleep_until(deadline).await;

        assert!(clock.mono() >= deadline);
    }

    #[tokio::test(start_paused = true)]
    async fn a_deadline_in_the_past_ends_at_once() {
        let clock = SystemClock::new();
        let start = clock.mono();
        clock.sleep(Duration::from_secs(1)).await;

        let now = clock.mono();
        clock.sleep_until(start).await;

        assert!(clock.mono().saturating_since(now) < Duration::from_millis(5));
    }
}
