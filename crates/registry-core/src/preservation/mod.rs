//! Who may be evicted: the renewal rates, what is expected, self-preservation, stalls. Told of commands and renewals by
//! `registry`, and once a second by its ticks; the rules are `registry-model`'s.

pub(crate) mod census;
mod settings;
mod stalls;
#[cfg(test)]
mod tests;

pub use settings::PreservationSettings;
pub(crate) use stalls::TICK;

use crate::{
    lease_table::{LeaseEntry, LeaseTable, Moment},
    metrics::Metrics,
};
use census::{Census, GivenUp, Listing, Looking};
use parking_lot::Mutex;
use registry_model::{
    ExpectedClients, ExpectedRenewals, ExpiredLease, InstanceKey, LeaseExpiry, LeaseReport, MeasuredRate, Mono,
    PreservationFigures, PreservationPolicy, PreservationRule, PreservationStatus, Protection, ProtectionNotice,
    ProtectionStep, Reason, RenewalStamp, RenewalSum, SelfPreservation, Verdict, renewals_threshold,
};
use stalls::{Excuses, Stalls};
use std::{collections::VecDeque, sync::Arc, time::Duration};

const MINUTE: Duration = Duration::from_secs(60);

/// What decides whether leases that have run out may go.
#[derive(Debug)]
pub(crate) struct Preservation {
    policy: PreservationPolicy,
    settings: PreservationSettings,
    expiry: LeaseExpiry,
    began: Mono,
    /// For so long after the start nobody is told of few renewals, as in Eureka.
    silence: Duration,
    /// Renewals; one atomic operation each.
    renewals: MeasuredRate,
    /// Calls that other servers replicate to us.
    replications: MeasuredRate,
    /// Held for a few instructions at a time, never during a look at the leases, and taken under the log's lock, not around it.
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    expected: ExpectedClients,
    next_update: Mono,
    protection: Protection,
    given_up: Arc<GivenUp>,
    stalls: Stalls,
    evictions: Evictions,
    latest: Latest,
}

/// What the latest look has found.
#[derive(Clone, Copy, Debug, Default)]
struct Latest {
    leases: u64,
    missing: u64,
    given_up: u64,
    expected: RenewalSum,
}

/// The evictions of the last minute: when, and how many.
#[derive(Debug, Default)]
struct Evictions(VecDeque<(Mono, u64)>);

impl Evictions {
    fn add(&mut self, count: u64, now: Mono) {
        self.forget(now);
        match self.0.back_mut() {
            // Within one second they go together, so that there are no more than sixty entries.
            Some((at, some)) if now.saturating_since(*at) < Duration::from_secs(1) => *some += count,
            Some(_) | None => self.0.push_back((now, count)),
        }
    }

    fn forget(&mut self, now: Mono) {
        while self.0.front().is_some_and(|(at, _)| now.saturating_since(*at) >= MINUTE) {
            self.0.pop_front();
        }
    }

    fn last_minute(&mut self, now: Mono) -> u64 {
        self.forget(now);
        self.0.iter().map(|(_, count)| count).sum()
    }
}

/// Eureka's figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Figures {
    pub(crate) expected_clients: u64,
    pub(crate) threshold: u64,
    pub(crate) renewals_last_minute: u64,
    pub(crate) replications_last_minute: u64,
    pub(crate) expected_per_minute: f64,
}

impl Preservation {
    pub(crate) fn new(settings: PreservationSettings, expiry: LeaseExpiry, silence: Duration, now: Mono) -> Self {
        let state = State {
            expected: ExpectedClients::starting_at(settings.expected_clients_floor),
            next_update: now + settings.renewal_threshold_update_interval,
            protection: Protection::default(),
            given_up: Arc::default(),
            stalls: Stalls::new(now),
            evictions: Evictions::default(),
            latest: Latest::default(),
        };
        Self {
            policy: settings.policy(),
            settings,
            expiry,
            began: now,
            silence,
            renewals: MeasuredRate::new(now),
            replications: MeasuredRate::new(now),
            state: Mutex::new(state),
        }
    }

    /// A lease was renewed, by its client or by another server.
    pub(crate) fn renewed(&self, now: Mono) {
        self.renewals.add(1, now);
    }

    /// Another server replicated a call to us.
    pub(crate) fn replicated(&self, now: Mono) {
        self.replications.add(1, now);
    }

    /// An instance is new.
    pub(crate) fn registered(&self) {
        self.state.lock().expected.registered();
    }

    /// An instance was removed.
    pub(crate) fn removed(&self) {
        self.state.lock().expected.removed();
    }

    /// The registry serves from now on, with this many clients taken over from other servers and so many of its own.
    pub(crate) fn opened(&self, taken_over: u64, own: u64) {
        self.state.lock().expected.opened(taken_over, own);
    }

