//! 9.6 and 9.7: overrides of statuses, metadata.

use scenario_tests::{on_a_server, server::Server, story::with};
use serde_json::{Value, json};
use std::time::Duration;

on_a_server! {
    start:
        rest_73_74_75_parameters_become_metadata;
    registered:
        rest_61_an_override_is_status_and_change,
        rest_62_the_status_that_an_instance_has_is_not_stored,
        rest_63_64_71_what_is_no_status_is_400_and_what_is_not_there_404_and_nothing_changes,
        rest_65_an_override_may_raise_the_stamp_and_never_lowers_it,
        rest_66_67_an_override_wins_over_a_client_that_is_up_and_not_over_one_that_is_down,
        rest_68_69_a_removed_override_leaves_the_status_that_is_named_or_unknown,
        rest_70_without_an_override_nothing_changes,
        rest_72_a_status_is_set_and_removed_and_not_read,
        rest_76_added_metadata_is_a_registration_without_a_new_stamp,
}

const N1: &str = "apps/BILLING/n1";
const STATUS: &str = "apps/BILLING/n1/status";
const OUT: &str = "apps/BILLING/n1/status?value=OUT_OF_SERVICE";

async fn rest_61_an_override_is_status_and_change(server: &Server) {
    assert_eq!(server.bare("PUT", OUT).await, 200);
    let keys = ["status", "overriddenStatus", "actionType", "lastDirtyTimestamp"];
    assert_eq!(server.shows(keys).await, ["OUT_OF_SERVICE", "OUT_OF_SERVICE", "MODIFIED", "1000"]);
    assert_eq!(server.list("apps/delta").await.actions(), ["n1 MODIFIED"]);
}

async fn rest_62_the_status_that_an_instance_has_is_not_stored(server: &Server) {
    let before = server.get("apps/delta").await;
    assert_eq!(server.bare("PUT", &format!("{STATUS}?value=UP")).await, 200);
    assert_eq!(server.shows(["status", "overriddenStatus"]).await, ["UP", "UNKNOWN"]);
    assert_eq!(server.get("apps/delta").await, before);
}

async fn rest_63_64_71_what_is_no_status_is_400_and_what_is_not_there_404_and_nothing_changes(server: &Server) {
    assert_eq!(server.bare("PUT", OUT).await, 200);
    let (before, delta) = (server.read().await, server.get("apps/delta").await);
    let table = [
        ("PUT", "apps/BILLING/n1/status?value=out_of_service", 400),
        ("PUT", "apps/BILLING/n1/status?value=BOGUS", 400),
        ("PUT", "apps/BILLING/n1/status", 400),
        ("PUT", "apps/BILLING/n1/status?value=UP&lastDirtyTimestamp=abc", 400),
        ("PUT", "apps/BILLING/nope/status?value=UP", 404),
        ("PUT", "apps/NOPE/n1/status?value=UP", 404),
        ("DELETE", "apps/BILLING/n1/status?value=zz", 400),
        ("DELETE", "apps/BILLING/nope/status", 404),
    ];
    for (method, path, status) in table {
        assert_eq!(server.bare(method, path).await, status, "{method} {path}");
        assert_eq!(server.read().await, before, "{method} {path}");
    }
    assert_eq!(server.get("apps/delta").await, delta);
}

async fn rest_65_an_override_may_raise_the_stamp_and_never_lowers_it(server: &Server) {
    let keys = ["status", "lastDirtyTimestamp"];
    assert_eq!(server.bare("PUT", &format!("{STATUS}?value=DOWN&lastDirtyTimestamp=2000")).await, 200);
    assert_eq!(server.shows(keys).await, ["DOWN", "2000"]);
    assert_eq!(server.bare("PUT", &format!("{OUT}&lastDirtyTimestamp=1500")).await, 200);
    assert_eq!(server.shows(keys).await, ["OUT_OF_SERVICE", "2000"]);
}

