//! Tier 3, the read-only cache, and the Eureka REST API.
//! Clients of any kind call it; it calls registry-core (writes, renewals, single instances) and cache-sync (cached reads).
//! Map: docs/ARCHITECTURE.md.

mod apply;
mod body;
mod config;
mod context_path;
mod error;
mod eureka_metrics;
mod facade;
mod follow;
mod gate;
mod identity;
mod keys;
mod machine;
mod metrics;
mod misses;
mod parameters;
mod progress;
mod rate_limiter;
mod read_only;
mod read_your_writes;
mod registry_service;
mod renewals;
mod request_body;
mod request_document;
mod respond;
mod router;
mod routes;
mod server;
#[cfg(test)]
mod tests;
mod tier;
mod upstream;
mod watch_relay;

pub use body::Body;
pub use config::{Config, Settings};
pub use context_path::ContextPath;
pub use facade::Facade;
pub use rate_limiter::RateLimits;
pub use registry_service::PublicRegistry;
pub use upstream::Upstream;

use anyhow::Context;
use registry_proto::{FILE_DESCRIPTOR_SET, registry::registry_service_server::RegistryServiceServer};
use service_runtime::{Listener, ProcessHandle, grpc};
use std::sync::Arc;
use tonic::service::Routes;

/// A facade as a process of its own: REST on one address, the registry's commands and reads on the gRPC one.
///
/// # Errors
/// An address that cannot be listened on.
pub async fn run(settings: Settings, process: ProcessHandle) -> anyhow::Result<()> {
    let http = Listener::bind(&settings.facade.http_listen).await.context("serve HTTP")?;
    let operations = Listener::bind(&settings.process.grpc_listen).await.context("serve gRPC")?;
    let upstream = Upstream::remote(&settings.registry, &settings.cache);
    let facade = Facade::new(&settings.facade, upstream, &process);
    let services = grpc::with_reflection(Routes::new(server(&facade)), FILE_DESCRIPTOR_SET)?;
    process.spawn("grpc", grpc::serve(services, operations, process.clone()));
    facade.serve(http).await;
    Ok(())
}

/// The registry's commands and reads for users, as a gRPC server.
pub fn server(facade: &Arc<Facade>) -> RegistryServiceServer<PublicRegistry> {
    RegistryServiceServer::new(PublicRegistry::of(facade))
        .max_decoding_message_size(grpc::MAX_MESSAGE_BYTES)
        .max_encoding_message_size(grpc::MAX_MESSAGE_BYTES)
}
