//! Tier 3, the read-only cache, and the Eureka REST API.
//! Clients of any kind call it; it calls registry-core (writes, renewals, single instances) and cache-sync (cached reads).
//! Map: docs/ARCHITECTURE.md.

mod apply;
mod body;
mod config;
mod error;
mod facade;
mod follow;
mod keys;
mod metrics;
mod misses;
mod read_only;
mod read_your_writes;
mod renewals;
mod request_body;
mod resource;
mod respond;
mod router;
mod routes;
mod server;
#[cfg(test)]
mod tests;
mod tier;
mod upstream;

pub use body::Body;
pub use config::{Config, Settings};
pub use facade::Facade;
pub use upstream::Upstream;

use anyhow::Context;
use service_runtime::{Listener, ProcessHandle, grpc};

/// A facade as a process of its own: REST on one address, health and metrics on the gRPC one.
///
/// # Errors
/// An address that cannot be listened on.
pub async fn run(settings: Settings, process: ProcessHandle) -> anyhow::Result<()> {
    let http = Listener::bind(&settings.facade.http_listen).await.context("serve HTTP")?;
    let operations = Listener::bind(&settings.process.grpc_listen).await.context("serve gRPC")?;
    let upstream = Upstream::remote(&settings.registry, &settings.cache);
    let facade = Facade::new(&settings.facade, upstream, &process);
    process.spawn("grpc", grpc::serve(tonic::service::Routes::default(), operations, process.clone()));
    facade.serve(http).await;
    Ok(())
}
