//! Paths, statuses, headers and forms.

use super::*;

on_a_server! {
    ordinary:
        b1_b30_an_unknown_heartbeat_is_404_without_a_body_for_clients_and_peers,
        b2_nothing_below_the_base_is_ever_html,
        b4_no_refusal_looks_like_a_resource,
        b15_lists_are_full_unless_somebody_asks_for_less,
        b16_b17_nothing_is_compressed_that_was_not_asked_for,
        b19_json_is_sent_to_whoever_mentions_it_and_xml_to_the_rest,
        b20_without_its_wrapper_a_body_is_refused,
        b25_an_id_that_two_applications_have_is_found_as_long_as_one_of_them_has_it,
        s7_what_is_no_stamp_or_status_is_400_without_a_body,
        s8_path_and_body_have_to_name_the_same_application,
}

/// All that an answer may have: nothing about caches, origins or the server.
const HEADERS: [&str; 7] =
    ["content-type", "content-length", "content-encoding", "vary", "allow", "retry-after", "connection"];

async fn b1_b30_an_unknown_heartbeat_is_404_without_a_body_for_clients_and_peers(server: &Server) {
    for base in BASES {
        let path = format!("{base}/{I1}?status=UP&lastDirtyTimestamp=1000");
        for headers in [
            &[][..],
            &[("accept", "application/json")],
            &[("accept", "application/json"), ("accept-encoding", "gzip")],
            &[("accept", "application/json"), REPLICATED],
        ] {
            let response = send(server, Request::new("PUT", &path), headers).await;
            let said = ["content-length", "content-type", "content-encoding"].map(|name| response.header(name));
            assert_eq!((response.status, said), (404, [Some("0"), None, None]), "{headers:?}");
        }
    }
}

async fn b2_nothing_below_the_base_is_ever_html(server: &Server) {
    server.register(&j0(json!({}))).await;
    let paths = [
        "",
        "/",
        "/nope",
        "/apps",
        "/apps/NONE",
        "/apps/ORDERS/i1",
        "/apps/ORDERS/nope",
        "/apps/ORDERS/i1/status",
        "/apps/ORDERS/i1?lastDirtyTimestamp=abc",
        "/apps/ORDERS/i1/status?value=FOO",
        "/apps/%zz",
        "/apps/delta",
        "/vips/none",
        "/instances/none",
        "/status",
        "/serverinfo",
        "/serverinfo/statusoverrides",
        "/healthcheck",
        "/asg/x/status",
        "/peerreplication/batch",
        "/lastn",
        "/css/x.css",
    ];
    for base in BASES {
        for path in paths {
            for method in ["GET", "PUT", "POST", "HEAD", "OPTIONS", "PATCH", "TRACE"] {
                for accept in [None, Some("*/*"), Some("text/html"), Some("application/json")] {
                    let request = Request::new(method, &format!("{base}{path}"));
                    let headers: Vec<_> = accept.iter().map(|accept| ("accept", *accept)).collect();
                    let response = send(server, request, &headers).await;
                    let label = response.header("content-type").unwrap_or_default();
                    assert!(
                        ["", "application/json", "application/xml"].contains(&label),
                        "{method} {path}: {response:?}"
                    );
                    let has_content = response.status == 200 || !label.is_empty();
                    assert!(has_content || response.body.is_empty(), "{method} {path}: {response:?}");
                    for (name, _) in &response.headers {
                        assert!(HEADERS.contains(&name.as_str()), "{method} {path}: {response:?}");
                    }
                    let text = response.text().to_lowercase();
                    assert!(!text.contains("<html") && !text.contains("\"timestamp\""), "{method} {path}: {text}");
                }
            }
        }
    }
}

