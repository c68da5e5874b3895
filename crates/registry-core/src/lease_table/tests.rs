//! The table against a plain model, the rules of a renewal, and renewals beside commands.

use super::*;
use proptest::prelude::*;
use registry_model::{InstanceInfo, Lease, LeaseExpiry, LeaseTerms, Origin, UnixMillis};
use std::{collections::HashMap, sync::Arc, thread, time::Duration};
use testkit::instances::instance;

fn moment(nanos: u64) -> Moment {
    Moment { mono: Mono::from_nanos(nanos), unix: UnixMillis((nanos / 1_000_000) as i64) }
}

fn granted(instance: InstanceInfo, now: u64) -> LeaseEntry {
    LeaseEntry::grant(Arc::new(instance), LeaseTerms::default(), UnixMillis::NEVER, moment(now))
}

fn table_with(instance: InstanceInfo) -> LeaseTable {
    let table = LeaseTable::new();
    table.put(granted(instance, 10));
    table
}

/// A renewal where nobody overrides anything.
fn renew(table: &LeaseTable, app: &str, id: &str, last_dirty: Option<i64>, origin: Origin, now: Mono) -> Renewal {
    let call = RenewalCall { app, id, last_dirty: last_dirty.map(UnixMillis), origin, said: None, overridden: None };
    table.renew(&call, &Overrides::new(Duration::from_secs(3600)), &Rules::default(), now).unwrap()
}

/// Outcomes by name; the one with a record only as such.
fn outcome(renewal: &Renewal) -> &'static str {
    match renewal {
        Renewal::Renewed => "renewed",
        Renewal::StatusDiffers => "status differs",
        Renewal::NotFound => "not found",
        Renewal::StoredIsOlder => "stored is older",
        Renewal::StoredIsNewer(_) => "stored is newer",
    }
}

/// A renewal at 20 ns of an instance stored with a dirty stamp of 1000: its outcome, and whether the lease is renewed.
fn check(app: &str, id: &str, last_dirty: Option<i64>, origin: Origin, expected: &str) {
    let table = table_with(instance("BILLING", "n1"));
    let renewal = renew(&table, app, id, last_dirty, origin, Mono::from_nanos(20));
    assert_eq!(outcome(&renewal), expected, "{app}/{id} {last_dirty:?} {origin:?}");
    let renewed = (expected != "not found").then_some(Mono::from_nanos(20));
    assert_eq!(table.get("BILLING", "n1").unwrap().lease().renewed, renewed, "{app}/{id} {last_dirty:?} {origin:?}");
}

#[test]
fn rest_43_44_a_renewal_without_a_stamp_renews_whatever_the_case_of_the_application() {
    check("BILLING", "n1", None, Origin::Client, "renewed");
    check("billing", "n1", None, Origin::Client, "renewed");
    check("Billing", "n1", None, Origin::Peer, "renewed");
}

#[test]
fn rest_45_srv_26_unknown_ids_and_applications_are_not_found() {
    check("BILLING", "N1", None, Origin::Client, "not found");
    check("BILLING", "nope", None, Origin::Client, "not found");
    check("NOPE", "n1", None, Origin::Client, "not found");
    check("", "", None, Origin::Client, "not found");
    check("BILLINGN", "1", None, Origin::Client, "not found");
}

#[test]
fn rest_47_48_51_srv_29_a_clients_stamp_asks_for_a_registration_only_if_it_is_newer() {
    check("BILLING", "n1", Some(1000), Origin::Client, "renewed");
    check("BILLING", "n1", Some(999), Origin::Client, "renewed");
    check("BILLING", "n1", Some(1001), Origin::Client, "stored is older");
    check("BILLING", "n1", None, Origin::Client, "renewed");
}

#[test]
fn rest_49_50_srv_30_a_peers_older_stamp_is_answered_with_the_stored_instance() {
    check("BILLING", "n1", Some(1000), Origin::Peer, "renewed");
    check("BILLING", "n1", Some(999), Origin::Peer, "stored is newer");
    check("BILLING", "n1", Some(1001), Origin::Peer, "stored is older");
    let table = table_with(instance("BILLING", "n1"));
    match renew(&table, "BILLING", "n1", Some(999), Origin::Peer, Mono::from_nanos(20)) {
        Renewal::StoredIsNewer(entry) => assert_eq!(entry.instance().last_dirty, UnixMillis(1000)),
        other => panic!("{other:?}"),
    }
}

#[test]
fn srv_27_a_lease_of_unknown_status_is_not_found_and_not_renewed() {
    for origin in [Origin::Client, Origin::Peer] {
        let unknown = InstanceInfo { status: InstanceStatus::Unknown, ..instance("BILLING", "n1") };
        let table = table_with(unknown);
        assert_eq!(outcome(&renew(&table, "BILLING", "n1", None, origin, Mono::from_nanos(20))), "not found");
        assert_eq!(table.get("BILLING", "n1").unwrap().lease().renewed, None);
    }
}

#[test]
fn a_renewal_at_the_very_start_of_time_counts_and_an_overtaken_one_takes_nothing_back() {
    let table = table_with(instance("A", "n1"));
    for (now, renewed) in [(0, 1), (50, 50), (40, 50)] {
        renew(&table, "A", "n1", None, Origin::Client, Mono::from_nanos(now));
        assert_eq!(table.get("A", "n1").unwrap().lease().renewed, Some(Mono::from_nanos(renewed)));
    }
}

