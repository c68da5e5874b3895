//! Development only: a manual clock, builders, strategies, bounded waits.
