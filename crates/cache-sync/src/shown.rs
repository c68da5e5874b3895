//! What followers are shown: the view in the making, and the views made of it. Changed by the loop in `follow_registry`, asked by
//! `service` on behalf of followers.
//!
//! A view is made when somebody asks, and ends with those who look at it. What no view shares is changed in place, so changes that
//! nobody looks at cost little.

use crate::{view::View, view_state::ViewState};
use parking_lot::Mutex;
use std::{mem, sync::Arc, time::Duration};

/// The view in the making. One loop changes it, anybody may ask for a view.
#[derive(Debug)]
pub(crate) struct Shown(Mutex<Inner>);

#[derive(Debug)]
struct Inner {
    state: ViewState,
    /// It is worked on elsewhere, and empty here; what was made before is shown.
    away: bool,
    /// The view that was made last, until something changes.
    made: Option<Arc<View>>,
}

impl Inner {
    fn view(&mut self) -> Option<Arc<View>> {
        if self.made.is_none() && !self.away {
            self.made = self.state.view();
        }
        self.made.clone()
    }
}

impl Shown {
    pub(crate) fn new(state: ViewState) -> Self {
        Self(Mutex::new(Inner { state, away: false, made: None }))
    }

    /// The view as it is; none before the first snapshot.
    pub(crate) fn view(&self) -> Option<Arc<View>> {
        self.0.lock().view()
    }

    /// Looks at what is there.
    pub(crate) fn look<R>(&self, look: impl FnOnce(&ViewState) -> R) -> R {
        look(&self.0.lock().state)
    }

    /// Changes it.
    pub(crate) fn change<R>(&self, change: impl FnOnce(&mut ViewState) -> R) -> R {
        let mut inner = self.0.lock();
        // First, or it would share everything.
        inner.made = None;
        change(&mut inner.state)
    }

    /// Takes it away, to be worked on elsewhere: 100,000 instances take a good part of a second.
    pub(crate) fn take(&self) -> ViewState {
        let mut inner = self.0.lock();
        inner.view();
        inner.away = true;
        mem::replace(&mut inner.state, ViewState::new(Duration::ZERO, 0))
    }

    /// Brings it back.
    pub(crate) fn bring_back(&self, state: ViewState) {
        *self.0.lock() = Inner { state, away: false, made: None };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view_state::{Now, Snapshot};
    use registry_model::{Change, Epoch, Mono, NodeId, Position, Record, Revision, UnixMillis};
    use testkit::instances::record;

    fn filled(records: Vec<Record>) -> Shown {
        let shown = Shown::new(ViewState::new(Duration::from_secs(180), 1));
        let now = Now { mono: Mono::from_nanos(1), unix: UnixMillis(1_700_000_000_000) };
        let position = Position { epoch: Epoch(1), revision: Revision(0) };
        let snapshot = Snapshot { node: NodeId(1), position, warm: true, gate_open: true, records, recent: vec![] };
        shown.change(|state| state.snapshot(snapshot, now));
        shown
    }

    fn register(shown: &Shown, revision: u64, id: &str) {
        let change = Change { revision: Revision(revision), at: UnixMillis(0), record: record("A", id) };
        let (before, after) = (Revision(revision - 1), Revision(revision));
        shown.change(|state| state.changes(before, after, vec![change], Mono::from_nanos(2))).unwrap();
    }

    fn size(view: &View) -> usize {
        view.registry.iter().map(|leaf| leaf.entries().count()).sum()
    }

    #[test]
    fn a_view_stays_what_it_was_and_the_next_one_is_made_when_it_is_asked_for() {
        let shown = filled(vec![record("A", "i1")]);
        let first = shown.view().unwrap();
        assert!(Arc::ptr_eq(&first, &shown.view().unwrap()), "nothing has changed");
        register(&shown, 1, "i2");
        register(&shown, 2, "i3");
        assert_eq!(Arc::strong_count(&first), 1, "whoever changes something holds no view");
        let second = shown.view().unwrap();
        assert_eq!((size(&first), size(&second)), (1, 3));
        assert_eq!(second.level.position.revision, Revision(2));
    }

    #[test]
    fn what_nobody_looks_at_is_changed_in_place() {
        let shown = filled(vec![record("A", "i1")]);
        let leaf = |shown: &Shown| Arc::as_ptr(&shown.view().unwrap().registry[0]);
        let before = leaf(&shown);
        register(&shown, 1, "i2");
        assert_eq!(leaf(&shown), before);
        let view = shown.view().unwrap();
        register(&shown, 2, "i3");
        assert_ne!(leaf(&shown), before);
        assert_eq!(size(&view), 2);
    }

    #[test]
    fn while_it_is_worked_on_elsewhere_the_last_view_is_shown() {
        let shown = filled(vec![record("A", "i1")]);
        let state = shown.take();
        assert_eq!(shown.view().map(|view| size(&view)), Some(1));
        shown.bring_back(state);
        assert_eq!(shown.view().map(|view| size(&view)), Some(1));
    }
}
