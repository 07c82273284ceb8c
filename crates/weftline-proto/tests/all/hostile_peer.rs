//! Limits on what a hostile peer can make an end store or send.

use crate::support::pair::{events, transmit_all};
use weftline_proto::wire::{Coded, FRAGMENT_COST, RidersHeader};
use weftline_proto::{CloseReason, Config, Role, Session, Time, Violation};

/// RFC 9000, section 16.
fn varint(out: &mut Vec<u8>, value: u64) {
    match value {
        0..0x40 => out.push(value as u8),
        0x40..0x4000 => out.extend_from_slice(&(value as u16 | 0x4000).to_be_bytes()),
        0x4000..0x4000_0000 => out.extend_from_slice(&(value as u32 | 0x8000_0000).to_be_bytes()),
        _ => out.extend_from_slice(&(value | 0xc000_0000_0000_0000).to_be_bytes()),
    }
}

/// A server, and a client that sends it arbitrary data.
struct Attack {
    victim: Session,
    now: Time,
    datagrams: u32,
    messages: u64,
}

/// The length that the messages of an attack claim.
const CLAIMED: u64 = 60;

impl Attack {
    fn new(config: Config) -> Self {
        let now = Time::from_micros(1_000_000);
        Attack {
            victim: Session::new(Role::Server, config, 1, now).expect("it is possible"),
            now,
            datagrams: 0,
            messages: 0,
        }
    }

    /// Sends `frames` in the next source symbol, and reads the answers.
    fn send(&mut self, frames: &[u8]) {
        let mut datagram = Vec::new();
        let coded = Coded {
            transmission: self.datagrams,
            timestamp: self.now.as_micros() as u32,
            esi: self.datagrams,
            span: 0,
        };
        coded.put_source(&mut datagram);
        datagram.extend_from_slice(frames);
        self.datagrams += 1;
        self.victim.handle_datagram(self.now, &datagram);
        transmit_all(&mut self.victim, self.now);
        events(&mut self.victim);
    }

    /// Appends `data` as the last fragment of a message. The rest of the message is never sent.
    fn fragment(&mut self, frames: &mut Vec<u8>, deadline: Option<Time>, data: &[u8]) {
        frames.push(0x22 | u8::from(deadline.is_some()));
        varint(frames, self.messages);
        varint(frames, CLAIMED);
        varint(frames, CLAIMED - data.len() as u64);
        if let Some(deadline) = deadline {
            varint(frames, deadline.as_micros());
        }
        varint(frames, data.len() as u64);
        frames.extend_from_slice(data);
        self.messages += 1;
    }

    /// Sends one source symbol full of one-byte fragments, each of its own message.
    fn send_tiny_fragments(&mut self, deadline: Option<Time>) {
        let mut frames = Vec::new();
        while frames.len() < 1100 {
            self.fragment(&mut frames, deadline, b"x");
        }
        self.send(&frames);
    }
}

#[test]
fn an_unverified_hello_is_answered_with_little() {
    // The shortest HELLO, from an address that may be forged, and then nothing.
    let hello = [5, 1, 0];
    let mut now = Time::ZERO;
    let config = Config::default();
    let mut session = Session::new(Role::Server, config, 1, now).expect("it is possible");
    session.handle_datagram(now, &hello);
    let mut answers = Vec::new();
    loop {
        answers.extend(transmit_all(&mut session, now));
        let Some(timer) = session.poll_timeout() else {
            break;
        };
        now = now.max(timer);
        session.handle_timeout(now);
    }
    let bytes: usize = answers.iter().map(Vec::len).sum();
    assert_eq!(
        session.close_reason(),
        Some(&CloseReason::TimedOut { seconds: 30 })
    );
    assert!(!answers.is_empty(), "an honest client needs an answer");
    // The first answers stay within RFC 9000, section 8.1: three times what came, with IPv4 and UDP.
    let on_the_wire = |len: usize| len + 28;
    assert!(on_the_wire(answers[0].len()) <= 3 * on_the_wire(hello.len()));
    // Nothing follows, not even to keep the session alive.
    assert!(bytes <= 120, "{bytes} bytes in {} datagrams", answers.len());
}

