//! All services of one node in one process.
