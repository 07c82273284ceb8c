//! A sliding window on a stream: encoding with a repair symbol at regular
//! intervals, and decoding behind a lossy path.

mod decode;
mod encode;
mod transcript;

use crate::contest::{Error, Published, Visitor};
use crate::plan::Plan;
use crate::workloads::repair::Code;

/// A sliding-window code in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stream {
    /// Bytes of a symbol.
    size: usize,
    /// Symbols that a repair symbol covers.
    window: usize,
    /// Repair symbols per 100 source symbols, in round numbers.
    repair: usize,
}

impl Stream {
    /// Source symbols for each repair symbol.
    fn interval(self) -> usize {
        100 / self.repair
    }

    /// Our code with fading vectors that are dense enough to recover as much.
    fn fading(self) -> Code {
        Code::Fading((3 * self.interval()).next_power_of_two() as u16)
    }

    /// After this many symbols everything repeats: two windows, in whole
    /// intervals. They fit the cache, like packets that a network card has just
    /// written.
    fn period(self) -> usize {
        (2 * self.window).next_multiple_of(self.interval())
    }

    /// Source symbols in one run, whole periods.
    fn run(self) -> usize {
        self.period() * 1024usize.div_ceil(self.period())
    }
}

pub(super) fn visit(plan: &Plan, visitor: &mut dyn Visitor) -> Result<(), Error> {
    let scope = plan.scope;
    let windows = scope.pick(&[128], &[64, 128, 256], &[32, 64, 128, 256, 1024]);
    for size in scope.sizes() {
        for window in windows.clone() {
            for repair in scope.pick(&[10], &[5, 10, 20, 33], &[5, 10, 20, 33]) {
                let stream = Stream {
                    size,
                    window,
                    repair,
                };
                encode::visit(visitor, stream)?;
            }
            for repair in scope.pick(&[10], &[10, 20], &[5, 10, 20, 33]) {
                let stream = Stream {
                    size,
                    window,
                    repair,
                };
                for loss in scope.pick(&[0, 5, 10], &[0, 1, 5, 10, 20], &[0, 1, 5, 10, 20]) {
                    decode::visit(visitor, "stream/decode", stream, window, loss, None)?;
                }
            }
        }
    }
    roca(plan, visitor)
}

/// The settings of Roca et al., "Block or Convolutional AL-FEC Codes?", Table II:
/// code rate 2/3, an encoding window of 83 symbols, twice as many in the decoder.
fn roca(plan: &Plan, visitor: &mut dyn Visitor) -> Result<(), Error> {
    let stream = Stream {
        size: 256,
        window: 83,
        repair: 50,
    };
    let measured = [(1, 1714.0), (5, 726.0), (24, 187.0)];
    for (loss, mbps) in plan.scope.pick(&measured[1..2], &measured, &measured) {
        let published = Published {
            source: "Roca et al., Table II",
            gbps: mbps / 8e3,
        };
        let span = 2 * stream.window;
        decode::visit(visitor, "stream/roca", stream, span, loss, Some(published))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_whole_periods_and_periods_whole_intervals() {
        for repair in [5, 10, 20, 33, 50] {
            for window in [32, 83, 1024] {
                let stream = Stream {
                    size: 1,
                    window,
                    repair,
                };
                assert!(stream.period() >= 2 * window);
                assert!(stream.period().is_multiple_of(stream.interval()));
                assert!(stream.run().is_multiple_of(stream.period()));
                assert!(stream.run() >= 1024);
            }
        }
    }
}
