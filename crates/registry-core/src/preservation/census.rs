//! One look at all leases: how many there are, how many are missing, which have run out. Taken by `preservation`.

use super::stalls::Excuses;
use crate::lease_table::LeaseTable;
use foldhash::quality::RandomState;
use hashbrown::HashMap;
use registry_model::{ExpiredLease, InstanceKey, LeaseExpiry, Mono, RenewalStamp, RenewalSum};
use std::time::Duration;

/// The leases given up, in the state in which they were: any renewal makes it another one, and so clears the mark.
pub(crate) type GivenUp = HashMap<InstanceKey, RenewalStamp, RandomState>;

/// How many bytes of names a report may have: far below the largest message. What is left over comes in the next one.
const REPORT_BYTES: usize = 4 << 20;
/// What an expired lease takes beside its names.
const EXPIRED_BYTES: usize = 24;

/// How the leases are looked at.
#[derive(Debug)]
pub(crate) struct Looking<'a> {
    pub(crate) now: Mono,
    pub(crate) expiry: LeaseExpiry,
    pub(crate) excuses: Excuses,
    /// More time for every lease, for this look only.
    pub(crate) extra: Duration,
    pub(crate) given_up: &'a GivenUp,
}

/// What is listed beside the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Listing {
    /// Nothing.
    Numbers,
    /// The leases that have run out.
    Expired,
    /// The missing leases, whether they have run out or not.
    Missing,
}

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Census {
    /// All leases.
    pub(crate) total: u64,
    /// Those that miss their renewals, given up ones not counted.
    pub(crate) missing: u64,
    /// Those given up.
    pub(crate) given_up: u64,
    /// The renewals to be expected of all that are not given up.
    pub(crate) expected: RenewalSum,
    /// What was to be listed.
    pub(crate) listed: Vec<ExpiredLease>,
}

impl Census {
    pub(crate) fn take(table: &LeaseTable, looking: &Looking<'_>, listing: Listing) -> Self {
        let mut census = Self::default();
        let mut room = REPORT_BYTES;
        table.visit(|slot| {
            let (lease, interval) = (slot.lease(), slot.renewal_interval());
            census.total += 1;
            let excused = looking.excuses.since(lease.last_sign());
            let has_run_out = lease.has_run_out(looking.now, looking.expiry, excused + looking.extra);
            if !has_run_out && !lease.is_silent(looking.now, interval, excused) {
                census.expected.add(interval);
                return;
            }
            let stamp = lease.stamp();
            let given_up = !looking.given_up.is_empty() && looking.given_up.get(slot.instance_key()) == Some(&stamp);
            if given_up {
                census.given_up += 1;
            } else {
                census.missing += 1;
                census.expected.add(interval);
            }
            let is_listed = match listing {
                Listing::Numbers => false,
                Listing::Expired => has_run_out,
                Listing::Missing => !given_up,
            };
            if is_listed {
                let key = slot.instance_key();
                let size = key.app.as_str().len() + key.id.as_str().len() + EXPIRED_BYTES;
                if listing == Listing::Expired {
                    let Some(left) = room.checked_sub(size) else { return };
                    room = left;
                }
                census.listed.push(ExpiredLease { key: key.clone(), stamp, given_up });
            }
        });
        census
    }
}
