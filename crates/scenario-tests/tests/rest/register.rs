//! 9.2: registrations.

use scenario_tests::{
    Request, on_a_server,
    server::{Answer, Server, answer, expected, wrapped},
    story::{fixture, gzip, with},
};
use serde_json::{Value, json};

on_a_server! {
    start:
        rest_4_5_6_7_9_10_12_13_what_is_missing_is_named_in_eurekas_words,
        rest_8_without_an_id_the_host_name_is_the_id_and_is_written,
        rest_11_14_17_18_19_20_what_is_no_registration_is_answered_under_its_own_label,
        rest_15_16_a_type_that_nobody_reads_is_415,
        rest_26_amazon_machines_are_told_their_id,
        rest_27_a_body_may_be_compressed;
    registered:
        rest_21_22_an_older_description_does_not_replace_the_stored_one,
        rest_23_24_25_what_a_registration_says_of_its_status_is_believed_of_peers_and_of_those_that_are_down,
}

pub(crate) const AS_JSON: &str = r#"{"error": "cannot parse request body"}"#;
pub(crate) const AS_XML: &str = "<error><message>cannot parse request body</message></error>";

async fn refusal(server: &Server, request: Request) -> Answer {
    let refused = answer(&server.client.send(request).await);
    assert_eq!(server.list("apps").await.keys(), [""; 0], "nothing is stored");
    refused
}

fn billing(body: impl Into<Vec<u8>>) -> Request {
    Server::post_of("apps/BILLING", body)
}

fn typed(content_type: &str, body: &str) -> Request {
    Server::request("POST", "apps/BILLING").header("content-type", content_type).body(body)
}

