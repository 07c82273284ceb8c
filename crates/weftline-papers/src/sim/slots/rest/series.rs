//! What a stream did over time.

use serde::Serialize;

/// Most acknowledgements, and most decodings, that a series has: what comes later is left out.
pub const LONGEST_SERIES: usize = 10_000;

/// A stream over time. Lists that belong together have the same length.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Series {
    /// When each acknowledgement reached the sender, s.
    pub ack_s: Vec<f64>,
    /// Its sequence number: the packets below it have arrived or are decoded.
    pub acknowledged: Vec<u32>,
    /// The receiver's estimate of the packet error rate that it carries.
    pub estimated_loss: Vec<f64>,
    /// The redundancy R from then on, repairs for each data packet.
    pub redundancy: Vec<f64>,
    /// Data packets between repairs, k, from then on; 100 is infinite.
    pub spacing: Vec<u32>,
    /// When each decoding took place at the receiver, s.
    pub decoded_s: Vec<f64>,
    /// The packets that it gave: the unknowns of its matrix.
    pub matrix: Vec<u32>,
}

impl Series {
    pub(super) fn on_ack(&mut self, now: f64, acknowledged: u32, loss: f64, plan: (f64, u32)) {
        if self.ack_s.len() < LONGEST_SERIES {
            self.ack_s.push(now);
            self.acknowledged.push(acknowledged);
            self.estimated_loss.push(loss);
            self.redundancy.push(plan.0);
            self.spacing.push(plan.1);
        }
    }

    pub(super) fn on_decoding(&mut self, now: f64, packets: u32) {
        if self.decoded_s.len() < LONGEST_SERIES {
            self.decoded_s.push(now);
            self.matrix.push(packets);
        }
    }
}
