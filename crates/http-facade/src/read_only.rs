//! Tier 3: the pages that this facade holds, ready to be sent. Read by `routes::apps`, filled by `follow` and `misses`.

use crate::{
    body::Plain,
    keys::{Key, Scope},
};
use arc_swap::ArcSwapOption;
use parking_lot::RwLock;
use registry_model::{AppName, Mono, Position};
use service_runtime::SharedClock;
use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio_util::sync::CancellationToken;
use wire_codec::{CorruptPage, Form, Payload, PerForm};

/// How long plain bytes are kept after they were last read.
const PLAIN_KEPT: Duration = Duration::from_secs(180);
/// How often plain bytes that nobody reads are looked for.
const PLAIN_SWEEP: Duration = Duration::from_secs(30);

/// A payload at one position. Unchanging, but for its plain bytes, which come and go.
#[derive(Debug)]
pub(crate) struct Held {
    payload: Arc<Payload>,
    position: Position,
    /// The follow stream that brought it.
    follower: u64,
    plain: ArcSwapOption<Plain>,
    /// Held while plain bytes are made, so that they are made once.
    making_plain: tokio::sync::Mutex<()>,
    /// When the plain bytes were last read, in nanoseconds of monotonic time.
    plain_read: AtomicU64,
}

/// Why there are no plain bytes.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PlainError {
    /// The pages are no deflate streams.
    #[error("a page cannot be decompressed")]
    Corrupt(#[from] CorruptPage),
    /// The process ended meanwhile.
    #[error("decompression was given up")]
    GivenUp(#[from] tokio::task::JoinError),
}

impl Held {
    pub(crate) fn new(payload: Payload, position: Position, follower: u64) -> Self {
        Self {
            payload: Arc::new(payload),
            position,
            follower,
            plain: ArcSwapOption::empty(),
            making_plain: tokio::sync::Mutex::default(),
            plain_read: AtomicU64::new(0),
        }
    }

    pub(crate) fn payload(&self) -> &Arc<Payload> {
        &self.payload
    }

    pub(crate) fn position(&self) -> Position {
        self.position
    }

    pub(crate) fn follower(&self) -> u64 {
        self.follower
    }

    /// The plain bytes: those that are kept, or made now; more than one page of them off the async threads.
    pub(crate) async fn plain(&self, now: Mono) -> Result<Arc<Plain>, PlainError> {
        self.plain_read.fetch_max(now.as_nanos(), Ordering::Relaxed);
        if let Some(plain) = self.plain.load_full() {
            return Ok(plain);
        }
        let _making = self.making_plain.lock().await;
        if let Some(plain) = self.plain.load_full() {
            return Ok(plain);
        }
        let plain = if self.payload.page_count() <= 1 {
            inflate(&self.payload)?
        } else {
            let payload = Arc::clone(&self.payload);
            tokio::task::spawn_blocking(move || inflate(&payload)).await??
        };
        let plain = Arc::new(plain);
        self.plain.store(Some(Arc::clone(&plain)));
        Ok(plain)
    }

    fn forget_unread_plain(&self, now: Mono) {
        let read = Mono::from_nanos(self.plain_read.load(Ordering::Relaxed));
        if now.saturating_since(read) >= PLAIN_KEPT {
            self.plain.store(None);
        }
    }

    #[cfg(test)]
    fn keeps_plain(&self) -> bool {
        self.plain.load().is_some()
    }
}

fn inflate(payload: &Payload) -> Result<Plain, CorruptPage> {
    let pages: Result<Vec<_>, _> = payload.pages().map(|page| page.inflate().map(Into::into)).collect();
    pages.map(Plain::new)
}

/// All payloads held. A hit clones one `Arc`.
#[derive(Debug, Default)]
pub(crate) struct ReadOnly {
    all: PerForm<ArcSwapOption<Held>>,
    delta: PerForm<ArcSwapOption<Held>>,
    applications: RwLock<HashMap<(AppName, Form), Arc<Held>>>,
}

impl ReadOnly {
    pub(crate) fn get(&self, key: &Key) -> Option<Arc<Held>> {
        match &key.scope {
            Scope::All => self.all.of(key.form).load_full(),
            Scope::Delta => self.delta.of(key.form).load_full(),
            Scope::Application(app) => self.applications.read().get(&(app.clone(), key.form)).cloned(),
        }
    }

    pub(crate) fn insert(&self, key: &Key, held: Arc<Held>) {
        match &key.scope {
            Scope::All => self.all.of(key.form).store(Some(held)),
            Scope::Delta => self.delta.of(key.form).store(Some(held)),
            Scope::Application(app) => {
                let replaced = self.applications.write().insert((app.clone(), key.form), held);
                // A payload is freed here, after the lock.
                drop(replaced);
            }
        }
    }

    pub(crate) fn remove(&self, key: &Key) {
        match &key.scope {
            Scope::All => self.all.of(key.form).store(None),
            Scope::Delta => self.delta.of(key.form).store(None),
            Scope::Application(app) => {
                let removed = self.applications.write().remove(&(app.clone(), key.form));
                drop(removed);
            }
        }
    }

    /// Everything held.
    pub(crate) fn list(&self) -> Vec<(Key, Arc<Held>)> {
        let mut list = Vec::new();
        for form in Form::ALL {
            for scope in [Scope::All, Scope::Delta] {
                let key = Key { scope, form };
                list.extend(self.get(&key).map(|held| (key, held)));
            }
        }
        for ((app, form), held) in &*self.applications.read() {
            list.push((Key { scope: Scope::Application(app.clone()), form: *form }, Arc::clone(held)));
        }
        list
    }

    /// How many payloads are held.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.list().len()
    }
}

