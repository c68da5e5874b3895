//! A cache and a registry that do what a test says.

use crate::keys::{Key, Scope};
use parking_lot::Mutex;
use registry_model::{AppName, Epoch, Position, Revision};
use registry_proto::{
    BoxStream,
    cache::{
        FollowMode, FollowRequest, FollowResponse, Page as PageMessage, PageSplice, PayloadGone, PayloadUpdate,
        SubscribeOutcome, SubscribeRequest, SubscribeResponse, Watermark, cache_service_server::CacheService,
        follow_response::Step,
    },
    registry,
    registry::{
        CancelRequest, CancelResponse, GetInstanceRequest, GetInstanceResponse, RegisterRequest, RegisterResponse,
        RenewBatchRequest, RenewBatchResponse, RenewRequest, RenewResponse, WatchRequest, WatchResponse,
        registry_service_server::RegistryService,
    },
};
use std::collections::{HashMap, HashSet, VecDeque};
use testkit::eventually;
use tokio::sync::{mpsc, watch};
use tonic::{Request, Response, Status};
use wire_codec::{Form, Page};

pub(crate) fn at(epoch: u64, revision: u64) -> Position {
    Position { epoch: Epoch(epoch), revision: Revision(revision) }
}

pub(crate) fn all() -> Key {
    Key { scope: Scope::All, form: Form::Json }
}

pub(crate) fn app(name: &str) -> Key {
    Key { scope: Scope::Application(AppName::parse(name).unwrap()), form: Form::Json }
}

fn page(text: &str) -> PageMessage {
    let page = Page::deflate(text.as_bytes());
    PageMessage { deflated: page.deflated().clone(), crc: page.crc(), length: u32::try_from(page.length()).unwrap() }
}

/// Pages between a `<` and a `>`.
pub(crate) fn whole(key: &Key, position: Position, pages: &[&str]) -> Step {
    let splice = PageSplice { at: 0, removed: 0, pages: pages.iter().map(|text| page(text)).collect() };
    Step::Update(update(key, None, position, vec![splice]))
}

/// The page at a place replaced.
pub(crate) fn changed(key: &Key, previous: Position, position: Position, place: u32, text: &str) -> Step {
    let splice = PageSplice { at: place, removed: 1, pages: vec![page(text)] };
    Step::Update(update(key, Some(previous), position, vec![splice]))
}

pub(crate) fn update(
    key: &Key,
    previous: Option<Position>,
    position: Position,
    splices: Vec<PageSplice>,
) -> PayloadUpdate {
    PayloadUpdate {
        key: Some(key.into()),
        previous: previous.map(Into::into),
        position: Some(position.into()),
        head: Some(page("<")),
        splices,
        tail: Some(page(">")),
        complete: true,
        regional: None,
    }
}

pub(crate) fn part(key: &Key, previous: Option<Position>, position: Position, place: u32, text: &str) -> Step {
    let splice = PageSplice { at: place, removed: 0, pages: vec![page(text)] };
    Step::Update(PayloadUpdate {
        head: None,
        tail: None,
        complete: false,
        ..update(key, previous, position, vec![splice])
    })
}

pub(crate) fn gone(key: &Key) -> Step {
    Step::Gone(PayloadGone { key: Some(key.into()) })
}

/// A follow stream that a test speaks into.
struct Line {
    follower: u64,
    sequence: u64,
    /// What has been subscribed to: the first time, it is sent whole.
    known: HashSet<Key>,
    to: mpsc::Sender<Result<FollowResponse, Status>>,
}

