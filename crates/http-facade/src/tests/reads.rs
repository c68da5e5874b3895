//! Cached reads through the whole facade.

use super::{
    Bench,
    fakes::{all, app, at, whole},
};
use crate::keys::{Key, Scope};
use flate2::read::GzDecoder;
use http::Method;
use registry_model::AppName;
use std::{io::Read, time::Duration};
use testkit::eventually;
use wire_codec::Form;

const JSON: (&str, &str) = ("accept", "application/json");

#[tokio::test]
async fn rest_87_91_srv_94_a_payload_is_sent_plain_or_as_gzip() {
    let bench = Bench::following(&[]).await;
    bench.cache.holds(&all(), at(1, 1), &["one", "two", "three"]);

    let plain = bench.get("apps").await;
    assert_eq!((plain.status.as_u16(), plain.text()), (200, "<onetwothree>"));
    assert_eq!(plain.header("content-type"), Some("application/json"));
    assert_eq!((plain.header("vary"), plain.header("content-encoding")), (Some("accept-encoding"), None));

    let gzip = bench.send(Method::GET, "apps/", &[JSON, ("accept-encoding", "gzip, deflate")], "").await;
    let mut text = String::new();
    GzDecoder::new(&*gzip.body).read_to_string(&mut text).unwrap();
    assert_eq!(text, "<onetwothree>");
    assert_eq!(gzip.header("content-type"), Some("application/json"));
    assert_eq!((gzip.header("vary"), gzip.header("content-encoding")), (Some("accept-encoding"), Some("gzip")));
    // The second read found what the first one had brought.
    assert_eq!(bench.cache.subscribed().len(), 1);
}

#[tokio::test]
async fn rest_85_head_has_the_headers_of_get_and_no_body() {
    let bench = Bench::following(&[]).await;
    bench.cache.holds(&all(), at(1, 1), &["one", "two"]);
    for encoding in ["gzip", "identity"] {
        let headers = [JSON, ("accept-encoding", encoding)];
        let get = bench.send(Method::GET, "apps", &headers, "").await;
        let head = bench.send(Method::HEAD, "apps", &headers, "").await;
        assert_eq!(head.header("content-length"), Some(get.body.len().to_string().as_str()), "{encoding}");
        assert_eq!(head.header("content-encoding"), get.header("content-encoding"));
        assert_eq!((head.status, head.body.len()), (get.status, 0));
    }
    let nothing = bench.send(Method::HEAD, "apps/BILLING/nope", &[], "").await;
    assert_eq!((nothing.status.as_u16(), nothing.body.len()), (404, 0));
}

#[tokio::test]
async fn rest_88_what_nobody_offers_is_refused_before_anything_is_done() {
    let bench = Bench::following(&[]).await;
    for (method, path) in [
        (Method::GET, "apps"),
        (Method::GET, "apps/A/i"),
        (Method::PUT, "apps/A/i"),
        (Method::POST, "apps/A"),
        (Method::DELETE, "apps/A/i"),
    ] {
        let answer = bench.send(method, path, &[("accept", "text/html")], "").await;
        assert_eq!((answer.status.as_u16(), answer.body.len()), (406, 0), "{path}");
    }
    assert!(bench.registry.renewed.lock().is_empty() && bench.registry.cancelled.lock().is_empty());
}

#[tokio::test]
async fn rest_92_b43_an_application_is_found_in_any_case_or_not_at_all() {
    let bench = Bench::following(&[]).await;
    bench.cache.holds(&app("ORDERS"), at(1, 1), &["orders"]);
    for path in ["apps/orders", "apps/Orders", "v2/apps/ORDERS/"] {
        assert_eq!(bench.get(path).await.text(), "<orders>", "{path}");
    }
    let missing = bench.send(Method::GET, "apps/NOPE", &[JSON, ("accept-encoding", "gzip")], "").await;
    assert_eq!((missing.status.as_u16(), missing.body.len(), missing.header("content-encoding")), (404, 0, None));
    assert_eq!(bench.get(&format!("apps/{}", "x".repeat(5000))).await.status.as_u16(), 404);
    assert_eq!(bench.get("apps/%ff").await.status.as_u16(), 400);
}

#[tokio::test]
async fn rest_119_120_123_124_126_lists_come_in_the_form_that_path_and_headers_name() {
    let bench = Bench::following(&[]).await;
    let app = Scope::Application(AppName::parse("ORDERS").unwrap());
    let names = [
        (Form::Json, "json"),
        (Form::Xml, "xml"),
        (Form::XmlV1, "xml v1"),
        (Form::JsonCompact, "compact json"),
        (Form::XmlCompact, "compact xml"),
    ];
    for (form, name) in names {
        for scope in [Scope::All, Scope::Delta, app.clone()] {
            bench.cache.holds(&Key { scope, form }, at(1, 1), &[name]);
        }
    }
    const XML: &str = "application/xml";
    const AS_JSON: &str = "application/json";
    let table = [
        ("v2/", XML, None, "xml"),
        ("v1/", XML, None, "xml v1"),
        ("V1/", XML, Some("full"), "xml v1"),
        ("", XML, None, "xml"),
        ("v1/", AS_JSON, None, "json"),
        ("v1/", XML, Some("compact"), "compact xml"),
        ("v2/", XML, Some("Compact"), "compact xml"),
        ("", AS_JSON, Some("compact"), "compact json"),
        ("v2/", AS_JSON, Some("COMPACT"), "compact json"),
        ("v2/", AS_JSON, Some("bogus"), "json"),
        ("v2/", XML, Some(""), "xml"),
    ];
    for (version, accept, eureka_accept, name) in table {
        for list in ["apps", "apps/", "apps/delta", "apps/orders"] {
            let mut headers = vec![("accept", accept)];
            headers.extend(eureka_accept.map(|value| ("x-eureka-accept", value)));
            let answer = bench.send(Method::GET, &format!("{version}{list}"), &headers, "").await;
            assert_eq!(answer.text(), format!("<{name}>"), "{version}{list}, {headers:?}");
            assert_eq!(answer.header("content-type"), Some(accept));
        }
    }
}

