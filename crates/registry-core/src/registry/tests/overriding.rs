//! Overrides: set, removed, brought along, kept and forgotten.

use super::*;

#[test]
fn srv_43_a_status_update_overrides_the_status_and_renews_the_lease() {
    let case = Case::eureka();
    case.client(Up, 100).advance(10);
    assert!(case.registry.set_status("billing", "n1", OutOfService, Some(UnixMillis(0))).is_some());
    assert_eq!((case.statuses(), case.overridden()), ((OutOfService, OutOfService), Some(OutOfService)));
    let stored = case.stored();
    assert_eq!((stored.instance.last_dirty, case.since_start(stored.instance.last_updated)), (UnixMillis(100), 10_000));
    assert_eq!(case.actions(1), [ActionType::Modified]);
    assert_eq!(case.since_start(stored.lease.registered), 0);
    case.assert_ends_at(10 + 180);
}

#[test]
fn srv_9_a_status_update_renews_by_the_rule_of_the_lease() {
    for (case, end) in [(Case::eureka(), 230), (Case::new(), 140)] {
        case.client(Up, 1).advance(50).set_status(OutOfService);
        case.assert_ends_at(end);
    }
}

#[test]
fn srv_44_eureka_stores_no_override_of_the_status_an_instance_has() {
    let case = Case::eureka();
    case.client(Up, 1).advance(10).set_status(Up);
    assert_eq!((case.statuses(), case.overridden(), case.revision()), ((Up, Unknown), None, 1));
    case.assert_ends_at(10 + 180);
}

#[test]
fn s2_k_12_an_override_of_the_status_an_instance_has_is_stored_once() {
    let case = Case::new();
    case.client(Up, 1).set_status(Up);
    assert_eq!((case.statuses(), case.overridden()), ((Up, Up), Some(Up)));
    assert_eq!(case.actions(1), [ActionType::Modified]);
    case.advance(10).set_status(Up);
    assert_eq!(case.revision(), 2, "the second time changes nothing");
    case.assert_ends_at(10 + 90);
    assert_eq!(case.client(Down, 2).statuses(), (Down, Up));
    assert_eq!(case.client(Up, 3).statuses(), (Up, Up));
    assert_eq!(case.client(OutOfService, 4).statuses(), (Up, Up));
}

#[test]
fn srv_45_a_larger_stamp_raises_the_stored_one() {
    for case in Case::both() {
        case.client(Up, 100);
        let dirty = || case.stored().instance.last_dirty.0;
        for (sent, status, stored) in [(Some(50), OutOfService, 100), (Some(300), Down, 300), (None, Up, 300)] {
            case.registry.set_status("BILLING", "n1", status, sent.map(UnixMillis)).unwrap();
            assert_eq!(dirty(), stored);
        }
        case.registry.clear_status("BILLING", "n1", Up, Some(UnixMillis(400))).unwrap();
        assert_eq!(dirty(), 400);
    }
}

#[test]
fn srv_46_commands_on_unknown_instances_find_nothing_and_change_nothing() {
    for case in Case::both() {
        case.client(Up, 1);
        for (app, id) in [("BILLING", "N1"), ("ORDERS", "n1"), ("", "")] {
            assert_eq!(case.registry.set_status(app, id, Down, None), None);
            assert_eq!(case.registry.clear_status(app, id, Down, None), None);
        }
        assert_eq!((case.revision(), case.registry.list_overrides().len()), (1, 0));
    }
}

#[test]
fn srv_48_b33_a_removed_override_leaves_the_status_to_the_clients_next_registration() {
    for case in [Case::new(), Case::eureka()] {
        case.client(Up, 1000).set_status(OutOfService).clear_status(Unknown);
        assert_eq!((case.statuses(), case.overridden()), ((Unknown, Unknown), None));
        assert!(matches!(case.heartbeat(Some(1000), Origin::Client), Renewal::NotFound));
        assert_eq!(case.client(Up, 1000).statuses(), (Up, Unknown));
        case.renew();
    }
}

