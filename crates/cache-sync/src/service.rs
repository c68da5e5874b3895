//! What cache-sync offers: `CacheService`. Called by the read-only caches of http-facade.

use crate::{
    config::Config,
    follow_registry::FollowRegistry,
    follower::Follower,
    interest::Interest,
    keys::{PayloadKey, Scope},
    metrics::Metrics,
    refresh::Load,
    shown::Shown,
    view::{Level, View},
};
use parking_lot::Mutex;
use registry_model::Position;
use registry_proto::{
    BoxStream, ConvertError, Registry,
    cache::{
        FollowMode, FollowRequest, FollowResponse, SubscribeRequest, SubscribeResponse,
        cache_service_server::CacheService,
    },
    to_status,
};
use service_runtime::ProcessHandle;
use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::Arc,
    time::Duration,
};
use tokio::{
    sync::{mpsc, oneshot, watch},
    time::Instant,
};
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status};

/// A lone change leaves at once; what follows within this time goes together.
const COALESCE: Duration = Duration::from_millis(4);
/// Under a storm of changes the pause grows with the cost of a round, up to this: well below what a reader waits for its own write.
const LONGEST_PAUSE: Duration = Duration::from_millis(20);
/// How long a first subscriber waits for present lease times; without registry-core it gets those that there are.
const LOAD_PATIENCE: Duration = Duration::from_millis(500);
/// Loads that may wait to be begun; whoever comes later waits for a place, within its patience.
const LOADS: usize = 64;
/// Pages that are encoded in passing; more leave the async threads.
const FEW_PAGES: usize = 2;

type Followers = Mutex<HashMap<u64, Arc<Follower>>>;

/// Tier 2: the view and its followers.
#[derive(Debug)]
pub struct CacheSync {
    shown: Arc<Shown>,
    level: watch::Receiver<Option<Level>>,
    followers: Arc<Followers>,
    interest: Arc<Interest>,
    /// From subscriptions to the loop that follows the registry.
    loads: mpsc::Sender<Load>,
    metrics: Arc<Metrics>,
    stopping: CancellationToken,
}

impl CacheSync {
    /// Starts following `registry`; ends with the process.
    pub fn start(config: &Config, registry: Registry, process: &ProcessHandle) -> Arc<Self> {
        let metrics = Arc::new(process.metrics().register(Metrics::new));
        let (told, level) = watch::channel(None);
        let (loads, wanted) = mpsc::channel(LOADS);
        let interest: Arc<Interest> = Arc::default();
        let follow =
            FollowRegistry::new(config, registry, told, Arc::clone(&interest), wanted, Arc::clone(&metrics), process);
        let shown = follow.shown();
        process.spawn("follow registry", follow.run(process.clone()));
        Arc::new(Self {
            shown,
            level,
            followers: Arc::default(),
            interest,
            loads,
            metrics,
            stopping: process.stopping(),
        })
    }

    fn follower(&self, id: u64) -> Result<Arc<Follower>, Status> {
        let follower = self.followers.lock().get(&id).cloned();
        follower.ok_or_else(|| Status::not_found("there is no such follower"))
    }

    fn seen(&self) -> Result<Arc<View>, Status> {
        self.shown.view().ok_or_else(|| Status::unavailable("the registry has not been seen yet"))
    }

    /// The payloads among these that exist and that nobody subscribes to yet.
    fn new_scopes(&self, wanted: &[(PayloadKey, Option<Position>)]) -> Result<Vec<Scope>, Status> {
        let view = self.seen()?;
        let scopes: HashSet<&Scope> = wanted.iter().map(|(key, _)| &key.scope).collect();
        let is_new = |scope: &&Scope| self.interest.lacks(scope) && view.pages(scope).is_some();
        Ok(scopes.into_iter().filter(is_new).cloned().collect())
    }

    /// Nobody has kept these payloads fresh: their lease times are read before they are sent.
    async fn load(&self, scopes: Vec<Scope>) {
        let (done, shown) = oneshot::channel();
        let load = async {
            if self.loads.send(Load { scopes, done }).await.is_ok() {
                // An error means that nothing comes of it.
                let _ = shown.await;
            }
        };
        let _ = tokio::time::timeout(LOAD_PATIENCE, load).await;
    }
}

#[tonic::async_trait]
impl CacheService for CacheSync {
    type FollowStream = BoxStream<FollowResponse>;

