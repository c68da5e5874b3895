//! Two kinds of time: [`Mono`] for deadlines, [`UnixMillis`] for what is shown; both come from an injected [`Clock`].

use std::{
    fmt,
    ops::{Add, Sub},
    time::Duration,
};

/// Monotonic time: nanoseconds since an arbitrary start of this process. Never goes back, unaffected by clock changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mono(u64);

impl Mono {
    /// A moment so many nanoseconds after the start.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the start.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The time that has passed since `earlier`; zero if `earlier` is later.
    pub const fn saturating_since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Mono {
    /// This moment less `duration`, not before the start.
    #[must_use]
    pub fn saturating_sub(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)))
    }
}

impl Add<Duration> for Mono {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)))
    }
}

/// Wall-clock time in milliseconds since 1970, as Eureka's documents carry it. Clients choose some of these, so any value may occur.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnixMillis(pub i64);

impl UnixMillis {
    /// Zero, which Eureka's documents use for "not yet".
    pub const NEVER: Self = Self(0);

    /// The time that has passed since `earlier`; zero if `earlier` is later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or_default())
    }
}

impl Add<Duration> for UnixMillis {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)))
    }
}

impl Sub<Duration> for UnixMillis {
    type Output = Self;

    fn sub(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)))
    }
}

impl fmt::Display for UnixMillis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Where time comes from. The system's clock implements this in one place only; tests move a manual one.
pub trait Clock: Send + Sync + 'static {
    /// Now, for deadlines.
    fn mono(&self) -> Mono;
    /// Now, for what is shown and compared across machines.
    fn unix(&self) -> UnixMillis;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_stop_at_the_ends_instead_of_wrapping() {
        assert_eq!(Mono::from_nanos(u64::MAX) + Duration::from_secs(1), Mono::from_nanos(u64::MAX));
        assert_eq!(Mono::from_nanos(1).saturating_since(Mono::from_nanos(5)), Duration::ZERO);
        assert_eq!(UnixMillis(i64::MAX) + Duration::from_secs(1), UnixMillis(i64::MAX));
        assert_eq!(UnixMillis(i64::MIN) - Duration::from_secs(1), UnixMillis(i64::MIN));
    }
}
