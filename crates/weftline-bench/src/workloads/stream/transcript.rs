//! The packets that a receiver gets: the same for every contender of one code.

use crate::data::Draws;

use super::Stream;

const SEED: u64 = 4;

/// One packet that arrives, counted from the beginning of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    /// The source symbol with this number.
    Source(usize),
    /// The repair symbol after the source symbol with this number.
    Repair(usize),
}

impl Arrival {
    /// The number of its source symbol, or of the one before a repair symbol.
    pub(super) fn position(self) -> usize {
        let (Self::Source(position) | Self::Repair(position)) = self;
        position
    }
}

/// The packets that arrive in one run. Each packet, repair symbols included, is
/// lost with the same probability, and the losses are the same every time.
pub(super) fn arrivals(stream: Stream, loss: usize) -> Vec<Arrival> {
    let mut draws = Draws::new(SEED);
    let mut arrivals = Vec::new();
    for number in 0..stream.run() {
        if !draws.percent(loss) {
            arrivals.push(Arrival::Source(number));
        }
        if (number + 1).is_multiple_of(stream.interval()) && !draws.percent(loss) {
            arrivals.push(Arrival::Repair(number));
        }
    }
    arrivals
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(arrivals: &[Arrival]) -> usize {
        let sources = arrivals.iter().filter(|a| matches!(a, Arrival::Source(_)));
        sources.count()
    }

    #[test]
    fn without_loss_everything_arrives_in_order_and_with_loss_that_share_does_not() {
        let stream = Stream {
            size: 64,
            window: 64,
            repair: 10,
        };
        let all = arrivals(stream, 0);
        assert_eq!(sources(&all), stream.run());
        assert_eq!(all.len() - sources(&all), stream.run() / 10);
        assert_eq!(
            all[9..12],
            [Arrival::Source(9), Arrival::Repair(9), Arrival::Source(10)]
        );
        let some = arrivals(stream, 20);
        let share = some.len() as f64 / all.len() as f64;
        assert!((0.75..0.85).contains(&share), "{share}");
        assert_eq!(some, arrivals(stream, 20));
    }
}
