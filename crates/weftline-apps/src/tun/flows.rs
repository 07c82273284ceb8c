//! The flows inside a tunnel, as they are counted. Sans-IO: the time is an argument.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use super::counts::Traffic;
use super::packet::Header;
use crate::flow::{self, FlowInfo, busiest};

/// Most flows that are counted at a time; packets of others count for the tunnel alone.
const MOST: usize = 1024;
/// A flow that carried nothing for this long has ended.
const IDLE: Duration = Duration::from_secs(60);
/// Time between two looks for flows that have ended.
const SWEEP: Duration = Duration::from_secs(1);

/// What tells a flow from others: the same for its packets in both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    /// Address and port of the end that this host sends packets of.
    here: (IpAddr, u16),
    /// Those of the end that the peer sends packets of.
    there: (IpAddr, u16),
    protocol: u8,
}

impl Key {
    /// The flow of a packet that this host sends.
    pub(super) fn of_sent(header: &Header) -> Self {
        let (protocol, [a, b, c, d]) = header.flow;
        Key {
            here: (header.source, u16::from_be_bytes([a, b])),
            there: (header.destination, u16::from_be_bytes([c, d])),
            protocol,
        }
    }

    /// The flow of a packet that the peer has sent.
    pub(super) fn of_delivered(header: &Header) -> Self {
        let Key {
            here,
            there,
            protocol,
        } = Key::of_sent(header);
        Key {
            here: there,
            there: here,
            protocol,
        }
    }

    /// Where packets of this host come from and go to, for people. The protocol stands before the first, and
    /// ports where there are some.
    fn ends(&self) -> [String; 2] {
        let end = |(address, port): (IpAddr, u16)| match (address, port) {
            (address, 0) => address.to_string(),
            (address, port) => std::net::SocketAddr::from((address, port)).to_string(),
        };
        let protocol = match self.protocol {
            0 => "ip".to_owned(),
            1 | 58 => "icmp".to_owned(),
            6 => "tcp".to_owned(),
            17 => "udp".to_owned(),
            other => format!("protocol {other}"),
        };
        [format!("{protocol} {}", end(self.here)), end(self.there)]
    }
}

#[derive(Debug)]
struct Record {
    number: u64,
    sent: Traffic,
    delivered: Traffic,
    dropped: u64,
    last: Instant,
}

/// The flows of one peer.
#[derive(Debug, Default)]
pub(super) struct Flows {
    all: HashMap<Key, Record>,
    swept: Option<Instant>,
}

impl Flows {
    /// Counts a packet that was sent.
    pub(super) fn send(&mut self, key: Key, bytes: usize, now: Instant) {
        self.count(key, now, |record| record.sent.add(bytes));
    }

    /// Counts a packet that was delivered.
    pub(super) fn deliver(&mut self, key: Key, bytes: usize, now: Instant) {
        self.count(key, now, |record| record.delivered.add(bytes));
    }

    /// Counts packets that this end dropped.
    pub(super) fn drop_all(&mut self, keys: impl IntoIterator<Item = Key>, now: Instant) {
        for key in keys {
            self.count(key, now, |record| record.dropped += 1);
        }
    }

    fn count(&mut self, key: Key, now: Instant, count: impl Fn(&mut Record)) {
        if let Some(record) = self.all.get_mut(&key) {
            record.last = now;
            return count(record);
        }
        if self.all.len() >= MOST {
            // Not for each packet: somebody may send from port to port.
            let is_due = |swept| now.saturating_duration_since(swept) >= SWEEP;
            if self.swept.is_none_or(is_due) {
                self.swept = Some(now);
                self.all.retain(|_, record| is_open(record, now));
            }
            if self.all.len() >= MOST {
                return;
            }
        }
        let mut record = Record {
            number: flow::number(),
            sent: Traffic::default(),
            delivered: Traffic::default(),
            dropped: 0,
            last: now,
        };
        count(&mut record);
        self.all.insert(key, record);
    }

    /// Those of the open flows that carried the most.
    pub(super) fn busiest(&self, now: Instant) -> Vec<FlowInfo> {
        let open = self.all.iter().filter(|(_, record)| is_open(record, now));
        let carried = |(_, record): &(&Key, &Record)| record.sent.bytes + record.delivered.bytes;
        let few = busiest(open, carried);
        let info = |(key, record): (&Key, &Record)| {
            let [from, to] = key.ends();
            FlowInfo {
                number: record.number,
                from,
                to,
                sent_datagrams: record.sent.packets,
                sent_bytes: record.sent.bytes,
                delivered_datagrams: record.delivered.packets,
                delivered_bytes: record.delivered.bytes,
                dropped_datagrams: record.dropped,
            }
        };
        few.into_iter().map(info).collect()
    }
}

fn is_open(record: &Record, now: Instant) -> bool {
    now.saturating_duration_since(record.last) < IDLE
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(port: u16) -> Key {
        Key {
            here: ([10, 77, 0, 2].into(), port),
            there: ([192, 0, 2, 1].into(), 443),
            protocol: 6,
        }
    }

    #[test]
    fn a_flow_counts_both_directions_until_it_is_idle() {
        let (mut flows, begin) = (Flows::default(), Instant::now());
        flows.send(key(5000), 100, begin);
        flows.deliver(key(5000), 1400, begin);
        flows.drop_all([key(5000), key(6000)], begin + IDLE / 2);
        let [mut all, later, none] =
            [IDLE / 2, IDLE, IDLE * 2].map(|after| flows.busiest(begin + after));
        all.sort_by_key(|flow| flow.from.clone());
        assert_eq!((all.len(), later.len(), none.len()), (2, 2, 0));
        let [one, other] = &all[..] else { panic!() };
        assert_eq!(
            (one.from.as_str(), one.to.as_str()),
            ("tcp 10.77.0.2:5000", "192.0.2.1:443")
        );
        let counted = [one.sent_datagrams, one.sent_bytes, one.delivered_bytes];
        assert_eq!(counted, [1, 100, 1400]);
        assert_eq!((one.dropped_datagrams, other.dropped_datagrams), (1, 1));
        assert_ne!(one.number, other.number);
    }

    #[test]
    fn no_more_flows_are_kept_than_have_room_and_idle_ones_make_room() {
        let (mut flows, begin) = (Flows::default(), Instant::now());
        for port in 1..=2 * MOST as u16 {
            flows.send(key(port), 100, begin);
        }
        assert_eq!(flows.all.len(), MOST);
        flows.send(key(1), 100, begin + IDLE);
        flows.send(key(9999), 100, begin + IDLE);
        assert_eq!(flows.all.len(), 2);
    }

    #[test]
    fn packets_of_both_directions_are_of_one_flow() {
        let udp = |source: [u8; 4], destination: [u8; 4], ports: [u8; 4]| {
            let mut packet = vec![0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0];
            packet.extend(source.iter().chain(&destination).chain(&ports));
            packet.extend([0, 8, 0, 0]);
            Header::read(&packet).unwrap()
        };
        let (here, there) = ([10, 0, 0, 1], [10, 0, 0, 2]);
        let out = Key::of_sent(&udp(here, there, [1, 2, 3, 4]));
        assert_eq!(Key::of_delivered(&udp(there, here, [3, 4, 1, 2])), out);
        assert_eq!(out.ends(), ["udp 10.0.0.1:258", "10.0.0.2:772"]);
        assert_ne!(Key::of_sent(&udp(there, here, [3, 4, 1, 2])), out);
    }
}
