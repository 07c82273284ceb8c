//! Low-overhead block RLC over 802.11b (Garrido et al.): combinations of a block of K packets
//! until the receiver has K independent ones and its acknowledgement has arrived.

use serde::Serialize;

use super::channel::{Draws, threshold};
use super::estimate::Estimate;
use super::rank::Receiver;
use super::spread::spread;
use super::{Code, Progress, SlotError, within};
use crate::theory::dcf::Cell;
use crate::theory::rlnc::{Rlnc, Vectors};

/// Blocks that a thread runs at a time.
const PART: u64 = 32;

/// How a packet carries its coding vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    /// The vector itself.
    Vector,
    /// A seed of 4 bytes.
    Seed,
}

/// The model: one hop with a sending and an acknowledging station, packet after packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RlcBlock {
    /// The cell; its FER applies to packets, each sent once by the MAC.
    pub cell: Cell,
    /// The FER of acknowledgements, each sent once too.
    pub ack_fer: f64,
    /// Packets of a block, K.
    pub k: u32,
    /// Coefficients are in GF(2^q).
    pub q: u32,
    /// Ideal or real.
    pub code: Code,
    /// The header.
    pub header: Header,
    /// Bytes of other headers in a packet, such as those of IP and UDP.
    pub other_headers: u32,
    /// Bytes of an acknowledgement.
    pub ack_bytes: u32,
    /// Number of blocks.
    pub blocks: u64,
    /// Seed of all random choices.
    pub seed: u64,
}

/// The result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// Number of blocks.
    pub blocks: u64,
    /// Payload delivered, Mbit/s.
    pub throughput_mbit: f64,
    /// Its standard error.
    pub stderr: f64,
    /// S (1-FER): rate of whole IP packets that the cell carries, Mbit/s.
    pub limit_mbit: f64,
    /// Milliseconds from one decoded block to the next.
    pub latency_ms: Estimate,
    /// Packets sent for each block.
    pub transmissions: Estimate,
    /// Packets received until a block is decoded.
    pub receptions: Estimate,
    /// Share of the time in which acknowledgements are sent.
    pub ack_share: f64,
    /// Its standard error.
    pub ack_share_stderr: f64,
    /// Bytes of headers in a packet.
    pub header_bytes: u32,
    /// Bytes of payload in a block.
    pub block_bytes: u32,
}

struct Block {
    sent: u64,
    received: u64,
    acks: u64,
}

impl RlcBlock {
    /// Runs the model on this many threads.
    ///
    /// # Errors
    /// A parameter is out of its range.
    pub fn run(&self, threads: usize, progress: Progress<'_>) -> Result<Outcome, SlotError> {
        let code = Rlnc::new(self.q, self.k, Vectors::NonZero)?;
        let own = match self.header {
            Header::Vector => code.vector_header(),
            Header::Seed => code.seed_header(),
        };
        let header = own.saturating_add(self.other_headers);
        within(
            "the header",
            header,
            header < self.cell.payload,
            "shorter than the packet",
        )?;
        let fits = (1..=10_000_000).contains(&self.blocks);
        within(
            "the number of blocks",
            self.blocks as f64,
            fits,
            "from 1 to 10^7",
        )?;
        within("FER", self.cell.fer, self.cell.fer <= 0.95, "at most 0.95")?;
        let fits = (0.0..=0.95).contains(&self.ack_fer);
        within("ACK FER", self.ack_fer, fits, "from 0 to 0.95")?;
        // Each transmission takes a frame's time and half a first window, whether it arrives or
        // not.
        let packet = self.cell.packet_ms(self.cell.payload)?;
        let ack = self.cell.packet_ms(self.ack_bytes)?;
        let parts = spread(self.blocks.div_ceil(PART), threads, progress, |part| {
            let blocks = part * PART..self.blocks.min((part + 1) * PART);
            let mut receiver = Receiver::new(self.code, self.q, self.k, Vectors::NonZero)?;
            blocks
                .map(|block| self.block(block, &mut receiver))
                .collect::<Result<Vec<_>, _>>()
        });
        let mut blocks = Vec::new();
        for part in parts {
            blocks.extend(part?);
        }
        let values =
            |of: &dyn Fn(&Block) -> f64| Estimate::of(&blocks.iter().map(of).collect::<Vec<_>>());
        let latency = values(&|b| b.sent as f64 * packet + b.acks as f64 * ack);
        let bits = 8.0 * f64::from(self.k) * f64::from(self.cell.payload - header);
        let throughput = bits / latency.mean / 1e3;
        let acks = values(&|b| b.acks as f64 * ack);
        let ack_share = acks.mean / latency.mean;
        // The part of acknowledgements in one block, less its share of the block's time.
        let rest = values(&|b| {
            let ack = b.acks as f64 * ack;
            ack - ack_share * (b.sent as f64 * packet + ack)
        });
        Ok(Outcome {
            blocks: self.blocks,
            throughput_mbit: throughput,
            stderr: throughput * latency.stderr / latency.mean,
            limit_mbit: 8e-3 * f64::from(self.cell.payload) / packet * (1.0 - self.cell.fer),
            latency_ms: latency,
            transmissions: values(&|b| b.sent as f64),
            receptions: values(&|b| b.received as f64),
            ack_share,
            ack_share_stderr: rest.stderr / latency.mean,
            header_bytes: header,
            block_bytes: self.k * (self.cell.payload - header),
        })
    }

