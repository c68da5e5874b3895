//! The index against a plain map, through any changes of instances and of what they list.

use super::*;
use proptest::prelude::*;
use registry_model::{InstanceKey, InstanceStatus, Record};
use std::collections::{BTreeMap, BTreeSet};
use testkit::instances::{instance, record};

fn present(app: &str, id: &str, vips: Option<&str>, svips: Option<&str>, status: InstanceStatus) -> Present {
    let mut instance = instance(app, id);
    (instance.vip_address, instance.secure_vip_address) = (vips.map(Into::into), svips.map(Into::into));
    instance.status = status;
    Present::new(Record { instance: Arc::new(instance), ..record(app, id) })
}

fn vip(security: Security, address: &str) -> Vip {
    Vip { security, address: address.into() }
}

fn listed(vips: &Vips, vip: &Vip) -> Vec<String> {
    let leaves = vips.get(vip).map(|members| members.leaves()).unwrap_or_default();
    leaves.iter().flat_map(|leaf| leaf.entries()).map(|entry| entry.record().key().to_string()).collect()
}

const NOW: Mono = Mono::from_nanos(1);

#[test]
fn rest_106_109_lists_are_split_at_commas_and_nothing_else() {
    let table: [(Option<&str>, &[&str]); 7] = [
        (None, &[]),
        (Some(""), &[]),
        (Some("foo"), &["foo"]),
        (Some("foo,bar"), &["bar", "foo"]),
        (Some("FOO, bar "), &[" bar ", "FOO"]),
        (Some("a,,a,"), &["a"]),
        (Some(","), &[]),
    ];
    for (list, expected) in table {
        for security in [Security::Plain, Security::Secure] {
            let (plain, secure) = match security {
                Security::Plain => (list, None),
                Security::Secure => (None, list),
            };
            let entry = present("A", "i", plain, secure, InstanceStatus::Up);
            let found: BTreeSet<_> =
                addresses(&entry.record().instance).map(|(of, address)| (of == security, address)).collect();
            let expected: BTreeSet<_> = expected.iter().map(|address| (true, *address)).collect();
            assert_eq!(found, expected, "{list:?}");
        }
    }
}

#[test]
fn an_endless_list_takes_no_endless_room() {
    let list: Vec<String> = (0..10_000).map(|n| n.to_string()).collect();
    let entry = present("A", "i", Some(&list.join(",")), None, InstanceStatus::Up);
    assert_eq!(addresses(&entry.record().instance).count(), MOST_ADDRESSES);
}

#[test]
fn srv_83_88_k_17_a_change_is_seen_under_each_old_and_each_new_address() {
    let mut vips = Vips::default();
    let before = present("ORDERS", "i1", Some("a,b"), Some("s"), InstanceStatus::Up);
    let other = present("ORDERS", "i2", Some("z"), Some("y"), InstanceStatus::Up);
    vips.edit(None, Some(&before), NOW);
    vips.edit(None, Some(&other), NOW);
    let old = vips.clone();
    let after = present("ORDERS", "i1", Some("b,c"), None, InstanceStatus::Down);
    vips.edit(Some(&before), Some(&after), NOW);

    let plain = ["a", "b", "c"].map(|address| vip(Security::Plain, address));
    let touched = plain.into_iter().chain([vip(Security::Secure, "s")]).collect();
    assert_eq!(vips.changed(&old), touched);
    assert_eq!(vips.changed(&vips.clone()), HashSet::new());
    for (address, present, hash) in
        [("a", false, ""), ("b", true, "DOWN_1_"), ("c", true, "DOWN_1_"), ("z", true, "UP_1_")]
    {
        let members = vips.get(&vip(Security::Plain, address));
        assert_eq!(members.is_some(), present, "{address}");
        assert_eq!(members.map(|members| members.counts().to_string()).unwrap_or_default(), hash, "{address}");
    }
    assert!(vips.get(&vip(Security::Secure, "s")).is_none());
    assert_eq!(listed(&old, &vip(Security::Plain, "a")), ["ORDERS/i1"], "an earlier view stays what it was");
}

#[test]
fn s4_addresses_that_nobody_lists_any_more_take_no_room() {
    let mut vips = Vips::default();
    for n in 0..1000 {
        let entry = present("A", "i", Some(&format!("v{n}")), None, InstanceStatus::Up);
        vips.edit(None, Some(&entry), NOW);
        vips.edit(Some(&entry), None, NOW);
    }
    assert_eq!(vips.shards.iter().map(|shard| shard.len()).sum::<usize>(), 0);
}

const LISTS: [Option<&str>; 6] = [None, Some("a"), Some("a,b"), Some("b,c,b"), Some("A"), Some("")];
const STATUSES: [InstanceStatus; 2] = [InstanceStatus::Up, InstanceStatus::OutOfService];

proptest! {
    #[test]
    fn the_index_is_what_the_instances_list(
        batches in prop::collection::vec(prop::collection::vec((0usize..3, 0usize..8, prop::option::weighted(0.7, (0..LISTS.len(), 0..LISTS.len(), 0..2usize))), 1..6), 1..20)
    ) {
        let mut vips = Vips::default();
        let mut held: BTreeMap<InstanceKey, Present> = BTreeMap::new();
        for batch in batches {
            let (old, before) = (vips.clone(), held.clone());
            for (app, id, state) in batch {
                let (app, id) = (format!("APP-{app}"), format!("i{id}"));
                let key = record(&app, &id).key().clone();
                let after = state.map(|(vips, svips, status)| present(&app, &id, LISTS[vips], LISTS[svips], STATUSES[status]));
                vips.edit(held.get(&key), after.as_ref(), NOW);
                match after {
                    Some(after) => held.insert(key, after),
                    None => held.remove(&key),
                };
            }
            for security in [Security::Plain, Security::Secure] {
                for address in ["a", "b", "c", "A", "x"] {
                    let vip = vip(security, address);
                    let members = |held: &BTreeMap<InstanceKey, Present>| {
                        let lists = |entry: &&Present| addresses(&entry.record().instance).any(|address| address == (vip.security, &*vip.address));
                        held.values().filter(lists).map(|entry| entry.record().clone()).collect::<Vec<_>>()
                    };
                    let (now, then) = (members(&held), members(&before));
                    let keys: Vec<_> = now.iter().map(|record| record.key().to_string()).collect();
                    prop_assert_eq!(listed(&vips, &vip), keys);
                    let counts: StatusCounts = now.iter().map(|record| record.instance.status).collect();
                    prop_assert_eq!(vips.get(&vip).map(|members| members.counts()), (!now.is_empty()).then_some(counts));
                    if now != then {
                        prop_assert!(vips.changed(&old).contains(&vip), "{:?}", vip);
                    }
                }
            }
        }
    }
}
