//! Tier 1, the truth: the lease table, the change log and its fan-out.
