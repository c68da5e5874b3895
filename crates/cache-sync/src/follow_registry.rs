//! The loop that keeps the view alike: watches registry-core, applies what comes, publishes views; resumes or resyncs when the watch breaks.
//! Started by `CacheSync::start`; the only owner of the view in the making.

use crate::{
    config::Config,
    metrics::Metrics,
    view::View,
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
use tokio::sync::watch;
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

/// The loop and all that it owns.
pub(crate) struct FollowRegistry {
    registry: Registry,
    state: ViewState,
    retention: Duration,
    retention_interval: Duration,
    published: watch::Sender<Option<Arc<View>>>,
    published_at: Mono,
    /// Whether the published delta has entries that the state has dropped.
    outdated: bool,
    clock: SharedClock,
    ready: ReadyFlag,
    metrics: Arc<Metrics>,
}

impl FollowRegistry {
    pub(crate) fn new(
        config: &Config,
        registry: Registry,
        published: watch::Sender<Option<Arc<View>>>,
        metrics: Arc<Metrics>,
        process: &ProcessHandle,
    ) -> Self {
        let clock = process.clock();
        Self {
            registry,
            state: ViewState::new(config.retention_time_in_delta_queue, clock.unix()),
            retention: config.retention_time_in_delta_queue,
            retention_interval: config.delta_retention_timer_interval,
            published,
            published_at: clock.mono(),
            outdated: false,
            ready: process.readiness("cache-sync view"),
            clock,
            metrics,
        }
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
            }
        }
    }

    fn now(&self) -> Now {
        Now { mono: self.clock.mono(), unix: self.clock.unix() }
    }

    /// One watch, to its end.
    async fn watch(&mut self, backoff: &mut Backoff) -> Broken {
        let resume = self.state.resume();
        // The first snapshot brings the delta of the past minutes along; later ones are compared with the view.
        let recent = if resume.is_none() { self.retention } else { Duration::ZERO };
        let request = WatchRequest {
            resume: resume.map(|(node, position)| ResumeToken { node: node.0, position: Some(position.into()) }),
            recent_ms: u64::try_from(recent.as_millis()).unwrap_or(u64::MAX),
        };
        let mut stream = match self.registry.watch(tonic::Request::new(request)).await {
            Ok(response) => response.into_inner(),
            Err(status) => return status.into(),
        };
        let mut arriving = None;
        loop {
            let next = tokio::select! {
                next = next_step(&mut stream) => next,
                () = self.clock.sleep(self.retention_interval) => {
                    self.drop_old_changes();
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
                if self.state.resume().is_none()
                    && self.now().unix.since(UnixMillis(end.recent_since_ms)) < self.retention
                {
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
        }
        self.publish();
        Ok(Progress::View)
    }

    async fn start(&mut self, start: &WatchStart) -> Result<Option<Snapshot>, Broken> {
        let position: Position = start.position.into_model()?;
        let node = NodeId(start.node);
        if start.snapshot_follows {
            return Ok(Some(Snapshot { node, position, warm: start.warm, records: Vec::new(), recent: Vec::new() }));
        }
        if self.state.resume() != Some((node, position)) {
            return Err(Broken::OutOfPlace("resumed position"));
        }
        if start.warm {
            // It may have become so while there was no watch to say it.
            self.apart(ViewState::warm).await?;
            self.publish();
        }
        Ok(None)
    }

    /// Works on the whole view off the async threads: 100,000 instances take a good part of a second.
    async fn apart(&mut self, work: impl FnOnce(&mut ViewState, Now) + Send + 'static) -> Result<(), Broken> {
        let now = self.now();
        let mut state = std::mem::replace(&mut self.state, ViewState::new(self.retention, now.unix));
        let worked = tokio::task::spawn_blocking(move || {
            work(&mut state, now);
            state
        });
        self.state = worked.await?;
        Ok(())
    }

    fn changes(&mut self, batch: ChangeBatch) -> Result<(), Broken> {
        let changes =
            batch.changes.into_iter().map(|change| change.into_model()).collect::<Result<Vec<Change>, _>>()?;
        self.metrics.changes.inc_by(changes.len() as u64);
        let (previous, revision) = (Revision(batch.previous_revision), Revision(batch.revision));
        Ok(self.state.changes(previous, revision, changes, self.clock.mono())?)
    }

    /// Leaving the delta by age rebuilds nothing, until a document is as old as its entries may be.
    fn drop_old_changes(&mut self) {
        let now = self.clock.mono();
        self.outdated |= self.state.drop_old_changes(now);
        if self.outdated && now.saturating_since(self.published_at) >= self.retention {
            self.publish();
        }
    }

    fn publish(&mut self) {
        self.published_at = self.clock.mono();
        self.outdated = false;
        let view = self.state.view();
        if let Some(view) = &view {
            self.metrics.revision.set(view.position.revision.0);
            self.metrics.instances.set(view.counts.total());
            self.ready.set(true);
        }
        self.published.send_replace(view);
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
