//! The closed loop that drives connections. Called by register, renew, fetch and churn, which say what to send; returns a
//! tally of what came back.

use std::num::NonZeroUsize;
use std::time::Duration;

use anyhow::Context;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};

use crate::connection::{Connection, Target};
use crate::cpu::{CpuTime, Memory, WatchedProcess};
use crate::response::{Expect, Reuse};
use crate::tally::Tally;

/// A connection gives up after this many failed attempts to connect again in a row.
const RECONNECT_ATTEMPTS: u32 = 20;
const RECONNECT_PAUSE: Duration = Duration::from_millis(50);

/// What one connection sends, in order.
pub(crate) trait Requests: Send + 'static {
    /// The next request's bytes; nothing when all are sent.
    fn next(&mut self) -> Option<&[u8]>;

    /// Whether a run may end here. Asked before each request; a source of sequences says no in the middle of one.
    fn at_rest(&self) -> bool {
        true
    }
}

/// When requests are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    /// The next as soon as the answer is in.
    FlatOut,
    /// One per this time over all connections together. A late one is sent at once, and its latency counts from the
    /// time at which it was due, so that a slow server cannot hide its delay.
    Every(Duration),
}

/// How a run is driven and where it ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    pub(crate) target: Target,
    pub(crate) connections: NonZeroUsize,
    pub(crate) pace: Pace,
    pub(crate) duration: Option<Duration>,
    /// Most requests of all connections together.
    pub(crate) count: Option<u64>,
    pub(crate) pid: Option<u32>,
}

/// What came of a run.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) tally: Tally,
    pub(crate) elapsed: Duration,
    pub(crate) server: Option<Usage>,
    /// CPU time of the load generator itself.
    pub(crate) client_cpu: Duration,
}

/// What the watched server used during a run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Usage {
    pub(crate) cpu: CpuTime,
    /// At the end of the run.
    pub(crate) memory: Memory,
}

impl Load {
    /// Opens all connections, then drives one source on each; `source_of` gets the number of the connection.
    pub(crate) async fn run<S: Requests>(&self, source_of: impl Fn(usize) -> S) -> anyhow::Result<Outcome> {
        let server = self.pid.map(WatchedProcess::open).transpose()?;
        let client = WatchedProcess::own()?;
        let mut ready = Vec::with_capacity(self.connections.get());
        for number in 0..self.connections.get() {
            let connection = Connection::open(self.target).await.context("connect to the target")?;
            ready.push((number, connection, source_of(number), Tally::new()?));
        }

        let mut tally = Tally::new()?;
        let server_before = server.map(|process| process.cpu()).transpose()?;
        let client_before = client.total()?;
        let started = Instant::now();
        let mut workers = JoinSet::new();
        for (number, connection, source, tally) in ready {
            let worker = Worker {
                target: self.target,
                connection,
                source,
                turns: Turns::new(self.pace, self.connections, number, started),
                ends: self.duration.map(|duration| started + duration),
                left: self.share_of(number),
                tally,
            };
            workers.spawn(worker.work(started));
        }
        while let Some(finished) = workers.join_next().await {
            tally.merge(finished.context("a connection's task died")?)?;
        }
        let elapsed = started.elapsed();
        let client_cpu = client.total()?.saturating_sub(client_before);
        let server = match (server, server_before) {
            (Some(process), Some(before)) => {
                Some(Usage { cpu: process.cpu()?.since(&before), memory: process.memory()? })
            }
            (None, _) | (_, None) => None,
        };
        Ok(Outcome { tally, elapsed, server, client_cpu })
    }

    /// How many requests one connection may send.
    fn share_of(&self, number: usize) -> u64 {
        let Some(count) = self.count else { return u64::MAX };
        let connections = self.connections.get() as u64;
        count / connections + u64::from((number as u64) < count % connections)
    }
}

struct Worker<S> {
    target: Target,
    connection: Connection,
    source: S,
    turns: Turns,
    ends: Option<Instant>,
    left: u64,
    tally: Tally,
}

impl<S: Requests> Worker<S> {
    async fn work(mut self, started: Instant) -> Tally {
        let mut now = started;
        loop {
            let ends = if self.source.at_rest() { self.ends } else { None };
            if self.source.at_rest() && (self.left == 0 || ends.is_some_and(|ends| now >= ends)) {
                break;
            }
            let Some(began) = self.turns.next(now, ends).await else { break };
            let Some(request) = self.source.next() else { break };
            self.left = self.left.saturating_sub(1);
            let result = self.connection.exchange(request, Expect::Body).await;
            now = Instant::now();
            let usable = match result {
                Ok(response) => {
                    self.tally.answered(&response, now.duration_since(began));
                    if !response.is_success() {
                        self.tally.explain(&response, &self.connection.excerpt());
                    }
                    match response.reuse {
                        Reuse::KeepAlive => true,
                        Reuse::Close => {
                            self.tally.reopened += 1;
                            false
                        }
                    }
                }
                Err(error) => {
                    self.tally.unanswered(&error);
                    false
                }
            };
            if !usable {
                if !self.reconnect().await {
                    break;
                }
                now = Instant::now();
            }
        }
        self.tally
    }

    /// Says whether there is a fresh connection. Every failed attempt is counted.
    async fn reconnect(&mut self) -> bool {
        for _ in 0..RECONNECT_ATTEMPTS {
            match Connection::open(self.target).await {
                Ok(connection) => {
                    self.connection = connection;
                    return true;
                }
                Err(error) => self.tally.not_connected(&error),
            }
            if self.ends.is_some_and(|ends| Instant::now() >= ends) {
                break;
            }
            sleep(RECONNECT_PAUSE).await;
        }
        false
    }
}

/// The times at which one connection sends.
#[derive(Debug)]
enum Turns {
    AtOnce,
    Due { next: Instant, step: Duration },
}

impl Turns {
    /// Connections take turns: the first request of connection n is due n periods after the start.
    fn new(pace: Pace, connections: NonZeroUsize, number: usize, started: Instant) -> Self {
        match pace {
            Pace::FlatOut => Self::AtOnce,
            Pace::Every(period) => {
                Self::Due { next: started + times(period, number), step: times(period, connections.get()) }
            }
        }
    }

    /// Waits for the next turn and returns the time from which its latency counts; nothing if it would come too late.
    async fn next(&mut self, now: Instant, ends: Option<Instant>) -> Option<Instant> {
        match self {
            Self::AtOnce => Some(now),
            Self::Due { next, step } => {
                let due = *next;
                if ends.is_some_and(|ends| due >= ends) {
                    return None;
                }
                *next += *step;
                if due <= now {
                    return Some(due);
                }
                sleep_until(due).await;
                // The timer is up to a millisecond late, which is not the server's delay.
                Some(Instant::now())
            }
        }
    }
}

fn times(period: Duration, factor: usize) -> Duration {
    period.saturating_mul(u32::try_from(factor).unwrap_or(u32::MAX))
}
