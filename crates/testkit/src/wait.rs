//! Bounded waits for a level: a condition that, once true, a test may look at for as long as it likes.

use std::time::Duration;

/// How long a condition may take to become true, in real time.
const PATIENCE: Duration = Duration::from_secs(10);

/// Looks that only let other tasks run between them, before looks start to pause.
const EAGER_LOOKS: u32 = 200;
const PAUSE: Duration = Duration::from_millis(1);

/// Waits until `condition` holds; panics with `what` after ten seconds.
pub async fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    eventually_async(what, async || condition()).await;
}

/// As `eventually`, for a condition that has to be awaited.
#[expect(clippy::disallowed_methods, reason = "the bound is real time, whatever clock the test moves")]
#[expect(clippy::panic, reason = "this is how a test fails")]
pub async fn eventually_async(what: &str, mut condition: impl AsyncFnMut() -> bool) {
    let start = std::time::Instant::now();
    let mut looks = 0;
    while !condition().await {
        if start.elapsed() > PATIENCE {
            panic!("still not so after {PATIENCE:?}: {what}");
        }
        looks += 1;
        if looks < EAGER_LOOKS {
            tokio::task::yield_now().await;
        } else {
            tokio::time::sleep(PAUSE).await;
        }
    }
}
