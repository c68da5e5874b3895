//! The access gate as this facade knows it: whether lists may be served. Told by `apply` with each watermark, asked by `tier`
//! for every read of a list.

use std::sync::atomic::{AtomicU8, Ordering};

/// Whether lists may be served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Nobody has said it yet.
    Unknown,
    /// Not yet: the registry knows too little.
    Closed,
    /// They may.
    Open,
}

/// What is known of the gate. Once open it stays so: a part behind this facade that starts over takes nothing from its readers.
#[derive(Debug, Default)]
pub(crate) struct Gate(AtomicU8);

impl Gate {
    pub(crate) fn access(&self) -> Access {
        match self.0.load(Ordering::Acquire) {
            0 => Access::Unknown,
            1 => Access::Closed,
            2.. => Access::Open,
        }
    }

    /// A watermark says so.
    pub(crate) fn is(&self, said: Access) {
        let level = match said {
            Access::Unknown => 0,
            Access::Closed => 1,
            Access::Open => 2,
        };
        let before = self.0.fetch_max(level, Ordering::AcqRel);
        if before < level {
            tracing::info!(access = ?said, "the registry has told whether lists may be served");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_that_was_open_is_not_closed_again() {
        let gate = Gate::default();
        assert_eq!(gate.access(), Access::Unknown);
        for said in [Access::Closed, Access::Open, Access::Closed] {
            gate.is(said);
        }
        assert_eq!(gate.access(), Access::Open);
    }
}
