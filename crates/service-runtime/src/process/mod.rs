//! The life of a process: start, tasks, readiness, ordered stop, exit code. Every binary's `main` makes a `Process`;
//! every service receives a `ProcessHandle`.

mod degraded;
mod supervise;
mod tasks;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::future::Future;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::clock::{SharedClock, SystemClock};
use crate::config::address::Address;
use crate::config::units;
use crate::metrics::Metrics;
use crate::telemetry::{self, LogFormat, LogLevel};
use degraded::Degraded;
pub use degraded::DegradedFlag;
use tasks::Tasks;

/// What a process that is stopping reports as not ready.
const STOPPING_PART: &str = "stopping";

/// How long a detached process (a test's, mostly) waits for its tasks when stopped.
const DETACHED_STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// Settings that every binary has; flatten it into the binary's own.
#[derive(Debug, Clone, clap::Args)]
pub struct ProcessConfig {
    /// Where gRPC, health and metrics are served: `host:port` or `unix:/path`.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:7100")]
    pub grpc_listen: Address,
    /// How log lines look.
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    pub log_format: LogFormat,
    /// Which log lines are written, as in `info,registry_core=debug`.
    #[arg(long, value_name = "FILTER", default_value = "info")]
    pub log_level: LogLevel,
    /// How long to serve on after saying not ready, so that load balancers notice.
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = units::duration)]
    pub drain_delay: Duration,
    /// How long tasks and open requests may take to end once stopping.
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = units::duration)]
    pub stop_timeout: Duration,
}

/// A process about to run its service.
#[derive(Debug)]
pub struct Process {
    handle: ProcessHandle,
}

impl Process {
    /// Sets up logs and starts the clock; `name` is the service's, in logs and metrics.
    pub fn start(name: &'static str, config: &ProcessConfig) -> Self {
        telemetry::install(config.log_format, &config.log_level);
        let clock = Arc::new(SystemClock::new());
        Self { handle: ProcessHandle::new(name, clock, config.drain_delay, config.stop_timeout) }
    }

    /// Runs the service on a runtime of its own until SIGTERM, SIGINT or the end of a task, then stops it in order.
    ///
    /// `service` may return once everything is spawned, or await what it serves. An error it returns, and any task that
    /// ends before the process is stopping, ends the process with a failure. A second signal exits at once.
    pub fn supervise<F, R>(self, service: F) -> ExitCode
    where
        F: FnOnce(ProcessHandle) -> R,
        R: Future<Output = anyhow::Result<()>> + Send + 'static,
    {
        supervise::on_own_runtime(&self.handle, service)
    }
}

/// What a service knows of the process it runs in. Cloning shares it.
#[derive(Clone)]
pub struct ProcessHandle {
    shared: Arc<Shared>,
}

struct Shared {
    name: &'static str,
    clock: SharedClock,
    metrics: Metrics,
    tasks: Tasks,
    parts: Mutex<BTreeMap<&'static str, bool>>,
    degraded: Degraded,
    draining: AtomicBool,
    /// Latest overall readiness; sent by whoever changes a part, received by the gRPC health service.
    ready: watch::Sender<bool>,
    drain_delay: Duration,
    stop_timeout: Duration,
}

impl std::fmt::Debug for ProcessHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProcessHandle").field("name", &self.shared.name).finish_non_exhaustive()
    }
}

impl ProcessHandle {
    /// A process without signals, logs or anything global: for tests, which start and stop many in one real process.
    pub fn detached(name: &'static str, clock: SharedClock) -> Self {
        Self::new(name, clock, Duration::ZERO, DETACHED_STOP_TIMEOUT)
    }

    pub(crate) fn new(name: &'static str, clock: SharedClock, drain_delay: Duration, stop_timeout: Duration) -> Self {
        let metrics = Metrics::new(name, clock.unix());
        let degraded = metrics.register(Degraded::new);
        Self {
            shared: Arc::new(Shared {
                name,
                clock,
                metrics,
                tasks: Tasks::new(),
                parts: Mutex::default(),
                degraded,
                draining: AtomicBool::new(false),
                ready: watch::Sender::new(true),
                drain_delay,
                stop_timeout,
            }),
        }
    }

