//! The view against a plain model, through changes, restarts of the registry, cold and warm.

mod delta_clients;

use super::*;
use proptest::prelude::*;
use registry_model::{Epoch, LeaseTimes};
use std::collections::BTreeMap;
use testkit::instances::{instance, record};

const RETENTION: Duration = Duration::from_secs(180);

fn now(seconds: u64) -> Now {
    Now { mono: Mono::from_nanos(seconds * 1_000_000_000), unix: UnixMillis(1_700_000_000_000 + seconds as i64 * 1000) }
}

fn at(epoch: u64, revision: u64) -> Position {
    Position { epoch: Epoch(epoch), revision: Revision(revision) }
}

fn registered(id: &str, dirty: i64, action: ActionType) -> Record {
    let mut instance = instance("ORDERS", id);
    instance.last_dirty = UnixMillis(dirty);
    instance.action = action;
    Record { instance: Arc::new(instance), ..record("ORDERS", id) }
}

fn snapshot(position: Position, warm: bool, records: Vec<Record>) -> Snapshot {
    Snapshot { node: NodeId(1), position, warm, gate_open: true, records, recent: Vec::new() }
}

fn change(revision: u64, record: Record) -> Change {
    Change { revision: Revision(revision), at: now(0).unix, record }
}

fn listed(view: &View) -> Vec<(String, i64)> {
    let entries = view.registry.iter().flat_map(|leaf| leaf.entries());
    entries.map(|entry| (entry.record().key().id.to_string(), entry.record().instance.last_dirty.0)).collect()
}

fn delta(view: &View) -> Vec<String> {
    let entries = view.delta.iter().flat_map(|leaf| leaf.entries());
    entries.map(|entry| format!("{} {}", entry.record().key().id, entry.record().instance.action.as_str())).collect()
}

#[test]
fn changes_that_leave_a_gap_are_refused() {
    let mut state = ViewState::new(RETENTION, now(0).unix.0);
    assert!(state.changes(Revision(0), Revision(1), Vec::new(), now(0).mono).is_err());
    state.snapshot(snapshot(at(1, 5), true, vec![]), now(0));
    let gap = state
        .changes(Revision(6), Revision(7), vec![change(7, registered("i1", 1, ActionType::Added))], now(0).mono)
        .unwrap_err();
    assert_eq!(gap.to_string(), "changes follow revision 6, the view is at 5");
    assert_eq!(listed(&state.view().unwrap()), []);
}

#[test]
fn a_registry_that_comes_back_empty_empties_nobody_until_it_is_warm() {
    let mut state = ViewState::new(RETENTION, now(0).unix.0);
    let three = ["i1", "i2", "i3"].map(|id| registered(id, 1, ActionType::Added));
    state.snapshot(snapshot(at(1, 3), true, three.to_vec()), now(0));

    state.snapshot(snapshot(at(2, 0), false, vec![]), now(10));
    assert_eq!(listed(&state.view().unwrap()), [("i1".into(), 1), ("i2".into(), 1), ("i3".into(), 1)]);
    assert!(state.view().unwrap().level.complete);

    let again =
        vec![change(1, registered("i1", 2, ActionType::Added)), change(2, registered("i3", 1, ActionType::Deleted))];
    state.changes(Revision(0), Revision(2), again, now(20).mono).unwrap();
    assert_eq!(listed(&state.view().unwrap()), [("i1".into(), 2), ("i2".into(), 1)]);

    state.warm(now(100));
    let view = state.view().unwrap();
    assert_eq!(listed(&view), [("i1".into(), 2)]);
    assert_eq!(delta(&view), ["i1 ADDED", "i3 DELETED", "i2 DELETED"]);
    assert_eq!(view.counts.to_string(), "UP_1_");
}

#[test]
fn a_view_that_began_with_a_cold_snapshot_is_not_complete() {
    let mut state = ViewState::new(RETENTION, now(0).unix.0);
    state.snapshot(snapshot(at(1, 0), false, vec![]), now(0));
    assert!(!state.view().unwrap().level.complete);
    state.warm(now(90));
    assert!(state.view().unwrap().level.complete);
}

#[test]
fn a_cold_resync_within_one_life_removes_what_that_life_removed_and_keeps_the_rest() {
    let mut state = ViewState::new(RETENTION, now(0).unix.0);
    state.snapshot(snapshot(at(1, 1), true, vec![registered("old", 1, ActionType::Added)]), now(0));
    state.snapshot(
        snapshot(at(2, 2), false, ["i1", "i2"].map(|id| registered(id, 1, ActionType::Added)).to_vec()),
        now(1),
    );
    state.snapshot(snapshot(at(2, 9), false, vec![registered("i2", 1, ActionType::Added)]), now(2));
    assert_eq!(listed(&state.view().unwrap()), [("i2".into(), 1), ("old".into(), 1)]);
    state.warm(now(90));
    assert_eq!(listed(&state.view().unwrap()), [("i2".into(), 1)]);
}

