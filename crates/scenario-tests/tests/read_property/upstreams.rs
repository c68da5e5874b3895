//! registry-core and cache-sync as the services behind them are, until they are cut off; and what goes through them is told
//! to the oracle at the moment when it is handed over.

use crate::oracle::Oracle;
use futures::StreamExt as _;
use parking_lot::Mutex;
use registry_model::Record;
use registry_proto::{
    BoxStream, Cache, IntoModel as _, Registry,
    cache::{
        FollowRequest, FollowResponse, SubscribeRequest, SubscribeResponse, cache_service_server::CacheService,
        follow_response,
    },
    registry,
    registry::{
        CancelRequest, CancelResponse, GetInstanceRequest, GetInstanceResponse, RegisterRequest, RegisterResponse,
        RenewBatchRequest, RenewBatchResponse, RenewRequest, RenewResponse, WatchRequest, WatchResponse,
        registry_service_server::RegistryService,
    },
};
use std::{sync::Arc, task::Poll};
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status};

/// The service that is reached at the moment, and what breaks its streams.
struct Line<S> {
    service: S,
    cut: CancellationToken,
}

/// An upstream that may be cut off.
pub(crate) struct Switched<S> {
    line: Mutex<Option<Line<S>>>,
    oracle: Arc<Mutex<Oracle>>,
}

fn unreachable() -> Status {
    Status::unavailable("cut off")
}

impl<S: Clone> Switched<S> {
    pub(crate) fn new(oracle: &Arc<Mutex<Oracle>>) -> Arc<Self> {
        Arc::new(Self { line: Mutex::new(None), oracle: Arc::clone(oracle) })
    }

    pub(crate) fn connect(&self, service: S) {
        *self.line.lock() = Some(Line { service, cut: CancellationToken::new() });
    }

    /// Breaks all streams; calls fail from now on.
    pub(crate) fn cut(&self) {
        if let Some(line) = self.line.lock().take() {
            line.cut.cancel();
        }
    }

    pub(crate) fn is_connected(&self) -> bool {
        self.line.lock().is_some()
    }

    fn line(&self) -> Result<(S, CancellationToken), Status> {
        let line = self.line.lock();
        line.as_ref().map(|line| (line.service.clone(), line.cut.clone())).ok_or_else(unreachable)
    }

    fn service(&self) -> Result<S, Status> {
        Ok(self.line()?.0)
    }
}

/// The stream until the line is cut, and then an error. Between any two messages others have their turn; `told` is called
/// when one is handed over.
fn until_cut<T: Send + 'static>(
    stream: BoxStream<T>,
    cut: CancellationToken,
    told: impl FnMut(&Result<T, Status>) + Send + 'static,
) -> BoxStream<T> {
    let apart = stream.then(async |message| {
        tokio::task::yield_now().await;
        message
    });
    let end = futures::stream::once(async { Err(unreachable()) });
    apart.take_until(cut.cancelled_owned()).inspect(told).chain(end).boxed()
}

async fn stored(registry: &Registry, app: &str, id: &str) -> Option<Record> {
    let request = GetInstanceRequest { app: app.to_owned(), instance_id: id.to_owned() };
    let response = registry.get_instance(Request::new(request)).await.unwrap().into_inner();
    response.record.map(|record| Some(record).into_model().unwrap())
}

#[tonic::async_trait]
impl RegistryService for Switched<Registry> {
    type WatchStream = BoxStream<WatchResponse>;

    async fn register(&self, request: Request<RegisterRequest>) -> Result<Response<RegisterResponse>, Status> {
        let registry = self.service()?;
        let instance = request.get_ref().instance.clone().unwrap().into_instance().unwrap();
        let response = registry.register(request).await?;
        let position = response.get_ref().position.unwrap();
        let record = stored(&registry, instance.key.app.as_str(), instance.key.id.as_str()).await;
        self.oracle.lock().registered(position.into(), record);
        Ok(response)
    }

    async fn cancel(&self, request: Request<CancelRequest>) -> Result<Response<CancelResponse>, Status> {
        let registry = self.service()?;
        let before = stored(&registry, &request.get_ref().app, &request.get_ref().instance_id).await;
        let response = registry.cancel(request).await?;
        let CancelResponse { found, position } = *response.get_ref();
        assert_eq!(found, before.is_some());
        self.oracle.lock().cancelled(position.unwrap().into(), before);
        Ok(response)
    }

    async fn renew(&self, request: Request<RenewRequest>) -> Result<Response<RenewResponse>, Status> {
        self.service()?.renew(request).await
    }

