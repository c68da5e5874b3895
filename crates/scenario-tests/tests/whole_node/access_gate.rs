//! When a node serves lists after its start, as clients see it.

use bytes::Bytes;
use clap::Parser as _;
use heureka::Settings;
use http_body_util::{BodyExt as _, Full};
use http_facade::{Facade, Upstream};
use registry_core::{Life, RegistryCore};
use registry_model::{Origin, UnixMillis};
use registry_proto::{
    InstanceMessage,
    registry::{RegisterRequest, registry_service_server::RegistryService},
    types,
};
use scenario_tests::{
    Client, Options, Part, Request, Sandbox, Wiring, in_every_wiring, in_wiring,
    story::{fixture, listed, register, registration, with},
};
use serde_json::json;
use service_runtime::ProcessHandle;
use std::{sync::Arc, time::Duration};
use testkit::{ManualClock, eventually_async, instances::instance};

in_every_wiring! {
    with WAIT:
        srv_141_142_rest_102_103_b4_b61_with_a_waiting_time_lists_are_refused_until_it_has_passed;
    with NO_WAIT:
        b61_without_a_waiting_time_an_empty_node_answers_at_once;
    with ON_REQUEST:
        a_facade_that_reads_on_request_learns_of_the_gate_and_of_deltas_for_regions;
    unstarted:
        k_23_a_node_alone_is_open,
}

in_wiring! {
    restarts_over_unix_sockets, UnixSockets;
    with WAIT:
        no_part_that_starts_over_closes_a_gate_that_was_open,
}
in_wiring! {
    restarts_over_tcp, Tcp;
    with WAIT:
        no_part_that_starts_over_closes_a_gate_that_was_open,
}

in_wiring! {
    one_process_as_the_java_server, OneProcess;
    with NUMBERED:
        srv_90_deltas_are_numbered_from_one,
}

const WAIT: Options =
    Options { registry: &["--serve-before-sync", "wait"], cache: &[], facade: &["--cache-push", "true"] };

const NO_WAIT: Options = Options {
    registry: &["--serve-before-sync", "wait", "--wait-time-when-sync-empty", "0s"],
    cache: &[],
    facade: &[],
};

const ON_REQUEST: Options =
    Options { registry: WAIT.registry, cache: &["--first-delta-version", "one"], facade: &["--cache-push", "false"] };

const NUMBERED: Options = Options { registry: &[], cache: &["--profile", "eureka"], facade: &[] };

const MILLISECOND: Duration = Duration::from_millis(1);

const LISTS: [&str; 6] = ["apps", "apps/", "apps/delta", "apps/BILLING", "vips/billing", "svips/billing-s"];

async fn refuses(client: &Client) {
    for list in LISTS {
        for request in [Request::get(&format!("/eureka/{list}")).json(), Request::get(&format!("/eureka/v1/{list}"))] {
            let answer = client.send(request).await;
            assert_eq!((answer.status, answer.body.len(), answer.header("content-type")), (403, 0, None), "{list}");
        }
    }
}

async fn opens(client: &Client) {
    let is_open = async || client.send(Request::get("/eureka/apps").json()).await.status == 200;
    eventually_async("lists are served", is_open).await;
}

async fn srv_141_142_rest_102_103_b4_b61_with_a_waiting_time_lists_are_refused_until_it_has_passed(node: &Sandbox) {
    let client = node.client();
    refuses(&client).await;
    node.pass(Duration::from_secs(1)).await;
    register(&client, &with(json!({"leaseInfo": {"renewalIntervalInSecs": 30, "durationInSecs": 100_000}}))).await;
    let instance = "/eureka/apps/BILLING/n1";
    assert_eq!(client.status(Request::new("PUT", instance)).await, 200);
    assert_eq!(client.instance(instance).await["status"], "UP");
    assert_eq!(client.instance("/eureka/instances/n1").await["status"], "UP");
    assert_eq!(client.status(Request::new("PUT", &format!("{instance}/status?value=DOWN"))).await, 200);
    refuses(&client).await;
    node.pass(Duration::from_secs(299)).await;
    refuses(&client).await;
    node.pass(MILLISECOND).await;
    opens(&client).await;
    assert_eq!(listed(&client).await, ["BILLING/n1"]);
    for list in LISTS {
        assert_eq!(client.send(Request::get(&format!("/eureka/{list}")).json()).await.status, 200, "{list}");
    }
}

async fn b61_without_a_waiting_time_an_empty_node_answers_at_once(node: &Sandbox) {
    assert_eq!(listed(&node.client()).await, [""; 0]);
}

async fn k_23_a_node_alone_is_open(wiring: Wiring) {
    for registry in [&[][..], &["--serve-before-sync", "synced"], &["--serve-before-sync", "always"]] {
        let node = Sandbox::start_with(wiring, Options { registry, ..Options::default() }).await;
        assert_eq!(listed(&node.client()).await, [""; 0], "{registry:?}");
        node.stop().await;
    }
}

async fn no_part_that_starts_over_closes_a_gate_that_was_open(node: &mut Sandbox) {
    let client = node.client();
    register(&client, &fixture()).await;
    node.pass(Duration::from_secs(300) + MILLISECOND).await;
    opens(&client).await;
    for part in [Part::Facade, Part::Cache, Part::Registry, Part::Facade] {
        node.stop_part(part).await;
        node.start_part(part).await;
        // The facade's back-off is at most 5 s.
        let client = node.client();
        let written = async || client.status(registration(&fixture())).await == 204;
        node.while_time_passes(eventually_async("the registry answers", written)).await;
        let served = async || {
            let answer = client.send(Request::get("/eureka/apps").json()).await;
            assert_ne!(answer.status, 403, "after a restart of {part:?}");
            // Nobody holds this one: the cache has to have seen the registry before the next part goes.
            let other = client.send(Request::get("/eureka/apps/OTHER").json()).await;
            answer.status == 200 && other.status == 404
        };
        node.while_time_passes(eventually_async("lists are served", served)).await;
    }
}

