//! The rate limiter, and who clients say they are, through the whole facade.

use super::{
    Answer, Bench,
    fakes::{all, app, at},
};
use http::Method;

const JSON: (&str, &str) = ("accept", "application/json");
const TIGHT: [&str; 3] = [
    "--rate-limiter-burst-size=2",
    "--rate-limiter-registry-fetch-average-rate=1",
    "--rate-limiter-full-fetch-average-rate=1",
];

async fn limited(enabled: &str) -> Bench {
    let bench = Bench::following(&[&TIGHT[..], &["--rate-limiter-enabled", enabled]].concat()).await;
    bench.cache.holds(&all(), at(1, 1), &["all"]);
    bench.cache.holds(&app("ORDERS"), at(1, 1), &["orders"]);
    bench
}

async fn read(bench: &Bench, client: &str) -> Answer {
    bench.send(Method::GET, "apps", &[JSON, ("DiscoveryIdentity-Name", client)], "").await
}

fn metric(bench: &Bench, name: &str) -> String {
    let text = bench.process.metrics().encode();
    text.lines().find_map(|line| line.strip_prefix(&format!("{name} "))).unwrap_or("missing").to_owned()
}

#[tokio::test]
async fn srv_152_154_s16_reads_beyond_the_limit_get_503_and_are_told_when_to_come_again() {
    let bench = limited("true").await;
    for _ in 0..2 {
        assert_eq!(read(&bench, "mine").await.status.as_u16(), 200);
    }
    let refused = read(&bench, "mine").await;
    assert_eq!((refused.status.as_u16(), refused.body.len()), (503, 0));
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert_eq!(bench.get("apps/ORDERS").await.status.as_u16(), 503);
    for client in ["DefaultClient", "DefaultServer"] {
        assert_eq!(read(&bench, client).await.status.as_u16(), 200, "{client}");
    }
    assert_eq!(metric(&bench, "eureka_num_of_rate_limited_requests_total"), "2");
    assert_eq!(metric(&bench, "eureka_num_of_rate_limited_full_fetch_requests_total"), "1");
}

#[tokio::test]
async fn srv_153_whom_the_limiter_would_refuse_is_counted_and_passes() {
    let bench = limited("count").await;
    for _ in 0..3 {
        assert_eq!(read(&bench, "mine").await.status.as_u16(), 200);
    }
    assert_eq!(metric(&bench, "eureka_num_of_rate_limited_request_candidates_total"), "1");
    assert_eq!(metric(&bench, "eureka_num_of_rate_limited_full_fetch_request_candidates_total"), "1");
    assert_eq!(metric(&bench, "eureka_num_of_rate_limited_requests_total"), "0");
}

#[tokio::test]
async fn srv_156_only_lists_are_limited() {
    let bench = limited("true").await;
    while read(&bench, "mine").await.status.as_u16() == 200 {}
    for (method, path, expected) in [
        (Method::GET, "apps/X/ID", 404),
        (Method::PUT, "apps/X/ID", 500),
        (Method::GET, "vips/v", 200),
        (Method::HEAD, "apps", 200),
        (Method::GET, "v2/apps/delta", 503),
    ] {
        let answer = bench.send(method.clone(), path, &[JSON], "").await;
        assert_eq!(answer.status.as_u16(), expected, "{method} {path}");
    }
}

#[tokio::test]
async fn requests_are_counted_by_the_names_of_eurekas_own() {
    for (setting, expected) in [("true", ["1", "1", "2", "1"]), ("false", ["0"; 4])] {
        let bench = Bench::following(&["--auth-should-log-identity-headers", setting]).await;
        for client in ["DefaultClient", "DefaultServer", "mine", "another"] {
            read(&bench, client).await;
        }
        bench.get("apps").await;
        let counted = ["DefaultClient", "DefaultServer", "other", "none"]
            .map(|name| metric(&bench, &format!("eureka_server_request_auth_total{{name=\"{name}\"}}")));
        assert_eq!(counted, expected);
    }
}
