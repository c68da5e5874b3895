//! How many leases may go. Made from the settings; asked by [`crate::EvictionPlan`].

use registry_model::{LeaseReport, RenewalPercentThreshold};
use std::time::Duration;

/// What limits an eviction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EvictionPolicy {
    /// The share of the leases that stays.
    pub share: RenewalPercentThreshold,
    /// The time for which this is so.
    pub limit: ShareLimit,
}

/// The time within which no more than the share of the leases may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShareLimit {
    /// Any minute: what went in the last 60 s counts as if it were still there.
    PerMinute,
    /// A round, as in the Java server, whose rounds are a minute apart.
    PerRound,
}

const MINUTE: Duration = Duration::from_secs(60);

impl ShareLimit {
    /// The limit for rounds at this interval: where they are a minute or more apart each stands for itself.
    pub fn for_rounds_every(interval: Duration) -> Self {
        if interval < MINUTE { Self::PerMinute } else { Self::PerRound }
    }
}

impl EvictionPolicy {
    /// How many leases may go now, however many have run out.
    pub fn allowed(&self, report: &LeaseReport) -> u64 {
        let gone = match self.limit {
            ShareLimit::PerMinute => report.evicted_last_minute,
            ShareLimit::PerRound => 0,
        };
        let held = report.leases.saturating_add(gone);
        held.saturating_sub(self.share.truncated(held)).saturating_sub(gone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(limit: ShareLimit) -> EvictionPolicy {
        EvictionPolicy { share: RenewalPercentThreshold::DEFAULT, limit }
    }

    fn allowed(limit: ShareLimit, leases: u64, evicted_last_minute: u64) -> u64 {
        policy(limit).allowed(&LeaseReport { leases, evicted_last_minute, ..LeaseReport::default() })
    }

    #[test]
    fn b76_at_most_fifteen_percent_go_in_a_round_and_at_least_one() {
        let table = [(0, 0), (1, 1), (6, 1), (7, 2), (10, 2), (14, 3), (20, 3), (50, 8), (100, 15), (1000, 150)];
        for (leases, count) in table {
            assert_eq!(allowed(ShareLimit::PerRound, leases, 99), count, "{leases} leases");
            assert_eq!(allowed(ShareLimit::PerMinute, leases, 0), count, "{leases} leases");
        }
    }

    #[test]
    fn b74_within_a_minute_what_went_already_counts() {
        for (leases, gone, count) in [(100, 0, 15), (95, 5, 10), (85, 15, 0), (80, 20, 0), (0, 1, 0), (6, 1, 1)] {
            assert_eq!(allowed(ShareLimit::PerMinute, leases, gone), count, "{leases} leases, {gone} gone");
        }
    }

    #[test]
    fn rounds_a_minute_apart_stand_each_for_itself() {
        for (seconds, limit) in [(1, ShareLimit::PerMinute), (59, ShareLimit::PerMinute), (60, ShareLimit::PerRound)] {
            assert_eq!(ShareLimit::for_rounds_every(Duration::from_secs(seconds)), limit);
        }
    }
}
