//! What the stories share: the instance that they are about, and how it is registered.
#![allow(dead_code, reason = "each test binary uses a part of this")]

use scenario_tests::{Client, Request};
use serde_json::{Value, json};

/// Application `BILLING`, id `n1`, dirty stamp 1000.
pub(crate) fn fixture() -> Value {
    json!({
        "instanceId": "n1", "hostName": "n1.test", "app": "BILLING", "ipAddr": "192.0.2.10", "status": "UP",
        "port": {"$": 8080, "@enabled": "true"}, "securePort": {"$": 8443, "@enabled": "false"},
        "dataCenterInfo": {"@class": "com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo", "name": "MyOwn"},
        "vipAddress": "billing", "secureVipAddress": "billing-s", "lastDirtyTimestamp": "1000"
    })
}

/// The fixture with other values in some places; null takes a field away.
pub(crate) fn with(changes: Value) -> Value {
    let mut instance = fixture();
    for (name, value) in changes.as_object().expect("changes") {
        match value {
            Value::Null => {
                instance.as_object_mut().expect("an object").remove(name);
            }
            value => instance[name.as_str()] = value.clone(),
        }
    }
    instance
}

/// The request that registers an instance.
pub(crate) fn registration(instance: &Value) -> Request {
    let app = instance["app"].as_str().expect("a name");
    post(&format!("/eureka/apps/{app}"), json!({ "instance": instance }).to_string())
}

/// A POST of JSON.
pub(crate) fn post(target: &str, body: impl Into<Vec<u8>>) -> Request {
    Request::new("POST", target).header("content-type", "application/json").body(body)
}

/// Registers an instance, which has to succeed.
pub(crate) async fn register(client: &Client, instance: &Value) {
    assert_eq!(client.status(registration(instance)).await, 204);
}

/// Registers some instances of one application.
pub(crate) async fn register_all(client: &Client, app: &str, ids: &[&str]) {
    for id in ids {
        register(client, &with(json!({"app": app, "instanceId": id}))).await;
    }
}

/// Cancels an instance, which has to succeed.
pub(crate) async fn cancel(client: &Client, app: &str, id: &str) {
    assert_eq!(client.status(Request::new("DELETE", &format!("/eureka/apps/{app}/{id}"))).await, 200);
}

/// What `GET apps` lists.
pub(crate) async fn listed(client: &Client) -> Vec<String> {
    let applications = client.applications("/eureka/apps").await;
    assert_eq!(applications.hash, Some(applications.counted_hash()));
    applications.keys()
}
