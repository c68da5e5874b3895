//! Lease times read anew: what is shown of them, and when it is asked for again.

use super::*;
use crate::{
    keys::{Security, Vip},
    view::View,
    view_state::{Now, Snapshot},
};
use registry_model::{AppName, Change, Epoch, NodeId, Position, Revision, UnixMillis};
use std::time::Duration;
use testkit::instances::record;

const EXPIRY: Expiry = Expiry { after: Duration::from_secs(180), spread: Duration::ZERO };

fn mono(millis: u64) -> Mono {
    Mono::from_nanos(millis * 1_000_000)
}

/// A view of a registry with these instances, taken at the start.
fn state_of(ids: &[&str]) -> ViewState {
    let now = Now { mono: mono(0), unix: UnixMillis(1_700_000_000_000) };
    let mut state = ViewState::new(Duration::from_secs(180), now.unix.0);
    let position = Position { epoch: Epoch(1), revision: Revision(0) };
    let records = ids.iter().map(|id| record("ORDERS", id)).collect();
    state.snapshot(Snapshot { node: NodeId(1), position, warm: true, gate_open: true, records, recent: vec![] }, now);
    state
}

fn changed(state: &mut ViewState, id: &str, now: Mono) {
    let previous = state.resume().unwrap().1.revision;
    let change = Change { revision: previous.next(), at: UnixMillis(0), record: record("ORDERS", id) };
    state.changes(previous, previous.next(), vec![change], now).unwrap();
}

/// What the registry answers when every lease was renewed at `renewed`.
fn answer(stale: &Stale, renewed: i64) -> LeaseReading {
    let records = stale.pages().flatten();
    records.map(|record| (record.clone(), LeaseTimes { renewed: UnixMillis(renewed), ..record.lease })).collect()
}

fn vip() -> Scope {
    Scope::Vip(Vip { security: Security::Plain, address: "orders".into() })
}

fn app() -> Scope {
    Scope::Application(AppName::parse("ORDERS").unwrap())
}

fn shown(view: &View, scope: &Scope) -> Vec<i64> {
    let renewed = |record: &Record| record.lease.renewed.0;
    match scope {
        Scope::Vip(vip) => {
            let members = view.vips.get(vip).unwrap();
            members.leaves().iter().flat_map(|leaf| leaf.entries()).map(|entry| renewed(entry.record())).collect()
        }
        Scope::Delta => {
            view.delta.iter().flat_map(|leaf| leaf.entries()).map(|entry| renewed(entry.record())).collect()
        }
        Scope::All | Scope::Application(_) => {
            view.registry.iter().flat_map(|leaf| leaf.entries()).map(|entry| renewed(entry.record())).collect()
        }
    }
}

#[test]
fn b64_whatever_is_read_is_shown_by_all_payloads_and_asked_for_again_when_it_has_expired() {
    for scope in [Scope::All, app(), vip()] {
        let mut state = state_of(&["i1", "i2"]);
        let (none, next) = state.expired(std::slice::from_ref(&scope), EXPIRY, mono(179_999));
        assert!(none.is_empty());
        assert_eq!(next, Some(mono(180_000)));

        let (stale, next) = state.expired(std::slice::from_ref(&scope), EXPIRY, mono(180_000));
        assert_eq!((stale.len(), next), (1, None));
        let reading = answer(&stale, 7);
        assert!(state.read_lease_times(&stale, reading, mono(180_000), mono(180_001)));
        let view = state.view().unwrap();
        for payload in [Scope::All, vip()] {
            assert_eq!(shown(&view, &payload), [7, 7], "{scope:?}");
        }
        let (none, next) = state.expired(std::slice::from_ref(&scope), EXPIRY, mono(180_001));
        assert!(none.is_empty(), "{scope:?}");
        assert_eq!(next, Some(mono(360_000)), "{scope:?}");
    }
}

#[test]
fn what_has_not_changed_makes_nothing_anew() {
    let mut state = state_of(&["i1", "i2"]);
    let before = state.view().unwrap();
    let (stale, _) = state.expired(&[Scope::All, vip()], EXPIRY, mono(200_000));
    assert!(!state.read_lease_times(&stale, LeaseReading::new(), mono(200_000), mono(200_000)));
    let after = state.view().unwrap();
    assert!(Arc::ptr_eq(&before.registry[0], &after.registry[0]));
    assert_eq!(state.expired(&[Scope::All, vip()], EXPIRY, mono(379_999)).1, Some(mono(380_000)));
}

#[test]
fn changes_make_a_page_no_younger_for_the_instances_beside_them() {
    let mut state = state_of(&["i1", "i2"]);
    changed(&mut state, "i1", mono(100_000));
    assert_eq!(state.expired(&[Scope::All], EXPIRY, mono(180_000)).0.len(), 1);
}

#[test]
fn a_change_that_comes_while_leases_are_read_wins() {
    let mut state = state_of(&["i1", "i2"]);
    let stale = state.whole(&[Scope::All, vip()], mono(1000));
    let reading = answer(&stale, 7);
    changed(&mut state, "i1", mono(1001));
    let renewed = record("ORDERS", "i1").lease.renewed.0;
    assert!(state.read_lease_times(&stale, reading, mono(1000), mono(1002)));
    let view = state.view().unwrap();
    for scope in [Scope::All, vip(), Scope::Delta] {
        assert_eq!(shown(&view, &scope)[0], renewed, "{scope:?}");
    }
    assert_eq!(shown(&view, &vip()), [renewed, 7]);
}

#[test]
fn nobody_is_asked_for_what_nobody_subscribes_to() {
    let mut state = state_of(&["i1"]);
    changed(&mut state, "i1", mono(0));
    let (stale, next) = state.expired(&[], EXPIRY, mono(1_000_000));
    assert!(stale.is_empty());
    assert_eq!(next, None);
    let nothing = Scope::Vip(Vip { security: Security::Secure, address: "orders".into() });
    assert!(state.expired(&[nothing], EXPIRY, mono(1_000_000)).0.is_empty());
}

#[test]
fn srv_99_entries_leave_the_queue_by_age_and_the_document_at_its_expiry() {
    let mut state = state_of(&[]);
    changed(&mut state, "i1", mono(500));
    // The first subscriber.
    let stale = state.whole(&[Scope::Delta], mono(100_000));
    let reading = answer(&stale, 7);
    assert!(state.read_lease_times(&stale, reading, mono(100_000), mono(100_000)));
    for (second, queued) in [(180, 1), (210, 0), (240, 0), (270, 0)] {
        state.drop_old_changes(mono(second * 1000));
        assert_eq!(state.delta.len(), queued, "at {second} s");
        assert!(state.expired(&[Scope::Delta], EXPIRY, mono(second * 1000)).0.is_empty(), "at {second} s");
        assert_eq!(shown(&state.view().unwrap(), &Scope::Delta), [7], "at {second} s");
    }
    let (stale, _) = state.expired(&[Scope::Delta], EXPIRY, mono(280_000));
    let reading = answer(&stale, 8);
    assert!(state.read_lease_times(&stale, reading, mono(280_000), mono(280_000)));
    assert_eq!(shown(&state.view().unwrap(), &Scope::Delta), [0; 0]);
    assert_eq!(shown(&state.view().unwrap(), &Scope::All), [8]);
}
