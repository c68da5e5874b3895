//! Registrations, renewals, cancellations and single reads through the whole facade.

use super::Bench;
use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use http::{Method, Request};
use http_body_util::Full;
use registry_model::InstanceStatus;
use registry_proto::{
    registry::{CancelResponse, GetInstanceResponse, RenewOutcome, RenewResponse},
    types::Origin,
};
use std::{io::Write, sync::Arc};
use testkit::instances::record;
use tonic::Status;

const JSON: (&str, &str) = ("content-type", "application/json");
const REPLICATED: (&str, &str) = ("x-netflix-discovery-replication", "true");

/// The specification's fixture, with some of its text replaced.
fn fixture(from: &str, to: &str) -> String {
    let fixture = concat!(
        r#"{"instance":{"instanceId":"n1","hostName":"n1.test","app":"BILLING","ipAddr":"192.0.2.10","status":"UP","#,
        r#""port":{"$":8080,"@enabled":"true"},"securePort":{"$":8443,"@enabled":"false"},"#,
        r#""dataCenterInfo":{"@class":"com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo","name":"MyOwn"},"#,
        r#""vipAddress":"billing","secureVipAddress":"billing-s","lastDirtyTimestamp":"1000"}}"#
    );
    assert!(fixture.contains(from));
    fixture.replace(from, to)
}

async fn post(bench: &Bench, headers: &[(&str, &str)], body: &str) -> (u16, String, Option<String>) {
    let answer = bench.send(Method::POST, "apps/BILLING", headers, body).await;
    (answer.status.as_u16(), answer.text().to_owned(), answer.header("content-type").map(str::to_owned))
}

#[tokio::test]
async fn rest_1_2_3_a_registration_reaches_the_registry() {
    let bench = Bench::following(&[]).await;
    for path in ["apps/BILLING", "apps/billing", "apps/BILLING/", "v2/apps/BILLING"] {
        let answer = bench.send(Method::POST, path, &[JSON], &fixture("BILLING", "BiLLing")).await;
        assert_eq!((answer.status.as_u16(), answer.body.len()), (204, 0), "{path}");
        let registered = bench.registry.registered.lock().pop().unwrap();
        let instance = registered.instance.unwrap().into_instance().unwrap();
        assert_eq!(instance.key.to_string(), "BILLING/n1");
        assert_eq!(registered.origin, i32::from(Origin::Client));
    }
}

