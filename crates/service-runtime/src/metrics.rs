//! The metrics of one process: a registry that services add to and `/metrics` reads. Passed down through `ProcessHandle`,
//! never a global.

use parking_lot::Mutex;
use prometheus_client::encoding::text;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;
use registry_model::UnixMillis;

/// The content type of what `encode` returns.
pub const OPENMETRICS_CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// All metrics of one process.
#[derive(Debug)]
pub struct Metrics {
    registry: Mutex<Registry>,
}

impl Metrics {
    /// Holds what every process reports: its version, its name, when it started.
    pub(crate) fn new(service: &str, started: UnixMillis) -> Self {
        let mut registry = Registry::default();
        registry.register(
            "heureka_build",
            "What runs here",
            Info::new(vec![("version", env!("CARGO_PKG_VERSION").to_owned()), ("service", service.to_owned())]),
        );
        registry.register(
            "process_start_time_seconds",
            "When the process started, in seconds since the Unix epoch",
            ConstGauge::new(started.0 as f64 / 1000.0),
        );
        Self { registry: Mutex::new(registry) }
    }

    /// Lets a service add its metrics; returns what `add` returns.
    pub fn register<T>(&self, add: impl FnOnce(&mut Registry) -> T) -> T {
        add(&mut self.registry.lock())
    }

    /// All metrics as OpenMetrics text.
    pub fn encode(&self) -> String {
        let mut out = String::new();
        if let Err(error) = text::encode(&mut out, &self.registry.lock()) {
            tracing::warn!(%error, "a metric could not be encoded");
        }
        out
    }
}