async fn a_facade_that_reads_on_request_learns_of_the_gate_and_of_deltas_for_regions(node: &mut Sandbox) {
    let client = node.client();
    refuses(&client).await;
    register(&client, &fixture()).await;
    node.pass(Duration::from_secs(300) + MILLISECOND).await;
    opens(&client).await;
    let delta = "/eureka/apps/delta";
    let number = async |client: &Client, path: &str| {
        let answer = client.send(Request::get(path).json()).await;
        (answer.status == 200).then(|| answer.applications().version.unwrap())
    };
    let regional = "/eureka/apps/delta?regions=a";
    let first = Some("1".to_owned());
    assert_eq!((number(&client, delta).await, number(&client, regional).await), (first.clone(), first.clone()));
    if node.wiring() == Wiring::OneProcess {
        return;
    }
    // The facade subscribes anew, to a cache that counts anew; what it sends comes with both numbers.
    node.stop_part(Part::Cache).await;
    node.start_part(Part::Cache).await;
    register(&client, &with(json!({"instanceId": "n2"}))).await;
    let follows = async || {
        let plain = client.send(Request::get(delta).json()).await;
        let named = client.send(Request::get(regional).json()).await;
        assert_eq!((plain.status, named.status), (200, 200));
        let is_new = |answer: &scenario_tests::Response| String::from_utf8_lossy(&answer.body).contains("\"n2\"");
        is_new(&plain) && is_new(&named)
    };
    node.while_time_passes(eventually_async("the change is read", follows)).await;
    let alike = async || number(&client, delta).await == number(&client, regional).await;
    eventually_async("both have been sent as often", alike).await;
}

async fn srv_90_deltas_are_numbered_from_one(node: &Sandbox) {
    let client = node.client();
    register(&client, &fixture()).await;
    let number = async |request: Request| client.send(request).await.applications().version.unwrap();
    assert_eq!(number(Request::get("/eureka/apps/delta").json()).await, "1");
    assert_eq!(number(Request::get("/eureka/apps/delta").xml()).await, "2");
    let regional =
        async |regions: &str| number(Request::get(&format!("/eureka/apps/delta?regions={regions}")).json()).await;
    assert_eq!((regional("a,b").await, regional("B").await), ("1".to_owned(), "1".to_owned()));
    assert_eq!(number(Request::get("/eureka/apps/delta").json()).await, "1");
}

/// Tiers in one process, the registry before its start-up sync.
struct Syncing {
    registry: Arc<RegistryCore>,
    facade: Arc<Facade>,
    process: ProcessHandle,
}

impl Syncing {
    fn start(arguments: &[&str]) -> Self {
        let process = ProcessHandle::detached("heureka", Arc::new(ManualClock::new()));
        let settings = Settings::parse_from([&["heureka"], arguments].concat());
        let registry = RegistryCore::start_before_sync(&settings.registry, Life::random(), &process);
        let cache = cache_sync::CacheSync::start(&settings.cache, registry.clone(), &process);
        let facade = Facade::new(&settings.facade, Upstream::in_process(registry.clone(), cache), &process);
        Self { registry, facade, process }
    }

    async fn status(&self) -> u16 {
        let request = http::Request::get("/eureka/apps").body(Full::<Bytes>::default()).unwrap();
        self.facade.handle(request).await.status().as_u16()
    }

    async fn answers(&self, status: u16) {
        eventually_async(&format!("lists are {status}"), async || self.status().await == status).await;
    }

    /// How many instances are listed.
    async fn listed(&self) -> usize {
        let request = http::Request::get("/eureka/apps").body(Full::<Bytes>::default()).unwrap();
        let answer = self.facade.handle(request).await;
        assert_eq!(answer.status().as_u16(), 200);
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        String::from_utf8_lossy(&body).matches("<instanceId>").count()
    }

    async fn copies(&self, count: u64) {
        for n in 0..count {
            let mut copied = instance("BILLING", &format!("n{n}"));
            copied.last_dirty = UnixMillis(1000);
            let instance = Some(InstanceMessage::from(Arc::new(copied)));
            let request = RegisterRequest { instance, origin: types::Origin::from(Origin::Peer).into() };
            self.registry.register(tonic::Request::new(request)).await.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b60_srv_143_lists_are_refused_until_the_start_up_sync_has_ended_and_whole_then() {
    for arguments in [&[][..], &["--serve-before-sync", "wait"]] {
        let node = Syncing::start(arguments);
        node.answers(403).await;
        node.copies(25).await;
        assert_eq!(node.status().await, 403);
        node.copies(50).await;
        assert_eq!(node.status().await, 403);
        node.registry.start_up_sync_ended(50);
        node.answers(200).await;
        assert_eq!(node.listed().await, 50);
        node.process.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn srv_144_145_springs_server_answers_before_its_sync_and_after_one_that_found_nothing() {
    let node = Syncing::start(&["--serve-before-sync", "always"]);
    node.answers(200).await;
    node.registry.start_up_sync_ended(0);
    for _ in 0..20 {
        tokio::task::yield_now().await;
        assert_eq!(node.status().await, 200);
    }
    node.process.stop().await;
}
