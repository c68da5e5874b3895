//! 9.4 and 9.5: renewals and cancels.

use scenario_tests::{
    on_a_server,
    server::{REPLICATED, Server},
    story::{fixture, with},
};
use serde_json::{Value, json};
use std::time::Duration;
use testkit::eventually_async;

on_a_server! {
    registered:
        rest_43_44_46_47_48_51_54_a_renewal_is_empty_and_believes_the_stamp_alone,
        rest_45_what_is_not_there_is_404_without_a_body,
        rest_49_50_a_peer_that_is_behind_is_sent_the_instance,
        rest_52_a_peers_override_is_stored_with_its_404_and_takes_effect_with_the_next_heartbeat,
        rest_53_a_stamp_that_is_none_is_400_and_renews_nothing,
        rest_55_the_last_renewal_is_shown_a_duration_late,
        rest_56_a_renewal_is_no_change,
        rest_57_58_59_a_cancel_removes_once_and_from_all_reads,
        rest_60_a_cancel_forgets_the_override,
}

const N1: &str = "apps/BILLING/n1";

async fn rest_43_44_46_47_48_51_54_a_renewal_is_empty_and_believes_the_stamp_alone(server: &Server) {
    let before = server.read().await;
    let table = [
        ("apps/BILLING/n1", 200),
        ("apps/billing/n1", 200),
        ("apps/BILLING/n1?status=DOWN", 200),
        ("apps/BILLING/n1?lastDirtyTimestamp=1000", 200),
        ("apps/BILLING/n1?lastDirtyTimestamp=999", 200),
        ("apps/BILLING/n1?lastDirtyTimestamp=1001", 404),
        ("apps/BILLING/n1?status=UP&lastDirtyTimestamp=1001", 404),
    ];
    for (path, status) in table {
        assert_eq!(server.bare("PUT", path).await, status, "{path}");
        let request = Server::request("PUT", path).json().gzip().header("content-type", "application/json");
        assert_eq!(server.empty(request.body("{}")).await, status, "{path} with a body");
        let mut after = server.read().await;
        after["leaseInfo"] = before["leaseInfo"].clone();
        assert_eq!(after, before, "{path}");
    }
}

async fn rest_45_what_is_not_there_is_404_without_a_body(server: &Server) {
    for path in ["apps/BILLING/N1", "apps/BILLING/nope", "apps/NOPE/n1"] {
        assert_eq!(server.bare("PUT", path).await, 404, "{path}");
        assert_eq!(server.empty(Server::request("PUT", path).json().gzip()).await, 404, "{path}");
    }
}

async fn rest_49_50_a_peer_that_is_behind_is_sent_the_instance(server: &Server) {
    let stored = server.read().await;
    let path = format!("{N1}?lastDirtyTimestamp=999");
    let request = Server::request("PUT", &path).header(REPLICATED.0, REPLICATED.1);
    let response = server.client.send(request.clone().json()).await;
    assert_eq!((response.status, response.header("content-type")), (409, Some("application/json")));
    let mut sent = response.json();
    assert_eq!((&sent["instance"]["lastDirtyTimestamp"], sent.as_object().unwrap().len()), (&json!("1000"), 1));
    // The lease has been renewed before.
    sent["instance"]["leaseInfo"] = stored["leaseInfo"].clone();
    assert_eq!(sent, json!({ "instance": stored }));
    let response = server.client.send(request).await;
    assert_eq!((response.status, response.header("content-type")), (409, Some("application/xml")));
    assert!(response.text().starts_with("<instance>\n  <instanceId>n1</instanceId>\n"), "{}", response.text());
    assert_eq!(server.empty(Server::request("PUT", &path).header(REPLICATED.0, "TRUE")).await, 200);
}

async fn rest_52_a_peers_override_is_stored_with_its_404_and_takes_effect_with_the_next_heartbeat(server: &Server) {
    let path = format!("{N1}?lastDirtyTimestamp=1001&overriddenstatus=OUT_OF_SERVICE");
    assert_eq!(server.empty(Server::request("PUT", &path).header(REPLICATED.0, REPLICATED.1)).await, 404);
    assert_eq!(server.shows(["overriddenStatus", "status"]).await, ["OUT_OF_SERVICE", "UP"]);
    assert_eq!(server.bare("PUT", N1).await, 200);
    // Lists do not wait for what a renewal brings.
    let is_listed = async || server.list("apps").await.hash.as_deref() == Some("OUT_OF_SERVICE_1_");
    eventually_async("the status is listed", is_listed).await;
    assert_eq!(server.shows(["overriddenStatus", "status"]).await, ["OUT_OF_SERVICE", "OUT_OF_SERVICE"]);
}

async fn rest_53_a_stamp_that_is_none_is_400_and_renews_nothing(server: &Server) {
    let before = server.read().await;
    server.node.pass(Duration::from_secs(1)).await;
    for stamp in ["abc", "", "1.5"] {
        assert_eq!(server.bare("PUT", &format!("{N1}?lastDirtyTimestamp={stamp}")).await, 400, "{stamp}");
        assert_eq!(server.read().await, before, "{stamp}");
    }
}

async fn rest_55_the_last_renewal_is_shown_a_duration_late(server: &Server) {
    let registered_at = server.node.now().0;
    server.node.pass(Duration::from_secs(7)).await;
    assert_eq!(server.bare("PUT", N1).await, 200);
    let lease = server.read().await["leaseInfo"].clone();
    let renewed_at = server.node.now().0;
    assert_eq!(renewed_at, registered_at + 7000);
    assert_eq!(lease["lastRenewalTimestamp"], renewed_at + 90_000);
    assert_eq!(lease["registrationTimestamp"], registered_at);
}

async fn rest_56_a_renewal_is_no_change(server: &Server) {
    let before = server.get("apps/delta").await;
    server.node.pass(Duration::from_secs(7)).await;
    assert_eq!(server.bare("PUT", N1).await, 200);
    assert_eq!(server.get("apps/delta").await, before);
    // A change that is acknowledged after the renewal comes after whatever the renewal might have caused.
    server.register(&with(json!({"instanceId": "n2"}))).await;
    let after = server.list("apps/delta").await;
    assert_eq!(after.actions(), ["n1 ADDED", "n2 ADDED"]);
    let number = before.applications().version.unwrap().parse::<u64>().unwrap();
    assert_eq!(after.version.unwrap(), (number + 1).to_string());
}

async fn rest_57_58_59_a_cancel_removes_once_and_from_all_reads(server: &Server) {
    assert_eq!(server.bare("DELETE", N1).await, 200);
    assert_eq!(server.bare("DELETE", N1).await, 404);
    for path in [N1, "apps/BILLING", "instances/n1"] {
        assert_eq!(server.bare("GET", path).await, 404, "{path}");
        assert_eq!(server.empty(Server::request("GET", path).json().gzip()).await, 404, "{path}");
    }
    assert_eq!(server.list("apps").await.apps, []);
}

async fn rest_60_a_cancel_forgets_the_override(server: &Server) {
    assert_eq!(server.bare("PUT", &format!("{N1}/status?value=OUT_OF_SERVICE")).await, 200);
    assert_eq!(server.bare("DELETE", N1).await, 200);
    server.register(&fixture()).await;
    assert_eq!(server.shows(["overriddenStatus", "status"]).await, ["UNKNOWN", "UP"]);
    assert_eq!(server.get("serverinfo/statusoverrides").await.json(), Value::Object(serde_json::Map::new()));
}
