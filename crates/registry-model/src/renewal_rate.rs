//! How many renewals come and how many should: Eureka's one-minute rate, its number of expected clients and its threshold.
//! Kept by registry-core; the figures go into [`crate::PreservationPolicy::verdict`].

use crate::Mono;
use std::{
    fmt,
    str::FromStr,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

const MINUTE: Duration = Duration::from_secs(60);

/// The share of the expected renewals, and of the leases, below which something is wrong with us rather than with them.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct RenewalPercentThreshold(f64);

impl RenewalPercentThreshold {
    /// Eureka's: 0.85.
    pub const DEFAULT: Self = Self(0.85);

    /// A share from 0 to 1; `None` for anything else.
    pub fn new(share: f64) -> Option<Self> {
        (0.0..=1.0).contains(&share).then_some(Self(share))
    }

    /// This share of `count`, exact.
    pub fn of(self, count: f64) -> f64 {
        count * self.0
    }

    /// This share of `count`, less its fraction.
    pub fn truncated(self, count: u64) -> u64 {
        self.of(count as f64) as u64
    }
}

impl fmt::Display for RenewalPercentThreshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A text that is no share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a share lies between 0 and 1, as in `0.85`")]
pub struct NoShare;

impl FromStr for RenewalPercentThreshold {
    type Err = NoShare;

    fn from_str(text: &str) -> Result<Self, NoShare> {
        text.trim().parse().ok().and_then(Self::new).ok_or(NoShare)
    }
}

/// Which renewals are expected. Setting `expected-renewals`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ExpectedRenewals {
    /// What each lease's own interval says.
    #[default]
    Intervals,
    /// As the Java server does: the number of clients, all with the interval of `expected-client-renewal-interval`.
    Clients,
}

/// Eureka's threshold for this number of clients: the renewals a minute that must be exceeded. An interval below one
/// second counts as 30 s, as in Netflix's server.
pub fn renewals_threshold(clients: u64, interval: Duration, share: RenewalPercentThreshold) -> u64 {
    let seconds = match interval.as_secs() {
        0 => 30,
        seconds => seconds,
    };
    share.of(clients as f64 * (60.0 / seconds as f64)) as u64
}

/// Renewals a minute to expect, summed from intervals of their own. In millionths, so that sums in any order agree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RenewalSum(u64);

impl RenewalSum {
    /// Counts a lease that is to be renewed at this interval.
    pub fn add(&mut self, interval: Duration) {
        let seconds = interval.as_secs().max(1);
        self.0 = self.0.saturating_add(60_000_000 / seconds);
    }

    /// Renewals a minute.
    pub fn per_minute(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// The threshold that follows: this share of them, less its fraction.
    pub fn threshold(self, share: RenewalPercentThreshold) -> u64 {
        share.of(self.per_minute()) as u64
    }
}

/// Eureka's `MeasuredRate`: what came in the last complete minute since the start. Not a sliding window.
///
/// Adding is one atomic operation; nothing has to turn the minutes over.
#[derive(Debug)]
pub struct MeasuredRate {
    start: Mono,
    /// This minute and the one before, in turns: the minute's number above, the count below.
    minutes: [AtomicU64; 2],
}

const COUNT_BITS: u32 = 32;
const COUNT: u64 = (1 << COUNT_BITS) - 1;

impl MeasuredRate {
    /// Nothing has come yet; minutes are counted from `start`.
    pub const fn new(start: Mono) -> Self {
        Self { start, minutes: [AtomicU64::new(0), AtomicU64::new(0)] }
    }

    fn minute_of(&self, now: Mono) -> u64 {
        now.saturating_since(self.start).as_secs() / MINUTE.as_secs()
    }

    const fn cell(&self, minute: u64) -> &AtomicU64 {
        let [even, odd] = &self.minutes;
        if minute.is_multiple_of(2) { even } else { odd }
    }

