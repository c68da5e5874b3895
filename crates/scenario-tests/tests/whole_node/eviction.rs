//! Evictions in a whole node: what runs out goes, by its share, unless leases are protected.

use heureka::{Node, Settings};
use registry_core::Life;
use registry_proto::{
    InstanceMessage,
    eviction::{
        ResumeRequest, ShowPlanRequest, ShowPlanResponse, SuspendRequest, eviction_service_server::EvictionService as _,
    },
    registry::{
        GetStatisticsRequest, GiveUpMissingRequest, RegisterRequest, RenewRequest,
        registry_service_server::RegistryService as _,
    },
};
use scenario_tests::{
    Options, Request, Sandbox, Wiring,
    story::{fixture, listed, register, with},
};
use serde_json::json;
use service_runtime::{ProcessHandle, Sources};
use std::{ops::Range, sync::Arc, time::Duration};
use testkit::{ManualClock, eventually, eventually_async, instances::instance};

/// Lets every loop that is due have its turn before the clock moves again.
async fn step(clock: &ManualClock, seconds: u64, asleep: usize) {
    clock.advance(Duration::from_secs(seconds));
    eventually("all loops sleep again", || clock.sleepers() >= asleep).await;
}

/// How many loops sleep once nothing has anything to do.
async fn asleep(clock: &ManualClock) -> usize {
    let mut steady = (0, 0);
    eventually("all loops sleep", || {
        let now = clock.sleepers();
        steady = if now == steady.0 { (now, steady.1 + 1) } else { (now, 0) };
        now > 0 && steady.1 > 300
    })
    .await;
    steady.0
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b66_b74_a_silent_instance_leaves_every_listing_within_its_lease_and_a_second() {
    let options = Options { registry: &["--cold-start", "0"], ..Options::default() };
    let node = Sandbox::start_with(Wiring::OneProcess, options).await;
    let client = node.client();
    let lease = json!({"renewalIntervalInSecs": 5, "durationInSecs": 10});
    register(&client, &fixture()).await;
    register(&client, &with(json!({"instanceId": "n2", "leaseInfo": lease}))).await;
    assert_eq!(client.status(Request::new("PUT", "/eureka/apps/BILLING/n2")).await, 200);
    let loops = asleep(&node.clock).await;

    for _ in 0..10 {
        step(&node.clock, 1, loops).await;
    }
    assert_eq!(listed(&client).await, ["BILLING/n1", "BILLING/n2"]);
    step(&node.clock, 1, loops).await;

    eventually_async("it is gone", async || listed(&client).await == ["BILLING/n1"]).await;
    let delta = client.applications("/eureka/apps/delta").await;
    assert!(delta.actions().contains(&"n2 DELETED".to_owned()), "{:?}", delta.actions());
    for (method, target) in [("GET", "/eureka/apps/BILLING/n2"), ("PUT", "/eureka/apps/BILLING/n2")] {
        assert_eq!(client.status(Request::new(method, target).json()).await, 404, "{method}");
    }
    node.stop().await;
}

/// A node without ports, on a clock of its own.
struct Case {
    node: Node,
    clock: ManualClock,
    process: ProcessHandle,
    loops: usize,
}

impl Case {
    async fn start(arguments: &[&str]) -> Self {
        let clock = ManualClock::new();
        let process = ProcessHandle::detached("heureka", Arc::new(clock.clone()));
        let arguments = ["heureka", "--cold-start", "0"].iter().chain(arguments).copied();
        let settings = Settings::load(&Sources::of(arguments, [])).unwrap();
        let node = Node::start(&settings, Life::random(), &process);
        let loops = asleep(&clock).await;
        Self { node, clock, process, loops }
    }

    async fn register(&self, ids: Range<usize>, duration_secs: u32) {
        for id in ids {
            let mut instance = instance(&format!("APP-{}", id % 3), &format!("i{id}"));
            instance.lease_terms.duration_secs = duration_secs;
            let instance = Some(InstanceMessage::from(Arc::new(instance)));
            self.node.registry.register(tonic::Request::new(RegisterRequest { instance, origin: 0 })).await.unwrap();
        }
    }

    async fn renew(&self, ids: Range<usize>) {
        for id in ids {
            let renewal = RenewRequest {
                app: format!("APP-{}", id % 3),
                instance_id: format!("i{id}"),
                ..RenewRequest::default()
            };
            self.node.registry.renew(tonic::Request::new(renewal)).await.unwrap();
        }
    }

    /// Lets so many seconds pass, one by one; `ids` renew every 30 s.
    async fn pass(&self, seconds: u64, ids: Range<usize>) {
        for second in 1..=seconds {
            step(&self.clock, 1, self.loops).await;
            if second % 30 == 0 {
                self.renew(ids.clone()).await;
            }
        }
    }

    async fn leases(&self) -> u64 {
        let request = tonic::Request::new(GetStatisticsRequest { recent: 0 });
        self.node.registry.get_statistics(request).await.unwrap().into_inner().leases
    }

    async fn plan(&self) -> ShowPlanResponse {
        self.node.evictor.show_plan(tonic::Request::new(ShowPlanRequest {})).await.unwrap().into_inner()
    }

    async fn stop(self) {
        self.process.stop().await;
        assert_eq!(self.process.failure(), None);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b69_the_dead_of_a_scale_in_stay_until_the_operator_gives_them_up_and_then_go_by_their_share() {
    let case = Case::start(&[]).await;
    case.register(0..20, 90).await;
    case.pass(120, 10..20).await;
    let plan = case.plan().await;
    assert_eq!((plan.expired, plan.allowed, plan.evict.len(), case.leases().await), (10, 3, 0, 20));
    assert_eq!(plan.preservation.unwrap().reason, "10 of 20 instances have missed two renewals");

    let gone = case.node.registry.give_up_missing(tonic::Request::new(GiveUpMissingRequest {})).await.unwrap();

    assert_eq!(gone.into_inner().given_up, 10);
    assert_eq!(case.plan().await.evict.len(), 3);
    let mut sizes = Vec::new();
    for _ in 0..4 {
        case.pass(30, 10..20).await;
        sizes.push(case.leases().await);
        case.pass(30, 10..20).await;
    }
    assert_eq!(sizes, [17, 14, 11, 10]);
    case.pass(120, 10..20).await;
    assert_eq!((case.leases().await, case.plan().await.expired), (10, 0));
    case.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b69_at_the_ceiling_the_missing_are_given_up() {
    let case = Case::start(&["--self-preservation-max", "2m"]).await;
    case.register(0..4, 90).await;
    case.pass(180, 2..4).await;
    assert_eq!((case.leases().await, case.plan().await.evict.len()), (4, 0));
    // Since 61 s two of four are missing.
    case.pass(60, 2..4).await;
    assert_eq!((case.leases().await, case.plan().await.preservation.unwrap().given_up), (3, 1));
    case.pass(60, 2..4).await;
    assert_eq!(case.leases().await, 2);
    case.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b76_after_a_pause_of_three_leases_nobody_goes() {
    let case = Case::start(&["--enable-self-preservation", "false"]).await;
    case.register(0..20, 90).await;
    step(&case.clock, 270, case.loops).await;
    case.pass(2, 0..0).await;
    assert_eq!(case.leases().await, 20);
    case.renew(0..20).await;
    case.pass(85, 0..20).await;
    assert_eq!((case.leases().await, case.plan().await.expired), (20, 0));
    case.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn srv_63_a_dead_registry_drains_by_its_share_once_a_minute() {
    let case = Case::start(&["--profile", "eureka", "--enable-self-preservation", "false"]).await;
    case.register(0..10, 10).await;
    let mut sizes = Vec::new();
    for _ in 0..8 {
        step(&case.clock, 60, case.loops).await;
        sizes.push(case.leases().await);
    }
    assert_eq!(sizes, [8, 6, 5, 4, 3, 2, 1, 0]);
    case.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn srv_151_a_second_opening_leaves_the_rounds_where_they_are() {
    let case = Case::start(&["--profile", "eureka", "--enable-self-preservation", "false"]).await;
    case.register(0..10, 10).await;
    step(&case.clock, 10, case.loops).await;
    // It has opened with its start.
    case.node.registry.start_up_sync_ended(9);
    let mut sizes = Vec::new();
    for seconds in [49, 1, 10, 49, 1] {
        step(&case.clock, seconds, case.loops).await;
        sizes.push(case.leases().await);
    }
    // At 60 s and 120 s, not at 70 s.
    assert_eq!(sizes, [10, 8, 8, 8, 6]);
    case.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn srv_62_under_eurekas_rule_nothing_goes_before_renewals_were_seen() {
    let case = Case::start(&["--profile", "eureka"]).await;
    case.register(0..10, 10).await;
    step(&case.clock, 60, case.loops).await;
    let plan = case.plan().await;
    assert_eq!((case.leases().await, plan.expired, plan.evict.len()), (10, 10, 0));
    assert_eq!(plan.preservation.unwrap().reason, "0 renewals in the last minute, more than 18 are needed");
    case.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_suspends_and_resumes_evictions() {
    let case = Case::start(&[]).await;
    case.register(0..1, 10).await;
    case.node.evictor.suspend(tonic::Request::new(SuspendRequest {})).await.unwrap();
    case.pass(20, 0..0).await;
    let plan = case.plan().await;
    assert_eq!((case.leases().await, plan.suspended, plan.evict.len()), (1, true, 1));
    case.node.evictor.resume(tonic::Request::new(ResumeRequest {})).await.unwrap();
    case.pass(2, 0..0).await;
    assert_eq!(case.leases().await, 0);
    case.stop().await;
}
