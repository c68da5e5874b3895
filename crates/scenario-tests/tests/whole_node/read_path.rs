//! Cached reads through the REST API, in every wiring: forms, codings, the delta, push and periodic sync.

use scenario_tests::{
    Options, Request, Sandbox, in_every_wiring,
    story::{cancel, fixture, listed, register, register_all, with},
};
use serde_json::json;
use std::time::Duration;
use testkit::eventually_async;

in_every_wiring! {
    rest_80_slashes_at_the_end_change_nothing,
    rest_81_both_prefixes_serve_the_same,
    rest_85_head_has_the_headers_of_get_and_no_body,
    rest_86_87_the_form_is_negotiated,
    rest_88_a_type_that_nobody_writes_is_refused,
    rest_91_b16_srv_94_158_what_is_compressed_is_the_same_document,
    rest_92_a_missing_application_is_an_empty_404,
    rest_93_an_empty_registry_has_empty_arrays,
    rest_94_one_instance_still_makes_arrays,
    rest_95_the_hash_counts_statuses,
    rest_96_97_the_delta_has_one_entry_for_each_instance,
    rest_98_a_delta_without_changes_keeps_its_version,
    json_and_xml_say_the_same,
    the_delta_forgets_after_three_minutes,
    b53_every_change_is_seen_once_and_in_order,
    hundreds_of_instances_in_several_pages_are_one_document;
    with NO_PUSH:
        without_push_reads_are_renewed_at_multiples_of_thirty_seconds,
}

const NO_PUSH: Options = Options { registry: &[], cache: &[], facade: &["--cache-push", "false"] };

async fn rest_80_slashes_at_the_end_change_nothing(node: &Sandbox) {
    let client = node.client();
    register(&client, &fixture()).await;
    for target in ["/eureka/apps", "/eureka/apps/delta", "/eureka/apps/BILLING"] {
        let plain = client.send(Request::get(target).json()).await;
        let slash = client.send(Request::get(&format!("{target}/")).json()).await;
        assert_eq!((plain.status, &plain), (200, &slash), "{target}");
    }
}

async fn rest_81_both_prefixes_serve_the_same(node: &Sandbox) {
    let client = node.client();
    register(&client, &fixture()).await;
    for path in ["apps", "apps/delta", "apps/BILLING", "apps/BILLING/n1"] {
        let one = client.send(Request::get(&format!("/eureka/{path}")).json()).await;
        let two = client.send(Request::get(&format!("/eureka/v2/{path}")).json()).await;
        assert_eq!((one.status, &one), (200, &two), "{path}");
    }
}

async fn rest_85_head_has_the_headers_of_get_and_no_body(node: &Sandbox) {
    let client = node.client();
    register(&client, &fixture()).await;
    let table = [
        ("/eureka/apps", 200),
        ("/eureka/apps/delta", 200),
        ("/eureka/apps/BILLING", 200),
        ("/eureka/apps/BILLING/n1", 200),
        ("/eureka/apps/BILLING/nope", 404),
        ("/eureka/apps/NOPE", 404),
    ];
    for (target, status) in table {
        for gzip in [false, true] {
            let request = |method| {
                let request = Request::new(method, target).json();
                if gzip { request.gzip() } else { request }
            };
            let get = client.send(request("GET")).await;
            let head = client.send(request("HEAD")).await;
            assert_eq!((head.status, head.body.len()), (status, 0), "{target}");
            let headers = |response: &scenario_tests::Response| {
                ["content-type", "content-length", "content-encoding", "vary"]
                    .map(|name| response.header(name).map(str::to_owned))
            };
            assert_eq!(headers(&head), headers(&get), "{target}, gzip {gzip}");
        }
    }
}

async fn rest_86_87_the_form_is_negotiated(node: &Sandbox) {
    let client = node.client();
    register(&client, &fixture()).await;
    let table = [
        (None, "application/xml"),
        (Some("*/*"), "application/xml"),
        (Some("application/json"), "application/json"),
        (Some("application/json, application/*+json"), "application/json"),
    ];
    for (accept, expected) in table {
        for target in ["/eureka/apps", "/eureka/apps/delta", "/eureka/apps/BILLING", "/eureka/apps/BILLING/n1"] {
            let request = Request::get(target);
            let request = match accept {
                Some(accept) => request.header("accept", accept),
                None => request,
            };
            let response = client.send(request).await;
            assert_eq!(
                (response.status, response.header("content-type")),
                (200, Some(expected)),
                "{target} {accept:?}"
            );
        }
    }
}

async fn rest_88_a_type_that_nobody_writes_is_refused(node: &Sandbox) {
    assert_eq!(node.client().status(Request::get("/eureka/apps").header("accept", "text/html")).await, 406);
}

