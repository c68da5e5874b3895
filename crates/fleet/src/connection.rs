//! One keep-alive connection: writes a prepared request, reads the answer. Called by `load.rs` and `change_cost.rs`.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Context;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;

use crate::cli::TargetOptions;
use crate::response::{Expect, Malformed, Response, ResponseReader};

/// Larger than any small answer: a read that does not fill the buffer tells the runtime that the socket is drained, which
/// saves one system call for each answer.
const BUFFER_BYTES: usize = 64 * 1024;

/// Where to connect, resolved once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Target {
    address: SocketAddr,
    request_timeout: Duration,
}

/// Why a request got no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ExchangeError {
    #[error("connection failed")]
    Io(#[from] std::io::Error),
    #[error("connection closed before the answer was complete")]
    Closed,
    #[error("answer is malformed")]
    Malformed(#[from] Malformed),
    #[error("no answer in time")]
    TimedOut,
}

/// A connection that carries one request at a time.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: TcpStream,
    request_timeout: Duration,
    reader: ResponseReader,
    buffer: Vec<u8>,
    /// The part of `buffer` that was received and not read yet.
    start: usize,
    end: usize,
}

impl Target {
    pub(crate) async fn resolve(options: &TargetOptions) -> anyhow::Result<Self> {
        let name = &options.target;
        let mut addresses = lookup_host(name).await.with_context(|| format!("resolve {name}"))?;
        let address = addresses.next().with_context(|| format!("resolve {name}: no address"))?;
        Ok(Self { address, request_timeout: options.request_timeout })
    }
}

impl Connection {
    pub(crate) async fn open(target: Target) -> std::io::Result<Self> {
        let connecting = timeout(target.request_timeout, TcpStream::connect(target.address));
        let stream = connecting.await.map_err(std::io::Error::from)??;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            request_timeout: target.request_timeout,
            reader: ResponseReader::new(),
            buffer: vec![0; BUFFER_BYTES],
            start: 0,
            end: 0,
        })
    }

    /// Sends one request and waits for its answer. After an error the connection is of no more use.
    pub(crate) async fn exchange(&mut self, request: &[u8], expect: Expect) -> Result<Response, ExchangeError> {
        let limit = self.request_timeout;
        timeout(limit, self.exchange_unbounded(request, expect)).await.unwrap_or(Err(ExchangeError::TimedOut))
    }

    /// The beginning of the latest answer's body if that answer was a failure.
    pub(crate) fn excerpt(&self) -> String {
        self.reader.excerpt()
    }

    async fn exchange_unbounded(&mut self, request: &[u8], expect: Expect) -> Result<Response, ExchangeError> {
        self.stream.write_all(request).await?;
        loop {
            let received = self.buffer.get(self.start..self.end).unwrap_or_default();
            if !received.is_empty() {
                let progress = self.reader.advance(received, expect)?;
                self.start += progress.consumed;
                if let Some(response) = progress.finished {
                    return Ok(response);
                }
            }
            self.start = 0;
            self.end = self.stream.read(&mut self.buffer).await?;
            if self.end == 0 {
                return self.reader.end_of_stream().ok_or(ExchangeError::Closed);
            }
        }
    }
}

impl ExchangeError {
    /// A short name to count by.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Io(_) => "io",
            Self::Closed => "closed",
            Self::Malformed(_) => "malformed",
            Self::TimedOut => "timeout",
        }
    }
}
