//! What is made and read anew, and when: a node in one process, seen with its metrics.

use super::{EUREKA, SECOND, metric, pass_to_multiple, renew, renewals};
use scenario_tests::{
    Options, Request, Sandbox, in_wiring,
    story::{lasting, listed, register, with},
};
use serde_json::json;
use std::time::Duration;
use testkit::eventually_async;

in_wiring! {
    one_process_with_its_metrics, OneProcess;
    b58_deltas_go_on_during_self_preservation,
    b63_reads_make_nothing_anew,
    an_idle_registry_reads_nothing_anew;
    with EUREKA:
        srv_81_b64_lease_times_are_renewed_when_a_payload_expires,
        srv_92_s4_names_that_nobody_registered_are_not_kept,
        srv_99_the_delta_keeps_what_is_old_until_it_expires;
    with SPREAD:
        with_a_spread_the_pages_expire_one_after_the_other,
}

const SPREAD: Options = Options { registry: &[], cache: &["--response-cache-expiry-spread", "30s"], facade: &[] };

async fn srv_81_b64_lease_times_are_renewed_when_a_payload_expires(node: &Sandbox) {
    pass_to_multiple(node).await;
    let client = node.client();
    register(&client, &lasting(json!({}))).await;
    node.pass(SECOND).await;
    let first = client.send(Request::get("/eureka/apps").json()).await;
    node.pass(29 * SECOND).await;
    for tick in 1..=6 {
        renew(&client, "n1").await;
        for _ in 0..20 {
            let read = client.send(Request::get("/eureka/apps").json()).await;
            assert_eq!(read, first, "at tick {}", 30 * tick);
        }
        let refreshed = metric(&client, "heureka_cache_pages_refreshed_total").await;
        assert_eq!(refreshed, 1, "the load alone, at tick {}", 30 * tick);
        if tick < 6 {
            node.pass(30 * SECOND).await;
        }
    }
    node.pass(SECOND).await;
    let expired = async || metric(&client, "heureka_cache_pages_refreshed_total").await == 2;
    eventually_async("the payload expires at 181 s", expired).await;
    assert_eq!(client.send(Request::get("/eureka/apps").json()).await, first, "the read-only tier is behind");
    node.pass(29 * SECOND).await;
    let one = client.instance("/eureka/apps/BILLING/n1").await["leaseInfo"]["lastRenewalTimestamp"].to_string();
    let renewed = async || renewals(&client.applications("/eureka/apps").await) == [one.clone()];
    eventually_async("the lease times are new after tick 210", renewed).await;
}

async fn srv_99_the_delta_keeps_what_is_old_until_it_expires(node: &Sandbox) {
    pass_to_multiple(node).await;
    let client = node.client();
    node.pass(Duration::from_millis(500)).await;
    register(&client, &lasting(json!({}))).await;
    node.pass(Duration::from_millis(99_500)).await;
    let delta = async || client.applications("/eureka/apps/delta").await;
    assert_eq!(delta().await.actions(), ["n1 ADDED"]);
    let mut now = 100;
    for second in [211, 271] {
        node.pass((second - now) * SECOND).await;
        assert_eq!(delta().await.actions(), ["n1 ADDED"], "at {second} s");
        now = second;
    }
    node.pass(9 * SECOND).await;
    let expired = async || metric(&client, "heureka_cache_pages_refreshed_total").await == 2;
    eventually_async("the delta expires", expired).await;
    node.pass(21 * SECOND).await;
    eventually_async("the delta is empty", async || delta().await.actions().is_empty()).await;
    assert_eq!(delta().await.hash.as_deref(), Some("UP_1_"));
}

async fn b58_deltas_go_on_during_self_preservation(node: &Sandbox) {
    let client = node.client();
    for n in 0..8 {
        register(&client, &with(json!({"instanceId": format!("n{n}")}))).await;
    }
    // Nobody renews.
    node.pass(80 * SECOND).await;
    let before = listed(&client).await;
    node.pass(200 * SECOND).await;
    register(&client, &lasting(json!({"instanceId": "new"}))).await;
    let delta = client.applications("/eureka/apps/delta").await;
    assert!(delta.actions().contains(&"new ADDED".to_owned()), "{:?}", delta.actions());
    let list = client.applications("/eureka/apps").await;
    assert_eq!((before.len(), list.keys().len()), (8, 9), "all are protected");
    assert_eq!(delta.hash, Some(list.counted_hash()));
}

async fn b63_reads_make_nothing_anew(node: &Sandbox) {
    let client = node.client();
    register(&client, &lasting(json!({}))).await;
    let targets = ["apps", "apps/delta", "apps/BILLING", "vips/billing", "svips/billing-s"];
    let read = async || {
        for target in targets {
            client.send(Request::get(&format!("/eureka/{target}")).json().gzip()).await.applications();
        }
    };
    read().await;
    let counters = async || {
        [
            metric(&client, "heureka_cache_pages_sent_total").await,
            metric(&client, "heureka_cache_pages_refreshed_total").await,
        ]
    };
    let before = counters().await;
    for _ in 0..100 {
        read().await;
    }
    assert_eq!(counters().await, before);
}

async fn an_idle_registry_reads_nothing_anew(node: &Sandbox) {
    let client = node.client();
    register(&client, &lasting(json!({}))).await;
    node.pass(400 * SECOND).await;
    assert_eq!(metric(&client, "heureka_cache_pages_refreshed_total").await, 0, "nobody reads");
    listed(&client).await;
    let sent = metric(&client, "heureka_cache_pages_sent_total").await;
    // The load, and one reading for each 180 s, or up to 210 s with the spread.
    for count in 2..=4 {
        node.pass(211 * SECOND).await;
        let refreshed = async || metric(&client, "heureka_cache_pages_refreshed_total").await == count;
        eventually_async("the payload is read anew once", refreshed).await;
    }
    assert_eq!(metric(&client, "heureka_cache_pages_sent_total").await, sent, "nothing was renewed");
}

async fn with_a_spread_the_pages_expire_one_after_the_other(node: &Sandbox) {
    let client = node.client();
    for n in 0..120 {
        let changes = json!({"instanceId": format!("n{n:03}"), "metadata": {"filler": "x".repeat(1500)}});
        register(&client, &lasting(changes)).await;
    }
    listed(&client).await;
    let refreshed = async || metric(&client, "heureka_cache_pages_refreshed_total").await;
    let loaded = refreshed().await;
    assert!(loaded >= 3, "{loaded} pages");
    node.pass(179 * SECOND).await;
    assert_eq!(refreshed().await, loaded);
    node.pass(SECOND).await;
    eventually_async("the first page", async || refreshed().await == loaded + 1).await;
    node.pass(30 * SECOND).await;
    eventually_async("all pages", async || refreshed().await == 2 * loaded).await;
}

async fn srv_92_s4_names_that_nobody_registered_are_not_kept(node: &Sandbox) {
    pass_to_multiple(node).await;
    let client = node.client();
    register(&client, &lasting(json!({}))).await;
    let sent = metric(&client, "heureka_cache_pages_sent_total").await;
    for n in 0..1000 {
        assert_eq!(client.status(Request::get(&format!("/eureka/apps/x{n}")).json()).await, 404);
        assert_eq!(client.send(Request::get(&format!("/eureka/vips/x{n}")).json()).await.status, 200);
    }
    node.pass(60 * SECOND).await;
    node.pass(200 * SECOND).await;
    assert_eq!(metric(&client, "heureka_cache_pages_sent_total").await, sent);
    assert_eq!(metric(&client, "heureka_cache_pages_refreshed_total").await, 0);
}
