//! Metadata added to registered instances.

use super::*;

const LIMIT: usize = 1 << 20;

impl Case {
    fn add(&self, pairs: &[(&str, &str)]) -> &Self {
        assert!(matches!(self.registry.add_metadata("billing", "n1", pairs, LIMIT), Ok(Some(_))));
        self
    }

    fn metadata(&self) -> Vec<(String, String)> {
        self.stored().instance.metadata.iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
    }
}

fn owned(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

#[test]
fn srv_55_added_metadata_registers_the_instance_again_with_its_own_stamp() {
    let case = Case::eureka();
    case.client(Up, 100).advance(30).renew().advance(10).add(&[("v", "2"), ("b", "x"), ("b", "y")]);
    assert_eq!(case.metadata(), owned(&[("v", "2"), ("b", "x")]));
    let stored = case.stored();
    assert_eq!((stored.instance.last_dirty, stored.instance.action), (UnixMillis(100), ActionType::Added));
    assert_eq!(case.since_start(stored.lease.registered), 40_000);
    case.assert_ends_at(130);
    assert_eq!(case.registry.recently_registered(9).len(), 2);
}

#[test]
fn srv_56_b45_metadata_of_an_unknown_instance_is_not_found() {
    let case = Case::new();
    assert_eq!(case.registry.add_metadata("BILLING", "n1", &[("k", "v")], LIMIT), Ok(None));
    assert_eq!(case.revision(), 0);
}

#[test]
fn srv_57_srv_36_a_lease_that_has_run_out_is_not_found_by_commands_but_by_heartbeats() {
    let case = Case::set(&["--lease-expiry", "doubled", "--enable-self-preservation", "false"]);
    case.client(Up, 1).pass(91);
    let registry = &case.registry;
    let found = || {
        let added = registry.add_metadata("BILLING", "n1", &[("k", "v")], LIMIT).unwrap();
        let set = registry.set_status("BILLING", "n1", OutOfService, None);
        let cleared = registry.clear_status("BILLING", "n1", Up, None);
        let read = registry.get("BILLING", "n1").or_else(|| registry.get_by_id("n1"));
        [added.is_some(), set.is_some(), cleared.is_some(), read.is_some()]
    };
    assert_eq!((found(), case.revision()), ([false; 4], 1));
    assert_eq!(registry.snapshot(Duration::ZERO).leases.len(), 1, "lists go on showing it");
    case.advance(1).renew();
    assert_eq!((found(), case.revision()), ([true; 4], 4));
}

#[test]
fn s17_metadata_that_changes_nothing_renews_the_lease_and_is_no_change() {
    let case = Case::new();
    case.client(Up, 100).advance(10);
    for pairs in [&[][..], &[("v", "1")], &[("v", "1"), ("v", "2")]] {
        case.add(pairs);
        assert_eq!((case.version().as_str(), case.revision()), ("1", 1));
    }
    case.assert_ends_at(10 + 90);
    assert_eq!(case.since_start(case.stored().lease.registered), 0);
}

#[test]
fn b46_added_metadata_is_a_change_each_time_and_the_next_registration_decides_anew() {
    let case = Case::new();
    case.client(Up, 100);
    for weight in ["40", "41", "42"] {
        case.add(&[("weight", weight)]);
    }
    let told: Vec<_> = case.changes(1).iter().map(|change| change.record.instance.metadata.clone()).collect();
    assert!(told.iter().map(|metadata| metadata.get("weight").unwrap()).eq(["40", "41", "42"]));
    assert_eq!(case.client(Up, 100).metadata(), owned(&[("v", "1")]));
}

#[test]
fn metadata_leaves_status_and_override() {
    let case = Case::new();
    case.client(Up, 100).set_status(OutOfService).add(&[("a", "b")]);
    assert_eq!((case.statuses(), case.overridden()), ((OutOfService, OutOfService), Some(OutOfService)));
    case.clear_status(Unknown).add(&[("a", "c")]);
    assert_eq!(case.statuses(), (Unknown, Unknown));
}

#[test]
fn metadata_that_makes_an_instance_too_large_changes_nothing() {
    let case = Case::new();
    case.client(Up, 100);
    let size = case.stored().instance.approximate_size();
    let added = |limit| case.registry.add_metadata("BILLING", "n1", &[("k", "value")], limit);
    assert_eq!(added(size + 11), Err(MetadataTooLarge { size: size + 12 }));
    assert_eq!(case.revision(), 1);
    assert!(matches!(added(size + 12), Ok(Some(_))));
}
