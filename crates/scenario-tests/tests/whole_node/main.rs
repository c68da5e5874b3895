//! Whole nodes as their clients see them, most stories in every wiring.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "this is how a test fails; its stories are functions of their own"
)]

mod access_gate;
mod cache_tiers;
mod eviction;
mod operators;
mod read_path;
mod register_self;
mod renewals;
mod restarts;
mod server_semantics;
mod watching;
mod write_path;
