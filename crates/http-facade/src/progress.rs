//! What the connections are doing, so that none keeps its place without getting on. Each connection notes it in passing, without
//! a clock; `server` looks at all of them now and then.

use crate::metrics::Metrics;
use registry_model::Mono;
use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_util::sync::CancellationToken;

/// How often connections are looked at; what they are given is given up to this much longer.
pub(crate) const LOOK: Duration = Duration::from_secs(5);

/// What one connection is doing. Written by its own task, read by the one that looks.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// A request is being answered.
    answering: AtomicBool,
    /// Bytes wait for the client to take some.
    writing: AtomicBool,
    /// Something has come since the last request, but not yet a request.
    begun: AtomicBool,
    /// Counts what shows that the connection gets on: requests, answers, bytes taken by the client.
    steps: AtomicU64,
}

impl Progress {
    fn step(&self) {
        // One writer, so this needs no locked addition.
        self.steps.store(self.steps.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }

    /// A request has come.
    pub(crate) fn request(&self) {
        self.begun.store(false, Ordering::Relaxed);
        self.answering.store(true, Ordering::Relaxed);
        self.step();
    }

    /// Its answer is ready to be sent.
    pub(crate) fn answer(&self) {
        self.answering.store(false, Ordering::Relaxed);
        self.step();
    }

    fn has_read(&self) {
        if !self.answering.load(Ordering::Relaxed) {
            self.begun.store(true, Ordering::Relaxed);
        }
    }

    fn has_tried_to_write(&self, waits: bool) {
        self.writing.store(waits, Ordering::Relaxed);
        if !waits {
            self.step();
        }
    }

    /// What the client keeps it waiting for. `None`: it waits for this process, which has bounds of its own for bodies and calls.
    fn awaits(&self) -> Option<Awaits> {
        if self.writing.load(Ordering::Relaxed) {
            Some(Awaits::Reading)
        } else if self.answering.load(Ordering::Relaxed) {
            None
        } else if self.begun.load(Ordering::Relaxed) {
            Some(Awaits::RestOfHead)
        } else {
            Some(Awaits::Request)
        }
    }
}

/// What a client can keep a connection waiting for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Awaits {
    /// That it takes what is sent.
    Reading,
    /// The rest of a request's head.
    RestOfHead,
    /// Another request, or the first.
    Request,
}

impl Awaits {
    pub(crate) const ALL: [Self; 3] = [Self::Reading, Self::RestOfHead, Self::Request];

    /// How long without a step.
    const fn patience(self) -> Duration {
        match self {
            Self::Reading | Self::RestOfHead => Duration::from_secs(30),
            // Longer than the pause between two heartbeats, which many clients send over one connection.
            Self::Request => Duration::from_secs(100),
        }
    }

    /// As metrics name it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Reading => "slow_reader",
            Self::RestOfHead => "slow_request",
            Self::Request => "idle",
        }
    }
}

/// How a connection is ended.
#[derive(Clone, Debug)]
pub(crate) struct Ends {
    /// In order, because the process stops, or at once, if it has been given up; a token of its own for each connection, because
    /// all would otherwise meet at one lock whenever they are polled.
    pub(crate) any: CancellationToken,
    /// At once.
    pub(crate) given_up: CancellationToken,
}

/// The connections of one listener, as whoever looks at them knows them.
#[derive(Debug, Default)]
pub(crate) struct Watched(Vec<One>);

#[derive(Debug)]
struct One {
    progress: Arc<Progress>,
    ends: Ends,
    /// What was seen last, and when it was seen first.
    seen: (Option<Awaits>, u64),
    since: Mono,
}

impl Watched {
    /// Looks after a connection from now on.
    pub(crate) fn add(&mut self, progress: &Arc<Progress>, ends: &Ends, now: Mono) {
        let (progress, ends) = (Arc::clone(progress), ends.clone());
        self.0.push(One { progress, ends, seen: (Some(Awaits::Request), 0), since: now });
    }

    /// Gives up the connections that do not get on, and forgets those that have ended.
    pub(crate) fn look(&mut self, now: Mono, metrics: &Metrics) {
        self.0.retain_mut(|one| {
            // Only this list still knows it.
            if Arc::strong_count(&one.progress) == 1 {
                return false;
            }
            let seen = (one.progress.awaits(), one.progress.steps.load(Ordering::Relaxed));
            if seen != one.seen {
                (one.seen, one.since) = (seen, now);
            }
            match seen {
                (Some(awaits), _) if now.saturating_since(one.since) >= awaits.patience() => {
                    metrics.given_up(awaits);
                    one.ends.given_up.cancel();
                    one.ends.any.cancel();
                    false
                }
                (Some(_) | None, _) => true,
            }
        });
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

/// A connection that notes how it gets on.
#[derive(Debug)]
pub(crate) struct Noting<C> {
    connection: C,
    progress: Arc<Progress>,
}

impl<C> Noting<C> {
    pub(crate) fn new(connection: C, progress: Arc<Progress>) -> Self {
        Self { connection, progress }
    }
}

impl<C: AsyncRead + Unpin> AsyncRead for Noting<C> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buf.filled().len();
        let read = Pin::new(&mut this.connection).poll_read(cx, buf);
        if buf.filled().len() > before {
            this.progress.has_read();
        }
        read
    }
}

impl<C: AsyncWrite + Unpin> AsyncWrite for Noting<C> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.connection).poll_write(cx, buf);
        this.progress.has_tried_to_write(written.is_pending());
        written
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.connection).poll_write_vectored(cx, bufs);
        this.progress.has_tried_to_write(written.is_pending());
        written
    }

    fn is_write_vectored(&self) -> bool {
        self.connection.is_write_vectored()
    }

    // Neither waits for a socket's client.
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().connection).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().connection).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests;