#[test]
fn b33_an_instance_whose_stamp_an_operator_raised_comes_back_as_well() {
    let case = Case::new();
    case.register(Up, 1000, "1", Origin::Client);
    case.registry.set_status("BILLING", "n1", OutOfService, Some(UnixMillis(2000))).unwrap();
    case.clear_status(Unknown);
    assert!(matches!(case.heartbeat(Some(1000), Origin::Client), Renewal::NotFound));
    case.register(Up, 1000, "2", Origin::Client);
    assert_eq!((case.statuses(), case.stored().instance.last_dirty.0), ((Up, Unknown), 2000));
    assert_eq!(case.version(), "1", "the newer description stays");
    case.renew();
}

#[test]
fn srv_49_b33_a_removal_with_a_status_acts_at_once() {
    for case in Case::both() {
        case.client(Up, 100).set_status(OutOfService).advance(5).clear_status(Up);
        assert_eq!((case.statuses(), case.overridden()), ((Up, Unknown), None));
        assert_eq!(case.actions(2), [ActionType::Modified]);
        let stored = case.stored().instance;
        assert_eq!((stored.last_dirty, case.since_start(stored.last_updated)), (UnixMillis(100), 5_000));
        case.renew();
    }
}

#[test]
fn srv_50_where_there_is_no_override_removing_it_only_renews_the_lease() {
    for case in Case::both() {
        case.client(Up, 1).advance(10).clear_status(Down);
        assert_eq!((case.statuses(), case.revision()), ((Up, Unknown), 1));
        case.assert_ends_at(10 + case.renewed_lasts());
    }
}

#[test]
fn srv_14_an_override_beats_what_the_client_registers() {
    for case in Case::both() {
        case.client(Up, 100).set_status(OutOfService).client(Up, 200);
        assert_eq!(
            (case.statuses(), case.stored().instance.last_dirty),
            ((OutOfService, OutOfService), UnixMillis(200))
        );
    }
}

#[test]
fn srv_15_a_starting_client_is_believed_and_the_override_waits() {
    for case in Case::both() {
        case.client(Up, 100).set_status(OutOfService).client(Starting, 200);
        assert_eq!(case.statuses(), (Starting, OutOfService));
        assert_eq!(case.client(Up, 300).statuses(), (OutOfService, OutOfService));
    }
}

#[test]
fn srv_54_a_removal_between_registrations() {
    for case in Case::both() {
        case.client(Up, 100).set_status(OutOfService).client(Up, 200);
        assert_eq!(case.status(), OutOfService);
        case.registry.clear_status("BILLING", "n1", Down, Some(UnixMillis(0))).unwrap();
        assert_eq!(case.status(), Down);
        assert_eq!(case.client(Up, 200).status(), Up);
    }
}

#[test]
fn srv_20_a_registration_brings_its_override_along() {
    for case in Case::both() {
        let brought = InstanceInfo { overridden_status: OutOfService, ..instance("BILLING", "n1") };
        case.registry.register(Arc::new(brought), Origin::Peer);
        assert_eq!((case.statuses(), case.overridden()), ((OutOfService, OutOfService), Some(OutOfService)));
        case.client(Up, 2000);
        assert_eq!(case.statuses(), (OutOfService, OutOfService));
    }
}

#[test]
fn srv_21_an_override_that_is_there_beats_one_that_is_brought() {
    for case in Case::both() {
        case.client(Down, 1).set_status(Up);
        let brought = InstanceInfo { overridden_status: OutOfService, ..instance("BILLING", "n1") };
        case.registry.register(Arc::new(brought), Origin::Client);
        assert_eq!((case.statuses(), case.overridden()), ((Up, Up), Some(Up)));
    }
}

#[test]
fn srv_38_39_b48_k_33_an_explicit_cancel_ends_an_override_and_nothing_else_does() {
    for case in Case::both() {
        case.client(Starting, 1).set_status(Up);
        // Another application's instance of the same id, and one that is not there.
        assert!(case.registry.cancel("ORDERS", "n1").0.is_none());
        assert_eq!(case.overridden(), Some(Up));
        case.lose();
        assert!(case.registry.cancel("BILLING", "n1").0.is_none());
        assert_eq!(case.overridden(), Some(Up));
        // As STARTING the client is believed, and the operator's decision is not lost.
        assert_eq!(case.client(Starting, 2).statuses(), (Starting, Up));
        assert_eq!(case.client(OutOfService, 3).statuses(), (Up, Up));
        case.cancel();
        assert_eq!(case.overridden(), None);
        assert_eq!(case.client(OutOfService, 4).statuses(), (OutOfService, Unknown));
    }
}