    async fn follow(&self, request: Request<FollowRequest>) -> Result<Response<Self::FollowStream>, Status> {
        let FollowRequest { follower: id, mode } = request.into_inner();
        let out_of_range = || to_status(&ConvertError::OutOfRange { field: "mode", value: mode.into() });
        let mode = FollowMode::try_from(mode).map_err(|_| out_of_range())?;
        let follower = Arc::new(Follower::new(mode, Arc::clone(&self.interest)));
        self.followers.lock().insert(id, Arc::clone(&follower));
        self.metrics.followers.inc();
        let stream = FollowStream {
            shown: Arc::clone(&self.shown),
            level: self.level.clone(),
            is_level: false,
            messages: VecDeque::new(),
            rest_until: None,
            follower: Arc::clone(&follower),
            metrics: Arc::clone(&self.metrics),
            stopping: self.stopping.clone(),
            _registered: Registered {
                id,
                follower,
                followers: Arc::clone(&self.followers),
                metrics: Arc::clone(&self.metrics),
            },
        };
        Ok(Response::new(Box::pin(futures::stream::unfold(stream, FollowStream::next))))
    }

    async fn subscribe(&self, request: Request<SubscribeRequest>) -> Result<Response<SubscribeResponse>, Status> {
        let request = request.into_inner();
        let mut wanted = Vec::with_capacity(request.subscriptions.len());
        for subscription in request.subscriptions {
            let key = subscription
                .key
                .ok_or(ConvertError::Missing("key"))
                .and_then(PayloadKey::try_from)
                .map_err(|error| to_status(&error))?;
            wanted.push((key, subscription.held.map(Position::from)));
        }
        self.follower(request.follower)?;
        let new = self.new_scopes(&wanted)?;
        if !new.is_empty() {
            self.load(new).await;
        }
        // Its stream may have ended meanwhile.
        let (follower, view) = (self.follower(request.follower)?, self.seen()?);
        let subscribe = |(key, held)| follower.subscribe(key, held, request.seen_sequence, &view, &self.metrics).into();
        let outcomes = wanted.into_iter().map(subscribe).collect();
        Ok(Response::new(SubscribeResponse { outcomes, position: Some(view.level.position.into()) }))
    }
}

/// A follower's place in the table; leaves it when its stream is dropped.
#[derive(Debug)]
struct Registered {
    id: u64,
    follower: Arc<Follower>,
    followers: Arc<Followers>,
    metrics: Arc<Metrics>,
}

impl Drop for Registered {
    fn drop(&mut self) {
        let mut followers = self.followers.lock();
        if followers.get(&self.id).is_some_and(|follower| Arc::ptr_eq(follower, &self.follower)) {
            followers.remove(&self.id);
        }
        self.metrics.followers.dec();
    }
}

/// A follow stream: no task and no queue of its own; it holds the messages of one round at most.
#[derive(Debug)]
struct FollowStream {
    shown: Arc<Shown>,
    level: watch::Receiver<Option<Level>>,
    /// Whether the follower is level with the view; false only before the first.
    is_level: bool,
    messages: VecDeque<FollowResponse>,
    rest_until: Option<Instant>,
    follower: Arc<Follower>,
    metrics: Arc<Metrics>,
    stopping: CancellationToken,
    _registered: Registered,
}

impl FollowStream {
    async fn next(mut self) -> Option<(Result<FollowResponse, Status>, Self)> {
        loop {
            if let Some(message) = self.messages.pop_front() {
                return Some((Ok(message), self));
            }
            let stopping = self.stopping.clone();
            tokio::select! {
                () = stopping.cancelled() => return None,
                alive = self.round() => alive?,
            }
        }
    }

    /// Waits for something to send and makes it; `None` when the view ends.
    async fn round(&mut self) -> Option<()> {
        if self.is_level {
            tokio::select! {
                changed = self.level.changed() => changed.ok()?,
                () = self.follower.woken() => {}
            }
        }
        if let Some(rest_until) = self.rest_until.take() {
            tokio::time::sleep_until(rest_until).await;
        }
        let Some(level) = *self.level.borrow_and_update() else {
            self.is_level = true;
            return Some(());
        };
        let started = Instant::now();
        self.messages = if self.follower.looks_at_something() {
            self.bring_level().await?
        } else {
            self.follower.tell(level).into_iter().collect()
        };
        self.is_level = true;
        let done = Instant::now();
        self.rest_until = Some(done + (done - started).saturating_mul(2).clamp(COALESCE, LONGEST_PAUSE));
        Some(())
    }

    /// Brings all that the follower looks at level with the view.
    async fn bring_level(&self) -> Option<VecDeque<FollowResponse>> {
        let Some(view) = self.shown.view() else { return Some(VecDeque::new()) };
        let plan = self.follower.plan(&view);
        if plan.pages() > FEW_PAGES {
            let (follower, metrics) = (Arc::clone(&self.follower), Arc::clone(&self.metrics));
            tokio::task::spawn_blocking(move || follower.carry_out(plan, &metrics)).await.ok()
        } else {
            Some(self.follower.carry_out(plan, &self.metrics))
        }
    }
}
