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

    fn bytes(&mut self, longest: u64) -> Vec<u8> {
        let length = self.next() % (longest + 1);
        // Small values are more often meaningful.
        let mask = [0xFF, 0xFF, 0x3F, 0x0F][(self.next() % 4) as usize];
        (0..length).map(|_| self.next() as u8 & mask).collect()
    }
}

/// The committed inputs of a target; Miri and WebAssembly see no files.
fn corpus(name: &str) -> Vec<Vec<u8>> {
    match cfg!(any(miri, target_family = "wasm")) {
        true => Vec::new(),
        false => weftline_testkit::corpus(name),
    }
}

fn run(name: &str, target: fn(&[u8]), inputs: usize, longest: u64) {
    let inputs = if cfg!(miri) { inputs / 200 } else { inputs };
    let mut random = Random(longest);
    let generated = (0..inputs).map(|_| random.bytes(longest));
    for input in corpus(name).into_iter().chain(generated) {
        let result = std::panic::catch_unwind(|| target(&input));
        if let Err(panic) = result {
            let hex: String = input.iter().map(|byte| format!("{byte:02x}")).collect();
            eprintln!("fails on the input {hex}");
            std::panic::resume_unwind(panic);
        }
    }
}

#[test]
fn a_block_misses_exactly_what_elimination_says() {
    run("codec_block", targets::block, 2_000, 600);
}

#[test]
fn a_relay_holds_independent_symbols_and_sends_true_combinations() {
    run("codec_recoder", targets::recoder, 2_000, 500);
}

#[test]
fn any_k_shards_give_all_others_and_errors_write_nothing() {
    run("codec_shards", targets::shards, 3_000, 400);
}

#[test]
fn a_decoder_that_owns_its_buffers_answers_as_one_that_copies() {
    run("codec_window", targets::window, 3_000, 1_500);
}
