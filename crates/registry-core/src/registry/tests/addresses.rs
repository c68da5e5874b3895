//! Ids, addresses, and what came and went lately.

use super::*;
use registry_model::Port;
use testkit::instances::key;

impl Case {
    fn at(&self, id: &str, port: i32, dirty: i64, origin: Origin) -> &Self {
        let instance = InstanceInfo {
            port: Port { number: port, enabled: true },
            last_dirty: UnixMillis(dirty),
            ..instance("BILLING", id)
        };
        self.registry.register(Arc::new(instance), origin);
        self
    }

    fn ids(&self) -> Vec<String> {
        let mut ids: Vec<_> =
            self.registry.table.entries().iter().map(|entry| entry.instance().key.to_string()).collect();
        ids.sort();
        ids
    }
}

#[test]
fn b38_a_last_registration_as_down_right_after_the_cancel_has_no_effect() {
    let case = Case::new();
    for stamp in [1000, 5000] {
        case.client(Up, 1000).cancel().advance(1);
        let before = case.revision();
        assert_eq!(case.registry.register(down(stamp), Origin::Client).revision.0, before);
        assert!(case.registry.get("BILLING", "n1").is_none());
    }
    assert_eq!(case.registry.metrics.registrations_after_cancel.get(), 2);
    case.advance(2);
    case.registry.register(down(1000), Origin::Client);
    assert_eq!(case.status(), Down, "three seconds later it is meant");
}

fn down(stamp: i64) -> Arc<InstanceInfo> {
    Arc::new(InstanceInfo { status: Down, last_dirty: UnixMillis(stamp), ..instance("BILLING", "n1") })
}

#[test]
fn b38_whoever_is_told_404_any_other_status_and_a_peer_register_at_once() {
    let case = Case::new();
    let cancelled = || {
        case.client(Up, 1000).cancel();
    };
    cancelled();
    assert!(matches!(case.heartbeat(Some(1000), Origin::Client), Renewal::NotFound));
    assert_eq!(case.client(Down, 1000).status(), Down);
    cancelled();
    assert_eq!(case.peer(Down, 1000).status(), Down);
    cancelled();
    // It is there again, so DOWN is news.
    assert_eq!(case.client(Up, 1000).client(Down, 1000).status(), Down);
    case.lose();
    let off = Case::eureka();
    assert_eq!(off.client(Up, 1000).cancel().client(Down, 1000).status(), Down);
}

#[test]
fn b39_rest_60_rest_97_an_instance_registers_again_after_an_explicit_cancel() {
    let case = Case::new();
    case.client(Up, 1000).cancel();
    assert!(matches!(case.heartbeat(Some(1000), Origin::Client), Renewal::NotFound));
    assert_eq!(case.client(Up, 1000).status(), Up);
    assert_eq!(case.cancel().client(Up, 1000).status(), Up, "without a heartbeat between, too");
}

#[test]
fn b40_an_id_that_changes_its_address_is_one_entry_and_counted() {
    let case = Case::new();
    let changes = || case.registry.metrics.address_changes.get();
    case.at("n1", 1, 10, Origin::Client).at("n1", 1, 20, Origin::Client);
    assert_eq!(changes(), 0);
    case.at("n1", 2, 30, Origin::Client);
    assert_eq!((changes(), case.ids().len(), case.stored().instance.port.number), (1, 1, 2));
    case.at("n1", 1, 5, Origin::Client).at("n1", 3, 40, Origin::Peer);
    assert_eq!(changes(), 1, "older descriptions and peers say nothing of it");
    case.advance(91).at("n1", 4, 50, Origin::Client);
    assert_eq!(changes(), 1, "a lease that has run out belongs to nobody");
}