async fn b4_no_refusal_looks_like_a_resource(server: &Server) {
    let nameless = wrapped(&j0(json!({"hostName": ""})));
    let elsewhere = wrapped(&j0(json!({"app": "BILLING"})));
    let refused = [
        ("POST", "apps/ORDERS", "{", 400),
        ("POST", "apps/ORDERS", nameless.as_str(), 400),
        ("POST", "apps/ORDERS", elsewhere.as_str(), 400),
        ("POST", "peerreplication/batch", "[", 400),
        ("PUT", "apps/ORDERS/i1?lastDirtyTimestamp=abc", "", 400),
        ("PUT", "apps/ORDERS/i1/status?value=FOO", "", 400),
        ("PUT", "apps/ORDERS/nope", "", 404),
        ("DELETE", "apps/ORDERS/nope", "", 404),
        ("GET", "apps/NONE", "", 404),
        ("GET", "instances/none", "", 404),
        ("PATCH", "apps/ORDERS", "", 405),
        ("POST", "apps", nameless.as_str(), 405),
    ];
    for (method, path, body, status) in refused {
        for language in ["application/json", "application/xml"] {
            let request = Server::request(method, path).header("content-type", "application/json").body(body);
            let response = send(server, request, &[("accept", language)]).await;
            assert_eq!(response.status, status, "{method} {path}: {response:?}");
            let text = response.text();
            if let Ok(Value::Object(object)) = serde_json::from_str(&text) {
                assert!(object.keys().all(|key| key == "error"), "{method} {path}: {text}");
            }
            for resource in ["<instance>", "<application>", "<applications>", "<timestamp>", "<status>"] {
                assert!(!text.contains(resource), "{method} {path}: {text}");
            }
        }
    }
}

async fn b15_lists_are_full_unless_somebody_asks_for_less(server: &Server) {
    server.register(&j0(json!({"metadata": {"zone": "z"}}))).await;
    let left_out = ["metadata", "leaseInfo", "overriddenStatus", "countryId", "lastDirtyTimestamp"];
    for (headers, full) in [(&[][..], true), (&[("x-eureka-accept", "compact")], false)] {
        let response = send(server, Server::request("GET", "apps/").json(), headers).await;
        let document = response.json();
        let instance = &document["applications"]["application"][0]["instance"][0];
        for key in left_out {
            assert_eq!(instance.get(key).is_some(), full, "{key} in {instance}");
        }
        assert_eq!(instance["instanceId"], "i1");
        assert!(!full || instance["metadata"] == json!({"zone": "z"}));
    }
}

async fn b16_b17_nothing_is_compressed_that_was_not_asked_for(server: &Server) {
    server.register(&j0(json!({}))).await;
    let table = [(None, None), (Some("identity"), None), (Some("gzip;q=0"), None), (Some("gzip"), Some("gzip"))];
    for base in BASES {
        for path in ["apps", "apps/"] {
            for (accepted, coding) in table {
                let headers: Vec<_> = accepted.iter().map(|accepted| ("accept-encoding", *accepted)).collect();
                let response = send(server, Request::get(&format!("{base}/{path}")), &headers).await;
                let said = ["content-type", "content-encoding", "vary"].map(|name| response.header(name));
                let expected = [Some("application/xml"), coding, Some("accept-encoding")];
                assert_eq!((response.status, said), (200, expected), "{accepted:?}");
                assert_eq!(response.applications().keys(), ["ORDERS/i1"]);
            }
        }
    }
}

async fn b19_json_is_sent_to_whoever_mentions_it_and_xml_to_the_rest(server: &Server) {
    server.register(&j0(json!({}))).await;
    let (json, xml) = ("application/json", "application/xml");
    let table = [
        (Some("application/json"), json),
        (Some("application/json;charset=UTF-8"), json),
        (Some("application/json, application/*+json"), json),
        (Some("*/*"), xml),
        (None, xml),
    ];
    for base in BASES {
        for (accept, label) in table {
            let headers: Vec<_> = accept.iter().map(|accept| ("accept", *accept)).collect();
            let response = send(server, Request::get(&format!("{base}/apps/")), &headers).await;
            assert_eq!((response.status, response.header("content-type")), (200, Some(label)), "{accept:?}");
            assert_eq!(response.applications().keys(), ["ORDERS/i1"], "{accept:?}");
        }
    }
}

