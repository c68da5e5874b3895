//! Development only: a manual clock, builders, strategies, bounded waits. A dev-dependency of every crate but
//! registry-model.

mod cases;
mod clock;
pub mod instances;
mod wait;

pub use cases::cases;
pub use clock::ManualClock;
pub use wait::{eventually, eventually_async};
