//! `heureka_fuzz::json_instance` under libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| heureka_fuzz::json_instance(bytes));
