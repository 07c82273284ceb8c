//! Records received packets, so that a receiver can be timed without the sender.

/// Packets received, in order.
#[derive(Debug, Default)]
pub(super) struct Events {
    octets: Vec<u8>,
    events: Vec<Event>,
}

#[derive(Clone, Copy, Debug)]
struct Event {
    tick: u64,
    is_repair: bool,
    end: usize,
}

/// A packet received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Received<'a> {
    pub(super) tick: u64,
    pub(super) is_repair: bool,
    pub(super) packet: &'a [u8],
}

impl Events {
    pub(super) fn push(&mut self, tick: u64, is_repair: bool, packet: &[u8]) {
        self.octets.extend_from_slice(packet);
        let end = self.octets.len();
        self.events.push(Event {
            tick,
            is_repair,
            end,
        });
    }

    pub(super) fn clear(&mut self) {
        self.octets.clear();
        self.events.clear();
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Received<'_>> {
        let mut start = 0;
        self.events.iter().map(move |event| {
            let packet = &self.octets[start..event.end];
            start = event.end;
            Received {
                tick: event.tick,
                is_repair: event.is_repair,
                packet,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recorded_packets_are_unchanged() {
        let mut events = Events::default();
        for _ in 0..2 {
            events.push(3, false, b"one");
            events.push(3, true, b"");
            events.push(4, false, b"three");
            let all: Vec<_> = events.iter().collect();
            assert_eq!(all.len(), 3);
            assert_eq!((all[0].packet, all[1].packet), (&b"one"[..], &b""[..]));
            assert_eq!((all[2].packet, all[2].tick), (&b"three"[..], 4));
            assert!(all[1].is_repair && !all[2].is_repair);
            events.clear();
        }
        assert_eq!(events.iter().count(), 0);
    }
}
