//! What users of such registries ran into on the wire, case by case, against a whole node with its own defaults.
//! `answers` is about paths, statuses and headers, `fields` about what instances say.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "this is how a test fails"
)]

mod answers;
mod fields;

use scenario_tests::{
    Options, Request, Response, on_a_server,
    server::{Answer, REPLICATED, Server, answer, expected, wrapped},
    story::{self, changed},
};
use serde_json::{Value, json};

const I1: &str = "apps/ORDERS/i1";
const BASES: [&str; 2] = ["/eureka", "/eureka/v2"];
const MARKER: &str = "com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo";
const AMAZON: &str = "com.netflix.appinfo.AmazonInfo";
const AS_JSON: &str = r#"{"error": "cannot parse request body"}"#;

/// `ORDERS/i1` with these values in it; where there is none, the key is left out.
fn j0(changes: Value) -> Value {
    let instance = json!({
        "instanceId": "i1", "hostName": "h1.test", "app": "ORDERS", "ipAddr": "192.0.2.10", "status": "UP",
        "port": {"$": 8080, "@enabled": "true"}, "securePort": {"$": 8443, "@enabled": "false"},
        "dataCenterInfo": {"@class": MARKER, "name": "MyOwn"}, "vipAddress": "orders",
        "leaseInfo": {"renewalIntervalInSecs": 30, "durationInSecs": 90}, "lastDirtyTimestamp": "1000", "metadata": {}
    });
    changed(instance, changes)
}

async fn send(server: &Server, request: Request, headers: &[(&str, &str)]) -> Response {
    server.client.send(headers.iter().fold(request, |request, (name, value)| request.header(name, value))).await
}

async fn register(server: &Server, instance: &Value) -> Answer {
    answer(&server.client.send(Server::post_of("apps/ORDERS", wrapped(instance))).await)
}

/// All lists, in both languages.
async fn lists_are_whole(server: &Server) {
    for path in ["apps", "apps/delta", "apps/ORDERS", "vips/orders"] {
        let json = server.get(path).await.applications();
        let xml = server.get_xml(path).await.applications();
        assert_eq!((json.keys(), &json.hash), (xml.keys(), &xml.hash), "{path}");
        assert!(!json.keys().is_empty(), "{path}");
    }
}
