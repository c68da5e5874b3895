//! Serves the watches of users from one watch of registry-core, so that watchers scale with facades. Called by
//! `registry_service`; calls registry-core's `Watch`.
//!
//! The first watcher opens that one watch. It is closed, and all that is held dropped, once there has been no watcher for
//! [`LINGER`]: what is held is a copy of the registry where registry-core is another process, which a facade without watchers
//! need not pay for, while a lone watcher that reconnects still finds the log.
//!
//! **What is held** (`history`): the instances at the latest revision, and a log of the latest changes, bounded by count and
//! bytes. Both share one message per instance, which is encoded once for all watchers. The log begins with the recent changes
//! that registry-core sends with its snapshot, so that tokens from before the watch was opened are good here too.
//!
//! **Where a watcher's snapshot comes from.** From what is held, not from registry-core: a thousand watchers that arrive at once,
//! or fall back together after a restart, cost registry-core nothing, and there are snapshots while registry-core is away.
//! Instances and log change together under one lock, so a snapshot is the registry at exactly the revision that it names, and what
//! follows it is in the log behind that revision: no gap, nothing twice. It shares its buckets with the live instances; a change
//! copies the one bucket that it touches, if a snapshot has it. Watchers do not own their snapshots (`Weak`): the history keeps
//! four at most, each while the log leads on from it, and hands out one that is near before it takes another. So memory is
//! bounded by the registry and the log, whatever watchers do, and however slowly they read. A watcher whose snapshot has
//! gone, or that has fallen out of the log, is sent another start and the next snapshot; it slows nobody. Lease times
//! in a snapshot are those of the last change: renewals are no changes, and who wants their times asks `GetLeaseTimes`.
//!
//! **Order.** A stream tells the revisions of one epoch in ascending order: a snapshot that a watcher falls back to is never behind
//! the log's reach, hence not behind what that watcher was told. A token that is ahead of what is held, as from another facade,
//! waits for a while ([`CATCH_UP`]) instead of being answered with the past.
//!
//! **When registry-core is lost** watchers stay connected; the relay's watch is opened anew with its own token. If it resumes,
//! watchers notice nothing. If a snapshot comes (a new epoch, or a gap), it replaces what is held when it is complete, and every watcher whose position
//! the new log does not reach is sent a snapshot. A watcher that comes while there is nothing to tell, and registry-core does not
//! answer, is refused as registry-core's callers are.

mod history;
mod intake;
mod log;
mod metrics;
mod records;
#[cfg(test)]
mod tests;
mod watcher;

use futures::StreamExt as _;
use history::History;
use intake::{Broken, Intake, Progress};
use metrics::Metrics;
use parking_lot::Mutex;
use records::Limit;
use registry_proto::{
    BoxStream, ConvertError, Registry,
    registry::{ResumeToken, WatchRequest, WatchResponse, WatchStart, watch_response::Step},
};
use service_runtime::{Backoff, ProcessHandle, SharedClock};
use std::{convert::Infallible, sync::Arc, time::Duration};
use tokio::sync::watch;
use tonic::{Request, Status};
use watcher::{Next, Watcher};

/// How long after its last watcher the watch of registry-core is kept.
const LINGER: Duration = Duration::from_secs(60);
/// How long a watcher waits for the relay to get to where it has been.
const CATCH_UP: Duration = Duration::from_secs(5);
/// As much as registry-core's own log holds by default.
const LOG: Limit = Limit { count: 65_536, bytes: 64 << 20 };
/// How far back the log begins where registry-core's reaches so far: what clients of the delta may miss.
const RECENT: Duration = Duration::from_secs(180);

const FIRST_DELAY: Duration = Duration::from_millis(50);
const LONGEST_DELAY: Duration = Duration::from_secs(5);

/// What watchers are served from.
#[derive(Debug, Default)]
struct Held {
    history: Option<Box<History>>,
    /// Why registry-core is not watched at the moment, where that has been tried.
    away: Option<Status>,
    /// Whether the loop runs. While there is a watcher it does.
    running: bool,
}

