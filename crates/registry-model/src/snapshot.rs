//! The registry at one revision: records, and the hash code that clients compare.

use crate::{InstanceInfo, InstanceKey, InstanceStatus, LeaseTimes};
use std::{fmt, sync::Arc};

/// An instance with its lease times, as the registry holds it and as it travels. The description is shared, never copied.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// The description, unchanging: each change makes a new one.
    pub instance: Arc<InstanceInfo>,
    /// The lease times when this record was made.
    pub lease: LeaseTimes,
}

impl Record {
    /// Application and id.
    pub fn key(&self) -> &InstanceKey {
        &self.instance.key
    }
}

/// How many instances have each status; its text is Eureka's apps hash code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatusCounts([u64; InstanceStatus::ALL.len()]);

impl StatusCounts {
    fn slot(&mut self, status: InstanceStatus) -> &mut u64 {
        let [down, out_of_service, starting, unknown, up] = &mut self.0;
        match status {
            InstanceStatus::Down => down,
            InstanceStatus::OutOfService => out_of_service,
            InstanceStatus::Starting => starting,
            InstanceStatus::Unknown => unknown,
            InstanceStatus::Up => up,
        }
    }

    /// Counts one more instance.
    pub fn add(&mut self, status: InstanceStatus) {
        let slot = self.slot(status);
        *slot = slot.saturating_add(1);
    }

    /// Counts one instance less.
    pub fn remove(&mut self, status: InstanceStatus) {
        let slot = self.slot(status);
        debug_assert!(*slot > 0, "no {status} to remove");
        *slot = slot.saturating_sub(1);
    }

    /// All instances.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }
}

impl FromIterator<InstanceStatus> for StatusCounts {
    fn from_iter<I: IntoIterator<Item = InstanceStatus>>(statuses: I) -> Self {
        let mut counts = Self::default();
        statuses.into_iter().for_each(|status| counts.add(status));
        counts
    }
}

/// Eureka's `apps__hashcode`: `STATUS_count_` for each status that occurs, in the order of the names; empty for no instances.
impl fmt::Display for StatusCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        InstanceStatus::ALL
            .into_iter()
            .zip(self.0)
            .filter(|(_, count)| *count > 0)
            .try_for_each(|(status, count)| write!(f, "{status}_{count}_"))
    }
}

#[cfg(test)]
mod tests {
    use super::{InstanceStatus::*, *};

    #[test]
    fn rest_95_the_hash_code_counts_statuses_in_the_order_of_their_names() {
        let table: [(&[InstanceStatus], &str); 5] = [
            (&[], ""),
            (&[Up], "UP_1_"),
            (&[Up, Down, Up], "DOWN_1_UP_2_"),
            (&[Up, Up, Up, OutOfService, Starting], "OUT_OF_SERVICE_1_STARTING_1_UP_3_"),
            (&[Up, Up, Down, Starting, OutOfService, Unknown], "DOWN_1_OUT_OF_SERVICE_1_STARTING_1_UNKNOWN_1_UP_2_"),
        ];
        for (statuses, hash) in table {
            assert_eq!(statuses.iter().copied().collect::<StatusCounts>().to_string(), hash);
        }
    }

    #[test]
    fn removing_undoes_adding() {
        let mut counts: StatusCounts = [Up, Down].into_iter().collect();
        counts.remove(Down);
        assert_eq!((counts.to_string().as_str(), counts.total()), ("UP_1_", 1));
    }
}
