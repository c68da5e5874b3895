//! What happened to the requests of a run: counts and latencies. Filled by `load.rs`, shown by `report.rs`.

use std::collections::BTreeMap;
use std::error::Error;
use std::time::Duration;

use anyhow::Context;
use hdrhistogram::Histogram;

use crate::connection::ExchangeError;
use crate::response::Response;

/// Shortest and longest latency told apart, in nanoseconds.
const LATENCY_BOUNDS: (u64, u64) = (100, 600_000_000_000);
const SIGNIFICANT_DIGITS: u8 = 3;

/// Counts and latencies of one connection, or of all after merging.
#[derive(Debug)]
pub(crate) struct Tally {
    /// Latency of every answered request in nanoseconds.
    pub(crate) latency: Histogram<u64>,
    /// Answers by HTTP status.
    pub(crate) statuses: BTreeMap<u16, u64>,
    /// Requests without an answer, by kind, and connections that could not be opened (`connect`).
    pub(crate) errors: BTreeMap<&'static str, u64>,
    pub(crate) body_bytes: u64,
    /// Largest body of one answer in bytes.
    pub(crate) largest_body: u64,
    /// Connections opened again because the server had ended them in good order.
    pub(crate) reopened: u64,
    /// The first failure in words.
    pub(crate) first_failure: Option<String>,
}

impl Tally {
    pub(crate) fn new() -> anyhow::Result<Self> {
        let (shortest, longest) = LATENCY_BOUNDS;
        let latency =
            Histogram::new_with_bounds(shortest, longest, SIGNIFICANT_DIGITS).context("make the latency histogram")?;
        Ok(Self {
            latency,
            statuses: BTreeMap::new(),
            errors: BTreeMap::new(),
            body_bytes: 0,
            largest_body: 0,
            reopened: 0,
            first_failure: None,
        })
    }

    pub(crate) fn answered(&mut self, response: &Response, latency: Duration) {
        let nanoseconds = u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX);
        self.latency.saturating_record(nanoseconds);
        *self.statuses.entry(response.status).or_default() += 1;
        self.body_bytes += response.body_bytes;
        self.largest_body = self.largest_body.max(response.body_bytes);
    }

    /// Remembers the answer in words if it is the first failure.
    pub(crate) fn explain(&mut self, response: &Response, excerpt: &str) {
        self.first_failure.get_or_insert_with(|| format!("status {} {excerpt}", response.status).trim_end().to_owned());
    }

    pub(crate) fn unanswered(&mut self, error: &ExchangeError) {
        self.count_error(error.kind(), error);
    }

    pub(crate) fn not_connected(&mut self, error: &std::io::Error) {
        self.count_error("connect", error);
    }

    pub(crate) fn merge(&mut self, other: Self) -> anyhow::Result<()> {
        self.latency.add(&other.latency).context("merge latency histograms")?;
        for (status, count) in other.statuses {
            *self.statuses.entry(status).or_default() += count;
        }
        for (kind, count) in other.errors {
            *self.errors.entry(kind).or_default() += count;
        }
        self.body_bytes += other.body_bytes;
        self.largest_body = self.largest_body.max(other.largest_body);
        self.reopened += other.reopened;
        self.first_failure = self.first_failure.take().or(other.first_failure);
        Ok(())
    }

    /// Requests that got any answer.
    pub(crate) fn requests(&self) -> u64 {
        self.latency.len()
    }

    /// Answers other than 2xx, requests without an answer and failed connection attempts.
    pub(crate) fn failed(&self) -> u64 {
        let refused = self.statuses.iter().filter(|(status, _)| !(200..300).contains(*status));
        refused.map(|(_, count)| count).sum::<u64>() + self.errors.values().sum::<u64>()
    }

    fn count_error(&mut self, kind: &'static str, error: &dyn Error) {
        *self.errors.entry(kind).or_default() += 1;
        self.first_failure.get_or_insert_with(|| match error.source() {
            Some(source) => format!("{error}: {source}"),
            None => error.to_string(),
        });
    }
}
