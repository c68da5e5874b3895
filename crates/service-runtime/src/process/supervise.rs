//! Runs one service to its end: first of signal, failure, or nothing left to run; then the ordered stop. Called by
//! `Process::supervise`.

use std::future::Future;
use std::process::ExitCode;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::ProcessHandle;

/// What the set-up of a service is called in logs.
const SERVICE_TASK: &str = "service";

/// How long blocking work may hold up the exit after the ordered stop.
const RUNTIME_PATIENCE: Duration = Duration::from_millis(100);

pub(super) fn on_own_runtime<F, R>(handle: &ProcessHandle, service: F) -> ExitCode
where
    F: FnOnce(ProcessHandle) -> R,
    R: Future<Output = anyhow::Result<()>> + Send + 'static,
{
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            tracing::error!(%error, "the async runtime could not be started");
            return ExitCode::FAILURE;
        }
    };
    let outcome = runtime.block_on(async {
        let mut signals = StopSignals::listen()?;
        let outcome = until_stopped(handle, service, &mut signals).await;
        Ok::<_, std::io::Error>(outcome)
    });
    runtime.shutdown_timeout(RUNTIME_PATIENCE);
    match outcome {
        Ok(Outcome::Stopped) => ExitCode::SUCCESS,
        Ok(Outcome::Failed | Outcome::Forced) => ExitCode::FAILURE,
        Err(error) => {
            tracing::error!(%error, "signals cannot be listened for");
            ExitCode::FAILURE
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Stopped in order.
    Stopped,
    /// Stopped in order because a task had failed.
    Failed,
    /// A second request to stop came while stopping.
    Forced,
}

/// Where requests to stop come from.
pub(super) trait StopRequests {
    /// Completes at the next request.
    fn next(&mut self) -> impl Future<Output = ()>;
}

pub(super) async fn until_stopped<F, R>(handle: &ProcessHandle, service: F, requests: &mut impl StopRequests) -> Outcome
where
    F: FnOnce(ProcessHandle) -> R,
    R: Future<Output = anyhow::Result<()>> + Send + 'static,
{
    let tasks = &handle.shared.tasks;
    tracing::info!(process = handle.name(), version = env!("CARGO_PKG_VERSION"), "starting");
    tasks.spawn_setting_up(SERVICE_TASK, service(handle.clone()));
    tokio::select! {
        biased;
        () = tasks.failed() => {}
        () = requests.next() => {}
        () = tasks.all_ended() => {}
    }
    tokio::select! {
        () = handle.stop() => {}
        () = requests.next() => {
            tracing::warn!("asked to stop a second time: leaving at once");
            return Outcome::Forced;
        }
    }
    match handle.failure() {
        Some(_) => Outcome::Failed,
        None => Outcome::Stopped,
    }
}

/// SIGTERM and SIGINT.
struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl StopSignals {
    fn listen() -> std::io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }
}

impl StopRequests for StopSignals {
    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
