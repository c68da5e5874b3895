//! Development only: whole nodes in one process, in every wiring.
