//! Tier 3: the pages that this facade holds, ready to be sent. Read by `routes::apps`, filled by `follow` and `misses`.

use crate::{
    body::Plain,
    keys::{Key, Scope},
};
use arc_swap::ArcSwapOption;
use parking_lot::RwLock;
use registry_model::{Mono, Position, StatusCounts};
use service_runtime::SharedClock;
use std::{
    collections::HashMap,
    sync::{Arc, OnceLock},
    time::Duration,
};
use tokio_util::sync::CancellationToken;
use wire_codec::{CorruptPage, Document, Form, Page, Payload, PerForm, encode_head, encode_tail};

/// How long plain bytes are kept after they were last read.
const PLAIN_KEPT: Duration = Duration::from_secs(180);
/// How often plain bytes that nobody reads are looked for.
const PLAIN_SWEEP: Duration = Duration::from_secs(30);

/// Eureka's constant `versions__delta` of lists by address.
const VIP_VERSION: i64 = -1;

/// A payload at one position.
#[derive(Debug)]
pub(crate) struct Held {
    payload: Arc<Payload>,
    position: Position,
    /// The follow stream that brought it.
    follower: u64,
    /// Held while the plain bytes of many pages are made: a crowd of readers makes them once.
    making_plain: Arc<tokio::sync::Mutex<()>>,
    /// What those get who name regions, if that is another document. It shares the pages.
    regional: Option<Arc<Held>>,
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
        Self { payload: Arc::new(payload), position, follower, making_plain: Arc::default(), regional: None }
    }

    /// With other ends, head and tail, for those who name regions.
    pub(crate) fn with_regional(self, ends: Option<(Page, Page)>) -> Self {
        let regional = ends
            .map(|(head, tail)| Arc::new(Self::new(self.payload.with_ends(head, tail), self.position, self.follower)));
        Self { regional, ..self }
    }

    /// What those get who name regions; none if it is the same.
    pub(crate) fn regional(&self) -> Option<&Arc<Self>> {
        self.regional.as_ref()
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

    /// The payload as it is, read at a time. The plain bytes that its pages do not keep yet are made now, those of more than
    /// one page off the async threads. They stay with the pages, which other payloads have too, and whether or not the reader does.
    pub(crate) async fn plain(&self, now: Mono) -> Result<Plain, PlainError> {
        let mut lacking = self.payload.pages().filter(|page| !page.keeps_plain());
        match (lacking.next(), lacking.next()) {
            (None, _) => {}
            (Some(page), None) => drop(page.plain(now)?),
            (Some(_), Some(_)) => {
                let making = Arc::clone(&self.making_plain).lock_owned().await;
                let payload = Arc::clone(&self.payload);
                let made = tokio::task::spawn_blocking(move || {
                    let _making = making;
                    payload.pages().try_for_each(|page| page.plain(now).map(drop))
                });
                made.await??;
            }
        }
        Ok(Plain::new(Arc::clone(&self.payload), now))
    }

    fn forget_unread_plain(&self, now: Mono) {
        self.payload.pages().for_each(|page| page.forget_plain_unread_for(PLAIN_KEPT, now));
        self.regional.iter().for_each(|held| held.forget_unread_plain(now));
    }

    #[cfg(test)]
    fn pages_kept_plain(&self) -> usize {
        self.payload.pages().filter(|page| page.keeps_plain()).count()
    }
}

/// All payloads held. A hit clones one `Arc`.
#[derive(Debug, Default)]
pub(crate) struct ReadOnly {
    all: PerForm<ArcSwapOption<Held>>,
    delta: PerForm<ArcSwapOption<Held>>,
    /// Applications and addresses.
    named: RwLock<HashMap<Key, Arc<Held>>>,
    no_instances: PerForm<OnceLock<Arc<Held>>>,
}

impl ReadOnly {
    pub(crate) fn get(&self, key: &Key) -> Option<Arc<Held>> {
        match &key.scope {
            Scope::All => self.all.of(key.form).load_full(),
            Scope::Delta => self.delta.of(key.form).load_full(),
            Scope::Application(_) | Scope::Vip(_) | Scope::Svip(_) => self.named.read().get(key).cloned(),
        }
    }

    pub(crate) fn insert(&self, key: &Key, held: Arc<Held>) {
        match &key.scope {
            Scope::All => self.all.of(key.form).store(Some(held)),
            Scope::Delta => self.delta.of(key.form).store(Some(held)),
            Scope::Application(_) | Scope::Vip(_) | Scope::Svip(_) => {
                let replaced = self.named.write().insert(key.clone(), held);
                // A payload is freed here, after the lock.
                drop(replaced);
            }
        }
    }

    pub(crate) fn remove(&self, key: &Key) {
        match &key.scope {
            Scope::All => self.all.of(key.form).store(None),
            Scope::Delta => self.delta.of(key.form).store(None),
            Scope::Application(_) | Scope::Vip(_) | Scope::Svip(_) => {
                let removed = self.named.write().remove(key);
                drop(removed);
            }
        }
    }

    /// What an address is answered that no instance lists: the same for all of them, so that none takes room.
    pub(crate) fn no_instances(&self, form: Form) -> Arc<Held> {
        let make = || {
            let document = Document::Registry { version: VIP_VERSION, hash: StatusCounts::default() };
            let [head, tail] = [encode_head(form, &document), encode_tail(form, &document)];
            let payload = Payload::new(Page::deflate(&head), Vec::new(), Page::deflate(&tail));
            Arc::new(Held::new(payload, Position::default(), 0))
        };
        Arc::clone(self.no_instances.of(form).get_or_init(make))
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
        list.extend(self.named.read().iter().map(|(key, held)| (key.clone(), Arc::clone(held))));
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
    use futures::FutureExt;
    use registry_model::Clock;
    use testkit::{ManualClock, eventually};
    use wire_codec::{Page, PageSplice};

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

        let _ = held.plain(clock.mono()).await.unwrap();
        assert_eq!(held.pages_kept_plain(), 4);

        for _ in 0..5 {
            eventually("the sweep sleeps", || clock.sleepers() == 1).await;
            clock.advance(PLAIN_SWEEP);
        }
        eventually("the sweep sleeps", || clock.sleepers() == 1).await;
        assert_eq!(held.pages_kept_plain(), 4);
        clock.advance(PLAIN_SWEEP);
        eventually("the plain bytes are gone", || held.pages_kept_plain() == 0).await;

        stopping.cancel();
        sweep.await.unwrap();
    }

    #[tokio::test]
    async fn a_change_leaves_the_plain_bytes_of_all_other_pages() {
        let held = held(&["a", "b", "c"]);
        let _ = held.plain(Mono::from_nanos(1)).await.unwrap();
        let change = PageSplice { at: 1, removed: 1, inserted: vec![Page::deflate(b"B")] };
        let payload = held.payload().splice(Page::deflate(b"<"), &[change], Page::deflate(b">")).unwrap();
        let changed = Held::new(payload, Position::default(), 1);
        assert_eq!(changed.pages_kept_plain(), 2);
    }

    #[tokio::test]
    async fn a_reader_that_leaves_does_not_throw_away_what_was_begun_for_it() {
        let held = held(&["a", "b", "c"]);
        // Polled once, which begins it.
        let _ = held.plain(Mono::from_nanos(1)).now_or_never();
        eventually("the plain bytes are made", || held.pages_kept_plain() == 5).await;
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
