//! Which leases go: pure, from a report and a policy. Made by `rounds` for each round and by `service` to be shown.

use crate::EvictionPolicy;
use rand::Rng;
use registry_model::{ExpiredLease, LeaseReport};

/// What a round is going to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EvictionPlan {
    /// Leases are protected, and none of those that have run out was given up.
    Protected,
    /// These go, chosen at random among those that may; there may be none.
    Evict(Vec<ExpiredLease>),
}

impl EvictionPlan {
    /// The plan for a report. The same random numbers choose the same leases.
    pub fn compute(report: &LeaseReport, policy: &EvictionPolicy, rng: &mut impl Rng) -> Self {
        let may_go = |lease: &&ExpiredLease| report.expiration_enabled || lease.given_up;
        let mut chosen: Vec<&ExpiredLease> = report.expired.iter().filter(may_go).collect();
        if chosen.is_empty() && !report.expiration_enabled {
            return Self::Protected;
        }
        let count = usize::try_from(policy.allowed(report)).unwrap_or(usize::MAX).min(chosen.len());
        // Knuth's shuffle, as far as it is needed: each place gets any of those that are left.
        for place in 0..count {
            let other = rng.random_range(place..chosen.len());
            chosen.swap(place, other);
        }
        chosen.truncate(count);
        Self::Evict(chosen.into_iter().cloned().collect())
    }

    /// The leases that go.
    pub fn into_leases(self) -> Vec<ExpiredLease> {
        match self {
            Self::Protected => Vec::new(),
            Self::Evict(leases) => leases,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ShareLimit;
    use proptest::prelude::*;
    use rand::{SeedableRng, rngs::SmallRng};
    use registry_model::{RenewalPercentThreshold, RenewalStamp};
    use std::collections::BTreeSet;
    use testkit::instances::key;

    const POLICY: EvictionPolicy =
        EvictionPolicy { share: RenewalPercentThreshold::DEFAULT, limit: ShareLimit::PerRound };

    fn expired(count: usize, apps: usize) -> Vec<ExpiredLease> {
        (0..count)
            .map(|place| ExpiredLease {
                key: key(&format!("APP-{}", place % apps), &format!("i{place}")),
                stamp: RenewalStamp(place as u64),
                given_up: false,
            })
            .collect()
    }

    fn report(leases: u64, expired: Vec<ExpiredLease>) -> LeaseReport {
        LeaseReport { leases, expired, expiration_enabled: true, ..LeaseReport::default() }
    }

    fn chosen(report: &LeaseReport, seed: u64) -> Vec<ExpiredLease> {
        EvictionPlan::compute(report, &POLICY, &mut SmallRng::seed_from_u64(seed)).into_leases()
    }

    #[test]
    fn srv_63_a_dead_registry_drains_by_its_share() {
        let mut left = expired(10, 1);
        let sizes: Vec<usize> = std::iter::from_fn(|| {
            let goes = chosen(&report(left.len() as u64, left.clone()), 1);
            left.retain(|lease| !goes.contains(lease));
            (!goes.is_empty()).then_some(left.len())
        })
        .collect();
        assert_eq!(sizes, [8, 6, 5, 4, 3, 2, 1, 0]);
    }

    #[test]
    fn srv_64_a_round_takes_what_has_run_out_but_no_more_than_its_share() {
        for (run_out, gone) in [(10, 10), (40, 15), (0, 0)] {
            assert_eq!(chosen(&report(100, expired(run_out, 1)), 1).len(), gone);
        }
    }

    #[test]
    fn srv_65_b76_which_go_is_random_across_applications() {
        let report = report(100, expired(100, 10));
        let keys = |seed| chosen(&report, seed).into_iter().map(|lease| lease.key).collect::<BTreeSet<_>>();
        let (one, other) = (keys(1), keys(2));
        assert_eq!((one.len(), other.len()), (15, 15));
        assert_ne!(one, other);
        assert_eq!(one, keys(1));
        let apps: BTreeSet<_> = one.iter().map(|key| key.app.clone()).collect();
        assert!(apps.len() >= 3, "{apps:?}");
    }

    #[test]
    fn b69_while_leases_are_protected_only_those_given_up_go() {
        let mut leases = expired(40, 4);
        let protected = LeaseReport { expiration_enabled: false, ..report(100, leases.clone()) };
        let mut rng = SmallRng::seed_from_u64(1);
        assert_eq!(EvictionPlan::compute(&protected, &POLICY, &mut rng), EvictionPlan::Protected);
        leases.iter_mut().take(20).for_each(|lease| lease.given_up = true);
        let protected = LeaseReport { expiration_enabled: false, ..report(100, leases) };
        let goes = chosen(&protected, 1);
        assert_eq!(goes.len(), 15);
        assert!(goes.iter().all(|lease| lease.given_up));
    }

    proptest! {
        #[test]
        fn a_plan_names_each_lease_once_and_only_those_that_ran_out(count in 0usize..60, more in 0u64..200, seed: u64) {
            let report = report(count as u64 + more, expired(count, 3));
            let goes = chosen(&report, seed);
            prop_assert_eq!(goes.len() as u64, POLICY.allowed(&report).min(count as u64));
            prop_assert!(goes.iter().all(|lease| report.expired.contains(lease)));
            prop_assert_eq!(goes.iter().map(|lease| &lease.key).collect::<BTreeSet<_>>().len(), goes.len());
        }

        #[test]
        fn every_lease_is_as_likely_to_go(seed in 0u64..4) {
            let report = report(20, expired(20, 1));
            let mut counts = [0u32; 20];
            for round in 0..2000 {
                for lease in chosen(&report, seed * 2000 + round) {
                    counts[lease.stamp.0 as usize] += 1;
                }
            }
            // 3 of 20 in 2000 rounds: 300 each, give or take.
            prop_assert!(counts.iter().all(|count| (220..380).contains(count)), "{:?}", counts);
        }
    }
}
