//! The rules of commands, case by case, and commands from many threads.

mod addresses;
mod metadata;
mod model;
mod overriding;
mod renewing;

use super::*;
use crate::{
    config,
    lease_table::{Renewal, RenewalCall},
};
use registry_model::{
    ActionType, Change, Epoch,
    InstanceStatus::{self, *},
    LeaseTerms, NodeId, UnixMillis,
};
use registry_proto::IntoModel;
use std::{collections::BTreeMap, thread};
use testkit::{ManualClock, instances::instance};

const EUREKA: [&str; 12] = [
    "--lease-expiry",
    "doubled",
    "--store-unchanged-override",
    "false",
    "--cancel-grace",
    "0",
    "--self-preservation",
    "renewals-per-minute",
    "--self-preservation-max",
    "0",
    "--expected-renewals",
    "clients",
];

/// A registry on a manual clock whose start is called zero here.
struct Case {
    registry: Registry,
    clock: ManualClock,
    start: Moment,
}

impl Case {
    fn new() -> Self {
        Self::set(&[])
    }

    /// As the `eureka` profile has it.
    fn eureka() -> Self {
        Self::set(&EUREKA)
    }

    /// One under each profile, for what is the same in both.
    fn both() -> [Self; 2] {
        [Self::new(), Self::eureka()]
    }

    fn with(expiry: LeaseExpiry) -> Self {
        match expiry {
            LeaseExpiry::Exact => Self::new(),
            LeaseExpiry::Doubled => Self::eureka(),
        }
    }

    fn set(settings: &[&str]) -> Self {
        let clock = ManualClock::new();
        let life = Life { node: NodeId(7), epoch: Epoch(9) };
        let config = config::tests::parsed(settings).unwrap();
        let registry = Registry::new(life, &config, Arc::new(clock.clone()), Metrics::default());
        let start = registry.now();
        Self { registry, clock, start }
    }

    /// Registers `n1` of `BILLING` with this status and dirty stamp and the version as metadata.
    fn register(&self, status: InstanceStatus, dirty: i64, version: &str, origin: Origin) -> &Self {
        let instance = InstanceInfo {
            status,
            last_dirty: UnixMillis(dirty),
            metadata: [("v", version)].into_iter().collect(),
            ..instance("BILLING", "n1")
        };
        self.registry.register(Arc::new(instance), origin);
        self
    }

    fn client(&self, status: InstanceStatus, dirty: i64) -> &Self {
        self.register(status, dirty, "1", Origin::Client)
    }

    fn peer(&self, status: InstanceStatus, dirty: i64) -> &Self {
        self.register(status, dirty, "1", Origin::Peer)
    }

    fn renew(&self) -> &Self {
        assert!(matches!(self.heartbeat(None, Origin::Client), Renewal::Renewed));
        self
    }

    /// A heartbeat of `n1` of `BILLING` with this dirty stamp.
    fn heartbeat(&self, dirty: Option<i64>, origin: Origin) -> Renewal {
        self.registry.renew(&RenewalCall { last_dirty: dirty.map(UnixMillis), ..call(origin) }, self.registry.now())
    }

    fn set_status(&self, status: InstanceStatus) -> &Self {
        assert!(self.registry.set_status("billing", "n1", status, None).is_some());
        self
    }

    fn clear_status(&self, status: InstanceStatus) -> &Self {
        assert!(self.registry.clear_status("billing", "n1", status, None).is_some());
        self
    }

    fn cancel(&self) -> &Self {
        assert!(self.registry.cancel("billing", "n1").0.is_some());
        self
    }

    /// What an eviction does: the lease goes, and nothing else.
    fn lose(&self) -> &Self {
        assert!(self.registry.table.remove("billing", "n1").is_some());
        self
    }

    /// Status and overridden status.
    fn statuses(&self) -> (InstanceStatus, InstanceStatus) {
        let instance = self.stored().instance;
        (instance.status, instance.overridden_status)
    }

    fn lease(&self) -> registry_model::Lease {
        self.registry.table.get("BILLING", "n1").unwrap().lease()
    }

