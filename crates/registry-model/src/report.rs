//! What registry-core tells of leases that have run out, and what the evictor answers with. Made by registry-core.

use crate::{InstanceKey, RenewalStamp, UnixMillis};

/// The leases that have run out, and whether they may go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeaseReport {
    /// All leases, those that have run out included.
    pub leases: u64,
    /// Those that have run out, in no order.
    pub expired: Vec<ExpiredLease>,
    /// Whether they may go; those given up may in any case.
    pub expiration_enabled: bool,
    /// Self-preservation.
    pub preservation: PreservationStatus,
    /// How many leases were evicted in the last 60 s.
    pub evicted_last_minute: u64,
}

/// A lease that has run out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpiredLease {
    /// Whose.
    pub key: InstanceKey,
    /// Which state of it was seen: it only goes as long as this is the latest.
    pub stamp: RenewalStamp,
    /// Whether it was given up.
    pub given_up: bool,
}

/// Self-preservation as it is told to others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PreservationStatus {
    /// Whether it is switched on at all.
    pub enabled: bool,
    /// The time of protection that is under way, if there is one.
    pub protecting: Option<ProtectionNotice>,
    /// Leases that miss their renewals, those given up not counted.
    pub missing: u64,
    /// Leases given up.
    pub given_up: u64,
}

/// A time of protection as it is told to others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProtectionNotice {
    /// Why, for people.
    pub reason: String,
    /// Since when.
    pub since: UnixMillis,
    /// When it ends at the latest; `None` for no limit.
    pub until: Option<UnixMillis>,
}
