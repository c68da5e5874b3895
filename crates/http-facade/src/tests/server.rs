//! The one test over a socket: what only connections can show.

use super::Bench;
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
