//! Block codes in open loop, the baseline of Karzand et al.: exact residual losses and delays.
//!
//! k source packets, then n-k repairs; any k packets of a block decode it. Packets received of a
//! block that is not decoded are delivered at its end, and lost ones are given up. Delays are in
//! order, in slots. The channel may have a memory ([`SlotLoss`]).

use super::{SlotLoss, TheoryError, within};

/// Source packets of the longest block.
pub const LONGEST: u32 = 4096;

/// A block code on a channel.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct OpenBlock {
    /// Source packets of a block.
    pub k: u32,
    /// All packets of a block.
    pub n: u32,
    /// Code rate, k/n.
    pub rate: f64,
    /// Share of source packets that never arrive.
    pub residual_loss: f64,
    /// Mean in-order delay of those that do, in slots.
    pub mean_delay_slots: f64,
}

/// The block code of k source packets, n packets in all.
///
/// # Errors
/// k is not from 1 to [`LONGEST`], n not from k to 2k + [`LONGEST`], or the channel is invalid.
pub fn open_block(loss: SlotLoss, k: u32, n: u32) -> Result<OpenBlock, TheoryError> {
    let expected = "from k to 2 k + 4096";
    within("n", n, (k..=2 * k + LONGEST).contains(&n), expected)?;
    Ok(search(loss, k, |code| code.n == n)?.unwrap_or_else(|| unreachable!("n is in range")))
}

/// The block code of k source packets with the fewest repairs that leaves at most this share of
/// packets unrecovered; `None` if 2k + [`LONGEST`] packets do not suffice.
///
/// # Errors
/// As [`open_block`]; or the share is not positive.
pub fn for_residual(
    loss: SlotLoss,
    k: u32,
    residual: f64,
) -> Result<Option<OpenBlock>, TheoryError> {
    let fits = (1e-12..1.0).contains(&residual);
    within("the residual loss", residual, fits, "from 1e-12 to 1")?;
    search(loss, k, |code| code.residual_loss <= residual)
}

/// The smallest blocks for ever higher rates that leave at most this share of packets unrecovered:
/// of k from 1 to `longest`, those whose rate is above that of all smaller ones.
///
/// # Errors
/// As [`for_residual`].
pub fn constant_residual(
    loss: SlotLoss,
    residual: f64,
    longest: u32,
) -> Result<Vec<OpenBlock>, TheoryError> {
    let mut found: Vec<OpenBlock> = Vec::new();
    for k in 1..=longest {
        if let Some(code) = for_residual(loss, k, residual)?
            && found.last().is_none_or(|last| code.rate > last.rate)
        {
            found.push(code);
        }
    }
    Ok(found)
}

/// Sums over blocks with a number of missing packets and a state of the channel.
#[derive(Clone, Copy, Default)]
struct Cell {
    /// Probability.
    p: f64,
    /// Mean of the place f of the first lost packet, and of f (f-1) / 2.
    first: f64,
    early: f64,
    /// Means of the number of received source packets from f on, and of the sum of their places.
    count: f64,
    places: f64,
}

impl Cell {
    fn add(&mut self, other: Cell, times: f64) {
        self.p += times * other.p;
        self.first += times * other.first;
        self.early += times * other.early;
        self.count += times * other.count;
        self.places += times * other.places;
    }
}

/// Follows a block slot by slot: the first code that `fits`, n from k on.
fn search(
    loss: SlotLoss,
    k: u32,
    fits: impl Fn(&OpenBlock) -> bool,
) -> Result<Option<OpenBlock>, TheoryError> {
    let loss = loss.checked()?;
    within("k", k, (1..=LONGEST).contains(&k), "from 1 to 4096")?;
    let (gamma, beta) = loss.transitions();
    let loses = [gamma, 1.0 - beta];
    // The state of the channel before the block is stationary.
    let (mut arrived, mut lost_before) = (1.0 - loss.rate(), loss.rate());
    let mut cells = vec![[Cell::default(); 2]; 2];
    let (mut undelayed, kf) = (0.0, f64::from(k));
    for slot in 0..k {
        let place = f64::from(slot);
        // The first loss of the block.
        let first = arrived * loses[0] + lost_before * loses[1];
        arrived = arrived * (1.0 - loses[0]) + lost_before * (1.0 - loses[1]);
        lost_before = 0.0;
        undelayed += place * first;
        step(&mut cells, loses, |cell| {
            cell.count += cell.p;
            cell.places += cell.p * place;
        });
        let early = place * (place - 1.0) / 2.0 * first;
        let cell = Cell {
            p: first,
            first: place * first,
            early,
            ..Cell::default()
        };
        cells[1][1].add(cell, 1.0);
    }
    undelayed += kf * arrived;
    // Delivered packets and the sum of their delays, of decoded blocks.
    let (mut delivered, mut delays) = (undelayed, 0.0);
    let mut n = k;
    loop {
        let (mut left, mut late) = (0.0, 0.0);
        for cell in cells.iter().flatten() {
            left += cell.count;
            late += (f64::from(n) - 1.0) * cell.count - cell.places;
        }
        let received = delivered + left;
        let code = OpenBlock {
            k,
            n,
            rate: kf / f64::from(n),
            // Rounding must not make it negative.
            residual_loss: (1.0 - received / kf).max(0.0),
            mean_delay_slots: (delays + late) / received,
        };
        if fits(&code) {
            return Ok(Some(code));
        }
        if n == 2 * k + LONGEST {
            return Ok(None);
        }
        // A repair in slot n.
        let slot = f64::from(n);
        let mut next = vec![[Cell::default(); 2]; cells.len()];
        for missing in 1..cells.len() {
            for state in 0..2 {
                let cell = cells[missing][state];
                next[missing][1].add(cell, loses[state]);
                next[missing - 1][0].add(cell, 1.0 - loses[state]);
            }
        }
        let decoded = std::mem::take(&mut next[0][0]);
        delivered += kf * decoded.p - decoded.first;
        let whole = kf * (kf - 1.0) / 2.0;
        delays += slot * (kf * decoded.p - decoded.first) - (whole * decoded.p - decoded.early);
        cells = next;
        n += 1;
    }
}

