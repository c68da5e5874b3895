//! Leases that have run out, and how the registry is. Called by evictor, and by http-facade for those who look after it.
//!
//! A look at all leases is more than an async thread should do in one go.

use crate::{preservation::TICK, recent::Event, registry::Registry};
use registry_proto::{
    IntoModel,
    registry::{
        EvictRequest, EvictResponse, GetStatisticsRequest, GetStatisticsResponse, GiveUpMissingResponse, RecentLease,
        ReportLeasesRequest, ReportLeasesResponse,
    },
    to_status,
};
use service_runtime::ProcessHandle;
use std::{sync::Arc, time::Duration};
use tonic::Status;

/// Off the async threads.
async fn look<T: Send + 'static>(
    registry: &Arc<Registry>,
    look: impl FnOnce(&Registry) -> T + Send + 'static,
) -> Result<T, Status> {
    let registry = Arc::clone(registry);
    tokio::task::spawn_blocking(move || look(&registry))
        .await
        .map_err(|error| Status::internal(format!("look at the leases: {error}")))
}

pub(super) async fn report(
    registry: &Arc<Registry>,
    request: &ReportLeasesRequest,
) -> Result<ReportLeasesResponse, Status> {
    let extra = Duration::from_millis(request.extra_ms);
    look(registry, move |registry| registry.report_leases(extra).into()).await
}

pub(super) async fn evict(registry: &Arc<Registry>, request: EvictRequest) -> Result<EvictResponse, Status> {
    let leases = request.leases.into_iter().map(IntoModel::into_model);
    let leases: Vec<_> = leases.collect::<Result<_, _>>().map_err(|error| to_status(&error))?;
    let (evicted, position) = look(registry, move |registry| registry.evict(&leases)).await?;
    Ok(EvictResponse { evicted, position: Some(position.into()) })
}

pub(super) async fn give_up_missing(registry: &Arc<Registry>) -> Result<GiveUpMissingResponse, Status> {
    let given_up = look(registry, Registry::give_up_missing).await?;
    Ok(GiveUpMissingResponse { given_up })
}

pub(super) async fn statistics(
    registry: &Arc<Registry>,
    request: &GetStatisticsRequest,
) -> Result<GetStatisticsResponse, Status> {
    let recent = usize::try_from(request.recent).unwrap_or(usize::MAX);
    let (leases, figures, preservation) = look(registry, Registry::figures).await?;
    let message = |(at, key): Event| RecentLease { at_ms: at.0, key: Some((&key).into()) };
    Ok(GetStatisticsResponse {
        leases,
        expected_clients: figures.expected_clients,
        renewals_per_minute_threshold: figures.threshold,
        renewals_last_minute: figures.renewals_last_minute,
        expected_renewals_per_minute: figures.expected_per_minute,
        replications_last_minute: figures.replications_last_minute,
        preservation: Some(preservation.into()),
        started_ms: registry.opened().0,
        registered: registry.recently_registered(recent).into_iter().map(message).collect(),
        cancelled: registry.recently_cancelled(recent).into_iter().map(message).collect(),
        status_mismatches: registry.metrics().status_mismatches.get(),
        own: registry.own().map(Into::into),
    })
}

/// Ticks once a second, for as long as the process lives.
pub(super) async fn tick(registry: Arc<Registry>, process: ProcessHandle) -> anyhow::Result<()> {
    let (clock, stopping) = (process.clock(), process.stopping());
    let mut due = clock.mono() + TICK;
    while stopping.run_until_cancelled(clock.sleep_until(due)).await.is_some() {
        look(&registry, Registry::tick).await?;
        // Ticks that were missed are not made up for.
        let now = clock.mono();
        due = if due + TICK > now { due + TICK } else { now + TICK };
    }
    Ok(())
}
