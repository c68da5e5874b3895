//! The one test over a socket: what only connections can show.

use super::{
    Bench,
    fakes::{all, at},
};
use registry_proto::registry::{RenewOutcome, RenewResponse};
use service_runtime::{Connection, Listener};
use std::sync::Arc;
use testkit::eventually;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

struct Client(Connection);

impl Client {
    async fn send(&mut self, text: &str) {
        self.0.write_all(text.as_bytes()).await.unwrap();
    }

    /// Reads up to the end of the next answer's head.
    async fn head(&mut self) -> String {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(self.0.read_u8().await.unwrap());
        }
        String::from_utf8(head).unwrap().to_ascii_lowercase()
    }
}

impl Bench {
    fn given_up(&self, reason: &str) -> bool {
        let line = format!("heureka_facade_connections_given_up_total{{reason=\"{reason}\"}} 1");
        self.process.metrics().encode().contains(&line)
    }
}

#[tokio::test]
async fn connections_whose_client_does_not_get_on_make_room_for_others() {
    let bench = Bench::following(&["--max-connections", "2"]).await;
    let page: &'static str = "x".repeat(1 << 20).leak();
    bench.cache.holds(&all(), at(1, 1), &[page; 32]);
    let listener = Listener::bind(&"127.0.0.1:0".parse().unwrap()).await.unwrap();
    let address = listener.local_address().clone();
    let serving = tokio::spawn(Arc::clone(&bench.facade).serve(listener));

    let mut reader = Client(address.connect().await.unwrap());
    let mut sender = Client(address.connect().await.unwrap());
    reader.send("GET /eureka/apps HTTP/1.1\r\nhost: h\r\naccept: application/json\r\n\r\n").await;
    assert!(reader.head().await.contains("content-length: 33554434"));
    sender.send("GET /livez HTTP/1.1\r\n").await;
    let mut third = Client(address.connect().await.unwrap());
    third.send("GET /livez HTTP/1.1\r\nhost: h\r\n\r\n").await;
    eventually("both are given up", || {
        bench.clock.advance(crate::progress::LOOK);
        bench.given_up("slow_reader") && bench.given_up("slow_request")
    })
    .await;
    assert!(third.head().await.starts_with("http/1.1 200 "));
    let mut rest = Vec::new();
    let _ = reader.0.read_to_end(&mut rest).await;
    assert!(rest.len() < 32 << 20);

    // Not even the end of the process waits for a client that does not read.
    let mut reader = Client(address.connect().await.unwrap());
    reader.send("GET /eureka/apps HTTP/1.1\r\nhost: h\r\naccept: application/json\r\n\r\n").await;
    reader.head().await;
    let stopping = tokio::spawn({
        let process = bench.process.clone();
        async move { process.stop().await }
    });
    eventually("the server ends", || {
        bench.clock.advance(crate::progress::LOOK);
        serving.is_finished()
    })
    .await;
    stopping.await.unwrap();
}

#[tokio::test]
async fn a_body_longer_than_the_limit_is_refused_and_the_connection_goes_on_announced_or_not() {
    let bench = Bench::following(&["--max-body", "1000"]).await;
    let listener = Listener::bind(&"127.0.0.1:0".parse().unwrap()).await.unwrap();
    let address = listener.local_address().clone();
    let serving = tokio::spawn(Arc::clone(&bench.facade).serve(listener));
    let mut client = Client(address.connect().await.unwrap());
    let post = "POST /eureka/apps/A HTTP/1.1\r\nhost: h\r\ncontent-type: application/json\r\n";
    let chunk = format!("3e8\r\n{}\r\n", "x".repeat(1000));
    client.send(&format!("{post}transfer-encoding: chunked\r\n\r\n{chunk}{chunk}")).await;
    client.send(&format!("{chunk}0\r\n\r\n")).await;
    assert!(client.head().await.starts_with("http/1.1 413 "));
    let put = "PUT /eureka/apps/A/i?lastDirtyTimestamp=x HTTP/1.1\r\nhost: h\r\ncontent-length: 2000\r\n\r\n";
    client.send(&format!("{put}{}", "x".repeat(2000))).await;
    assert!(client.head().await.starts_with("http/1.1 400 "));
    client.send("DELETE /eureka/apps/A/i HTTP/1.1\r\nhost: h\r\n\r\n").await;
    assert!(client.head().await.starts_with("http/1.1 404 "));
    drop(client);
    bench.process.stop().await;
    serving.await.unwrap();
}

#[tokio::test]
async fn connections_are_kept_refused_and_ended_in_order() {
    let bench = Bench::following(&["--max-body", "1000", "--max-connections", "2"]).await;
    *bench.registry.renew.lock() =
        Some(Ok(RenewResponse { outcome: RenewOutcome::Renewed.into(), ..RenewResponse::default() }));
    let listener = Listener::bind(&"127.0.0.1:0".parse().unwrap()).await.unwrap();
    let address = listener.local_address().clone();
    let serving = tokio::spawn(Arc::clone(&bench.facade).serve(listener));
    let mut client = Client(address.connect().await.unwrap());

    for _ in 0..3 {
        client.send("PUT /eureka/apps/A/i HTTP/1.1\r\nhost: h\r\ncontent-length: 2\r\n\r\n{}").await;
        let head = client.head().await;
        assert!(head.starts_with("http/1.1 200 ok\r\n") && head.contains("content-length: 0\r\n"), "{head}");
    }
    client.send("HEAD /livez HTTP/1.1\r\nhost: h\r\n\r\n").await;
    let head = client.head().await;
    assert!(head.starts_with("http/1.1 200 ok\r\n") && head.contains("content-length: 6\r\n"), "{head}");

    // Too long as announced: refused, and the connection goes on.
    let long = "x".repeat(2000);
    client
        .send(&format!(
            "POST /eureka/apps/A HTTP/1.1\r\nhost: h\r\ncontent-type: application/json\r\ncontent-length: 2000\r\n\r\n{long}"
        ))
        .await;
    assert!(client.head().await.starts_with("http/1.1 413 "));
    client.send("DELETE /eureka/apps/A/i HTTP/1.1\r\nhost: h\r\n\r\n").await;
    assert!(client.head().await.starts_with("http/1.1 404 "));

    // The third connection is served once one of the two before it has ended.
    let second = Client(address.connect().await.unwrap());
    let mut third = Client(address.connect().await.unwrap());
    third.send("GET /livez HTTP/1.1\r\nhost: h\r\n\r\n").await;
    drop(second);
    assert!(third.head().await.starts_with("http/1.1 200 "));

    // A request under way is answered before the end, and told that it was the last.
    let asleep = bench.clock.sleepers();
    client
        .send("POST /eureka/apps/A HTTP/1.1\r\nhost: h\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n")
        .await;
    eventually("the body is waited for", || bench.clock.sleepers() > asleep).await;
    let stopping = tokio::spawn({
        let process = bench.process.clone();
        async move { process.stop().await }
    });
    eventually("the process stops", || bench.process.stopping().is_cancelled()).await;
    client.send("{}").await;
    let head = client.head().await;
    assert!(head.starts_with("http/1.1 400 ") && head.contains("connection: close\r\n"), "{head}");
    serving.await.unwrap();
    stopping.await.unwrap();
    assert!(address.connect().await.is_err());
}
