//! The access gate, the delta switched off, and the delta of those who name regions.

use super::{
    Answer, Bench,
    fakes::{all, app, at, update, whole},
};
use crate::keys::{Key, Scope};
use flate2::read::GzDecoder;
use http::Method;
use registry_proto::{
    cache::{Page as PageMessage, PageSplice, PayloadEnds, follow_response::Step},
    registry::{CancelResponse, GetInstanceResponse, RegisterResponse, RenewOutcome, RenewResponse},
    types::Record,
};
use std::{io::Read, sync::Arc};
use testkit::{eventually, instances};
use wire_codec::{Form, Page};

const LISTS: [&str; 6] = ["apps", "apps/", "apps/delta", "apps/X", "vips/x", "svips/x"];

fn delta() -> Key {
    Key { scope: Scope::Delta, form: Form::Json }
}

impl Bench {
    /// A facade that is told that lists are not to be served yet.
    async fn gated() -> Self {
        let bench = Self::new(&[]);
        bench.cache.closed_gate(1, 1).await;
        eventually("the facade is ready", || bench.process.not_ready().is_empty()).await;
        bench
    }

    async fn refuses(&self, path: &str) {
        for method in [Method::GET, Method::HEAD] {
            for headers in [&[("accept", "application/json")][..], &[("accept-encoding", "gzip")]] {
                let answer = self.send(method.clone(), path, headers, "").await;
                let told = (answer.status.as_u16(), answer.body.len(), answer.header("content-type"));
                assert_eq!(told, (403, 0, None), "{method} {path}");
                assert_eq!((answer.header("content-encoding"), answer.header("retry-after")), (None, None));
            }
        }
    }
}

#[tokio::test]
async fn rest_102_while_the_gate_is_closed_lists_are_forbidden() {
    let bench = Bench::gated().await;
    bench.cache.holds(&all(), at(1, 1), &["all"]);
    let name = "x".repeat(5000);
    for path in LISTS.into_iter().chain([&*format!("apps/{name}"), "v1/apps", "v2/apps/delta?regions=a"]) {
        bench.refuses(path).await;
    }
    assert_eq!(bench.cache.subscribed().len(), 0);
    // What is no list is as always.
    assert_eq!(bench.send(Method::GET, "apps", &[("accept", "text/html")], "").await.status.as_u16(), 406);
    assert_eq!(bench.get("nope").await.status.as_u16(), 404);
    let text = bench.process.metrics().encode();
    for line in ["eureka_get_all_delta_total 0", "eureka_get_application_total 0"] {
        assert!(text.contains(line), "{line}");
    }
    assert!(!text.contains("eureka_get_all_total 0"), "Eureka counts it before its gate");
}

#[tokio::test]
async fn rest_103_srv_142_a_closed_gate_concerns_lists_alone() {
    let bench = Bench::gated().await;
    *bench.registry.register.lock() = Some(Ok(RegisterResponse::default()));
    let renewed = RenewResponse { outcome: RenewOutcome::Renewed.into(), stored: None };
    *bench.registry.renew.lock() = Some(Ok(renewed));
    *bench.registry.cancel.lock() = Some(Ok(CancelResponse { found: true, position: None }));
    let record = Some(Record::from(instances::record("X", "n1")));
    *bench.registry.instance.lock() = Some(Ok(GetInstanceResponse { record }));
    let document = r#"{"instance":{"instanceId":"n1","app":"X","hostName":"h","ipAddr":"10.0.0.1","vipAddress":"x","dataCenterInfo":{"@class":"com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo","name":"MyOwn"},"status":"UP"}}"#;
    let table = [
        (Method::POST, "apps/X", 204),
        (Method::PUT, "apps/X/n1", 200),
        (Method::GET, "apps/X/n1", 200),
        (Method::GET, "instances/n1", 200),
        (Method::GET, "status", 200),
        (Method::DELETE, "apps/X/n1", 200),
    ];
    for (method, path, status) in table {
        let body = if method == Method::POST { document } else { "" };
        let headers = [("accept", "application/json"), ("content-type", "application/json")];
        let answer = bench.send(method.clone(), path, &headers, body).await;
        assert_eq!(answer.status.as_u16(), status, "{method} {path}: {}", answer.text());
    }
    bench.refuses("apps").await;
}

