//! `RegistryService` for users: the registry's commands and reads, passed through; watches come from
//! `watch_relay`. Served by `run` and by `heureka` on the gRPC port.
//! What only the services of a node may do among themselves is refused here: renewals in batches, lease reports, evictions.

use crate::Facade;
use registry_proto::{
    BoxStream,
    registry::{self, registry_service_server::RegistryService},
    types,
};
use std::{fmt, sync::Arc};
use tonic::{Request, Response, Status};

/// The registry as users see it.
#[derive(Clone)]
pub struct PublicRegistry(Arc<Facade>);

impl PublicRegistry {
    /// The registry behind this facade.
    pub fn of(facade: &Arc<Facade>) -> Self {
        Self(Arc::clone(facade))
    }

    /// Users read their own writes, whichever way they write.
    fn acknowledge(&self, position: Option<types::Position>) {
        if let Some(position) = position {
            self.0.tier.acknowledged(position.into());
        }
    }
}

impl fmt::Debug for PublicRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PublicRegistry")
    }
}

fn refused<T>() -> Result<Response<T>, Status> {
    Err(Status::permission_denied("only the services of a node may call this, at the registry itself"))
}

#[tonic::async_trait]
impl RegistryService for PublicRegistry {
    type WatchStream = BoxStream<registry::WatchResponse>;

    async fn register(
        &self,
        request: Request<registry::RegisterRequest>,
    ) -> Result<Response<registry::RegisterResponse>, Status> {
        let response = self.0.registry.register(request).await?;
        self.acknowledge(response.get_ref().position);
        Ok(response)
    }

    async fn renew(
        &self,
        request: Request<registry::RenewRequest>,
    ) -> Result<Response<registry::RenewResponse>, Status> {
        self.0.renewals.renew(request.into_inner()).await.map(Response::new)
    }

    async fn cancel(
        &self,
        request: Request<registry::CancelRequest>,
    ) -> Result<Response<registry::CancelResponse>, Status> {
        let response = self.0.registry.cancel(request).await?;
        self.acknowledge(response.get_ref().position);
        Ok(response)
    }

    async fn set_status(
        &self,
        request: Request<registry::SetStatusRequest>,
    ) -> Result<Response<registry::SetStatusResponse>, Status> {
        let response = self.0.registry.set_status(request).await?;
        self.acknowledge(response.get_ref().position);
        Ok(response)
    }

    async fn clear_status(
        &self,
        request: Request<registry::ClearStatusRequest>,
    ) -> Result<Response<registry::ClearStatusResponse>, Status> {
        let response = self.0.registry.clear_status(request).await?;
        self.acknowledge(response.get_ref().position);
        Ok(response)
    }

    async fn add_metadata(
        &self,
        request: Request<registry::AddMetadataRequest>,
    ) -> Result<Response<registry::AddMetadataResponse>, Status> {
        let response = self.0.registry.add_metadata(request).await?;
        self.acknowledge(response.get_ref().position);
        Ok(response)
    }

    async fn get_instance(
        &self,
        request: Request<registry::GetInstanceRequest>,
    ) -> Result<Response<registry::GetInstanceResponse>, Status> {
        self.0.registry.get_instance(request).await
    }

    async fn get_lease_times(
        &self,
        request: Request<registry::GetLeaseTimesRequest>,
    ) -> Result<Response<registry::GetLeaseTimesResponse>, Status> {
        self.0.registry.get_lease_times(request).await
    }

    async fn list_overrides(
        &self,
        request: Request<registry::ListOverridesRequest>,
    ) -> Result<Response<registry::ListOverridesResponse>, Status> {
        self.0.registry.list_overrides(request).await
    }

    async fn get_statistics(
        &self,
        request: Request<registry::GetStatisticsRequest>,
    ) -> Result<Response<registry::GetStatisticsResponse>, Status> {
        self.0.registry.get_statistics(request).await
    }

    async fn give_up_missing(
        &self,
        request: Request<registry::GiveUpMissingRequest>,
    ) -> Result<Response<registry::GiveUpMissingResponse>, Status> {
        self.0.registry.give_up_missing(request).await
    }

    async fn watch(&self, request: Request<registry::WatchRequest>) -> Result<Response<Self::WatchStream>, Status> {
        Ok(Response::new(self.0.watches.watch(request.get_ref())))
    }

    async fn renew_batch(
        &self,
        _: Request<registry::RenewBatchRequest>,
    ) -> Result<Response<registry::RenewBatchResponse>, Status> {
        refused()
    }

    async fn report_leases(
        &self,
        _: Request<registry::ReportLeasesRequest>,
    ) -> Result<Response<registry::ReportLeasesResponse>, Status> {
        refused()
    }

    async fn evict(&self, _: Request<registry::EvictRequest>) -> Result<Response<registry::EvictResponse>, Status> {
        refused()
    }
}
