//! A registry that remembers all of its past, and its side of a watch.

use registry_model::{
    ActionType, Change, Epoch, InstanceInfo, InstanceKey, NodeId, Position, Record, Revision, UnixMillis,
};
use registry_proto::{
    registry::{
        ChangeBatch, GateOpenedNotice, ResumeToken, SnapshotEnd, SnapshotPart, WarmNotice, WatchStart,
        watch_response::Step,
    },
    types,
};
use std::{collections::BTreeMap, sync::Arc};
use testkit::instances::record;

pub(super) const NODE: NodeId = NodeId(7);

pub(super) type View = BTreeMap<InstanceKey, Arc<InstanceInfo>>;

pub(super) struct Life {
    /// What was held, by revision.
    pub(super) views: Vec<View>,
    pub(super) changes: Vec<Change>,
    /// The log reaches back to this revision.
    floor: usize,
    pub(super) warm_since: Option<u64>,
    pub(super) open_since: Option<u64>,
}

impl Life {
    fn new() -> Self {
        Self { views: vec![View::new()], changes: Vec::new(), floor: 0, warm_since: None, open_since: None }
    }

    pub(super) fn latest(&self) -> u64 {
        self.changes.len() as u64
    }
}

/// One life of a registry after another; epochs are their places.
pub(super) struct Lives {
    lives: Vec<Life>,
    now: i64,
}

impl Lives {
    pub(super) fn new() -> Self {
        Self { lives: vec![Life::new()], now: 1000 }
    }

    pub(super) fn now(&self) -> UnixMillis {
        UnixMillis(self.now)
    }

    pub(super) fn present(&self) -> (u64, &Life) {
        (self.lives.len() as u64 - 1, self.lives.last().unwrap())
    }

    pub(super) fn life(&self, epoch: u64) -> &Life {
        &self.lives[usize::try_from(epoch).unwrap()]
    }

    /// What whoever was told this position holds.
    pub(super) fn at(&self, token: ResumeToken) -> View {
        let position = token.position.unwrap();
        self.life(position.epoch).views[usize::try_from(position.revision).unwrap()].clone()
    }

    fn change(&mut self, id: usize, action: ActionType) {
        self.now += 1;
        let mut record = record("A", &format!("n{id}"));
        let mut instance = InstanceInfo::clone(&record.instance);
        // No two states of an instance are alike.
        instance.last_dirty = UnixMillis(self.now);
        instance.action = action;
        record.instance = Arc::new(instance);
        let at = UnixMillis(self.now);
        let life = self.lives.last_mut().unwrap();
        let mut view = life.views.last().unwrap().clone();
        match action {
            ActionType::Added | ActionType::Modified => {
                view.insert(record.key().clone(), Arc::clone(&record.instance));
            }
            ActionType::Deleted => {
                view.remove(record.key());
            }
        }
        life.views.push(view);
        life.changes.push(Change { revision: Revision(life.latest() + 1), at, record });
    }

    pub(super) fn put(&mut self, id: usize) {
        self.change(id, ActionType::Added);
    }

    pub(super) fn remove(&mut self, id: usize) {
        if self.present().1.views.last().unwrap().contains_key(&testkit::instances::key("A", &format!("n{id}"))) {
            self.change(id, ActionType::Deleted);
        }
    }

    pub(super) fn warm(&mut self) {
        let life = self.lives.last_mut().unwrap();
        life.warm_since.get_or_insert(life.latest());
    }

    pub(super) fn open_gate(&mut self) {
        let life = self.lives.last_mut().unwrap();
        life.open_since.get_or_insert(life.latest());
    }

    pub(super) fn forget(&mut self, left: usize) {
        let life = self.lives.last_mut().unwrap();
        life.floor = life.floor.max(life.changes.len().saturating_sub(left));
    }

    pub(super) fn restart(&mut self) {
        self.now += 1;
        self.lives.push(Life::new());
    }
}