#[derive(Default)]
struct CacheState {
    line: Option<Line>,
    modes: Vec<FollowMode>,
    subscribed: Vec<SubscribeRequest>,
    /// What is sent whole to who subscribes to it.
    content: HashMap<Key, (Position, Vec<&'static str>)>,
    /// What there is, but is not sent by itself.
    silent: Vec<Key>,
    refusing: bool,
}

/// A cache with one follower at a time.
#[derive(Default)]
pub(crate) struct FakeCache(Mutex<CacheState>);

impl FakeCache {
    /// What a subscription to the key brings.
    pub(crate) fn holds(&self, key: &Key, position: Position, pages: &[&'static str]) {
        self.0.lock().content.insert(key.clone(), (position, pages.to_vec()));
    }

    /// A subscription to the key is accepted, and nothing sent.
    pub(crate) fn is_silent_on(&self, key: &Key) {
        self.0.lock().silent.push(key.clone());
    }

    pub(crate) fn loses(&self, key: &Key) {
        self.0.lock().content.remove(key);
    }

    /// Subscriptions fail as if the service were gone.
    pub(crate) fn refuses(&self, refusing: bool) {
        self.0.lock().refusing = refusing;
    }

    /// Speaks into the stream, once there is one.
    pub(crate) async fn says(&self, step: Step) {
        eventually("the facade follows", || self.0.lock().line.is_some()).await;
        self.0.lock().send(step);
    }

    pub(crate) async fn watermark(&self, epoch: u64, revision: u64, complete: bool) {
        let position = Some(at(epoch, revision).into());
        self.says(Step::Watermark(Watermark { position, complete, gate_closed: false })).await;
    }

    /// A watermark of a registry that does not let lists be served yet.
    pub(crate) async fn closed_gate(&self, epoch: u64, revision: u64) {
        let position = Some(at(epoch, revision).into());
        self.says(Step::Watermark(Watermark { position, complete: false, gate_closed: true })).await;
    }

    /// Ends the stream.
    pub(crate) fn breaks(&self) {
        self.0.lock().line = None;
    }

    pub(crate) fn follower(&self) -> Option<u64> {
        self.0.lock().line.as_ref().map(|line| line.follower)
    }

    pub(crate) fn modes(&self) -> Vec<FollowMode> {
        self.0.lock().modes.clone()
    }

    /// What was subscribed to, call by call: key and held position.
    pub(crate) fn subscribed(&self) -> Vec<Vec<(Key, Option<Position>)>> {
        let state = self.0.lock();
        let of = |request: &SubscribeRequest| {
            let keys = request.subscriptions.iter();
            keys.map(|one| (Key::of(one.key.as_ref().unwrap()).unwrap(), one.held.map(Into::into))).collect()
        };
        state.subscribed.iter().map(of).collect()
    }

    pub(crate) fn last_seen_sequence(&self) -> u64 {
        self.0.lock().subscribed.last().unwrap().seen_sequence
    }
}

impl CacheState {
    fn send(&mut self, step: Step) {
        let line = self.line.as_mut().unwrap();
        line.sequence += 1;
        line.to.try_send(Ok(FollowResponse { sequence: line.sequence, step: Some(step) })).unwrap();
    }
}

#[tonic::async_trait]
impl CacheService for FakeCache {
    type FollowStream = BoxStream<FollowResponse>;

    async fn follow(&self, request: Request<FollowRequest>) -> Result<Response<Self::FollowStream>, Status> {
        let request = request.into_inner();
        let (to, mut messages) = mpsc::channel(64);
        let mut state = self.0.lock();
        state.modes.push(request.mode());
        state.line = Some(Line { follower: request.follower, sequence: 0, known: HashSet::new(), to });
        Ok(Response::new(Box::pin(futures::stream::poll_fn(move |cx| messages.poll_recv(cx)))))
    }

