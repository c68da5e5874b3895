//! A lease: how long an instance stays without renewing, and the times that clients are shown.

use crate::{LeaseTerms, Mono, UnixMillis};
use std::time::Duration;

/// When a lease ends, and which renewal time is shown. Setting `lease-expiry`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LeaseExpiry {
    /// One duration after the last renewal; the true time of the renewal is shown.
    #[default]
    Exact,
    /// As the Java server does: a renewed lease ends two durations after the renewal, and the renewal is shown one duration late.
    Doubled,
}

/// A lease: granted, last renewed (or never), duration. Every rule on leases is a function of these and of the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    /// When it was granted: at the registration.
    pub granted: Mono,
    /// The last renewal, if there was one.
    pub renewed: Option<Mono>,
    /// How long it holds without renewal.
    pub duration: Duration,
}

impl Lease {
    /// A new lease. Terms of zero seconds or less are Eureka's default of 90 s.
    pub const fn grant(now: Mono, terms: LeaseTerms) -> Self {
        Self { granted: now, renewed: None, duration: Duration::from_secs(terms.duration_secs as u64) }
    }

    /// The last moment at which the lease still holds.
    pub fn holds_until(&self, expiry: LeaseExpiry) -> Mono {
        match (self.renewed, expiry) {
            (None, _) => self.granted + self.duration,
            (Some(renewed), LeaseExpiry::Exact) => renewed + self.duration,
            (Some(renewed), LeaseExpiry::Doubled) => renewed + self.duration + self.duration,
        }
    }

    /// Whether the lease has run out: strictly after [`Self::holds_until`], as in Eureka.
    pub fn is_expired(&self, now: Mono, expiry: LeaseExpiry) -> bool {
        now > self.holds_until(expiry)
    }
}

/// The four times of a lease that clients are shown; zero means "not yet".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LeaseTimes {
    /// The registration.
    pub registered: UnixMillis,
    /// The last renewal as it is shown (see [`LeaseExpiry`]); the registration if there was none.
    pub renewed: UnixMillis,
    /// The removal; only in the record of a removed instance.
    pub evicted: UnixMillis,
    /// The first time the instance was `UP`, kept over re-registrations.
    pub service_up: UnixMillis,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64, millis: u64) -> Mono {
        Mono::from_nanos((seconds * 1000 + millis) * 1_000_000)
    }

    #[test]
    fn srv_1_2_a_lease_ends_strictly_after_its_time() {
        let never = Lease::grant(at(0, 0), LeaseTerms::default());
        let renewed = Lease { renewed: Some(at(30, 0)), ..never };
        let table = [
            (never, LeaseExpiry::Doubled, at(90, 0), at(90, 1)),
            (never, LeaseExpiry::Exact, at(90, 0), at(90, 1)),
            (renewed, LeaseExpiry::Doubled, at(210, 0), at(210, 1)),
            (renewed, LeaseExpiry::Exact, at(120, 0), at(120, 1)),
        ];
        for (lease, expiry, last, after) in table {
            assert!(!lease.is_expired(last, expiry), "{lease:?} {expiry:?}");
            assert!(lease.is_expired(after, expiry), "{lease:?} {expiry:?}");
        }
    }
}
