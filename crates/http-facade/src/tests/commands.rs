//! Status commands, metadata, look-ups by id: through the whole facade.

use super::{Answer, Bench};
use http::Method;
use registry_proto::{
    registry::{
        AddMetadataResponse, ClearStatusResponse, GetInstanceResponse, RenewOutcome, RenewResponse, SetStatusResponse,
    },
    types::{InstanceStatus, Origin},
};
use testkit::instances::record;
use tonic::Status;

const REPLICATED: (&str, &str) = ("x-netflix-discovery-replication", "true");

fn bare(answer: &Answer) -> (u16, usize) {
    (answer.status.as_u16(), answer.body.len())
}

impl Bench {
    async fn put(&self, path: &str) -> (u16, usize) {
        bare(&self.send(Method::PUT, path, &[("content-type", "application/json")], "{}").await)
    }

    async fn delete(&self, path: &str) -> (u16, usize) {
        bare(&self.send(Method::DELETE, path, &[], "").await)
    }

    /// Every status command finds its instance, or none does.
    fn finds(&self, found: bool) {
        *self.registry.set_status.lock() = Some(Ok(SetStatusResponse { found, position: None }));
        *self.registry.clear_status.lock() = Some(Ok(ClearStatusResponse { found, position: None }));
        *self.registry.add_metadata.lock() = Some(Ok(AddMetadataResponse { found, position: None }));
    }
}

#[tokio::test]
async fn rest_61_62_65_an_override_reaches_the_registry_and_is_answered_empty() {
    let bench = Bench::following(&[]).await;
    bench.finds(true);
    let table = [
        ("value=OUT_OF_SERVICE", InstanceStatus::OutOfService, None),
        ("value=UP", InstanceStatus::Up, None),
        ("value=DOWN&lastDirtyTimestamp=2000", InstanceStatus::Down, Some(2000)),
        ("value=STARTING", InstanceStatus::Starting, None),
        ("value=UNKNOWN&value=UP", InstanceStatus::Unknown, None),
    ];
    for (query, status, stamp) in table {
        assert_eq!(bench.put(&format!("v2/apps/billing/a%2Fb/status/?{query}")).await, (200, 0), "{query}");
        let set = bench.registry.statuses.lock().pop().unwrap();
        assert_eq!((set.app.as_str(), set.instance_id.as_str()), ("billing", "a/b"));
        assert_eq!((set.status(), set.last_dirty_ms, set.origin()), (status, stamp, Origin::Client), "{query}");
    }
    bench.send(Method::PUT, "apps/A/i/status?value=UP", &[REPLICATED], "").await;
    assert_eq!(bench.registry.statuses.lock().pop().unwrap().origin(), Origin::Peer);
}

#[tokio::test]
async fn rest_63_71_srv_46_47_s7_k_32_what_is_no_status_or_stamp_is_refused_before_any_look_up() {
    let bench = Bench::following(&[]).await;
    bench.finds(false);
    for query in [
        "?value=out_of_service",
        "?value=BOGUS",
        "?value=%20UP",
        "?value=",
        "?value",
        "?VALUE=UP",
        "",
        "?value=%zz",
        "?value=UP&lastDirtyTimestamp=abc",
        "?value=UP&lastDirtyTimestamp=",
        "?value=UP&lastDirtyTimestamp=9223372036854775808",
    ] {
        assert_eq!(bench.put(&format!("apps/BILLING/nope/status{query}")).await, (400, 0), "{query}");
    }
    for query in ["?value=zz", "?value=up", "?value=", "?lastDirtyTimestamp=abc", "?value=UP&lastDirtyTimestamp=1.5"] {
        assert_eq!(bench.delete(&format!("apps/BILLING/nope/status{query}")).await, (400, 0), "{query}");
    }
    assert!(bench.registry.statuses.lock().is_empty() && bench.registry.cleared.lock().is_empty());
}

#[tokio::test]
async fn rest_64_75_b45_an_unknown_instance_is_404_without_a_body() {
    let bench = Bench::following(&[]).await;
    bench.finds(false);
    assert_eq!(bench.put("apps/BILLING/nope/status?value=UP").await, (404, 0));
    assert_eq!(bench.put("apps/BILLING/nope/leaseStatus?newState=UP").await, (404, 0));
    assert_eq!(bench.delete("apps/BILLING/nope/status").await, (404, 0));
    assert_eq!(bench.put("apps/BILLING/nope/metadata?a=b").await, (404, 0));
    assert_eq!(bench.put("apps/BILLING/nope/metadata").await, (404, 0));
}

