//! What users of Eureka-style registries ran into, under the default profile. Cases as in `tests`.

use super::*;

#[test]
fn b70_a_lone_server_expires_one_of_three() {
    let mut case = Case::heureka();
    case.register(0..3, 90);
    case.renewing_until(90, 0..2).until_millis(90_001);
    assert_eq!((case.expired(), case.may_expire(), case.evict()), (1, true, 1));
    assert_eq!((case.leases(), case.shows(0)), (2, true));
}

#[test]
fn b67_what_is_expected_follows_the_leases_also_after_evictions() {
    let mut case = Case::heureka();
    case.register(0..20, 90);
    let (before, _) = case.expected_and_threshold();
    for round in 0..10 {
        case.register(100 + round..101 + round, 10);
        let seconds = case.at / 1000 + 60;
        case.renewing_until(seconds, 0..20);
        assert_eq!(case.evict(), 1, "round {round}");
    }
    assert_eq!(case.expected_and_threshold(), (before, 34));
    case.renewing_until(900, 0..20);
    assert_eq!(case.expected_and_threshold().0, 20);
}

#[test]
fn b68_all_leases_count_whatever_their_status() {
    for mut case in [Case::heureka(), Case::eureka(&SP_OFF).open(1)] {
        case.register(0..12, 10_000);
        for id in 12..16 {
            case.register_with(id, |instance| {
                instance.lease_terms.duration_secs = if id == 15 { 10 } else { 10_000 };
                instance.status = InstanceStatus::OutOfService;
            });
        }
        case.renewing_until(60, 0..15);
        assert_eq!(case.evict(), 1);
        assert_eq!(case.renewing_until(900, 0..15).expected_and_threshold().0, 15);
    }
}

#[test]
fn b73_expected_renewals_are_summed_from_each_leases_own_interval() {
    let mut case = Case::heureka();
    for id in 0..10 {
        case.register_with(id, |instance| instance.lease_terms.renewal_interval_secs = if id < 5 { 5 } else { 60 });
    }
    let figures = case.registry.figures().1;
    assert_eq!((figures.expected_per_minute, figures.threshold), (65.0, 55));
    // Each is missing after two intervals of its own.
    for (seconds, missing) in [(10, 0), (11, 5), (90, 5), (91, 10)] {
        case.to(seconds);
        assert_eq!(case.report().preservation.missing, missing, "at {seconds}");
    }
}

#[test]
fn s15_small_registries_still_evict_and_edges_are_as_documented() {
    for (leases, gone, protected) in
        [(1, 1, false), (2, 1, false), (2, 2, true), (6, 1, false), (6, 2, true), (7, 1, false), (14, 2, false)]
    {
        let mut case = Case::heureka();
        case.register(0..leases, 90);
        case.renewing_until(91, gone..leases);
        assert_eq!(case.may_expire(), !protected, "{gone} of {leases}");
        assert_eq!(case.expired(), gone);
        assert_eq!(case.shows(0), protected, "what has run out is hidden only while it may go");
    }
}

#[test]
fn b69_protection_says_why_and_since_when_and_ends_at_its_ceiling() {
    let mut case = Case::heureka();
    case.register(0..20, 90);
    let start = case.clock.unix();
    case.renewing_until(200, 10..20);
    let notice = case.report().preservation.protecting.unwrap();
    assert_eq!(notice.reason, "10 of 20 instances have missed two renewals");
    assert_eq!(notice.since, start + Duration::from_secs(61));
    assert_eq!(notice.until, Some(start + Duration::from_secs(3661)));
    case.renewing_until(3660, 10..20);
    assert_eq!((case.evict(), case.shows(0)), (0, true));
    case.renewing_until(3661, 10..20);
    let report = case.report();
    assert_eq!((report.preservation.protecting.clone(), report.expiration_enabled), (None, true));
    assert_eq!((report.preservation.given_up, report.preservation.missing), (10, 0));
    assert!(report.expired.iter().all(|lease| lease.given_up));
    // One comes back: its mark is gone for good.
    case.renew(0..1);
    let report = case.report();
    assert_eq!((report.preservation.given_up, report.expired.len()), (9, 9));
    assert_eq!(case.evict(), 9);
    assert_eq!((case.leases(), case.report().preservation.given_up), (11, 0));
    // Later ones are protected again: three of eleven.
    case.renewing_until(3800, 13..20);
    assert!(!case.may_expire());
}