async fn rest_91_b16_srv_94_158_what_is_compressed_is_the_same_document(node: &Sandbox) {
    let client = node.client();
    register_all(&client, "BILLING", &["n1", "n2"]).await;
    let table = [
        (None, false),
        (Some("identity"), false),
        (Some("gzip;q=0"), false),
        (Some("gzip"), true),
        (Some("gzip, deflate"), true),
    ];
    for target in ["/eureka/apps", "/eureka/apps/delta", "/eureka/apps/BILLING"] {
        for (form, request) in
            [("application/json", Request::get(target).json()), ("application/xml", Request::get(target).xml())]
        {
            let expected = client.send(request.clone()).await.body;
            for (accepted, compressed) in table {
                let request = match accepted {
                    Some(coding) => request.clone().header("accept-encoding", coding),
                    None => request.clone(),
                };
                let response = client.send(request).await;
                assert_eq!(response.header("content-encoding"), compressed.then_some("gzip"), "{target} {accepted:?}");
                assert_eq!(response.header("content-type"), Some(form));
                assert!(response.header("vary").is_some_and(|vary| vary.eq_ignore_ascii_case("accept-encoding")));
                assert_eq!(response.plain(), expected, "{target} {accepted:?}");
            }
        }
    }
}

async fn rest_92_a_missing_application_is_an_empty_404(node: &Sandbox) {
    let response = node.client().send(Request::get("/eureka/apps/NOPE").gzip()).await;
    assert_eq!((response.status, response.body.len(), response.header("content-encoding")), (404, 0, None));
}

async fn rest_93_an_empty_registry_has_empty_arrays(node: &Sandbox) {
    let response = node.client().send(Request::get("/eureka/apps").json()).await;
    let expected = r#"{"applications":{"versions__delta":"1","apps__hashcode":"","application":[]}}"#;
    assert_eq!(response.text(), expected);
}

async fn rest_94_one_instance_still_makes_arrays(node: &Sandbox) {
    let client = node.client();
    register(&client, &fixture()).await;
    let document = client.send(Request::get("/eureka/apps").json()).await.json();
    let applications = &document["applications"];
    assert_eq!(applications["application"].as_array().unwrap().len(), 1);
    assert_eq!(applications["application"][0]["instance"].as_array().unwrap().len(), 1);
    assert_eq!(applications["apps__hashcode"], "UP_1_");
}

async fn rest_95_the_hash_counts_statuses(node: &Sandbox) {
    let client = node.client();
    for (place, status) in ["UP", "DOWN", "STARTING", "OUT_OF_SERVICE", "UNKNOWN", "UP"].into_iter().enumerate() {
        register(&client, &with(json!({"instanceId": format!("n{place}"), "status": status}))).await;
    }
    for target in ["/eureka/apps", "/eureka/apps/delta"] {
        let hash = client.applications(target).await.hash.unwrap();
        assert_eq!(hash, "DOWN_1_OUT_OF_SERVICE_1_STARTING_1_UNKNOWN_1_UP_2_", "{target}");
    }
}

async fn rest_96_97_the_delta_has_one_entry_for_each_instance(node: &Sandbox) {
    let client = node.client();
    let delta = async || {
        let delta = client.applications("/eureka/apps/delta").await;
        let version: u64 = delta.version.as_ref().unwrap().parse().unwrap();
        (delta.actions(), delta.hash.unwrap(), version)
    };
    register(&client, &fixture()).await;
    let (actions, hash, first) = delta().await;
    assert_eq!((actions, hash.as_str()), (vec!["n1 ADDED".to_owned()], "UP_1_"));

    cancel(&client, "BILLING", "n1").await;
    let (actions, hash, second) = delta().await;
    assert_eq!((actions, hash.as_str()), (vec!["n1 DELETED".to_owned()], ""));

    register(&client, &fixture()).await;
    let (actions, hash, third) = delta().await;
    assert_eq!((actions, hash.as_str()), (vec!["n1 ADDED".to_owned()], "UP_1_"));
    assert!(first < second && second < third, "{first} {second} {third}");
}

async fn rest_98_a_delta_without_changes_keeps_its_version(node: &Sandbox) {
    let client = node.client();
    register(&client, &fixture()).await;
    let one = client.send(Request::get("/eureka/apps/delta").json()).await;
    let two = client.send(Request::get("/eureka/apps/delta").json().gzip()).await;
    assert_eq!(one.json(), two.json());
}

async fn json_and_xml_say_the_same(node: &Sandbox) {
    let client = node.client();
    register(&client, &fixture()).await;
    let metadata = json!({"zone": "a<b&c", "note": "J\u{fc}rgen \"x\" 'y'"});
    register(&client, &with(json!({"app": "ORDERS", "instanceId": "o1", "status": "DOWN", "metadata": metadata})))
        .await;
    register(&client, &with(json!({"app": "ORDERS", "instanceId": "o2", "homePageUrl": "http://o2.test/?a=1&b=2"})))
        .await;
    cancel(&client, "ORDERS", "o2").await;
    for target in ["/eureka/apps", "/eureka/apps/delta", "/eureka/apps/ORDERS"] {
        let mut json = client.send(Request::get(target).json()).await.applications();
        let mut xml = client.send(Request::get(target).xml().gzip()).await.applications();
        // Each delta document has a number of its own.
        (json.version, xml.version) = (None, None);
        assert_eq!(json, xml, "{target}");
    }
}

