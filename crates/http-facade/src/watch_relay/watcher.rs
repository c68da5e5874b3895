//! One watcher's place in the history: what it is sent next. A state machine without a queue; polled by the stream that
//! `watch_relay` hands out, and by nobody else.

use super::{
    Held,
    history::{History, Snapshot},
    log::Reading,
    records::{Limit, Place},
};
use parking_lot::Mutex;
use registry_model::{Position, Revision, UnixMillis};
use registry_proto::{
    registry::{
        ChangeBatch, GateOpenedNotice, ResumeToken, SnapshotEnd, SnapshotPart, WarmNotice, WatchRequest, WatchStart,
        watch_response::Step,
    },
    types,
};
use std::{sync::Weak, time::Duration};
use tonic::Status;

/// How much one message carries. A watcher that does not read holds about one of them.
pub(super) const PART: Limit = Limit { count: 256, bytes: 128 << 10 };

/// What a watcher is to be told.
#[derive(Debug)]
pub(super) enum Next {
    Send(Step),
    /// Nothing before the history gets on.
    Wait,
    /// Nothing before the history gets to where the watcher has been; for a while.
    CatchUp,
    /// The watch is over.
    Fail(Status),
}

#[derive(Debug)]
enum Stage {
    /// Nothing has been sent yet, or all that was sent is void.
    Starting(Option<ResumeToken>),
    Sending(Sending),
    /// Everything up to this position has been sent.
    Following(Position),
}

/// A snapshot under way.
#[derive(Clone, Debug)]
struct Sending {
    /// Not held: a watcher that does not read keeps no snapshot alive.
    snapshot: Weak<Snapshot>,
    position: Position,
    part: Part,
    /// From when on recent changes were asked for.
    since: UnixMillis,
}

#[derive(Clone, Copy, Debug)]
enum Part {
    Records(Place),
    /// Recent changes, up to this revision sent.
    Recent(Revision),
}

/// One watcher.
#[derive(Debug)]
pub(super) struct Watcher {
    recent: Duration,
    told_warm: bool,
    told_open: bool,
    stage: Stage,
    limit: Limit,
}

impl Watcher {
    pub(super) fn new(request: &WatchRequest, limit: Limit) -> Self {
        Self {
            recent: Duration::from_millis(request.recent_ms),
            told_warm: false,
            told_open: false,
            stage: Stage::Starting(request.resume),
            limit,
        }
    }

    /// The watcher has waited long enough for the history to get to where it has been.
    pub(super) fn start_anew(&mut self) {
        self.stage = Stage::Starting(None);
    }

    /// What comes next at this time on the wall. The lock is not held for reading a snapshot.
    pub(super) fn next(&mut self, held: &Mutex<Held>, now: UnixMillis) -> Next {
        if let Stage::Sending(Sending { snapshot, part: Part::Records(place), .. }) = &mut self.stage {
            let Some(snapshot) = snapshot.upgrade() else {
                // The log does not lead on from it any more.
                self.start_anew();
                return self.next_of_history(held, now);
            };
            let records = snapshot.records.part(place, self.limit);
            if !records.is_empty() {
                return Next::Send(Step::Snapshot(SnapshotPart { records, recent: Vec::new() }));
            }
        }
        self.next_of_history(held, now)
    }

    fn next_of_history(&mut self, held: &Mutex<Held>, now: UnixMillis) -> Next {
        let mut held = held.lock();
        if !held.running {
            return Next::Fail(Status::unavailable("the registry is not watched any more"));
        }
        let Held { history, away, .. } = &mut *held;
        let Some(history) = history else {
            return match away {
                Some(status) => Next::Fail(status.clone()),
                None => Next::Wait,
            };
        };
        match &self.stage {
            Stage::Starting(None) => self.start_over(history, now),
            Stage::Starting(Some(token)) => match history.recognises(*token) {
                Some(position) if history.reaches(position) => self.resume(history, position),
                Some(position) if position.revision > history.position().revision => match away {
                    // Another facade may know more.
                    Some(status) => Next::Fail(status.clone()),
                    None => Next::CatchUp,
                },
                Some(_) | None => self.start_over(history, now),
            },
            Stage::Sending(sending) => {
                let sending = sending.clone();
                self.send(history, sending, now)
            }
            Stage::Following(position) => {
                let position = *position;
                self.follow(history, position, now)
            }
        }
    }

