//! Leases, protection and eviction on a manual clock, case by case. The evictor is played by the cases.

use crate::{
    Config, Life,
    lease_table::{Renewal, RenewalCall},
    metrics::Metrics,
    registry::Registry,
};
use clap::Parser;
use registry_model::{
    ActionType, Clock as _, Epoch, ExpiredLease, InstanceInfo, InstanceStatus, LeaseReport, LeaseTerms, NodeId, Origin,
    RenewalStamp, UnixMillis,
};
use std::{ops::Range, sync::Arc, time::Duration};
use testkit::{ManualClock, instances::instance};

mod field_reports;

#[derive(Debug, Parser)]
struct Settings {
    #[command(flatten)]
    config: Config,
}

/// As under the `eureka` profile.
const EUREKA: [&str; 8] = [
    "--lease-expiry",
    "doubled",
    "--self-preservation",
    "renewals-per-minute",
    "--self-preservation-max",
    "0",
    "--expected-renewals",
    "clients",
];
const NETFLIX: [&str; 2] = ["--expected-clients-floor", "0"];
const SP_OFF: [&str; 2] = ["--enable-self-preservation", "false"];

/// A registry on a manual clock whose start is called zero here.
struct Case {
    registry: Registry,
    clock: ManualClock,
    /// Milliseconds since the start.
    at: u64,
}

impl Case {
    fn with(arguments: &[&str]) -> Self {
        let settings = Settings::parse_from([&["registry-core"], arguments].concat());
        let clock = ManualClock::new();
        let life = Life { node: NodeId(7), epoch: Epoch(9) };
        let registry = Registry::new(life, &settings.config, Arc::new(clock.clone()), Metrics::default());
        Self { registry, clock, at: 0 }
    }

    fn heureka() -> Self {
        Self::with(&[])
    }

    /// With Netflix's floor.
    fn eureka(arguments: &[&str]) -> Self {
        Self::with(&[&EUREKA[..], &NETFLIX, arguments].concat())
    }

    /// With Spring's floor.
    fn spring(arguments: &[&str]) -> Self {
        Self::with(&[&EUREKA[..], arguments].concat())
    }

    fn open(self, clients: u64) -> Self {
        self.registry.open(clients);
        self
    }

    fn register_with(&self, id: usize, change: impl FnOnce(&mut InstanceInfo)) {
        let mut instance = instance("ORDERS", &format!("i{id}"));
        change(&mut instance);
        self.registry.register(Arc::new(instance), Origin::Client);
    }

    /// Registers `ids` with a lease of 30 s and this duration.
    fn register(&self, ids: Range<usize>, duration_secs: u32) {
        for id in ids {
            self.register_with(id, |instance| {
                instance.lease_terms = LeaseTerms { renewal_interval_secs: 30, duration_secs };
            });
        }
    }

    fn renew_as(&self, id: usize, origin: Origin) {
        let id = format!("i{id}");
        let call = RenewalCall { app: "ORDERS", id: &id, last_dirty: None, origin, said: None, overridden: None };
        self.registry.renew(&call, self.registry.now());
    }

    fn renew(&self, ids: Range<usize>) {
        ids.for_each(|id| self.renew_as(id, Origin::Client));
    }

    /// Moves on to a time since the start, with a tick each second.
    fn to(&mut self, seconds: u64) -> &mut Self {
        self.until_millis(seconds * 1000)
    }

    fn until_millis(&mut self, millis: u64) -> &mut Self {
        while self.at < millis {
            let step = (1000 - self.at % 1000).min(millis - self.at);
            self.clock.advance(Duration::from_millis(step));
            self.at += step;
            if self.at.is_multiple_of(1000) {
                self.registry.tick();
            }
        }
        self
    }

    /// As [`Self::to`], where `ids` renew every 30 s from now on.
    fn renewing_until(&mut self, seconds: u64, ids: Range<usize>) -> &mut Self {
        let mut last = self.at;
        while self.at < seconds * 1000 {
            self.until_millis(self.at + 1000);
            if self.at >= last + 30_000 {
                self.renew(ids.clone());
                last = self.at;
            }
        }
        self
    }