#[tokio::test]
async fn rest_68_69_70_an_override_is_removed_with_or_without_a_status_afterwards() {
    let bench = Bench::following(&[]).await;
    bench.finds(true);
    let table = [
        ("?value=UP&lastDirtyTimestamp=-3", InstanceStatus::Up, Some(-3)),
        ("?value=UNKNOWN", InstanceStatus::Unknown, None),
        ("", InstanceStatus::Unspecified, None),
    ];
    for (query, status, stamp) in table {
        assert_eq!(bench.delete(&format!("apps/BILLING/n1/status{query}")).await, (200, 0), "{query}");
        let cleared = bench.registry.cleared.lock().pop().unwrap();
        assert_eq!((cleared.status(), cleared.last_dirty_ms, cleared.origin()), (status, stamp, Origin::Client));
        assert_eq!((cleared.app.as_str(), cleared.instance_id.as_str()), ("BILLING", "n1"));
    }
    bench.send(Method::DELETE, "apps/A/i/status", &[REPLICATED], "").await;
    assert_eq!(bench.registry.cleared.lock().pop().unwrap().origin(), Origin::Peer);
}

#[tokio::test]
async fn seed_spelling_of_the_status_resource_is_an_alias_with_a_header_of_its_own() {
    let bench = Bench::following(&[]).await;
    bench.finds(true);
    let marked = ("x-replication", "1");
    let path = "apps/BILLING/n1/leaseStatus?newState=OUT_OF_SERVICE&syncTime=2000";
    let table: [(&[(&str, &str)], Origin); 4] = [
        (&[], Origin::Client),
        (&[marked], Origin::Peer),
        (&[("x-replication", "true")], Origin::Client),
        (&[REPLICATED], Origin::Peer),
    ];
    for (headers, origin) in table {
        assert_eq!(bare(&bench.send(Method::PUT, path, headers, "").await), (200, 0));
        let set = bench.registry.statuses.lock().pop().unwrap();
        assert_eq!((set.status(), set.last_dirty_ms), (InstanceStatus::OutOfService, Some(2000)));
        assert_eq!(set.origin(), origin, "{headers:?}");
    }
    for query in ["", "?value=UP", "?newState=up", "?newState=UP&syncTime=x"] {
        assert_eq!(bench.put(&format!("apps/BILLING/n1/leaseStatus{query}")).await, (400, 0), "{query}");
    }
    // For this alias alone.
    bench.send(Method::PUT, "apps/BILLING/n1/status?value=UP", &[marked], "").await;
    assert_eq!(bench.registry.statuses.lock().pop().unwrap().origin(), Origin::Client);
}

#[tokio::test]
async fn rest_72_82_84_every_resource_says_which_methods_it_has() {
    let bench = Bench::following(&[]).await;
    let table = [
        ("apps/A/i/status", "PUT,DELETE,OPTIONS"),
        ("apps/A/i/leaseStatus", "PUT,OPTIONS"),
        ("apps/A/i/metadata", "PUT,OPTIONS"),
        ("asg/x/status", "PUT,OPTIONS"),
        ("instances/i", "HEAD,GET,OPTIONS"),
        ("status", "HEAD,GET,OPTIONS"),
        ("healthcheck", "HEAD,GET,OPTIONS"),
        ("serverinfo", "OPTIONS"),
        ("serverinfo/statusoverrides", "HEAD,GET,OPTIONS"),
        ("peerreplication/batch", "POST,OPTIONS"),
    ];
    for (path, methods) in table {
        for base in ["", "v2/", "v1/"] {
            let path = format!("{base}{path}");
            let options = bench.send(Method::OPTIONS, &path, &[], "").await;
            assert_eq!((bare(&options), options.header("allow")), ((204, 0), Some(methods)), "{path}");
            for method in [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::DELETE, Method::PATCH] {
                if methods.split(',').any(|known| known == method.as_str()) {
                    continue;
                }
                let refused = bench.send(method.clone(), &path, &[], "").await;
                assert_eq!((bare(&refused), refused.header("allow")), ((405, 0), Some(methods)), "{method} {path}");
            }
        }
    }
}

