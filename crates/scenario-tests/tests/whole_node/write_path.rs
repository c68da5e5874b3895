//! Register and cancel through the REST API, in every wiring; bad input changes nothing.

use scenario_tests::{
    Request, Sandbox, in_every_wiring,
    story::{cancel, fixture, gzip, listed, post, register, registration, with},
};
use serde_json::{Value, json};

in_every_wiring! {
    rest_1_a_registration_is_answered_204_and_readable_at_once,
    rest_21_an_older_description_does_not_replace_the_stored_one,
    rest_27_a_gzip_registration_is_taken,
    rest_57_to_59_a_cancel_removes_the_instance_once,
    b22_an_empty_id_counts_as_none,
    b43_names_of_applications_know_no_case,
    every_read_shows_the_writes_that_were_acknowledged_before,
    bad_input_is_refused_and_changes_nothing,
}

async fn rest_1_a_registration_is_answered_204_and_readable_at_once(node: &Sandbox) {
    let client = node.client();

    let response = client.send(registration(&fixture())).await;

    assert_eq!((response.status, response.body.len()), (204, 0));
    assert_eq!(client.instance("/eureka/apps/BILLING/n1").await["hostName"], "n1.test");
    assert_eq!(listed(&client).await, ["BILLING/n1"]);
}

/// Cases 21 and 22.
async fn rest_21_an_older_description_does_not_replace_the_stored_one(node: &Sandbox) {
    let client = node.client();
    let shown = async || {
        let instance = client.instance("/eureka/apps/BILLING/n1").await;
        let applications = client.applications("/eureka/apps/BILLING").await;
        let cached = applications.instances().next().unwrap().clone();
        let shown = (instance["vipAddress"].clone(), instance["lastDirtyTimestamp"].clone());
        assert_eq!(
            (cached.field("vipAddress"), cached.field("lastDirtyTimestamp")),
            (shown.0.as_str().unwrap(), "1000")
        );
        shown
    };
    register(&client, &fixture()).await;

    register(&client, &with(json!({"lastDirtyTimestamp": "500", "vipAddress": "old"}))).await;
    assert_eq!(shown().await, (json!("billing"), json!("1000")));

    register(&client, &with(json!({"vipAddress": "same"}))).await;
    assert_eq!(shown().await, (json!("same"), json!("1000")));
}

async fn rest_27_a_gzip_registration_is_taken(node: &Sandbox) {
    let client = node.client();
    let body = gzip(json!({"instance": fixture()}).to_string().as_bytes());

    let request = post("/eureka/apps/BILLING", body).header("content-encoding", "gzip");

    assert_eq!(client.status(request).await, 204);
    assert_eq!(listed(&client).await, ["BILLING/n1"]);
}

async fn rest_57_to_59_a_cancel_removes_the_instance_once(node: &Sandbox) {
    let client = node.client();
    let delete = || Request::new("DELETE", "/eureka/apps/BILLING/n1");
    register(&client, &fixture()).await;
    assert_eq!(listed(&client).await, ["BILLING/n1"]);

    assert_eq!(client.status(delete()).await, 200);

    assert_eq!(client.status(delete()).await, 404);
    for target in ["/eureka/apps/BILLING/n1", "/eureka/apps/BILLING"] {
        assert_eq!(client.status(Request::get(target).json()).await, 404, "{target}");
    }
    assert!(listed(&client).await.is_empty());
}

async fn b22_an_empty_id_counts_as_none(node: &Sandbox) {
    let client = node.client();

    for host in ["h1.test", "h2.test", "h3.test"] {
        register(&client, &with(json!({"instanceId": "", "hostName": host}))).await;
    }

    assert_eq!(listed(&client).await, ["BILLING/h1.test", "BILLING/h2.test", "BILLING/h3.test"]);
    let xml = client.send(Request::get("/eureka/apps").xml()).await.applications();
    assert_eq!(xml.keys(), ["BILLING/h1.test", "BILLING/h2.test", "BILLING/h3.test"]);
}

