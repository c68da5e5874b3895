//! The facade as one object: what it holds, its loops, and one request answered. Made by `run` and by `heureka`'s wiring;
//! requests come from `server`.

use crate::{
    body::Body,
    config::Config,
    context_path::ContextPath,
    follow::{self, Following},
    metrics::Metrics,
    rate_limiter::RateLimiter,
    read_only,
    read_your_writes::{ReadYourWrites, Waiting},
    renewals::Renewals,
    request_body::Bodies,
    router, server,
    tier::Tier,
    upstream::{Place, Upstream},
    watch_relay::WatchRelay,
};
use bytes::Bytes;
use http::{Request, Response};
use registry_model::Mono;
use registry_proto::{Registry, cache::FollowMode};
use service_runtime::{Listener, ProcessHandle, SharedClock};
use std::{fmt, sync::Arc};

/// The part of readiness that the facade answers for.
const READY_PART: &str = "cache";

/// Whether the delta is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delta {
    Served,
    Disabled,
}

/// The REST API over a registry and a read-write cache, with a read-only cache of its own.
pub struct Facade {
    pub(crate) registry: Registry,
    pub(crate) renewals: Renewals,
    pub(crate) tier: Arc<Tier>,
    pub(crate) watches: Arc<WatchRelay>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) clock: SharedClock,
    pub(crate) process: ProcessHandle,
    pub(crate) bodies: Bodies,
    /// Room for the bodies of batches, which are longer.
    pub(crate) batch_bodies: Bodies,
    pub(crate) environment: String,
    pub(crate) started: Mono,
    pub(crate) max_connections: u32,
    pub(crate) limiter: RateLimiter,
    pub(crate) counts_identities: bool,
    pub(crate) delta: Delta,
    pub(crate) context_path: ContextPath,
}

impl fmt::Debug for Facade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Facade").field("process", &self.process).finish_non_exhaustive()
    }
}

impl Facade {
    /// A facade whose loops run in the process. It is ready, as the part "cache", once the read-write cache has sent its
    /// first watermark.
    pub fn new(config: &Config, upstream: Upstream, process: &ProcessHandle) -> Arc<Self> {
        let metrics = Arc::new(Metrics::new(process.metrics()));
        let registry = upstream.registry;
        let renewals = match upstream.place {
            Place::Here => Renewals::Direct(Arc::clone(&registry)),
            Place::Elsewhere => Renewals::batched(Arc::clone(&registry), Arc::clone(&metrics), process),
        };
        let (waiting, mode) = match config.cache_push {
            true => (Waiting::Bounded, FollowMode::Push),
            false => (Waiting::Off, FollowMode::OnRequest),
        };
        let tier = Arc::new(Tier::new(upstream.cache, ReadYourWrites::new(waiting), Arc::clone(&metrics), process));
        let following = Following { mode, sync_interval: config.response_cache_update_interval };
        let follow = follow::run(Arc::clone(&tier), following, process.readiness(READY_PART), process.stopping());
        process.spawn("follow the read-write cache", async {
            follow.await;
            Ok(())
        });
        let sweep = read_only::sweep_plain(Arc::clone(&tier.pages), process.clock(), process.stopping());
        process.spawn("sweep plain pages", async {
            sweep.await;
            Ok(())
        });
        Arc::new(Self {
            watches: WatchRelay::new(Arc::clone(&registry), process),
            registry,
            renewals,
            tier,
            metrics,
            clock: process.clock(),
            process: process.clone(),
            bodies: Bodies::new(config.max_body, process.clock()),
            batch_bodies: Bodies::new(config.max_batch_body, process.clock()),
            environment: config.environment.clone(),
            started: process.clock().mono(),
            max_connections: config.max_connections,
            limiter: RateLimiter::new(config.rate_limits.clone()),
            counts_identities: config.auth_should_log_identity_headers,
            context_path: config.context_path.clone(),
            delta: if config.disable_delta { Delta::Disabled } else { Delta::Served },
        })
    }

    /// Answers one request.
    pub async fn handle<B>(&self, request: Request<B>) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes>,
    {
        router::route(self, request).await
    }

    /// Serves HTTP/1.1 on the listener until the process is stopping and the requests under way are answered.
    pub async fn serve(self: Arc<Self>, listener: Listener) {
        server::serve(self, listener).await;
    }
}
