//! Self-preservation: when so many leases run out that the fault is rather ours, none is taken away.
//! registry-core takes the figures and keeps a [`Protection`]; the rules here are pure.

use crate::{Lease, LeaseExpiry, Mono, RenewalPercentThreshold, SelfPreservation, UnixMillis};
use std::{fmt, time::Duration};

/// Which state of a lease was seen: its last sign of life. Each renewal and each registration makes it another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RenewalStamp(pub u64);

impl Lease {
    /// The last renewal, or the registration.
    pub fn last_sign(&self) -> Mono {
        self.renewed.unwrap_or(self.granted)
    }

    /// What tells this state of the lease from those before and after.
    pub fn stamp(&self) -> RenewalStamp {
        RenewalStamp(self.last_sign().as_nanos())
    }

    /// Whether the lease has run out even if `excused` time does not count.
    pub fn has_run_out(&self, now: Mono, expiry: LeaseExpiry, excused: Duration) -> bool {
        now > self.holds_until(expiry) + excused
    }

    /// Whether two of its client's own intervals have passed without a renewal. `excused` is time that does not count.
    pub fn is_silent(&self, now: Mono, interval: Duration, excused: Duration) -> bool {
        now > self.last_sign() + interval.saturating_mul(2) + excused
    }
}

/// Which figures decide. Setting `self-preservation`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PreservationRule {
    /// Leases that miss two renewals: at least two, and more than the share of all leases that may be missing.
    #[default]
    Missing,
    /// As the Java server does: the renewals of the last complete minute against a threshold.
    RenewalsPerMinute,
}

/// The settings of self-preservation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PreservationPolicy {
    /// Whether it is switched on.
    pub switch: SelfPreservation,
    /// Which figures decide.
    pub rule: PreservationRule,
    /// The share of leases, or of expected renewals, that has to be there.
    pub share: RenewalPercentThreshold,
    /// How long it may last; `None` for any time.
    pub longest: Option<Duration>,
}

/// What the rules look at, at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PreservationFigures {
    /// Leases, those that have run out included, those given up not.
    pub leases: u64,
    /// How many of them are missing.
    pub missing: u64,
    /// Renewals of the last complete minute.
    pub renewals_last_minute: u64,
    /// The renewals a minute that have to be exceeded.
    pub threshold: u64,
}

/// Whether leases may be taken away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Leases that have run out may go.
    MayExpire,
    /// None may go but those given up.
    Protect(Reason),
}

/// Why leases are protected; its text is for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Too many leases miss their renewals.
    Missing {
        /// How many.
        missing: u64,
        /// Of how many.
        leases: u64,
    },
    /// Too few renewals came.
    FewRenewals {
        /// How many in the last complete minute.
        renewals: u64,
        /// What has to be exceeded.
        threshold: u64,
    },
    /// Nobody is expected to renew, so nothing can be told from renewals.
    NothingExpected,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { missing, leases } => {
                write!(f, "{missing} of {leases} instances have missed two renewals")
            }
            Self::FewRenewals { renewals, threshold } => {
                write!(f, "{renewals} renewals in the last minute, more than {threshold} are needed")
            }
            Self::NothingExpected => f.write_str("no renewals are expected"),
        }
    }
}

impl PreservationPolicy {
    /// What the figures mean.
    pub fn verdict(&self, figures: &PreservationFigures) -> Verdict {
        if self.switch == SelfPreservation::Disabled {
            return Verdict::MayExpire;
        }
        match self.rule {
            PreservationRule::Missing => self.by_missing(figures.missing, figures.leases),
            PreservationRule::RenewalsPerMinute => by_renewals(figures.renewals_last_minute, figures.threshold),
        }
    }

    fn by_missing(&self, missing: u64, leases: u64) -> Verdict {
        let leases_held = leases as f64;
        // A share of 0.07 is a little more or less than that: the slack keeps whole numbers whole.
        let may_be_missing = leases_held - self.share.of(leases_held) + leases_held * 1e-9;
        if missing >= 2 && missing as f64 > may_be_missing {
            Verdict::Protect(Reason::Missing { missing, leases })
        } else {
            Verdict::MayExpire
        }
    }
}

