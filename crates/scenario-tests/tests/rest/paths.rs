//! 9.8: paths and ids.

use scenario_tests::{
    Request, on_a_server,
    server::{Server, wrapped},
    story::with,
};
use serde_json::json;

on_a_server! {
    start:
        rest_77_any_id_is_reached_by_its_percent_encoding,
        rest_78_a_colon_may_be_encoded,
        rest_79_matrix_parameters_are_dropped,
        rest_82_83_only_the_lower_case_word_is_the_delta;
    registered:
        rest_80_81_slashes_at_the_end_and_versions_change_nothing,
        rest_84_140_methods_that_a_resource_lacks_are_405,
        rest_85_head_is_get_without_the_body,
}

async fn rest_77_any_id_is_reached_by_its_percent_encoding(server: &Server) {
    let table = [
        ("a/b", "a%2Fb"),
        ("a b", "a%20b"),
        ("a%b", "a%25b"),
        ("a?b", "a%3Fb"),
        ("a#b", "a%23b"),
        ("ü", "%C3%BC"),
        ("a+b", "a+b"),
    ];
    for (id, encoded) in table {
        server.register(&with(json!({"instanceId": id}))).await;
        let path = format!("apps/BILLING/{encoded}");
        assert_eq!(server.read_one(&format!("BILLING/{encoded}")).await["instanceId"], id);
        assert_eq!(server.get(&format!("instances/{encoded}")).await.json()["instance"]["instanceId"], id);
        assert_eq!(server.bare("PUT", &path).await, 200, "{id}");
        assert_eq!(server.bare("PUT", &format!("{path}/status?value=DOWN")).await, 200, "{id}");
        assert_eq!(server.bare("PUT", &format!("{path}/metadata?a=b")).await, 200, "{id}");
        assert_eq!(server.bare("DELETE", &path).await, 200, "{id}");
    }
    assert_eq!(server.list("apps").await.apps, []);
}

async fn rest_78_a_colon_may_be_encoded(server: &Server) {
    server.register(&with(json!({"instanceId": "h:x:80"}))).await;
    let encoded = server.read_one("BILLING/h%3Ax%3A80").await;
    assert_eq!(encoded["instanceId"], "h:x:80");
    assert_eq!(server.read_one("BILLING/h:x:80").await, encoded);
}

async fn rest_79_matrix_parameters_are_dropped(server: &Server) {
    server.register(&with(json!({"app": "ID", "instanceId": "a"}))).await;
    assert_eq!(server.get("apps/ID/a;x=1").await.json()["instance"]["instanceId"], "a");
    assert_eq!(server.bare("GET", "apps/ID/b;x=1").await, 404);
    assert_eq!(server.bare("GET", "apps/ID/a%3Bx=1").await, 404);
}

async fn rest_80_81_slashes_at_the_end_and_versions_change_nothing(server: &Server) {
    for path in ["apps", "apps/delta", "apps/BILLING", "apps/BILLING/n1", "vips/billing", "instances/n1"] {
        let expected = server.get(path).await;
        assert_eq!(expected.status, 200, "{path}");
        for target in [
            format!("/eureka/v2/{path}/"),
            format!("/eureka/{path}"),
            format!("/eureka/{path}/"),
            format!("/eureka/V2/{path}"),
            format!("/eureka/v1/{path}"),
        ] {
            assert_eq!(server.client.send(Request::get(&target).json()).await, expected, "{target}");
        }
        let xml = server.client.send(Request::get(&format!("/eureka/{path}")).xml()).await;
        assert_eq!(xml, server.get_xml(path).await, "{path} as XML");
    }
}

async fn rest_82_83_only_the_lower_case_word_is_the_delta(server: &Server) {
    let instance = wrapped(&with(json!({"app": "DELTA"})));
    let refused = server.client.send(Server::post_of("apps/delta", instance.clone())).await;
    assert_eq!((refused.status, refused.text().as_str()), (405, ""));
    assert_eq!(refused.header("allow"), Some("HEAD,GET,OPTIONS"));
    assert_eq!(server.empty(Server::post_of("apps/DELTA", instance)).await, 204);
    assert_eq!(server.list("apps/DELTA").await.keys(), ["DELTA/n1"]);
    assert_eq!(server.list("apps").await.keys(), ["DELTA/n1"]);
}

async fn rest_84_140_methods_that_a_resource_lacks_are_405(server: &Server) {
    let table = [
        ("PATCH", "apps", "HEAD,GET,OPTIONS"),
        ("POST", "apps", "HEAD,GET,OPTIONS"),
        ("DELETE", "apps/BILLING", "HEAD,GET,POST,OPTIONS"),
        ("GET", "peerreplication/batch", "POST,OPTIONS"),
        ("GET", "peerreplication/batch/", "POST,OPTIONS"),
        ("GET", "serverinfo", "OPTIONS"),
    ];
    for (method, path, allowed) in table {
        let refused = server.client.send(Server::request(method, path).json()).await;
        assert_eq!((refused.status, refused.text().as_str()), (405, ""), "{method} {path}");
        assert_eq!(refused.header("allow"), Some(allowed), "{method} {path}");
        let options = server.client.send(Server::request("OPTIONS", path)).await;
        assert_eq!((options.status, options.header("allow")), (204, Some(allowed)), "{path}");
    }
    assert_eq!(server.list("apps").await.keys(), ["BILLING/n1"]);
}

async fn rest_85_head_is_get_without_the_body(server: &Server) {
    for (path, status) in
        [("apps", 200), ("apps/delta", 200), ("apps/BILLING/n1", 200), ("apps/BILLING/nope", 404), ("status", 200)]
    {
        for request in [
            |method, path| Server::request(method, path).json(),
            |method, path| Server::request(method, path).xml().gzip(),
        ] {
            let mut head = server.client.send(request("HEAD", path)).await;
            let mut get = server.client.send(request("GET", path)).await;
            head.headers.sort();
            get.headers.sort();
            assert_eq!((head.status, head.body.len(), &head.headers), (status, 0, &get.headers), "{path}");
        }
    }
}
