//! The read-only tier as a whole: pages, the follow stream's session, misses under way, and read-your-writes. Owned by
//! `facade`; read by `routes::apps`, kept alike by `follow`.

use crate::{
    gate::{Access, Gate},
    keys::Key,
    metrics::Metrics,
    misses::{Misses, Missing},
    read_only::{Held, ReadOnly},
    read_your_writes::ReadYourWrites,
};
use arc_swap::ArcSwapOption;
use registry_model::Position;
use registry_proto::{
    Cache,
    cache::{SubscribeOutcome, SubscribeRequest, SubscribeResponse, Subscription},
};
use service_runtime::{ProcessHandle, SharedClock};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};
use tonic::{Request, Status};

/// How long a read waits for a payload that is not held.
pub(crate) const FILL_PATIENCE: Duration = Duration::from_secs(5);

/// One follow stream, as whoever subscribes has to name it.
#[derive(Debug)]
pub(crate) struct Session {
    follower: u64,
    /// The last message taken from the stream and applied.
    seen: AtomicU64,
}

impl Session {
    pub(crate) fn new(follower: u64) -> Self {
        Self { follower, seen: AtomicU64::new(0) }
    }

    pub(crate) fn follower(&self) -> u64 {
        self.follower
    }

    pub(crate) fn seen(&self) -> u64 {
        self.seen.load(Ordering::Acquire)
    }

    pub(crate) fn has_applied(&self, sequence: u64) {
        self.seen.store(sequence, Ordering::Release);
    }
}

/// What a stream said last of the view behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Completeness {
    /// Something may be missing from it; so it is, too, while there is no stream.
    Incomplete,
    /// It has everything that there is.
    Complete,
}

/// Tier 3.
pub(crate) struct Tier {
    pub(crate) pages: Arc<ReadOnly>,
    pub(crate) misses: Misses,
    pub(crate) writes: ReadYourWrites,
    pub(crate) gate: Gate,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) clock: SharedClock,
    pub(crate) cache: Cache,
    /// Set by the follow loop while it has a stream.
    pub(crate) session: ArcSwapOption<Session>,
    process: ProcessHandle,
    /// Whether the stream's view is complete.
    complete: AtomicBool,
    /// Whether any stream's view has ever been.
    was_complete: AtomicBool,
}

impl Tier {
    pub(crate) fn new(cache: Cache, writes: ReadYourWrites, metrics: Arc<Metrics>, process: &ProcessHandle) -> Self {
        Self {
            pages: Arc::default(),
            misses: Misses::default(),
            writes,
            gate: Gate::default(),
            metrics,
            clock: process.clock(),
            cache,
            session: ArcSwapOption::empty(),
            process: process.clone(),
            complete: AtomicBool::new(false),
            was_complete: AtomicBool::new(false),
        }
    }

    /// A stream has said this of its view, or has ended.
    pub(crate) fn view_is(&self, completeness: Completeness) {
        let complete = completeness == Completeness::Complete;
        self.complete.store(complete, Ordering::Release);
        self.was_complete.fetch_or(complete, Ordering::AcqRel);
    }

    /// Whether a payload that is not held stays away for now. What readers have seen complete is not shown to them nearly empty
    /// because everything behind this facade has started over.
    pub(crate) fn refuses_fills(&self) -> bool {
        self.was_complete.load(Ordering::Acquire) && !self.complete.load(Ordering::Acquire)
    }

    /// Whether lists may be read.
    pub(crate) fn admits(&self) -> Result<(), Missing> {
        match self.gate.access() {
            Access::Open => Ok(()),
            Access::Closed => Err(Missing::GateClosed),
            Access::Unknown => Err(Missing::Unavailable),
        }
    }

    /// The payload: the one that is held, or else what tier 2 sends now.
    pub(crate) async fn read(self: &Arc<Self>, key: Key) -> Result<Arc<Held>, Missing> {
        self.admits()?;
        if let Some(held) = self.pages.get(&key) {
            self.metrics.hits.inc();
            return Ok(held);
        }
        self.metrics.misses.inc();
        // Boxed: misses are rare, and every read carries the size of this future.
        Box::pin(self.fill(key)).await
    }

    /// A writer is about to be told that its write is done.
    pub(crate) fn acknowledged(&self, position: Position) {
        self.show_lag(self.writes.acknowledged(position));
    }

    /// Everything that is held is as new as this.
    pub(crate) fn watermark(&self, position: Position) {
        self.show_lag(self.writes.watermark(position));
    }

    fn show_lag(&self, revisions: u64) {
        self.metrics.watermark_lag.set(i64::try_from(revisions).unwrap_or(i64::MAX));
    }

    async fn fill(self: &Arc<Self>, key: Key) -> Result<Arc<Held>, Missing> {
        if self.refuses_fills() {
            return Err(Missing::Unavailable);
        }
        let mut waiter = match self.misses.join(&key, || self.pages.get(&key)) {
            Ok(waiter) => waiter,
            Err(held) => return Ok(held),
        };
        if let Some(mut flight) = waiter.flight.take() {
            let tier = Arc::clone(self);
            // A task of its own: the first reader may leave while others wait for the same payload.
            self.process.spawn_short("fill a miss", async move {
                let patience = tier.clock.sleep(FILL_PATIENCE);
                let filled = async {
                    match tier.subscribe_one(&key).await {
                        // What was asked for comes through the stream, and lands the flight there.
                        Ok(()) => flight.landed().await,
                        Err(missing) => flight.fail(missing),
                    }
                };
                tokio::select! {
                    () = filled => {}
                    () = patience => {}
                }
            });
        }
        waiter.answer().await
    }

    async fn subscribe_one(&self, key: &Key) -> Result<(), Missing> {
        let session = self.session.load_full().ok_or(Missing::Unavailable)?;
        // Read before it is looked what is held: content that arrives in between is then still on its way, not missing.
        let seen = session.seen();
        let asked = self.subscribe(session.follower, seen, &[(key.clone(), None)]).await;
        let response = asked.map_err(|status| {
            tracing::debug!(code = ?status.code(), reason = status.message(), "a payload could not be asked for");
            Missing::Unavailable
        })?;
        match response.outcomes().next() {
            Some(SubscribeOutcome::Subscribed) => Ok(()),
            Some(SubscribeOutcome::NotFound) if self.refuses_fills() => Err(Missing::Unavailable),
            Some(SubscribeOutcome::NotFound) => Err(Missing::NotFound),
            Some(SubscribeOutcome::Unspecified) | None => Err(Missing::Unavailable),
        }
    }

    /// Tells tier 2 what is held, as of a message of the stream; what differs comes through the stream.
    pub(crate) async fn subscribe(
        &self,
        follower: u64,
        seen_sequence: u64,
        list: &[(Key, Option<Position>)],
    ) -> Result<SubscribeResponse, Status> {
        let subscriptions =
            list.iter().map(|(key, held)| Subscription { key: Some(key.into()), held: held.map(Into::into) }).collect();
        let request = SubscribeRequest { follower, seen_sequence, subscriptions };
        Ok(self.cache.subscribe(Request::new(request)).await?.into_inner())
    }
}
