//! The change stream: a snapshot first where the log does not reach back, then changes. Called by cache-sync and peers.
//!
//! A watch has no task and no queue: it is a state machine that reads the log from its own place whenever it is polled. One
//! that falls behind the log starts over with a snapshot; it slows nobody.

#[cfg(test)]
mod tests;

use crate::{
    change_log::{Limit, Reading},
    registry::Registry,
    snapshot::{SnapshotParts, SnapshotStep},
    watch_hub::Level,
};
use registry_model::{NodeId, Position, Revision};
use registry_proto::{
    BoxStream,
    registry::{
        ChangeBatch, GateOpenedNotice, ResumeToken, WarmNotice, WatchRequest, WatchResponse, WatchStart,
        watch_response::Step,
    },
    types,
};
use std::{sync::Arc, time::Duration};
use tokio::{sync::watch, time::Instant};
use tokio_util::sync::CancellationToken;
use tonic::Status;

/// How much one message carries: far below the largest message, and quickly encoded.
const CHANGES: Limit = Limit { messages: 512, bytes: PART_BYTES };
const SNAPSHOT: Limit = Limit { messages: 1000, bytes: PART_BYTES };
/// A little under 1 MiB, as sizes are estimates.
const PART_BYTES: usize = 900 << 10;

/// A lone change leaves at once; what follows within this time goes together.
const COALESCE: Duration = Duration::from_millis(2);
/// So many changes need more than one message, or soon will.
const FAR_BEHIND: u64 = 256;

/// The stream of one watch; it ends when the process stops.
pub(super) fn stream(
    registry: &Arc<Registry>,
    request: &WatchRequest,
    stopping: CancellationToken,
) -> BoxStream<WatchResponse> {
    let watch = Watch::new(Arc::clone(registry), request);
    let steps = futures::stream::unfold((watch, stopping), async |(mut watch, stopping)| {
        // Asked first, so that a watch that always has something to send ends too.
        if stopping.is_cancelled() {
            return None;
        }
        let step = stopping.run_until_cancelled(watch.next()).await??;
        Some((step, (watch, stopping)))
    });
    Box::pin(steps)
}

/// One watcher's place in the history.
struct Watch {
    registry: Arc<Registry>,
    level: watch::Receiver<Level>,
    recent: Duration,
    told_warm: bool,
    told_open: bool,
    rest_until: Option<Instant>,
    stage: Stage,
}

enum Stage {
    /// Nothing has been sent yet.
    Starting(Option<ResumeToken>),
    /// A snapshot is under way; changes go on from its revision.
    Sending(Box<SnapshotParts>, Revision),
    /// Everything up to this revision has been sent.
    Following(Revision),
}

/// What there is to do for a watcher that follows.
enum Next {
    Send(Step),
    StartOver,
    Wait,
}

impl Watch {
    fn new(registry: Arc<Registry>, request: &WatchRequest) -> Self {
        registry.metrics().watches_started.inc();
        Self {
            level: registry.hub().follow(),
            recent: Duration::from_millis(request.recent_ms),
            told_warm: false,
            told_open: false,
            rest_until: None,
            stage: Stage::Starting(request.resume),
            registry,
        }
    }

    /// The next message. Safe to drop at any await: nothing has moved on by then.
    async fn next(&mut self) -> Option<Result<WatchResponse, Status>> {
        loop {
            let step = match &mut self.stage {
                Stage::Starting(resume) => {
                    let resumed = resume.take().and_then(|resume| self.resumed(resume));
                    match resumed {
                        Some(position) => self.resume(position),
                        None => match self.start_over().await {
                            Ok(step) => step,
                            Err(status) => return Some(Err(status)),
                        },
                    }
                }
                Stage::Sending(parts, revision) => match parts.next() {
                    Some(SnapshotStep::Part(part)) => Step::Snapshot(part),
                    Some(SnapshotStep::End(end)) => {
                        self.stage = Stage::Following(*revision);
                        Step::SnapshotEnd(end)
                    }
                    None => {
                        self.stage = Stage::Following(*revision);
                        continue;
                    }
                },
                Stage::Following(revision) => {
                    let revision = *revision;
                    if let Some(rest_until) = self.rest_until {
                        tokio::time::sleep_until(rest_until).await;
                        self.rest_until = None;
                    }
                    match self.after(revision) {
                        Next::Send(step) => step,
                        Next::StartOver => {
                            self.stage = Stage::Starting(None);
                            continue;
                        }
                        Next::Wait => {
                            // The hub lives in the registry that this watch holds, so this does not fail.
                            self.level.changed().await.ok()?;
                            continue;
                        }
                    }
                }
            };
            return Some(Ok(WatchResponse { step: Some(step) }));
        }
    }

