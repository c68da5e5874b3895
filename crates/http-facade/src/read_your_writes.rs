//! Read your writes: a cached read waits, for a moment at most, until the tier has seen what this facade last acknowledged
//! to a writer. Writers report in `routes::instances`, the follow loop reports watermarks, `routes::apps` waits here.

use parking_lot::Mutex;
use registry_model::{Epoch, Position};
use service_runtime::SharedClock;
use std::{
    collections::VecDeque,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};
use tokio::sync::watch;

/// How long a read waits at most.
pub(crate) const PATIENCE: Duration = Duration::from_millis(50);

/// How many lives of registry-core are remembered.
const REMEMBERED_EPOCHS: usize = 16;

/// Whether this facade lets readers wait for writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// They wait.
    Bounded,
    /// Nothing is pushed here, so waiting would not help.
    Off,
}

/// What was acknowledged, and what the tier has seen.
#[derive(Debug)]
pub(crate) struct ReadYourWrites {
    waiting: Waiting,
    /// Whether a read has to look closer. Written under `state`'s lock, read without.
    behind: AtomicBool,
    state: Mutex<State>,
    /// Counts changes of `state` that may end a wait; sent by the follow loop, received by waiting reads.
    moved: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct State {
    acknowledged: Option<Position>,
    mark: Option<Position>,
    /// Lives in the order in which they were first heard of, in acknowledgements or watermarks.
    lives: VecDeque<Epoch>,
    /// Whether watermarks can be hoped for.
    following: bool,
}

impl State {
    fn has_seen(&self, position: Position) -> bool {
        let Some(mark) = self.mark else { return false };
        mark.includes(position) || self.is_before(position.epoch, mark.epoch)
    }

    /// Whether a life is over when the mark has come to another one: its own watermark will not come any more, be it that it
    /// has never been seen.
    fn is_before(&self, life: Epoch, other: Epoch) -> bool {
        let place = |epoch| self.lives.iter().position(|known| *known == epoch);
        place(life) < place(other)
    }

    fn hear_of(&mut self, life: Epoch) {
        if !self.lives.contains(&life) {
            self.lives.push_back(life);
            if self.lives.len() > REMEMBERED_EPOCHS {
                self.lives.pop_front();
            }
        }
    }

    /// What a read has to wait for.
    fn awaited(&self) -> Option<Position> {
        self.acknowledged.filter(|position| self.following && !self.has_seen(*position))
    }

    /// How many revisions the tier is behind of what was acknowledged; 0 while they cannot be compared.
    fn lag(&self) -> u64 {
        match (self.acknowledged, self.mark) {
            (Some(acknowledged), Some(mark)) if acknowledged.epoch == mark.epoch => {
                acknowledged.revision.0.saturating_sub(mark.revision.0)
            }
            (Some(_) | None, Some(_) | None) => 0,
        }
    }
}

impl ReadYourWrites {
    pub(crate) fn new(waiting: Waiting) -> Self {
        Self { waiting, behind: AtomicBool::new(false), state: Mutex::default(), moved: watch::Sender::new(0) }
    }

    /// A writer is about to be told that its write is done. Returns how many revisions the tier is behind of it; 0 while that
    /// cannot be said.
    pub(crate) fn acknowledged(&self, position: Position) -> u64 {
        if self.waiting == Waiting::Off {
            return 0;
        }
        let mut state = self.state.lock();
        state.hear_of(position.epoch);
        // A late answer of a life that is over, or of an earlier moment of this one, asks for nothing new.
        let covered = state.has_seen(position) || state.acknowledged.is_some_and(|last| last.includes(position));
        // The life that the mark is of is the one that answers: what another one has acknowledged may never come.
        let supersedes = state.mark.is_some_and(|mark| mark.includes(position))
            && state.acknowledged.is_some_and(|last| last.epoch != position.epoch);
        if !covered || supersedes {
            state.acknowledged = Some(position);
        }
        self.behind.store(state.awaited().is_some(), Ordering::Release);
        state.lag()
    }

    /// Everything that is held is as new as this. Returns how far that is behind, as [`acknowledged`](Self::acknowledged) does.
    pub(crate) fn watermark(&self, position: Position) -> u64 {
        let mut state = self.state.lock();
        state.hear_of(position.epoch);
        state.mark = Some(position);
        self.publish(&state);
        state.lag()
    }

    /// There is a follow stream that brings watermarks.
    pub(crate) fn connected(&self) {
        let mut state = self.state.lock();
        if !state.following {
            state.following = true;
            self.publish(&state);
        }
    }

    /// The follow stream has ended: until the next one there is nothing to wait for.
    pub(crate) fn disconnected(&self) {
        let mut state = self.state.lock();
        state.following = false;
        self.publish(&state);
    }

    fn publish(&self, state: &State) {
        self.behind.store(state.awaited().is_some(), Ordering::Release);
        self.moved.send_modify(|moves| *moves = moves.wrapping_add(1));
    }

    /// Waits until the tier has seen what had been acknowledged at the time of the call. One load when it already has.
    pub(crate) async fn level(&self, clock: &SharedClock) {
        if self.behind.load(Ordering::Acquire) {
            // Boxed: this is rare, and every read carries the size of this future.
            Box::pin(self.wait(clock)).await;
        }
    }