/// The fixture with a null in some place.
fn with_null(key: &str) -> Value {
    let mut instance = fixture();
    instance[key] = Value::Null;
    instance
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rest_1_2_3_a_registration_is_204_whatever_the_case_of_its_application() {
    for (path, app) in [("apps/BILLING", "BILLING"), ("apps/billing", "BiLLing"), ("apps/BILLING/", "BILLING")] {
        let server = Server::start().await;
        let request = Server::post_of(path, wrapped(&with(json!({"app": app}))));
        assert_eq!(server.empty(request).await, 204, "{path}");
        assert_eq!(server.shows(["app"]).await, ["BILLING"]);
        server.stop().await;
    }
}

async fn rest_4_5_6_7_9_10_12_13_what_is_missing_is_named_in_eurekas_words(server: &Server) {
    let marker = json!({"@class": "com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo"});
    let table = [
        (with(json!({"app": "ORDERS"})), "Mismatched appName, expecting BILLING but was ORDERS"),
        (with(json!({"hostName": null})), "Missing hostname"),
        (with(json!({"hostName": ""})), "Missing hostname"),
        (with(json!({"hostName": null, "instanceId": null})), "Missing instanceId"),
        (with(json!({"ipAddr": null})), "Missing ip address"),
        (with(json!({"app": ""})), "Missing appName"),
        (with(json!({"dataCenterInfo": null})), "Missing dataCenterInfo"),
        (with_null("dataCenterInfo"), "Missing dataCenterInfo"),
        (with(json!({"dataCenterInfo": marker})), "Missing dataCenterInfo Name"),
    ];
    for (instance, text) in table {
        let request = billing(wrapped(&instance));
        assert_eq!(refusal(server, request.clone()).await, expected(400, "application/xml", text));
        assert_eq!(refusal(server, request.json()).await, expected(400, "application/json", text));
    }
}

async fn rest_8_without_an_id_the_host_name_is_the_id_and_is_written(server: &Server) {
    server.register(&with(json!({"instanceId": null}))).await;
    assert_eq!(server.read_one("BILLING/n1.test").await["instanceId"], "n1.test");
}

async fn rest_11_14_17_18_19_20_what_is_no_registration_is_answered_under_its_own_label(server: &Server) {
    let center = |name: &str| json!({"@class": "com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo", "name": name});
    let table = [
        wrapped(&with(json!({"app": null}))),
        wrapped(&with_null("app")),
        wrapped(&with(json!({"dataCenterInfo": center("Bogus")}))),
        wrapped(&with(json!({"dataCenterInfo": center("myown")}))),
        "not json".to_owned(),
        fixture().to_string(),
        json!({"Instance": fixture()}).to_string(),
        String::new(),
        "{}".to_owned(),
    ];
    for body in table {
        for label in ["application/json", "application/json;charset=UTF-8"] {
            let text = if label == "application/json" { AS_JSON } else { AS_XML };
            let request = typed(label, &body);
            assert_eq!(refusal(server, request.clone()).await, expected(400, label, text), "{body}");
            assert_eq!(refusal(server, request.xml()).await, expected(400, label, text), "{body}");
        }
    }
}

async fn rest_15_16_a_type_that_nobody_reads_is_415(server: &Server) {
    let body = wrapped(&fixture());
    let untyped = Server::request("POST", "apps/BILLING").body(body.clone());
    assert_eq!(server.empty(untyped).await, 415);
    for label in ["text/plain", "text/xml", "application/vnd.x+json", "application/json;charset=UTF-16"] {
        assert_eq!(server.empty(typed(label, &body)).await, 415, "{label}");
    }
    assert_eq!(server.list("apps").await.keys(), [""; 0]);
    for label in ["Application/JSON", "application/json;charset=\"utf-8\"", "application/json; charset=ISO-8859-1"] {
        assert_eq!(server.empty(typed(label, &body)).await, 204, "{label}");
    }
}

async fn rest_21_22_an_older_description_does_not_replace_the_stored_one(server: &Server) {
    server.register(&with(json!({"lastDirtyTimestamp": "500", "vipAddress": "old"}))).await;
    assert_eq!(server.shows(["lastDirtyTimestamp", "vipAddress"]).await, ["1000", "billing"]);
    server.register(&with(json!({"vipAddress": "same"}))).await;
    assert_eq!(server.shows(["lastDirtyTimestamp", "vipAddress"]).await, ["1000", "same"]);
}

async fn rest_23_24_25_what_a_registration_says_of_its_status_is_believed_of_peers_and_of_those_that_are_down(
    server: &Server,
) {
    let out = with(json!({"status": "OUT_OF_SERVICE", "lastDirtyTimestamp": "2000"}));
    server.register(&out).await;
    assert_eq!(server.shows(["status"]).await, ["UP"]);
    server.replicate(&out).await;
    assert_eq!(server.shows(["status"]).await, ["OUT_OF_SERVICE"]);
    server.register(&with(json!({"status": "DOWN", "lastDirtyTimestamp": "3000"}))).await;
    assert_eq!(server.shows(["status"]).await, ["DOWN"]);
}

async fn rest_26_amazon_machines_are_told_their_id(server: &Server) {
    let center = json!({"@class": "com.netflix.appinfo.AmazonInfo", "name": "Amazon", "metadata": {"ami-id": "a"}});
    server.register(&with(json!({"dataCenterInfo": center}))).await;
    let [center] = server.shows(["dataCenterInfo"]).await;
    let metadata = json!({"ami-id": "a", "instance-id": "n1"});
    assert_eq!(center, json!({"@class": "com.netflix.appinfo.AmazonInfo", "name": "Amazon", "metadata": metadata}));
}

async fn rest_27_a_body_may_be_compressed(server: &Server) {
    let compressed = gzip(wrapped(&fixture()).as_bytes());
    let corrupt = billing(&compressed[..compressed.len() / 2]).header("content-encoding", "gzip");
    assert_eq!(refusal(server, corrupt).await, expected(400, "application/json", AS_JSON));
    assert_eq!(server.empty(billing(compressed).header("content-encoding", "gzip")).await, 204);
    assert_eq!(server.shows(["hostName"]).await, ["n1.test"]);
}
