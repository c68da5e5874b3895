//! The loop that keeps the pages alike with tier 2: one follow stream, what it says applied in order, and the periodic sync.
//! Runs as long as the process; calls `apply` and, through `tier`, cache-sync.

use crate::{
    apply::{Applying, Then},
    keys::Key,
    misses::Missing,
    tier::{Completeness, Session, Tier},
};
use futures::{StreamExt, future::BoxFuture};
use registry_model::{Position, UnixMillis};
use registry_proto::cache::{FollowMode, FollowRequest, SubscribeResponse};
use service_runtime::{Backoff, ReadyFlag};
use std::{collections::HashSet, sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;
use tonic::{Code, Request, Status};

const FIRST_DELAY: Duration = Duration::from_millis(50);
const LONGEST_DELAY: Duration = Duration::from_secs(5);

/// How long after a failed subscription the next one is made: tier 2 may just be starting.
const RETRY: Duration = Duration::from_millis(200);

/// How many subscriptions go into one message, which has a bounded size.
const SUBSCRIPTIONS_PER_CALL: usize = 10_000;

/// How the loop follows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Following {
    /// When payloads are sent.
    pub(crate) mode: FollowMode,
    /// How long between two periodic syncs.
    pub(crate) sync_interval: Duration,
}

/// What is subscribed to, and where it is held.
type Subscribed = Vec<(Key, Option<Position>)>;
type Call = BoxFuture<'static, Result<Vec<(Subscribed, SubscribeResponse)>, Status>>;

/// Follows until the process stops. Where a stream breaks everything that is held stays, and another one is opened.
pub(crate) async fn run(tier: Arc<Tier>, following: Following, ready: ReadyFlag, stopping: CancellationToken) {
    let mut backoff = Backoff::new(FIRST_DELAY, LONGEST_DELAY);
    loop {
        let stream = one_stream(&tier, following, &ready, &mut backoff);
        let end = stopping.run_until_cancelled(stream).await;
        tier.session.store(None);
        tier.view_is(Completeness::Incomplete);
        tier.writes.disconnected();
        tier.misses.land_all(Missing::Unavailable);
        let Some(reason) = end.filter(|_| !stopping.is_cancelled()) else { return };
        let delay = backoff.next_delay();
        tracing::warn!(code = ?reason.code(), reason = reason.message(), ?delay, "following the read-write cache again");
        if stopping.run_until_cancelled(tier.clock.sleep(delay)).await.is_none() {
            return;
        }
    }
}

/// Why the stream ended.
async fn one_stream(tier: &Arc<Tier>, following: Following, ready: &ReadyFlag, backoff: &mut Backoff) -> Status {
    let follower = rand::random();
    let request = FollowRequest { follower, mode: following.mode.into() };
    let mut stream = match tier.cache.follow(Request::new(request)).await {
        Ok(response) => response.into_inner(),
        Err(status) => return status,
    };
    tier.metrics.streams.inc();
    let session = Arc::new(Session::new(follower));
    tier.session.store(Some(Arc::clone(&session)));

    let mut applying = Applying::new(Arc::clone(tier), follower, following.mode);
    let mut sync = Sync { tier, session: &session, everything: true, anew: HashSet::new(), call: None, failing: false };
    let mut tick = next_sync(tier, following.sync_interval);
    loop {
        sync.start(&applying);
        tokio::select! {
            biased;
            answer = sync.answer() => match answer {
                Ok(answers) => {
                    // A pause between two calls ends without answers.
                    sync.failing &= answers.is_empty();
                    for (list, response) in answers {
                        applying.subscribed(&list, &response);
                    }
                }
                // Tier 2 does not know this stream: whatever comes out of it, it is not ours.
                Err(status) if status.code() == Code::NotFound => return status,
                Err(status) => {
                    // Where tier 2 has gone the stream says so presently, and is what is logged.
                    if std::mem::replace(&mut sync.failing, true) {
                        tracing::debug!(code = ?status.code(), reason = status.message(), "a subscription failed again");
                    } else {
                        tracing::info!(code = ?status.code(), reason = status.message(), "a subscription failed");
                    }
                    sync.repeat_after(RETRY);
                }
            },
            message = stream.next() => {
                let message = match message {
                    Some(Ok(message)) => message,
                    Some(Err(status)) => return status,
                    None => return Status::unavailable("the stream has ended"),
                };
                backoff.reset();
                if let Some(step) = message.step {
                    let watermark = matches!(step, registry_proto::cache::follow_response::Step::Watermark(_));
                    if let Then::AskAgain(keys) = applying.step(step) {
                        sync.anew.extend(keys);
                    }
                    if watermark {
                        ready.set(true);
                    }
                }
                session.has_applied(message.sequence);
            }
            () = &mut tick => {
                sync.everything = true;
                tick = next_sync(tier, following.sync_interval);
            }
        }
    }
}

/// The subscriptions that the loop makes, one call at a time.
struct Sync<'a> {
    tier: &'a Arc<Tier>,
    session: &'a Arc<Session>,
    /// Whether all that is held is to be compared.
    everything: bool,
    /// What is to be asked for without a held position.
    anew: HashSet<Key>,
    call: Option<Call>,
    /// Whether the last one failed.
    failing: bool,
}

impl Sync<'_> {
    /// Starts the next call, if there is something to ask and no call under way.
    fn start(&mut self, applying: &Applying) {
        if self.call.is_some() || (!self.everything && self.anew.is_empty()) {
            return;
        }
        let mut list: Subscribed = self.anew.drain().map(|key| (key, None)).collect();
        if std::mem::take(&mut self.everything) {
            list = applying.held();
        }
        if list.is_empty() {
            return;
        }
        let tier = Arc::clone(self.tier);
        let (follower, seen) = (self.session.follower(), self.session.seen());
        self.call = Some(Box::pin(async move {
            let mut answers = Vec::new();
            while !list.is_empty() {
                let later = list.split_off(list.len().min(SUBSCRIPTIONS_PER_CALL));
                let response = tier.subscribe(follower, seen, &list).await?;
                answers.push((list, response));
                list = later;
            }
            Ok(answers)
        }));
    }

    /// Compares all that is held, but not at once.
    fn repeat_after(&mut self, pause: Duration) {
        let pause = self.tier.clock.sleep(pause);
        self.everything = true;
        // A call without answers, because there is nothing else to do meanwhile.
        self.call = Some(Box::pin(async {
            pause.await;
            Ok(Vec::new())
        }));
    }

    /// The answer to the call under way; never resolves without one.
    async fn answer(&mut self) -> Result<Vec<(Subscribed, SubscribeResponse)>, Status> {
        match &mut self.call {
            Some(call) => {
                let answer = call.await;
                self.call = None;
                answer
            }
            None => std::future::pending().await,
        }
    }
}

fn next_sync(tier: &Tier, interval: Duration) -> BoxFuture<'static, ()> {
    tier.clock.sleep(until_multiple(tier.clock.unix(), interval))
}

/// The time from `now` to the next multiple of `interval` on the wall clock; never zero.
fn until_multiple(now: UnixMillis, interval: Duration) -> Duration {
    let interval = i64::try_from(interval.as_millis()).unwrap_or(i64::MAX).max(1);
    let left = interval - now.0.rem_euclid(interval);
    Duration::from_millis(left.unsigned_abs())
}

#[cfg(test)]
mod tests;
