//! Renewals through the REST API, in every wiring.

use scenario_tests::{
    Request, Sandbox, in_every_wiring,
    story::{fixture, register, register_all, with},
};
use serde_json::json;
use std::time::Duration;

in_every_wiring! {
    rest_43_a_renewal_is_answered_200_without_a_body,
    rest_45_b1_a_renewal_of_what_is_not_there_is_answered_404_without_a_body,
    rest_47_to_51_a_renewal_compares_dirty_stamps,
    rest_56_a_renewal_is_no_change,
    b3_a_renewal_is_never_compressed,
    b26_doubled_slashes_count_as_one,
    many_renewals_at_once_get_an_answer_each,
    a_single_read_shows_the_last_renewal,
}

fn renewal(target: &str) -> Request {
    Request::new("PUT", target)
}

async fn rest_43_a_renewal_is_answered_200_without_a_body(node: &Sandbox) {
    let client = node.client();
    register(&client, &fixture()).await;

    let response = client.send(renewal("/eureka/apps/BILLING/n1")).await;

    assert_eq!((response.status, response.header("content-length")), (200, Some("0")));
    assert_eq!(response.header("content-type"), None);
    let with_body = renewal("/eureka/apps/BILLING/n1").header("content-type", "application/json").body("{}");
    assert_eq!(client.status(with_body).await, 200);
}

async fn rest_45_b1_a_renewal_of_what_is_not_there_is_answered_404_without_a_body(node: &Sandbox) {
    let client = node.client();
    for registered in [false, true] {
        for target in ["BILLING/N1", "BILLING/nope", "NOPE/n1"] {
            let response = client.send(renewal(&format!("/eureka/apps/{target}")).json()).await;
            assert_eq!((response.status, response.header("content-length")), (404, Some("0")), "{target}");
        }
        if !registered {
            register(&client, &fixture()).await;
        }
    }
}

async fn rest_47_to_51_a_renewal_compares_dirty_stamps(node: &Sandbox) {
    let client = node.client();
    register(&client, &fixture()).await;
    let table = [("1000", None, 200), ("999", None, 200), ("999", Some("TRUE"), 200), ("1001", None, 404)];
    for (stamp, replication, expected) in table {
        let request = renewal(&format!("/eureka/apps/BILLING/n1?status=UP&lastDirtyTimestamp={stamp}"));
        let request = match replication {
            Some(value) => request.header("x-netflix-discovery-replication", value),
            None => request,
        };
        assert_eq!(client.status(request).await, expected, "{stamp} {replication:?}");
    }
    let from_peer = renewal("/eureka/apps/BILLING/n1?lastDirtyTimestamp=999").json();
    let response = client.send(from_peer.header("x-netflix-discovery-replication", "true")).await;
    assert_eq!((response.status, &response.json()["instance"]["lastDirtyTimestamp"]), (409, &json!("1000")));
}

async fn rest_56_a_renewal_is_no_change(node: &Sandbox) {
    let client = node.client();
    register(&client, &fixture()).await;
    let before = client.send(Request::get("/eureka/apps/delta").json()).await;
    node.clock.advance(Duration::from_secs(20));

    assert_eq!(client.status(renewal("/eureka/apps/BILLING/n1")).await, 200);
    // A change that is acknowledged after the renewal comes after whatever the renewal might have caused.
    register(&client, &with(json!({"instanceId": "n2"}))).await;

    let delta = client.applications("/eureka/apps/delta").await;
    assert_eq!(delta.actions(), ["n1 ADDED", "n2 ADDED"]);
    let n1 = delta.instances().next().unwrap().clone();
    assert_eq!(Some(&n1), before.applications().instances().next());
}

async fn b3_a_renewal_is_never_compressed(node: &Sandbox) {
    let client = node.client();
    register(&client, &fixture()).await;

    let response = client.send(renewal("/eureka/apps/BILLING/n1?status=UP&lastDirtyTimestamp=1000").gzip()).await;

    assert_eq!((response.status, response.body.len(), response.header("content-encoding")), (200, 0, None));
}

async fn b26_doubled_slashes_count_as_one(node: &Sandbox) {
    let client = node.client();
    register(&client, &fixture()).await;
    let expected = client.send(Request::get("/eureka/apps").json()).await;
    for target in ["/eureka/apps/", "/eureka//apps/", "/eureka/v2//apps", "//eureka/apps//"] {
        assert_eq!(client.send(Request::get(target).json()).await, expected, "{target}");
    }
    assert_eq!(client.status(renewal("/eureka//apps/BILLING/n1")).await, 200);
}

async fn many_renewals_at_once_get_an_answer_each(node: &Sandbox) {
    let client = node.client();
    register_all(&client, "BILLING", &["n0", "n1", "n2"]).await;

    let answers = (0..60).map(|place| {
        let client = client.clone();
        // Every fourth one names an instance that is not there.
        async move { client.status(renewal(&format!("/eureka/apps/BILLING/n{}", place % 4))).await }
    });

    let statuses = futures::future::join_all(answers).await;
    for (place, status) in statuses.into_iter().enumerate() {
        assert_eq!(status, if place % 4 == 3 { 404 } else { 200 }, "renewal {place}");
    }
}

async fn a_single_read_shows_the_last_renewal(node: &Sandbox) {
    let client = node.client();
    register(&client, &fixture()).await;
    let times = async || {
        let instance = client.instance("/eureka/apps/BILLING/n1").await;
        let time = |name: &str| instance["leaseInfo"][name].as_i64().unwrap();
        (time("registrationTimestamp"), time("lastRenewalTimestamp"))
    };
    let (registered, renewed) = times().await;
    assert_eq!(registered, renewed);

    node.clock.advance(Duration::from_secs(20));
    assert_eq!(client.status(renewal("/eureka/apps/BILLING/n1")).await, 200);

    assert_eq!(times().await, (registered, registered + 20_000));
}
