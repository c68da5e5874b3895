//! Tells watches that there is something new: the latest revision, since when the registry is complete,
//! and whether lists may be served.
//! Told by `registry`, waited on by `service::watch`. No queue: a watch reads the log from its own place.

use registry_model::Revision;
use tokio::sync::watch;

/// What watches wait on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Level {
    /// The latest change.
    pub(crate) latest: Revision,
    /// The last change before the registry became warm; absent while it is cold.
    pub(crate) warm_since: Option<Revision>,
    /// The last change before lists might be served; absent while they may not.
    pub(crate) open_since: Option<Revision>,
}

/// The latest level, for any number of watches.
#[derive(Debug, Default)]
pub(crate) struct WatchHub {
    /// Sent by commands, received by each watch; only the latest value is kept.
    level: watch::Sender<Level>,
}

impl WatchHub {
    /// The present level.
    pub(crate) fn level(&self) -> Level {
        *self.level.borrow()
    }

    /// Follows the level from now on.
    pub(crate) fn follow(&self) -> watch::Receiver<Level> {
        self.level.subscribe()
    }

    /// Announces a change.
    pub(crate) fn changed(&self, latest: Revision) {
        self.level.send_modify(|level| level.latest = latest);
    }

    /// Announces that the registry is complete at this revision; only the first time counts.
    pub(crate) fn warm(&self, since: Revision) {
        self.level.send_if_modified(|level| {
            let first = level.warm_since.is_none();
            level.warm_since.get_or_insert(since);
            first
        });
    }

    /// Announces that lists may be served from this revision on; whether that is new.
    pub(crate) fn open_gate(&self, since: Revision) -> bool {
        self.level.send_if_modified(|level| {
            let first = level.open_since.is_none();
            level.open_since.get_or_insert(since);
            first
        })
    }
}
