//! A watcher that applies what it is sent, and checks each step against the registry's past.

use super::super::watcher::Watcher;
use super::registry::{Lives, NODE, View};
use registry_model::ActionType;
use registry_proto::{
    IntoModel as _,
    registry::{ResumeToken, watch_response::Step},
    types::Position,
};

pub(super) struct Follower {
    pub(super) watcher: Watcher,
    token: Option<ResumeToken>,
    /// The position told last, and what is held at it; absent where it is not known.
    position: Option<Position>,
    view: Option<View>,
    recent: Vec<u64>,
    told_warm: bool,
    told_open: bool,
    in_snapshot: bool,
    started: bool,
}

impl Follower {
    pub(super) fn new(watcher: Watcher, token: Option<ResumeToken>, view: Option<View>) -> Self {
        Self {
            watcher,
            token,
            position: None,
            view,
            recent: Vec::new(),
            told_warm: false,
            told_open: false,
            in_snapshot: false,
            started: false,
        }
    }

    pub(super) fn gives_up(&mut self) {
        self.token = None;
    }

    /// Where to go on from, unless a snapshot is under way.
    pub(super) fn token(&self) -> Option<ResumeToken> {
        let position = self.position.filter(|_| !self.in_snapshot)?;
        Some(ResumeToken { node: NODE.0, position: Some(position) })
    }

    pub(super) fn take(&mut self, step: Step, lives: &Lives) {
        match step {
            Step::Start(start) => {
                assert_eq!(start.node, NODE.0);
                let position = start.position.unwrap();
                if start.snapshot_follows {
                    // Within an epoch revisions only grow, save where somebody has waited for one that never came.
                    let seen = self.position.or(self.token.and_then(|token| token.position));
                    if let Some(seen) = seen.filter(|seen| seen.epoch == position.epoch) {
                        assert!(position.revision >= seen.revision, "{position:?} after {seen:?}");
                    }
                    (self.view, self.in_snapshot) = (Some(View::new()), true);
                    self.recent.clear();
                } else {
                    assert!(!self.started, "only a first message resumes");
                    assert_eq!(self.token.unwrap().position, Some(position));
                }
                self.position = Some(position);
                (self.told_warm, self.told_open) = (start.warm, !start.gate_closed);
                self.started = true;
                self.is_true(lives);
                let life = lives.life(position.epoch);
                for (said, truly) in [(start.warm_since, life.warm_since), (start.open_since, life.open_since)] {
                    assert!(said.is_none_or(|said| truly.unwrap() <= said && said <= position.revision));
                }
            }
            Step::Snapshot(part) => {
                assert!(self.in_snapshot && part.records.len() + part.recent.len() <= 2);
                for record in part.records {
                    let record = record.into_model().unwrap();
                    let view = self.view.as_mut().unwrap();
                    assert!(view.insert(record.key().clone(), record.instance).is_none(), "sent twice");
                }
                self.recent.extend(part.recent.iter().map(|change| change.revision));
            }
            Step::SnapshotEnd(end) => {
                assert!(std::mem::take(&mut self.in_snapshot));
                let position = self.position.unwrap();
                let changes = lives.life(position.epoch).changes.iter();
                let complete = changes
                    .map(|change| (change.revision.0, change.at.0))
                    .filter(|(revision, at)| *revision <= position.revision && *at >= end.recent_since_ms);
                for (revision, _) in complete {
                    assert!(self.recent.contains(&revision), "{revision} is not among {:?}", self.recent);
                }
                assert!(self.recent.is_sorted_by(|left, right| left < right));
                assert!(self.recent.iter().all(|revision| *revision <= position.revision));
                self.holds(lives);
            }
            Step::Changes(batch) => {
                assert!(!self.in_snapshot && !batch.changes.is_empty() && batch.changes.len() <= 2);
                let position = self.position.as_mut().unwrap();
                assert_eq!(position.revision, batch.previous_revision);
                for change in batch.changes {
                    let change = change.into_model().unwrap();
                    assert_eq!(change.revision.0, position.revision + 1);
                    position.revision = change.revision.0;
                    let key = change.record.key().clone();
                    let Some(view) = &mut self.view else { continue };
                    match change.record.instance.action {
                        ActionType::Added | ActionType::Modified => {
                            view.insert(key, change.record.instance);
                        }
                        ActionType::Deleted => assert!(view.remove(&key).is_some(), "was never there"),
                    }
                }
                assert_eq!(position.revision, batch.revision);
                self.holds(lives);
            }
            Step::Warm(_) => {
                assert!(!self.in_snapshot && !std::mem::replace(&mut self.told_warm, true));
                self.is_true(lives);
            }
            Step::GateOpened(_) => {
                assert!(!self.in_snapshot && !std::mem::replace(&mut self.told_open, true));
                self.is_true(lives);
            }
        }
    }

    fn holds(&self, lives: &Lives) {
        let position = self.position;
        if let Some(view) = &self.view {
            assert_eq!(view, &lives.at(ResumeToken { node: NODE.0, position }), "at {position:?}");
        }
    }

    /// Nobody is told that the registry is warm, or its gate open, at a revision before it was.
    fn is_true(&self, lives: &Lives) {
        let position = self.position.unwrap();
        let life = lives.life(position.epoch);
        for (told, since) in [(self.told_warm, life.warm_since), (self.told_open, life.open_since)] {
            assert!(!told || since.is_some_and(|since| since <= position.revision), "{since:?} at {position:?}");
        }
    }

    /// It has been told all that there is.
    pub(super) fn is_level(&self, lives: &Lives) {
        let (epoch, life) = lives.present();
        assert!(self.started && !self.in_snapshot);
        assert_eq!(self.position, Some(Position { epoch, revision: life.latest() }));
        assert_eq!((self.told_warm, self.told_open), (life.warm_since.is_some(), life.open_since.is_some()));
        self.holds(lives);
    }
}