    /// Counts `count` more at `now`.
    pub fn add(&self, count: u64, now: Mono) {
        let minute = self.minute_of(now);
        let cell = self.cell(minute);
        let mut seen = cell.load(Relaxed);
        while seen >> COUNT_BITS < minute {
            // The first of its minute takes the place of the minute before the last.
            match cell.compare_exchange_weak(seen, minute << COUNT_BITS | count, Relaxed, Relaxed) {
                Ok(_) => return,
                Err(newer) => seen = newer,
            }
        }
        // One that was held up for two minutes is counted late rather than lost.
        cell.fetch_add(count, Relaxed);
    }

    /// What came in the last complete minute; zero in the first one.
    pub fn last_minute(&self, now: Mono) -> u64 {
        let Some(last) = self.minute_of(now).checked_sub(1) else { return 0 };
        let seen = self.cell(last).load(Relaxed);
        if seen >> COUNT_BITS == last { seen & COUNT } else { 0 }
    }
}

/// Eureka's number of clients that are expected to renew: counted up and down, corrected by a job from time to time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExpectedClients {
    count: u64,
    floor: u64,
}

/// Whether self-preservation is switched on. Setting `enable-self-preservation`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SelfPreservation {
    /// It is.
    Enabled,
    /// Expired leases go whatever happens.
    Disabled,
}

impl ExpectedClients {
    /// Nobody is expected yet, `floor` aside. With a floor of zero registrations count only once there is somebody (K-13).
    pub const fn starting_at(floor: u64) -> Self {
        Self { count: floor, floor }
    }

    /// How many are expected.
    pub const fn count(self) -> u64 {
        self.count
    }

    /// The registry opens with `found` clients from elsewhere and `registered` of its own (K-44).
    pub fn opened(&mut self, found: u64, registered: u64) {
        self.count = found.max(registered).max(self.floor);
    }

    /// A new instance was registered.
    pub const fn registered(&mut self) {
        if self.count > 0 {
            self.count += 1;
        }
    }

    /// An instance has been removed.
    pub fn removed(&mut self) {
        self.count = self.count.saturating_sub(1).max(self.floor);
    }