    fn report(&self) -> LeaseReport {
        self.registry.report_leases(Duration::ZERO)
    }

    fn expired(&self) -> usize {
        self.report().expired.len()
    }

    fn may_expire(&self) -> bool {
        self.report().expiration_enabled
    }

    /// Evicts all that may go, as an evictor without share limit would.
    fn evict(&self) -> u64 {
        let report = self.report();
        let may_go: Vec<_> =
            report.expired.into_iter().filter(|lease| report.expiration_enabled || lease.given_up).collect();
        self.registry.evict(&may_go).0
    }

    fn leases(&self) -> u64 {
        self.report().leases
    }

    fn expected_and_threshold(&self) -> (u64, u64) {
        let figures = self.registry.figures().1;
        (figures.expected_clients, figures.threshold)
    }

    fn renewals_last_minute(&self) -> u64 {
        self.registry.figures().1.renewals_last_minute
    }

    fn shows(&self, id: usize) -> bool {
        self.registry.get("ORDERS", &format!("i{id}")).is_some()
    }
}

/// Nothing has run out at the first time, in milliseconds, everything a millisecond later.
fn check_end(case: &mut Case, last: u64) {
    case.until_millis(last);
    assert_eq!(case.expired(), 0, "at {last}");
    case.until_millis(last + 1);
    assert_eq!(case.expired() as u64, case.leases(), "after {last}");
}

#[test]
fn srv_1_2_b66_leases_end_by_the_rule_of_the_profile() {
    let mut never_renewed = Case::eureka(&[]);
    never_renewed.register(0..1, 90);
    check_end(&mut never_renewed, 90_000);
    for (mut case, end) in [(Case::eureka(&[]), 210_000), (Case::heureka(), 120_000)] {
        case.register(0..1, 90);
        case.to(30).renew(0..1);
        check_end(&mut case, end);
    }
}

#[test]
fn srv_3_extra_time_counts_for_one_report() {
    let mut case = Case::eureka(&[]);
    case.register(0..1, 90);
    case.to(30).renew(0..1);
    let with_extra = |case: &Case| case.registry.report_leases(Duration::from_secs(10)).expired.len();
    assert_eq!(with_extra(case.to(220)), 0);
    assert_eq!(with_extra(case.until_millis(220_001)), 1);
    assert_eq!(case.expired(), 1);
}

#[test]
fn srv_5_a_registration_starts_the_lease_anew_and_shortens_a_doubled_one() {
    let mut case = Case::eureka(&[]);
    case.register(0..1, 90);
    case.to(30).renew(0..1);
    case.to(60).register_with(0, |instance| instance.last_dirty = UnixMillis(2000));
    check_end(&mut case, 150_000);
}

#[test]
fn srv_9_an_override_renews_the_lease_but_is_no_renewal() {
    let mut case = Case::eureka(&[]);
    case.register(0..1, 90);
    case.to(50).registry.set_status("ORDERS", "i0", InstanceStatus::OutOfService, None);
    case.to(60);
    assert_eq!(case.renewals_last_minute(), 0);
    check_end(&mut case, 230_000);
}

#[test]
fn k_5_a_duration_without_end_does_not_wrap() {
    let mut case = Case::eureka(&[]);
    case.register(0..1, 2_147_484);
    case.register(1..2, i32::MAX as u32);
    case.renew(0..2);
    case.clock.advance(Duration::from_secs(2 * 2_147_484));
    assert_eq!(case.until_millis(0).expired(), 0);
    case.clock.advance(Duration::from_millis(1));
    assert_eq!(case.expired(), 1);
}

