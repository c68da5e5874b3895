//! What the evictor calls: registry-core's lease report and eviction. Used by `rounds`, `execute` and `service`.

use registry_model::{ExpiredLease, LeaseReport};
use registry_proto::{
    IntoModel, Registry,
    registry::{EvictRequest, ReportLeasesRequest},
    to_status,
};
use std::time::Duration;
use tonic::{Request, Status};

/// The leases, as far as the evictor is concerned.
#[tonic::async_trait]
pub(crate) trait Leases: Send + Sync + 'static {
    /// Those that have run out, even with `extra` time.
    async fn report(&self, extra: Duration) -> Result<LeaseReport, Status>;
    /// Removes these, unless they were renewed since. How many that were.
    async fn evict(&self, leases: Vec<ExpiredLease>) -> Result<u64, Status>;
}

#[tonic::async_trait]
impl Leases for Registry {
    async fn report(&self, extra: Duration) -> Result<LeaseReport, Status> {
        let extra_ms = u64::try_from(extra.as_millis()).unwrap_or(u64::MAX);
        let report = self.report_leases(Request::new(ReportLeasesRequest { extra_ms })).await?.into_inner();
        report.into_model().map_err(|error| to_status(&error))
    }

    async fn evict(&self, leases: Vec<ExpiredLease>) -> Result<u64, Status> {
        let request = EvictRequest { leases: leases.into_iter().map(Into::into).collect() };
        // The trait's own method, not this one again.
        let evicted = (**self).evict(Request::new(request)).await?.into_inner().evicted;
        Ok(evicted)
    }
}
