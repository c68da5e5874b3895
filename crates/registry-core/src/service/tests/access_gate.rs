//! When lists may be served, as watches are told.

use super::*;

const WAIT: [&str; 2] = ["--serve-before-sync", "wait"];

/// A registry whose start-up sync goes on.
fn syncing(arguments: &[&str]) -> (Arc<RegistryCore>, ManualClock, ProcessHandle) {
    let clock = ManualClock::new();
    let process = ProcessHandle::detached("registry-core", Arc::new(clock.clone()));
    let settings = Settings::parse_from([&["registry-core"], arguments].concat());
    (RegistryCore::start_before_sync(&settings.config, Life::random(), &process), clock, process)
}

/// Whether a watch that begins now is told that lists may be served.
async fn is_open(core: &RegistryCore) -> bool {
    let mut watch = core.watch(Request::new(WatchRequest::default())).await.unwrap().into_inner();
    match watch.next().await.unwrap().unwrap().step {
        Some(Step::Start(start)) => !start.gate_closed,
        other => panic!("{other:?}"),
    }
}

async fn opens(core: &RegistryCore) {
    testkit::eventually_async("the gate is open", async || is_open(core).await).await;
}

async fn figures(core: &RegistryCore) -> (u64, u64) {
    let told = core.get_statistics(Request::new(registry::GetStatisticsRequest { recent: 0 })).await.unwrap();
    let told = told.into_inner();
    (told.expected_clients, told.renewals_per_minute_threshold)
}

async fn opens_after_five_minutes(arguments: &[&str]) {
    let (core, clock, _process) = started(arguments);
    core.register(registration(instance("BILLING", "n1"))).await.unwrap();
    assert!(!is_open(&core).await, "one instance is no data");
    for passed in [1000, 299_000] {
        clock.advance(Duration::from_millis(passed));
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
        assert!(!is_open(&core).await);
    }
    clock.advance(Duration::from_millis(1));
    opens(&core).await;
}

#[tokio::test]
async fn srv_141_b61_a_registry_that_has_copied_nothing_waits_before_lists_are_served() {
    opens_after_five_minutes(&WAIT).await;
    let (core, ..) = started(&["--serve-before-sync", "wait", "--wait-time-when-sync-empty", "0"]);
    assert!(is_open(&core).await);
}

#[tokio::test]
async fn srv_142_registrations_heartbeats_and_single_reads_need_no_open_gate() {
    let (core, ..) = started(&WAIT);
    core.register(registration(instance("BILLING", "n1"))).await.unwrap();
    let renewed = core.renew(Request::new(renewal("n1", None, Origin::Client))).await.unwrap().into_inner();
    assert_eq!(renewed.outcome(), RenewOutcome::Renewed);
    assert!(core.get_instance(named("n1")).await.unwrap().into_inner().record.is_some());
    assert!(!is_open(&core).await);
}

#[tokio::test]
async fn srv_143_lists_are_served_as_soon_as_the_sync_has_brought_instances() {
    for arguments in [&WAIT[..], &[]] {
        let (core, ..) = syncing(arguments);
        assert!(!is_open(&core).await);
        core.start_up_sync_ended(3);
        assert!(is_open(&core).await, "{arguments:?}");
        assert!(core.registry.hub().level().warm_since.is_some(), "what was copied is what there is");
        assert_eq!(figures(&core).await.0, 3);
    }
}

#[tokio::test]
async fn srv_144_145_as_springs_server_lists_are_served_before_the_sync_and_if_it_finds_nothing() {
    let spring = ["--serve-before-sync", "always", "--expected-renewals", "clients"];
    let (core, ..) = syncing(&spring);
    assert!(is_open(&core).await);
    core.start_up_sync_ended(0);
    assert!(is_open(&core).await);
    assert_eq!(figures(&core).await, (1, 1));
}

#[tokio::test]
async fn srv_146_a_server_that_expects_nobody_may_wait_as_netflixs_does() {
    let settings = ["--serve-before-sync", "wait", "--expected-clients-floor", "0", "--lease-expiry", "doubled"];
    opens_after_five_minutes(&settings).await;
}

#[tokio::test]
async fn k_23_b60_by_default_lists_are_served_once_the_sync_has_ended_and_after_what_it_brought() {
    let (core, ..) = started(&[]);
    assert!(is_open(&core).await, "there are no peers to copy from");

    let (core, clock, _process) = syncing(&[]);
    let mut watch = core.watch(Request::new(WatchRequest::default())).await.unwrap().into_inner();
    let mut next = async || watch.next().await.unwrap().unwrap().step.unwrap();
    assert!(matches!(next().await, Step::Start(start) if start.gate_closed && !start.warm));
    assert!(matches!(next().await, Step::SnapshotEnd(_)));
    clock.advance(Duration::from_secs(1000));
    core.register(registration(instance("BILLING", "n1"))).await.unwrap();
    core.start_up_sync_ended(1);
    core.start_up_sync_ended(0);
    core.register(registration(instance("BILLING", "n2"))).await.unwrap();
    assert!(matches!(next().await, Step::Changes(batch) if batch.revision == 2));
    let told = [next().await, next().await];
    assert!(matches!(told, [Step::Warm(_), Step::GateOpened(_)]), "{told:?}");
    assert!(core.registry.metrics().gate_open.get() == 1);

    // Whoever hands the watch on has to know from which revision on that was so.
    let mut later = core.watch(Request::new(WatchRequest::default())).await.unwrap().into_inner();
    let Step::Start(start) = later.next().await.unwrap().unwrap().step.unwrap() else { panic!("no start") };
    let at = start.position.unwrap().revision;
    assert_eq!((at, start.warm_since, start.open_since), (2, Some(1), Some(1)));
}

#[tokio::test]
async fn an_empty_sync_leaves_the_registry_cold_for_one_lease() {
    let (core, clock, _process) = syncing(&[]);
    core.start_up_sync_ended(0);
    assert!(is_open(&core).await);
    assert!(core.registry.hub().level().warm_since.is_none());
    clock.advance(Duration::from_secs(90));
    eventually("it is warm", || core.registry.hub().level().warm_since.is_some()).await;
}