/// The relay of one facade.
pub(crate) struct WatchRelay {
    registry: Registry,
    process: ProcessHandle,
    clock: SharedClock,
    metrics: Metrics,
    /// Never held across an await.
    held: Mutex<Held>,
    /// Says that what is held has changed: sent by the loop, received by every watcher.
    changed: watch::Sender<()>,
    /// How many watchers there are: sent by them, under the lock of `held`; received by the loop.
    watchers: watch::Sender<usize>,
}

impl WatchRelay {
    pub(crate) fn new(registry: Registry, process: &ProcessHandle) -> Arc<Self> {
        Arc::new(Self {
            registry,
            process: process.clone(),
            clock: process.clock(),
            metrics: process.metrics().register(Metrics::new),
            held: Mutex::default(),
            changed: watch::Sender::default(),
            watchers: watch::Sender::default(),
        })
    }

    /// The stream of one watcher; it ends when the process stops.
    pub(crate) fn watch(self: &Arc<Self>, request: &WatchRequest) -> BoxStream<WatchResponse> {
        let stopping = self.process.stopping();
        let one = Watching {
            attendance: Attendance::of(self),
            changed: self.changed.subscribe(),
            watcher: Watcher::new(request, watcher::PART),
            failed: false,
        };
        let steps = futures::stream::unfold((one, stopping), async |(mut one, stopping)| {
            // Asked first, so that a watch that always has something to send ends too.
            if stopping.is_cancelled() {
                return None;
            }
            let step = stopping.run_until_cancelled(one.next()).await??;
            Some((step, (one, stopping)))
        });
        Box::pin(steps)
    }

    /// Watches registry-core until the last watcher is long gone, or the process stops.
    async fn run(self: Arc<Self>) {
        let mut running = Running { relay: Arc::clone(&self), closed: false };
        let stopping = self.process.stopping();
        tokio::select! {
            biased;
            () = stopping.cancelled() => {}
            // Beside the watches, not between them: a registry that is away must not keep alive what nobody needs.
            () = self.deserted(&mut running) => {}
            never = self.keep_watching() => match never {},
        }
    }

    /// One watch after another.
    async fn keep_watching(&self) -> Infallible {
        let mut backoff = Backoff::new(FIRST_DELAY, LONGEST_DELAY);
        loop {
            let broken = self.one_watch(&mut backoff).await;
            let delay = backoff.next_delay();
            self.metrics.breaks.inc();
            tracing::warn!(error = %broken, ?delay, "the watch of registry-core for users broke, they stay connected");
            self.held.lock().away = Some(match broken {
                Broken::Status(status) => status,
                Broken::Ended | Broken::Message(_) | Broken::OutOfPlace(_) | Broken::Gap { .. } => {
                    Status::unavailable("the registry cannot be watched at the moment")
                }
            });
            self.changed.send_replace(());
            self.clock.sleep(delay).await;
        }
    }

    /// One watch, to its end.
    async fn one_watch(&self, backoff: &mut Backoff) -> Broken {
        let asked = self.held.lock().history.as_ref().map(|history| (history.node(), history.position()));
        let request = WatchRequest {
            resume: asked.map(|(node, position)| ResumeToken { node: node.0, position: Some(position.into()) }),
            recent_ms: u64::try_from(RECENT.as_millis()).unwrap_or(u64::MAX),
        };
        let mut stream = match self.registry.watch(Request::new(request)).await {
            Ok(response) => response.into_inner(),
            Err(status) => return status.into(),
        };
        self.metrics.opened.inc();
        let mut intake = Intake::new(asked, LOG);
        loop {
            let step = match next_step(&mut stream).await {
                Ok(step) => step,
                Err(broken) => return broken,
            };
            let begins = matches!(step, Step::Start(_));
            match intake.take(step, &self.held) {
                // Parts that are at hand must not keep the thread from others.
                Ok(Progress::Nothing) => {
                    tokio::task::yield_now().await;
                    continue;
                }
                Ok(Progress::Advanced) => {}
                Ok(Progress::Replaced(old)) => drop_apart(old),
                Err(broken) => return broken,
            }
            // A watch that has only begun is no success, or what does not fit would be asked for over and over.
            if !begins {
                backoff.reset();
            }
            self.held.lock().away = None;
            self.changed.send_replace(());
        }
    }