    /// Asserts that the lease runs out right after so many seconds since the start.
    fn assert_ends_at(&self, seconds: u64) {
        let end = self.start.mono + Duration::from_secs(seconds);
        let (lease, expiry) = (self.lease(), self.registry.expiry);
        assert!(!lease.is_expired(end, expiry), "{lease:?} before {seconds}");
        assert!(lease.is_expired(end + Duration::from_millis(1), expiry), "{lease:?} after {seconds}");
    }

    /// The latest revision.
    fn revision(&self) -> u64 {
        self.registry.log.read().latest().0
    }

    /// The changes after a revision.
    fn changes(&self, after: u64) -> Vec<Change> {
        let all = Limit { messages: usize::MAX, bytes: usize::MAX };
        let Reading::Changes(changes) = self.registry.changes_after(Revision(after), all) else {
            panic!("the log is large enough")
        };
        changes.into_iter().map(|change| change.into_model().unwrap()).collect()
    }

    /// The actions of the changes after a revision.
    fn actions(&self, after: u64) -> Vec<ActionType> {
        self.changes(after).iter().map(|change| change.record.instance.action).collect()
    }

    /// The override of `n1` of `BILLING` in the table, by a look that is no use of it.
    fn overridden(&self) -> Option<InstanceStatus> {
        let key = testkit::instances::key("BILLING", "n1");
        self.registry.list_overrides().into_iter().find_map(|(held, status)| (held == key).then_some(status))
    }

    fn advance(&self, seconds: u64) -> &Self {
        self.clock.advance(Duration::from_secs(seconds));
        self
    }

    /// As [`Self::advance`], with a tick each second: without them it is time that does not count against leases.
    fn pass(&self, seconds: u64) -> &Self {
        for _ in 0..seconds {
            self.advance(1).registry.tick();
        }
        self
    }

    fn stored(&self) -> Record {
        self.registry.get("BILLING", "n1").unwrap()
    }

    fn status(&self) -> InstanceStatus {
        self.stored().instance.status
    }

    fn version(&self) -> String {
        self.stored().instance.metadata.get("v").unwrap().to_owned()
    }

    /// How long a lease of 90 s lasts once it is renewed.
    fn renewed_lasts(&self) -> u64 {
        match self.registry.expiry {
            LeaseExpiry::Exact => 90,
            LeaseExpiry::Doubled => 180,
        }
    }

    fn expected_clients(&self) -> u64 {
        self.registry.figures().1.expected_clients
    }

    /// Milliseconds since the start of the case.
    fn since_start(&self, time: UnixMillis) -> i64 {
        time.0 - self.start.unix.0
    }
}

/// A plain heartbeat of `n1` of `BILLING`.
fn call(origin: Origin) -> RenewalCall<'static> {
    RenewalCall { app: "billing", id: "n1", last_dirty: None, origin, said: None, overridden: None }
}

#[test]
fn srv_12_rest_21_an_older_registration_keeps_the_stored_description_but_restarts_the_lease() {
    for case in Case::both() {
        case.register(Up, 200, "2", Origin::Client).renew().advance(10).register(Up, 100, "1", Origin::Client);
        let stored = case.stored();
        assert_eq!((case.version().as_str(), stored.instance.last_dirty), ("2", UnixMillis(200)));
        assert_eq!(stored.instance.action, ActionType::Added);
        assert_eq!(case.since_start(stored.lease.registered), 10_000);
        assert_eq!(case.since_start(stored.lease.renewed), 10_000);
        assert_eq!(case.since_start(stored.instance.last_updated), 10_000);
        case.assert_ends_at(10 + 90);
        let told = case.changes(1);
        assert_eq!((told.len(), &told[0].record.instance), (1, &stored.instance));
    }
}

#[test]
fn an_older_registration_brings_its_own_duration() {
    let case = Case::new();
    case.client(Up, 200);
    let older = InstanceInfo {
        last_dirty: UnixMillis(100),
        lease_terms: LeaseTerms { renewal_interval_secs: 5, duration_secs: 15 },
        ..instance("BILLING", "n1")
    };
    case.registry.register(Arc::new(older), Origin::Client);
    let entry = case.registry.table.get("BILLING", "n1").unwrap();
    assert_eq!(entry.lease().duration, Duration::from_secs(15));
    assert_eq!(entry.instance().lease_terms, LeaseTerms::default());
}