    /// So many leases were evicted.
    pub(crate) fn evicted(&self, count: u64, now: Mono) {
        self.state.lock().evictions.add(count, now);
    }

    /// Whether leases that have run out may go, and are not shown any more.
    pub(crate) fn expiration_enabled(&self, now: Mono) -> bool {
        self.expires(&self.state.lock(), now)
    }

    fn expires(&self, state: &State, now: Mono) -> bool {
        match self.policy.rule {
            // It takes a look at all leases; the latest is a second old.
            PreservationRule::Missing => {
                self.policy.switch == SelfPreservation::Disabled || state.protection.period().is_none()
            }
            PreservationRule::RenewalsPerMinute => self.verdict(state, now) == Verdict::MayExpire,
        }
    }

    /// Whether a lease has run out, stalls taken into account.
    pub(crate) fn has_run_out(&self, entry: &LeaseEntry, now: Mono) -> bool {
        let lease = entry.lease();
        // Most have not, whatever is excused.
        lease.is_expired(now, self.expiry)
            && lease.has_run_out(now, self.expiry, self.excuses(now).since(lease.last_sign()))
    }

    /// What stalls excuse now. Doubled leases are the Java server's: there the evictor makes up for its own lateness.
    pub(crate) fn excuses(&self, now: Mono) -> Excuses {
        match self.expiry {
            LeaseExpiry::Exact => self.state.lock().stalls.excuses(now),
            LeaseExpiry::Doubled => Excuses::default(),
        }
    }

    /// Once a second: notices stalls, looks at all leases, runs the threshold job when it is due.
    pub(crate) fn tick(&self, table: &LeaseTable, now: Moment, metrics: &Metrics) {
        let late = match self.expiry {
            LeaseExpiry::Exact => self.state.lock().stalls.tick(now.mono),
            LeaseExpiry::Doubled => None,
        };
        if let Some(late) = late {
            metrics.stalls.inc();
            tracing::warn!(?late, "this process did not run in time; leases not renewed since last that much longer");
        }
        let census = self.look(table, now, Duration::ZERO, Listing::Numbers);
        let has_old_marks = self.state.lock().given_up.len() as u64 != census.given_up;
        if has_old_marks {
            self.drop_old_marks(table);
        }
        let mut state = self.state.lock();
        if now.mono >= state.next_update {
            let leases = state.latest.leases;
            state.expected.update(leases, self.policy.share, self.policy.switch);
            state.next_update = now.mono + self.settings.renewal_threshold_update_interval;
        }
        self.show(&state, now.mono, metrics);
    }

    fn show(&self, state: &State, now: Mono, metrics: &Metrics) {
        metrics.leases_missing.set(state.latest.missing);
        metrics.leases_given_up.set(state.latest.given_up);
        metrics.protecting.set(u64::from(!self.expires(state, now)));
        let figures = self.figures_of(state, now);
        metrics.expected_clients.set(figures.expected_clients);
        metrics.renewals_last_minute.set(figures.renewals_last_minute);
        metrics.renewals_threshold.set(figures.threshold);
        metrics.replications_last_minute.set(figures.replications_last_minute);
        let below = figures.renewals_last_minute <= figures.threshold;
        metrics.below_threshold.set(u64::from(below && now.saturating_since(self.began) > self.silence));
        metrics.preservation_enabled.set(u64::from(self.policy.switch == SelfPreservation::Enabled));
    }

    /// The leases that have run out. `extra` is more time for each of them, for this report only.
    pub(crate) fn report(&self, table: &LeaseTable, now: Moment, extra: Duration) -> LeaseReport {
        let census = self.look(table, now, extra, Listing::Expired);
        let mut state = self.state.lock();
        LeaseReport {
            leases: census.total,
            expired: census.listed,
            expiration_enabled: self.expires(&state, now.mono),
            preservation: self.status_of(&state),
            evicted_last_minute: state.evictions.last_minute(now.mono),
        }
    }

    /// Looks at all leases and takes the verdict.
    fn look(&self, table: &LeaseTable, now: Moment, extra: Duration, listing: Listing) -> Census {
        let census = self.census(table, now.mono, extra, listing);
        match self.follow(&census, now) {
            ProtectionStep::GoesOn => census,
            ProtectionStep::Began => {
                if let Some(period) = self.state.lock().protection.period() {
                    tell_of_protection(period.reason);
                }
                census
            }
            ProtectionStep::Ended => {
                tracing::info!("leases are no longer protected");
                census
            }
            ProtectionStep::Overdue => {
                let given_up = self.mark_missing(table, now.mono);
                tracing::warn!(
                    given_up,
                    "leases have been protected for as long as they may be; the missing ones are given up"
                );
                let census = self.census(table, now.mono, extra, listing);
                self.follow(&census, now);
                census
            }
        }
    }

