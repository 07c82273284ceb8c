#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| weftline_apps::relay::fuzz_entry(data));
