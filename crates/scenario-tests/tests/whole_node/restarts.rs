//! Parts of a split node that go away and come back, over sockets.

use scenario_tests::{
    Client, Options, Part, Request, Sandbox, Wiring, in_split_wirings,
    story::{cancel, fixture, listed, register, register_all, registration, with},
};
use serde_json::json;
use std::time::Duration;
use testkit::eventually_async;

in_split_wirings! {
    without_cache_sync_reads_come_from_tier_3_and_writes_work,
    b1_a_registry_that_comes_back_empty_empties_no_listing,
    without_registry_core_reads_are_answered_and_writes_refused,
    a_new_facade_starts_with_what_the_others_serve,
    all_parts_may_restart_one_after_another;
    unstarted:
        a_facade_without_upstreams_says_so_and_recovers,
}

/// Longer than a facade waits at most before it follows anew.
const RECONNECT: Duration = Duration::from_secs(5);

/// Waits until the listing is this; the facade gets its time to reconnect.
async fn lists(node: &Sandbox, expected: &[&str]) {
    let client = node.client();
    let what = format!("the listing is {expected:?}");
    node.while_time_passes(eventually_async(&what, async || listed(&client).await == expected)).await;
}

async fn is_ready(client: &Client) -> u16 {
    client.send(Request::get("/readyz")).await.status
}

async fn is_refused(client: &Client, request: Request) {
    let response = client.send(request.json()).await;
    assert_eq!((response.status, response.body.len()), (503, 0));
    assert!(response.header("retry-after").is_some_and(|seconds| seconds.parse::<u32>().is_ok()), "{response:?}");
}

fn renewal(app: &str, id: &str) -> Request {
    Request::new("PUT", &format!("/eureka/apps/{app}/{id}"))
}

async fn without_cache_sync_reads_come_from_tier_3_and_writes_work(node: &mut Sandbox) {
    let client = node.client();
    register(&client, &fixture()).await;
    let before = client.send(Request::get("/eureka/apps").json()).await;
    assert_eq!(listed(&client).await, ["BILLING/n1"]);
    // A cache that comes back to a registry that is not warm yet holds nothing that could be compared.
    node.pass(Duration::from_secs(90)).await;
    lists(node, &["BILLING/n1"]).await;

    node.stop_part(Part::Cache).await;

    let other = async || client.send(Request::get("/eureka/apps/OTHER").json()).await.status == 503;
    node.while_time_passes(eventually_async("the facade has noticed", other)).await;
    register(&client, &with(json!({"instanceId": "n2"}))).await;
    assert_eq!(client.status(renewal("BILLING", "n2")).await, 200);
    assert_eq!(client.instance("/eureka/apps/BILLING/n2").await["status"], "UP");
    let meanwhile = node.while_time_passes(client.send(Request::get("/eureka/apps").json())).await;
    assert_eq!(meanwhile, before);
    is_refused(&client, Request::get("/eureka/apps/BILLING")).await;

    node.start_part(Part::Cache).await;

    lists(node, &["BILLING/n1", "BILLING/n2"]).await;
    register(&client, &with(json!({"instanceId": "n3"}))).await;
    lists(node, &["BILLING/n1", "BILLING/n2", "BILLING/n3"]).await;
}

async fn b1_a_registry_that_comes_back_empty_empties_no_listing(node: &mut Sandbox) {
    let client = node.client();
    register_all(&client, "BILLING", &["n1", "n2", "n3"]).await;
    node.pass(Duration::from_secs(90)).await;
    assert_eq!(listed(&client).await.len(), 3);

    node.stop_part(Part::Registry).await;
    assert_eq!(listed(&client).await.len(), 3);
    node.start_part(Part::Registry).await;

    // The next heartbeat finds nothing and its client registers again.
    eventually_async("the registry is reached", async || {
        client.send(renewal("BILLING", "n1").json()).await.status == 404
    })
    .await;
    assert_eq!(client.status(renewal("BILLING", "n1").json()).await, 404);
    assert_eq!(listed(&client).await.len(), 3);
    register(&client, &with(json!({"lastDirtyTimestamp": "2000"}))).await;
    assert_eq!(client.status(renewal("BILLING", "n1")).await, 200);
    register(&client, &with(json!({"instanceId": "n4"}))).await;
    assert_eq!(listed(&client).await, ["BILLING/n1", "BILLING/n2", "BILLING/n3", "BILLING/n4"]);
    // What is cancelled in the new life goes at once.
    cancel(&client, "BILLING", "n4").await;
    assert_eq!(listed(&client).await, ["BILLING/n1", "BILLING/n2", "BILLING/n3"]);

    node.pass(Duration::from_secs(90)).await;

    eventually_async("what did not come back is gone", async || listed(&client).await == ["BILLING/n1"]).await;
    let delta = client.applications("/eureka/apps/delta").await;
    assert_eq!(delta.hash.as_deref(), Some("UP_1_"));
    for gone in ["n2 DELETED", "n3 DELETED"] {
        assert!(delta.actions().contains(&gone.to_owned()), "{gone}");
    }
}

