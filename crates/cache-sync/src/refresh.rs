//! When lease times are read anew, and the reading: of pages that have expired, and of a payload before its first subscriber sees it.
//! Part of the loop in `follow_registry`; loads are asked for by `service`. One page is read at a time.

use crate::{
    expiry::Expiry,
    interest::Interest,
    keys::Scope,
    view_state::{LeaseReading, Stale},
};
use futures::future::BoxFuture;
use registry_model::{LeaseTimes, Mono};
use registry_proto::{Registry, registry::GetLeaseTimesRequest};
use service_runtime::SharedClock;
use std::{convert::Infallible, sync::Arc, time::Duration};
use tokio::sync::{mpsc, oneshot};
use tonic::{Request, Status};

/// Pages that expire within this time go together.
const TOGETHER: Duration = Duration::from_secs(1);
/// How long after a failed reading the next one is made.
const RETRY: Duration = Duration::from_secs(5);

/// Payloads that nobody has kept fresh, to be read anew before they are sent.
#[derive(Debug)]
pub(crate) struct Load {
    pub(crate) scopes: Vec<Scope>,
    /// Told when it is done; dropped when nothing comes of it.
    pub(crate) done: oneshot::Sender<()>,
}

/// What is to be done.
pub(crate) enum Due {
    /// Look for expired pages.
    Look,
    /// Read payloads.
    Load(Load),
    /// Take what was read.
    Take(Taken),
}

/// A reading that has ended.
pub(crate) struct Taken {
    pub(crate) stale: Stale,
    pub(crate) asked: Mono,
    pub(crate) reading: Result<LeaseReading, Status>,
    /// Who waits for it to be shown.
    pub(crate) waiting: Option<oneshot::Sender<()>>,
}

struct Reading {
    stale: Stale,
    asked: Mono,
    waiting: Option<oneshot::Sender<()>>,
    call: BoxFuture<'static, Result<LeaseReading, Status>>,
}

/// The schedule, and the reading under way.
pub(crate) struct Refresh {
    registry: Registry,
    pub(crate) expiry: Expiry,
    interest: Arc<Interest>,
    loads: mpsc::Receiver<Load>,
    next_look: Mono,
    reading: Option<Reading>,
}

impl Refresh {
    pub(crate) fn new(
        registry: Registry,
        expiry: Expiry,
        interest: Arc<Interest>,
        loads: mpsc::Receiver<Load>,
        now: Mono,
    ) -> Self {
        Self { registry, expiry, interest, loads, next_look: now + expiry.after, reading: None }
    }

    /// Waits for something to do. Nothing is lost if the caller stops waiting.
    pub(crate) async fn due(&mut self, clock: &SharedClock) -> Due {
        if let Some(reading) = &mut self.reading {
            let result = (&mut reading.call).await;
            if let Some(Reading { stale, asked, waiting, .. }) = self.reading.take() {
                return Due::Take(Taken { stale, asked, reading: result, waiting });
            }
        }
        tokio::select! {
            Some(load) = self.loads.recv() => Due::Load(load),
            () = clock.sleep_until(self.next_look) => Due::Look,
        }
    }

    /// The payloads to look at.
    pub(crate) fn scopes(&self) -> Vec<Scope> {
        self.interest.scopes()
    }

    /// Looks again when the next page expires; nobody subscribes without a load, which sees to it that its pages are looked at in time.
    pub(crate) fn look_at(&mut self, next: Option<Mono>, now: Mono) {
        let latest = now + self.expiry.after;
        self.next_look = next.map_or(latest, |next| next.min(latest)).max(now + TOGETHER);
    }

    /// Reads pages.
    pub(crate) fn read(&mut self, stale: Stale, waiting: Option<oneshot::Sender<()>>, now: Mono) {
        self.next_look = self.next_look.min(now + self.expiry.after).max(now + TOGETHER);
        let call = Box::pin(read(Arc::clone(&self.registry), stale.clone()));
        self.reading = Some(Reading { stale, asked: now, waiting, call });
    }

    /// A reading has been taken. A page that was made anew meanwhile is still expired: that is found soon.
    pub(crate) fn taken(&mut self, now: Mono) {
        self.next_look = self.next_look.min(now + TOGETHER);
    }

    /// A reading has failed.
    pub(crate) fn failed(&mut self, now: Mono) {
        self.next_look = now + RETRY;
    }

    /// The registry is away: whoever waits gets what there is.
    pub(crate) fn give_up(&mut self, now: Mono) {
        self.reading = None;
        self.next_look = now + TOGETHER;
    }

    /// While the registry is away nobody waits for it. Never resolves.
    pub(crate) async fn refuse_loads(&mut self) -> Infallible {
        while let Some(load) = self.loads.recv().await {
            drop(load);
        }
        std::future::pending().await
    }
}

async fn read(registry: Registry, stale: Stale) -> Result<LeaseReading, Status> {
    let mut reading = Vec::new();
    for page in stale.pages() {
        let keys = page.iter().map(|record| record.key().into()).collect();
        let answer = registry.get_lease_times(Request::new(GetLeaseTimesRequest { keys })).await?.into_inner();
        for (record, result) in page.into_iter().zip(answer.results) {
            let lease = result.lease.map(LeaseTimes::from);
            reading.extend(lease.filter(|lease| *lease != record.lease).map(|lease| (record, lease)));
        }
        // In one process a call never waits, and the registry has many pages.
        tokio::task::yield_now().await;
    }
    Ok(reading)
}
