//! A small HTTP/1.1 client that adds nothing of its own: what a test says is what is sent. One connection per request.

use serde_json::Value;
use service_runtime::Address;
use std::{io::Read, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use crate::document::Applications;

/// Longer than anything may take, in real time.
const PATIENCE: Duration = Duration::from_secs(20);

/// Talks to one address.
#[derive(Clone, Debug)]
pub struct Client {
    address: Address,
}

/// What is to be sent.
#[derive(Clone, Debug)]
pub struct Request {
    head: String,
    body: Vec<u8>,
}

/// What came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// The status code.
    pub status: u16,
    /// Names in lower case, in the order in which they came; without `date`, which no test wants to compare.
    pub headers: Vec<(String, String)>,
    /// The body as it came.
    pub body: Vec<u8>,
}

impl Request {
    /// A request without body; the target goes out as it is.
    pub fn new(method: &str, target: &str) -> Self {
        Self {
            head: format!("{method} {target} HTTP/1.1\r\nhost: node.test\r\nconnection: close\r\n"),
            body: Vec::new(),
        }
    }

    /// A GET.
    pub fn get(target: &str) -> Self {
        Self::new("GET", target)
    }

    /// With one more header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.head.push_str(&format!("{name}: {value}\r\n"));
        self
    }

    /// That takes JSON.
    #[must_use]
    pub fn json(self) -> Self {
        self.header("accept", "application/json")
    }

    /// That takes XML.
    #[must_use]
    pub fn xml(self) -> Self {
        self.header("accept", "application/xml")
    }

    /// That takes gzip.
    #[must_use]
    pub fn gzip(self) -> Self {
        self.header("accept-encoding", "gzip")
    }

    /// With a body and its length.
    #[must_use]
    pub fn body(self, body: impl Into<Vec<u8>>) -> Self {
        let body = body.into();
        let mut request = self.header("content-length", &body.len().to_string());
        request.body = body;
        request
    }

    /// With a body that does not say how long it is, in chunks of 1000 bytes.
    #[must_use]
    pub fn chunked(self, body: &[u8]) -> Self {
        let mut request = self.header("transfer-encoding", "chunked");
        for chunk in body.chunks(1000) {
            request.body.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
            request.body.extend_from_slice(chunk);
            request.body.extend_from_slice(b"\r\n");
        }
        request.body.extend_from_slice(b"0\r\n\r\n");
        request
    }
}

impl Client {
    /// A client of this address.
    pub fn new(address: Address) -> Self {
        Self { address }
    }

    /// Sends a request and reads its answer to the end.
    ///
    /// # Panics
    /// There is no answer within 20 seconds, or none that is HTTP.
    pub async fn send(&self, request: Request) -> Response {
        let exchange = timeout(PATIENCE, self.exchange(request));
        exchange.await.expect("an answer in time")
    }

    async fn exchange(&self, request: Request) -> Response {
        let Address::Tcp { host, port } = &self.address else { panic!("{} is no TCP address", self.address) };
        let mut stream = TcpStream::connect((host.as_str(), *port)).await.expect("a connection");
        let (mut reading, mut writing) = stream.split();
        // Reading goes on while a long body is still being sent: a server may answer before it has seen all of it.
        let send = async {
            let head = format!("{}\r\n", request.head);
            let _ = writing.write_all(head.as_bytes()).await;
            let _ = writing.write_all(&request.body).await;
        };
        let mut received = Vec::new();
        let receive = async {
            let mut chunk = vec![0; 64 << 10];
            loop {
                match reading.read(&mut chunk).await {
                    Ok(0) | Err(_) => break,
                    Ok(length) => received.extend_from_slice(&chunk[..length]),
                }
            }
        };
        futures::future::join(send, receive).await;
        let is_head = request.head.starts_with("HEAD ");
        Response::parse(&received, is_head)
    }

    /// The status, the body of the answer being empty.
    ///
    /// # Panics
    /// The answer has a body, or does not say that it has none.
    pub async fn status(&self, request: Request) -> u16 {
        let response = self.send(request).await;
        assert!(response.body.is_empty(), "{response:?}");
        response.status
    }

    /// The document of applications at a path, read as JSON.
    ///
    /// # Panics
    /// The answer is none.
    pub async fn applications(&self, target: &str) -> Applications {
        self.send(Request::get(target).json()).await.applications()
    }

    /// The instance at a path, read as JSON.
    ///
    /// # Panics
    /// The answer is none.
    pub async fn instance(&self, target: &str) -> Value {
        let response = self.send(Request::get(target).json()).await;
        assert_eq!(response.status, 200, "{target}");
        response.json()["instance"].clone()
    }
}

impl Response {
    fn parse(received: &[u8], is_head: bool) -> Self {
        let mut headers = [httparse::EMPTY_HEADER; 32];
        let mut response = httparse::Response::new(&mut headers);
        let parsed = response.parse(received).expect("an HTTP answer");
        let httparse::Status::Complete(start) = parsed else {
            panic!("half an answer: {:?}", String::from_utf8_lossy(received))
        };
        let headers = response
            .headers
            .iter()
            .filter(|header| !header.name.eq_ignore_ascii_case("date"))
            .map(|header| {
                (header.name.to_ascii_lowercase(), String::from_utf8(header.value.to_vec()).expect("a plain header"))
            })
            .collect();
        let whole = Self { status: response.code.expect("a status"), headers, body: received[start..].to_vec() };
        match whole.header("content-length") {
            Some(length) if !is_head => assert_eq!(length, whole.body.len().to_string(), "a whole body"),
            Some(_) => assert!(whole.body.is_empty(), "HEAD has no body"),
            None => assert!(whole.status == 204 || is_head, "a length is announced: {whole:?}"),
        }
        whole
    }

    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find_map(|(header, value)| (header == name).then_some(value.as_str()))
    }

    /// The body, decompressed where it is compressed.
    ///
    /// # Panics
    /// It is no gzip member.
    pub fn plain(&self) -> Vec<u8> {
        match self.header("content-encoding") {
            None => self.body.clone(),
            Some(coding) => {
                assert_eq!(coding, "gzip");
                let mut plain = Vec::new();
                flate2::read::GzDecoder::new(self.body.as_slice()).read_to_end(&mut plain).expect("a gzip member");
                plain
            }
        }
    }

    /// The body as text.
    ///
    /// # Panics
    /// It is none.
    pub fn text(&self) -> String {
        String::from_utf8(self.plain()).expect("text")
    }

    /// The body as JSON.
    ///
    /// # Panics
    /// It is none.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.plain()).expect("JSON")
    }

    /// The body as a document of applications, in the form that its type says.
    ///
    /// # Panics
    /// The answer is not 200, or the document is none.
    pub fn applications(&self) -> Applications {
        assert_eq!(self.status, 200, "{}", self.text());
        match self.header("content-type") {
            Some("application/json") => Applications::from_json(&self.plain()),
            Some("application/xml") => Applications::from_xml(&self.plain()),
            other => panic!("no such type: {other:?}"),
        }
    }
}