async fn without_registry_core_reads_are_answered_and_writes_refused(node: &mut Sandbox) {
    let client = node.client();
    register(&client, &fixture()).await;
    assert_eq!(listed(&client).await, ["BILLING/n1"]);

    node.stop_part(Part::Registry).await;

    for target in ["/eureka/apps", "/eureka/apps/delta", "/eureka/apps/BILLING"] {
        // The last two have not been read before: tier 2 has them.
        assert_eq!(client.applications(target).await.keys(), ["BILLING/n1"], "{target}");
    }
    is_refused(&client, registration(&with(json!({"instanceId": "n2"})))).await;
    is_refused(&client, renewal("BILLING", "n1")).await;
    is_refused(&client, Request::new("DELETE", "/eureka/apps/BILLING/n1")).await;
    is_refused(&client, Request::get("/eureka/apps/BILLING/n1")).await;
    assert_eq!(listed(&client).await, ["BILLING/n1"]);

    node.start_part(Part::Registry).await;

    eventually_async("writes work again", async || client.send(registration(&fixture())).await.status == 204).await;
    assert_eq!(listed(&client).await, ["BILLING/n1"]);
}

async fn a_facade_without_upstreams_says_so_and_recovers(wiring: Wiring) {
    let mut node = Sandbox::prepare_split(wiring, Options::default());
    node.start_part(Part::Facade).await;
    let client = node.client();

    for target in ["/eureka/apps", "/eureka/apps/delta", "/eureka/apps/BILLING", "/eureka/apps/BILLING/n1"] {
        is_refused(&client, Request::get(target)).await;
    }
    is_refused(&client, registration(&fixture())).await;
    assert_eq!(is_ready(&client).await, 503);
    assert_eq!(client.send(Request::get("/livez")).await.status, 200);

    node.start_part(Part::Cache).await;
    node.clock.advance(RECONNECT);
    is_refused(&client, Request::get("/eureka/apps")).await;
    assert_eq!(is_ready(&client).await, 503);

    node.start_part(Part::Registry).await;
    let ready = eventually_async("the facade is ready", async || is_ready(&client).await == 200);
    node.while_time_passes(ready).await;
    register(&client, &fixture()).await;
    assert_eq!(listed(&client).await, ["BILLING/n1"]);
    node.stop().await;
}

async fn a_new_facade_starts_with_what_the_others_serve(node: &mut Sandbox) {
    register_all(&node.client(), "BILLING", &["n1", "n2"]).await;
    let before = node.client().send(Request::get("/eureka/apps").json()).await;

    node.stop_part(Part::Facade).await;
    node.start_part(Part::Facade).await;
    node.is_ready().await;

    assert_eq!(node.client().send(Request::get("/eureka/apps").json()).await, before);
}

async fn all_parts_may_restart_one_after_another(node: &mut Sandbox) {
    node.pass(Duration::from_secs(90)).await;
    let instances = ["BILLING/n1", "BILLING/n2"];
    register_all(&node.client(), "BILLING", &["n1", "n2"]).await;
    assert_eq!(listed(&node.client()).await, instances);
    for part in [Part::Cache, Part::Registry, Part::Cache, Part::Facade] {
        node.stop_part(part).await;
        node.start_part(part).await;
        if part == Part::Facade {
            node.is_ready().await;
        } else {
            assert_eq!(listed(&node.client()).await, instances, "{part:?}");
        }
        // Clients renew, and register again where they have to.
        for id in ["n1", "n2"] {
            let client = node.client();
            eventually_async("a client is registered", async || {
                match client.send(renewal("BILLING", id)).await.status {
                    200 => true,
                    404 => client.send(registration(&with(json!({"instanceId": id})))).await.status == 204,
                    _ => false,
                }
            })
            .await;
        }
        lists(node, &instances).await;
    }
}
