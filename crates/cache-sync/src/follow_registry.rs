//! The loop that keeps the view alike: watches registry-core, applies what comes, tells how far it is; resumes or resyncs when the watch
//! breaks. Started by `CacheSync::start`; the only one who changes what is `shown`.

use crate::{
    config::{Config, FirstDeltaVersion},
    expiry::Expiry,
    interest::Interest,
    metrics::Metrics,
    refresh::{Due, Load, Refresh, Taken},
    shown::Shown,
    view::Level,
    view_state::{Gap, Now, Snapshot, ViewState},
};
use futures::StreamExt as _;
use registry_model::{Change, Mono, NodeId, Position, Revision, UnixMillis};
use registry_proto::{
    BoxStream, ConvertError, IntoModel as _, Registry,
    registry::{ChangeBatch, ResumeToken, SnapshotPart, WatchRequest, WatchResponse, WatchStart, watch_response::Step},
};
use service_runtime::{Backoff, ProcessHandle, ReadyFlag, SharedClock};
use std::{sync::Arc, time::Duration};
use tokio::sync::{mpsc, watch};
use tonic::Status;

/// Why a watch is over.
#[derive(Debug, thiserror::Error)]
enum Broken {
    #[error("registry-core answered {}: {}", .0.code(), .0.message())]
    Status(#[from] Status),
    #[error("the watch ended")]
    Ended,
    #[error(transparent)]
    Message(#[from] ConvertError),
    #[error(transparent)]
    Gap(#[from] Gap),
    #[error("a {0} came where none belongs")]
    OutOfPlace(&'static str),
    #[error("the view is lost")]
    Lost(#[from] tokio::task::JoinError),
}

/// What a step has brought.
enum Progress {
    /// A newer view.
    View,
    /// Nothing that can be shown yet.
    Nothing,
}

/// So many lease times are taken in passing; more leave the async threads.
const FEW_LEASES: usize = 256;

/// The loop and all that it owns.
pub(crate) struct FollowRegistry {
    registry: Registry,
    shown: Arc<Shown>,
    retention: Duration,
    retention_interval: Duration,
    /// When the delta is next looked through for old entries.
    next_retention: Mono,
    refresh: Refresh,
    /// How far the view is; none before the first snapshot.
    level: watch::Sender<Option<Level>>,
    clock: SharedClock,
    ready: ReadyFlag,
    metrics: Arc<Metrics>,
}

impl FollowRegistry {
    pub(crate) fn new(
        config: &Config,
        registry: Registry,
        level: watch::Sender<Option<Level>>,
        interest: Arc<Interest>,
        loads: mpsc::Receiver<Load>,
        metrics: Arc<Metrics>,
        process: &ProcessHandle,
    ) -> Self {
        let clock = process.clock();
        let now = clock.mono();
        let first_version = match config.first_delta_version {
            FirstDeltaVersion::Time => clock.unix().0,
            FirstDeltaVersion::One => 1,
        };
        let expiry = Expiry { after: config.response_cache_expiration, spread: config.response_cache_expiry_spread };
        Self {
            refresh: Refresh::new(Arc::clone(&registry), expiry, interest, loads, now),
            registry,
            shown: Arc::new(Shown::new(ViewState::new(config.retention_time_in_delta_queue, first_version))),
            retention: config.retention_time_in_delta_queue,
            retention_interval: config.delta_retention_timer_interval,
            next_retention: now + config.delta_retention_timer_interval,
            level,
            ready: process.readiness("cache-sync view"),
            clock,
            metrics,
        }
    }

    /// What followers are shown.
    pub(crate) fn shown(&self) -> Arc<Shown> {
        Arc::clone(&self.shown)
    }

    fn resume(&self) -> Option<(NodeId, Position)> {
        self.shown.look(ViewState::resume)
    }

    /// Follows until the process stops.
    pub(crate) async fn run(mut self, process: ProcessHandle) -> anyhow::Result<()> {
        let stopping = process.stopping();
        let mut backoff = Backoff::new(Duration::from_millis(20), Duration::from_secs(2));
        loop {
            let broken = tokio::select! {
                () = stopping.cancelled() => return Ok(()),
                broken = self.watch(&mut backoff) => broken,
            };
            if stopping.is_cancelled() {
                return Ok(());
            }
            self.refresh.give_up(self.clock.mono());
            if let Broken::Lost(error) = broken {
                // What was worked on is gone; an empty view must not take its place.
                return Err(error.into());
            }
            self.metrics.watch_breaks.inc();
            tracing::warn!(error = %broken, "the watch of registry-core broke, the view stays as it is");
            tokio::select! {
                () = stopping.cancelled() => return Ok(()),
                // Waiting for another process is not the registry's time: it must not stand still with a manual clock.
                () = tokio::time::sleep(backoff.next_delay()) => {}
                never = self.refresh.refuse_loads() => match never {},
            }
        }
    }

    fn now(&self) -> Now {
        Now { mono: self.clock.mono(), unix: self.clock.unix() }
    }

    /// One watch, to its end.
    async fn watch(&mut self, backoff: &mut Backoff) -> Broken {
        let resume = self.resume();
        // The first snapshot brings the delta of the past minutes along; later ones are compared with the view.
        let recent = if resume.is_none() { self.retention } else { Duration::ZERO };
        let request = WatchRequest {
            resume: resume.map(|(node, position)| ResumeToken { node: node.0, position: Some(position.into()) }),
            recent_ms: u64::try_from(recent.as_millis()).unwrap_or(u64::MAX),
        };
        let opened = tokio::select! {
            opened = self.registry.watch(tonic::Request::new(request)) => opened,
            never = self.refresh.refuse_loads() => match never {},
        };
        let mut stream = match opened {
            Ok(response) => response.into_inner(),
            Err(status) => return status.into(),
        };
        let mut arriving = None;
        loop {
            let next = tokio::select! {
                next = next_step(&mut stream) => next,
                due = self.refresh.due(&self.clock) => {
                    if let Err(broken) = self.refresh(due).await {
                        return broken;
                    }
                    continue;
                }
                () = self.clock.sleep_until(self.next_retention) => {
                    self.drop_old_changes().await;
                    continue;
                }
            };
            let taken = match next {
                Ok(step) => self.take(step, &mut arriving).await,
                Err(broken) => Err(broken),
            };
            match taken {
                Ok(Progress::View) => backoff.reset(),
                // A watch that ends before it has brought anything is no success, or a bad record would be read over and over.
                Ok(Progress::Nothing) => {}
                Err(broken) => return broken,
            }
        }
    }

    async fn take(&mut self, step: Step, arriving: &mut Option<Snapshot>) -> Result<Progress, Broken> {
        match step {
            Step::Start(start) => {
                *arriving = self.start(&start).await?;
                return Ok(Progress::Nothing);
            }
            Step::Snapshot(part) => {
                add_part(arriving.as_mut().ok_or(Broken::OutOfPlace("snapshot part"))?, part)?;
                return Ok(Progress::Nothing);
            }
            Step::SnapshotEnd(end) => {
                let snapshot = arriving.take().ok_or(Broken::OutOfPlace("snapshot end"))?;
                if self.resume().is_none() && self.now().unix.since(UnixMillis(end.recent_since_ms)) < self.retention {
                    tracing::warn!(
                        since_ms = end.recent_since_ms,
                        "the change log is shorter than the delta's retention"
                    );
                }
                tracing::info!(position = %snapshot.position, instances = snapshot.records.len(), warm = snapshot.warm, "snapshot of the registry");
                self.metrics.snapshots.inc();
                self.apart(move |state, now| state.snapshot(snapshot, now)).await?;
            }
            Step::Changes(batch) => self.changes(batch)?,
            Step::Warm(_) => self.apart(ViewState::warm).await?,
            Step::GateOpened(_) => self.shown.change(ViewState::open_gate),
        }
        self.publish();
        Ok(Progress::View)
    }

    async fn start(&mut self, start: &WatchStart) -> Result<Option<Snapshot>, Broken> {
        let position: Position = start.position.into_model()?;
        let node = NodeId(start.node);
        if start.snapshot_follows {
            let (records, recent) = Default::default();
            let (warm, gate_open) = (start.warm, !start.gate_closed);
            return Ok(Some(Snapshot { node, position, warm, gate_open, records, recent }));
        }
        if self.resume() != Some((node, position)) {
            return Err(Broken::OutOfPlace("resumed position"));
        }
        // It may have become warm, or opened the gate, while there was no watch to say it.
        if start.warm {
            self.apart(ViewState::warm).await?;
        }
        if !start.gate_closed {
            self.shown.change(ViewState::open_gate);
        }
        if start.warm || !start.gate_closed {
            self.publish();
        }
        Ok(None)
    }

    /// Works on the whole view off the async threads.
    async fn apart<R: Send + 'static>(
        &mut self,
        work: impl FnOnce(&mut ViewState, Now) -> R + Send + 'static,
    ) -> Result<R, Broken> {
        let now = self.now();
        let mut state = self.shown.take();
        let worked = tokio::task::spawn_blocking(move || {
            let result = work(&mut state, now);
            (state, result)
        });
        let (state, result) = worked.await?;
        self.shown.bring_back(state);
        Ok(result)
    }

    fn changes(&mut self, batch: ChangeBatch) -> Result<(), Broken> {
        let changes =
            batch.changes.into_iter().map(|change| change.into_model()).collect::<Result<Vec<Change>, _>>()?;
        self.metrics.changes.inc_by(changes.len() as u64);
        let (previous, revision) = (Revision(batch.previous_revision), Revision(batch.revision));
        let now = self.clock.mono();
        Ok(self.shown.change(|state| state.changes(previous, revision, changes, now))?)
    }

    async fn drop_old_changes(&mut self) {
        let now = self.clock.mono();
        while self.shown.change(|state| state.drop_old_changes(now)) {
            tokio::task::yield_now().await;
        }
        self.next_retention = (self.next_retention + self.retention_interval).max(now);
    }

    async fn refresh(&mut self, due: Due) -> Result<(), Broken> {
        let now = self.clock.mono();
        match due {
            Due::Look => {
                let (scopes, expiry) = (self.refresh.scopes(), self.refresh.expiry);
                let (stale, next) = self.shown.look(|state| state.expired(&scopes, expiry, now));
                self.refresh.look_at(next, now);
                if !stale.is_empty() {
                    self.refresh.read(stale, None, now);
                }
            }
            Due::Load(Load { scopes, done }) => {
                let stale = self.shown.look(|state| state.whole(&scopes, now));
                self.refresh.read(stale, Some(done), now);
            }
            Due::Take(Taken { stale, asked, reading: Ok(reading), waiting }) => {
                self.metrics.pages_refreshed.inc_by(stale.len() as u64);
                let changes = if reading.len() > FEW_LEASES {
                    self.apart(move |state, now| state.read_lease_times(&stale, reading, asked, now.mono)).await?
                } else {
                    self.shown.change(|state| state.read_lease_times(&stale, reading, asked, now))
                };
                if changes {
                    self.publish();
                }
                self.refresh.taken(now);
                if let Some(waiting) = waiting {
                    // Whoever has gone away does not want to know.
                    let _ = waiting.send(());
                }
            }
            Due::Take(Taken { reading: Err(status), .. }) => {
                tracing::debug!(code = ?status.code(), reason = status.message(), "lease times could not be read");
                self.refresh.failed(now);
            }
        }
        Ok(())
    }

    fn publish(&self) {
        let (level, counts) = self.shown.look(|state| (state.level(), state.counts()));
        if let Some(level) = level {
            self.metrics.revision.set(level.position.revision.0);
            self.metrics.instances.set(counts.total());
            self.ready.set(true);
        }
        self.level.send_replace(level);
    }
}

async fn next_step(stream: &mut BoxStream<WatchResponse>) -> Result<Step, Broken> {
    stream.next().await.ok_or(Broken::Ended)??.step.ok_or(Broken::Message(ConvertError::Missing("step")))
}

fn add_part(arriving: &mut Snapshot, part: SnapshotPart) -> Result<(), ConvertError> {
    for record in part.records {
        arriving.records.push(record.into_model()?);
    }
    for change in part.recent {
        arriving.recent.push(change.into_model()?);
    }
    Ok(())
}
