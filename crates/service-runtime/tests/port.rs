//! The port of a service over real sockets: gRPC health, the operator's paths, and a stop that loses no request.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use service_runtime::{Address, Listener, ProcessHandle, grpc};
use testkit::{ManualClock, eventually};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::Notify;
use tonic::service::Routes;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse};

fn process() -> ProcessHandle {
    ProcessHandle::detached("example", Arc::new(ManualClock::new()))
}

async fn serve(process: &ProcessHandle, routes: Routes, address: &Address) -> Address {
    let listener = Listener::bind(address).await.unwrap();
    let address = listener.local_address().clone();
    process.spawn("grpc", grpc::serve(routes, listener, process.clone()));
    address
}

fn tcp() -> Address {
    "127.0.0.1:0".parse().unwrap()
}

/// A whole HTTP/1.1 exchange on a connection of its own.
async fn get(address: &Address, path: &str) -> String {
    let mut connection = address.connect().await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n");
    connection.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).await.unwrap();
    answer
}

fn status(response: HealthCheckResponse) -> ServingStatus {
    response.status()
}

#[tokio::test]
async fn one_port_answers_grpc_and_http_over_tcp_and_unix_sockets() {
    let folder = tempfile::tempdir().unwrap();
    for address in [tcp(), Address::Unix(folder.path().join("s.sock"))] {
        let process = process();
        let address = serve(&process, Routes::default(), &address).await;

        assert!(get(&address, "/livez").await.starts_with("HTTP/1.1 200"));
        let ready = get(&address, "/readyz").await;
        assert!(ready.starts_with("HTTP/1.1 200") && ready.ends_with("ready\n"), "{ready}");
        let metrics = get(&address, "/metrics").await;
        assert!(metrics.contains("content-type: application/openmetrics-text"), "{metrics}");
        assert!(metrics.contains("service=\"example\""), "{metrics}");

        let mut health = HealthClient::new(grpc::channel(&address));
        let answer = health.check(HealthCheckRequest::default()).await.unwrap().into_inner();
        assert_eq!(status(answer), ServingStatus::Serving);
        let named = health.check(HealthCheckRequest { service: "no.such.Service".into() }).await.unwrap_err();
        assert_eq!(named.code(), tonic::Code::NotFound);

        process.stop().await;
        assert_eq!(process.failure(), None);
        assert!(address.connect().await.is_err(), "{address} is still listened on");
    }
}

#[tokio::test]
async fn health_follows_readiness_and_its_watch_ends_with_the_process() {
    let process = process();
    let part = process.readiness("cache");
    let address = serve(&process, Routes::default(), &tcp()).await;
    assert!(get(&address, "/readyz").await.starts_with("HTTP/1.1 503"));
    let mut health = HealthClient::new(grpc::channel(&address));
    let mut watch = health.watch(HealthCheckRequest::default()).await.unwrap().into_inner();

    assert_eq!(watch.message().await.unwrap().map(status), Some(ServingStatus::NotServing));
    part.set(true);
    assert_eq!(watch.message().await.unwrap().map(status), Some(ServingStatus::Serving));
    part.set(false);
    assert_eq!(watch.message().await.unwrap().map(status), Some(ServingStatus::NotServing));

    process.stop().await;
    assert_eq!(watch.message().await.unwrap().map(status), None);
}

#[tokio::test]
async fn a_service_whose_part_is_degraded_does_not_serve_while_the_process_does() {
    let process = process();
    let degraded = process.degradable("eviction", "test.v1.Eviction");
    let address = serve(&process, Routes::default(), &tcp()).await;
    let mut health = HealthClient::new(grpc::channel(&address));
    let named = HealthCheckRequest { service: "test.v1.Eviction".into() };
    let mut watch = health.watch(named.clone()).await.unwrap().into_inner();
    assert_eq!(watch.message().await.unwrap().map(status), Some(ServingStatus::Serving));
    degraded.set("panicked");
    assert_eq!(watch.message().await.unwrap().map(status), Some(ServingStatus::NotServing));
    assert_eq!(status(health.check(named).await.unwrap().into_inner()), ServingStatus::NotServing);
    let whole = health.check(HealthCheckRequest::default()).await.unwrap().into_inner();
    assert_eq!(status(whole), ServingStatus::Serving);
    assert!(get(&address, "/readyz").await.starts_with("HTTP/1.1 200"));
    degraded.set("panicked again");
    degraded.clear();
    assert_eq!(watch.message().await.unwrap().map(status), Some(ServingStatus::Serving));
    process.stop().await;
    assert_eq!(watch.message().await.unwrap().map(status), None);
}

#[tokio::test]
async fn an_unknown_grpc_method_is_unimplemented() {
    let process = process();
    let address = serve(&process, Routes::default(), &tcp()).await;
    let answer = get(&address, "/no.such.Service/Method").await;
    assert!(answer.contains("grpc-status: 12"), "{answer}");
    process.stop().await;
}

#[tokio::test]
async fn a_request_in_flight_is_answered_before_the_process_has_stopped() {
    let process = process();
    let (arrived, released) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let handler = {
        let (arrived, released) = (Arc::clone(&arrived), Arc::clone(&released));
        async move || {
            arrived.notify_one();
            released.notified().await;
            "done at last"
        }
    };
    let slow = axum::Router::new().route("/slow", axum::routing::get(handler));
    let address = serve(&process, Routes::from(slow), &tcp()).await;
    // Says nothing, and must not hold up the stop.
    let _idle = address.connect().await.unwrap();

    let answer = tokio::spawn({
        let address = address.clone();
        async move { get(&address, "/slow").await }
    });
    arrived.notified().await;
    let stop = tokio::spawn({
        let process = process.clone();
        async move { process.stop().await }
    });

    testkit::eventually_async("new connections are refused", async || address.connect().await.is_err()).await;
    assert!(!stop.is_finished());
    released.notify_one();
    assert!(answer.await.unwrap().ends_with("done at last"));
    stop.await.unwrap();
}

#[tokio::test]
async fn a_channel_connects_when_first_used_and_again_after_a_loss() {
    let folder = tempfile::tempdir().unwrap();
    let address = Address::Unix(folder.path().join("s.sock"));
    let mut health = HealthClient::new(grpc::channel(&address));
    assert!(health.check(HealthCheckRequest::default()).await.is_err());

    for _ in 0..2 {
        let process = process();
        serve(&process, Routes::default(), &address).await;
        testkit::eventually_async("the service answers", async || {
            health.check(HealthCheckRequest::default()).await.is_ok()
        })
        .await;
        process.stop().await;
    }
}

#[tokio::test]
async fn a_loop_sleeps_on_the_clock_it_was_given() {
    let clock = ManualClock::new();
    let process = ProcessHandle::detached("example", Arc::new(clock.clone()));
    let ticks = Arc::new(std::sync::atomic::AtomicU32::new(0));
    let (counted, handle) = (Arc::clone(&ticks), process.clone());
    process.spawn("tick", async move {
        let (clock, stopping) = (handle.clock(), handle.stopping());
        while stopping.run_until_cancelled(clock.sleep(std::time::Duration::from_secs(30))).await.is_some() {
            counted.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        }
        Ok(())
    });

    for tick in 1..=3 {
        eventually("the loop sleeps", || clock.sleepers() == 1).await;
        clock.advance(std::time::Duration::from_secs(30));
        eventually("the loop ticks", || ticks.load(std::sync::atomic::Ordering::SeqCst) == tick).await;
    }
    process.stop().await;
    assert_eq!((process.failure(), clock.sleepers()), (None, 0));
}
