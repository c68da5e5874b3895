//! One follower: what it subscribes to, what it was sent, and the messages that bring it level with a view.
//! Made by `service`; nothing is queued for a follower, a slow one is simply compared with a later view.

use crate::{
    interest::Interest,
    keys::{PayloadKey, Scope},
    metrics::Metrics,
    view::{Difference, Level, PageList, View},
};
use parking_lot::Mutex;
use registry_model::{Position, StatusCounts};
use registry_proto::cache::{
    FollowMode, FollowResponse, PayloadGone, SubscribeOutcome, Watermark, follow_response::Step,
};
use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::Arc,
};
use tokio::sync::Notify;
use wire_codec::Form;

/// What has to be done for a subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Demand {
    /// Nothing beyond what the mode says.
    None,
    /// Bring it up to date.
    Update,
    /// Send it whole: the follower has missed something.
    Whole,
}

#[derive(Debug)]
struct Subscription {
    demand: Demand,
    sent: Option<Sent>,
}

/// What a follower was sent last of one payload.
#[derive(Clone, Debug)]
struct Sent {
    position: Position,
    pages: PageList,
    counts: StatusCounts,
    /// The sequence of the message that completed it.
    sequence: u64,
    /// The sequence of the message that completed the last whole one.
    whole_sequence: u64,
}

#[derive(Debug, Default)]
struct State {
    subscriptions: HashMap<PayloadKey, Subscription>,
    /// Those that demand something.
    demanding: HashSet<PayloadKey>,
    sequence: u64,
    watermark: Option<Watermark>,
    /// The view that the follower was brought level with last.
    view: Option<Arc<View>>,
}

/// What has to be done to bring a follower level with a view; nothing is encoded yet.
#[derive(Debug)]
pub(crate) struct Plan {
    view: Arc<View>,
    work: Vec<Work>,
}

/// What has to be done for one payload.
#[derive(Debug)]
struct Work {
    key: PayloadKey,
    sent: Option<Sent>,
    /// The pages now, and where they differ from what was sent; none if the payload is gone.
    now: Option<(PageList, Vec<Difference>)>,
}

impl Plan {
    /// How many pages may have to be encoded.
    pub(crate) fn pages(&self) -> usize {
        let differences =
            self.work.iter().filter_map(|work| work.now.as_ref()).flat_map(|(_, differences)| differences);
        differences.map(|difference| difference.inserted.len()).sum()
    }
}

/// A follower.
#[derive(Debug)]
pub(crate) struct Follower {
    mode: FollowMode,
    interest: Arc<Interest>,
    state: Mutex<State>,
    /// Wakes the stream when a subscription asks for something.
    wake: Notify,
}

impl Follower {
    pub(crate) fn new(mode: FollowMode, interest: Arc<Interest>) -> Self {
        Self { mode, interest, state: Mutex::default(), wake: Notify::new() }
    }

    /// Waits until a subscription asks for something.
    pub(crate) async fn woken(&self) {
        self.wake.notified().await;
    }

    /// Adds a subscription, or checks one: `held` is where the follower has it, `seen` the last message that it has taken.
    pub(crate) fn subscribe(
        &self,
        key: PayloadKey,
        held: Option<Position>,
        seen: u64,
        view: &View,
        metrics: &Metrics,
    ) -> SubscribeOutcome {
        let mut state = self.state.lock();
        let exists = view.pages(&key.scope).is_some();
        match state.subscriptions.get_mut(&key) {
            None if !exists => return SubscribeOutcome::NotFound,
            None => {
                self.interest.begins(&key.scope);
                state.subscriptions.insert(key.clone(), Subscription { demand: Demand::Update, sent: None });
            }
            Some(subscription) => {
                // A message that is still on its way is not missed; who holds nothing can use nothing but a whole payload.
                let missed = subscription.sent.as_ref().is_some_and(|sent| match held {
                    Some(held) => sent.sequence <= seen && held != sent.position,
                    None => sent.whole_sequence <= seen,
                });
                if missed {
                    metrics.payloads_repaired.inc();
                }
                subscription.demand = match (missed, subscription.demand) {
                    (true, _) | (_, Demand::Whole) => Demand::Whole,
                    (false, Demand::None | Demand::Update) => Demand::Update,
                };
            }
        }
        state.demanding.insert(key);
        drop(state);
        self.wake.notify_one();
        SubscribeOutcome::Subscribed
    }

    /// Whether a new view may concern it. If not, it holds no view either.
    pub(crate) fn looks_at_something(&self) -> bool {
        let mut state = self.state.lock();
        let looks = !match self.mode {
            FollowMode::OnRequest => state.demanding.is_empty(),
            FollowMode::Unspecified | FollowMode::Push => state.subscriptions.is_empty(),
        };
        if !looks {
            state.view = None;
        }
        looks
    }

    /// Tells a follower that looks at nothing how far the view is, unless it has been brought level with a later one already.
    pub(crate) fn tell(&self, level: Level) -> Option<FollowResponse> {
        let mut state = self.state.lock();
        let said = state.watermark.and_then(|said| said.position).map(Position::from);
        let is_further = said.is_some_and(|said| said.includes(level.position) && said != level.position);
        if is_further { None } else { state.watermark(level) }
    }

