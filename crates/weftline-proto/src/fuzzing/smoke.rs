//! Every entry point on the committed corpus and on a few random inputs, in each test run.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

type Target = fn(&[u8]);

/// A small generator (SplitMix64): the same inputs in each run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    fn bytes(&mut self, max: usize) -> Vec<u8> {
        let len = self.below(max + 1);
        // Small values are likelier to be meaningful.
        let mask = [0xff, 0xff, 0x3f, 0x07][self.below(4)];
        (0..len).map(|_| self.next() as u8 & mask).collect()
    }

    fn mutate(&mut self, input: &[u8]) -> Vec<u8> {
        let mut out = input.to_vec();
        for _ in 0..1 + self.below(4) {
            let at = self.below(out.len());
            match self.below(4) {
                0 if at < out.len() => out[at] ^= 1 << self.below(8),
                1 if at < out.len() => out[at] = self.next() as u8,
                2 => out.truncate(at),
                _ => {
                    let more = self.bytes(16);
                    out.splice(at..at, more);
                }
            }
        }
        out
    }
}

fn run(name: &str, target: Target, input: &[u8]) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| target(input))) {
        let hex: String = input.iter().map(|b| format!("{b:02x}")).collect();
        eprintln!("{name} fails on the input {hex}");
        resume_unwind(panic);
    }
}

fn smoke(name: &str, target: Target, random: usize, longest: usize) {
    let corpus = weftline_testkit::corpus(name);
    corpus.iter().for_each(|input| run(name, target, input));
    let mut source = Random(name.len() as u64);
    for round in 0..random {
        let input = match corpus.len() {
            n if n > 0 && round % 2 == 0 => {
                let which = source.below(n);
                source.mutate(&corpus[which])
            }
            _ => source.bytes(longest),
        };
        run(name, target, &input);
    }
}

#[test]
fn datagrams_that_parse_can_be_written_again() {
    smoke("datagram", super::datagram, 20_000, 200);
}

#[test]
fn frames_that_parse_can_be_packed_again() {
    smoke("frames", super::frames, 10_000, 300);
}

#[test]
fn a_decoder_knows_exactly_what_follows_from_its_arrivals() {
    smoke("decoder", super::decoder, 300, 400);
}

#[test]
fn two_sessions_keep_their_promises_on_any_path() {
    smoke("session", super::session, 150, 400);
}

#[test]
fn two_sessions_keep_their_promises_while_paths_come_and_go() {
    smoke("paths", super::paths, 300, 400);
}

#[test]
fn a_session_survives_any_peer() {
    smoke("hostile", super::hostile, 1_000, 600);
}