#[tokio::test]
async fn a_gate_that_has_opened_stays_open_though_everything_behind_it_starts_over() {
    let bench = Bench::gated().await;
    bench.cache.holds(&all(), at(1, 1), &["all"]);
    bench.refuses("apps").await;
    bench.cache.watermark(1, 2, true).await;
    testkit::eventually_async("the gate is open", async || bench.get("apps").await.text() == "<all>").await;
    bench.cache.closed_gate(2, 0).await;
    bench.cache.says(whole(&app("OTHER"), at(2, 0), &["other"])).await;
    eventually("both are applied", || bench.facade.tier.session.load_full().is_some_and(|session| session.seen() >= 5))
        .await;
    assert_eq!(bench.get("apps").await.text(), "<all>");
}

#[tokio::test]
async fn before_anybody_has_told_of_the_gate_lists_are_unavailable() {
    let bench = Bench::new(&[]);
    bench.cache.holds(&all(), at(1, 1), &["all"]);
    eventually("the facade follows", || bench.facade.tier.session.load().is_some()).await;
    for path in LISTS {
        let answer = bench.get(path).await;
        assert_eq!((answer.status.as_u16(), answer.header("retry-after")), (503, Some("1")), "{path}");
    }
}

#[tokio::test]
async fn rest_101_srv_101_a_delta_that_is_switched_off_is_forbidden_and_not_counted() {
    let bench = Bench::following(&["--disable-delta"]).await;
    bench.cache.holds(&all(), at(1, 1), &["all"]);
    bench.cache.holds(&delta(), at(1, 1), &["delta"]);
    for path in ["apps/delta", "apps/delta/", "v2/apps/delta?regions=a"] {
        bench.refuses(path).await;
    }
    assert_eq!(bench.get("apps").await.text(), "<all>");
    let text = bench.process.metrics().encode();
    for line in ["eureka_get_all_delta_total 0", "eureka_get_all_total 1"] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
}

fn page(text: &str) -> PageMessage {
    let page = Page::deflate(text.as_bytes());
    PageMessage { deflated: page.deflated().clone(), crc: page.crc(), length: text.len() as u32 }
}

fn ungzipped(answer: &Answer) -> String {
    let mut text = String::new();
    GzDecoder::new(&*answer.body).read_to_string(&mut text).unwrap();
    text
}

#[tokio::test]
async fn rest_99_100_srv_86_whoever_names_regions_reads_the_same_pages_under_another_number() {
    let bench = Bench::following(&[]).await;
    bench.cache.is_silent_on(&delta());
    let reader = bench.get_later("apps/delta");
    eventually("the delta is asked for", || !bench.cache.subscribed().is_empty()).await;
    let splice = PageSplice { at: 0, removed: 0, pages: vec![page("one"), page("two")] };
    let mut sent = update(&delta(), None, at(1, 1), vec![splice]);
    sent.regional = Some(PayloadEnds { head: Some(page("[")), tail: Some(page("]")) });
    bench.cache.says(Step::Update(sent)).await;
    assert_eq!(reader.await.unwrap().text(), "<onetwo>");

    let table = [
        ("", "<onetwo>"),
        ("?regions=", "<onetwo>"),
        ("?regions", "<onetwo>"),
        ("?regions=b,a", "[onetwo]"),
        ("?regions=A,B", "[onetwo]"),
        ("?x=1&regions=nowhere", "[onetwo]"),
    ];
    for (query, text) in table {
        let path = format!("apps/delta{query}");
        assert_eq!(bench.get(&path).await.text(), text, "{path}");
        let headers = [("accept", "application/json"), ("accept-encoding", "gzip")];
        assert_eq!(ungzipped(&bench.send(Method::GET, &path, &headers, "").await), text, "{path}");
        let head = bench.send(Method::HEAD, &path, &headers[..1], "").await;
        assert_eq!(head.header("content-length"), Some(text.len().to_string().as_str()), "{path}");
    }
    for path in ["apps/delta?regions=%zz", "apps?regions=%ff"] {
        assert_eq!(bench.get(path).await.status.as_u16(), 400, "{path}");
    }
    let held = bench.facade.tier.pages.get(&delta()).unwrap();
    let regional = held.regional().unwrap();
    // Of the pages there is one copy, and of what they are joined to.
    let frame = |held: &crate::read_only::Held| held.payload().gzip_frame(1).unwrap().as_ptr();
    assert_eq!(frame(&held), frame(regional));
    assert_eq!(Arc::strong_count(&held), 2);
    assert_eq!(bench.cache.subscribed().len(), 1);

    // A change comes with new ends, or from a cache that does not know them, with none.
    let splice = PageSplice { at: 1, removed: 1, pages: vec![page("2")] };
    bench.cache.says(Step::Update(update(&delta(), Some(at(1, 1)), at(1, 2), vec![splice]))).await;
    let regional = async || bench.get("apps/delta?regions=a").await.text() == "<one2>";
    testkit::eventually_async("the change is read", regional).await;
}