#[test]
fn srv_13_rest_22_of_equal_stamps_the_incoming_description_is_stored() {
    for case in Case::both() {
        case.register(Up, 200, "2", Origin::Client).register(Up, 200, "3", Origin::Client);
        assert_eq!(case.version(), "3");
    }
}

#[test]
fn srv_16_rest_23_a_client_cannot_take_itself_out_of_service() {
    for case in Case::both() {
        case.client(Up, 1).client(OutOfService, 2);
        assert_eq!(case.status(), Up);
        assert_eq!(case.client(OutOfService, 3).status(), Up);
    }
}

#[test]
fn srv_17_a_client_cannot_bring_itself_back_into_service() {
    for case in Case::both() {
        case.client(OutOfService, 1).client(Up, 2);
        assert_eq!(case.status(), OutOfService);
        assert_eq!(case.client(Up, 3).status(), OutOfService);
    }
}

#[test]
fn srv_18_rest_24_a_replicated_status_is_taken_at_face_value() {
    for case in Case::both() {
        assert_eq!(case.client(Up, 1).peer(OutOfService, 2).status(), OutOfService);
    }
}

#[test]
fn srv_19_rest_25_down_and_up_again_are_believed() {
    for case in Case::both() {
        assert_eq!(case.client(Down, 1).status(), Down);
        assert_eq!(case.stored().lease.service_up, UnixMillis::NEVER);
        assert_eq!(case.advance(5).client(Up, 2).status(), Up);
        assert_eq!(case.since_start(case.stored().lease.service_up), 5_000);
        assert_eq!(case.client(Down, 3).status(), Down);
    }
}

#[test]
fn srv_20_rest_33_an_override_that_a_registration_carries_acts_on_its_status() {
    for origin in [Origin::Peer, Origin::Client] {
        for (said, effective) in [(Up, OutOfService), (Starting, Starting), (OutOfService, OutOfService)] {
            for case in Case::both() {
                let instance =
                    InstanceInfo { status: said, overridden_status: OutOfService, ..instance("BILLING", "n1") };
                case.registry.register(Arc::new(instance), origin);
                assert_eq!((case.statuses(), case.overridden()), ((effective, OutOfService), Some(OutOfService)));
            }
        }
    }
}

#[test]
fn srv_5_registering_again_starts_the_lease_anew_and_keeps_the_service_up_time() {
    for expiry in [LeaseExpiry::Exact, LeaseExpiry::Doubled] {
        let case = Case::with(expiry);
        case.client(Up, 1000).advance(30).renew().advance(30).client(Up, 2000);
        let times = case.stored().lease;
        assert_eq!(case.since_start(times.registered), 60_000);
        assert_eq!(case.since_start(times.renewed), 60_000);
        assert_eq!(case.since_start(times.service_up), 0);
        let lease = case.registry.table.get("BILLING", "n1").unwrap().lease();
        let at = |seconds: u64, millis: u64| case.start.mono + Duration::from_millis(seconds * 1000 + millis);
        assert!(!lease.is_expired(at(150, 0), expiry) && lease.is_expired(at(150, 1), expiry));
    }
}

#[test]
fn srv_6_the_first_time_up_stays() {
    for case in Case::both() {
        let service_up = || case.stored().lease.service_up;
        case.client(Starting, 1);
        assert_eq!(service_up(), UnixMillis::NEVER);
        case.advance(10).client(Up, 2);
        assert_eq!(case.since_start(service_up()), 10_000);
        for (status, dirty) in [(Down, 3), (Up, 4)] {
            case.advance(10).client(status, dirty);
            assert_eq!(case.since_start(service_up()), 10_000);
        }
    }
}

#[test]
fn b35_an_older_replicated_registration_leaves_status_and_stamp() {
    let case = Case::new();
    case.client(Up, 2000).peer(Starting, 1000);
    assert_eq!((case.status(), case.stored().instance.last_dirty), (Up, UnixMillis(2000)));
}

