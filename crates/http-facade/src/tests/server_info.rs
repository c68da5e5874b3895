//! What the server tells of itself, through the whole facade.

use super::{Answer, Bench};
use bytes::Bytes;
use http::{Method, Request};
use http_body_util::Full;
use registry_proto::{
    registry::{GetStatisticsResponse, ListOverridesResponse, Preservation, StatusOverride},
    types::{InstanceKey, InstanceStatus},
};
use std::time::Duration;
use tonic::Status;

fn overridden(app: &str, id: &str, status: InstanceStatus) -> StatusOverride {
    let key = InstanceKey { app: app.to_owned(), instance_id: id.to_owned() };
    StatusOverride { key: Some(key), status: status.into() }
}

#[tokio::test]
async fn rest_142_overrides_are_a_flat_object_with_and_without_version() {
    let bench = Bench::following(&[]).await;
    for path in ["serverinfo/statusoverrides", "v2/serverinfo/statusoverrides/"] {
        assert_eq!(bench.get(path).await.text(), "{}");
    }
    let overrides = vec![
        overridden("BILLING", "n2", InstanceStatus::Up),
        overridden("BILLING", "n1", InstanceStatus::OutOfService),
        overridden("ORDERS", "n2", InstanceStatus::Down),
    ];
    *bench.registry.overrides.lock() = Some(Ok(ListOverridesResponse { overrides }));
    let answer = bench.get("serverinfo/statusoverrides").await;
    assert_eq!(answer.text(), r#"{"n1":"OUT_OF_SERVICE","n2":"DOWN"}"#);
    assert_eq!((answer.status.as_u16(), answer.header("content-type")), (200, Some("application/json")));
}

#[tokio::test]
async fn rest_143_overrides_exist_in_json_only() {
    let bench = Bench::following(&[]).await;
    for (accept, status) in
        [("application/xml", 406), ("text/html", 406), ("*/*", 200), ("application/xml, application/json", 200)]
    {
        let answer = bench.send(Method::GET, "serverinfo/statusoverrides", &[("accept", accept)], "").await;
        assert_eq!((answer.status.as_u16(), answer.body.is_empty()), (status, status == 406), "{accept}");
    }
    let without = bench.send(Method::GET, "serverinfo/statusoverrides", &[], "").await;
    assert_eq!(without.header("content-type"), Some("application/json"));
    let head = bench.send(Method::HEAD, "serverinfo/statusoverrides", &[], "").await;
    assert_eq!((head.header("content-length"), head.body.len()), (Some("2"), 0));
}

#[tokio::test]
async fn rest_141_without_aws_there_are_no_groups() {
    let bench = Bench::following(&[]).await;
    for path in ["asg/x/status?value=DISABLED", "v2/asg/x/status"] {
        let answer = bench.send(Method::PUT, path, &[], "").await;
        assert_eq!((answer.status.as_u16(), answer.body.len()), (400, 0), "{path}");
    }
    assert_eq!(bench.send(Method::PUT, "asg/x", &[], "").await.status.as_u16(), 404);
}

#[tokio::test]
async fn rest_144_145_the_status_is_a_valid_document_in_both_languages() {
    let bench = Bench::following(&["--environment", "a<b"]).await;
    bench.clock.advance(Duration::from_secs(61 * 60));
    let json = bench.get("status").await;
    assert_eq!((json.status.as_u16(), json.header("content-type")), (200, Some("application/json")));
    for part in [
        r#"{"generalStats":{"server-uptime":"01:01","environment":"a<b","num-of-cpus":""#,
        r#""total-avail-memory":""#,
        r#""current-memory-usage":""#,
        r#"},"applicationStats":{"registered-replicas":"","available-replicas":"","unavailable-replicas":""},"healthy":true}"#,
    ] {
        assert!(json.text().contains(part), "{part} is not in {}", json.text());
    }
    let xml = bench.send(Method::GET, "v2/status", &[], "").await;
    assert_eq!(xml.header("content-type"), Some("application/xml"));
    assert!(xml.text().starts_with("<com.netflix.eureka.util.StatusInfo>"));
    assert!(xml.text().contains("<environment>a&lt;b</environment>"));
    assert!(xml.text().ends_with("</com.netflix.eureka.util.StatusInfo>"));
}

#[tokio::test]
async fn the_status_tells_why_leases_are_protected_since_when_and_until_when() {
    let bench = Bench::following(&[]).await;
    let mut preservation = Preservation {
        enabled: true,
        protecting: true,
        reason: "3 of 10 leases are missing".to_owned(),
        since_ms: 1000,
        until_ms: 3_601_000,
        missing: 3,
        given_up: 1,
    };
    let told = |preservation: &Preservation| GetStatisticsResponse {
        leases: 10,
        renewals_per_minute_threshold: 17,
        renewals_last_minute: 14,
        preservation: Some(preservation.clone()),
        ..GetStatisticsResponse::default()
    };
    *bench.registry.statistics.lock() = Some(Ok(told(&preservation)));
    let protecting = concat!(
        r#""leases":"10","renews-threshold":"17","renews-last-minute":"14","self-preservation":"protecting","#,
        r#""missing-leases":"3","given-up-leases":"1","self-preservation-reason":"3 of 10 leases are missing","#,
        r#""self-preservation-since-ms":"1000","self-preservation-until-ms":"3601000"}"#
    );
    assert!(bench.get("status").await.text().contains(protecting));
    (preservation.protecting, preservation.missing, preservation.given_up) = (false, 0, 0);
    *bench.registry.statistics.lock() = Some(Ok(told(&preservation)));
    let watching = r#""self-preservation":"watching","missing-leases":"0","given-up-leases":"0"},"applicationStats""#;
    assert!(bench.get("status").await.text().contains(watching));
    *bench.registry.statistics.lock() = Some(Err(Status::unavailable("away")));
    let away = bench.get("status").await;
    assert_eq!(away.status.as_u16(), 200);
    assert!(!away.text().contains("renews-threshold"));
}

#[tokio::test]
async fn probes_of_both_java_servers_are_answered() {
    let bench = Bench::new(&[]);
    let actuator = async || {
        let request = Request::get("/actuator/health").header("accept", "text/plain");
        let answer = Answer::of(bench.facade.handle(request.body(Full::<Bytes>::default()).unwrap()).await).await;
        (answer.status.as_u16(), answer.text().to_owned())
    };
    let healthcheck = async || {
        let answer = bench.send(Method::GET, "healthcheck", &[("accept", "text/html")], "").await;
        (answer.status.as_u16(), answer.body.len())
    };
    assert_eq!(healthcheck().await, (204, 0));
    assert_eq!(actuator().await, (503, r#"{"status":"OUT_OF_SERVICE"}"#.to_owned()));
    bench.cache.watermark(1, 1, true).await;
    testkit::eventually("the facade is ready", || bench.process.not_ready().is_empty()).await;
    assert_eq!(healthcheck().await, (200, 0));
    assert_eq!(actuator().await, (200, r#"{"status":"UP"}"#.to_owned()));
    bench.process.stop().await;
    assert_eq!(healthcheck().await, (503, 0));
}

#[tokio::test]
async fn the_status_of_a_degraded_node_names_the_part_and_the_node_stays_healthy() {
    let bench = Bench::following(&[]).await;
    assert!(!bench.get("status").await.text().contains("degraded"));
    let part = bench.process.degradable("eviction rounds", "test.v1.Eviction");
    part.set("panicked <twice>");
    let json = bench.get("status").await;
    assert!(json.text().contains(r#""degraded":"eviction rounds: panicked <twice>""#), "{}", json.text());
    let xml = bench.send(Method::GET, "status", &[("accept", "application/xml")], "").await;
    assert!(xml.text().contains("<degraded>eviction rounds: panicked &lt;twice&gt;</degraded>"), "{}", xml.text());
    assert_eq!(bench.get("healthcheck").await.status.as_u16(), 200);
    part.clear();
    assert!(!bench.get("status").await.text().contains("degraded"));
}