#[test]
fn srv_4_times_are_shown_true_or_one_duration_late() {
    let table = LeaseTable::new();
    table.put(granted(instance("A", "n1"), 5_000_000_000));
    let shown = |expiry| table.get("A", "n1").unwrap().times(expiry).renewed.0;
    assert_eq!((shown(LeaseExpiry::Exact), shown(LeaseExpiry::Doubled)), (5_000, 5_000));
    renew(&table, "A", "n1", None, Origin::Client, Mono::from_nanos(35_000_000_000));
    assert_eq!((shown(LeaseExpiry::Exact), shown(LeaseExpiry::Doubled)), (35_000, 125_000));
    for expiry in [LeaseExpiry::Exact, LeaseExpiry::Doubled] {
        assert_eq!(table.get("A", "n1").unwrap().times(expiry).registered.0, 5_000);
    }
}

#[derive(Clone, Debug)]
enum Command {
    Put(usize),
    Remove(usize),
    Renew(usize),
    Redescribe(usize),
    Touch(usize),
    Advance(u64),
}

fn command() -> impl Strategy<Value = Command> {
    // Few keys, so that commands meet.
    let key = || 0..12_usize;
    prop_oneof![
        3 => key().prop_map(Command::Put),
        2 => key().prop_map(Command::Remove),
        4 => key().prop_map(Command::Renew),
        2 => key().prop_map(Command::Redescribe),
        1 => key().prop_map(Command::Touch),
        2 => (1..1_000_000_u64).prop_map(Command::Advance),
    ]
}

fn key(place: usize) -> (String, String) {
    // The same ids in several applications, and names that run into each other when joined.
    (["A", "AB", "É"][place % 3].to_owned(), ["n", "Bn", "bn", "ñ"][place / 3].to_owned())
}

proptest! {
    #[test]
    fn the_table_does_what_a_plain_map_would(commands in prop::collection::vec(command(), 1..200)) {
        let table = LeaseTable::new();
        let mut model: HashMap<(String, String), Lease> = HashMap::new();
        let mut now = 1_u64;
        for command in commands {
            match command {
                Command::Put(place) => {
                    let (app, id) = key(place);
                    let entry = granted(instance(&app, &id), now);
                    let before = table.put(entry.clone()).map(|entry| entry.lease());
                    prop_assert_eq!(before, model.insert((app, id), entry.lease()));
                }
                Command::Remove(place) => {
                    let (app, id) = key(place);
                    let removed = table.remove(&app.to_lowercase(), &id).map(|entry| entry.lease());
                    prop_assert_eq!(removed, model.remove(&(app, id)));
                }
                Command::Renew(place) => {
                    let (app, id) = key(place);
                    let renewal = renew(&table, &app.to_lowercase(), &id, None, Origin::Client, Mono::from_nanos(now));
                    let lease = model.get_mut(&(app, id));
                    prop_assert_eq!(outcome(&renewal), if lease.is_some() { "renewed" } else { "not found" });
                    if let Some(lease) = lease {
                        lease.renewed = Some(Mono::from_nanos(now));
                    }
                }
                Command::Redescribe(place) => {
                    let (app, id) = key(place);
                    // The lease that comes with the description is not the one that stays.
                    let described = granted(instance(&app, &id), now).modified(UnixMillis(7), |_| {});
                    let kept = table.redescribe(described);
                    prop_assert_eq!(kept.as_ref().map(LeaseEntry::lease), model.get(&(app, id)).copied());
                    prop_assert!(kept.is_none_or(|kept| kept.instance().last_updated == UnixMillis(7)));
                }
                Command::Touch(place) => {
                    let (app, id) = key(place);
                    table.touch(&testkit::instances::key(&app, &id), Mono::from_nanos(now));
                    if let Some(lease) = model.get_mut(&(app, id)) {
                        lease.renewed = Some(Mono::from_nanos(now));
                    }
                }
                Command::Advance(nanos) => now += nanos,
            }
        }
        let held: HashMap<_, _> = table
            .entries()
            .iter()
            .map(|entry| {
                let key = &entry.instance().key;
                ((key.app.as_str().to_owned(), key.id.as_str().to_owned()), entry.lease())
            })
            .collect();
        prop_assert_eq!(table.len(), held.len());
        prop_assert_eq!(held, model);
    }
}

#[test]
fn no_renewal_is_lost_while_others_register_and_the_table_grows() {
    const KEPT: usize = 64;
    const ROUNDS: u64 = 400;
    let table = LeaseTable::new();
    for lease in 0..KEPT {
        table.put(granted(instance("KEPT", &format!("n{lease}")), 1));
    }
    thread::scope(|scope| {
        for renewer in 0..2_u64 {
            let table = &table;
            scope.spawn(move || {
                for round in 1..=ROUNDS {
                    for lease in 0..KEPT {
                        let now = Mono::from_nanos(round * 2 + renewer);
                        let renewal = renew(table, "KEPT", &format!("n{lease}"), None, Origin::Client, now);
                        assert!(matches!(renewal, Renewal::Renewed));
                    }
                }
            });
        }
        scope.spawn(|| {
            for lease in 0..5_000 {
                table.put(granted(instance("NEW", &format!("n{lease}")), 1));
                if lease % 3 == 0 {
                    assert!(table.remove("NEW", &format!("n{lease}")).is_some());
                }
            }
        });
    });
    for lease in 0..KEPT {
        let renewed = table.get("KEPT", &format!("n{lease}")).unwrap().lease().renewed;
        assert_eq!(renewed, Some(Mono::from_nanos(ROUNDS * 2 + 1)));
    }
    assert_eq!(table.len(), KEPT + 5_000 - 1_667);
}