#[test]
fn srv_38_a_cancel_removes_the_instance_and_its_override_and_leaves_its_status() {
    for case in Case::both() {
        case.registry.open(10);
        case.client(Up, 1).set_status(OutOfService).advance(7);
        assert_eq!((case.expected_clients(), case.overridden()), (11, Some(OutOfService)));
        let (removed, position) = case.registry.cancel("billing", "n1");
        let removed = removed.unwrap();
        assert_eq!((removed.instance.status, removed.instance.action), (OutOfService, ActionType::Deleted));
        assert_eq!(case.since_start(removed.lease.evicted), 7_000);
        assert_eq!(case.since_start(removed.instance.last_updated), 7_000);
        assert_eq!(position.revision, Revision(3));
        assert_eq!(case.changes(2)[0].record.instance, removed.instance);
        assert!(case.registry.get("BILLING", "n1").is_none());
        assert_eq!((case.expected_clients(), case.overridden()), (10, None));
    }
}

#[test]
fn srv_39_k_33_a_cancel_of_an_unknown_instance_changes_nothing() {
    for case in Case::both() {
        case.registry.open(10);
        // The same id in another application, with an override.
        case.client(Up, 1).set_status(OutOfService);
        for (app, id) in [("BILLING", "N1"), ("ORDERS", "n1")] {
            let (removed, position) = case.registry.cancel(app, id);
            assert!(removed.is_none());
            assert_eq!(position, Position { epoch: Epoch(9), revision: Revision(2) });
            assert_eq!(case.registry.recently_cancelled(1)[0].1, testkit::instances::key(app, id));
        }
        assert_eq!((case.expected_clients(), case.overridden()), (11, Some(OutOfService)));
        assert_eq!((case.registry.metrics.cancels_not_found.get(), case.registry.metrics.cancels.get()), (2, 0));
    }
}

#[test]
fn srv_8_a_lease_is_cancelled_once_and_stays_gone() {
    for case in Case::both() {
        case.client(Up, 1).renew().advance(5).cancel().advance(4);
        assert!(case.registry.cancel("billing", "n1").0.is_none());
        let told = case.changes(1);
        assert_eq!(told.len(), 1);
        assert_eq!(case.since_start(told[0].record.lease.evicted), 5_000);
        for _ in 0..4 {
            assert!(case.registry.get("BILLING", "n1").is_none());
            assert!(matches!(case.heartbeat(None, Origin::Client), Renewal::NotFound));
            case.advance(60);
        }
    }
}

#[test]
fn a_renewal_is_no_change_and_shows_in_the_instance() {
    let case = Case::new();
    case.client(Up, 1).advance(30).renew();
    assert_eq!(case.since_start(case.stored().lease.renewed), 30_000);
    assert_eq!(case.since_start(case.stored().instance.last_updated), 0);
    assert_eq!(case.registry.log.read().latest(), Revision(1));
}

#[test]
fn commands_from_many_threads_give_revisions_without_gaps_in_the_order_of_their_effects() {
    const THREADS: usize = 4;
    const COMMANDS: usize = 200;
    let case = Case::new();
    let registry = &case.registry;
    thread::scope(|scope| {
        for thread in 0..THREADS {
            scope.spawn(move || {
                for command in 0..COMMANDS {
                    let id = format!("n{}", (command * 7 + thread) % 10);
                    if command % 4 == 3 {
                        registry.cancel("A", &id);
                    } else {
                        registry.register(Arc::new(instance("A", &id)), Origin::Client);
                    }
                    registry.renew(&RenewalCall { app: "A", id: &id, ..call(Origin::Client) }, registry.now());
                }
            });
        }
    });
    let changes = case.changes(0);
    assert!(changes.iter().map(|change| change.revision.0).eq(1..=changes.len() as u64));
    let mut replayed = BTreeMap::new();
    for Change { record, .. } in changes {
        match record.instance.action {
            ActionType::Deleted => assert!(replayed.remove(record.key()).is_some(), "removed twice"),
            ActionType::Added | ActionType::Modified => drop(replayed.insert(record.key().clone(), record.instance)),
        }
    }
    let held: BTreeMap<_, _> = registry
        .table
        .entries()
        .iter()
        .map(|entry| (entry.instance().key.clone(), Arc::clone(entry.instance())))
        .collect();
    assert_eq!(held, replayed);
    assert_eq!(registry.metrics.leases.get(), held.len() as u64);
}