    async fn renew_batch(&self, request: Request<RenewBatchRequest>) -> Result<Response<RenewBatchResponse>, Status> {
        self.service()?.renew_batch(request).await
    }

    async fn get_instance(
        &self,
        request: Request<GetInstanceRequest>,
    ) -> Result<Response<GetInstanceResponse>, Status> {
        self.service()?.get_instance(request).await
    }

    async fn set_status(
        &self,
        request: Request<registry::SetStatusRequest>,
    ) -> Result<Response<registry::SetStatusResponse>, Status> {
        self.service()?.set_status(request).await
    }

    async fn clear_status(
        &self,
        request: Request<registry::ClearStatusRequest>,
    ) -> Result<Response<registry::ClearStatusResponse>, Status> {
        self.service()?.clear_status(request).await
    }

    async fn add_metadata(
        &self,
        request: Request<registry::AddMetadataRequest>,
    ) -> Result<Response<registry::AddMetadataResponse>, Status> {
        self.service()?.add_metadata(request).await
    }

    async fn get_lease_times(
        &self,
        request: Request<registry::GetLeaseTimesRequest>,
    ) -> Result<Response<registry::GetLeaseTimesResponse>, Status> {
        self.service()?.get_lease_times(request).await
    }

    async fn list_overrides(
        &self,
        request: Request<registry::ListOverridesRequest>,
    ) -> Result<Response<registry::ListOverridesResponse>, Status> {
        self.service()?.list_overrides(request).await
    }

    async fn get_statistics(
        &self,
        request: Request<registry::GetStatisticsRequest>,
    ) -> Result<Response<registry::GetStatisticsResponse>, Status> {
        self.service()?.get_statistics(request).await
    }

    async fn report_leases(
        &self,
        request: Request<registry::ReportLeasesRequest>,
    ) -> Result<Response<registry::ReportLeasesResponse>, Status> {
        self.service()?.report_leases(request).await
    }

    async fn evict(
        &self,
        request: Request<registry::EvictRequest>,
    ) -> Result<Response<registry::EvictResponse>, Status> {
        self.service()?.evict(request).await
    }

    async fn give_up_missing(
        &self,
        request: Request<registry::GiveUpMissingRequest>,
    ) -> Result<Response<registry::GiveUpMissingResponse>, Status> {
        self.service()?.give_up_missing(request).await
    }

    async fn watch(&self, request: Request<WatchRequest>) -> Result<Response<Self::WatchStream>, Status> {
        let (registry, cut) = self.line()?;
        let stream = registry.watch(request).await?.into_inner();
        self.oracle.lock().watch_opened();
        let oracle = Arc::clone(&self.oracle);
        let told = move |response: &_| {
            if let Ok(WatchResponse { step: Some(step) }) = response {
                oracle.lock().watched(step);
            }
        };
        Ok(Response::new(until_cut(stream, cut, told)))
    }
}

/// Tells the oracle that a follow stream is over, however it ended.
struct Open {
    oracle: Arc<Mutex<Oracle>>,
    stream: u64,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.oracle.lock().follow_ended(self.stream);
    }
}

#[tonic::async_trait]
impl CacheService for Switched<Cache> {
    type FollowStream = BoxStream<FollowResponse>;

    async fn follow(&self, request: Request<FollowRequest>) -> Result<Response<Self::FollowStream>, Status> {
        let (cache, cut) = self.line()?;
        let stream = cache.follow(request).await?.into_inner();
        let open = Open { oracle: Arc::clone(&self.oracle), stream: self.oracle.lock().follow_opened() };
        let mut stream = until_cut(stream, cut, |_| {});
        let mut handed_over = None;
        Ok(Response::new(Box::pin(futures::stream::poll_fn(move |context| {
            // The facade has done what the last watermark means once it asks for more; a read before that sees what was.
            if let Some(watermark) = handed_over.take() {
                open.oracle.lock().watermark(open.stream, &watermark);
            }
            let next = stream.poll_next_unpin(context);
            if let Poll::Ready(Some(Ok(FollowResponse {
                step: Some(follow_response::Step::Watermark(watermark)),
                ..
            }))) = &next
            {
                handed_over = Some(*watermark);
            }
            next
        }))))
    }

    async fn subscribe(&self, request: Request<SubscribeRequest>) -> Result<Response<SubscribeResponse>, Status> {
        let cache = self.service()?;
        let holds = request.get_ref().subscriptions.iter().any(|subscription| subscription.held.is_some());
        let response = cache.subscribe(request).await?;
        if holds {
            self.oracle.lock().held_is_subscribed();
        }
        Ok(response)
    }
}