#[test]
fn srv_10_11_38_39_42_the_threshold_follows_registrations_and_cancels() {
    let case = Case::eureka(&[]).open(10);
    let mut seen = vec![case.expected_and_threshold()];
    for id in [1, 1, 2] {
        case.register(id..id + 1, 90);
        seen.push(case.expected_and_threshold());
    }
    for (id, found) in [("i1", true), ("i1", false), ("i2", true)] {
        assert_eq!(case.registry.cancel("ORDERS", id).0.is_some(), found);
        seen.push(case.expected_and_threshold());
    }
    assert_eq!(seen, [(10, 17), (11, 18), (11, 18), (12, 20), (11, 18), (11, 18), (10, 17)]);
    let mut case = Case::eureka(&[]).open(0);
    case.register(0..5, 90);
    assert!(case.registry.cancel("ORDERS", "i1").0.is_some());
    assert_eq!(case.expected_and_threshold(), (0, 0));
    case.renewing_until(120, 2..5);
    assert_eq!((case.renewals_last_minute(), case.expected_and_threshold()), (6, (0, 0)));
    assert!(!case.may_expire());
}

#[test]
fn srv_60_exactly_at_the_threshold_leases_are_protected() {
    for (renewals, expected) in [(85, false), (86, true)] {
        let mut case = Case::eureka(&[]);
        case.register(0..1, 90);
        case = case.open(50);
        (0..renewals).for_each(|_| case.renew(0..1));
        assert_eq!((case.to(60).may_expire(), case.expected_and_threshold()), (expected, (50, 85)));
    }
}

#[test]
fn srv_26_27_34_35_only_what_renews_is_counted_and_who_sent_it() {
    let mut case = Case::eureka(&[]);
    case.register(0..1, 90);
    case.register_with(1, |instance| instance.status = InstanceStatus::Unknown);
    case.renew(1..3);
    case.renew_as(0, Origin::Peer);
    case.renew_as(0, Origin::Client);
    let newer = RenewalCall {
        app: "ORDERS",
        id: "i0",
        last_dirty: Some(UnixMillis(i64::MAX)),
        origin: Origin::Client,
        said: None,
        overridden: None,
    };
    assert!(matches!(case.registry.renew(&newer, case.registry.now()), Renewal::StoredIsOlder));
    case.to(60);
    let figures = case.registry.figures().1;
    assert_eq!((figures.renewals_last_minute, figures.replications_last_minute), (3, 1));
}

#[test]
fn srv_62_nothing_goes_in_the_first_minute() {
    let mut case = Case::eureka(&[]).open(10);
    case.register(0..1, 10);
    case.until_millis(59_999);
    assert_eq!((case.expired(), case.evict()), (1, 0));
    case.to(60);
    assert_eq!((case.evict(), case.leases(), case.shows(0)), (0, 1, true));
}

#[test]
fn srv_66_evictions_lower_what_is_expected_and_are_changes() {
    let mut case = Case::eureka(&SP_OFF);
    case.register(0..5, 10);
    case.register(5..100, 90);
    case = case.open(100);
    case.to(60);
    assert_eq!(case.evict(), 5);
    assert_eq!(case.expected_and_threshold(), (95, 161));
    assert_eq!(case.registry.metrics().evictions.get(), 5);
    assert_eq!(case.report().evicted_last_minute, 5);
    let recent = case.registry.snapshot(Duration::from_secs(180)).recent.changes;
    let deleted = recent
        .into_iter()
        .map(|change| registry_proto::IntoModel::into_model(change.message).unwrap().record)
        .filter(|record| record.instance.action == ActionType::Deleted);
    let deleted: Vec<_> = deleted.map(|record| (record.instance.status, record.lease.evicted)).collect();
    assert_eq!(deleted, [(InstanceStatus::Up, case.clock.unix()); 5]);
    case.to(119);
    assert_eq!(case.report().evicted_last_minute, 5);
    case.to(120);
    assert_eq!(case.report().evicted_last_minute, 0);
}