#[test]
fn b41_a_new_id_replaces_the_old_one_of_its_address_where_that_is_set() {
    let case = Case::new();
    case.at("c1", 1, 1, Origin::Client).at("c2", 1, 1, Origin::Client);
    assert_eq!(case.ids(), ["BILLING/c1", "BILLING/c2"]);
    let case = Case::set(&["--replace-same-address"]);
    case.at("c1", 1, 1, Origin::Client).at("c2", 1, 1, Origin::Client).at("d1", 2, 1, Origin::Client);
    assert_eq!(case.ids(), ["BILLING/c2", "BILLING/d1"]);
    use ActionType::{Added, Deleted};
    assert_eq!(case.actions(0), [Added, Deleted, Added, Added]);
    case.at("c3", 1, 1, Origin::Peer);
    assert_eq!(case.ids(), ["BILLING/c2", "BILLING/c3", "BILLING/d1"], "a peer's own node decides for it");
    // Nor does an older description, which is not stored.
    case.at("d1", 1, 0, Origin::Client);
    assert_eq!(case.ids().len(), 3);
    // Who has moved away is not replaced.
    case.at("d1", 3, 2, Origin::Client).at("d2", 2, 1, Origin::Client);
    assert_eq!(case.ids(), ["BILLING/c2", "BILLING/c3", "BILLING/d1", "BILLING/d2"]);
}

#[test]
fn srv_23_srv_39_what_came_and_went_is_listed_newest_first() {
    let case = Case::new();
    case.client(Up, 1).advance(1).client(Up, 1).advance(1).cancel();
    assert!(case.registry.cancel("orders", "x").0.is_none());
    assert!(case.registry.cancel("", "x").0.is_none());
    let at = |seconds: i64| UnixMillis(case.start.unix.0 + seconds * 1000);
    let n1 = key("BILLING", "n1");
    assert_eq!(case.registry.recently_registered(9), [(at(1), n1.clone()), (at(0), n1.clone())]);
    assert_eq!(case.registry.recently_cancelled(9), [(at(2), key("ORDERS", "x")), (at(2), n1)]);
    assert_eq!(case.registry.metrics.cancels_not_found.get(), 2);
}

#[test]
fn b43_b44_names_in_any_case_and_with_underscores_are_the_same_application() {
    let case = Case::new();
    let stored = InstanceInfo { host_name: "stack_orders_1".into(), ..instance("user_service", "stack_orders_1:x") };
    case.registry.register(Arc::new(stored), Origin::Client);
    for app in ["user_service", "User_Service", "USER_SERVICE"] {
        let found = case.registry.get(app, "stack_orders_1:x").unwrap().instance;
        assert_eq!((found.key.app.as_str(), &*found.host_name), ("USER_SERVICE", "stack_orders_1"));
        assert!(case.registry.set_status(app, "stack_orders_1:x", Up, None).is_some());
        assert!(matches!(case.registry.add_metadata(app, "stack_orders_1:x", &[], 0), Ok(Some(_))));
    }
}

#[test]
fn b25_an_instance_is_found_by_its_id_in_any_application() {
    let case = Case::new();
    for app in ["A", "B"] {
        case.registry.register(Arc::new(instance(app, "n1")), Origin::Client);
    }
    case.registry.register(Arc::new(instance("C", &"long".repeat(50))), Origin::Client);
    assert!(["A", "B"].contains(&case.registry.get_by_id("n1").unwrap().key().app.as_str()));
    assert!(case.registry.get_by_id(&"long".repeat(50)).is_some());
    assert!(case.registry.get_by_id("N1").is_none());
}

#[test]
fn lease_times_are_read_with_all_renewals() {
    let case = Case::new();
    case.client(Up, 1).advance(30).renew();
    let times = case.registry.lease_times("billing", "n1").unwrap();
    assert_eq!((case.since_start(times.registered), case.since_start(times.renewed)), (0, 30_000));
    case.advance(500);
    assert!(case.registry.lease_times("BILLING", "n1").is_some(), "in lists a lease that has run out is shown");
    assert!(case.registry.lease_times("BILLING", "n2").is_none());
}
