//! What the messages of one follow stream do to the pages. Without I/O; called by `follow` for every message, in order.
//!
//! While the view behind the stream is incomplete, a payload that is held from an earlier stream stays as it is; what the
//! stream says of it is set aside until the view is complete. With push it then takes that payload's place; without, what was
//! set aside is as old and incomplete as when it was sent, so the payload is asked for anew. Once a complete view has been seen,
//! a payload that is not held is set aside as well: it would be nearly empty.
//!
//! A watermark speaks of what this stream has sent. It counts for the tier once that is everything held: what is held from an
//! earlier stream has been sent again, and nothing is waited for that was asked for anew.

use crate::{
    gate::Access,
    keys::Key,
    misses::Missing,
    read_only::Held,
    tier::{Completeness, Tier},
};
use registry_model::Position;
use registry_proto::cache::{
    FollowMode, Page as PageMessage, PageSplice as SpliceMessage, PayloadGone, PayloadUpdate, SubscribeOutcome,
    SubscribeResponse, Watermark, follow_response::Step,
};
use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};
use wire_codec::{Page, PageSplice, Payload};

/// The state of one follow stream.
pub(crate) struct Applying {
    tier: Arc<Tier>,
    follower: u64,
    mode: FollowMode,
    /// What the last watermark said of the view.
    complete: bool,
    /// Parts of updates that have not ended yet.
    parts: HashMap<Key, Vec<PageSplice>>,
    /// Held from an earlier stream, and this one has not said anything of it yet.
    unconfirmed: HashSet<Key>,
    /// The last watermark, while not everything held is as new as this stream.
    withheld: Option<Position>,
    /// What this stream says of payloads that must not be touched yet; `None`: there is none.
    aside: HashMap<Key, Option<Arc<Held>>>,
    /// Payloads asked for whole, because an update did not fit or what was set aside is too old.
    asked: HashSet<Key>,
}

/// What a message calls for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// Nothing.
    GoOn,
    /// Subscriptions without a held position.
    AskAgain(Vec<Key>),
}

impl Applying {
    pub(crate) fn new(tier: Arc<Tier>, follower: u64, mode: FollowMode) -> Self {
        let unconfirmed = tier.pages.list().into_iter().map(|(key, _)| key).collect();
        let (parts, withheld, aside, asked) = Default::default();
        Self { tier, follower, mode, complete: false, parts, unconfirmed, withheld, aside, asked }
    }

    /// Applies one message.
    pub(crate) fn step(&mut self, step: Step) -> Then {
        let then = match step {
            Step::Update(update) => self.update(update),
            Step::Gone(PayloadGone { key }) => {
                if let Some(key) = key.as_ref().and_then(Key::of) {
                    self.gone(&key);
                }
                Then::GoOn
            }
            Step::Watermark(Watermark { position, complete, gate_closed }) => {
                self.complete = complete;
                self.tier.gate.is(if gate_closed { Access::Closed } else { Access::Open });
                self.tier.view_is(if complete { Completeness::Complete } else { Completeness::Incomplete });
                self.tier.writes.connected();
                self.withheld = position.map(Position::from).or(self.withheld);
                if complete { self.end_what_was_set_aside() } else { Then::GoOn }
            }
        };
        self.pass_watermark();
        then
    }

    /// Tells the tier of the last watermark, if it speaks of everything held.
    fn pass_watermark(&mut self) {
        if self.unconfirmed.is_empty()
            && self.asked.is_empty()
            && let Some(position) = self.withheld.take()
        {
            self.tier.watermark(position);
        }
    }

    /// The positions of everything held, as this stream left it; without position what was asked for whole.
    pub(crate) fn held(&self) -> Vec<(Key, Option<Position>)> {
        let mut list = Vec::new();
        for (key, held) in self.tier.pages.list() {
            let position = match self.aside.get(&key) {
                Some(None) => continue,
                Some(Some(aside)) => aside.position(),
                None => held.position(),
            };
            if !self.asked.contains(&key) {
                list.push((key, Some(position)));
            }
        }
        list.extend(self.asked.iter().map(|key| (key.clone(), None)));
        list
    }

    /// Takes the answer to a subscription for everything held, or for what was asked for anew.
    pub(crate) fn subscribed(&mut self, list: &[(Key, Option<Position>)], response: &SubscribeResponse) {
        for ((key, position), outcome) in list.iter().zip(response.outcomes()) {
            match outcome {
                // Unless it has changed since the question.
                SubscribeOutcome::NotFound => {
                    let now = self.content(key).map(|held| held.position());
                    if position.is_none() || *position == now {
                        self.gone(key);
                    }
                }
                SubscribeOutcome::Subscribed | SubscribeOutcome::Unspecified => {}
            }
        }
        self.pass_watermark();
    }