/// Forgets plain bytes that nobody reads any more; runs as long as the process.
pub(crate) async fn sweep_plain(pages: Arc<ReadOnly>, clock: SharedClock, stopping: CancellationToken) {
    while stopping.run_until_cancelled(clock.sleep(PLAIN_SWEEP)).await.is_some() {
        let now = clock.mono();
        pages.list().iter().for_each(|(_, held)| held.forget_unread_plain(now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use registry_model::Clock;
    use testkit::{ManualClock, eventually};
    use wire_codec::Page;

    fn held(pages: &[&str]) -> Arc<Held> {
        let pages = pages.iter().map(|page| Page::deflate(page.as_bytes())).collect();
        let payload = Payload::new(Page::deflate(b"<"), pages, Page::deflate(b">"));
        Arc::new(Held::new(payload, Position::default(), 1))
    }

    #[tokio::test]
    async fn plain_bytes_are_kept_until_unread_for_three_minutes() {
        let clock = ManualClock::new();
        let pages = Arc::new(ReadOnly::default());
        let key = Key { scope: Scope::All, form: Form::Json };
        pages.insert(&key, held(&["a", "b"]));
        let stopping = CancellationToken::new();
        let sweep = tokio::spawn(sweep_plain(Arc::clone(&pages), Arc::new(clock.clone()), stopping.clone()));
        let held = pages.get(&key).unwrap();

        let first = held.plain(clock.mono()).await.unwrap();
        let second = held.plain(clock.mono()).await.unwrap();
        assert!(Arc::ptr_eq(&first, &second), "made twice");

        for _ in 0..5 {
            eventually("the sweep sleeps", || clock.sleepers() == 1).await;
            clock.advance(PLAIN_SWEEP);
        }
        eventually("the sweep sleeps", || clock.sleepers() == 1).await;
        assert!(held.keeps_plain());
        clock.advance(PLAIN_SWEEP);
        eventually("the plain bytes are gone", || !held.keeps_plain()).await;

        stopping.cancel();
        sweep.await.unwrap();
    }

    #[tokio::test]
    async fn pages_that_are_no_deflate_stream_give_an_error() {
        for count in [1, 3] {
            let corrupt = Page::from_parts(vec![0xff; 9].into(), 1, 9);
            let payload = Payload::new(Page::deflate(b"<"), vec![corrupt; count], Page::deflate(b">"));
            let held = Held::new(payload, Position::default(), 1);
            assert!(matches!(held.plain(Mono::from_nanos(1)).await, Err(PlainError::Corrupt(_))));
        }
    }
}