#[test]
fn b48_an_override_survives_its_lease_for_an_hour() {
    for (seconds, status) in [(3599, OutOfService), (3600, Up)] {
        let case = Case::new();
        case.client(Up, 1).set_status(OutOfService).lose().advance(seconds).client(Up, 2);
        assert_eq!(case.status(), status, "after {seconds}");
    }
}

#[test]
fn srv_51_an_override_that_nobody_uses_is_forgotten_and_the_stored_status_stays() {
    for case in Case::both() {
        case.client(Up, 1).set_status(OutOfService).advance(3599);
        assert_eq!(case.overridden(), Some(OutOfService));
        case.advance(1);
        assert_eq!((case.overridden(), case.statuses()), (None, (OutOfService, OutOfService)));
        assert_eq!(case.renew().status(), OutOfService);
    }
}

#[test]
fn srv_52_heartbeats_keep_an_override() {
    for case in Case::both() {
        case.client(Up, 1).set_status(OutOfService);
        for _ in 0..240 {
            case.advance(30).renew();
        }
        assert_eq!(case.overridden(), Some(OutOfService));
        assert_eq!(case.revision(), 2, "renewals under an override are no changes");
    }
}

#[test]
fn srv_6_the_first_time_up_may_be_an_operators() {
    for case in Case::both() {
        case.client(Starting, 1).advance(5).set_status(Up);
        assert_eq!(case.since_start(case.stored().lease.service_up), 5_000);
        case.advance(5).set_status(Down).advance(5).set_status(Up);
        assert_eq!(case.since_start(case.stored().lease.service_up), 5_000);
    }
}

#[test]
fn k_4_equal_ids_of_two_applications_have_overrides_of_their_own() {
    let case = Case::new();
    case.client(Up, 1).set_status(OutOfService);
    case.registry.register(Arc::new(instance("ORDERS", "n1")), Origin::Client);
    let other = case.registry.get("ORDERS", "n1").unwrap().instance;
    assert_eq!((other.status, other.overridden_status), (Up, Unknown));
}

#[test]
fn b34_a_client_gets_back_into_service_by_itself_only_where_that_is_set() {
    for (settings, status) in [(&[][..], OutOfService), (&["--client-status-wins"][..], Up)] {
        let case = Case::set(settings);
        assert_eq!(case.client(OutOfService, 1).client(Up, 2).status(), status);
        case.client(OutOfService, 3).set_status(Up);
        assert_eq!(case.status(), Up, "an operator can in either case");
        case.set_status(OutOfService).client(Up, 4);
        assert_eq!(case.status(), OutOfService, "an override beats the client in either case");
    }
}

#[test]
fn an_override_as_unknown_keeps_an_instance_out_until_it_is_removed() {
    let case = Case::new();
    case.client(Up, 1).set_status(Unknown);
    assert!(matches!(case.heartbeat(None, Origin::Client), Renewal::NotFound));
    assert_eq!(case.client(Up, 2).statuses(), (Unknown, Unknown));
    assert_eq!(case.clear_status(Up).statuses(), (Up, Unknown));
}

#[test]
fn commands_that_keep_a_lease_lose_no_renewal_beside_them() {
    const ROUNDS: usize = 2_000;
    let case = Case::new();
    case.client(Up, 1);
    let registry = &case.registry;
    let key = testkit::instances::key("BILLING", "n1");
    let base = case.start.mono.as_nanos() + 1_000_000_000_000;
    thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0..ROUNDS {
                registry.set_status("BILLING", "n1", if round % 2 == 0 { OutOfService } else { Up }, None);
            }
        });
        for round in 0..ROUNDS as u64 {
            registry.table.touch(&key, registry_model::Mono::from_nanos(base + round));
            assert!(case.lease().renewed.unwrap().as_nanos() >= base + round, "lost in round {round}");
        }
    });
}
