//! `heureka_fuzz::headers` under libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| heureka_fuzz::headers(bytes));
