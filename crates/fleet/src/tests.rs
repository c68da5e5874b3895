//! Every client subcommand for a moment against the bare server, over real sockets, bounded by counts.

use bytes::Bytes;
use clap::Parser;
use hyper::header::HeaderValue;
use serde_json::Value;
use tokio::net::TcpListener;

use crate::bare::{self, Answer};
use crate::{Cli, execute};

/// Starts a bare server, runs one subcommand against it, and returns the report as scripts see it.
async fn against_bare(body: &'static [u8], arguments: &str) -> Value {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let target = listener.local_addr().unwrap().to_string();
    let answer = Answer { body: Bytes::from_static(body), content_encoding: Some(HeaderValue::from_static("gzip")) };
    let server = tokio::spawn(bare::serve(listener, answer));
    let report = report(&format!("{arguments} --target {target}")).await;
    server.abort();
    report
}

async fn report(arguments: &str) -> Value {
    let pid = std::process::id();
    let line = format!("fleet {arguments} --pid {pid}");
    let cli = Cli::try_parse_from(line.split_whitespace()).unwrap();
    let report = execute(&cli).await.unwrap();
    assert!(!report.table().is_empty());
    serde_json::from_str(&report.json().unwrap()).unwrap()
}

fn assert_clean(report: &Value, requests: u64) {
    assert_eq!(report["requests"], requests, "{report}");
    assert_eq!(report["failed"], 0, "{report}");
    assert_eq!(report["reopened_connections"], 0, "{report}");
    assert!(report["latency_us"]["p50"].as_f64().unwrap() > 0.0, "{report}");
    assert!(report["server"]["rss_kib"].as_u64().unwrap() > 0, "{report}");
}

#[tokio::test]
async fn register_sends_every_instance_once() {
    let report = against_bare(b"", "register --instances 50 --apps 7 --connections 4").await;
    assert_clean(&report, 50);
    assert_eq!(report["statuses"]["204"], 50);
}

#[tokio::test]
async fn renew_flat_out_stops_at_its_count() {
    let arguments = "renew --flat-out --instances 10 --apps 3 --count 103 --connections 4 --register-first";
    let report = against_bare(b"", arguments).await;
    assert_clean(&report, 103);
    assert_eq!(report["statuses"]["200"], 103);
}

#[tokio::test]
async fn renew_at_a_pace_stops_at_its_count() {
    let arguments = "renew --interval 100ms --count 50 --instances 100 --connections 4";
    assert_clean(&against_bare(b"", arguments).await, 50);
}

#[tokio::test]
async fn fetch_counts_the_bytes_of_bodies() {
    for what in ["--what full", "--what delta --format xml --gzip false", "--what app:FLEET-0001", "--path /"] {
        let report = against_bare(&[7; 300_000], &format!("fetch {what} --count 10 --connections 2")).await;
        assert_clean(&report, 10);
        assert_eq!(report["body_bytes_mean"], 300_000.0, "{what}");
    }
}

#[tokio::test]
async fn churn_finishes_the_instance_in_hand() {
    for (kind, requests) in [("both", 8), ("registration", 6), ("status", 6)] {
        let arguments = format!("churn --instances 9 --rate 5000 --count 5 --connections 2 --kind {kind}");
        let report = against_bare(b"", &arguments).await;
        assert_clean(&report, requests);
    }
}

#[tokio::test]
async fn change_cost_measures_changed_and_new_instances() {
    for mode in ["", "--new --format xml", "--register-first --settle 0s"] {
        let report = against_bare(b"same", &format!("change-cost --instances 20 --samples 5 {mode}")).await;
        assert_eq!(report["failed"], 0, "{report}");
        assert_eq!(report["samples"], 5, "{report}");
        // A server whose payload never changes is found out.
        assert_eq!(report["payload_changed"], 0, "{report}");
        assert!(report["head_cpu_us"]["p50"].as_f64().unwrap() > 0.0, "{report}");
    }
}

#[tokio::test]
async fn a_server_that_hangs_up_is_counted_as_failures() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let target = listener.local_addr().unwrap();
    let server = tokio::spawn(async move {
        loop {
            drop(listener.accept().await);
        }
    });
    let report = report(&format!("fetch --target {target} --count 6 --connections 2")).await;
    server.abort();
    assert_eq!(report["requests"], 0, "{report}");
    assert_eq!(report["failed"], 6, "{report}");
    assert!(report["first_failure"].is_string(), "{report}");
}

#[tokio::test]
async fn a_server_that_is_not_there_makes_the_run_impossible() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let target = listener.local_addr().unwrap();
    drop(listener);
    let cli = Cli::try_parse_from(["fleet", "fetch", "--target", &target.to_string()]).unwrap();
    assert!(execute(&cli).await.is_err());
}

#[test]
fn every_subcommand_explains_its_flags() {
    use clap::CommandFactory;
    let command = Cli::command();
    command.clone().debug_assert();
    for subcommand in command.get_subcommands() {
        assert!(subcommand.get_about().is_some(), "{}", subcommand.get_name());
        for flag in subcommand.get_arguments() {
            assert!(flag.get_help().is_some(), "{} {}", subcommand.get_name(), flag.get_id());
        }
    }
}
