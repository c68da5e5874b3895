//! Calls as Eureka's metrics count them: all, and those that no other server replicated.

use super::*;
use registry_proto::registry::{ClearStatusRequest, SetStatusRequest};

#[tokio::test]
async fn calls_are_counted_with_and_without_what_other_servers_replicated() {
    let (core, clock, process) = started(&[]);
    for origin in [types::Origin::Client, types::Origin::Peer] {
        let from = |request: RegisterRequest| Request::new(RegisterRequest { origin: origin.into(), ..request });
        core.register(from(registration(instance("BILLING", "n1")).into_inner())).await.unwrap();
        core.renew(Request::new(renewal("n1", None, origin.into()))).await.unwrap();
        core.renew(Request::new(renewal("nobody", None, origin.into()))).await.unwrap();
        let app = "billing".to_owned();
        let set = SetStatusRequest {
            app: app.clone(),
            instance_id: "nobody".into(),
            status: types::InstanceStatus::Up.into(),
            origin: origin.into(),
            ..SetStatusRequest::default()
        };
        core.set_status(Request::new(set)).await.unwrap();
        let clear = ClearStatusRequest {
            app: app.clone(),
            instance_id: "nobody".into(),
            origin: origin.into(),
            ..ClearStatusRequest::default()
        };
        core.clear_status(Request::new(clear)).await.unwrap();
        for instance_id in ["n1", "nobody"] {
            let cancel = CancelRequest { app: app.clone(), instance_id: instance_id.into(), origin: origin.into() };
            core.cancel(Request::new(cancel)).await.unwrap();
        }
    }
    clock.advance(Duration::from_secs(1));
    let text = process.metrics().encode();
    for (name, all) in [
        ("renew", 4),
        ("renew_not_found", 2),
        ("register", 2),
        ("cancel", 4),
        ("cancel_not_found", 2),
        ("status_update", 2),
        ("status_override_delete", 2),
    ] {
        for line in
            [format!("eureka_{name}_total {all}\n"), format!("eureka_{name}_minus_replication_total {}\n", all / 2)]
        {
            assert!(text.contains(&line), "{line} is not in\n{text}");
        }
    }
}

/// What the metrics say under a name of Eureka's.
fn told(process: &ProcessHandle, name: &str) -> u64 {
    let text = process.metrics().encode();
    let line = text.lines().find_map(|line| line.strip_prefix("eureka_")?.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("{name} is not in\n{text}")).parse().unwrap()
}

/// All calls of a kind, and those that no other server replicated.
fn calls(process: &ProcessHandle, name: &str) -> (u64, u64) {
    (told(process, &format!("{name}_total")), told(process, &format!("{name}_minus_replication_total")))
}

fn cancel(id: &str, origin: types::Origin) -> Request<CancelRequest> {
    Request::new(CancelRequest { app: "billing".into(), instance_id: id.into(), origin: origin.into() })
}

/// Lets so many seconds pass, and the registry see each of them.
fn pass(core: &RegistryCore, clock: &ManualClock, seconds: u64) {
    for _ in 0..seconds {
        clock.advance(Duration::from_secs(1));
        core.registry.tick();
    }
}

#[tokio::test]
async fn srv_26_39_what_is_not_found_is_counted_as_a_call_and_as_not_found() {
    let (core, clock, process) = started(&[]);
    let renewed = core.renew(Request::new(renewal("nobody", None, Origin::Client))).await.unwrap().into_inner();
    assert_eq!(renewed.outcome(), RenewOutcome::NotFound);
    assert!(!core.cancel(cancel("nobody", types::Origin::Client)).await.unwrap().into_inner().found);
    pass(&core, &clock, 60);
    for name in ["renew", "renew_not_found", "cancel", "cancel_not_found"] {
        assert_eq!(calls(&process, name), (1, 1), "{name}");
    }
    assert_eq!(told(&process, "num_of_renews_in_last_min"), 0);
    assert_eq!(core.registry.recently_cancelled(9)[0].1, testkit::instances::key("BILLING", "nobody"));
    assert_eq!(core.registry.hub().level().latest.0, 0, "nobody is told of it");
}

#[tokio::test]
async fn srv_35_40_what_another_server_replicates_acts_and_is_counted_apart() {
    let (core, clock, process) = started(&[]);
    core.register(registration(instance("BILLING", "n1"))).await.unwrap();
    let renewed = core.renew(Request::new(renewal("n1", None, Origin::Peer))).await.unwrap().into_inner();
    assert_eq!(renewed.outcome(), RenewOutcome::Renewed);
    assert!(core.cancel(cancel("n1", types::Origin::Peer)).await.unwrap().into_inner().found);
    assert!(core.get_instance(named("n1")).await.unwrap().into_inner().record.is_none());
    pass(&core, &clock, 60);
    assert_eq!((calls(&process, "renew"), calls(&process, "cancel")), ((1, 0), (1, 0)));
    assert_eq!(told(&process, "num_of_renews_in_last_min"), 1);
    assert_eq!(told(&process, "num_of_replications_in_last_min"), 2);
}

#[tokio::test]
async fn srv_66_evictions_are_counted_as_cancels_of_our_own() {
    let (core, clock, process) = started(&["--enable-self-preservation", "false"]);
    for id in 0..5 {
        core.register(registration(instance("BILLING", &format!("n{id}")))).await.unwrap();
    }
    pass(&core, &clock, 91);
    let request = Request::new(registry::ReportLeasesRequest { extra_ms: 0 });
    let leases = core.report_leases(request).await.unwrap().into_inner().expired;
    assert_eq!(core.evict(Request::new(registry::EvictRequest { leases })).await.unwrap().into_inner().evicted, 5);
    pass(&core, &clock, 1);
    assert_eq!((told(&process, "expired_total"), calls(&process, "cancel")), (5, (5, 5)));
}

#[tokio::test]
async fn few_renewals_are_told_of_from_five_minutes_after_the_start() {
    let (core, clock, _process) = started(&[]);
    let level = || (core.registry.metrics().below_threshold.get(), core.registry.metrics().preservation_enabled.get());
    for (seconds, expected) in [(300, (0, 1)), (1, (1, 1))] {
        clock.advance(Duration::from_secs(seconds));
        core.registry.tick();
        assert_eq!(level(), expected);
    }
}
