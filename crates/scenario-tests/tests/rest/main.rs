//! The conformance cases of the REST API, row by row, against a whole node with Eureka's defaults, except that changes are pushed.
//!
//! The node is a `scenario_tests::server::Server`: every instance that is read is compared over JSON, XML and the list that has it.
//! `decoder` is a client as strict as any. The other modules are the sections of the cases.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "this is how a test fails"
)]

mod batch;
mod clients;
mod compact;
mod decoder;
mod lists;
mod markup;
mod negotiation;
mod overriding;
mod paths;
mod register;
mod renew;
mod tolerance;