#[test]
fn b69_the_operator_says_that_these_are_gone() {
    let mut case = Case::heureka();
    case.register(0..20, 90);
    case.renewing_until(100, 10..20);
    assert!(!case.may_expire());
    assert_eq!(case.registry.give_up_missing(), 10);
    assert_eq!((case.may_expire(), case.report().preservation.given_up), (true, 10));
    // While others go missing and protection begins anew, those given up still go.
    case.renewing_until(200, 14..20);
    let report = case.report();
    assert_eq!((report.expiration_enabled, report.preservation.missing, report.expired.len()), (false, 4, 14));
    assert_eq!(case.evict(), 10);
    assert_eq!(case.leases(), 10);
    assert_eq!(case.registry.give_up_missing(), 4);
}

#[test]
fn b69_without_a_ceiling_protection_does_not_end() {
    let mut case = Case::with(&["--self-preservation-max", "0"]);
    case.register(0..2, 90);
    case.to(10_000);
    let notice = case.report().preservation.protecting.unwrap();
    assert_eq!((notice.until, case.evict()), (None, 0));
}

#[test]
fn b76_a_pause_counts_against_nobody() {
    let mut case = Case::heureka();
    case.register(0..20, 90);
    case.renewing_until(60, 0..20);
    // Three leases long, and the first report comes before the first tick.
    case.clock.advance(Duration::from_secs(270));
    assert_eq!((case.expired(), case.report().preservation.missing), (0, 0));
    // These were quicker than the tick.
    case.renew(10..20);
    case.registry.tick();
    case.at += 270_000;
    assert_eq!(case.registry.metrics().stalls.get(), 1);
    assert_eq!(case.expired(), 0);
    // Ten do not come back: they have what was left to them, 90 s less the second before a tick was due.
    case.renewing_until(330 + 88, 10..20);
    assert_eq!(case.expired(), 0);
    case.renewing_until(330 + 91, 10..20);
    assert_eq!(case.expired(), 10);
    assert!(case.shows(0), "but ten of twenty are protected");
}

#[test]
fn b76_doubled_leases_know_no_pause_that_is_the_evictors_affair() {
    let mut case = Case::eureka(&SP_OFF);
    case.register(0..1, 90);
    case.clock.advance(Duration::from_secs(91));
    case.registry.tick();
    assert_eq!(case.until_millis(0).expired(), 1);
    assert_eq!(case.registry.report_leases(Duration::from_secs(31)).expired.len(), 0);
}

#[test]
fn b77_what_a_peer_sends_starts_fresh_however_old_it_is() {
    let mut case = Case::heureka();
    case.to(1000);
    let old = InstanceInfo { last_updated: UnixMillis(1), last_dirty: UnixMillis(1), ..instance("ORDERS", "i0") };
    case.registry.register(Arc::new(old), Origin::Peer);
    check_end(&mut case, 1_090_000);
}

#[test]
fn s14_a_step_of_the_wall_clock_ends_no_lease() {
    let mut case = Case::heureka();
    case.register(0..3, 90);
    for step in [3_600_000, -7_200_000] {
        case.clock.set_unix(UnixMillis(case.clock.unix().0 + step));
        case.registry.tick();
        assert_eq!((case.expired(), case.report().preservation.missing), (0, 0));
    }
    check_end(&mut case, 90_000);
}

#[test]
fn b74_a_lease_that_has_run_out_goes_with_the_next_look() {
    let mut case = Case::heureka();
    case.register(0..1, 10);
    case.to(10);
    assert_eq!(case.evict(), 0);
    case.to(11);
    assert_eq!(case.evict(), 1);
    let mut text = String::new();
    let mut collected = prometheus_client::registry::Registry::default();
    collected.register("delay", "", case.registry.metrics().eviction_delay.0.clone());
    prometheus_client::encoding::text::encode(&mut text, &collected).unwrap();
    assert!(text.contains("delay_sum 1.0") && text.contains("le=\"1.0\"} 1"), "{text}");
}