    /// The job: takes the number of leases over, unless so many are gone at once that something else must be wrong.
    pub fn update(&mut self, leases: u64, share: RenewalPercentThreshold, preservation: SelfPreservation) {
        if leases as f64 > share.of(self.count as f64) || preservation == SelfPreservation::Disabled {
            self.count = leases.max(self.floor);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::thread;

    const SHARE: RenewalPercentThreshold = RenewalPercentThreshold::DEFAULT;

    fn secs(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn srv_58_59_the_threshold_is_truncated() {
        let table = [
            (30, 0, 0),
            (30, 1, 1),
            (30, 2, 3),
            (30, 3, 5),
            (30, 10, 17),
            (30, 50, 85),
            (30, 51, 86),
            (30, 151, 256),
            (15, 10, 34),
            (15, 50, 170),
            (0, 10, 17),
        ];
        for (interval, clients, threshold) in table {
            assert_eq!(renewals_threshold(clients, secs(interval), SHARE), threshold, "{clients} at {interval} s");
        }
    }

    #[test]
    fn srv_61_the_rate_is_the_last_complete_minutes() {
        let start = Mono::from_nanos(7_000_000_000);
        let rate = MeasuredRate::new(start);
        let at = |tenths: u64| start + Duration::from_millis(tenths * 100);
        (0..5).for_each(|_| rate.add(1, at(100)));
        rate.add(7, at(590));
        assert_eq!([rate.last_minute(at(599)), rate.last_minute(at(600))], [0, 12]);
        rate.add(3, at(610));
        let counts = [600, 1199, 1200, 1800].map(|tenths| rate.last_minute(at(tenths)));
        assert_eq!(counts, [12, 12, 3, 0]);
        // An old minute of the same parity does not come back.
        assert_eq!([rate.last_minute(at(2400)), rate.last_minute(at(3000))], [0, 0]);
        rate.add(1, at(3000));
        assert_eq!(rate.last_minute(at(3600)), 1);
    }

    #[test]
    fn renewals_from_many_threads_are_all_counted() {
        let rate = MeasuredRate::new(Mono::from_nanos(0));
        let in_minute = |minute: u64| Mono::from_nanos(0) + MINUTE * u32::try_from(minute).unwrap();
        for minute in 0..4 {
            thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| (0..1000).for_each(|_| rate.add(1, in_minute(minute))));
                }
            });
            assert_eq!(rate.last_minute(in_minute(minute + 1)), 4000);
        }
    }

    #[test]
    fn srv_10_11_42_registrations_and_removals_move_the_expected_clients() {
        let mut expected = ExpectedClients::starting_at(0);
        expected.registered();
        expected.removed();
        assert_eq!(expected.count(), 0);
        expected.opened(10, 0);
        assert_eq!((expected.count(), renewals_threshold(expected.count(), secs(30), SHARE)), (10, 17));
        expected.registered();
        assert_eq!((expected.count(), renewals_threshold(expected.count(), secs(30), SHARE)), (11, 18));
        expected.registered();
        assert_eq!((expected.count(), renewals_threshold(expected.count(), secs(30), SHARE)), (12, 20));
        expected.removed();
        assert_eq!(expected.count(), 11);
    }

    #[test]
    fn k_13_44_the_floor_is_never_left_and_what_is_registered_already_counts() {
        let mut expected = ExpectedClients::starting_at(1);
        expected.registered();
        assert_eq!(expected.count(), 2);
        expected.removed();
        expected.removed();
        assert_eq!(expected.count(), 1);
        expected.opened(3, 5);
        assert_eq!(expected.count(), 5);
        expected.opened(0, 0);
        assert_eq!(expected.count(), 1);
    }

    fn after_the_job(expected: u64, leases: u64, floor: u64, preservation: SelfPreservation) -> u64 {
        let mut clients = ExpectedClients::starting_at(floor);
        clients.opened(expected, 0);
        clients.update(leases, SHARE, preservation);
        clients.count()
    }

    #[test]
    fn srv_70_71_a_sudden_loss_does_not_lower_the_bar_unless_switched_off() {
        use SelfPreservation::*;
        for (leases, preservation, expected) in
            [(90, Enabled, 90), (85, Enabled, 100), (80, Enabled, 100), (80, Disabled, 80), (120, Enabled, 120)]
        {
            assert_eq!(after_the_job(100, leases, 0, preservation), expected, "{leases} {preservation:?}");
        }
        assert_eq!(renewals_threshold(80, secs(30), SHARE), 136);
    }

    #[test]
    fn srv_72_an_empty_registry_expects_the_floor_and_later_registrations_raise_it() {
        assert_eq!(after_the_job(9, 0, 0, SelfPreservation::Disabled), 0);
        let mut clients = ExpectedClients::starting_at(1);
        clients.opened(9, 0);
        clients.update(0, SHARE, SelfPreservation::Disabled);
        clients.registered();
        assert_eq!(clients.count(), 2);
    }

    #[test]
    fn b73_expected_renewals_follow_each_clients_own_interval() {
        let mut sum = RenewalSum::default();
        for interval in [5, 60] {
            (0..5).for_each(|_| sum.add(secs(interval)));
        }
        assert_eq!((sum.per_minute(), sum.threshold(SHARE)), (65.0, 55));
        assert_eq!(renewals_threshold(10, secs(30), SHARE), 17, "what Eureka expects of the same ten");
    }

    #[test]
    fn shares_lie_between_0_and_1() {
        for (text, share) in [("0.85", Some(0.85)), ("0", Some(0.0)), ("1", Some(1.0)), (" .5", Some(0.5))] {
            assert_eq!(text.parse::<RenewalPercentThreshold>().ok().map(|parsed| parsed.0), share, "{text}");
        }
        for text in ["85", "-0.1", "NaN", "inf", "", "a lot"] {
            assert_eq!(text.parse::<RenewalPercentThreshold>(), Err(NoShare), "{text}");
        }
    }

    proptest! {
        #[test]
        fn equal_intervals_expect_what_eureka_does(clients in 0u64..5000, divisor in prop::sample::select(vec![1u64, 2, 5, 10, 15, 20, 30, 60])) {
            let mut sum = RenewalSum::default();
            (0..clients).for_each(|_| sum.add(secs(divisor)));
            prop_assert_eq!(sum.per_minute(), (clients * 60 / divisor) as f64);
            prop_assert_eq!(sum.threshold(SHARE), renewals_threshold(clients, secs(divisor), SHARE));
        }
    }
}