    /// What has to be done to bring this follower level with a view. Only what may have changed is looked at: with push, the payloads
    /// that touch leaves that differ from the last view; and what a subscription asks for.
    pub(crate) fn plan(&self, view: &Arc<View>) -> Plan {
        let mut state = self.state.lock();
        let due = state.due(view, self.mode);
        let work = due.into_iter().filter_map(|key| {
            let subscription = state.subscriptions.get_mut(&key)?;
            let whole = std::mem::replace(&mut subscription.demand, Demand::None) == Demand::Whole;
            let sent = subscription.sent.clone().filter(|_| !whole);
            let now = view.pages(&key.scope).map(|pages| {
                let differences = pages.differences(sent.as_ref().map(|sent| &sent.pages));
                (pages, differences)
            });
            Some(Work { key, sent, now })
        });
        Plan { work: work.collect(), view: Arc::clone(view) }
    }

    /// Encodes what a plan needs: the messages that bring this follower level, the watermark last.
    pub(crate) fn carry_out(&self, plan: Plan, metrics: &Metrics) -> VecDeque<FollowResponse> {
        let Plan { view, work } = plan;
        // Encoding happens outside the lock: a subscription must not wait for another payload's pages.
        let mut steps = Vec::new();
        for Work { key, sent, now } in work {
            match now {
                Some((pages, differences)) => {
                    let parts = update::update(&key, &view, &pages, sent.as_ref(), differences, metrics);
                    if !parts.is_empty() {
                        let whole_sequence = sent.map_or(0, |sent| sent.whole_sequence);
                        let sent = Sent {
                            position: view.level.position,
                            pages,
                            counts: view.counts,
                            sequence: 0,
                            whole_sequence,
                        };
                        steps.push((key, parts, Some(sent)));
                    }
                }
                None => {
                    let gone = Step::Gone(PayloadGone { key: Some((&key).into()) });
                    steps.push((key, vec![gone], None));
                }
            }
        }
        let mut state = self.state.lock();
        let mut messages = VecDeque::new();
        for (key, parts, sent) in steps {
            let whole = matches!(parts.first(), Some(Step::Update(update)) if update.previous.is_none());
            for step in parts {
                messages.push_back(state.message(step));
            }
            match sent {
                Some(sent) => {
                    let sequence = state.sequence;
                    if let Some(subscription) = state.subscriptions.get_mut(&key) {
                        let whole_sequence = if whole { sequence } else { sent.whole_sequence };
                        subscription.sent = Some(Sent { sequence, whole_sequence, ..sent });
                    }
                }
                None => {
                    if state.subscriptions.remove(&key).is_some() {
                        self.interest.ends(&key.scope);
                    }
                }
            }
        }
        if !messages.is_empty() {
            // Behind messages it is said again.
            state.watermark = None;
        }
        messages.extend(state.watermark(view.level));
        messages
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.state.get_mut().subscriptions.keys().for_each(|key| self.interest.ends(&key.scope));
    }
}

impl State {
    /// What has to be looked at now that this is the view.
    fn due(&mut self, view: &Arc<View>, mode: FollowMode) -> HashSet<PayloadKey> {
        let mut due = std::mem::take(&mut self.demanding);
        match mode {
            FollowMode::OnRequest => return due,
            FollowMode::Unspecified | FollowMode::Push => {}
        }
        let Some(last) = self.view.replace(Arc::clone(view)) else {
            due.extend(self.subscriptions.keys().cloned());
            return due;
        };
        let changed = view.changed(&last);
        if changed.len() < self.subscriptions.len() {
            // There may be many subscriptions, and a change touches few.
            for scope in changed.into_iter().chain([Scope::All, Scope::Delta]) {
                let keys = Form::ALL.map(|form| PayloadKey { scope: scope.clone(), form });
                due.extend(keys.into_iter().filter(|key| self.subscriptions.contains_key(key)));
            }
        } else {
            let is_changed = |key: &&PayloadKey| match &key.scope {
                Scope::All | Scope::Delta => true,
                Scope::Application(_) | Scope::Vip(_) => changed.contains(&key.scope),
            };
            due.extend(self.subscriptions.keys().filter(is_changed).cloned());
        }
        due
    }

    /// How far the view is, unless that was said last.
    fn watermark(&mut self, level: Level) -> Option<FollowResponse> {
        let Level { position, complete, gate_open } = level;
        let watermark = Watermark { position: Some(position.into()), complete, gate_closed: !gate_open };
        let said = self.watermark.replace(watermark);
        (said != Some(watermark)).then(|| self.message(Step::Watermark(watermark)))
    }

    fn message(&mut self, step: Step) -> FollowResponse {
        self.sequence += 1;
        FollowResponse { sequence: self.sequence, step: Some(step) }
    }
}

mod update;

#[cfg(test)]
mod tests;
