//! Bad input of every kind against a whole node, in every wiring: a 4xx soon, nothing changed, and the lists as readable as before.
//! `cases` lists what is sent, kind by kind.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "this is how a test fails; its stories are functions of their own"
)]

mod cases;

use cases::{Case, bomb};
use scenario_tests::{
    Client, Options, Request, Response, Sandbox, Wiring, in_every_wiring,
    story::{fixture, post, register, with},
};
use serde_json::json;
use std::time::Duration;

in_every_wiring! {
    truncated_bodies_are_refused,
    wrongly_typed_fields_are_refused,
    b123_deeply_nested_bodies_are_refused,
    b123_entities_are_neither_expanded_nor_fetched,
    rest_16_17_wrongly_encoded_bodies_are_refused,
    s7_unknown_names_are_refused_where_they_have_to_be_known,
    s7_stamps_that_are_no_numbers_are_refused,
    characters_that_xml_forbids_are_refused_in_xml,
    characters_that_xml_forbids_spoil_no_list,
    b123_decompression_bombs_are_refused,
    s20_broken_percent_encoding_is_refused,
    requests_that_are_no_http_are_refused,
    b123_many_bombs_at_once_take_bounded_memory;
    unstarted:
        oversized_bodies_are_refused_at_the_configured_limit,
}

/// Longer than any refusal may take, in real time, on a busy machine.
const SOON: Duration = Duration::from_secs(10);

const LISTS: [&str; 6] = [
    "/eureka/apps",
    "/eureka/apps/delta",
    "/eureka/apps/BILLING",
    "/eureka/vips/billing",
    "/eureka/svips/billing-s",
    "/eureka/v1/apps",
];

/// Registers an instance of two applications each, and reads all that can be read of them.
async fn begin(node: &Sandbox) -> (Client, Vec<Response>) {
    let client = node.client();
    register(&client, &fixture()).await;
    register(&client, &with(json!({"app": "ORDERS", "instanceId": "o1"}))).await;
    let everything = everything(&client).await;
    (client, everything)
}

/// Sends all of them; after each one what is read most is as it was, at the end everything is, and a good registration is taken.
async fn refuses(node: &Sandbox, cases: impl IntoIterator<Item = Case>) {
    let (client, all_before) = begin(node).await;
    let before = glance(&client).await;
    for Case { what, request, expected } in cases {
        // A lease that was renewed, or an instance that was written anew, would show another time.
        node.clock.advance(Duration::from_millis(1));
        let answer = tokio::time::timeout(SOON, client.send(request)).await.expect("an answer soon");
        assert_eq!(answer.status, expected, "{what}: {answer:?}");
        assert_eq!(glance(&client).await, before, "after {what}");
    }
    assert_eq!(everything(&client).await, all_before);
    register(&client, &with(json!({"instanceId": "n2"}))).await;
    assert_eq!(readable(&client).await, ["BILLING/n1", "BILLING/n2", "ORDERS/o1"]);
}

/// The list in both languages, its changes, and an instance as the registry has it at this moment.
async fn glance(client: &Client) -> [Response; 4] {
    [
        client.send(Request::get("/eureka/apps").json()).await,
        client.send(Request::get("/eureka/apps").xml()).await,
        client.send(Request::get("/eureka/apps/delta").json()).await,
        client.send(Request::get("/eureka/apps/BILLING/n1").json()).await,
    ]
}

/// All lists in both languages, and single instances as the registry has them at this moment.
async fn everything(client: &Client) -> Vec<Response> {
    let mut all = Vec::new();
    for target in LISTS {
        for request in [Request::get(target).json(), Request::get(target).xml()] {
            all.push(client.send(request).await);
        }
    }
    for target in ["/eureka/apps/BILLING/n1", "/eureka/apps/ORDERS/o1", "/eureka/serverinfo/statusoverrides"] {
        all.push(client.send(Request::get(target).json()).await);
    }
    assert!(all.iter().all(|answer| answer.status == 200), "{all:?}");
    all
}

/// What `apps` lists, which has to be the same in every form, for every reader.
async fn readable(client: &Client) -> Vec<String> {
    let json = client.applications("/eureka/apps").await;
    assert_eq!(json.hash, Some(json.counted_hash()));
    for target in ["/eureka/apps", "/eureka/v1/apps", "/eureka/v2/apps/"] {
        for request in [Request::get(target).json(), Request::get(target).xml()] {
            for request in [request.clone(), request.clone().header("x-eureka-accept", "compact")] {
                for request in [request.clone(), request.gzip()] {
                    let list = client.send(request).await.applications();
                    assert_eq!(list.keys().len(), json.keys().len(), "{target}");
                    assert_eq!(list.hash, json.hash, "{target}");
                }
            }
        }
    }
    json.keys()
}

async fn truncated_bodies_are_refused(node: &Sandbox) {
    refuses(node, cases::truncated()).await;
}

