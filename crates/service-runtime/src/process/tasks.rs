//! The tasks of one process: every one has a name, is waited for when the process stops, and is dropped if it overstays.
//! Owned by `ProcessHandle`.

use std::any::Any;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures::FutureExt;
use parking_lot::Mutex;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub(super) struct Tasks {
    tracker: TaskTracker,
    /// Cancelled when tasks must end.
    stopping: CancellationToken,
    /// Cancelled when tasks have had their time: they are dropped where they stand.
    overdue: CancellationToken,
    failures: Arc<Failures>,
}

#[derive(Default)]
struct Failures {
    first: Mutex<Option<String>>,
    seen: CancellationToken,
}

impl Failures {
    fn record(&self, task: &'static str, reason: &str) {
        tracing::error!(task, error = reason, "a task of this process has failed");
        self.first.lock().get_or_insert_with(|| format!("{task}: {reason}"));
        self.seen.cancel();
    }
}

impl Tasks {
    pub(super) fn new() -> Self {
        Self {
            tracker: TaskTracker::new(),
            stopping: CancellationToken::new(),
            overdue: CancellationToken::new(),
            failures: Arc::default(),
        }
    }

    pub(super) fn stopping(&self) -> &CancellationToken {
        &self.stopping
    }

    /// A task that must outlive everything but the process.
    pub(super) fn spawn_lasting(
        &self,
        name: &'static str,
        task: impl Future<Output = anyhow::Result<()>> + Send + 'static,
    ) {
        let stopping = self.stopping.clone();
        let failures = Arc::clone(&self.failures);
        self.spawn(name, task, move |end| match end {
            Ok(Ok(())) if stopping.is_cancelled() => {}
            Ok(Ok(())) => failures.record(name, "ended before the process was stopped"),
            Ok(Err(error)) => failures.record(name, &format!("{error:#}")),
            Err(panic) => failures.record(name, &panic),
        });
    }

    /// The task that sets a service up: it may end well at any time.
    pub(super) fn spawn_setting_up(
        &self,
        name: &'static str,
        task: impl Future<Output = anyhow::Result<()>> + Send + 'static,
    ) {
        let failures = Arc::clone(&self.failures);
        self.spawn(name, task, move |end| match end {
            Ok(Ok(())) => {}
            Ok(Err(error)) => failures.record(name, &format!("{error:#}")),
            Err(panic) => failures.record(name, &panic),
        });
    }

    pub(super) fn spawn_short(&self, name: &'static str, task: impl Future<Output = ()> + Send + 'static) {
        self.spawn(name, task, move |end| {
            if let Err(panic) = end {
                tracing::error!(task = name, error = panic, "a task has panicked");
            }
        });
    }

    fn spawn<T>(
        &self,
        name: &'static str,
        task: impl Future<Output = T> + Send + 'static,
        ended: impl FnOnce(Result<T, String>) + Send + 'static,
    ) where
        T: Send,
    {
        // A token of its own: tasks would otherwise meet at one lock whenever they are polled.
        let overdue = self.overdue.child_token();
        self.tracker.spawn(async move {
            let task = AssertUnwindSafe(task).catch_unwind();
            match overdue.run_until_cancelled(task).await {
                Some(end) => ended(end.map_err(|panic| text_of(panic.as_ref()))),
                None => tracing::warn!(task = name, "a task did not end in time and was dropped"),
            }
        });
    }

    /// Completes once a task has failed.
    pub(super) async fn failed(&self) {
        self.failures.seen.cancelled().await;
    }

    /// Completes once no task runs.
    pub(super) async fn all_ended(&self) {
        self.tracker.close();
        self.tracker.wait().await;
    }

    pub(super) fn failure(&self) -> Option<String> {
        self.failures.first.lock().clone()
    }

    /// Asks all tasks to end, waits for up to `patience`, then drops those that are left.
    pub(super) async fn stop(&self, patience: Duration) {
        self.stopping.cancel();
        if tokio::time::timeout(patience, self.all_ended()).await.is_err() {
            self.overdue.cancel();
            self.all_ended().await;
        }
    }
}

fn text_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("panicked: {}", text.unwrap_or("without a message"))
}