async fn rest_66_67_an_override_wins_over_a_client_that_is_up_and_not_over_one_that_is_down(server: &Server) {
    assert_eq!(server.bare("PUT", OUT).await, 200);
    let keys = ["status", "overriddenStatus", "lastDirtyTimestamp"];
    server.register(&with(json!({"lastDirtyTimestamp": "2000"}))).await;
    assert_eq!(server.shows(keys).await, ["OUT_OF_SERVICE", "OUT_OF_SERVICE", "2000"]);
    server.register(&with(json!({"lastDirtyTimestamp": "3000", "status": "DOWN"}))).await;
    assert_eq!(server.shows(keys).await, ["DOWN", "OUT_OF_SERVICE", "3000"]);
}

async fn rest_68_69_a_removed_override_leaves_the_status_that_is_named_or_unknown(server: &Server) {
    let keys = ["status", "overriddenStatus", "actionType"];
    assert_eq!(server.bare("PUT", OUT).await, 200);
    assert_eq!(server.bare("DELETE", &format!("{STATUS}?value=UP")).await, 200);
    assert_eq!(server.shows(keys).await, ["UP", "UNKNOWN", "MODIFIED"]);
    assert_eq!(server.bare("PUT", N1).await, 200);

    assert_eq!(server.bare("PUT", OUT).await, 200);
    assert_eq!(server.bare("DELETE", STATUS).await, 200);
    assert_eq!(server.shows(keys).await, ["UNKNOWN", "UNKNOWN", "MODIFIED"]);
    assert_eq!(server.bare("PUT", N1).await, 404);
    assert_eq!(server.list("apps/delta").await.actions(), ["n1 MODIFIED"]);
}

async fn rest_70_without_an_override_nothing_changes(server: &Server) {
    let (before, delta) = (server.read().await, server.get("apps/delta").await);
    for query in ["", "?value=DOWN"] {
        assert_eq!(server.bare("DELETE", &format!("{STATUS}{query}")).await, 200);
        let mut after = server.read().await;
        after["leaseInfo"] = before["leaseInfo"].clone();
        assert_eq!(after, before);
    }
    assert_eq!(server.get("apps/delta").await, delta);
}

async fn rest_72_a_status_is_set_and_removed_and_not_read(server: &Server) {
    let response = server.get(STATUS).await;
    assert_eq!((response.status, response.text().as_str()), (405, ""));
    let allowed: Vec<&str> = response.header("allow").unwrap().split(',').collect();
    assert!(allowed.contains(&"PUT") && allowed.contains(&"DELETE"), "{allowed:?}");
}

async fn rest_73_74_75_parameters_become_metadata(server: &Server) {
    server.register(&with(json!({"metadata": {"k": "v"}}))).await;
    assert_eq!(server.bare("PUT", "apps/BILLING/n1/metadata?a=b&c=d").await, 200);
    assert_eq!(server.shows(["metadata"]).await, [json!({"k": "v", "a": "b", "c": "d"})]);
    assert_eq!(server.bare("PUT", "apps/BILLING/n1/metadata?a=1&a=2&e&x%20y=%26+z").await, 200);
    let expected = json!({"k": "v", "a": "1", "c": "d", "e": "", "x y": "& z"});
    assert_eq!(server.shows(["metadata"]).await, [expected]);
    assert_eq!(server.bare("PUT", "apps/BILLING/nope/metadata?a=b").await, 404);
    assert_eq!(server.bare("PUT", "apps/BILLING/n1/nope/metadata?a=b").await, 404);
}

async fn rest_76_added_metadata_is_a_registration_without_a_new_stamp(server: &Server) {
    assert_eq!(server.bare("PUT", &format!("{STATUS}?value=DOWN")).await, 200);
    server.node.pass(Duration::from_secs(2)).await;
    let number = server.delta_number().await;
    assert_eq!(server.bare("PUT", "apps/BILLING/n1/metadata?a=b").await, 200);
    let delta = server.list("apps/delta").await;
    assert_eq!(delta.actions(), ["n1 ADDED"]);
    let listed = delta.instances().next().unwrap();
    assert_eq!((listed.field("lastDirtyTimestamp"), listed.field("metadata.a")), ("1000", "b"));
    assert_eq!(delta.version.unwrap(), (number + 1).to_string());
    let [lease] = server.shows(["leaseInfo"]).await;
    assert_eq!(lease["registrationTimestamp"], Value::from(server.node.now().0));
}
