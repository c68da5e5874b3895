//! 9.14: batches of other servers.

use crate::register::{AS_JSON, AS_XML};
use scenario_tests::{
    on_a_server,
    server::{Server, answer, expected},
    story::{changed, fixture, with},
};
use serde_json::{Value, json};

on_a_server! {
    start:
        rest_128_129_130_a_registration_brings_its_instance,
        rest_137_a_batch_that_cannot_be_meant_is_refused_as_a_whole,
        rest_138_139_an_empty_batch_has_no_results_with_and_without_the_slash;
    registered:
        rest_131_132_a_heartbeat_is_judged_by_its_stamp_and_brings_the_override,
        rest_133_134_135_136_items_are_done_one_by_one_in_their_order,
}

const PATH: &str = "peerreplication/batch/";

/// The results of these items, which are answered with 200 and in JSON.
async fn results(server: &Server, items: &[Value]) -> Vec<Value> {
    let body = json!({ "replicationList": items }).to_string();
    let response = server.client.send(Server::post_of(PATH, body).json()).await;
    assert_eq!((response.status, response.header("content-type")), (200, Some("application/json")), "{items:?}");
    let document = response.json();
    assert_eq!(document.as_object().unwrap().len(), 1, "nothing but the list");
    document["responseList"].as_array().unwrap().clone()
}

fn code(status: u16) -> Value {
    json!({ "statusCode": status })
}

fn item(action: &str, changes: Value) -> Value {
    changed(json!({"appName": "BILLING", "id": "n1", "action": action}), changes)
}

async fn rest_128_129_130_a_registration_brings_its_instance(server: &Server) {
    let refused = item("Register", json!({"instanceInfo": with(json!({"hostName": null}))}));
    assert_eq!(results(server, &[refused]).await, [code(200)]);
    assert_eq!(results(server, &[item("Register", json!({}))]).await, [code(500)]);
    assert_eq!(server.list("apps").await.apps, []);

    let body = json!({"replicationList": [item("Register", json!({"instanceInfo": fixture()}))]}).to_string();
    let done = answer(&server.client.send(Server::post_of(PATH, body).json()).await);
    assert_eq!(done, expected(200, "application/json", r#"{"responseList":[{"statusCode":200}]}"#));
    assert_eq!(server.shows(["vipAddress", "status"]).await, ["billing", "UP"]);
}

async fn rest_131_132_a_heartbeat_is_judged_by_its_stamp_and_brings_the_override(server: &Server) {
    let mut stored = server.read().await;
    let beat = |stamp: i64| item("Heartbeat", json!({"lastDirtyTimestamp": stamp, "status": "UP"}));
    let unknown = item("Heartbeat", json!({"id": "nope", "lastDirtyTimestamp": 1000}));
    let mut results = results(server, &[beat(1000), beat(999), beat(1001), unknown]).await;
    let entity = results[1]["responseEntity"].take();
    assert_eq!(results, [code(200), json!({"statusCode": 409, "responseEntity": null}), code(404), code(404)]);
    stored["leaseInfo"] = entity["leaseInfo"].clone();
    assert_eq!(entity, stored);

    let overridden = json!({"lastDirtyTimestamp": 1001, "overriddenStatus": "OUT_OF_SERVICE"});
    assert_eq!(self::results(server, &[item("Heartbeat", overridden)]).await, [code(404)]);
    assert_eq!(server.get("serverinfo/statusoverrides").await.json(), json!({"n1": "OUT_OF_SERVICE"}));
    assert_eq!(self::results(server, &[item("Heartbeat", json!({}))]).await, [code(200)]);
}

async fn rest_133_134_135_136_items_are_done_one_by_one_in_their_order(server: &Server) {
    let status = |changes: Value| item("StatusUpdate", changes);
    let items = [
        status(json!({"status": "OUT_OF_SERVICE", "lastDirtyTimestamp": 1000})),
        status(json!({"id": "nope", "status": "UP"})),
        status(json!({"status": "BOGUS"})),
    ];
    assert_eq!(results(server, &items).await, [code(200), code(404), code(400)]);
    assert_eq!(server.shows(["status", "overriddenStatus"]).await, ["OUT_OF_SERVICE", "OUT_OF_SERVICE"]);

    let removed = item("DeleteStatusOverride", json!({"status": "UP"}));
    assert_eq!(results(server, &[removed]).await, [code(200)]);
    assert_eq!(server.shows(["status", "overriddenStatus"]).await, ["UP", "UNKNOWN"]);

    let cancel = item("Cancel", json!({}));
    assert_eq!(results(server, &[cancel.clone(), cancel]).await, [code(200), code(404)]);
    let items = [json!({"id": "n1", "action": "Cancel"}), item("Register", json!({"instanceInfo": fixture()}))];
    assert_eq!(results(server, &items).await, [code(500), code(200)]);
    assert_eq!(server.list("apps").await.keys(), ["BILLING/n1"]);
}

async fn rest_137_a_batch_that_cannot_be_meant_is_refused_as_a_whole(server: &Server) {
    let good = item("Register", json!({"instanceInfo": fixture()}));
    let list = |items: &[&Value]| json!({ "replicationList": items }).to_string();
    for body in [
        list(&[&good, &item("heartbeat", json!({}))]),
        list(&[&good, &item("Bogus", json!({}))]),
        "not json".to_owned(),
        String::new(),
    ] {
        let refused = answer(&server.client.send(Server::post_of(PATH, body.clone()).json()).await);
        assert_eq!(refused, expected(400, "application/json", AS_JSON), "{body}");
    }
    let xml = Server::request("POST", PATH).header("content-type", "application/xml").body("<list/>");
    assert_eq!(answer(&server.client.send(xml).await), expected(400, "application/xml", AS_XML));
    assert_eq!(server.list("apps").await.apps, []);
}

async fn rest_138_139_an_empty_batch_has_no_results_with_and_without_the_slash(server: &Server) {
    for path in ["peerreplication/batch", PATH] {
        for request in [
            Server::post_of(path, r#"{"replicationList":[]}"#),
            Server::post_of(path, r#"{"replicationList":[]}"#).json(),
        ] {
            let done = answer(&server.client.send(request).await);
            assert_eq!(done, expected(200, "application/json", r#"{"responseList":[]}"#), "{path}");
        }
    }
}
