//! Times at which this process did not run, or too late: nobody could renew then, so they do not count against leases.
//! Noticed by the ticks of `preservation`, used by each look at the leases.

use registry_model::Mono;
use std::{collections::VecDeque, time::Duration};

/// How far apart ticks are meant to be.
pub(crate) const TICK: Duration = Duration::from_secs(1);
/// Timers are never quite on time; so much is nothing.
const TOLERANCE: Duration = Duration::from_millis(50);
/// How many are remembered. A lease that has been silent for longer than these loses the oldest.
const REMEMBERED: usize = 64;

/// A time from which on no tick came, until one did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stall {
    from: Mono,
    until: Mono,
}

/// The latest stalls.
#[derive(Clone, Debug)]
pub(crate) struct Stalls {
    ticked: Mono,
    past: VecDeque<Stall>,
}

impl Stalls {
    /// None yet.
    pub(crate) const fn new(now: Mono) -> Self {
        Self { ticked: now, past: VecDeque::new() }
    }

    /// The stall that ends now, if there is one.
    fn present(&self, now: Mono) -> Option<Stall> {
        let due = self.ticked + TICK;
        (now.saturating_since(due) > TOLERANCE).then_some(Stall { from: due, until: now })
    }

    /// A tick: returns by how much it was late, beyond what is nothing.
    pub(crate) fn tick(&mut self, now: Mono) -> Option<Duration> {
        let stall = self.present(now);
        self.ticked = self.ticked.max(now);
        let stall = stall?;
        if self.past.len() == REMEMBERED {
            self.past.pop_front();
        }
        self.past.push_back(stall);
        Some(stall.until.saturating_since(stall.from))
    }

    /// What counts at this moment; a tick that is still due counts as if it came now.
    pub(crate) fn excuses(&self, now: Mono) -> Excuses {
        Excuses(self.past.iter().copied().chain(self.present(now)).collect())
    }
}

/// What stalls excuse, at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Excuses(Vec<Stall>);

impl Excuses {
    /// How much of the time since then does not count.
    pub(crate) fn since(&self, last_sign: Mono) -> Duration {
        let later = self.0.iter().rev().take_while(|stall| stall.until > last_sign);
        later.map(|stall| stall.until.saturating_since(stall.from.max(last_sign))).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Mono {
        Mono::from_nanos(millis * 1_000_000)
    }

    fn excused(stalls: &Stalls, now: u64, last_sign: u64) -> u128 {
        stalls.excuses(at(now)).since(at(last_sign)).as_millis()
    }

    #[test]
    fn ticks_in_time_excuse_nothing() {
        let mut stalls = Stalls::new(at(0));
        for tick in [1000, 2040, 3000, 4050] {
            assert_eq!(stalls.tick(at(tick)), None);
        }
        assert_eq!(excused(&stalls, 5100, 0), 0);
    }

    #[test]
    fn b76_a_late_tick_excuses_those_who_have_not_renewed_since() {
        let mut stalls = Stalls::new(at(0));
        stalls.tick(at(1000));
        // Before the tick comes, too.
        assert_eq!(excused(&stalls, 272_000, 500), 270_000);
        assert_eq!(stalls.tick(at(272_000)), Some(Duration::from_secs(270)));
        for (last_sign, millis) in [(0, 270_000), (2000, 270_000), (271_990, 10), (272_000, 0), (272_500, 0)] {
            assert_eq!(excused(&stalls, 272_900, last_sign), millis, "renewed at {last_sign}");
        }
        stalls.tick(at(273_000));
        assert_eq!(stalls.tick(at(275_000)), Some(Duration::from_secs(1)));
        for (last_sign, millis) in [(0, 271_000), (272_000, 1000), (274_200, 800), (275_000, 0)] {
            assert_eq!(excused(&stalls, 275_000, last_sign), millis, "renewed at {last_sign}");
        }
    }

    #[test]
    fn only_the_latest_are_remembered() {
        let mut stalls = Stalls::new(at(0));
        for tick in 1..=1000 {
            stalls.tick(at(tick * 2000));
        }
        assert_eq!(stalls.past.len(), REMEMBERED);
        assert_eq!(excused(&stalls, 2_000_000, 0), 64_000);
    }
}
