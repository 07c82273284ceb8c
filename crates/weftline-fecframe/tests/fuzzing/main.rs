//! The fuzz targets on the committed corpus, and on generated inputs, which are the same in each run.

mod targets;

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

#[test]
fn a_receiver_hands_over_sent_adus_and_keeps_its_limits_for_any_input() {
    const INPUTS: usize = 10_000;
    let mut random = Random(1);
    let mut seen = targets::Seen::default();
    let generated = (0..INPUTS).map(|_| {
        let length = random.next() % 2_000;
        // Small values are more often meaningful.
        let mask = [0xFF, 0xFF, 0x7F, 0x1F][(random.next() % 4) as usize];
        (0..length).map(|_| random.next() as u8 & mask).collect()
    });
    let corpus = weftline_testkit::corpus("fecframe_receiver");
    for input in corpus.into_iter().chain(generated) {
        match std::panic::catch_unwind(|| targets::receiver(&input)) {
            Ok(one) => seen.add(one),
            Err(panic) => {
                let hex: String = input.iter().map(|byte| format!("{byte:02x}")).collect();
                eprintln!("fails on the input {hex}");
                std::panic::resume_unwind(panic);
            }
        }
    }
    // Inputs that reach no state would test nothing.
    assert!(seen.received > 30_000, "{seen:?}");
    assert!(seen.recovered > 1_500, "{seen:?}");
    assert!(seen.refused > 50_000, "{seen:?}");
    assert!(seen.resyncs > 300, "{seen:?}");
}

/// Inputs with which the fuzzer found a bug.
#[test]
fn bugs_found_before_are_not_found_again() {
    // A linear system of one symbol, and an ADU whose header alone takes two.
    targets::receiver(&[
        0x1d, 0, 1, 0, 0, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x59, 2, 6, 0, 0, 9, 0xfe,
        0xff, 0, 10,
    ]);
}
