//! Tier 2, the read-write cache: a view of the registry and its encoded pages.
