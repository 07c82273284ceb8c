//! Ideal blocks: any k of the k + r packets of a block decode it.
//!
//! Times and losses are those of the real codecs in `run`: only the decoder is a rule.

use weftline_netem::Losses;

use super::Experiment;
use super::run::{Check, Run};

pub(super) fn run(experiment: &Experiment, k: u64, seed: u64) -> Run {
    let mut losses = Losses::new(experiment.loss.clone(), seed);
    let mut check = Check::new(experiment, seed);
    let repairs = experiment.code_rate.repairs_after(k);
    let sent = experiment.sent();
    let mut sum = Run::default();
    for block in (0..sent / k).map(|block| block * k..(block + 1) * k) {
        let mut arrived = 0;
        for symbol in block.clone() {
            // As in the real runs, the first symbol of all arrives.
            if !losses.next_is_lost() || symbol == 0 {
                check.received(symbol);
                check.known(symbol, 0);
                arrived += 1;
            }
        }
        arrived += (0..repairs).filter(|_| !losses.next_is_lost()).count() as u64;
        sum.repairs += repairs;
        if arrived < k {
            continue;
        }
        let missing: Vec<u64> = block.clone().filter(|s| !check.is_known(*s)).collect();
        for symbol in missing {
            // A tick after the last source symbol of the block.
            check.known(symbol, (block.end - symbol) as u32);
        }
    }
    sum.sources = sent;
    check.count(experiment, &mut sum);
    sum
}