    async fn subscribe(&self, request: Request<SubscribeRequest>) -> Result<Response<SubscribeResponse>, Status> {
        let request = request.into_inner();
        let mut state = self.0.lock();
        if state.refusing {
            return Err(Status::unavailable("refusing"));
        }
        if state.line.as_ref().is_none_or(|line| line.follower != request.follower) {
            return Err(Status::not_found("no such follower"));
        }
        state.subscribed.push(request.clone());
        let mut response = SubscribeResponse::default();
        for subscription in request.subscriptions {
            let key = Key::of(&subscription.key.unwrap()).unwrap();
            let outcome = match state.content.get(&key).cloned() {
                Some((position, pages)) => {
                    let first = state.line.as_mut().is_some_and(|line| line.known.insert(key.clone()));
                    if first || subscription.held.map(Position::from) != Some(position) {
                        state.send(whole(&key, position, &pages));
                    }
                    SubscribeOutcome::Subscribed
                }
                None if state.silent.contains(&key) => SubscribeOutcome::Subscribed,
                None => SubscribeOutcome::NotFound,
            };
            response.outcomes.push(outcome.into());
        }
        Ok(Response::new(response))
    }
}

type Answers<T> = Mutex<Option<Result<T, Status>>>;

/// A registry that gives the answers that a test has laid out; everything is well by default.
pub(crate) struct FakeRegistry {
    pub(crate) registered: Mutex<Vec<RegisterRequest>>,
    pub(crate) renewed: Mutex<Vec<RenewRequest>>,
    pub(crate) cancelled: Mutex<Vec<CancelRequest>>,
    pub(crate) looked_up: Mutex<Vec<GetInstanceRequest>>,
    pub(crate) statuses: Mutex<Vec<registry::SetStatusRequest>>,
    pub(crate) cleared: Mutex<Vec<registry::ClearStatusRequest>>,
    pub(crate) added: Mutex<Vec<registry::AddMetadataRequest>>,
    pub(crate) batches: Mutex<Vec<usize>>,
    pub(crate) register: Answers<RegisterResponse>,
    pub(crate) renew: Answers<RenewResponse>,
    pub(crate) cancel: Answers<CancelResponse>,
    pub(crate) instance: Answers<GetInstanceResponse>,
    pub(crate) set_status: Answers<registry::SetStatusResponse>,
    pub(crate) clear_status: Answers<registry::ClearStatusResponse>,
    pub(crate) add_metadata: Answers<registry::AddMetadataResponse>,
    pub(crate) overrides: Answers<registry::ListOverridesResponse>,
    pub(crate) statistics: Answers<registry::GetStatisticsResponse>,
    pub(crate) watched: Mutex<Vec<WatchRequest>>,
    /// The streams of the next watches; there are no others.
    pub(crate) watches: Mutex<VecDeque<BoxStream<WatchResponse>>>,
    /// Batches are answered while this is true.
    pub(crate) open: watch::Sender<bool>,
    /// How the next batches fail.
    pub(crate) batch_failure: Mutex<Option<Status>>,
}

impl Default for FakeRegistry {
    fn default() -> Self {
        Self {
            registered: Mutex::default(),
            renewed: Mutex::default(),
            cancelled: Mutex::default(),
            looked_up: Mutex::default(),
            statuses: Mutex::default(),
            cleared: Mutex::default(),
            added: Mutex::default(),
            batches: Mutex::default(),
            register: Mutex::default(),
            renew: Mutex::default(),
            cancel: Mutex::default(),
            instance: Mutex::default(),
            set_status: Mutex::default(),
            clear_status: Mutex::default(),
            add_metadata: Mutex::default(),
            overrides: Mutex::default(),
            statistics: Mutex::default(),
            watched: Mutex::default(),
            watches: Mutex::default(),
            open: watch::Sender::new(true),
            batch_failure: Mutex::default(),
        }
    }
}

fn answer<T: Clone + Default>(answers: &Answers<T>) -> Result<Response<T>, Status> {
    answers.lock().clone().unwrap_or_else(|| Ok(T::default())).map(Response::new)
}

#[tonic::async_trait]
impl RegistryService for FakeRegistry {
    type WatchStream = BoxStream<WatchResponse>;

    async fn register(&self, request: Request<RegisterRequest>) -> Result<Response<RegisterResponse>, Status> {
        self.registered.lock().push(request.into_inner());
        answer(&self.register)
    }

