//! Batches of other servers, through the whole facade.

use super::{Answer, Bench};
use http::Method;
use registry_proto::{
    registry::{CancelResponse, ClearStatusResponse, RenewOutcome, RenewResponse, SetStatusResponse},
    types::{InstanceStatus, Origin},
};
use testkit::instances::record;
use tonic::Status;

const JSON: (&str, &str) = ("content-type", "application/json");

const INSTANCE: &str = concat!(
    r#"{"instanceId":"n1","hostName":"n1.test","app":"BILLING","ipAddr":"192.0.2.10","status":"UP","#,
    r#""dataCenterInfo":{"@class":"com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo","name":"MyOwn"},"#,
    r#""lastDirtyTimestamp":"1000"}"#
);

fn register(app: &str, instance: &str) -> String {
    format!(r#"{{"appName":"{app}","id":"n1","status":"UP","instanceInfo":{instance},"action":"Register"}}"#)
}

impl Bench {
    async fn post(&self, body: &str) -> Answer {
        self.send(Method::POST, "peerreplication/batch/", &[JSON, ("accept", "application/json")], body).await
    }

    /// The results of these items.
    async fn batch(&self, items: &[&str]) -> String {
        let answer = self.post(&format!(r#"{{"replicationList":[{}]}}"#, items.join(","))).await;
        assert_eq!((answer.status.as_u16(), answer.header("content-type")), (200, Some("application/json")));
        let results = answer.text().strip_prefix(r#"{"responseList":["#).and_then(|rest| rest.strip_suffix("]}"));
        results.unwrap().replace(r#"{"statusCode":"#, "").replace('}', "")
    }
}

#[tokio::test]
async fn rest_128_a_registration_in_a_batch_is_another_servers() {
    let bench = Bench::following(&[]).await;
    assert_eq!(bench.batch(&[&register("billing", INSTANCE)]).await, "200");
    let registered = bench.registry.registered.lock().pop().unwrap();
    assert_eq!(registered.origin(), Origin::Peer);
    assert_eq!(registered.instance.unwrap().into_instance().unwrap().key.to_string(), "BILLING/n1");
}

#[tokio::test]
async fn rest_129_srv_133_a_registration_that_is_refused_counts_as_done_and_is_counted() {
    let bench = Bench::following(&[]).await;
    let nameless = INSTANCE.replace(r#""hostName":"n1.test","#, "");
    let without_address = INSTANCE.replace(r#""ipAddr":"192.0.2.10","#, "");
    let endless = "x".repeat(5000);
    let bad = [("BILLING", &*nameless), ("BILLING", &*without_address), ("ORDERS", INSTANCE), (&*endless, INSTANCE)];
    for (app, instance) in bad {
        assert_eq!(bench.batch(&[&register(app, instance)]).await, "200");
    }
    assert!(bench.registry.registered.lock().is_empty());
    *bench.registry.register.lock() = Some(Err(Status::invalid_argument("too large")));
    assert_eq!(bench.batch(&[&register("BILLING", INSTANCE)]).await, "200");
    assert_eq!(bench.facade.metrics.peer_registrations_refused.get(), 5);
}

#[tokio::test]
async fn rest_130_an_item_that_lacks_what_it_is_about_fails_alone() {
    let bench = Bench::following(&[]).await;
    for item in [
        r#"{"appName":"BILLING","id":"n1","action":"Register"}"#,
        r#"{"id":"n1","action":"Cancel"}"#,
        r#"{"appName":"BILLING","id":"n1"}"#,
        "{}",
    ] {
        assert_eq!(bench.batch(&[item]).await, "500", "{item}");
    }
    assert!(bench.registry.cancelled.lock().is_empty());
}

#[tokio::test]
async fn rest_131_b80_a_heartbeat_is_answered_by_its_outcome_with_the_newer_instance() {
    let bench = Bench::following(&[]).await;
    let heartbeat = r#"{"appName":"BILLING","id":"n1","lastDirtyTimestamp":999,"status":"UP","action":"Heartbeat"}"#;
    let table = [
        (RenewOutcome::Renewed, "200"),
        (RenewOutcome::NotFound, "404"),
        (RenewOutcome::StoredIsOlder, "404"),
        (RenewOutcome::Unspecified, "500"),
    ];
    for (outcome, result) in table {
        *bench.registry.renew.lock() = Some(Ok(RenewResponse { outcome: outcome.into(), stored: None }));
        assert_eq!(bench.batch(&[heartbeat]).await, result, "{outcome:?}");
    }
    let stored = Some(record("BILLING", "n1").into());
    *bench.registry.renew.lock() = Some(Ok(RenewResponse { outcome: RenewOutcome::StoredIsNewer.into(), stored }));
    let newer = bench.post(&format!(r#"{{"replicationList":[{heartbeat}]}}"#)).await;
    let expected = r#"{"responseList":[{"statusCode":409,"responseEntity":{"instanceId":"n1","#;
    assert!(newer.text().starts_with(expected), "{}", newer.text());
    let renewal = bench.registry.renewed.lock().pop().unwrap();
    assert_eq!((renewal.app.as_str(), renewal.instance_id.as_str()), ("BILLING", "n1"));
    assert_eq!((renewal.last_dirty_ms, renewal.origin()), (Some(999), Origin::Peer));
}

#[tokio::test]
async fn rest_132_a_heartbeat_brings_the_override_that_the_sender_holds() {
    let bench = Bench::following(&[]).await;
    let outcome = RenewOutcome::StoredIsOlder.into();
    *bench.registry.renew.lock() = Some(Ok(RenewResponse { outcome, stored: None }));
    let item = |status| {
        format!(r#"{{"appName":"BILLING","id":"n1","overriddenStatus":"{status}","status":"x","action":"Heartbeat"}}"#)
    };
    assert_eq!(bench.batch(&[&item("OUT_OF_SERVICE")]).await, "404");
    let renewal = bench.registry.renewed.lock().pop().unwrap();
    assert_eq!((renewal.overridden_status(), renewal.last_dirty_ms), (InstanceStatus::OutOfService, None));
    assert_eq!(bench.batch(&[&item("bogus")]).await, "400");
    assert!(bench.registry.renewed.lock().is_empty());
}

#[tokio::test]
async fn rest_133_a_cancellation_says_whether_there_was_something() {
    let bench = Bench::following(&[]).await;
    let cancel = r#"{"appName":"BILLING","id":"n2","action":"Cancel"}"#;
    for (found, result) in [(true, "200"), (false, "404")] {
        *bench.registry.cancel.lock() = Some(Ok(CancelResponse { found, position: None }));
        assert_eq!(bench.batch(&[cancel]).await, result);
        assert_eq!(bench.registry.cancelled.lock().pop().unwrap().origin(), Origin::Peer);
    }
}

#[tokio::test]
async fn rest_134_a_status_update_needs_a_status_by_its_exact_name() {
    let bench = Bench::following(&[]).await;
    let update = |status: &str| {
        format!(r#"{{"appName":"BILLING","id":"n1","lastDirtyTimestamp":5,{status}"action":"StatusUpdate"}}"#)
    };
    for (found, result) in [(true, "200"), (false, "404")] {
        *bench.registry.set_status.lock() = Some(Ok(SetStatusResponse { found, position: None }));
        assert_eq!(bench.batch(&[&update(r#""status":"DOWN","#)]).await, result);
        let set = bench.registry.statuses.lock().pop().unwrap();
        assert_eq!((set.status(), set.last_dirty_ms), (InstanceStatus::Down, Some(5)));
        assert_eq!(set.origin(), Origin::Peer);
    }
    for status in [r#""status":"BOGUS","#, r#""status":"down","#, ""] {
        assert_eq!(bench.batch(&[&update(status)]).await, "400", "{status}");
    }
    assert!(bench.registry.statuses.lock().is_empty());
}

#[tokio::test]
async fn rest_135_srv_134_135_an_override_is_removed_with_or_without_status_and_stamp() {
    let bench = Bench::following(&[]).await;
    *bench.registry.clear_status.lock() = Some(Ok(ClearStatusResponse { found: true, position: None }));
    let table = [
        (r#""status":"UP","lastDirtyTimestamp":7,"#, InstanceStatus::Up, Some(7)),
        (r#""status":"UP","#, InstanceStatus::Up, None),
        ("", InstanceStatus::Unspecified, None),
    ];
    for (fields, status, stamp) in table {
        let item = format!(r#"{{"appName":"BILLING","id":"n1",{fields}"action":"DeleteStatusOverride"}}"#);
        assert_eq!(bench.batch(&[&item]).await, "200");
        let cleared = bench.registry.cleared.lock().pop().unwrap();
        assert_eq!((cleared.status(), cleared.last_dirty_ms, cleared.origin()), (status, stamp, Origin::Peer));
    }
    // In Java the one without a stamp fails, and the next one does not.
    *bench.registry.renew.lock() =
        Some(Ok(RenewResponse { outcome: RenewOutcome::Renewed.into(), ..RenewResponse::default() }));
    let unstamped = r#"{"appName":"BILLING","id":"n1","status":"UP","action":"DeleteStatusOverride"}"#;
    let heartbeat = r#"{"appName":"BILLING","id":"n1","lastDirtyTimestamp":1000,"action":"Heartbeat"}"#;
    assert_eq!(bench.batch(&[unstamped, heartbeat]).await, "200,200");
    assert_eq!((bench.registry.cleared.lock().len(), bench.registry.renewed.lock().len()), (1, 1));
    let bad = r#"{"appName":"BILLING","id":"n1","status":"zz","action":"DeleteStatusOverride"}"#;
    assert_eq!(bench.batch(&[bad]).await, "400");
}

#[tokio::test]
async fn rest_136_results_stand_in_the_order_of_the_items() {
    let bench = Bench::following(&[]).await;
    let renewed = RenewResponse { outcome: RenewOutcome::Renewed.into(), stored: None };
    *bench.registry.renew.lock() = Some(Ok(renewed));
    let heartbeat = r#"{"appName":"A","id":"i","action":"Heartbeat"}"#;
    let cancel = r#"{"appName":"A","id":"i","action":"Cancel"}"#;
    assert_eq!(bench.batch(&[heartbeat, "{}", cancel, heartbeat]).await, "200,500,404,200");
    let many = vec![heartbeat; 250];
    assert_eq!(bench.batch(&many).await, vec!["200"; 250].join(","));
}

#[tokio::test]
async fn rest_137_a_batch_that_cannot_be_read_is_refused_as_a_whole() {
    let bench = Bench::following(&[]).await;
    let cancel = r#"{"appName":"A","id":"i","action":"Cancel"}"#;
    for body in [
        format!(r#"{{"replicationList":[{cancel},{{"appName":"A","id":"i","action":"heartbeat"}}]}}"#),
        format!(r#"{{"replicationList":[{cancel},{{"appName":"A","id":"i","action":"Bogus"}}]}}"#),
        format!(r#"{{"replicationList":[{cancel}"#),
        "{}".to_owned(),
        String::new(),
    ] {
        let answer = bench.post(&body).await;
        assert_eq!(
            (answer.status.as_u16(), answer.text()),
            (400, r#"{"error": "cannot parse request body"}"#),
            "{body}"
        );
        assert_eq!(answer.header("content-type"), Some("application/json"));
    }
    let empty = r#"{"replicationList":[]}"#;
    for (content_type, status) in
        [("application/xml", 400), ("text/plain", 415), ("application/json;charset=UTF-16", 415)]
    {
        let answer = bench.send(Method::POST, "peerreplication/batch", &[("content-type", content_type)], empty).await;
        assert_eq!((answer.status.as_u16(), answer.body.is_empty()), (status, status == 415), "{content_type}");
    }
    assert!(bench.registry.cancelled.lock().is_empty());
}

#[tokio::test]
async fn rest_138_139_an_empty_batch_is_answered_in_json_whatever_is_taken() {
    let bench = Bench::following(&[]).await;
    for path in ["peerreplication/batch", "peerreplication/batch/", "v2/peerreplication/batch"] {
        for accept in ["", "application/xml", "application/json"] {
            let headers = [JSON, ("accept", accept)];
            let answer = bench.send(Method::POST, path, &headers, r#"{"replicationList":[]}"#).await;
            assert_eq!((answer.status.as_u16(), answer.text()), (200, r#"{"responseList":[]}"#), "{path} {accept}");
            assert_eq!(answer.header("content-type"), Some("application/json"));
        }
    }
}

#[tokio::test]
async fn a_batch_that_the_registry_is_not_there_for_is_to_be_sent_again() {
    let bench = Bench::following(&[]).await;
    *bench.registry.cancel.lock() = Some(Err(Status::unavailable("away")));
    let answer = bench.post(r#"{"replicationList":[{"appName":"A","id":"i","action":"Cancel"}]}"#).await;
    assert_eq!((answer.status.as_u16(), answer.body.len()), (503, 0));
    assert_eq!(answer.header("retry-after"), Some("1"));
}

#[tokio::test]
async fn batches_have_a_limit_of_their_own() {
    let bench = Bench::following(&["--max-body", "100", "--max-batch-body", "1KiB"]).await;
    let body = |length: usize| format!(r#"{{"replicationList":[],"x":"{}"}}"#, "x".repeat(length));
    assert_eq!(bench.post(&body(500)).await.status.as_u16(), 200);
    assert_eq!(bench.post(&body(1100)).await.status.as_u16(), 413);
}
