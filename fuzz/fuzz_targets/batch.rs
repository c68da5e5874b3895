//! `heureka_fuzz::batch` under libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| heureka_fuzz::batch(bytes));
