//! Renewals on their way to a registry in another process, in natural batches: one call at a time; a lone renewal leaves at
//! once, what arrives meanwhile is the next batch. Made by `upstream`; everything but renewals passes through unchanged.

use crate::metrics::Metrics;
use registry_proto::{
    BoxStream, Registry,
    registry::{
        CancelRequest, CancelResponse, GetInstanceRequest, GetInstanceResponse, RegisterRequest, RegisterResponse,
        RenewBatchRequest, RenewBatchResponse, RenewRequest, RenewResponse, WatchRequest, WatchResponse,
        registry_service_server::RegistryService,
    },
};
use service_runtime::ProcessHandle;
use std::sync::Arc;
use tokio::sync::{
    mpsc::{self, error::TrySendError},
    oneshot,
};
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status};

/// How many renewals may wait; one more is refused, and its client tries again or elsewhere.
const QUEUE: usize = 16_384;
/// How many renewals go into one call.
const BATCH: usize = 8_192;

/// A renewal and who waits for its answer.
struct Waiting {
    renewal: RenewRequest,
    answer: oneshot::Sender<Result<RenewResponse, Status>>,
}

/// A registry whose renewals travel in batches.
pub(crate) struct BatchedRenewals {
    inner: Registry,
    /// From the requests to the sender task.
    queue: mpsc::Sender<Waiting>,
}

impl BatchedRenewals {
    /// Wraps a registry; its sender task belongs to the process.
    pub(crate) fn start(inner: Registry, metrics: Arc<Metrics>, process: &ProcessHandle) -> Self {
        let (queue, waiting) = mpsc::channel(QUEUE);
        let sender = send_batches(Arc::clone(&inner), waiting, metrics, process.stopping());
        process.spawn("renewals", async {
            sender.await;
            Ok(())
        });
        Self { inner, queue }
    }
}

async fn send_batches(
    registry: Registry,
    mut queue: mpsc::Receiver<Waiting>,
    metrics: Arc<Metrics>,
    stopping: CancellationToken,
) {
    let mut batch = Vec::new();
    loop {
        let received = queue.recv_many(&mut batch, BATCH);
        let count = match stopping.run_until_cancelled(received).await {
            Some(count) => count,
            // What comes from now on goes out one by one; what waits already is still sent.
            None => {
                queue.close();
                queue.recv_many(&mut batch, BATCH).await
            }
        };
        if count == 0 {
            return;
        }
        metrics.batch_sizes.observe(count as f64);
        send(&registry, &mut batch).await;
    }
}

async fn send(registry: &Registry, batch: &mut Vec<Waiting>) {
    let mut renewals = Vec::with_capacity(batch.len());
    let mut answers = Vec::with_capacity(batch.len());
    for waiting in batch.drain(..) {
        renewals.push(waiting.renewal);
        answers.push(waiting.answer);
    }
    let response = registry.renew_batch(Request::new(RenewBatchRequest { renewals })).await;
    let results = response.map(|response| response.into_inner().results).and_then(|results| {
        if results.len() == answers.len() {
            Ok(results)
        } else {
            Err(Status::internal("the registry answered another number of renewals than it was sent"))
        }
    });
    // Who does not wait any more is not told; that is no error.
    match results {
        Ok(results) => {
            for (answer, result) in answers.into_iter().zip(results) {
                let _ = answer.send(Ok(result));
            }
        }
        Err(status) => {
            for answer in answers {
                let _ = answer.send(Err(status.clone()));
            }
        }
    }
}

#[tonic::async_trait]
impl RegistryService for BatchedRenewals {
    type WatchStream = BoxStream<WatchResponse>;

    async fn renew(&self, request: Request<RenewRequest>) -> Result<Response<RenewResponse>, Status> {
        let (answer, answered) = oneshot::channel();
        match self.queue.try_send(Waiting { renewal: request.into_inner(), answer }) {
            Ok(()) => match answered.await {
                Ok(result) => result.map(Response::new),
                Err(_) => Err(Status::unavailable("the renewal was given up")),
            },
            Err(TrySendError::Full(_)) => Err(Status::unavailable("too many renewals are waiting")),
            // The process is stopping: the last requests are few, and have no one else to send them.
            Err(TrySendError::Closed(waiting)) => self.inner.renew(Request::new(waiting.renewal)).await,
        }
    }

    async fn register(&self, request: Request<RegisterRequest>) -> Result<Response<RegisterResponse>, Status> {
        self.inner.register(request).await
    }

    async fn renew_batch(&self, request: Request<RenewBatchRequest>) -> Result<Response<RenewBatchResponse>, Status> {
        self.inner.renew_batch(request).await
    }

    async fn cancel(&self, request: Request<CancelRequest>) -> Result<Response<CancelResponse>, Status> {
        self.inner.cancel(request).await
    }

    async fn get_instance(
        &self,
        request: Request<GetInstanceRequest>,
    ) -> Result<Response<GetInstanceResponse>, Status> {
        self.inner.get_instance(request).await
    }

    async fn watch(&self, request: Request<WatchRequest>) -> Result<Response<Self::WatchStream>, Status> {
        self.inner.watch(request).await
    }
}

#[cfg(test)]
mod tests;
