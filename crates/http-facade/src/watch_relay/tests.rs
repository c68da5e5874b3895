//! Whatever happens upstream, and whenever watchers come: each holds what the registry held at the revision it was told.

mod following;
mod registry;
mod streams;

use super::{
    Held,
    intake::Intake,
    records::Limit,
    watcher::{Next, Watcher},
};
use following::Follower;
use parking_lot::Mutex;
use proptest::prelude::*;
use registry::{Line, Lives};
use registry_model::UnixMillis;
use registry_proto::registry::{ResumeToken, WatchRequest};

const LOG: Limit = Limit { count: 5, bytes: usize::MAX };
const PART: Limit = Limit { count: 2, bytes: usize::MAX };

/// What happens to the registry, to the relay's watch of it, and to watchers.
#[derive(Clone, Debug)]
enum Event {
    Put(usize),
    Remove(usize),
    Warm,
    OpenGate,
    /// The registry's log reaches back so far only.
    Forget(usize),
    Restart,
    /// The relay's stream breaks.
    Break,
    /// The relay takes so many steps.
    Take(usize),
    /// A watcher comes, with the token of an earlier one, ahead of it by so much.
    Arrive {
        token: Option<(usize, u64)>,
        recent_ms: u64,
    },
    /// A watcher reads so many messages.
    Read(usize, usize),
    /// A watcher has waited for the relay to catch up for long enough.
    GiveUp(usize),
    Leave(usize),
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        8 => (0_usize..6).prop_map(Event::Put),
        3 => (0_usize..6).prop_map(Event::Remove),
        1 => Just(Event::Warm),
        1 => Just(Event::OpenGate),
        1 => (0_usize..4).prop_map(Event::Forget),
        1 => Just(Event::Restart),
        2 => Just(Event::Break),
        12 => (1_usize..8).prop_map(Event::Take),
        3 => (proptest::option::of((0_usize..8, prop_oneof![4 => Just(0_u64), 1 => 1_u64..4])), 0_u64..6)
            .prop_map(|(token, recent_ms)| Event::Arrive { token, recent_ms }),
        12 => (0_usize..8, 1_usize..8).prop_map(|(watcher, count)| Event::Read(watcher, count)),
        1 => (0_usize..8).prop_map(Event::GiveUp),
        1 => (0_usize..8).prop_map(Event::Leave),
    ];
    proptest::collection::vec(event, 1..120)
}

struct World {
    lives: Lives,
    line: Option<(Line, Intake)>,
    held: Mutex<Held>,
    followers: Vec<Follower>,
    /// Positions that watchers have left with.
    tokens: Vec<ResumeToken>,
}

impl World {
    fn new() -> Self {
        let held = Held { running: true, ..Held::default() };
        Self { lives: Lives::new(), line: None, held: Mutex::new(held), followers: Vec::new(), tokens: Vec::new() }
    }

    /// The relay takes a step; whether there was one.
    fn take(&mut self) -> bool {
        let (line, intake) = self.line.get_or_insert_with(|| {
            let held = self.held.lock();
            let asked = held.history.as_ref().map(|history| (history.node(), history.position()));
            (Line::new(asked), Intake::new(asked, LOG))
        });
        let Some(step) = line.next(&self.lives) else { return false };
        intake.take(step, &self.held).unwrap();
        true
    }

    /// A watcher reads a message; whether there was one.
    fn read(&mut self, place: usize) -> bool {
        let Some(follower) = self.followers.get_mut(place) else { return false };
        match follower.watcher.next(&self.held, self.lives.now()) {
            Next::Send(step) => {
                follower.take(step, &self.lives);
                true
            }
            Next::Wait | Next::CatchUp => false,
            Next::Fail(status) => panic!("{status}"),
        }
    }

    fn happens(&mut self, event: &Event) {
        match *event {
            Event::Put(id) => self.lives.put(id),
            Event::Remove(id) => self.lives.remove(id),
            Event::Warm => self.lives.warm(),
            Event::OpenGate => self.lives.open_gate(),
            Event::Forget(left) => self.lives.forget(left),
            Event::Restart => {
                self.lives.restart();
                self.line = None;
            }
            Event::Break => self.line = None,
            Event::Take(count) => {
                let _ = (0..count).take_while(|_| self.take()).count();
            }
            Event::Arrive { token, recent_ms } => {
                let resume = token.and_then(|(place, ahead)| {
                    let mut token = *self.tokens.get(place % self.tokens.len().max(1))?;
                    token.position.as_mut().unwrap().revision += ahead;
                    Some(token)
                });
                let request = WatchRequest { resume, recent_ms };
                // What it holds is right only for a token that was not made up.
                let view = token.filter(|(_, ahead)| *ahead == 0).and(resume).map(|token| self.lives.at(token));
                self.followers.push(Follower::new(Watcher::new(&request, PART), resume, view));
            }
            Event::Read(place, count) => {
                let _ = (0..count).take_while(|_| self.read(place)).count();
            }
            Event::GiveUp(place) => {
                let Some(follower) = self.followers.get_mut(place) else { return };
                if matches!(follower.watcher.next(&self.held, UnixMillis(0)), Next::CatchUp) {
                    follower.watcher.start_anew();
                    follower.gives_up();
                } else if let Some(gone) = self.leave(place) {
                    self.tokens.extend(gone);
                }
            }
            Event::Leave(place) => {
                let token = self.leave(place).flatten();
                self.tokens.extend(token);
            }
        }
    }

    fn leave(&mut self, place: usize) -> Option<Option<ResumeToken>> {
        (place < self.followers.len()).then(|| self.followers.swap_remove(place).token())
    }

    /// A watcher reads all that there is, which comes to an end.
    fn read_all(&mut self, place: usize) {
        let more = (0..1000).all(|_| self.read(place));
        assert!(!more, "watcher {place} is sent starts for ever");
    }

    /// Everything that is under way arrives.
    fn settle(&mut self) {
        while self.take() {}
        for place in 0..self.followers.len() {
            self.read_all(place);
            let follower = &mut self.followers[place];
            if matches!(follower.watcher.next(&self.held, UnixMillis(0)), Next::CatchUp) {
                follower.watcher.start_anew();
                follower.gives_up();
                self.read_all(place);
            }
            self.followers[place].is_level(&self.lives);
        }
    }
}

proptest! {
    #![proptest_config(testkit::cases(300))]

    #[test]
    fn every_watcher_holds_what_the_registry_held_at_the_revision_it_was_told(events in events()) {
        let mut world = World::new();
        for event in &events {
            world.happens(event);
        }
        world.settle();
    }
}
