#![no_main]

#[path = "../../crates/weftline-codec/tests/fuzzing/targets/mod.rs"]
mod targets;

libfuzzer_sys::fuzz_target!(|data: &[u8]| targets::recoder(data));