#[tokio::test]
async fn readers_of_one_missing_payload_share_a_request() {
    let bench = Bench::following(&[]).await;
    bench.cache.is_silent_on(&all());
    let readers: Vec<_> = (0..20).map(|_| bench.get_later("apps")).collect();
    eventually("the payload is asked for", || !bench.cache.subscribed().is_empty()).await;
    // The first reader leaves, which is nobody else's loss.
    readers[0].abort();
    bench.cache.says(whole(&all(), at(1, 1), &["shared"])).await;
    for reader in readers.into_iter().skip(1) {
        assert_eq!(reader.await.unwrap().text(), "<shared>");
    }
    assert_eq!(bench.cache.subscribed(), [vec![(all(), None)]]);
    assert_eq!(bench.facade.tier.misses.len(), 0);
}

#[tokio::test]
async fn names_nobody_registered_take_no_room() {
    let bench = Bench::following(&[]).await;
    for n in 0..10_000 {
        assert_eq!(bench.get(&format!("apps/name-{n}")).await.status.as_u16(), 404);
    }
    assert_eq!((bench.facade.tier.pages.len(), bench.facade.tier.misses.len()), (0, 0));
}

#[tokio::test]
async fn what_tier_2_does_not_send_is_unavailable_after_five_seconds() {
    let bench = Bench::following(&[]).await;
    bench.cache.is_silent_on(&all());
    let asleep = bench.clock.sleepers();
    let reader = bench.get_later("apps");
    eventually("the payload is waited for", || !bench.cache.subscribed().is_empty() && bench.clock.sleepers() > asleep)
        .await;
    bench.clock.advance(Duration::from_secs(5));
    let answer = reader.await.unwrap();
    assert_eq!((answer.status.as_u16(), answer.body.len(), answer.header("retry-after")), (503, 0, Some("1")));
    assert_eq!(bench.facade.tier.misses.len(), 0);
}

#[tokio::test]
async fn a_miss_without_tier_2_is_unavailable_at_once() {
    let bench = Bench::following(&[]).await;
    bench.cache.refuses(true);
    assert_eq!(bench.get("apps").await.status.as_u16(), 503);
    bench.cache.breaks();
    eventually("the facade has noticed", || bench.facade.tier.session.load().is_none()).await;
    let answer = bench.get("apps").await;
    assert_eq!((answer.status.as_u16(), answer.header("retry-after")), (503, Some("1")));
}

#[tokio::test]
async fn the_facade_is_ready_with_the_first_watermark() {
    let bench = Bench::new(&[]);
    assert_eq!(bench.process.not_ready(), ["cache"]);
    bench.cache.watermark(1, 0, false).await;
    eventually("the facade is ready", || bench.process.not_ready().is_empty()).await;
}

#[tokio::test]
async fn a_read_waits_for_the_writers_own_change_and_not_longer_than_fifty_milliseconds() {
    let bench = Bench::following(&[]).await;
    bench.cache.holds(&all(), at(1, 1), &["old"]);
    assert_eq!(bench.get("apps").await.text(), "<old>");
    bench.acknowledges(at(1, 2)).await;

    assert_eq!(bench.facade.metrics.watermark_lag.get(), 1);

    let waiting = bench.get_later("apps");
    bench.cache.says(whole(&all(), at(1, 2), &["new"])).await;
    bench.cache.watermark(1, 2, true).await;
    assert_eq!(waiting.await.unwrap().text(), "<new>");

    bench.acknowledges(at(1, 3)).await;
    let asleep = bench.clock.sleepers();
    let waiting = bench.get_later("apps");
    eventually("the read waits", || bench.clock.sleepers() > asleep).await;
    bench.clock.advance(Duration::from_millis(50));
    assert_eq!(waiting.await.unwrap().text(), "<new>");
}

#[tokio::test]
async fn without_push_reads_are_as_stale_as_eurekas() {
    let bench = Bench::following(&["--cache-push", "false"]).await;
    bench.cache.holds(&all(), at(1, 1), &["old"]);
    assert_eq!(bench.get("apps").await.text(), "<old>");
    bench.acknowledges(at(1, 2)).await;
    assert_eq!(bench.get("apps").await.text(), "<old>");
    assert_eq!(bench.cache.modes(), [registry_proto::cache::FollowMode::OnRequest]);
}

impl Bench {
    /// Cancels an instance; the registry says that it is done at this position.
    pub(crate) async fn acknowledges(&self, position: registry_model::Position) {
        let response = registry_proto::registry::CancelResponse { found: true, position: Some(position.into()) };
        *self.registry.cancel.lock() = Some(Ok(response));
        assert_eq!(self.send(Method::DELETE, "apps/A/i", &[], "").await.status.as_u16(), 200);
    }
}
