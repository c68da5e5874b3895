//! Payloads that are being asked for: all who want the same one share one request. Joined by `tier`, landed by it and by
//! `apply`. Names that nobody registered leave nothing behind here.

use crate::{keys::Key, read_only::Held};
use parking_lot::Mutex;
use std::{
    collections::{HashMap, hash_map::Entry},
    sync::Arc,
};
use tokio::sync::watch;

/// Why a payload cannot be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Missing {
    /// There is none.
    #[error("there is no such payload")]
    NotFound,
    /// Nothing is shown yet.
    #[error("the access gate is closed")]
    GateClosed,
    /// Nobody knows at present.
    #[error("the read-write cache does not answer")]
    Unavailable,
}

type Outcome = Option<Result<Arc<Held>, Missing>>;

type Flights = Arc<Mutex<HashMap<Key, watch::Sender<Outcome>>>>;

/// Requests under way, by key.
#[derive(Debug, Default)]
pub(crate) struct Misses(Flights);

/// A place among those who wait for a payload.
pub(crate) struct Waiter {
    receiver: watch::Receiver<Outcome>,
    /// Only for the first who wants it: the one who has to see to the request.
    pub(crate) flight: Option<Flight>,
}

impl Waiter {
    /// What the request for the payload comes to.
    pub(crate) async fn answer(mut self) -> Result<Arc<Held>, Missing> {
        match self.receiver.wait_for(Option::is_some).await {
            Ok(outcome) => outcome.clone().unwrap_or(Err(Missing::Unavailable)),
            Err(_) => Err(Missing::Unavailable),
        }
    }
}

/// The request for a payload, seen by who has to see to it. Dropped before it has landed, it fails.
pub(crate) struct Flight {
    key: Key,
    receiver: watch::Receiver<Outcome>,
    flights: Flights,
}

impl Flight {
    /// Resolves once the payload has come or its request has failed.
    pub(crate) async fn landed(&mut self) {
        // An error means that the sender is gone, which has the same meaning here.
        let _ = self.receiver.wait_for(Option::is_some).await;
    }

    /// The request has failed.
    pub(crate) fn fail(&self, missing: Missing) {
        let mut flights = self.flights.lock();
        // After this one has landed there may be another for the same key.
        if flights.get(&self.key).is_some_and(|flight| flight.subscribe().same_channel(&self.receiver))
            && let Some(flight) = flights.remove(&self.key)
        {
            flight.send_replace(Some(Err(missing)));
        }
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        self.fail(Missing::Unavailable);
    }
}

impl Misses {
    /// Waits for a payload, or returns what `held` finds: it is looked for once more here, because a payload may have come
    /// between the look that missed it and this call.
    pub(crate) fn join(&self, key: &Key, held: impl FnOnce() -> Option<Arc<Held>>) -> Result<Waiter, Arc<Held>> {
        let mut flights = self.0.lock();
        if let Some(held) = held() {
            return Err(held);
        }
        let (receiver, flight) = match flights.entry(key.clone()) {
            Entry::Occupied(flight) => (flight.get().subscribe(), None),
            Entry::Vacant(place) => {
                let receiver = place.insert(watch::Sender::new(None)).subscribe();
                let flight = Flight { key: key.clone(), receiver: receiver.clone(), flights: Arc::clone(&self.0) };
                (receiver, Some(flight))
            }
        };
        Ok(Waiter { receiver, flight })
    }

    /// The request for a payload has come to this.
    pub(crate) fn land(&self, key: &Key, outcome: Result<Arc<Held>, Missing>) {
        let flight = self.0.lock().remove(key);
        if let Some(flight) = flight {
            flight.send_replace(Some(outcome));
        }
    }

    /// All requests have come to nothing.
    pub(crate) fn land_all(&self, missing: Missing) {
        let flights = std::mem::take(&mut *self.0.lock());
        for flight in flights.into_values() {
            flight.send_replace(Some(Err(missing)));
        }
    }

    /// How many are under way.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.0.lock().len()
    }
}
