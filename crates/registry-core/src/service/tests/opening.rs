//! The registry counts as open once its start-up sync has ended: what it expects from then on, and what goes on as before.

use super::*;

/// Eureka's figures: clients are counted, not intervals.
const EUREKA: [&str; 4] = ["--lease-expiry", "doubled", "--expected-renewals", "clients"];

/// A registry before its start-up sync has ended, in which so many instances have registered.
async fn syncing(clients: u64) -> (Arc<RegistryCore>, ManualClock) {
    let clock = ManualClock::new();
    let process = ProcessHandle::detached("registry-core", Arc::new(clock.clone()));
    let settings = Settings::parse_from([&["registry-core"], &EUREKA[..]].concat());
    let core = RegistryCore::start_before_sync(&settings.config, Life::random(), &process);
    for client in 0..clients {
        core.register(registration(instance("BILLING", &format!("n{client}")))).await.unwrap();
    }
    (core, clock)
}

fn expected(core: &RegistryCore) -> (u64, u64) {
    let figures = core.registry.figures().1;
    (figures.expected_clients, figures.threshold)
}

#[tokio::test]
async fn srv_150_k_44_what_has_registered_before_the_opening_is_expected_as_well() {
    // Registered before, copied from other servers, expected afterwards.
    for (registered, copied, clients, threshold) in [(3, 1, 3, 5), (0, 1, 1, 1), (2, 5, 5, 8), (3, 0, 3, 5)] {
        let (core, _clock) = syncing(registered).await;
        core.start_up_sync_ended(copied);
        assert_eq!(expected(&core), (clients, threshold), "{registered} registered, {copied} copied");
        core.register(registration(instance("BILLING", "later"))).await.unwrap();
        assert_eq!(expected(&core).0, clients + 1);
    }
}

#[tokio::test]
async fn srv_151_opened_again_it_expects_what_it_did_and_its_minutes_go_on() {
    let (core, clock) = syncing(3).await;
    core.start_up_sync_ended(1);
    clock.advance(Duration::from_secs(10));
    for client in 0..3 {
        core.renew(Request::new(renewal(&format!("n{client}"), None, Origin::Client))).await.unwrap();
    }
    core.start_up_sync_ended(50);
    assert_eq!(expected(&core), (3, 5));
    let last_minute = || core.registry.figures().1.renewals_last_minute;
    clock.advance(Duration::from_millis(49_999));
    assert_eq!(last_minute(), 0);
    clock.advance(Duration::from_millis(1));
    assert_eq!(last_minute(), 3, "counted from the start, not from the second opening");
    clock.advance(Duration::from_secs(60));
    assert_eq!(last_minute(), 0);
}