enum Stage {
    Starting(Option<(NodeId, Position)>),
    /// Records of this revision, so many sent.
    Sending(u64, usize),
    Recent(u64),
    Ending(u64),
    Following(u64),
}

/// The registry's side of one watch. Like the real one, but it sends two records and three changes at a time.
pub(super) struct Line {
    stage: Stage,
    told_warm: bool,
    told_open: bool,
}

impl Line {
    pub(super) fn new(asked: Option<(NodeId, Position)>) -> Self {
        Self { stage: Stage::Starting(asked), told_warm: false, told_open: false }
    }

    /// The next step, if there is one; the stream is of the present life.
    pub(super) fn next(&mut self, lives: &Lives) -> Option<Step> {
        let (epoch, life) = lives.present();
        let is = |since: Option<u64>, revision: u64| since.is_some_and(|since| revision >= since);
        match self.stage {
            Stage::Starting(asked) => {
                let resumed = asked.filter(|(node, position)| {
                    let reached = (life.floor as u64..=life.latest()).contains(&position.revision.0);
                    *node == NODE && position.epoch.0 == epoch && reached
                });
                let revision = resumed.map_or(life.latest(), |(_, position)| position.revision.0);
                let snapshot_follows = resumed.is_none();
                self.told_warm = is(life.warm_since, revision);
                self.told_open = is(life.open_since, revision);
                self.stage = if snapshot_follows { Stage::Sending(revision, 0) } else { Stage::Following(revision) };
                Some(Step::Start(WatchStart {
                    node: NODE.0,
                    position: Some(Position { epoch: Epoch(epoch), revision: Revision(revision) }.into()),
                    snapshot_follows,
                    warm: self.told_warm,
                    gate_closed: !self.told_open,
                    warm_since: life.warm_since.filter(|_| self.told_warm),
                    open_since: life.open_since.filter(|_| self.told_open),
                }))
            }
            Stage::Sending(revision, sent) => {
                let view = &life.views[usize::try_from(revision).unwrap()];
                let instances = view.values().skip(sent).take(2);
                let records: Vec<types::Record> = instances
                    .map(|instance| Record { instance: Arc::clone(instance), ..record("A", "n") }.into())
                    .collect();
                if records.is_empty() {
                    self.stage = Stage::Recent(revision);
                    return self.next(lives);
                }
                self.stage = Stage::Sending(revision, sent + records.len());
                Some(Step::Snapshot(SnapshotPart { records, recent: Vec::new() }))
            }
            Stage::Recent(revision) => {
                self.stage = Stage::Ending(revision);
                let recent = life.changes[life.floor.min(usize::try_from(revision).unwrap())..]
                    .iter()
                    .take_while(|change| change.revision.0 <= revision);
                let recent = recent.cloned().map(Into::into).collect();
                Some(Step::Snapshot(SnapshotPart { records: Vec::new(), recent }))
            }
            Stage::Ending(revision) => {
                self.stage = Stage::Following(revision);
                let dropped = life.floor.checked_sub(1).map_or(0, |last| life.changes[last].at.0 + 1);
                Some(Step::SnapshotEnd(SnapshotEnd { recent_since_ms: dropped }))
            }
            Stage::Following(revision) => {
                if !self.told_warm && is(life.warm_since, revision) {
                    self.told_warm = true;
                    return Some(Step::Warm(WarmNotice {}));
                }
                if !self.told_open && is(life.open_since, revision) {
                    self.told_open = true;
                    return Some(Step::GateOpened(GateOpenedNotice {}));
                }
                let after = usize::try_from(revision).unwrap();
                if after < life.floor {
                    self.stage = Stage::Starting(None);
                    return self.next(lives);
                }
                let changes: Vec<types::Change> =
                    life.changes[after..].iter().take(3).cloned().map(Into::into).collect();
                let latest = changes.last()?.revision;
                self.stage = Stage::Following(latest);
                Some(Step::Changes(ChangeBatch { previous_revision: revision, revision: latest, changes }))
            }
        }
    }
}