/// A source packet's slot for blocks that miss something: `receive` counts it where it arrives.
fn step(cells: &mut Vec<[Cell; 2]>, loses: [f64; 2], receive: impl Fn(&mut Cell)) {
    let mut next = vec![[Cell::default(); 2]; cells.len() + 1];
    for (missing, states) in cells.iter().enumerate().skip(1) {
        for (state, cell) in states.iter().enumerate() {
            next[missing + 1][1].add(*cell, loses[state]);
            let mut received = *cell;
            receive(&mut received);
            next[missing][0].add(received, 1.0 - loses[state]);
        }
    }
    *cells = next;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::slots::block::{Answer, Block};
    use crate::sim::slots::silent;

    fn iid(loss: f64) -> SlotLoss {
        SlotLoss::Iid { loss }
    }

    #[test]
    fn a_block_of_one_or_two_is_as_worked_out_by_hand() {
        // One packet and one repair: lost if both are; delayed by a slot if the first is.
        let code = open_block(iid(0.2), 1, 2).unwrap();
        assert!((code.residual_loss - 0.04).abs() < 1e-12);
        assert!((code.mean_delay_slots - 0.2 * 0.8 / 0.96).abs() < 1e-12);
        // Two packets without a repair: if the first is lost and the second is not, it is
        // delivered at the end, at once.
        let code = open_block(iid(0.2), 2, 2).unwrap();
        assert!((code.residual_loss - 0.2).abs() < 1e-12 && code.mean_delay_slots.abs() < 1e-12);
    }

    #[test]
    fn it_agrees_with_the_simulation_with_and_without_memory() {
        for (loss, k, n) in [
            ("0.05", 8, 10),
            ("0.1", 32, 40),
            ("0.2", 5, 6),
            ("markov:0.1,4", 16, 24),
            ("markov:0.05,1", 10, 11),
        ] {
            let loss: SlotLoss = loss.parse().unwrap();
            let model = Block {
                loss,
                k,
                repairs: f64::from(n - k),
                rtt: None,
                answer: Answer::Missing,
                slots: 3_200_000,
                bin: None,
                seed: 3,
            };
            let (got, exact) = (
                model.run(2, &silent).unwrap(),
                open_block(loss, k, n).unwrap(),
            );
            let off = got.delivered.mean_delay_slots - exact.mean_delay_slots;
            assert!(
                off.abs() < 4.0 * got.delivered.stderr,
                "{loss} {k}: {got:?} {exact:?}"
            );
            let off = got.residual_loss / exact.residual_loss - 1.0;
            assert!(off.abs() < 0.05, "{loss} {k}: {got:?} {exact:?}");
        }
    }

    #[test]
    fn the_smallest_blocks_of_a_residual_loss_grow_with_the_rate() {
        let codes = constant_residual(iid(0.05), 1e-3, 100).unwrap();
        assert!(codes.len() > 5 && codes.iter().all(|code| code.residual_loss <= 1e-3));
        for pair in codes.windows(2) {
            assert!(pair[0].k < pair[1].k && pair[0].rate < pair[1].rate);
        }
        // One repair less does not suffice.
        let one = codes[3];
        assert!(
            open_block(iid(0.05), one.k, one.n - 1)
                .unwrap()
                .residual_loss
                > 1e-3
        );
        assert!(for_residual(iid(0.05), 0, 1e-3).is_err());
        assert!(for_residual(iid(0.05), 5, 0.0).is_err());
        assert!(open_block(iid(0.05), 5, 4).is_err());
    }
}
