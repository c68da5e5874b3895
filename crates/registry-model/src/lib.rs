//! The vocabulary and the rules of the registry: pure, without I/O, async or clocks.
