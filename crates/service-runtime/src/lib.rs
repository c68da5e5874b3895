//! What every heureka process shares: settings, logs, metrics, gRPC assembly, ordered stop.
//! Used by every service crate and by `heureka`; knows nothing of the registry but its two kinds of time.

pub mod backoff;
pub mod clock;
pub mod config;
pub mod grpc;
pub mod listener;
pub mod metrics;
pub mod operations;
pub mod process;
pub mod telemetry;

pub use backoff::Backoff;
pub use clock::{SharedClock, SystemClock, Timers};
pub use config::address::Address;
pub use config::{ConfigError, Sources, load, load_with};
pub use listener::{Connection, Listener};
pub use metrics::Metrics;
pub use process::{DegradedFlag, Process, ProcessConfig, ProcessHandle, ReadyFlag};
