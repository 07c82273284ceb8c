//! One direction of the path; the caller passes the time.

use std::time::Duration;

use weftline_netem::{Counters, Fate, Histogram, LinkConfig, Pipe, Queue};

use super::packet;

/// Most bytes kept in memory, queue and delay together.
const MAX_BYTES: usize = 256 << 20;
const MAX_PACKETS: usize = 1 << 20;

/// One direction: packets enter when they are read and leave when they are due.
#[derive(Debug)]
pub(crate) struct Direction {
    pipe: Pipe<Box<[u8]>>,
    bytes: usize,
    tally: Tally,
}

/// Counters of the emulator itself for a direction, in addition to the link's.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tally {
    /// How long after it was due each packet was written.
    pub(crate) lateness: Histogram,
    /// The longest each packet can have waited before it was read.
    pub(crate) unread: Histogram,
    /// Packets dropped because memory was full.
    pub(crate) overflow: u64,
    /// Packets that the far device refused.
    pub(crate) write_errors: u64,
}

impl Direction {
    pub(crate) fn new(mut config: LinkConfig, seed: u64) -> Self {
        config.queue = config
            .queue
            .and(Queue::bytes(MAX_BYTES))
            .and(Queue::packets(MAX_PACKETS));
        Self {
            pipe: Pipe::new(config, seed),
            bytes: 0,
            tally: Tally::default(),
        }
    }

    /// Enters a packet that was read at `now`, after waiting unread for at most `unread`.
    pub(crate) fn offer(&mut self, now: Duration, unread: Duration, packet: &[u8]) {
        self.tally.unread.record(unread);
        // Twice, because the link may duplicate the packet.
        if self.bytes + 2 * packet.len() > MAX_BYTES || self.pipe.in_flight() + 2 > MAX_PACKETS {
            self.tally.overflow += 1;
            return;
        }
        let fate = if packet::is_ecn_capable(packet) {
            let mark = |packet: &mut Box<[u8]>| packet::mark(packet);
            self.pipe.send_ect(now, packet.into(), packet.len(), mark)
        } else {
            self.pipe.send(now, packet.into(), packet.len())
        };
        if let Fate::Delivered { duplicate, .. } = fate {
            self.bytes += packet.len() * (1 + usize::from(duplicate.is_some()));
        }
    }

    /// Time at which the next packet is due.
    pub(crate) fn next_due(&self) -> Option<Duration> {
        self.pipe.next_arrival()
    }

    /// The next packet that is due by `now`, and its due time.
    pub(crate) fn take_due(&mut self, now: Duration) -> Option<(Duration, Box<[u8]>)> {
        let (due, packet) = self.pipe.recv_timed(now)?;
        self.bytes -= packet.len();
        Some((due, packet))
    }

    /// Records that a packet that was due at `due` was written at `now`.
    pub(crate) fn wrote(&mut self, due: Duration, now: Duration, taken: bool) {
        self.tally.lateness.record(now.saturating_sub(due));
        self.tally.write_errors += u64::from(!taken);
    }

    /// Counts the times of the trace and of outages from `now`.
    pub(crate) fn begin_trace(&mut self, now: Duration) {
        let mut config = self.pipe.link().config().clone();
        config.trace = config.trace.map(|trace| trace.starting_at(now));
        config.down = config.down.starting_at(now);
        self.pipe.set_config(config);
    }

    /// The link's counters so far.
    pub(crate) fn counters(&self) -> &Counters {
        self.pipe.link().counters()
    }

    /// The emulator's counters so far.
    pub(crate) fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Packets in flight.
    pub(crate) fn in_flight(&self) -> usize {
        self.pipe.in_flight()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    fn direction(link: &str) -> Direction {
        Direction::new(link.parse().unwrap(), 1)
    }

    /// An IPv4 packet whose sender supports ECN.
    fn capable(len: usize) -> Vec<u8> {
        let mut packet = vec![0; len];
        packet[..2].copy_from_slice(&[0x45, 0b10]);
        packet
    }

    #[test]
    fn packets_come_out_unchanged_when_due() {
        let mut d = direction("rate=8mbit delay=10ms");
        d.offer(ms(0), ms(0), &[1; 1000]);
        d.offer(ms(0), ms(0), &[2; 1000]);
        assert_eq!(d.next_due(), Some(ms(11)));
        assert_eq!(d.take_due(ms(10)), None);
        assert_eq!(d.take_due(ms(11)), Some((ms(11), vec![1; 1000].into())));
        assert_eq!(d.take_due(ms(50)), Some((ms(12), vec![2; 1000].into())));
        assert_eq!((d.in_flight(), d.bytes), (0, 0));
    }

    #[test]
    fn a_full_queue_marks_the_packets_that_allow_it() {
        let mut d = direction("rate=8mbit ecn=1ms");
        for packet in [
            capable(1000),
            vec![0x45; 1000],
            vec![0x40; 1000],
            capable(1000),
        ] {
            d.offer(ms(0), ms(0), &packet);
        }
        let second_byte = std::iter::from_fn(|| d.take_due(ms(9))).map(|(_, p)| p[1]);
        assert_eq!(second_byte.collect::<Vec<_>>(), [0b10, 0x45, 0x40, 0b11]);
        assert_eq!(d.counters().marked, 1);
    }

    #[test]
    fn memory_is_bounded_for_every_link() {
        // No packet ever leaves, and the link drops none.
        let mut d = direction("delay=1000s duplicate=100%");
        let packet = vec![0; 1 << 20];
        for _ in 0..200 {
            d.offer(ms(0), ms(0), &packet);
        }
        assert_eq!(d.bytes, MAX_BYTES);
        assert_eq!(d.tally().overflow, 200 - 128);
        // Nor does a queue without a limit hold more.
        let mut d = direction("rate=1bit loss=iid:100% queue=unlimited");
        for _ in 0..300 {
            d.offer(ms(0), ms(0), &packet);
        }
        assert_eq!(d.counters().queue_drops, 300 - 257);
    }

    #[test]
    fn lateness_counts_from_the_time_due() {
        let mut d = direction("delay=10ms");
        d.offer(ms(0), ms(2), &[0; 100]);
        let (due, _) = d.take_due(ms(13)).unwrap();
        d.wrote(due, ms(13), true);
        d.offer(ms(0), ms(0), &[0; 100]);
        d.wrote(ms(10), ms(9), false);
        assert_eq!(d.tally().lateness.max(), ms(3));
        assert_eq!(d.tally().unread.max(), ms(2));
        assert_eq!((d.tally().lateness.count(), d.tally().write_errors), (2, 1));
    }

    #[test]
    fn an_outage_is_counted_from_the_same_time_as_a_trace() {
        let mut d = direction("down=0s..1s");
        d.begin_trace(ms(5000));
        for (at, delivered) in [(500, 1), (5500, 1), (6500, 2)] {
            d.offer(ms(at), ms(0), &[0; 10]);
            assert_eq!(d.counters().delivered_packets, delivered, "{at} ms");
        }
    }

    #[test]
    fn a_trace_starts_on_command() {
        let mut read = |_: &str| Ok("0s loss=none\n1ms loss=iid:100%".to_owned());
        let config = LinkConfig::parse_with("loss=trace:f", &mut read).unwrap();
        let mut d = Direction::new(config, 1);
        d.offer(ms(5), ms(0), &[0; 10]);
        d.begin_trace(ms(6));
        d.offer(ms(6), ms(0), &[0; 10]);
        d.offer(ms(7), ms(0), &[0; 10]);
        assert_eq!((d.counters().lost, d.counters().delivered_packets), (2, 1));
    }
}