#[test]
fn an_empty_fragment_of_a_longer_message_ends_the_session() {
    for deadline in [None, Some(Time::from_micros(2_000_000))] {
        let mut attack = Attack::new(Config::default());
        let mut frames = Vec::new();
        attack.fragment(&mut frames, deadline, b"");
        attack.send(&frames);
        let reason = attack.victim.close_reason();
        let expected = CloseReason::Violation(Violation::MessageOverlap);
        assert_eq!(reason, Some(&expected));
    }
}

#[test]
fn tiny_reliable_fragments_end_the_session_once_they_have_spent_its_credit() {
    let mut config = Config::default();
    config.limits.session_data = 1 << 20;
    let affordable = config.limits.session_data / (FRAGMENT_COST + 1);
    let mut attack = Attack::new(config);
    let mut accepted = 0;
    while attack.victim.close_reason().is_none() && attack.messages <= 2 * affordable {
        accepted = attack.messages;
        attack.send_tiny_fragments(None);
    }
    assert_eq!(
        attack.victim.close_reason(),
        Some(&CloseReason::Violation(Violation::MessageCredit))
    );
    // The end accepts no message too many, and stops no whole datagram too early.
    assert!(accepted <= affordable, "{accepted} of {affordable}");
    assert!(attack.messages > affordable, "{accepted} of {affordable}");
}

#[test]
fn tiny_perishable_fragments_are_refused_until_older_ones_are_stale() {
    let mut config = Config::default();
    config.limits.message_data = 1 << 20;
    let affordable = config.limits.message_data / (FRAGMENT_COST + 1);
    let mut attack = Attack::new(config);
    let deadline = Time::from_micros(attack.now.as_micros() + 100_000);
    while attack.messages <= 3 * affordable {
        attack.send_tiny_fragments(Some(deadline));
    }
    let refused = attack.victim.stats().received.refused_fragments;
    assert_eq!(attack.messages - refused, affordable);
    assert_eq!(attack.victim.close_reason(), None);

    attack.now = Time::from_micros(attack.now.as_micros() + 5_000_000);
    let deadline = Time::from_micros(attack.now.as_micros() + 100_000);
    let mut frames = Vec::new();
    attack.fragment(&mut frames, Some(deadline), &[7; CLAIMED as usize]);
    attack.send(&frames);
    let message = attack.victim.recv_message().expect("there is room again");
    assert_eq!(&message.data[..], [7; CLAIMED as usize]);
    assert_eq!(attack.victim.stats().received.refused_fragments, refused);
}

/// Sends symbol `esi`, of `length` bytes, and tells whether it was taken. Nothing below it is given up.
fn take(attack: &mut Attack, esi: u32, length: usize) -> bool {
    take_with_repair(attack, esi, length, None)
}

/// As [`take`], with a repair symbol of `coded` bytes in the same datagram.
fn take_with_repair(attack: &mut Attack, esi: u32, length: usize, coded: Option<usize>) -> bool {
    let mut datagram = Vec::new();
    let header = Coded {
        transmission: attack.datagrams,
        timestamp: 0,
        esi,
        span: esi.min(u32::from(u16::MAX)) as u16,
    };
    match coded {
        None => header.put_source(&mut datagram),
        Some(len) => {
            let riders = RidersHeader {
                count: 1,
                nss: header.span,
                key: esi as u16,
                len,
            };
            header.put_source_and_repairs(&riders, &mut datagram);
            datagram.resize(datagram.len() + len, 7);
        }
    }
    // MAX_DATA of 0, which says nothing.
    datagram.extend_from_slice(&[0x32, 0].repeat(length / 2));
    attack.datagrams += 1;
    let before = attack.victim.stats().dropped;
    attack.victim.handle_datagram(attack.now, &datagram);
    assert!(attack.victim.held() <= attack.victim.memory());
    assert_eq!(attack.victim.close_reason(), None);
    attack.victim.stats().dropped == before
}