#[test]
fn a_resync_puts_every_difference_into_the_delta_and_nothing_else() {
    let mut state = ViewState::new(RETENTION, now(0).unix.0);
    let first = ["i1", "i2", "i3"].map(|id| registered(id, 1, ActionType::Added));
    state.snapshot(snapshot(at(1, 3), true, first.to_vec()), now(0));
    assert_eq!(delta(&state.view().unwrap()), [""; 0], "the first snapshot is no change");

    let renewed = Record { lease: LeaseTimes { renewed: UnixMillis(9), ..first[0].lease }, ..first[0].clone() };
    let second = vec![renewed, registered("i2", 2, ActionType::Added), registered("i4", 1, ActionType::Added)];
    state.snapshot(snapshot(at(1, 9), true, second), now(10));
    let view = state.view().unwrap();
    assert_eq!(listed(&view), [("i1".into(), 1), ("i2".into(), 2), ("i4".into(), 1)]);
    assert_eq!(delta(&view), ["i2 ADDED", "i4 ADDED", "i3 DELETED"]);
}

#[test]
fn the_first_snapshot_brings_the_recent_changes_with_their_age() {
    let mut state = ViewState::new(RETENTION, now(0).unix.0);
    let recent = [(100, "i1"), (260, "i2")]
        .map(|(seconds, id)| Change { at: now(seconds).unix, ..change(1, registered(id, 1, ActionType::Added)) });
    let records = ["i1", "i2"].map(|id| registered(id, 1, ActionType::Added)).to_vec();
    state.snapshot(Snapshot { recent: recent.to_vec(), ..snapshot(at(1, 2), true, records) }, now(270));
    assert_eq!(delta(&state.view().unwrap()), ["i1 ADDED", "i2 ADDED"]);
    state.drop_old_changes(now(281).mono);
    assert_eq!(delta(&state.view().unwrap()), ["i1 ADDED", "i2 ADDED"], "leaving by age rebuilds nothing");
    let change = change(3, registered("i3", 1, ActionType::Added));
    state.changes(Revision(2), Revision(3), vec![change], now(282).mono).unwrap();
    assert_eq!(delta(&state.view().unwrap()), ["i2 ADDED", "i3 ADDED"]);
}

#[derive(Clone, Debug)]
enum Step {
    Put(u8),
    Remove(u8),
    Restart,
    Warm,
    Resync,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0u8..12).prop_map(Step::Put),
        3 => (0u8..12).prop_map(Step::Remove),
        1 => Just(Step::Restart),
        1 => Just(Step::Warm),
        1 => Just(Step::Resync),
    ];
    prop::collection::vec(step, 0..80)
}

proptest! {
    #[test]
    fn the_view_is_the_last_one_plus_the_new_life_until_that_is_warm(steps in steps()) {
        let mut state = ViewState::new(RETENTION, now(0).unix.0);
        state.snapshot(snapshot(at(1, 0), true, vec![]), now(0));
        // The registry of the present life, and what a reader has to see.
        let (mut registry, mut expected) = (BTreeMap::new(), BTreeMap::new());
        let (mut epoch, mut revision, mut warm, mut dirty) = (1, 0, true, 0);
        for step in steps {
            dirty += 1;
            match step {
                Step::Put(id) => {
                    let id = format!("i{id:02}");
                    registry.insert(id.clone(), dirty);
                    expected.insert(id.clone(), dirty);
                    revision += 1;
                    state.changes(Revision(revision - 1), Revision(revision), vec![change(revision, registered(&id, dirty, ActionType::Added))], now(1).mono).unwrap();
                }
                Step::Remove(id) => {
                    let id = format!("i{id:02}");
                    if registry.remove(&id).is_none() {
                        continue;
                    }
                    expected.remove(&id);
                    revision += 1;
                    state.changes(Revision(revision - 1), Revision(revision), vec![change(revision, registered(&id, dirty, ActionType::Deleted))], now(1).mono).unwrap();
                }
                Step::Restart => {
                    registry.clear();
                    (epoch, revision, warm) = (epoch + 1, 0, false);
                    state.snapshot(snapshot(at(epoch, 0), false, vec![]), now(1));
                }
                Step::Warm => {
                    warm = true;
                    expected = registry.clone();
                    state.warm(now(1));
                }
                Step::Resync => {
                    let records = registry.iter().map(|(id, dirty)| registered(id, *dirty, ActionType::Added)).collect();
                    state.snapshot(snapshot(at(epoch, revision), warm, records), now(1));
                }
            }
            let view = state.view().unwrap();
            prop_assert_eq!(view.level.position, at(epoch, revision));
            prop_assert_eq!(listed(&view), expected.iter().map(|(id, dirty)| (id.clone(), *dirty)).collect::<Vec<_>>());
            prop_assert_eq!(view.counts.total(), expected.len() as u64);
        }
    }
}
