//! Tier 2, the read-write cache: a view of the registry and its encoded pages.

mod delta;
mod keys;
mod leaf;
mod paged_list;