async fn b43_names_of_applications_know_no_case(node: &Sandbox) {
    let client = node.client();
    let body = json!({"instance": with(json!({"app": "biLLing"}))}).to_string();

    assert_eq!(client.status(post("/eureka/apps/billing", body)).await, 204);

    for name in ["billing", "Billing", "BILLING"] {
        let applications = client.applications(&format!("/eureka/apps/{name}")).await;
        assert_eq!(applications.keys(), ["BILLING/n1"], "{name}");
        assert_eq!(client.instance(&format!("/eureka/apps/{name}/n1")).await["app"], "BILLING");
        assert_eq!(client.status(Request::new("PUT", &format!("/eureka/apps/{name}/n1"))).await, 200);
    }
    cancel(&client, "billing", "n1").await;
}

async fn every_read_shows_the_writes_that_were_acknowledged_before(node: &Sandbox) {
    let client = node.client();
    for round in 0..10 {
        let id = format!("n{round}");
        register(&client, &with(json!({"instanceId": id}))).await;
        let key = format!("BILLING/{id}");
        for target in ["/eureka/apps", "/eureka/apps/delta", "/eureka/apps/BILLING"] {
            for request in [Request::get(target).json(), Request::get(target).xml().gzip()] {
                let applications = client.send(request).await.applications();
                assert!(applications.keys().contains(&key), "{key} in {target}");
            }
        }
        cancel(&client, "BILLING", &id).await;
        assert_eq!(client.status(Request::get("/eureka/apps/BILLING").json()).await, 404);
        assert!(listed(&client).await.is_empty());
        let delta = client.applications("/eureka/apps/delta").await;
        assert!(delta.actions().contains(&format!("{id} DELETED")));
    }
}

async fn bad_input_is_refused_and_changes_nothing(node: &Sandbox) {
    let client = node.client();
    register(&client, &fixture()).await;
    let before = client.send(Request::get("/eureka/apps").json()).await;
    let delta_before = client.send(Request::get("/eureka/apps/delta").json()).await;

    let billing = "/eureka/apps/BILLING";
    let body = |changes: Value| json!({"instance": with(changes)}).to_string();
    let huge = "x".repeat(2 << 20);
    let table = [
        ("text", post(billing, "not json"), 400),
        ("nothing", post(billing, ""), 400),
        ("no instance", post(billing, "{}"), 400),
        ("half", post(billing, &body(json!({}))[..100]), 400),
        ("no UTF-8", post(billing, vec![0xff, 0xfe, 0x7b]), 400),
        ("deep", post(billing, "[".repeat(100_000)), 400),
        ("no gzip", post(billing, body(json!({}))).header("content-encoding", "gzip"), 400),
        ("unknown coding", post(billing, body(json!({}))).header("content-encoding", "br"), 415),
        ("oversized", post(billing, body(json!({"homePageUrl": huge}))), 413),
        ("no host name", post(billing, body(json!({"hostName": null}))), 400),
        ("empty host name", post(billing, body(json!({"hostName": ""}))), 400),
        ("no address", post(billing, body(json!({"ipAddr": null}))), 400),
        ("no data centre", post(billing, body(json!({"dataCenterInfo": null}))), 400),
        ("another application", post(billing, body(json!({"app": "ORDERS"}))), 400),
        ("no type", Request::new("POST", billing).body(body(json!({}))), 415),
        ("text type", Request::new("POST", billing).header("content-type", "text/plain").body(body(json!({}))), 415),
        ("broken escape", post("/eureka/apps/%zz", body(json!({}))), 400),
        ("half an escape", post("/eureka/apps/BILLING%2", body(json!({}))), 400),
        ("escaped no UTF-8", post("/eureka/apps/%ff", body(json!({}))), 400),
        ("broken escape in a cancel", Request::new("DELETE", "/eureka/apps/BILLING/n1%"), 400),
        ("bad stamp", Request::new("PUT", "/eureka/apps/BILLING/n1?lastDirtyTimestamp=abc"), 400),
        (
            "stamp too large",
            Request::new("PUT", "/eureka/apps/BILLING/n1?lastDirtyTimestamp=99999999999999999999"),
            400,
        ),
        ("unknown method", Request::new("PATCH", billing), 405),
        ("unknown resource", Request::new("DELETE", "/eureka/nothing"), 404),
    ];
    for (what, request, expected) in table {
        assert_eq!(client.send(request.json()).await.status, expected, "{what}");
        assert_eq!(client.send(Request::get("/eureka/apps").json()).await, before, "after {what}");
    }
    assert_eq!(client.send(Request::get("/eureka/apps/delta").json()).await, delta_before);
}
