//! `heureka_fuzz::gzip_body` under libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| heureka_fuzz::gzip_body(bytes));