async fn without_push_reads_are_renewed_at_multiples_of_thirty_seconds(node: &Sandbox) {
    let client = node.client();
    // The clock starts 10 s after a multiple of 30 s, less what starting took.
    assert!(listed(&client).await.is_empty());
    let to_multiple = Duration::from_millis(30_000 - u64::try_from(node.now().0 % 30_000).unwrap());
    register(&client, &fixture()).await;
    assert_eq!(client.instance("/eureka/apps/BILLING/n1").await["status"], "UP");

    node.pass(to_multiple - Duration::from_millis(1)).await;
    assert!(listed(&client).await.is_empty(), "before the multiple");

    node.pass(Duration::from_millis(1)).await;
    eventually_async("the listing is renewed", async || listed(&client).await == ["BILLING/n1"]).await;

    cancel(&client, "BILLING", "n1").await;
    node.pass(Duration::from_millis(29_999)).await;
    assert_eq!(listed(&client).await, ["BILLING/n1"]);
    node.pass(Duration::from_millis(1)).await;
    eventually_async("the listing is empty", async || listed(&client).await.is_empty()).await;
}

async fn the_delta_forgets_after_three_minutes(node: &Sandbox) {
    let client = node.client();
    register(&client, &fixture()).await;
    // Its time counts from when the cache has it.
    assert_eq!(client.applications("/eureka/apps/delta").await.actions(), ["n1 ADDED"]);
    node.clock.advance(Duration::from_secs(100));
    register(&client, &with(json!({"instanceId": "n2"}))).await;
    node.clock.advance(Duration::from_secs(80));
    // 180 s are within the retention.
    register(&client, &with(json!({"instanceId": "n3"}))).await;
    assert_eq!(client.applications("/eureka/apps/delta").await.actions(), ["n1 ADDED", "n2 ADDED", "n3 ADDED"]);

    node.clock.advance(Duration::from_millis(1));
    register(&client, &with(json!({"instanceId": "n4"}))).await;
    let delta = client.applications("/eureka/apps/delta").await;
    assert_eq!(delta.actions(), ["n2 ADDED", "n3 ADDED", "n4 ADDED"]);
    assert_eq!(delta.hash.unwrap(), "UP_4_");
    assert_eq!(listed(&client).await.len(), 4);
}

/// What a watcher of the delta sees: one step per change, the renewals between them none.
async fn b53_every_change_is_seen_once_and_in_order(node: &Sandbox) {
    let client = node.client();
    let mut versions = Vec::new();
    let mut look = async || {
        let delta = client.applications("/eureka/apps/delta").await;
        versions.push(delta.version.clone().unwrap());
        delta.actions()
    };
    register(&client, &fixture()).await;
    assert_eq!(look().await, ["n1 ADDED"]);
    for _ in 0..3 {
        assert_eq!(client.status(Request::new("PUT", "/eureka/apps/BILLING/n1")).await, 200);
        assert_eq!(look().await, ["n1 ADDED"]);
    }
    cancel(&client, "BILLING", "n1").await;
    assert_eq!(look().await, ["n1 DELETED"]);
    assert_eq!(look().await, ["n1 DELETED"]);
    versions.dedup();
    assert_eq!(versions.len(), 2, "{versions:?}");
}

async fn hundreds_of_instances_in_several_pages_are_one_document(node: &Sandbox) {
    let client = node.client();
    let ids: Vec<String> = (0..100).map(|place| format!("n{place:03}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    for app in ["BILLING", "ORDERS", "STOCK"] {
        register_all(&client, app, &ids).await;
    }
    let expected: Vec<String> =
        ["BILLING", "ORDERS", "STOCK"].iter().flat_map(|app| ids.iter().map(move |id| format!("{app}/{id}"))).collect();
    let full = client.send(Request::get("/eureka/apps").json()).await.applications();
    assert_eq!(full.keys(), expected);
    assert_eq!(full.hash.as_deref(), Some("UP_300_"));
    for request in [Request::get("/eureka/apps").xml(), Request::get("/eureka/apps").xml().gzip()] {
        assert_eq!(client.send(request).await.applications(), full);
    }
    cancel(&client, "ORDERS", "n050").await;
    let orders = client.send(Request::get("/eureka/apps/ORDERS").json().gzip()).await.applications();
    assert_eq!(orders.keys().len(), 99);
    assert_eq!(listed(&client).await.len(), 299);
}