async fn b20_without_its_wrapper_a_body_is_refused(server: &Server) {
    let request = Server::post_of("apps/ORDERS", j0(json!({})).to_string());
    assert_eq!(answer(&server.client.send(request).await), expected(400, "application/json", AS_JSON));
    assert_eq!(server.list("apps").await.apps, []);
}

async fn b25_an_id_that_two_applications_have_is_found_as_long_as_one_of_them_has_it(server: &Server) {
    server.register(&j0(json!({}))).await;
    server.register(&j0(json!({"app": "STOCK"}))).await;
    let found = async || server.get("instances/i1").await.json()["instance"]["app"].clone();
    assert!([json!("ORDERS"), json!("STOCK")].contains(&found().await));
    assert_eq!(server.bare("DELETE", I1).await, 200);
    assert_eq!(found().await, "STOCK");
    assert_eq!(server.bare("DELETE", "apps/STOCK/i1").await, 200);
    assert_eq!(server.bare("GET", "instances/i1").await, 404);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b27_every_resource_may_live_under_a_context_path() {
    let server = Server::start_as(Options { facade: &["--context-path", "/reg"], ..Options::default() }).await;
    let client = &server.client;
    let body = wrapped(&j0(json!({})));
    for base in ["/reg/eureka", "/reg/eureka/v2", "//reg//eureka/"] {
        assert_eq!(client.status(story::post(&format!("{base}/apps/ORDERS"), body.clone())).await, 204, "{base}");
        assert_eq!(client.status(Request::new("PUT", &format!("{base}/{I1}"))).await, 200, "{base}");
        assert_eq!(client.status(Request::new("PUT", &format!("{base}/{I1}/status?value=UP"))).await, 200, "{base}");
        assert_eq!(client.status(Request::new("DELETE", &format!("{base}/{I1}/status?value=UP"))).await, 200, "{base}");
        assert_eq!(client.status(Request::new("PUT", &format!("{base}/{I1}/metadata?a=b"))).await, 200, "{base}");
        for path in [
            "apps",
            "apps/",
            "apps/delta",
            "apps/ORDERS",
            I1,
            "instances/i1",
            "vips/orders",
            "svips/none",
            "status",
            "serverinfo/statusoverrides",
            "healthcheck",
        ] {
            let response = client.send(Request::get(&format!("{base}/{path}")).json()).await;
            assert_eq!(response.status, 200, "{base} {path}");
        }
        let batch = story::post(&format!("{base}/peerreplication/batch/"), r#"{"replicationList":[]}"#);
        assert_eq!(client.send(batch.json()).await.text(), r#"{"responseList":[]}"#);
        assert_eq!(client.status(Request::new("DELETE", &format!("{base}/{I1}"))).await, 200, "{base}");
    }
    let v1 = client.send(Request::get("/reg/eureka/v1/apps").xml()).await;
    assert_eq!(v1.status, 200);
    for outside in ["/eureka/apps", "/registry/eureka/apps", "/reg", "/reg/apps"] {
        assert_eq!(client.status(Request::get(outside)).await, 404, "{outside}");
    }
    server.stop().await;
}

async fn s7_what_is_no_stamp_or_status_is_400_without_a_body(server: &Server) {
    server.register(&j0(json!({}))).await;
    let before = server.read_one("ORDERS/i1").await;
    for path in ["?status=UP&lastDirtyTimestamp=abc", "/status?value=FOO", "/status"] {
        assert_eq!(server.bare("PUT", &format!("{I1}{path}")).await, 400, "{path}");
        assert_eq!(server.read_one("ORDERS/i1").await, before, "{path}");
    }
}

async fn s8_path_and_body_have_to_name_the_same_application(server: &Server) {
    let body = wrapped(&j0(json!({})));
    let refused = server.client.send(Server::post_of("apps/OTHER", body.clone()).json()).await;
    let text = "Mismatched appName, expecting OTHER but was ORDERS";
    assert_eq!(answer(&refused), expected(400, "application/json", text));
    assert_eq!(server.list("apps").await.apps, []);
    assert_eq!(server.empty(Server::post_of("apps/orders", body)).await, 204);
    assert_eq!(server.list("apps").await.keys(), ["ORDERS/i1"]);
}