#[test]
fn srv_68_69_a_late_round_gives_every_lease_what_it_is_late_by() {
    let mut case = Case::eureka(&SP_OFF);
    case.register(0..1, 65);
    case.register(1..2, 130);
    case.until_millis(140_000);
    let expired = |case: &Case, extra| {
        let report = case.registry.report_leases(Duration::from_secs(extra));
        report.expired.into_iter().map(|lease| lease.key.id.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(expired(&case, 20), ["i0"]);
    assert_eq!(expired(&case, 0).len(), 2);
    assert_eq!(expired(case.to(200), 0).len(), 2, "the next round is in time, and gives nobody more");
}

#[test]
fn srv_70_71_72_the_threshold_job_counts_the_leases() {
    for (leases, off, expected) in [
        (90, false, (90, 153)),
        (85, false, (100, 170)),
        (80, false, (100, 170)),
        (80, true, (80, 136)),
        (0, true, (0, 0)),
    ] {
        let mut case = Case::eureka(if off { &SP_OFF } else { &[] });
        case.register(0..leases, 100_000);
        case = case.open(100);
        case.to(899);
        assert_eq!(case.expected_and_threshold().0, 100);
        assert_eq!(case.to(900).expected_and_threshold(), expected, "{leases} {off}");
    }
    let mut case = Case::spring(&SP_OFF);
    case.to(900).register(0..1, 90);
    assert_eq!(case.expected_and_threshold().0, 2);
}

#[test]
fn srv_73_74_k_7_a_lone_spring_server_expires_nothing_with_five_clients_and_stops_with_six() {
    let mut five = Case::spring(&[]).open(0);
    five.register(0..5, 90);
    five.renewing_until(300, 0..5);
    assert_eq!((five.renewals_last_minute(), five.expected_and_threshold()), (10, (6, 10)));
    assert!(!five.may_expire());
    let mut six = Case::spring(&[]).open(0);
    six.register(0..6, 90);
    six.renewing_until(300, 0..6);
    assert_eq!((six.renewals_last_minute(), six.expected_and_threshold()), (12, (7, 11)));
    assert!(six.may_expire());
    six.renewing_until(660, 0..5);
    assert_eq!((six.renewals_last_minute(), six.expired(), six.evict()), (10, 1, 0));
    assert!(six.shows(5));
}

#[test]
fn srv_75_a_minute_of_renewals_decides() {
    let mut case = Case::eureka(&["--renewal-threshold-update-interval", "1h"]).open(1);
    case.register(0..50, 30);
    for renewal in [15, 45] {
        case.to(renewal.min(40)).to(renewal).renew(0..45);
        if renewal == 15 {
            case.to(40);
            assert_eq!((case.expected_and_threshold().1, case.renewals_last_minute()), (86, 0));
            assert!(!case.may_expire());
        }
    }
    case.to(60);
    assert_eq!((case.renewals_last_minute(), case.may_expire(), case.evict()), (90, true, 5));
    assert_eq!(case.expected_and_threshold(), (46, 78));
    case.to(75).renew(0..45);
    case.to(80);
    assert_eq!((case.leases(), case.renewals_last_minute()), (45, 90));
    case.to(90);
    case = case.open(151);
    case.to(105).renew(0..45);
    case.to(120);
    assert_eq!((case.expected_and_threshold(), case.may_expire(), case.evict()), ((151, 256), false, 0));
    assert_eq!(case.leases(), 45);
}

#[test]
fn srv_76_k_8_what_was_renewed_or_registered_since_it_was_seen_stays() {
    for off in [Case::eureka(&SP_OFF), Case::with(&SP_OFF)] {
        let mut case = off;
        case.register(0..3, 10);
        case.to(60);
        let seen = case.report().expired;
        assert_eq!(seen.len(), 3);
        case.renew(0..1);
        case.register(1..2, 10);
        assert_eq!(case.registry.evict(&seen).0, 1);
        assert_eq!([case.shows(0), case.shows(1), case.shows(2)], [true, true, false]);
        // Nor does anything go that has not run out.
        let entry = case.registry.report_leases(Duration::ZERO);
        assert_eq!(entry.expired, []);
        let stranger = ExpiredLease { stamp: RenewalStamp(case.clock.mono().as_nanos()), ..seen[0].clone() };
        assert_eq!(case.registry.evict(&[stranger]).0, 0);
    }
}
