//! Growing, jittered delays between tries. Called by loops that follow something remote; pure but for its seed.

use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

/// Delays that double from `base` to `max`; each is drawn between half of its nominal value and the whole, so that many
/// followers of one failed service do not return in step.
#[derive(Debug)]
pub struct Backoff {
    base: Duration,
    max: Duration,
    nominal: Duration,
    rng: SmallRng,
}

impl Backoff {
    /// Starts at `base`, never exceeds `max`; jitter comes from the system's randomness.
    pub fn new(base: Duration, max: Duration) -> Self {
        Self::seeded(base, max, rand::random())
    }

    /// As `new`, with jitter that repeats for the same `seed`.
    pub fn seeded(base: Duration, max: Duration, seed: u64) -> Self {
        let base = base.min(max);
        Self { base, max, nominal: base, rng: SmallRng::seed_from_u64(seed) }
    }

    /// How long to wait before the next try.
    pub fn next_delay(&mut self) -> Duration {
        let nominal = self.nominal;
        self.nominal = nominal.saturating_mul(2).min(self.max);
        nominal.mul_f64(self.rng.random_range(0.5..=1.0))
    }

    /// Starts over from `base`: call it once a try has succeeded.
    pub fn reset(&mut self) {
        self.nominal = self.base;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_about(delay: Duration, nominal_millis: u64) {
        let nominal = Duration::from_millis(nominal_millis);
        assert!(delay >= nominal / 2 && delay <= nominal, "{delay:?} is not within [half, whole] of {nominal:?}");
    }

    #[test]
    fn delays_double_up_to_the_maximum_and_start_over_after_success() {
        let mut backoff = Backoff::seeded(Duration::from_millis(100), Duration::from_secs(1), 7);
        for nominal in [100, 200, 400, 800, 1000, 1000] {
            assert_about(backoff.next_delay(), nominal);
        }
        backoff.reset();
        assert_about(backoff.next_delay(), 100);
    }

    #[test]
    fn the_same_seed_gives_the_same_delays() {
        let delays = |seed| {
            let mut backoff = Backoff::seeded(Duration::from_millis(100), Duration::from_secs(5), seed);
            std::iter::repeat_with(move || backoff.next_delay()).take(5).collect::<Vec<_>>()
        };
        assert_eq!(delays(1), delays(1));
        assert_ne!(delays(1), delays(2));
    }
}
