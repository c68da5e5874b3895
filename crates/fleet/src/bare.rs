//! `fleet bare`: the barest HTTP server with the same HTTP library as the real one. Called by `lib.rs`; its throughput is
//! the limit that a real server is compared with.

use std::convert::Infallible;
use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use bytes::Bytes;
use clap::{Args, ValueEnum};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio_util::task::TaskTracker;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Address to listen on, `HOST:PORT`; port 0 takes a free one, which is printed.
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: String,
    /// File whose bytes answer every GET.
    #[arg(long, conflicts_with = "body_size")]
    body: Option<PathBuf>,
    /// Answer every GET with this many bytes.
    #[arg(long, default_value_t = 0)]
    body_size: usize,
    /// Content encoding to declare for the bytes; they are sent as they are.
    #[arg(long, value_enum)]
    encoding: Option<Declared>,
}

/// A content encoding to declare.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Declared {
    Gzip,
}

/// What every GET is answered with.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) body: Bytes,
    pub(crate) content_encoding: Option<HeaderValue>,
}

/// Serves until the process is ended from outside.
pub(crate) async fn run(options: &Options) -> anyhow::Result<Infallible> {
    let body = match &options.body {
        Some(path) => std::fs::read(path).with_context(|| format!("read {}", path.display()))?,
        None => vec![b'x'; options.body_size],
    };
    let content_encoding = options.encoding.map(|Declared::Gzip| HeaderValue::from_static("gzip"));
    let listener = TcpListener::bind(&options.listen).await.with_context(|| format!("listen on {}", options.listen))?;
    let address = listener.local_addr().context("find the own address")?;
    let mut out = std::io::stdout();
    writeln!(out, "listening on {address}, process {}", std::process::id()).context("write the address")?;
    out.flush().context("write the address")?;
    serve(listener, Answer { body: Bytes::from(body), content_encoding }).await
}

pub(crate) async fn serve(listener: TcpListener, answer: Answer) -> anyhow::Result<Infallible> {
    let connections = TaskTracker::new();
    loop {
        let (stream, _) = listener.accept().await.context("accept a connection")?;
        stream.set_nodelay(true).context("set TCP_NODELAY")?;
        let answer = answer.clone();
        connections.spawn(async move {
            let service = service_fn(|request| respond(request, &answer));
            // A connection that ends badly is the client's to count.
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

async fn respond(request: Request<Incoming>, answer: &Answer) -> Result<Response<Full<Bytes>>, hyper::Error> {
    let method = request.method();
    if method == Method::GET || method == Method::HEAD {
        let mut response = Response::new(Full::new(answer.body.clone()));
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(encoding) = &answer.content_encoding {
            response.headers_mut().insert(CONTENT_ENCODING, encoding.clone());
        }
        return Ok(response);
    }
    let mut response = Response::new(Full::default());
    if method == Method::POST {
        // Unread, the body would cost the connection.
        request.into_body().collect().await?;
        *response.status_mut() = StatusCode::NO_CONTENT;
    }
    Ok(response)
}
