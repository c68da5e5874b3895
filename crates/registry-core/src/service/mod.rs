//! `RegistryService` as others see it: each method converts its message and calls the registry.
//! Called by http-facade, cache-sync and replication-peer, in process or over gRPC.

mod commands;
mod leases;
mod opening;
mod own_instance;
mod queries;
mod renewals;
#[cfg(test)]
mod tests;
mod watch;

use crate::{AccessGate, Config, Life, metrics::Metrics, registry::Registry};
use registry_proto::{
    BoxStream, registry,
    registry::{
        CancelRequest, CancelResponse, GetInstanceRequest, GetInstanceResponse, RegisterRequest, RegisterResponse,
        RenewBatchRequest, RenewBatchResponse, RenewRequest, RenewResponse, WatchRequest, WatchResponse,
        registry_service_server::RegistryService,
    },
};
use service_runtime::ProcessHandle;
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status};

/// Tier 1: the registry behind its interface.
pub struct RegistryCore {
    registry: Arc<Registry>,
    /// Ends the watches when the process stops.
    stopping: CancellationToken,
    process: ProcessHandle,
    gate: AccessGate,
    cold_start: Duration,
    /// Whether the start-up sync has ended.
    synced: AtomicBool,
}

impl RegistryCore {
    /// An empty registry without peers, cold for as long as the settings say; it lives as long as the process.
    pub fn start(config: &Config, life: Life, process: &ProcessHandle) -> Arc<Self> {
        let core = Self::start_before_sync(config, life, process);
        // There is nobody to copy from.
        core.start_up_sync_ended(0);
        core
    }

    /// An empty registry that is to be filled by a start-up sync; it lives as long as the process. Until
    /// [`start_up_sync_ended`](Self::start_up_sync_ended) it is cold, and lists are served only if the settings say so.
    pub fn start_before_sync(config: &Config, life: Life, process: &ProcessHandle) -> Arc<Self> {
        let metrics = process.metrics().register(Metrics::new);
        let registry = Registry::new(life, config, process.clock(), metrics);
        let core = Arc::new(Self {
            registry: Arc::new(registry),
            stopping: process.stopping(),
            process: process.clone(),
            gate: config.access_gate.clone(),
            cold_start: config.cold_start,
            synced: AtomicBool::new(false),
        });
        if let Some(own) = config.own_instance.description(core.registry.now().unix) {
            process.spawn("own instance", own_instance::keep(Arc::clone(&core.registry), own, process.clone()));
        }
        process.spawn("lease ticks", leases::tick(Arc::clone(&core.registry), process.clone()));
        core
    }

    /// The start-up sync has ended and copied so many instances from other servers; only the first call counts.
    pub fn start_up_sync_ended(&self, instances: u64) {
        if !self.synced.swap(true, Ordering::AcqRel) {
            opening::sync_ended(self, instances);
        }
    }
}

#[tonic::async_trait]
impl RegistryService for RegistryCore {
    type WatchStream = BoxStream<WatchResponse>;

    async fn register(&self, request: Request<RegisterRequest>) -> Result<Response<RegisterResponse>, Status> {
        commands::register(&self.registry, request.into_inner()).map(Response::new)
    }

    async fn renew(&self, request: Request<RenewRequest>) -> Result<Response<RenewResponse>, Status> {
        Ok(Response::new(renewals::renew(&self.registry, request.get_ref())))
    }

    async fn renew_batch(&self, request: Request<RenewBatchRequest>) -> Result<Response<RenewBatchResponse>, Status> {
        renewals::renew_batch(&self.registry, request.get_ref()).map(Response::new)
    }

    async fn cancel(&self, request: Request<CancelRequest>) -> Result<Response<CancelResponse>, Status> {
        Ok(Response::new(commands::cancel(&self.registry, request.get_ref())))
    }

    async fn set_status(
        &self,
        request: Request<registry::SetStatusRequest>,
    ) -> Result<Response<registry::SetStatusResponse>, Status> {
        commands::set_status(&self.registry, request.get_ref()).map(Response::new)
    }

    async fn clear_status(
        &self,
        request: Request<registry::ClearStatusRequest>,
    ) -> Result<Response<registry::ClearStatusResponse>, Status> {
        commands::clear_status(&self.registry, request.get_ref()).map(Response::new)
    }

    async fn add_metadata(
        &self,
        request: Request<registry::AddMetadataRequest>,
    ) -> Result<Response<registry::AddMetadataResponse>, Status> {
        commands::add_metadata(&self.registry, request.get_ref()).map(Response::new)
    }

    async fn get_lease_times(
        &self,
        request: Request<registry::GetLeaseTimesRequest>,
    ) -> Result<Response<registry::GetLeaseTimesResponse>, Status> {
        queries::get_lease_times(&self.registry, request.get_ref()).map(Response::new)
    }

    async fn list_overrides(
        &self,
        _: Request<registry::ListOverridesRequest>,
    ) -> Result<Response<registry::ListOverridesResponse>, Status> {
        Ok(Response::new(queries::list_overrides(&self.registry)))
    }

    async fn get_statistics(
        &self,
        request: Request<registry::GetStatisticsRequest>,
    ) -> Result<Response<registry::GetStatisticsResponse>, Status> {
        leases::statistics(&self.registry, request.get_ref()).await.map(Response::new)
    }

    async fn report_leases(
        &self,
        request: Request<registry::ReportLeasesRequest>,
    ) -> Result<Response<registry::ReportLeasesResponse>, Status> {
        leases::report(&self.registry, request.get_ref()).await.map(Response::new)
    }

    async fn evict(
        &self,
        request: Request<registry::EvictRequest>,
    ) -> Result<Response<registry::EvictResponse>, Status> {
        leases::evict(&self.registry, request.into_inner()).await.map(Response::new)
    }

    async fn give_up_missing(
        &self,
        _: Request<registry::GiveUpMissingRequest>,
    ) -> Result<Response<registry::GiveUpMissingResponse>, Status> {
        leases::give_up_missing(&self.registry).await.map(Response::new)
    }

    async fn get_instance(
        &self,
        request: Request<GetInstanceRequest>,
    ) -> Result<Response<GetInstanceResponse>, Status> {
        Ok(Response::new(queries::get_instance(&self.registry, request.get_ref())))
    }

    async fn watch(&self, request: Request<WatchRequest>) -> Result<Response<Self::WatchStream>, Status> {
        Ok(Response::new(watch::stream(&self.registry, request.get_ref(), self.stopping.clone())))
    }
}
