//! Instance status, and the rule that decides which status an instance has.

use crate::Origin;
use std::{fmt, str::FromStr};

/// The five statuses of Eureka, in the alphabetical order that the apps hash code uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum InstanceStatus {
    /// Says it cannot serve.
    Down,
    /// Taken out of traffic on purpose.
    OutOfService,
    /// Not yet ready.
    Starting,
    /// Nothing known; as an override: none.
    Unknown,
    /// Ready for traffic.
    Up,
}

impl InstanceStatus {
    /// All of them, in the order of their names.
    pub const ALL: [Self; 5] = [Self::Down, Self::OutOfService, Self::Starting, Self::Unknown, Self::Up];

    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Down => "DOWN",
            Self::OutOfService => "OUT_OF_SERVICE",
            Self::Starting => "STARTING",
            Self::Unknown => "UNKNOWN",
            Self::Up => "UP",
        }
    }
}

impl fmt::Display for InstanceStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A text that is none of the five names.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no instance status")]
pub struct UnknownStatus(pub Box<str>);

impl FromStr for InstanceStatus {
    type Err = UnknownStatus;

    /// Exact upper-case names only; whoever is more lenient (documents, for instance) decides so at the edge.
    fn from_str(text: &str) -> Result<Self, UnknownStatus> {
        Self::ALL.into_iter().find(|status| status.as_str() == text).ok_or_else(|| UnknownStatus(text.into()))
    }
}

/// Which status an instance has: Eureka's chain of rules, the first that matches decides.
///
/// 1. A client that says anything but `UP` or `OUT_OF_SERVICE` is believed.
/// 2. Otherwise an override decides.
/// 3. Otherwise, for a client's own request, a stored `UP` or `OUT_OF_SERVICE` holds: a client cannot switch between these two by itself.
/// 4. Otherwise what was said.
pub const fn effective_status(
    said: InstanceStatus,
    overridden: Option<InstanceStatus>,
    stored: Option<InstanceStatus>,
    origin: Origin,
) -> InstanceStatus {
    match (said, overridden, origin, stored) {
        (InstanceStatus::Down | InstanceStatus::Starting | InstanceStatus::Unknown, ..) => said,
        (_, Some(overridden), ..) => overridden,
        (_, None, Origin::Client, Some(stored @ (InstanceStatus::Up | InstanceStatus::OutOfService))) => stored,
        (_, None, ..) => said,
    }
}

#[cfg(test)]
mod tests {
    use super::{InstanceStatus::*, *};

    #[test]
    fn names_are_matched_exactly() {
        for status in InstanceStatus::ALL {
            assert_eq!(status.as_str().parse(), Ok(status));
        }
        for text in ["up", "", " UP", "BOGUS"] {
            assert_eq!(text.parse::<InstanceStatus>(), Err(UnknownStatus(text.into())));
        }
        assert!(InstanceStatus::ALL.is_sorted_by_key(|status| status.as_str()));
    }

    #[test]
    fn the_first_matching_rule_decides() {
        let table = [
            (Down, Some(OutOfService), Some(Up), Origin::Client, Down),
            (Starting, Some(Up), None, Origin::Peer, Starting),
            (Unknown, Some(Up), Some(Up), Origin::Client, Unknown),
            (Up, Some(OutOfService), Some(Up), Origin::Client, OutOfService),
            (OutOfService, Some(Down), None, Origin::Peer, Down),
            (OutOfService, None, Some(Up), Origin::Client, Up),
            (Up, None, Some(OutOfService), Origin::Client, OutOfService),
            (OutOfService, None, Some(Up), Origin::Peer, OutOfService),
            (Up, None, Some(Down), Origin::Client, Up),
            (Up, None, None, Origin::Client, Up),
        ];
        for (said, overridden, stored, origin, expected) in table {
            assert_eq!(
                effective_status(said, overridden, stored, origin),
                expected,
                "{said} {overridden:?} {stored:?} {origin:?}"
            );
        }
    }
}