    fn block(&self, block: u64, receiver: &mut Receiver) -> Result<Block, SlotError> {
        let mut draws = Draws::new(self.seed, block);
        let (fails, ack_fails) = (threshold(self.cell.fer), threshold(self.ack_fer));
        receiver.begin();
        let (mut sent, mut received, mut acks) = (0, 0, 0);
        loop {
            sent += 1;
            if draws.chance(fails) {
                continue;
            }
            if receiver.deficit() > 0 {
                received += 1;
                receiver.combination(&mut draws)?;
            }
            // At once, and again for each packet of a complete block.
            if receiver.deficit() == 0 {
                acks += 1;
                if !draws.chance(ack_fails) {
                    return Ok(Block {
                        sent,
                        received,
                        acks,
                    });
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::silent;
    use super::*;
    use crate::theory::dcf::{block_ms, goodput};

    fn model(k: u32, q: u32, fer: f64) -> RlcBlock {
        RlcBlock {
            cell: Cell {
                fer,
                ..Cell::default()
            },
            ack_fer: fer,
            k,
            q,
            code: Code::Genie,
            header: Header::Seed,
            other_headers: 0,
            ack_bytes: 40,
            blocks: 2_000,
            seed: 3,
        }
    }

    #[test]
    fn without_errors_it_is_the_formula() {
        for (k, q) in [(8, 1), (64, 1), (16, 2), (128, 8)] {
            let model = model(k, q, 0.0);
            let got = model.run(2, &silent).unwrap();
            let code = Rlnc::new(q, k, Vectors::NonZero).unwrap();
            let packet = got.latency_ms.mean / (got.transmissions.mean);
            assert!(packet > 1.9);
            let receptions = (got.receptions.mean - code.mean_receptions()).abs();
            assert!(
                receptions < 4.0 * got.receptions.stderr + 0.02,
                "{k} {q}: {got:?}"
            );
            let once = Cell {
                transmissions: Some(1),
                ..model.cell
            };
            let whole = once.saturation().unwrap().throughput_mbit;
            let short = Cell {
                payload: 40,
                ..once
            }
            .saturation()
            .unwrap()
            .throughput_mbit;
            let ack = 40.0 / short / (1500.0 / whole);
            let expected = goodput(&once, &code, got.header_bytes, ack).unwrap();
            let off = (got.throughput_mbit - expected).abs();
            assert!(
                off < 4.0 * got.stderr + 0.003,
                "{k} {q}: {got:?} {expected}"
            );
        }
    }

    #[test]
    fn a_lossless_acknowledgement_is_sent_once_for_each_block() {
        let model = RlcBlock {
            ack_fer: 0.0,
            ..model(64, 1, 0.4)
        };
        let got = model.run(2, &silent).unwrap();
        let ack = model.cell.packet_ms(40).unwrap();
        assert!((got.ack_share * got.latency_ms.mean - ack).abs() < 1e-9);
        let once = Cell {
            transmissions: Some(1),
            ..model.cell
        };
        let code = Rlnc::new(1, 64, Vectors::NonZero).unwrap();
        let packets = ack / model.cell.packet_ms(1500).unwrap();
        let expected = block_ms(&once, &code, packets).unwrap();
        let off = (got.latency_ms.mean - expected).abs();
        assert!(
            off < 4.0 * got.latency_ms.stderr,
            "{:?} {expected}",
            got.latency_ms
        );
    }

    #[test]
    fn long_blocks_come_close_to_the_cells_capacity() {
        for fer in [0.0, 0.2, 0.4, 0.6] {
            let got = model(256, 8, fer).run(2, &silent).unwrap();
            let share = got.throughput_mbit / got.limit_mbit;
            assert!((0.96..1.0).contains(&share), "{fer}: {got:?}");
        }
        // The paper sees about half a second between blocks of 256.
        let got = model(256, 8, 0.0).run(2, &silent).unwrap();
        assert!((400.0..600.0).contains(&got.latency_ms.mean), "{got:?}");
        // And about 18 % more throughput with the short header beyond 128 packets.
        let long = RlcBlock {
            header: Header::Vector,
            ..model(256, 8, 0.0)
        };
        let gain = got.throughput_mbit / long.run(2, &silent).unwrap().throughput_mbit;
        assert!((1.15..1.22).contains(&gain), "{gain}");
    }

    #[test]
    fn real_coefficients_are_received_as_often() {
        for (q, k) in [(1, 8), (2, 16), (8, 16)] {
            let real = RlcBlock {
                code: Code::Real,
                ..model(k, q, 0.1)
            };
            let got = real.run(2, &silent).unwrap();
            let expected = Rlnc::new(q, k, Vectors::NonZero).unwrap().mean_receptions();
            let off = (got.receptions.mean - expected).abs();
            assert!(
                off < 4.0 * got.receptions.stderr.max(0.0015),
                "{q} {k}: {got:?}"
            );
        }
    }
}
