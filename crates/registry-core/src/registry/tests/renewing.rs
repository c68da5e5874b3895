//! Renewals that find another status than the stored one, or versions that differ.

use super::*;

fn peers(dirty: i64, overridden: InstanceStatus) -> RenewalCall<'static> {
    RenewalCall { last_dirty: Some(UnixMillis(dirty)), overridden: Some(overridden), ..call(Origin::Peer) }
}

fn said(dirty: i64, status: InstanceStatus) -> RenewalCall<'static> {
    RenewalCall { last_dirty: Some(UnixMillis(dirty)), said: Some(status), ..call(Origin::Client) }
}

impl Case {
    fn beats(&self, call: &RenewalCall<'_>) -> Renewal {
        self.registry.renew(call, self.registry.now())
    }
}

#[test]
fn srv_31_s3_a_peers_override_is_stored_with_its_404_and_acts_with_the_next_heartbeat() {
    for case in Case::both() {
        case.client(Up, 100).advance(10);
        assert!(matches!(case.beats(&peers(200, OutOfService)), Renewal::StoredIsOlder));
        assert_eq!((case.overridden(), case.statuses()), (Some(OutOfService), (Up, OutOfService)));
        assert_eq!(case.actions(1), [ActionType::Modified], "storing it is a change");
        case.assert_ends_at(10 + case.renewed_lasts());
        case.beats(&peers(200, OutOfService));
        assert_eq!(case.statuses(), (OutOfService, OutOfService));
        assert_eq!(case.revision(), 3, "storing it again is none");
    }
}

#[test]
fn srv_28_srv_103_s3_k_11_a_status_that_a_heartbeat_corrects_is_a_change() {
    for case in Case::both() {
        case.client(Up, 100);
        case.beats(&peers(200, OutOfService));
        case.advance(20).renew();
        assert_eq!(case.statuses(), (OutOfService, OutOfService));
        let changes = case.changes(2);
        assert_eq!(changes.len(), 1);
        let changed = &changes[0].record;
        assert_eq!((changed.instance.status, changed.instance.action), (OutOfService, ActionType::Modified));
        assert_eq!(case.since_start(changed.instance.last_updated), 20_000);
        assert_eq!(changed.lease.renewed, case.stored().lease.renewed);
        case.renew().assert_ends_at(20 + case.renewed_lasts());
        assert_eq!(case.revision(), 3, "the next one finds nothing to correct");
    }
}

#[test]
fn srv_32_no_override_is_stored_for_a_client_or_where_none_is_said() {
    for case in Case::both() {
        case.client(Up, 100);
        for call in [
            peers(200, Unknown),
            RenewalCall { origin: Origin::Client, ..peers(200, OutOfService) },
            RenewalCall { overridden: None, ..peers(200, Unknown) },
        ] {
            assert!(matches!(case.beats(&call), Renewal::StoredIsOlder));
            assert_eq!((case.overridden(), case.revision()), (None, 1));
        }
    }
}

#[test]
fn an_override_is_stored_only_with_a_newer_description() {
    let case = Case::new();
    case.client(Up, 100);
    for dirty in [50, 100] {
        case.beats(&peers(dirty, OutOfService));
        assert_eq!((case.overridden(), case.revision()), (None, 1));
    }
}

#[test]
fn srv_33_stamps_are_compared_only_where_that_is_set() {
    let case = Case::set(&["--sync-when-timestamp-differs", "false"]);
    case.client(Up, 100);
    for (dirty, origin) in [(50, Origin::Client), (200, Origin::Client), (50, Origin::Peer), (200, Origin::Peer)] {
        assert!(matches!(case.heartbeat(Some(dirty), origin), Renewal::Renewed), "{dirty} {origin:?}");
    }
    case.beats(&peers(200, OutOfService));
    assert_eq!(case.overridden(), None);
}

#[test]
fn srv_34_a_heartbeat_that_has_to_register_has_renewed_the_lease_before() {
    for case in Case::both() {
        case.client(Up, 100).advance(10);
        assert!(matches!(case.heartbeat(Some(200), Origin::Client), Renewal::StoredIsOlder));
        case.assert_ends_at(10 + case.renewed_lasts());
    }
}