    fn update(&mut self, update: PayloadUpdate) -> Then {
        let Some(key) = update.key.as_ref().and_then(Key::of) else { return Then::GoOn };
        let part = update.splices.into_iter().map(splice);
        let mut splices = self.parts.remove(&key).unwrap_or_default();
        splices.extend(part);
        if !update.complete {
            self.parts.insert(key, splices);
            return Then::GoOn;
        }
        let previous = update.previous.map(Position::from);
        if previous.is_some() && self.asked.contains(&key) {
            return Then::GoOn;
        }
        let payload = match (update.head, update.tail, update.position) {
            (Some(head), Some(tail), Some(position)) => {
                self.build(&key, previous, page(head), splices, page(tail)).map(|payload| (payload, position.into()))
            }
            (_, _, _) => None,
        };
        match payload {
            Some((payload, position)) => {
                self.asked.remove(&key);
                let regional = update.regional.and_then(|ends| Some((page(ends.head?), page(ends.tail?))));
                self.put(&key, Arc::new(Held::new(payload, position, self.follower).with_regional(regional)));
                Then::GoOn
            }
            None => self.ask_again(key),
        }
    }

    /// The new payload; `None` if the update does not fit what is held.
    fn build(
        &self,
        key: &Key,
        previous: Option<Position>,
        head: Page,
        splices: Vec<PageSplice>,
        tail: Page,
    ) -> Option<Payload> {
        match previous {
            None => {
                let pages = splices.into_iter().flat_map(|splice| splice.inserted).collect();
                Some(Payload::new(head, pages, tail))
            }
            Some(previous) => {
                let base = self.content(key).filter(|held| held.position() == previous)?;
                base.payload().splice(head, &splices, tail).ok()
            }
        }
    }

    fn ask_again(&mut self, key: Key) -> Then {
        self.tier.metrics.resubscriptions.inc();
        tracing::debug!(?key, "an update does not fit what is held");
        self.asked.insert(key.clone());
        Then::AskAgain(vec![key])
    }

    /// The payload as this stream left it.
    fn content(&self, key: &Key) -> Option<Arc<Held>> {
        match self.aside.get(key) {
            Some(aside) => aside.clone(),
            None => self.tier.pages.get(key),
        }
    }

    /// Whether the tier stays as it is for this payload, because the view is incomplete.
    fn is_kept(&self, key: &Key) -> bool {
        !self.complete
            && match self.tier.pages.get(key) {
                Some(held) => held.follower() != self.follower,
                None => self.tier.refuses_fills(),
            }
    }

    fn put(&mut self, key: &Key, held: Arc<Held>) {
        self.unconfirmed.remove(key);
        if self.is_kept(key) {
            self.aside.insert(key.clone(), Some(held));
            self.tier.misses.land(key, Err(Missing::Unavailable));
        } else {
            self.tier.pages.insert(key, Arc::clone(&held));
            self.tier.misses.land(key, Ok(held));
        }
    }

    fn gone(&mut self, key: &Key) {
        self.asked.remove(key);
        self.parts.remove(key);
        self.unconfirmed.remove(key);
        if self.is_kept(key) {
            self.aside.insert(key.clone(), None);
            self.tier.misses.land(key, Err(Missing::Unavailable));
        } else {
            self.tier.pages.remove(key);
            self.tier.misses.land(key, Err(Missing::NotFound));
        }
    }

    /// The view is complete.
    fn end_what_was_set_aside(&mut self) -> Then {
        let aside = std::mem::take(&mut self.aside);
        match self.mode {
            FollowMode::Unspecified | FollowMode::Push => {
                for (key, content) in aside {
                    match content {
                        Some(held) => self.put(&key, held),
                        None => self.gone(&key),
                    }
                }
                Then::GoOn
            }
            FollowMode::OnRequest if aside.is_empty() => Then::GoOn,
            FollowMode::OnRequest => {
                self.asked.extend(aside.keys().cloned());
                Then::AskAgain(aside.into_keys().collect())
            }
        }
    }
}

fn page(message: PageMessage) -> Page {
    Page::from_parts(message.deflated, message.crc, message.length.into())
}

fn splice(message: SpliceMessage) -> PageSplice {
    // A place beyond the machine's reach does not fit any payload either.
    let place = |place: u32| usize::try_from(place).unwrap_or(usize::MAX);
    PageSplice {
        at: place(message.at),
        removed: place(message.removed),
        inserted: message.pages.into_iter().map(page).collect(),
    }
}
