#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| weftline_apps::tun::fuzz_entry(data));
