//! `heureka_fuzz::xml_instance` under libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| heureka_fuzz::xml_instance(bytes));
