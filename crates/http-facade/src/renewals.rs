//! The way that renewals take to the registry: a call each within a process; to another one natural batches, one call at a
//! time, a lone renewal at once and what arrives meanwhile in the next. Made by `facade`, called by `routes::instances`.

use crate::metrics::Metrics;
use registry_model::MAX_NAME_BYTES;
use registry_proto::{
    Registry,
    registry::{RenewBatchRequest, RenewOutcome, RenewRequest, RenewResponse},
    types,
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
/// How many renewals go into one call at most.
const BATCH: usize = 8_192;
/// About how many bytes go into one call at most, for a message has a bounded size.
const BATCH_BYTES: usize = 2 << 20;
/// What a renewal's message has besides its names, in bytes, or a little less.
const BESIDES_NAMES: usize = 32;

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
        if renewal.app.len() > MAX_NAME_BYTES || renewal.instance_id.len() > MAX_NAME_BYTES {
            // Nothing can have been registered under what is no name.
            return Ok(RenewResponse { outcome: RenewOutcome::NotFound.into(), ..RenewResponse::default() });
        }
        match renewal.origin() {
            types::Origin::Client | types::Origin::Unspecified => self.renew_with_others(renewal).await,
            // Answers to another server may hold whole instances, which many times over do not fit one message.
            types::Origin::Peer => renew_alone(&self.registry, renewal).await,
        }
    }

    async fn renew_with_others(&self, renewal: RenewRequest) -> Result<RenewResponse, Status> {
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
    let mut sender = Sender { registry, metrics, failing: false };
    let mut waiting = Vec::new();
    loop {
        let received = queue.recv_many(&mut waiting, BATCH);
        let count = match stopping.run_until_cancelled(received).await {
            Some(count) => count,
            // What comes from now on goes out one by one; what waits already is still sent.
            None => {
                queue.close();
                queue.recv_many(&mut waiting, BATCH).await
            }
        };
        if count == 0 {
            return;
        }
        while !waiting.is_empty() {
            let batch = waiting.drain(..count_for_one_call(&waiting)).collect();
            sender.send(batch).await;
        }
    }
}

/// How many of those who wait go into one call: at least one.
fn count_for_one_call(waiting: &[Queued]) -> usize {
    let mut bytes = 0_usize;
    let fit = waiting.iter().take_while(|Queued { renewal, .. }| {
        bytes += BESIDES_NAMES + renewal.app.len() + renewal.instance_id.len();
        bytes <= BATCH_BYTES
    });
    fit.count().max(1).min(waiting.len())
}

/// Sends one batch after the other.
struct Sender {
    registry: Registry,
    metrics: Arc<Metrics>,
    /// Whether the last call failed.
    failing: bool,
}

impl Sender {
    async fn send(&mut self, batch: Vec<Queued>) {
        self.metrics.batch_sizes.observe(batch.len() as f64);
        let (renewals, answers): (Vec<_>, Vec<_>) =
            batch.into_iter().map(|Queued { renewal, answer }| (renewal, answer)).unzip();
        let response = self.registry.renew_batch(Request::new(RenewBatchRequest { renewals })).await;
        let results = response.map(|response| response.into_inner().results).and_then(|results| {
            if results.len() == answers.len() {
                Ok(results)
            } else {
                Err(Status::internal("the registry answered another number of renewals than it was sent"))
            }
        });
        self.log(results.as_ref().err());
        // Who does not wait any more is not told; that is no error.
        match results {
            Ok(results) => {
                for (answer, result) in answers.into_iter().zip(results) {
                    let _ = answer.send(Ok(result));
                }
            }
            // Whatever it was, it says nothing of any one of them.
            Err(_) => {
                for answer in answers {
                    let _ = answer.send(Err(Status::unavailable("the batch of renewals failed")));
                }
            }
        }
    }

    /// Once when calls begin to fail, and once when they work again: there may be thousands in between.
    fn log(&mut self, failure: Option<&Status>) {
        match (failure, self.failing) {
            (Some(status), false) => {
                tracing::warn!(code = ?status.code(), reason = status.message(), "renewals do not reach the registry");
            }
            (None, true) => tracing::info!("renewals reach the registry again"),
            (Some(_), true) | (None, false) => {}
        }
        self.failing = failure.is_some();
    }
}

#[cfg(test)]
mod tests;
