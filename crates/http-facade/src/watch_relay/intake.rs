//! Takes the steps of the relay's own watch into the history. One per stream; driven by `watch_relay`'s loop.

use super::{
    Held,
    history::{Beginning, History, Shared},
    records::{Limit, Records},
};
use parking_lot::Mutex;
use registry_model::{ActionType, NodeId, Position, Revision, UnixMillis};
use registry_proto::{
    ConvertError, IntoModel as _,
    registry::{ChangeBatch, SnapshotPart, WatchStart, watch_response::Step},
};
use std::sync::Arc;
use tonic::Status;

/// Why a watch of registry-core is over.
#[derive(Debug, thiserror::Error)]
pub(super) enum Broken {
    #[error("registry-core answered {}: {}", .0.code(), .0.message())]
    Status(#[from] Status),
    #[error("the watch ended")]
    Ended,
    #[error(transparent)]
    Message(#[from] ConvertError),
    #[error("a {0} came where none belongs")]
    OutOfPlace(&'static str),
    #[error("changes after revision {previous} came at revision {held}")]
    Gap { previous: u64, held: u64 },
}

/// What a step has brought.
#[derive(Debug)]
pub(super) enum Progress {
    /// Nothing that watchers can be told yet.
    Nothing,
    /// More of the same life.
    Advanced,
    /// A snapshot, and what it takes the place of.
    Replaced(Option<Box<History>>),
}

/// A snapshot of which not all has come.
struct Arriving {
    beginning: Beginning,
    records: Records,
    recent: Vec<Shared>,
}

enum Stage {
    /// Nothing has come yet; this was asked for.
    Asked(Option<(NodeId, Position)>),
    Arriving(Box<Arriving>),
    Following,
}

/// One stream's place.
pub(super) struct Intake {
    capacity: Limit,
    stage: Stage,
}

impl Intake {
    /// A stream that was asked to go on from a position, or to begin with a snapshot.
    pub(super) fn new(asked: Option<(NodeId, Position)>, capacity: Limit) -> Self {
        Self { capacity, stage: Stage::Asked(asked) }
    }

    /// Takes one step. What is held stays whole whatever comes: a snapshot takes its place when it is complete.
    pub(super) fn take(&mut self, step: Step, held: &Mutex<Held>) -> Result<Progress, Broken> {
        match step {
            Step::Start(start) => self.start(&start, held),
            Step::Snapshot(part) => {
                let Stage::Arriving(arriving) = &mut self.stage else {
                    return Err(Broken::OutOfPlace("snapshot part"));
                };
                arriving.add(part)?;
                Ok(Progress::Nothing)
            }
            Step::SnapshotEnd(end) => {
                let Stage::Arriving(arriving) = std::mem::replace(&mut self.stage, Stage::Following) else {
                    return Err(Broken::OutOfPlace("snapshot end"));
                };
                let Arriving { beginning, records, recent } = *arriving;
                let since = UnixMillis(end.recent_since_ms);
                let history = Box::new(History::new(beginning, records, recent, since, self.capacity));
                tracing::info!(position = %history.position(), warm = beginning.warm_since.is_some(), "snapshot of the registry for watchers");
                Ok(Progress::Replaced(held.lock().history.replace(history)))
            }
            Step::Changes(batch) => {
                let previous = batch.previous_revision;
                let changes = changes(batch)?;
                self.follow(held, "batch of changes", |history| {
                    let latest = history.position().revision.0;
                    if latest != previous {
                        return Err(Broken::Gap { previous, held: latest });
                    }
                    history.append(changes);
                    Ok(())
                })
            }
            Step::Warm(_) => self.follow(held, "warm notice", |history| {
                history.warm();
                Ok(())
            }),
            Step::GateOpened(_) => self.follow(held, "gate notice", |history| {
                history.open_gate();
                Ok(())
            }),
        }
    }

    fn start(&mut self, start: &WatchStart, held: &Mutex<Held>) -> Result<Progress, Broken> {
        let node = NodeId(start.node);
        let position: Position = start.position.into_model()?;
        let (warm, open) = (start.warm, !start.gate_closed);
        if start.snapshot_follows {
            // The recent changes may reach further back than that.
            let since = |said: Option<u64>| said.map_or(position.revision, Revision);
            let warm_since = warm.then(|| since(start.warm_since));
            let open_since = open.then(|| since(start.open_since));
            let beginning = Beginning { node, position, warm_since, open_since };
            let (records, recent) = (Records::new(), Vec::new());
            self.stage = Stage::Arriving(Box::new(Arriving { beginning, records, recent }));
            return Ok(Progress::Nothing);
        }
        if !matches!(self.stage, Stage::Asked(Some(asked)) if asked == (node, position)) {
            return Err(Broken::OutOfPlace("resumed position"));
        }
        self.stage = Stage::Following;
        // It may have become warm, or opened the gate, while there was no watch to say it.
        self.follow(held, "resumed position", |history| {
            if warm {
                history.warm();
            }
            if open {
                history.open_gate();
            }
            Ok(())
        })
    }

    fn follow(
        &self,
        held: &Mutex<Held>,
        what: &'static str,
        work: impl FnOnce(&mut History) -> Result<(), Broken>,
    ) -> Result<Progress, Broken> {
        let mut held = held.lock();
        match (&self.stage, &mut held.history) {
            (Stage::Following, Some(history)) => work(history).map(|()| Progress::Advanced),
            (Stage::Following, None) | (Stage::Asked(_) | Stage::Arriving(_), _) => Err(Broken::OutOfPlace(what)),
        }
    }
}

impl Arriving {
    fn add(&mut self, part: SnapshotPart) -> Result<(), ConvertError> {
        for record in part.records {
            let record = record.into_model()?;
            if record.instance.action != ActionType::Deleted {
                self.records.put(Arc::clone(&record.instance), record.into());
            }
        }
        for change in part.recent {
            self.recent.push(change.into_model()?.into());
        }
        Ok(())
    }
}

/// The changes of a batch, which grow from its previous revision to its own.
fn changes(batch: ChangeBatch) -> Result<Vec<Shared>, Broken> {
    let mut last = Revision(batch.previous_revision);
    let mut changes: Vec<Shared> = Vec::with_capacity(batch.changes.len());
    for change in batch.changes {
        let change = Shared::from(change.into_model()?);
        if change.revision() <= last {
            return Err(Broken::OutOfPlace("change"));
        }
        last = change.revision();
        changes.push(change);
    }
    if last != Revision(batch.revision) {
        return Err(Broken::OutOfPlace("revision"));
    }
    Ok(changes)
}