    async fn renew(&self, request: Request<RenewRequest>) -> Result<Response<RenewResponse>, Status> {
        self.renewed.lock().push(request.into_inner());
        answer(&self.renew)
    }

    /// The result of a renewal names its stamp in its outcome, so that a test sees which answer went where.
    async fn renew_batch(&self, request: Request<RenewBatchRequest>) -> Result<Response<RenewBatchResponse>, Status> {
        let renewals = request.into_inner().renewals;
        self.batches.lock().push(renewals.len());
        let mut open = self.open.subscribe();
        let _ = open.wait_for(|open| *open).await;
        if let Some(status) = self.batch_failure.lock().clone() {
            return Err(status);
        }
        let outcome = |renewal: &RenewRequest| i32::try_from(renewal.last_dirty_ms.unwrap_or(1)).unwrap();
        let results = renewals.iter().map(|renewal| RenewResponse { outcome: outcome(renewal), stored: None });
        Ok(Response::new(RenewBatchResponse { results: results.collect() }))
    }

    async fn cancel(&self, request: Request<CancelRequest>) -> Result<Response<CancelResponse>, Status> {
        self.cancelled.lock().push(request.into_inner());
        answer(&self.cancel)
    }

    async fn get_instance(
        &self,
        request: Request<GetInstanceRequest>,
    ) -> Result<Response<GetInstanceResponse>, Status> {
        self.looked_up.lock().push(request.into_inner());
        answer(&self.instance)
    }

    async fn set_status(
        &self,
        request: Request<registry::SetStatusRequest>,
    ) -> Result<Response<registry::SetStatusResponse>, Status> {
        self.statuses.lock().push(request.into_inner());
        answer(&self.set_status)
    }

    async fn clear_status(
        &self,
        request: Request<registry::ClearStatusRequest>,
    ) -> Result<Response<registry::ClearStatusResponse>, Status> {
        self.cleared.lock().push(request.into_inner());
        answer(&self.clear_status)
    }

    async fn add_metadata(
        &self,
        request: Request<registry::AddMetadataRequest>,
    ) -> Result<Response<registry::AddMetadataResponse>, Status> {
        self.added.lock().push(request.into_inner());
        answer(&self.add_metadata)
    }

    async fn get_lease_times(
        &self,
        _: Request<registry::GetLeaseTimesRequest>,
    ) -> Result<Response<registry::GetLeaseTimesResponse>, Status> {
        Err(Status::unimplemented("no test needs this"))
    }

    async fn list_overrides(
        &self,
        _: Request<registry::ListOverridesRequest>,
    ) -> Result<Response<registry::ListOverridesResponse>, Status> {
        answer(&self.overrides)
    }

    async fn get_statistics(
        &self,
        _: Request<registry::GetStatisticsRequest>,
    ) -> Result<Response<registry::GetStatisticsResponse>, Status> {
        answer(&self.statistics)
    }

    async fn report_leases(
        &self,
        _: Request<registry::ReportLeasesRequest>,
    ) -> Result<Response<registry::ReportLeasesResponse>, Status> {
        Err(Status::unimplemented("no test needs this"))
    }

    async fn evict(&self, _: Request<registry::EvictRequest>) -> Result<Response<registry::EvictResponse>, Status> {
        Err(Status::unimplemented("no test needs this"))
    }

    async fn give_up_missing(
        &self,
        _: Request<registry::GiveUpMissingRequest>,
    ) -> Result<Response<registry::GiveUpMissingResponse>, Status> {
        Err(Status::unimplemented("no test needs this"))
    }

    async fn watch(&self, request: Request<WatchRequest>) -> Result<Response<Self::WatchStream>, Status> {
        self.watched.lock().push(request.into_inner());
        self.watches.lock().pop_front().map(Response::new).ok_or_else(|| Status::unavailable("nobody watches here"))
    }
}