    fn resume(&mut self, history: &History, position: Position) -> Next {
        // Warm only if it was so at that position: what was registered between is not known to the watcher yet.
        self.told_warm = history.is_warm_at(position.revision);
        self.told_open = history.is_open_at(position.revision);
        self.stage = Stage::Following(position);
        Next::Send(Step::Start(self.start(history, position, false)))
    }

    fn start_over(&mut self, history: &mut History, now: UnixMillis) -> Next {
        let (revision, snapshot) = history.snapshot();
        let position = history.at(revision);
        self.told_warm = history.is_warm_at(revision);
        self.told_open = history.is_open_at(revision);
        // None are complete from after now on.
        let since = if self.recent.is_zero() { now + Duration::from_millis(1) } else { now - self.recent };
        self.stage = Stage::Sending(Sending { snapshot, position, part: Part::Records(Place::default()), since });
        Next::Send(Step::Start(self.start(history, position, true)))
    }

    fn start(&self, history: &History, position: Position, snapshot_follows: bool) -> WatchStart {
        WatchStart {
            node: history.node().0,
            position: Some(types::Position::from(position)),
            snapshot_follows,
            warm: self.told_warm,
            gate_closed: !self.told_open,
            warm_since: history.warm_since().filter(|_| self.told_warm).map(|since| since.0),
            open_since: history.open_since().filter(|_| self.told_open).map(|since| since.0),
        }
    }

    /// What follows the records of a snapshot: recent changes, then its end.
    fn send(&mut self, history: &mut History, mut sending: Sending, now: UnixMillis) -> Next {
        if !history.reaches(sending.position) {
            return self.start_over(history, now);
        }
        let (since, through) = (sending.since, sending.position.revision);
        let sent = match sending.part {
            // Whoever asks for none gets none, though registry-core's clock be ahead.
            Part::Records(_) if self.recent.is_zero() => through,
            Part::Records(_) => history.before_recent(since, through),
            Part::Recent(sent) => sent,
        };
        let recent = history.recent(sent, through, self.limit);
        if let Some(last) = recent.last() {
            sending.part = Part::Recent(Revision(last.revision));
            self.stage = Stage::Sending(sending);
            return Next::Send(Step::Snapshot(SnapshotPart { records: Vec::new(), recent }));
        }
        self.stage = Stage::Following(sending.position);
        let recent_since_ms = since.max(history.complete_since()).0;
        Next::Send(Step::SnapshotEnd(SnapshotEnd { recent_since_ms }))
    }

    fn follow(&mut self, history: &mut History, position: Position, now: UnixMillis) -> Next {
        if !history.reaches(position) {
            return self.start_over(history, now);
        }
        if !self.told_warm && history.is_warm_at(position.revision) {
            self.told_warm = true;
            return Next::Send(Step::Warm(WarmNotice {}));
        }
        // Not before what the start-up sync has brought.
        if !self.told_open && history.is_open_at(position.revision) {
            self.told_open = true;
            return Next::Send(Step::GateOpened(GateOpenedNotice {}));
        }
        let changes = match history.after(position, self.limit) {
            Reading::Changes(changes) => changes,
            Reading::OutOfReach => return self.start_over(history, now),
        };
        let Some(last) = changes.last() else { return Next::Wait };
        let latest = Revision(last.revision);
        self.stage = Stage::Following(Position { revision: latest, ..position });
        let previous = position.revision.0;
        Next::Send(Step::Changes(ChangeBatch { previous_revision: previous, revision: latest.0, changes }))
    }
}