    fn is_awaited(&self, target: Position) -> bool {
        let state = self.state.lock();
        state.following && !state.has_seen(target)
    }

    async fn wait(&self, clock: &SharedClock) {
        let mut moved = self.moved.subscribe();
        let Some(target) = self.state.lock().awaited() else { return };
        let reached = async { while self.is_awaited(target) && moved.changed().await.is_ok() {} };
        tokio::select! {
            () = reached => {}
            () = clock.sleep(PATIENCE) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;
    use registry_model::Revision;
    use std::sync::Arc;
    use testkit::ManualClock;

    fn at(epoch: u64, revision: u64) -> Position {
        Position { epoch: Epoch(epoch), revision: Revision(revision) }
    }

    fn following() -> ReadYourWrites {
        let writes = ReadYourWrites::new(Waiting::Bounded);
        writes.connected();
        writes
    }

    fn is_level(writes: &ReadYourWrites) -> bool {
        let clock: SharedClock = Arc::new(ManualClock::new());
        writes.level(&clock).now_or_never().is_some()
    }

    #[test]
    fn a_read_waits_only_while_an_acknowledged_write_is_unseen() {
        let writes = following();
        assert!(is_level(&writes));
        writes.watermark(at(1, 3));
        writes.acknowledged(at(1, 3));
        assert!(is_level(&writes));
        writes.acknowledged(at(1, 5));
        assert_eq!(writes.acknowledged(at(1, 4)), 2);
        assert!(!is_level(&writes));
        assert_eq!(writes.watermark(at(1, 4)), 1);
        assert!(!is_level(&writes));
        assert_eq!(writes.watermark(at(1, 5)), 0);
        assert!(is_level(&writes));
    }

    #[test]
    fn an_acknowledgement_of_another_life_waits_for_its_first_watermark() {
        let writes = following();
        writes.watermark(at(1, 900));
        writes.acknowledged(at(2, 1));
        assert!(!is_level(&writes));
        writes.watermark(at(2, 1));
        assert!(is_level(&writes));
    }

    #[test]
    fn a_late_acknowledgement_of_a_life_that_is_over_is_not_waited_for() {
        let writes = following();
        writes.watermark(at(1, 9));
        writes.watermark(at(2, 1));
        writes.acknowledged(at(1, 10));
        assert!(is_level(&writes));
        writes.acknowledged(at(2, 2));
        writes.acknowledged(at(1, 11));
        assert!(!is_level(&writes));
    }

    #[test]
    fn a_life_that_ended_before_it_was_seen_is_not_waited_for() {
        let writes = following();
        writes.acknowledged(at(1, 1));
        writes.watermark(at(2, 0));
        assert!(is_level(&writes));
        writes.acknowledged(at(3, 1));
        writes.watermark(at(2, 7));
        assert!(!is_level(&writes), "another watermark of the same life says nothing of the next one");
        writes.watermark(at(4, 0));
        assert!(is_level(&writes));
    }

    #[test]
    fn a_mark_that_comes_late_does_not_end_a_life_that_was_heard_of_after_its_own() {
        let writes = following();
        writes.watermark(at(1, 9));
        writes.acknowledged(at(2, 1));
        writes.acknowledged(at(3, 1));
        writes.watermark(at(2, 1));
        assert!(!is_level(&writes));
        writes.watermark(at(3, 1));
        assert!(is_level(&writes));
    }

    #[test]
    fn the_life_that_is_seen_and_answers_ends_the_wait_for_another_one() {
        let writes = following();
        writes.watermark(at(2, 3));
        // A life that is over, only nobody here has ever heard of it.
        writes.acknowledged(at(1, 10));
        assert!(!is_level(&writes));
        writes.acknowledged(at(2, 3));
        assert!(is_level(&writes));
        writes.acknowledged(at(2, 4));
        assert!(!is_level(&writes));
    }

    #[test]
    fn without_a_stream_or_without_push_nobody_waits() {
        let writes = following();
        writes.watermark(at(1, 1));
        writes.disconnected();
        writes.acknowledged(at(1, 2));
        assert!(is_level(&writes));
        writes.connected();
        assert!(!is_level(&writes), "with the next stream there is hope again");

        let off = ReadYourWrites::new(Waiting::Off);
        off.watermark(at(1, 1));
        off.acknowledged(at(1, 2));
        assert!(is_level(&off));
    }

    #[tokio::test]
    async fn a_wait_ends_with_the_watermark_or_after_its_patience() {
        let writes = Arc::new(following());
        let manual = ManualClock::new();
        let clock: SharedClock = Arc::new(manual.clone());
        writes.watermark(at(1, 1));
        writes.acknowledged(at(1, 2));
        let mut wait = Box::pin(writes.level(&clock));
        assert!(wait.as_mut().now_or_never().is_none());
        // What is acknowledged later is not this read's concern.
        writes.acknowledged(at(1, 7));
        writes.watermark(at(1, 2));
        wait.await;

        let mut wait = Box::pin(writes.level(&clock));
        assert!(wait.as_mut().now_or_never().is_none());
        manual.advance(PATIENCE - Duration::from_millis(1));
        assert!(wait.as_mut().now_or_never().is_none());
        manual.advance(Duration::from_millis(1));
        wait.await;
    }
}
