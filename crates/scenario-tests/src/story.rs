//! What the stories share: the instance that they are about, and how it is registered.

use crate::{Client, Request};
use flate2::{Compression, write::GzEncoder};
use serde_json::{Value, json};
use std::io::Write;

/// Application `BILLING`, id `n1`, dirty stamp 1000.
pub fn fixture() -> Value {
    json!({
        "instanceId": "n1", "hostName": "n1.test", "app": "BILLING", "ipAddr": "192.0.2.10", "status": "UP",
        "port": {"$": 8080, "@enabled": "true"}, "securePort": {"$": 8443, "@enabled": "false"},
        "dataCenterInfo": {"@class": "com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo", "name": "MyOwn"},
        "vipAddress": "billing", "secureVipAddress": "billing-s", "lastDirtyTimestamp": "1000"
    })
}

/// The fixture with other values in some places; null takes a field away.
pub fn with(changes: Value) -> Value {
    changed(fixture(), changes)
}

/// An instance with other values in some places; null takes a field away.
///
/// # Panics
/// One of both is no object.
pub fn changed(mut instance: Value, changes: Value) -> Value {
    let Value::Object(changes) = changes else { panic!("{changes} is no object") };
    for (name, value) in changes {
        match value {
            Value::Null => drop(instance.as_object_mut().expect("an object").remove(&name)),
            value => instance[name] = value,
        }
    }
    instance
}

/// As [`with`], its lease outliving every story.
pub fn lasting(changes: Value) -> Value {
    changed(with(json!({"leaseInfo": {"renewalIntervalInSecs": 30, "durationInSecs": 100_000}})), changes)
}

/// The request that registers an instance.
pub fn registration(instance: &Value) -> Request {
    let app = instance["app"].as_str().expect("a name");
    post(&format!("/eureka/apps/{app}"), json!({ "instance": instance }).to_string())
}

/// A POST of JSON.
pub fn post(target: &str, body: impl Into<Vec<u8>>) -> Request {
    Request::new("POST", target).header("content-type", "application/json").body(body)
}

/// A body as `content-encoding: gzip` has it.
///
/// # Panics
/// There is no memory for it.
pub fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(plain).expect("memory");
    encoder.finish().expect("memory")
}

/// Registers an instance, which has to succeed.
pub async fn register(client: &Client, instance: &Value) {
    assert_eq!(client.status(registration(instance)).await, 204);
}

/// Registers some instances of one application.
pub async fn register_all(client: &Client, app: &str, ids: &[&str]) {
    for id in ids {
        register(client, &with(json!({"app": app, "instanceId": id}))).await;
    }
}

/// Cancels an instance, which has to succeed.
pub async fn cancel(client: &Client, app: &str, id: &str) {
    assert_eq!(client.status(Request::new("DELETE", &format!("/eureka/apps/{app}/{id}"))).await, 200);
}

/// What `GET apps` lists.
pub async fn listed(client: &Client) -> Vec<String> {
    let applications = client.applications("/eureka/apps").await;
    assert_eq!(applications.hash, Some(applications.counted_hash()));
    applications.keys()
}
