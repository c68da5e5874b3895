//! What the evictor offers: `EvictionService`, for operators. Called over gRPC, or by the dashboard.

use crate::{
    Config, EvictionPlan, EvictionPolicy, ShareLimit,
    metrics::Metrics,
    rounds::{Rounds, Switch},
    upstream::Leases,
};
use rand::{SeedableRng, rngs::SmallRng};
use registry_model::RenewalPercentThreshold;
use registry_proto::{
    Registry,
    eviction::{
        ResumeRequest, ResumeResponse, ShowPlanRequest, ShowPlanResponse, SuspendRequest, SuspendResponse,
        eviction_service_server::EvictionService,
    },
};
use service_runtime::ProcessHandle;
use std::{sync::Arc, time::Duration};
use tonic::{Request, Response, Status};

/// The evictor: rounds, and the switch that suspends them.
pub struct Evictor {
    rounds: Rounds<Registry>,
    process: ProcessHandle,
}

impl Evictor {
    /// An evictor of the leases of `registry` that leaves `share` of them in place. Nothing runs before [`Self::run`].
    pub fn new(
        config: &Config,
        share: RenewalPercentThreshold,
        registry: Registry,
        process: &ProcessHandle,
    ) -> Arc<Self> {
        let metrics = process.metrics().register(Metrics::new);
        let rounds = Rounds {
            interval: config.eviction_interval,
            policy: EvictionPolicy { share, limit: ShareLimit::for_rounds_every(config.eviction_interval) },
            registry,
            switch: Arc::new(Switch::default()),
            metrics: Arc::new(metrics),
        };
        Arc::new(Self { rounds, process: process.clone() })
    }

    /// Evicts in rounds until the process stops. Run once at a time; a second run after a panic goes on where the first ended.
    pub async fn run(&self) {
        self.rounds.run(&self.process).await;
    }
}

#[tonic::async_trait]
impl EvictionService for Evictor {
    async fn show_plan(&self, _: Request<ShowPlanRequest>) -> Result<Response<ShowPlanResponse>, Status> {
        let Rounds { policy, registry, switch, .. } = &self.rounds;
        let report = registry.report(Duration::ZERO).await?;
        let plan = EvictionPlan::compute(&report, policy, &mut SmallRng::seed_from_u64(rand::random()));
        Ok(Response::new(ShowPlanResponse {
            suspended: switch.is_suspended(),
            expired: report.expired.len() as u64,
            allowed: policy.allowed(&report),
            evict: plan.into_leases().into_iter().map(Into::into).collect(),
            preservation: Some(report.preservation.into()),
        }))
    }

    async fn suspend(&self, _: Request<SuspendRequest>) -> Result<Response<SuspendResponse>, Status> {
        tracing::info!("an operator has suspended evictions");
        self.rounds.switch.suspend();
        self.rounds.metrics.suspended.set(1);
        Ok(Response::new(SuspendResponse {}))
    }

    async fn resume(&self, _: Request<ResumeRequest>) -> Result<Response<ResumeResponse>, Status> {
        tracing::info!("an operator has resumed evictions");
        self.rounds.switch.resume();
        self.rounds.metrics.suspended.set(0);
        Ok(Response::new(ResumeResponse {}))
    }
}