    /// The service's name.
    pub fn name(&self) -> &'static str {
        self.shared.name
    }

    /// The clock that everything in this process goes by.
    pub fn clock(&self) -> SharedClock {
        Arc::clone(&self.shared.clock)
    }

    /// The metrics to register with.
    pub fn metrics(&self) -> &Metrics {
        &self.shared.metrics
    }

    /// Cancelled when tasks must end; loops select on it. A child: cancelling it stops only who shares it.
    pub fn stopping(&self) -> CancellationToken {
        self.shared.tasks.stopping().child_token()
    }

    /// Runs a task that lasts as long as the process. If it ends or panics before the process is stopping, it has failed,
    /// and with it the process. When stopping it may finish, up to the stop timeout.
    pub fn spawn(&self, name: &'static str, task: impl Future<Output = anyhow::Result<()>> + Send + 'static) {
        self.shared.tasks.spawn_lasting(name, task);
    }

    /// Runs a task that may end at any time, such as one connection; its panic is logged and ends nothing else. When
    /// stopping it may finish, up to the stop timeout.
    pub fn spawn_short(&self, name: &'static str, task: impl Future<Output = ()> + Send + 'static) {
        self.shared.tasks.spawn_short(name, task);
    }

    /// The first failed task's name and error, where one has failed.
    pub fn failure(&self) -> Option<String> {
        self.shared.tasks.failure()
    }

    /// Adds a part that must be ready before the process is; it starts not ready. The same name gives the same part, made
    /// not ready again, so a part that is restarted starts over.
    pub fn readiness(&self, part: &'static str) -> ReadyFlag {
        let flag = ReadyFlag { process: self.clone(), part };
        flag.set(false);
        flag
    }

    /// The parts that are not ready, sorted; a process that stops never is.
    pub fn not_ready(&self) -> Vec<&'static str> {
        let parts = self.shared.parts.lock();
        let mut missing: Vec<_> = parts.iter().filter(|(_, ready)| !**ready).map(|(part, _)| *part).collect();
        if self.shared.draining.load(Ordering::Acquire) {
            missing.push(STOPPING_PART);
        }
        missing
    }

    /// The latest overall readiness, to wait on.
    pub fn ready(&self) -> watch::Receiver<bool> {
        self.shared.ready.subscribe()
    }

    /// Stops in order: not ready, drain delay, servers stop accepting and finish what they have, tasks end; what has not
    /// ended by the stop timeout is dropped. Returns when nothing of this process runs any more.
    pub async fn stop(&self) {
        tracing::info!(process = self.shared.name, "stopping");
        self.shared.draining.store(true, Ordering::Release);
        self.publish_readiness();
        if !self.shared.drain_delay.is_zero() {
            tokio::time::sleep(self.shared.drain_delay).await;
        }
        self.shared.tasks.stop(self.shared.stop_timeout).await;
        tracing::info!(process = self.shared.name, "stopped");
    }

    fn publish_readiness(&self) {
        let parts = self.shared.parts.lock();
        let ready = parts.values().all(|ready| *ready) && !self.shared.draining.load(Ordering::Acquire);
        // Sent under the lock, so that the last change of a part is also the last one that watchers see.
        self.shared.ready.send_if_modified(|latest| std::mem::replace(latest, ready) != ready);
    }
}

/// One part's say in whether the process is ready.
#[derive(Debug, Clone)]
pub struct ReadyFlag {
    process: ProcessHandle,
    part: &'static str,
}

impl ReadyFlag {
    /// Says whether this part is ready.
    pub fn set(&self, ready: bool) {
        self.process.shared.parts.lock().insert(self.part, ready);
        self.process.publish_readiness();
    }
}