#[test]
fn srv_35_a_peers_heartbeat_renews() {
    for case in Case::both() {
        case.client(Up, 100).advance(10);
        assert!(matches!(case.heartbeat(Some(100), Origin::Peer), Renewal::Renewed));
        case.assert_ends_at(10 + case.renewed_lasts());
    }
}

#[test]
fn b52_b37_the_status_that_a_heartbeat_says_is_never_stored_but_counted() {
    let case = Case::new();
    case.client(Up, 1000);
    for (call, mismatches) in [
        (said(1000, OutOfService), 1),
        (said(1000, Up), 1),
        (said(1000, Unknown), 1),
        (said(1000, Down), 2),
        // Another description's: it registers, or is of the past.
        (said(2000, Down), 2),
        (said(500, Down), 2),
        // No client's.
        (RenewalCall { origin: Origin::Peer, ..said(1000, Down) }, 2),
    ] {
        case.beats(&call);
        assert_eq!((case.status(), case.revision()), (Up, 1), "{call:?}");
        assert_eq!(case.registry.metrics.status_mismatches.get(), mismatches, "{call:?}");
    }
}

#[test]
fn b37_a_client_that_knows_nothing_of_its_override_is_no_mismatch() {
    let case = Case::new();
    case.client(Up, 1000).set_status(OutOfService);
    case.beats(&said(1000, Up));
    assert_eq!(case.registry.metrics.status_mismatches.get(), 0);
    case.beats(&said(1000, Down));
    assert_eq!(case.registry.metrics.status_mismatches.get(), 1);
}

#[test]
fn b37_a_heartbeat_heals_the_status_where_that_is_set() {
    let case = Case::set(&["--heal-status-from-heartbeat"]);
    case.client(Down, 1000).advance(30);
    for stale in [said(999, Up), RenewalCall { origin: Origin::Peer, ..said(1000, Up) }] {
        case.beats(&stale);
        assert_eq!(case.status(), Down, "{stale:?}");
    }
    assert!(matches!(case.beats(&said(1000, Up)), Renewal::StatusDiffers));
    assert_eq!((case.status(), case.actions(1)), (Up, vec![ActionType::Modified]));
    case.assert_ends_at(30 + 90);
    assert!(matches!(case.beats(&said(1000, Up)), Renewal::Renewed));
    // What a registration cannot do, a heartbeat cannot.
    case.beats(&said(1000, OutOfService));
    assert_eq!(case.status(), Up);
    case.set_status(OutOfService).beats(&said(1000, Up));
    assert_eq!(case.status(), OutOfService);
}

#[test]
fn srv_159_160_b53_each_change_is_told_once_when_it_can_be_read_and_heartbeats_are_none() {
    for case in Case::both() {
        case.client(Up, 1).renew().renew().client(Up, 1).set_status(Down).renew().clear_status(Up).cancel();
        use ActionType::{Added, Deleted, Modified};
        assert_eq!(case.actions(0), [Added, Added, Modified, Modified, Deleted]);
        assert!(case.changes(0).iter().map(|change| change.revision.0).eq(1..=5));
        for origin in [Origin::Client, Origin::Peer] {
            assert!(matches!(case.heartbeat(Some(1), origin), Renewal::NotFound));
        }
        assert!(case.registry.cancel("billing", "n1").0.is_none());
        assert_eq!(case.revision(), 5, "nothing is told of what is not there");
    }
}

#[test]
fn srv_159_an_eviction_is_told_once() {
    for settings in [&[][..], &EUREKA] {
        let case = Case::set(&[settings, &["--enable-self-preservation", "false"]].concat());
        case.client(Up, 1).pass(91);
        let expired = case.registry.report_leases(Duration::ZERO).expired;
        for evicted in [1, 0] {
            assert_eq!(case.registry.evict(&expired).0, evicted);
        }
        assert_eq!(case.actions(1), [ActionType::Deleted]);
    }
}
