//! 9.9: in which form an answer comes.

use scenario_tests::{Request, Response, on_a_server, server::Server};

on_a_server! {
    start:
        rest_92_what_is_not_there_is_not_compressed;
    registered:
        rest_86_87_89_90_label_and_body_are_what_the_client_asks_for,
        rest_88_a_client_that_takes_neither_is_406_before_anything_is_done,
        rest_91_lists_are_compressed_for_those_who_take_it,
}

/// Reads, as a client that says this of what it takes.
async fn read(server: &Server, path: &str, headers: &[(&str, &str)]) -> Response {
    let request = Server::request("GET", path);
    server.client.send(headers.iter().fold(request, |request, (name, value)| request.header(name, value))).await
}

const READS: [&str; 6] = ["apps", "apps/delta", "apps/BILLING", "vips/billing", "apps/BILLING/n1", "instances/n1"];

async fn rest_86_87_89_90_label_and_body_are_what_the_client_asks_for(server: &Server) {
    let (json, xml) = ("application/json", "application/xml");
    let table = [
        (&[][..], xml),
        (&[("accept", "*/*")], xml),
        (&[("accept", "")], xml),
        (&[("accept", "application/json")], json),
        (&[("accept", "application/json, application/*+json")], json),
        (&[("accept", "APPLICATION/JSON;charset=utf-8")], json),
        (&[("accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8")], xml),
        (&[("accept", "application/json, application/xml")], json),
        (&[("accept", "application/xml, application/json")], xml),
    ];
    for path in READS {
        for (headers, label) in table {
            let response = read(server, path, headers).await;
            assert_eq!((response.status, response.header("content-type")), (200, Some(label)), "{path} {headers:?}");
            assert!(response.text().starts_with(if label == json { "{\"" } else { "<" }), "{path} {headers:?}");
        }
    }
}

async fn rest_88_a_client_that_takes_neither_is_406_before_anything_is_done(server: &Server) {
    let post = Server::post_of("apps/BILLING", "not json");
    let requests = READS.map(|path| Server::request("GET", path)).into_iter();
    let writes = [post, Server::request("PUT", "apps/BILLING/n1"), Server::request("DELETE", "apps/BILLING/n1")];
    for request in requests.chain(writes) {
        for accept in ["text/html", "text/plain", "application/vnd.x+json"] {
            assert_eq!(server.empty(request.clone().header("accept", accept)).await, 406, "{request:?} {accept}");
        }
    }
    assert_eq!(server.list("apps").await.keys(), ["BILLING/n1"]);
}

async fn rest_91_lists_are_compressed_for_those_who_take_it(server: &Server) {
    for path in ["apps", "apps/delta", "apps/BILLING", "vips/billing", "svips/nobody"] {
        for form in ["application/json", "application/xml"] {
            let plain = read(server, path, &[("accept", form)]).await;
            let gzip = read(server, path, &[("accept", form), ("accept-encoding", "gzip, deflate")]).await;
            let headers = |answer: &Response| {
                ["content-encoding", "content-type", "vary"].map(|name| answer.header(name).unwrap_or("").to_owned())
            };
            assert_eq!(headers(&plain), ["", form, "accept-encoding"], "{path}");
            assert_eq!(headers(&gzip), ["gzip", form, "accept-encoding"], "{path}");
            assert_eq!(gzip.header("content-length"), Some(gzip.body.len().to_string().as_str()));
            assert_eq!(&gzip.body[..2], [0x1f, 0x8b]);
            assert_eq!(gzip.plain(), plain.body, "{path}");
        }
    }
}

async fn rest_92_what_is_not_there_is_not_compressed(server: &Server) {
    for path in ["apps/NOPE", "apps/NOPE/n1", "instances/n1", "nope"] {
        for request in [Server::request("GET", path).gzip(), Request::get(&format!("/eureka/{path}")).gzip().json()] {
            assert_eq!(server.empty(request).await, 404, "{path}");
        }
    }
}