#[tokio::test]
async fn rest_73_74_s17_every_parameter_is_an_entry_in_its_order() {
    let bench = Bench::following(&[]).await;
    bench.finds(true);
    let table: [(&str, &[(&str, &str)]); 5] = [
        ("?a=b&c=d", &[("a", "b"), ("c", "d")]),
        ("?a=1&a=2&e&x%20y=%26+z", &[("a", "1"), ("a", "2"), ("e", ""), ("x y", "& z")]),
        ("?%C3%BC=a%2Fb&&=x&p=q=r", &[("ü", "a/b"), ("p", "q=r")]),
        ("?", &[]),
        ("", &[]),
    ];
    for (query, entries) in table {
        assert_eq!(bench.put(&format!("apps/billing/n1/metadata{query}")).await, (200, 0), "{query}");
        let added = bench.registry.added.lock().pop().unwrap();
        let said: Vec<_> = added.metadata.iter().map(|entry| (entry.key.as_str(), entry.value.as_str())).collect();
        assert_eq!(said, entries, "{query}");
        assert_eq!((added.app.as_str(), added.instance_id.as_str()), ("billing", "n1"));
    }
    assert_eq!(bench.put("apps/A/i/metadata?a=%zz").await, (400, 0));
    assert!(bench.registry.added.lock().is_empty());
}

#[tokio::test]
async fn rest_110_b25_an_instance_is_found_by_its_id_alone() {
    let bench = Bench::following(&[]).await;
    assert_eq!(bare(&bench.get("instances/nope").await), (404, 0));
    *bench.registry.instance.lock() = Some(Ok(GetInstanceResponse { record: Some(record("BILLING", "n1").into()) }));
    for path in ["instances/n1", "v2/instances/n1/", "instances/h%3Ax%3A80"] {
        let answer = bench.get(path).await;
        assert_eq!((answer.status.as_u16(), answer.header("content-type")), (200, Some("application/json")), "{path}");
        assert!(answer.text().starts_with(r#"{"instance":{"#));
    }
    let looked_up = bench.registry.looked_up.lock().pop().unwrap();
    assert_eq!((looked_up.app.as_str(), looked_up.instance_id.as_str()), ("", "h:x:80"));
    let xml = bench.send(Method::GET, "instances/n1", &[], "").await;
    assert!(xml.text().starts_with("<instance>"));
    let head = bench.send(Method::HEAD, "instances/n1", &[], "").await;
    assert_eq!((head.header("content-length"), head.body.len()), (Some(xml.body.len().to_string().as_str()), 0));
    assert_eq!(bench.get("instances").await.status.as_u16(), 404);
}

#[tokio::test]
async fn rest_46_52_a_renewal_says_what_it_believes_and_a_peers_what_it_holds() {
    let bench = Bench::following(&[]).await;
    let renewed = RenewResponse { outcome: RenewOutcome::Renewed.into(), ..RenewResponse::default() };
    *bench.registry.renew.lock() = Some(Ok(renewed));
    let (none, oos) = (InstanceStatus::Unspecified, InstanceStatus::OutOfService);
    let client = ("x-other", "");
    let table = [
        (client, "status=DOWN", (InstanceStatus::Down, none)),
        (client, "status=down", (none, none)),
        (client, "status=UP&overriddenstatus=OUT_OF_SERVICE", (InstanceStatus::Up, none)),
        (client, "overriddenstatus=bogus", (none, none)),
        (REPLICATED, "status=%zz&overriddenstatus=OUT_OF_SERVICE", (none, oos)),
    ];
    for (header, query, expected) in table {
        let answer = bench.send(Method::PUT, &format!("apps/A/i?{query}"), &[header], "").await;
        assert_eq!(bare(&answer), (200, 0), "{query}");
        let renewal = bench.registry.renewed.lock().pop().unwrap();
        assert_eq!((renewal.said_status(), renewal.overridden_status()), expected, "{query}");
    }
    let bad = bench.send(Method::PUT, "apps/A/i?overriddenstatus=bogus", &[REPLICATED], "").await;
    assert_eq!(bare(&bad), (400, 0));
    assert!(bench.registry.renewed.lock().is_empty());
}

#[tokio::test]
async fn while_the_registry_is_away_commands_say_when_to_try_again() {
    let bench = Bench::following(&[]).await;
    let away = || Status::unavailable("away");
    *bench.registry.set_status.lock() = Some(Err(away()));
    *bench.registry.clear_status.lock() = Some(Err(away()));
    *bench.registry.add_metadata.lock() = Some(Err(away()));
    *bench.registry.overrides.lock() = Some(Err(away()));
    *bench.registry.instance.lock() = Some(Err(away()));
    for (method, path) in [
        (Method::PUT, "apps/A/i/status?value=UP"),
        (Method::DELETE, "apps/A/i/status"),
        (Method::PUT, "apps/A/i/metadata?a=b"),
        (Method::GET, "serverinfo/statusoverrides"),
        (Method::GET, "instances/i"),
    ] {
        let answer = bench.send(method, path, &[], "").await;
        assert_eq!((bare(&answer), answer.header("retry-after")), ((503, 0), Some("1")), "{path}");
    }
}