    /// Completes once there has been no watcher for a while, and what is held has been dropped.
    async fn deserted(&self, running: &mut Running) {
        let mut watchers = self.watchers.subscribe();
        loop {
            // The sender is here, so neither of the two fails.
            let _ = watchers.wait_for(|watchers| *watchers == 0).await;
            tokio::select! {
                () = self.clock.sleep(LINGER) => {
                    if running.close() {
                        return;
                    }
                }
                _ = watchers.wait_for(|watchers| *watchers > 0) => {}
            }
        }
    }
}

async fn next_step(stream: &mut BoxStream<WatchResponse>) -> Result<Step, Broken> {
    stream.next().await.ok_or(Broken::Ended)??.step.ok_or(Broken::Message(ConvertError::Missing("step")))
}

/// Drops what may be a copy of the whole registry off the async threads.
fn drop_apart(old: Option<Box<History>>) {
    if let Some(old) = old {
        tokio::task::spawn_blocking(move || drop(old));
    }
}

/// The loop runs. However it ends, the watchers that are left learn of it.
struct Running {
    relay: Arc<WatchRelay>,
    closed: bool,
}

impl Running {
    /// Ends the loop unless a watcher has come meanwhile; whether it has to end.
    fn close(&mut self) -> bool {
        let mut held = self.relay.held.lock();
        if *self.relay.watchers.borrow() > 0 {
            return false;
        }
        drop_apart(held.history.take());
        held.running = false;
        self.closed = true;
        tracing::info!("nobody watches the registry here any more");
        true
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Another loop may run by now.
        if self.closed {
            return;
        }
        let mut held = self.relay.held.lock();
        held.running = false;
        let history = held.history.take();
        drop(held);
        drop(history);
        self.relay.changed.send_replace(());
    }
}

/// A watcher that is there. The first one starts the loop.
struct Attendance(Arc<WatchRelay>);

impl Attendance {
    fn of(relay: &Arc<WatchRelay>) -> Self {
        let mut held = relay.held.lock();
        relay.watchers.send_modify(|watchers| *watchers += 1);
        if !std::mem::replace(&mut held.running, true) {
            held.away = None;
            relay.process.spawn_short("watch the registry for users", Arc::clone(relay).run());
        }
        relay.metrics.started.inc();
        Self(Arc::clone(relay))
    }
}

impl Drop for Attendance {
    fn drop(&mut self) {
        let _held = self.0.held.lock();
        self.0.watchers.send_modify(|watchers| *watchers = watchers.saturating_sub(1));
        self.0.metrics.ended.inc();
    }
}

/// One watcher and what it waits on.
struct Watching {
    attendance: Attendance,
    changed: watch::Receiver<()>,
    watcher: Watcher,
    failed: bool,
}

impl Watching {
    /// The next message. Safe to drop at any await: nothing has moved on by then.
    async fn next(&mut self) -> Option<Result<WatchResponse, Status>> {
        let relay = &self.attendance.0;
        let mut patience = None;
        loop {
            if self.failed {
                return None;
            }
            // Marked as seen before what is held is read, so nothing falls between the two.
            self.changed.mark_unchanged();
            match self.watcher.next(&relay.held, relay.clock.unix()) {
                Next::Send(step) => {
                    if matches!(step, Step::Start(WatchStart { snapshot_follows: true, .. })) {
                        relay.metrics.snapshots.inc();
                    }
                    return Some(Ok(WatchResponse { step: Some(step) }));
                }
                Next::Fail(status) => {
                    self.failed = true;
                    return Some(Err(status));
                }
                // The relay holds the sender, so this does not fail.
                Next::Wait => self.changed.changed().await.ok()?,
                // Once for all changes meanwhile, which may never bring the relay there.
                Next::CatchUp => tokio::select! {
                    () = patience.get_or_insert_with(|| relay.clock.sleep(CATCH_UP)) => self.watcher.start_anew(),
                    changed = self.changed.changed() => changed.ok()?,
                },
            }
        }
    }
}