async fn oversized_bodies_are_refused_at_the_configured_limit(wiring: Wiring) {
    let small: &[_] = &["--max-body", "10KiB", "--max-batch-body", "20KiB"];
    for (facade, limit, batch_limit) in [(small, 10 << 10, 20 << 10), (&[], 1 << 20, 16 << 20)] {
        let node = Sandbox::start_with(wiring, Options { facade, ..Options::default() }).await;
        refuses(&node, cases::oversized(limit, batch_limit)).await;
        node.stop().await;
    }
}

async fn wrongly_typed_fields_are_refused(node: &Sandbox) {
    refuses(node, cases::wrongly_typed()).await;
}

async fn b123_deeply_nested_bodies_are_refused(node: &Sandbox) {
    refuses(node, cases::deeply_nested()).await;
}

async fn b123_entities_are_neither_expanded_nor_fetched(node: &Sandbox) {
    refuses(node, cases::entities()).await;
}

async fn rest_16_17_wrongly_encoded_bodies_are_refused(node: &Sandbox) {
    refuses(node, cases::wrongly_encoded()).await;
}

async fn s7_unknown_names_are_refused_where_they_have_to_be_known(node: &Sandbox) {
    refuses(node, cases::unknown_names()).await;
}

async fn s7_stamps_that_are_no_numbers_are_refused(node: &Sandbox) {
    refuses(node, cases::bad_stamps()).await;
}

async fn characters_that_xml_forbids_are_refused_in_xml(node: &Sandbox) {
    refuses(node, cases::forbidden_characters()).await;
}

async fn b123_decompression_bombs_are_refused(node: &Sandbox) {
    refuses(node, cases::bombs()).await;
}

async fn s20_broken_percent_encoding_is_refused(node: &Sandbox) {
    refuses(node, cases::broken_escapes()).await;
}

async fn requests_that_are_no_http_are_refused(node: &Sandbox) {
    refuses(node, cases::broken_http()).await;
}

/// JSON can say them, so they are taken; XML then shows U+FFFD.
async fn characters_that_xml_forbids_spoil_no_list(node: &Sandbox) {
    let (client, _) = begin(node).await;
    let nasty = "\u{0}\u{1}\u{8}\u{b}\u{1f}\u{fffe}\u{ffff}<&>\"']]>\r\n\u{85}\u{2028}\u{1F600}";
    let mut instance = with(json!({"instanceId": format!("n2{nasty}"), "hostName": nasty, "vipAddress": nasty}));
    for field in ["ipAddr", "sid", "appGroupName", "homePageUrl", "statusPageUrl", "secureVipAddress", "asgName"] {
        instance[field] = json!(nasty);
    }
    let facts = json!({"instance-id": nasty, nasty: nasty, "": nasty});
    instance["dataCenterInfo"] =
        json!({"@class": "com.netflix.appinfo.AmazonInfo", "name": "Amazon", "metadata": facts});
    instance["metadata"] = json!({nasty: nasty, "": nasty, "1 <a>": "]]>", "xmlns:x": "&#0;", "-": "<!--"});
    register(&client, &instance).await;
    let app = format!("X{nasty}");
    let escaped: String = app.bytes().map(|byte| format!("%{byte:02x}")).collect();
    let body = json!({"instance": with(json!({"app": app}))}).to_string();
    assert_eq!(client.status(post(&format!("/eureka/apps/{escaped}"), body)).await, 204);

    let keys = readable(&client).await;
    assert_eq!(keys.len(), 4);
    assert!(keys.contains(&format!("BILLING/n2{nasty}")), "JSON says all of it: {keys:?}");
    let xml = client.send(Request::get("/eureka/apps").xml()).await;
    assert!(xml.text().contains("<instanceId>n2\u{fffd}\u{fffd}"), "{}", xml.text());
    for target in
        [format!("/eureka/apps/{escaped}"), "/eureka/apps/BILLING".to_owned(), "/eureka/apps/delta".to_owned()]
    {
        let forms = [Request::get(&target).json(), Request::get(&target).xml()];
        for request in forms {
            assert!(!client.send(request).await.applications().keys().is_empty(), "{target}");
        }
    }
}

/// Twenty gigabytes if they were decompressed. With many cores all of them are decompressed at once, in three nodes that run at once
/// here, up to ten megabytes each in a buffer that has grown by doubling.
async fn b123_many_bombs_at_once_take_bounded_memory(node: &Sandbox) {
    const MOST: usize = 1500 << 20;
    let (client, before) = begin(node).await;
    let bomb = bomb(b' ', 16 << 20).repeat(60);
    assert!(bomb.len() < 1 << 20, "within the limit, as it comes");
    let request = post("/eureka/apps/BILLING", bomb).header("content-encoding", "gzip");
    let all = (0..20).map(|_| client.send(request.clone()));
    let answers = tokio::time::timeout(SOON, futures::future::join_all(all)).await.expect("answers soon");
    assert!(answers.iter().all(|answer| answer.status == 413), "{answers:?}");
    assert_eq!(everything(&client).await, before);
    if let Some(peak) = peak_memory() {
        assert!(peak < MOST, "{peak} bytes at the most");
    }
}

/// The most memory that this process, which is the node as well, has had so far; Linux says it.
fn peak_memory() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<usize>().ok().map(|kilobytes| kilobytes << 10)
}