/// Eureka's rule: exactly at the threshold counts as protected, and so does a threshold of zero.
const fn by_renewals(renewals: u64, threshold: u64) -> Verdict {
    match threshold {
        0 => Verdict::Protect(Reason::NothingExpected),
        threshold if renewals > threshold => Verdict::MayExpire,
        threshold => Verdict::Protect(Reason::FewRenewals { renewals, threshold }),
    }
}

/// Whether leases are protected, why and since when.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Protection(Option<Period>);

/// A time of protection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Period {
    /// Why, by the latest figures.
    pub reason: Reason,
    /// Since when, for its end.
    pub began: Mono,
    /// Since when, to be shown.
    pub since: UnixMillis,
}

/// What a look at the figures has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtectionStep {
    /// Nothing.
    GoesOn,
    /// Protection has begun.
    Began,
    /// Protection has ended.
    Ended,
    /// It has lasted as long as it may: the missing leases are to be given up, and the figures to be taken anew.
    Overdue,
}

impl Protection {
    /// The time of protection that is under way.
    pub const fn period(&self) -> Option<Period> {
        self.0
    }

    /// Takes the verdict on the latest figures. After [`ProtectionStep::Overdue`] protection has ended.
    pub fn follow(
        &mut self,
        verdict: Verdict,
        longest: Option<Duration>,
        now: Mono,
        unix: UnixMillis,
    ) -> ProtectionStep {
        match (verdict, self.0) {
            (Verdict::MayExpire, None) => ProtectionStep::GoesOn,
            (Verdict::MayExpire, Some(_)) => {
                self.0 = None;
                ProtectionStep::Ended
            }
            (Verdict::Protect(reason), None) => {
                self.0 = Some(Period { reason, began: now, since: unix });
                ProtectionStep::Began
            }
            (Verdict::Protect(reason), Some(period)) => {
                if longest.is_some_and(|longest| now >= period.began + longest) {
                    self.0 = None;
                    return ProtectionStep::Overdue;
                }
                self.0 = Some(Period { reason, ..period });
                ProtectionStep::GoesOn
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LeaseTerms;

    fn policy(rule: PreservationRule) -> PreservationPolicy {
        PreservationPolicy {
            switch: SelfPreservation::Enabled,
            rule,
            share: RenewalPercentThreshold::DEFAULT,
            longest: Some(Duration::from_secs(3600)),
        }
    }

    fn is_protected(policy: &PreservationPolicy, figures: PreservationFigures) -> bool {
        matches!(policy.verdict(&figures), Verdict::Protect(_))
    }

    fn missing(missing: u64, leases: u64) -> PreservationFigures {
        PreservationFigures { leases, missing, ..PreservationFigures::default() }
    }

    fn renewals(renewals_last_minute: u64, threshold: u64) -> PreservationFigures {
        PreservationFigures { renewals_last_minute, threshold, ..PreservationFigures::default() }
    }

    #[test]
    fn srv_60_s15_eurekas_edges_exactly_at_the_threshold_is_protected_and_so_is_zero() {
        let policy = policy(PreservationRule::RenewalsPerMinute);
        for (figures, expected) in
            [(renewals(85, 85), true), (renewals(86, 85), false), (renewals(0, 0), true), (renewals(50, 0), true)]
        {
            assert_eq!(is_protected(&policy, figures), expected, "{figures:?}");
        }
    }

    #[test]
    fn srv_73_74_by_eurekas_figures_five_clients_never_expire_and_six_do_until_one_dies() {
        let policy = policy(PreservationRule::RenewalsPerMinute);
        for (renewed, expected, protected) in [(10, 10, true), (12, 11, false), (10, 11, true)] {
            assert_eq!(is_protected(&policy, renewals(renewed, expected)), protected);
        }
    }

    #[test]
    fn s15_one_missing_lease_always_goes_and_more_are_judged_by_their_share() {
        let policy = policy(PreservationRule::Missing);
        let table = [
            (0, 0, false),
            (1, 1, false),
            (1, 2, false),
            (2, 2, true),
            (1, 6, false),
            (2, 6, true),
            (1, 7, false),
            (2, 13, true),
            (2, 14, false),
            (3, 20, false),
            (4, 20, true),
            (15, 100, false),
            (16, 100, true),
        ];
        for (gone, leases, protected) in table {
            assert_eq!(is_protected(&policy, missing(gone, leases)), protected, "{gone} of {leases}");
        }
    }

    #[test]
    fn a_share_of_leases_that_is_a_whole_number_is_not_exceeded_by_itself() {
        for percent in 1..=100_u64 {
            let share = RenewalPercentThreshold::new(percent as f64 / 100.0).unwrap();
            let policy = PreservationPolicy { share, ..policy(PreservationRule::Missing) };
            let may_be_missing = 100 - percent;
            assert!(!is_protected(&policy, missing(may_be_missing, 100)), "{percent}");
            assert!(is_protected(&policy, missing((may_be_missing + 1).max(2), 100)), "{percent}");
        }
    }

    #[test]
    fn nothing_protects_once_it_is_switched_off() {
        for rule in [PreservationRule::Missing, PreservationRule::RenewalsPerMinute] {
            let policy = PreservationPolicy { switch: SelfPreservation::Disabled, ..policy(rule) };
            assert!(!is_protected(&policy, PreservationFigures { leases: 9, missing: 9, ..renewals(0, 17) }));
        }
    }

    #[test]
    fn a_lease_is_silent_strictly_after_two_of_its_own_intervals() {
        let at = |millis: u64| Mono::from_nanos(millis * 1_000_000);
        let never = Lease::grant(at(0), LeaseTerms::default());
        let renewed = Lease { renewed: Some(at(10_000)), ..never };
        let (interval, none) = (Duration::from_secs(5), Duration::ZERO);
        let late = Duration::from_secs(7);
        for (lease, excused, last) in [(never, none, 10_000), (renewed, none, 20_000), (renewed, late, 27_000)] {
            assert!(!lease.is_silent(at(last), interval, excused));
            assert!(lease.is_silent(at(last + 1), interval, excused));
        }
        assert_ne!(never.stamp(), renewed.stamp());
    }

    #[test]
    fn b69_protection_says_since_when_and_ends_at_its_ceiling() {
        let reason = |missing| Reason::Missing { missing, leases: 20 };
        let at = |seconds: u64| (Mono::from_nanos(seconds * 1_000_000_000), UnixMillis(seconds as i64 * 1000));
        let mut protection = Protection::default();
        let mut follow = |verdict, longest: u64, seconds| {
            let (now, unix) = at(seconds);
            let longest = (longest > 0).then(|| Duration::from_secs(longest));
            (protection.follow(verdict, longest, now, unix), protection.period().map(|period| period.since.0))
        };
        assert_eq!(follow(Verdict::MayExpire, 3600, 1), (ProtectionStep::GoesOn, None));
        assert_eq!(follow(Verdict::Protect(reason(4)), 3600, 2), (ProtectionStep::Began, Some(2000)));
        assert_eq!(follow(Verdict::Protect(reason(10)), 3600, 3601), (ProtectionStep::GoesOn, Some(2000)));
        assert_eq!(follow(Verdict::Protect(reason(10)), 0, 99_999), (ProtectionStep::GoesOn, Some(2000)));
        assert_eq!(follow(Verdict::Protect(reason(10)), 3600, 3602), (ProtectionStep::Overdue, None));
        assert_eq!(follow(Verdict::Protect(reason(4)), 3600, 3603), (ProtectionStep::Began, Some(3_603_000)));
        assert_eq!(follow(Verdict::MayExpire, 3600, 3700), (ProtectionStep::Ended, None));
        assert_eq!(reason(10).to_string(), "10 of 20 instances have missed two renewals");
    }
}