#[test]
fn long_symbols_hold_no_more_memory_than_short_ones() {
    let mut config = Config::default();
    config.limits.symbols = 600;
    let mut attack = Attack::new(config);
    let mut next = 0;
    for (length, most) in [(1400, 600), (8990, 100), (1400, 600), (8990, 100)].repeat(2) {
        // The first one is missing, so that the others are kept.
        let missing = next;
        let mut taken = 0;
        for esi in missing + 1..missing + 1000 {
            taken += u32::from(take(&mut attack, esi, length));
        }
        assert!(taken < most, "{taken} of {length} bytes");
        next = missing + taken + 1;
        if length > 1400 {
            // They are still held.
            assert_eq!(taken, most - 1);
            assert!(
                !take(&mut attack, next, 1400),
                "no room for short ones either"
            );
        }
        assert!(take(&mut attack, missing, length));
        // Without news of long ones, there is room for short ones again.
        for _ in 0..400 {
            assert!(take(&mut attack, next, 1400));
            next += 1;
        }
    }
}

#[test]
fn long_repairs_that_ride_with_short_symbols_hold_no_more_memory() {
    let mut config = Config::default();
    config.limits.symbols = 600;
    let mut attack = Attack::new(config);
    // Every second symbol is missing, and each repair is an equation for one.
    let esis = (3..600).step_by(2);
    let taken = esis.filter(|&esi| take_with_repair(&mut attack, esi, 100, Some(8990)));
    // Long symbols have room below 100.
    assert_eq!(taken.count(), 49);
}

#[test]
fn repairs_in_any_field_hold_no_more_memory_than_the_limits_allow() {
    let mut attack = Attack::new(Config::default());
    let limits = Config::default().limits;
    let mut repair = |nss: u16, code: &[u8], data: usize| {
        let mut datagram = vec![9];
        datagram.extend_from_slice(&attack.datagrams.to_be_bytes());
        datagram.extend_from_slice(&[0; 10]);
        datagram.extend_from_slice(&nss.to_be_bytes());
        datagram.extend_from_slice(code);
        datagram.resize(datagram.len() + data, 1);
        attack.datagrams += 1;
        attack.victim.handle_datagram(attack.now, &datagram);
        transmit_all(&mut attack.victim, attack.now);
        attack.victim.stats()
    };
    // Too many symbols, too many bytes, half a group of GF(2^7), meaningless bits, and a vector that
    // is mostly missing.
    let longest = usize::from(limits.symbol_size) + 2;
    repair(limits.window + 1, &[7, 0, 0, 0, 0], 100);
    repair(10, &[7, 0, 0, 0, 0], longest + 1);
    repair(10, &[6, 0, 0, 0, 0], 28);
    repair(10, &[0x87, 0, 0, 0, 0], 100);
    let stats = repair(1000, &[8 | 7, 1, 1], 100);
    assert_eq!(
        (stats.dropped.malformed, stats.received.repair_symbols),
        (5, 1)
    );
    // The third repair named a field. Of the later ones, the decoder keeps as many as there are
    // unknowns. Their solution is most likely not a symbol, and is discarded.
    let mut stats = stats;
    for seed in 0..2000u32 {
        let code = [&[6][..], &seed.to_be_bytes()].concat();
        stats = repair(limits.window, &code, 56);
    }
    let received = stats.received;
    assert!(stats.dropped.inconsistent > 0, "{stats:#?}");
    assert!(received.useful_repairs <= 2 * u64::from(limits.unknowns));
    assert_eq!((received.data, received.source_symbols), (0, 0));
}
