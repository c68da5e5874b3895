//! What a run prints: a table for people, or one JSON object for scripts. Made by the subcommands, printed by `lib.rs`.

use std::collections::BTreeMap;
use std::fmt::Write;

use anyhow::Context;
use serde::Serialize;

use crate::change_cost::ChangeCost;
use crate::cpu::Memory;
use crate::load::{Outcome, Usage};

/// The result of one run.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Report {
    Load(LoadReport),
    ChangeCost(ChangeCost),
}

/// The result of a run that drove connections. Rates are per second; latencies and CPU times in microseconds.
#[derive(Debug, Serialize)]
pub(crate) struct LoadReport {
    pub(crate) command: &'static str,
    pub(crate) target: String,
    pub(crate) connections: usize,
    pub(crate) seconds: f64,
    /// Answered requests, whatever the status.
    pub(crate) requests: u64,
    pub(crate) failed: u64,
    pub(crate) requests_per_second: f64,
    pub(crate) body_bytes_per_second: f64,
    pub(crate) body_bytes_mean: f64,
    pub(crate) body_bytes_largest: u64,
    pub(crate) latency_us: Latency,
    pub(crate) statuses: BTreeMap<u16, u64>,
    pub(crate) errors: BTreeMap<&'static str, u64>,
    pub(crate) first_failure: Option<String>,
    pub(crate) reopened_connections: u64,
    pub(crate) client_cpu_us_per_request: f64,
    pub(crate) server: Option<ServerReport>,
}

/// Latency of answered requests in microseconds.
#[derive(Debug, Serialize)]
pub(crate) struct Latency {
    pub(crate) mean: f64,
    pub(crate) p50: f64,
    pub(crate) p90: f64,
    pub(crate) p99: f64,
    pub(crate) p999: f64,
    pub(crate) max: f64,
}

/// What the server used during the run.
#[derive(Debug, Serialize)]
pub(crate) struct ServerReport {
    pub(crate) cpu_us_per_request: f64,
    pub(crate) cpu_seconds: f64,
    pub(crate) user_seconds: f64,
    pub(crate) system_seconds: f64,
    #[serde(flatten)]
    pub(crate) memory: Memory,
}

impl Report {
    pub(crate) fn load(command: &'static str, target: &str, connections: usize, outcome: Outcome) -> Self {
        let Outcome { tally, elapsed, server, client_cpu } = outcome;
        let requests = tally.requests();
        let micros = |nanoseconds: u64| nanoseconds as f64 / 1000.0;
        let quantile = |quantile| micros(tally.latency.value_at_quantile(quantile));
        let latency_us = Latency {
            mean: tally.latency.mean() / 1000.0,
            p50: quantile(0.5),
            p90: quantile(0.9),
            p99: quantile(0.99),
            p999: quantile(0.999),
            max: micros(tally.latency.max()),
        };
        Self::Load(LoadReport {
            command,
            target: target.to_owned(),
            connections,
            seconds: elapsed.as_secs_f64(),
            requests,
            failed: tally.failed(),
            requests_per_second: ratio(requests as f64, elapsed.as_secs_f64()),
            body_bytes_per_second: ratio(tally.body_bytes as f64, elapsed.as_secs_f64()),
            body_bytes_mean: ratio(tally.body_bytes as f64, requests as f64),
            body_bytes_largest: tally.largest_body,
            latency_us,
            client_cpu_us_per_request: ratio(client_cpu.as_secs_f64() * 1e6, requests as f64),
            server: server.map(|usage| ServerReport::new(&usage, requests)),
            statuses: tally.statuses,
            errors: tally.errors,
            first_failure: tally.first_failure,
            reopened_connections: tally.reopened,
        })
    }

    /// Failed requests of the run.
    pub(crate) fn failed(&self) -> u64 {
        match self {
            Self::Load(report) => report.failed,
            Self::ChangeCost(report) => report.failed,
        }
    }

    pub(crate) fn json(&self) -> anyhow::Result<String> {
        serde_json::to_string(self).context("write the report as JSON")
    }

    pub(crate) fn table(&self) -> String {
        let rows = match self {
            Self::Load(report) => report.rows(),
            Self::ChangeCost(report) => report.rows(),
        };
        let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
        let lines: Vec<String> = rows.iter().map(|(name, value)| format!("{name:width$}  {value}")).collect();
        lines.join("\n")
    }
}

impl ServerReport {
    fn new(usage: &Usage, requests: u64) -> Self {
        Self {
            cpu_us_per_request: ratio(usage.cpu.total.as_secs_f64() * 1e6, requests as f64),
            cpu_seconds: usage.cpu.total.as_secs_f64(),
            user_seconds: usage.cpu.user.as_secs_f64(),
            system_seconds: usage.cpu.system.as_secs_f64(),
            memory: usage.memory,
        }
    }
}

impl LoadReport {
    fn rows(&self) -> Vec<(&'static str, String)> {
        let latency = &self.latency_us;
        let mut rows = vec![
            ("command", format!("{} {}, {} connections", self.command, self.target, self.connections)),
            ("requests", format!("{} in {:.3} s, {:.0} /s", self.requests, self.seconds, self.requests_per_second)),
            ("failed", self.failed.to_string()),
            ("statuses", counts(&self.statuses)),
            (
                "latency µs",
                format!(
                    "p50 {:.1}, p90 {:.1}, p99 {:.1}, p99.9 {:.1}, max {:.1}, mean {:.1}",
                    latency.p50, latency.p90, latency.p99, latency.p999, latency.max, latency.mean
                ),
            ),
        ];
        if self.body_bytes_largest > 0 {
            let rate = self.body_bytes_per_second / 1e6;
            let (mean, largest) = (self.body_bytes_mean, self.body_bytes_largest);
            rows.push(("bodies", format!("{mean:.0} bytes on average, {largest} at most, {rate:.1} MB/s")));
        }
        if !self.errors.is_empty() {
            rows.push(("errors", counts(&self.errors)));
        }
        if let Some(failure) = &self.first_failure {
            rows.push(("first failure", failure.clone()));
        }
        if self.reopened_connections > 0 {
            rows.push(("reopened connections", self.reopened_connections.to_string()));
        }
        rows.push(("client CPU", format!("{:.2} µs/request", self.client_cpu_us_per_request)));
        if let Some(server) = &self.server {
            let ServerReport { cpu_us_per_request, cpu_seconds, user_seconds, system_seconds, memory } = server;
            let split = format!("{cpu_seconds:.3} s: user {user_seconds:.2}, system {system_seconds:.2}");
            rows.push(("server CPU", format!("{cpu_us_per_request:.2} µs/request ({split})")));
            rows.push(("server memory", memory_in_words(memory)));
        }
        rows
    }
}

/// Resident memory in MiB, for a table.
pub(crate) fn memory_in_words(memory: &Memory) -> String {
    let mib = |kib: u64| kib as f64 / 1024.0;
    format!("{:.1} MiB resident, {:.1} MiB at most", mib(memory.rss_kib), mib(memory.rss_peak_kib))
}

fn counts<K: std::fmt::Display>(counts: &BTreeMap<K, u64>) -> String {
    let mut text = String::new();
    for (key, count) in counts {
        let separator = if text.is_empty() { "" } else { ", " };
        // Writing to a string cannot fail.
        let _ = write!(text, "{separator}{key} x {count}");
    }
    if text.is_empty() { "none".to_owned() } else { text }
}

fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}
