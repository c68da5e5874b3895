//! One number orders everything that changes: a [`Revision`] within one life ([`Epoch`]) of registry-core.

use std::fmt;

/// One life of a registry-core: random, new at each start. Compared for equality only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Epoch(pub u64);

/// The number of a change. Grows by one per change within an epoch; revisions of different epochs say nothing about each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision(pub u64);

impl Revision {
    /// The revision after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

/// A point in the history of one registry-core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Position {
    /// The life.
    pub epoch: Epoch,
    /// The last change in it that is included.
    pub revision: Revision,
}

impl Position {
    /// Whether everything up to `other` is included here: the same life, and not an earlier revision.
    pub fn includes(self, other: Self) -> bool {
        self.epoch == other.epoch && self.revision >= other.revision
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}/{}", self.epoch.0, self.revision.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_includes_only_earlier_ones_of_its_own_life() {
        let at = |epoch, revision| Position { epoch: Epoch(epoch), revision: Revision(revision) };
        for (left, right, expected) in [
            (at(1, 5), at(1, 5), true),
            (at(1, 6), at(1, 5), true),
            (at(1, 4), at(1, 5), false),
            (at(2, 9), at(1, 5), false),
        ] {
            assert_eq!(left.includes(right), expected, "{left} includes {right}");
        }
    }
}