    /// The position to go on from, where the token is of this life and the log reaches back to it.
    fn resumed(&self, resume: ResumeToken) -> Option<Position> {
        let position = Position::from(resume.position?);
        (NodeId(resume.node) == self.registry.life().node && self.registry.reaches(position)).then_some(position)
    }

    fn resume(&mut self, position: Position) -> Step {
        // Warm only if it was so at that position: what was registered between is not known to the watcher yet.
        self.told_warm = self.is_warm_at(position.revision);
        self.told_open = self.is_open_at(position.revision);
        self.stage = Stage::Following(position.revision);
        Step::Start(self.start(position.revision, SnapshotFollows::No))
    }

    async fn start_over(&mut self) -> Result<Step, Status> {
        let registry = Arc::clone(&self.registry);
        let recent = self.recent;
        // All leases are visited: more than an async thread should do in one go.
        let snapshot = tokio::task::spawn_blocking(move || registry.snapshot(recent))
            .await
            .map_err(|error| Status::internal(format!("take a snapshot: {error}")))?;
        let revision = snapshot.revision;
        self.told_warm |= snapshot.warm;
        self.told_open |= self.is_open_at(revision);
        self.stage = Stage::Sending(Box::new(SnapshotParts::of(snapshot, self.registry.expiry(), SNAPSHOT)), revision);
        Ok(Step::Start(self.start(revision, SnapshotFollows::Yes)))
    }

    fn start(&self, revision: Revision, snapshot: SnapshotFollows) -> WatchStart {
        let level = self.registry.hub().level();
        let by_then = |since: Option<Revision>| since.filter(|since| *since <= revision).map(|since| since.0);
        WatchStart {
            node: self.registry.life().node.0,
            position: Some(types::Position::from(self.registry.position(revision))),
            snapshot_follows: matches!(snapshot, SnapshotFollows::Yes),
            warm: self.told_warm,
            gate_closed: !self.told_open,
            warm_since: by_then(level.warm_since).filter(|_| self.told_warm),
            open_since: by_then(level.open_since).filter(|_| self.told_open),
        }
    }

    /// What follows `revision`. The level is marked as seen before the log is read, so nothing falls between the two.
    fn after(&mut self, revision: Revision) -> Next {
        self.level.mark_unchanged();
        if !self.told_warm && self.is_warm_at(revision) {
            self.told_warm = true;
            return Next::Send(Step::Warm(WarmNotice {}));
        }
        // Not before what the start-up sync has brought.
        if !self.told_open && self.is_open_at(revision) {
            self.told_open = true;
            return Next::Send(Step::GateOpened(GateOpenedNotice {}));
        }
        let changes = match self.registry.changes_after(revision, CHANGES) {
            Reading::Changes(changes) => changes,
            Reading::OutOfReach => return Next::StartOver,
        };
        let Some(last) = changes.last() else { return Next::Wait };
        let latest = Revision(last.revision);
        self.stage = Stage::Following(latest);
        // Who is far behind has no time to lose.
        if self.registry.hub().level().latest.0.saturating_sub(latest.0) < FAR_BEHIND {
            self.rest_until = Some(Instant::now() + COALESCE);
        }
        Next::Send(Step::Changes(ChangeBatch { previous_revision: revision.0, revision: latest.0, changes }))
    }

    fn is_open_at(&self, revision: Revision) -> bool {
        self.registry.hub().level().open_since.is_some_and(|since| revision >= since)
    }

    fn is_warm_at(&self, revision: Revision) -> bool {
        self.registry.hub().level().warm_since.is_some_and(|since| revision >= since)
    }
}

enum SnapshotFollows {
    Yes,
    No,
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.registry.metrics().watches_ended.inc();
    }
}
