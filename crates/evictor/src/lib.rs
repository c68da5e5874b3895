//! When to look for leases that have run out, and how many and which of them go.
//! Calls registry-core (lease report, eviction); called by operators. Map: docs/ARCHITECTURE.md.

mod config;
mod execute;
mod metrics;
mod plan;
mod policy;
mod rounds;
mod service;
mod upstream;

pub use config::Config;
pub use plan::EvictionPlan;
pub use policy::{EvictionPolicy, ShareLimit};
pub use service::Evictor;

use anyhow::Context as _;
use registry_model::RenewalPercentThreshold;
use registry_proto::{FILE_DESCRIPTOR_SET, Registry, eviction::eviction_service_server::EvictionServiceServer};
use service_runtime::{Address, Listener, ProcessHandle, grpc};
use std::sync::Arc;
use tonic::service::Routes;

/// Runs the evictor as a process of its own: evicts, and serves `EvictionService` on `listen`, until the process stops.
///
/// # Errors
/// The address cannot be listened on.
pub async fn run(
    config: Config,
    share: RenewalPercentThreshold,
    listen: Address,
    registry: Registry,
    process: ProcessHandle,
) -> anyhow::Result<()> {
    let listener = Listener::bind(&listen).await.context("open the gRPC port")?;
    let evictor = Evictor::new(&config, share, registry, &process);
    let rounds = Arc::clone(&evictor);
    process.spawn("eviction rounds", async move {
        rounds.run().await;
        Ok(())
    });
    let services = grpc::with_reflection(Routes::new(server(evictor)), FILE_DESCRIPTOR_SET)?;
    grpc::serve(services, listener, process).await
}

/// The service as a gRPC server, with the message sizes that all of ours have.
pub fn server(evictor: Arc<Evictor>) -> EvictionServiceServer<Evictor> {
    EvictionServiceServer::from_arc(evictor)
        .max_decoding_message_size(grpc::MAX_MESSAGE_BYTES)
        .max_encoding_message_size(grpc::MAX_MESSAGE_BYTES)
}
