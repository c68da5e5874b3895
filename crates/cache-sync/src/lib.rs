//! Tier 2, the read-write cache: a view of the registry and its encoded pages.
//! Called by http-facade (follow, subscribe); follows registry-core (Watch). Map: docs/ARCHITECTURE.md.

mod config;
mod delta;
mod expiry;
mod follow_registry;
mod follower;
mod interest;
mod keys;
mod leaf;
mod metrics;
mod paged_list;
mod refresh;
mod service;
mod shown;
mod view;
mod view_state;
mod vips;

pub use config::{Config, FirstDeltaVersion};
pub use service::CacheSync;

use anyhow::Context as _;
use registry_proto::{FILE_DESCRIPTOR_SET, Registry, cache::cache_service_server::CacheServiceServer};
use service_runtime::{Address, Listener, ProcessHandle, grpc};
use std::sync::Arc;
use tonic::service::Routes;

/// Runs cache-sync as a process of its own: serves `CacheService` on `listen` until the process stops.
///
/// # Errors
/// The address cannot be listened on.
pub async fn run(config: Config, listen: Address, registry: Registry, process: ProcessHandle) -> anyhow::Result<()> {
    let listener = Listener::bind(&listen).await.context("open the gRPC port")?;
    let cache = CacheSync::start(&config, registry, &process);
    let services = grpc::with_reflection(Routes::new(server(cache)), FILE_DESCRIPTOR_SET)?;
    grpc::serve(services, listener, process).await
}

/// The service as a gRPC server, with the message sizes that all of ours have.
pub fn server(cache: Arc<CacheSync>) -> CacheServiceServer<CacheSync> {
    CacheServiceServer::from_arc(cache)
        .max_decoding_message_size(grpc::MAX_MESSAGE_BYTES)
        .max_encoding_message_size(grpc::MAX_MESSAGE_BYTES)
}
