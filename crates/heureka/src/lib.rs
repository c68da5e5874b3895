//! All services of one node in one process. Used by this crate's binary and by scenario-tests. Map: docs/ARCHITECTURE.md.

mod restarting;
mod settings;
mod wiring;

pub use settings::{Profile, Settings};
pub use wiring::{Node, Ports, run};
