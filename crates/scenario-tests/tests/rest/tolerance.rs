//! 9.3: what JSON bodies may look like.

use scenario_tests::{
    on_a_server,
    server::Server,
    story::{fixture, with},
};
use serde_json::{Value, json};

on_a_server! {
    start:
        rest_28_defaults_fill_what_was_not_said,
        rest_29_30_31_32_34_40_41_42_values_come_in_several_shapes_and_go_out_in_one,
        rest_35_36_the_intervals_are_the_clients_and_the_times_the_servers,
        rest_37_metadata_is_text;
    registered:
        rest_38_39_unknown_keys_are_skipped_whatever_their_value,
}

/// What `BILLING/n1` shows under a key after such a registration; null if nothing.
async fn shown(server: &Server, changes: Value, key: &str) -> Value {
    server.bare("DELETE", "apps/BILLING/n1").await;
    server.register(&with(changes)).await;
    let [value] = server.shows([key]).await;
    value
}

async fn rest_28_defaults_fill_what_was_not_said(server: &Server) {
    let center = fixture()["dataCenterInfo"].clone();
    let poor = json!({"hostName": "n1.test", "app": "BILLING", "ipAddr": "192.0.2.10", "dataCenterInfo": center});
    server.register(&poor).await;
    let now = server.node.now().0;
    let expected = json!({
        "instanceId": "n1.test", "hostName": "n1.test", "app": "BILLING", "ipAddr": "192.0.2.10",
        "status": "UP", "overriddenStatus": "UNKNOWN",
        "port": {"$": 7001, "@enabled": "true"}, "securePort": {"$": 7002, "@enabled": "false"}, "countryId": 1,
        "dataCenterInfo": center,
        "leaseInfo": {
            "renewalIntervalInSecs": 30, "durationInSecs": 90, "registrationTimestamp": now,
            "lastRenewalTimestamp": now, "evictionTimestamp": 0, "serviceUpTimestamp": now
        },
        "metadata": {"@class": "java.util.Collections$EmptyMap"}, "isCoordinatingDiscoveryServer": "false",
        "lastUpdatedTimestamp": now.to_string(), "lastDirtyTimestamp": now.to_string(), "actionType": "ADDED"
    });
    assert_eq!(server.read_one("BILLING/n1.test").await, expected);
}

async fn rest_29_30_31_32_34_40_41_42_values_come_in_several_shapes_and_go_out_in_one(server: &Server) {
    let table = [
        (json!({"port": {"$": "8081", "@enabled": true}}), "port", json!({"$": 8081, "@enabled": "true"})),
        (json!({"port": 8080}), "port", json!({"$": 8080, "@enabled": "true"})),
        (json!({"status": "up"}), "status", json!("UNKNOWN")),
        (json!({"lastDirtyTimestamp": 12345}), "lastDirtyTimestamp", json!("12345")),
        (json!({"lastDirtyTimestamp": "12345"}), "lastDirtyTimestamp", json!("12345")),
        (json!({"sid": "na"}), "sid", Value::Null),
        (json!({"sid": "unknown"}), "sid", Value::Null),
        (json!({"sid": "abc"}), "sid", json!("abc")),
        (json!({"homePageUrl": ""}), "homePageUrl", json!("")),
        (json!({"appGroupName": "grp"}), "appGroupName", json!("GRP")),
    ];
    for (changes, key, expected) in table {
        assert_eq!(shown(server, changes.clone(), key).await, expected, "{changes}");
    }
    let mut instance = fixture();
    instance["status"] = Value::Null;
    server.bare("DELETE", "apps/BILLING/n1").await;
    server.register(&instance).await;
    assert_eq!(server.shows(["status"]).await, ["UP"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rest_33_the_override_has_two_spellings() {
    for spelling in ["overriddenstatus", "overriddenStatus"] {
        let server = Server::start().await;
        let mut instance = fixture();
        instance[spelling] = json!("OUT_OF_SERVICE");
        server.register(&instance).await;
        let shown = server.shows(["overriddenStatus", "status", "overriddenstatus"]).await;
        assert_eq!(shown, [json!("OUT_OF_SERVICE"), json!("OUT_OF_SERVICE"), Value::Null], "{spelling}");
        server.stop().await;
    }
}

async fn rest_35_36_the_intervals_are_the_clients_and_the_times_the_servers(server: &Server) {
    let lease = json!({"durationInSecs": "10", "renewalIntervalInSecs": 0, "registrationTimestamp": 1});
    let shown = shown(server, json!({"leaseInfo": lease}), "leaseInfo").await;
    let now = server.node.now().0;
    let expected = json!({
        "durationInSecs": 10, "renewalIntervalInSecs": 30, "registrationTimestamp": now,
        "lastRenewalTimestamp": now, "evictionTimestamp": 0, "serviceUpTimestamp": now
    });
    assert_eq!(shown, expected);
}

async fn rest_37_metadata_is_text(server: &Server) {
    let metadata = json!({"a": 1, "b": true, "c": null, "@class": "x"});
    let shown = shown(server, json!({"metadata": metadata}), "metadata").await;
    assert_eq!(shown, json!({"a": "1", "b": "true"}));
}

async fn rest_38_39_unknown_keys_are_skipped_whatever_their_value(server: &Server) {
    let plain = server.read().await;
    for value in ["1", "\"x\"", "true", "null", r#"{"status":"DOWN","port":[{"$":1}]}"#, r#"["ipAddr",{"app":"X"}]"#] {
        server.bare("DELETE", "apps/BILLING/n1").await;
        let body = format!(r#"{{"instance":{}}}"#, fixture());
        let body = body.replacen(r#""ipAddr""#, &format!(r#""foreign":{value},"ipAddr""#), 1);
        assert!(body.contains("foreign"));
        server.register_body("BILLING", &body).await;
        assert_eq!(server.read().await, plain, "{value}");
    }
}
