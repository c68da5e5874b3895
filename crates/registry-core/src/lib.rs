//! Tier 1, the truth: the lease table, the change log and its fan-out.
//! Called by http-facade (writes, renewals), cache-sync and replication-peer (Watch); calls nobody. Map: docs/ARCHITECTURE.md.

mod access_gate;
mod cancel_grace;
mod change_log;
mod config;
mod eureka_metrics;
mod key_ref;
mod lease_table;
mod life;
mod metrics;
mod overrides;
mod own_instance;
mod preservation;
mod recent;
mod registration;
mod registry;
mod rules;
mod same_address;
mod service;
mod snapshot;
mod watch_hub;

pub use access_gate::{AccessGate, ServeBeforeSync};
pub use config::Config;
pub use lease_table::{ChangesStatus, LeaseEntry, LeaseTable, Moment, Renewal, RenewalCall};
pub use life::Life;
pub use overrides::Overrides;
pub use own_instance::OwnInstance;
pub use preservation::PreservationSettings;
pub use rules::Rules;
pub use service::RegistryCore;

use anyhow::Context as _;
use registry_proto::{FILE_DESCRIPTOR_SET, registry::registry_service_server::RegistryServiceServer};
use service_runtime::{Address, Listener, ProcessHandle, grpc};
use std::sync::Arc;
use tonic::service::Routes;

/// Runs registry-core as a process of its own: serves `RegistryService` on `listen` until the process stops.
///
/// # Errors
/// The address cannot be listened on.
pub async fn run(config: Config, listen: Address, process: ProcessHandle) -> anyhow::Result<()> {
    let listener = Listener::bind(&listen).await.context("open the gRPC port")?;
    let core = RegistryCore::start(&config, Life::random(), &process);
    let services = grpc::with_reflection(Routes::new(server(core)), FILE_DESCRIPTOR_SET)?;
    grpc::serve(services, listener, process).await
}

/// The service as a gRPC server, with the message sizes that all of ours have.
pub fn server(core: Arc<RegistryCore>) -> RegistryServiceServer<RegistryCore> {
    RegistryServiceServer::from_arc(core)
        .max_decoding_message_size(grpc::MAX_MESSAGE_BYTES)
        .max_encoding_message_size(grpc::MAX_MESSAGE_BYTES)
}
