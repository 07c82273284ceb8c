#![no_main]

#[path = "../../crates/weftline-fecframe/tests/fuzzing/targets/mod.rs"]
mod targets;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    targets::receiver(data);
});
