//! The way that renewals take to the registry: a call each within a process; to another one natural batches, one call at a
//! time, a lone renewal at once and what arrives meanwhile in the next. Made by `facade`, called by `routes::instances`.

use crate::metrics::Metrics;
use registry_proto::{
    Registry,
    registry::{RenewBatchRequest, RenewRequest, RenewResponse},
};
use service_runtime::ProcessHandle;
use std::sync::Arc;
use tokio::sync::{
    mpsc::{self, error::TrySendError},
    oneshot,
};
use tokio_util::sync::CancellationToken;
use tonic::{Request, Status};

/// How many renewals may wait; one more is refused, and its client tries again or elsewhere.
const QUEUE: usize = 16_384;
/// How many renewals go into one call.
const BATCH: usize = 8_192;

/// A renewal and who waits for its answer.
struct Queued {
    renewal: RenewRequest,
    answer: oneshot::Sender<Result<RenewResponse, Status>>,
}

/// The way to the registry.
pub(crate) enum Renewals {
    /// One call for each.
    Direct(Registry),
    /// One call for all that wait.
    Batched(Queue),
}

/// The entrance to the sender task of batches.
pub(crate) struct Queue {
    /// For what does not go in a batch.
    registry: Registry,
    /// From the requests to the sender task.
    entrance: mpsc::Sender<Queued>,
}

impl Renewals {
    /// In batches; the task that sends them belongs to the process.
    pub(crate) fn batched(registry: Registry, metrics: Arc<Metrics>, process: &ProcessHandle) -> Self {
        let (entrance, queue) = mpsc::channel(QUEUE);
        let sender = send_batches(Arc::clone(&registry), queue, metrics, process.stopping());
        process.spawn("renewals", async {
            sender.await;
            Ok(())
        });
        Self::Batched(Queue { registry, entrance })
    }

    /// Renews one lease.
    ///
    /// # Errors
    /// What the registry answers; unavailable, while too many renewals wait.
    pub(crate) async fn renew(&self, renewal: RenewRequest) -> Result<RenewResponse, Status> {
        match self {
            Self::Direct(registry) => renew_alone(registry, renewal).await,
            Self::Batched(queue) => queue.renew(renewal).await,
        }
    }
}

impl Queue {
    async fn renew(&self, renewal: RenewRequest) -> Result<RenewResponse, Status> {
        let (answer, answered) = oneshot::channel();
        match self.entrance.try_send(Queued { renewal, answer }) {
            Ok(()) => answered.await.unwrap_or_else(|_| Err(Status::unavailable("the renewal was given up"))),
            Err(TrySendError::Full(_)) => Err(Status::unavailable("too many renewals are waiting")),
            // The process is stopping: the last requests are few, and have no one else to send them.
            Err(TrySendError::Closed(queued)) => renew_alone(&self.registry, queued.renewal).await,
        }
    }
}

async fn renew_alone(registry: &Registry, renewal: RenewRequest) -> Result<RenewResponse, Status> {
    Ok(registry.renew(Request::new(renewal)).await?.into_inner())
}

async fn send_batches(
    registry: Registry,
    mut queue: mpsc::Receiver<Queued>,
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

async fn send(registry: &Registry, batch: &mut Vec<Queued>) {
    let mut renewals = Vec::with_capacity(batch.len());
    let mut answers = Vec::with_capacity(batch.len());
    for queued in batch.drain(..) {
        renewals.push(queued.renewal);
        answers.push(queued.answer);
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

#[cfg(test)]
mod tests;