#[tokio::test]
async fn rest_4_to_13_incomplete_registrations_are_refused_with_eurekas_texts() {
    let bench = Bench::following(&[]).await;
    let table = [
        (fixture("BILLING", "ORDERS"), "Mismatched appName, expecting BILLING but was ORDERS"),
        (fixture(r#""hostName":"n1.test","#, ""), "Missing hostname"),
        (fixture("n1.test", ""), "Missing hostname"),
        (fixture(r#""ipAddr":"192.0.2.10","#, ""), "Missing ip address"),
        (fixture("BILLING", ""), "Missing appName"),
        (fixture(r#""name":"MyOwn""#, r#""x":"y""#), "Missing dataCenterInfo Name"),
    ];
    for (body, text) in table {
        let xml = (400, text.to_owned(), Some("application/xml".to_owned()));
        assert_eq!(post(&bench, &[JSON], &body).await, xml);
        let json = (400, text.to_owned(), Some("application/json".to_owned()));
        assert_eq!(post(&bench, &[JSON, ("accept", "application/json")], &body).await, json);
    }
    assert!(bench.registry.registered.lock().is_empty());
}

#[tokio::test]
async fn rest_11_14_to_20_bodies_that_are_no_registration_are_refused() {
    const AS_JSON: &str = r#"{"error": "cannot parse request body"}"#;
    const AS_XML: &str = "<error><message>cannot parse request body</message></error>";
    let bench = Bench::following(&[]).await;
    let unparsable = [
        fixture(r#""app":"BILLING","#, ""),
        fixture("MyOwn", "Bogus"),
        fixture(r#"{"instance""#, r#"{"Instance""#),
        "not json".to_owned(),
        "{}".to_owned(),
        String::new(),
    ];
    for body in unparsable {
        for (content_type, text) in [("application/json", AS_JSON), ("application/json;charset=UTF-8", AS_XML)] {
            let expected = (400, text.to_owned(), Some(content_type.to_owned()));
            assert_eq!(post(&bench, &[("content-type", content_type)], &body).await, expected, "{body}");
        }
    }
    let body = fixture("n1", "n1");
    for content_type in ["text/plain", "application/json;charset=UTF-16", "application/xml;charset=UTF-16"] {
        assert_eq!(post(&bench, &[("content-type", content_type)], &body).await, (415, String::new(), None));
    }
    assert_eq!(post(&bench, &[], &body).await, (415, String::new(), None));
    assert_eq!(post(&bench, &[JSON, ("content-encoding", "br")], &body).await, (415, String::new(), None));
    assert!(bench.registry.registered.lock().is_empty());
}

#[tokio::test]
async fn rest_111_115_a_registration_may_be_xml() {
    let bench = Bench::following(&[]).await;
    let xml = ("content-type", "application/xml");
    let body = "<instance><hostName>n1.test</hostName><app>billing</app><ipAddr>192.0.2.10</ipAddr><port>8080</port>\
                <securePort>8443</securePort><dataCenterInfo class=\"foo.Bar\"><name>MyOwn</name></dataCenterInfo></instance>";
    assert_eq!(post(&bench, &[xml], body).await, (204, String::new(), None));
    let instance = bench.registry.registered.lock().pop().unwrap().instance.unwrap().into_instance().unwrap();
    assert_eq!(instance.key.to_string(), "BILLING/n1.test");
    assert!(instance.port.enabled && !instance.secure_port.enabled);
    assert_eq!((instance.port.number, instance.secure_port.number), (8080, 8443));
    let error = "<error><message>cannot parse request body</message></error>";
    for body in [&format!("<!DOCTYPE instance>{body}"), &fixture("n1", "n1"), "", "<application/>"] {
        let expected = (400, error.to_owned(), Some("application/xml".to_owned()));
        assert_eq!(post(&bench, &[xml], body).await, expected, "{body}");
    }
    assert_eq!(post(&bench, &[JSON], body).await.0, 400);
    assert!(bench.registry.registered.lock().is_empty());
}

#[tokio::test]
async fn rest_27_a_compressed_registration_is_read() {
    let bench = Bench::following(&["--max-body", "1KiB"]).await;
    let gzip = |plain: &str| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(plain.as_bytes()).unwrap();
        encoder.finish().unwrap()
    };
    let send = async |body: Vec<u8>| {
        let request = Request::post("/eureka/apps/BILLING")
            .header("content-type", "application/json")
            .header("content-encoding", "gzip");
        bench.facade.handle(request.body(Full::new(Bytes::from(body))).unwrap()).await.status().as_u16()
    };
    assert_eq!(send(gzip(&fixture("n1", "n1"))).await, 204);
    assert_eq!(send(gzip(&fixture("n1.test", &"x".repeat(9_000)))).await, 204);
    assert_eq!(send(gzip(&"x".repeat(11_000))).await, 413);
    assert_eq!(send(b"not gzip".to_vec()).await, 400);
    assert_eq!(bench.registry.registered.lock().len(), 2);
}

#[tokio::test]
async fn a_body_over_the_limit_is_413_and_changes_nothing() {
    let bench = Bench::following(&["--max-body", "1000"]).await;
    let body = fixture("n1.test", &"x".repeat(1000));
    assert_eq!(post(&bench, &[JSON], &body).await, (413, String::new(), None));
    assert!(bench.registry.registered.lock().is_empty());
}

#[tokio::test]
async fn rest_24_50_only_the_exact_header_makes_a_request_a_peers() {
    let bench = Bench::following(&[]).await;
    for (value, origin) in [("true", Origin::Peer), ("TRUE", Origin::Client), ("false", Origin::Client)] {
        let header = (REPLICATED.0, value);
        assert_eq!(post(&bench, &[JSON, header], &fixture("n1", "n1")).await.0, 204);
        bench.send(Method::DELETE, "apps/A/i", &[header], "").await;
        bench.send(Method::PUT, "apps/A/i", &[header], "").await;
        assert_eq!(bench.registry.registered.lock().pop().unwrap().origin, i32::from(origin));
        assert_eq!(bench.registry.cancelled.lock().pop().unwrap().origin, i32::from(origin));
        assert_eq!(bench.registry.renewed.lock().pop().unwrap().origin, i32::from(origin));
    }
}

#[tokio::test]
async fn rest_43_to_54_a_renewal_is_answered_by_its_outcome() {
    let bench = Bench::following(&[]).await;
    let table = [
        (RenewOutcome::Renewed, 200),
        (RenewOutcome::NotFound, 404),
        (RenewOutcome::StoredIsOlder, 404),
        (RenewOutcome::StoredIsNewer, 409),
        (RenewOutcome::Unspecified, 500),
    ];
    for (outcome, status) in table {
        let stored = (outcome == RenewOutcome::StoredIsNewer).then(|| record("BILLING", "n1").into());
        *bench.registry.renew.lock() = Some(Ok(RenewResponse { outcome: outcome.into(), stored }));
        let path = "apps/billing/n1?status=DOWN&lastDirtyTimestamp=999";
        let answer = bench.send(Method::PUT, path, &[("accept", "application/json"), JSON], "{}").await;
        assert_eq!(answer.status.as_u16(), status, "{outcome:?}");
        assert_eq!(answer.text().starts_with(r#"{"instance":{"#), status == 409, "{outcome:?}");
        let renewed = bench.registry.renewed.lock().pop().unwrap();
        assert_eq!((renewed.app.as_str(), renewed.instance_id.as_str()), ("billing", "n1"));
        assert_eq!(renewed.last_dirty_ms, Some(999));
    }
}

#[tokio::test]
async fn rest_53_srv_37_a_bad_stamp_is_refused_and_nothing_renewed() {
    let bench = Bench::following(&[]).await;
    *bench.registry.renew.lock() =
        Some(Ok(RenewResponse { outcome: RenewOutcome::Renewed.into(), ..RenewResponse::default() }));
    for stamp in ["abc", "", "1.5", "9223372036854775808", "%zz"] {
        let answer = bench.send(Method::PUT, &format!("apps/A/i?lastDirtyTimestamp={stamp}"), &[], "").await;
        assert_eq!((answer.status.as_u16(), answer.body.len()), (400, 0), "{stamp}");
    }
    assert!(bench.registry.renewed.lock().is_empty());
    for (query, stamp) in [("", None), ("?lastDirtyTimestamp=-5&lastDirtyTimestamp=x", Some(-5))] {
        assert_eq!(bench.send(Method::PUT, &format!("apps/A/i{query}"), &[], "").await.status.as_u16(), 200);
        assert_eq!(bench.registry.renewed.lock().pop().unwrap().last_dirty_ms, stamp);
    }
}

#[tokio::test]
async fn rest_57_58_a_cancellation_says_whether_there_was_something() {
    let bench = Bench::following(&[]).await;
    for (found, status) in [(true, 200), (false, 404)] {
        *bench.registry.cancel.lock() = Some(Ok(CancelResponse { found, position: None }));
        let answer = bench.send(Method::DELETE, "apps/BILLING/a%2Fb", &[], "").await;
        assert_eq!((answer.status.as_u16(), answer.body.len()), (status, 0));
        assert_eq!(bench.registry.cancelled.lock().pop().unwrap().instance_id, "a/b");
    }
}

#[tokio::test]
async fn rest_90_a_single_instance_is_read_live_in_the_form_asked_for() {
    let bench = Bench::following(&[]).await;
    assert_eq!(bench.get("apps/BILLING/n1").await.status.as_u16(), 404);
    *bench.registry.instance.lock() = Some(Ok(GetInstanceResponse { record: Some(record("BILLING", "n1").into()) }));
    let json = bench.send(Method::GET, "apps/BILLING/n1", &[("accept", "application/json, application/xml")], "").await;
    assert_eq!((json.status.as_u16(), json.header("content-type")), (200, Some("application/json")));
    assert!(json.text().starts_with(r#"{"instance":{"#));
    let xml = bench.send(Method::GET, "apps/BILLING/n1", &[], "").await;
    assert_eq!(xml.header("content-type"), Some("application/xml"));
    let head = bench.send(Method::HEAD, "apps/BILLING/n1", &[], "").await;
    assert_eq!((head.header("content-length"), head.body.len()), (Some(xml.body.len().to_string().as_str()), 0));
}

#[tokio::test]
async fn rest_121_125_a_single_instance_is_written_in_full_with_its_real_status() {
    let bench = Bench::following(&[]).await;
    let mut out_of_service = record("BILLING", "n1");
    Arc::make_mut(&mut out_of_service.instance).status = InstanceStatus::OutOfService;
    *bench.registry.instance.lock() = Some(Ok(GetInstanceResponse { record: Some(out_of_service.into()) }));
    let compact = ("x-eureka-accept", "compact");
    let xml = |answer: super::Answer| {
        (answer.text().contains("<leaseInfo>"), answer.text().contains("<status>DOWN</status>"))
    };
    for headers in [&[compact][..], &[]] {
        for (path, reads_down) in
            [("apps/BILLING/n1", false), ("v2/apps/BILLING/n1", false), ("v1/apps/BILLING/n1", true)]
        {
            assert_eq!(xml(bench.send(Method::GET, path, headers, "").await), (true, reads_down), "{path}");
        }
    }
    let json = bench.send(Method::GET, "v1/apps/BILLING/n1", &[compact, ("accept", "application/json")], "").await;
    assert!(
        json.text().contains(r#""status":"OUT_OF_SERVICE""#) && json.text().contains("leaseInfo"),
        "{}",
        json.text()
    );
}

#[tokio::test]
async fn while_the_registry_is_away_writes_say_when_to_try_again() {
    let bench = Bench::following(&[]).await;
    let away = || Status::unavailable("away");
    *bench.registry.register.lock() = Some(Err(away()));
    *bench.registry.renew.lock() = Some(Err(away()));
    *bench.registry.cancel.lock() = Some(Err(away()));
    *bench.registry.instance.lock() = Some(Err(away()));
    for (method, path) in [
        (Method::POST, "apps/BILLING"),
        (Method::PUT, "apps/BILLING/n1"),
        (Method::DELETE, "apps/BILLING/n1"),
        (Method::GET, "apps/BILLING/n1"),
    ] {
        let answer = bench.send(method, path, &[JSON], &fixture("n1", "n1")).await;
        assert_eq!((answer.status.as_u16(), answer.body.len()), (503, 0));
        assert_eq!(answer.header("retry-after"), Some("1"));
    }
}

#[tokio::test]
async fn operators_are_answered_without_negotiation() {
    let bench = Bench::following(&[]).await;
    for (path, text) in [("/livez", "alive\n"), ("/readyz", "ready\n"), ("/metrics", "# HELP")] {
        let request = Request::get(path).header("accept", "text/plain").body(Full::<Bytes>::default()).unwrap();
        let answer = super::Answer::of(bench.facade.handle(request).await).await;
        assert_eq!(answer.status.as_u16(), 200);
        assert!(answer.text().starts_with(text), "{path}: {}", answer.text());
    }
}