    fn census(&self, table: &LeaseTable, now: Mono, extra: Duration, listing: Listing) -> Census {
        let excuses = self.excuses(now);
        // Shared, since the table is not to be looked at under the lock.
        let given_up = Arc::clone(&self.state.lock().given_up);
        let looking = Looking { now, expiry: self.expiry, excuses, extra, given_up: &given_up };
        Census::take(table, &looking, listing)
    }

    fn follow(&self, census: &Census, now: Moment) -> ProtectionStep {
        let mut state = self.state.lock();
        state.latest = Latest {
            leases: census.total - census.given_up,
            missing: census.missing,
            given_up: census.given_up,
            expected: census.expected,
        };
        let verdict = self.verdict(&state, now.mono);
        state.protection.follow(verdict, self.policy.longest, now.mono, now.unix)
    }

    fn verdict(&self, state: &State, now: Mono) -> Verdict {
        self.policy.verdict(&PreservationFigures {
            leases: state.latest.leases,
            missing: state.latest.missing,
            renewals_last_minute: self.renewals.last_minute(now),
            threshold: self.threshold(state),
        })
    }

    fn threshold(&self, state: &State) -> u64 {
        let PreservationSettings { expected_client_renewal_interval: interval, .. } = self.settings;
        match self.settings.expected_renewals {
            ExpectedRenewals::Clients => renewals_threshold(state.expected.count(), interval, self.policy.share),
            ExpectedRenewals::Intervals => state.latest.expected.threshold(self.policy.share),
        }
    }

    /// An operator says that what is missing is gone. How many were given up.
    pub(crate) fn give_up_missing(&self, table: &LeaseTable, now: Moment) -> u64 {
        let given_up = self.mark_missing(table, now.mono);
        tracing::info!(given_up, "an operator has given up the missing leases");
        self.look(table, now, Duration::ZERO, Listing::Numbers);
        given_up
    }

    fn mark_missing(&self, table: &LeaseTable, now: Mono) -> u64 {
        let missing = self.census(table, now, Duration::ZERO, Listing::Missing).listed;
        let count = missing.len() as u64;
        let marks = missing.into_iter().map(|ExpiredLease { key, stamp, .. }| (key, stamp));
        Arc::make_mut(&mut self.state.lock().given_up).extend(marks);
        count
    }

    /// Drops the marks of leases that have gone or come back: a mark holds for one state of a lease only.
    fn drop_old_marks(&self, table: &LeaseTable) {
        let marks = Arc::clone(&self.state.lock().given_up);
        let is_old = |(key, stamp): &(&InstanceKey, &RenewalStamp)| {
            let entry = table.get(key.app.as_str(), key.id.as_str());
            entry.is_none_or(|entry| entry.lease().stamp() != **stamp)
        };
        let old: Vec<_> = marks.iter().filter(is_old).collect();
        let mut state = self.state.lock();
        let held = Arc::make_mut(&mut state.given_up);
        for (key, stamp) in old {
            // Given up anew meanwhile, it stays.
            if held.get(key) == Some(stamp) {
                held.remove(key);
            }
        }
    }

    /// Self-preservation as it was at the latest look.
    pub(crate) fn status(&self) -> PreservationStatus {
        self.status_of(&self.state.lock())
    }

    fn status_of(&self, state: &State) -> PreservationStatus {
        let notice = state.protection.period().map(|period| ProtectionNotice {
            reason: period.reason.to_string(),
            since: period.since,
            until: self.policy.longest.map(|longest| period.since + longest),
        });
        PreservationStatus {
            enabled: self.policy.switch == SelfPreservation::Enabled,
            protecting: notice,
            missing: state.latest.missing,
            given_up: state.latest.given_up,
        }
    }

    /// Eureka's figures now.
    pub(crate) fn figures(&self, now: Mono) -> Figures {
        self.figures_of(&self.state.lock(), now)
    }

    fn figures_of(&self, state: &State, now: Mono) -> Figures {
        Figures {
            expected_clients: state.expected.count(),
            threshold: self.threshold(state),
            renewals_last_minute: self.renewals.last_minute(now),
            replications_last_minute: self.replications.last_minute(now),
            expected_per_minute: state.latest.expected.per_minute(),
        }
    }
}

/// By Eureka's rule every server begins like this, so there it is nothing to act on.
fn tell_of_protection(reason: Reason) {
    match reason {
        Reason::Missing { .. } => tracing::warn!(%reason, "leases are protected: none that runs out is evicted"),
        Reason::FewRenewals { .. } | Reason::NothingExpected => {
            tracing::info!(%reason, "leases are protected: none that runs out is evicted");
        }
    }
}
