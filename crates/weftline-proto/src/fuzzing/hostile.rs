//! A session against a peer that sends arbitrary datagrams.

use core::time::Duration;
use std::collections::BTreeSet;

use super::input::Input;
use crate::wire::{
    Coded, CodingVector, Datagram, FeedbackWriter, FieldCode, FrameWriter, Hello, MIN_SYMBOL_SIZE,
    Measuring, REPAIR_OVERHEAD, RidersHeader, Run,
};
use crate::{Config, Event, Feedback, Limits, Preset, Role, Session, StreamId, Time};

const MAX_OPERATIONS: usize = 400;

/// Bytes of a long symbol, and those that every path takes.
const LONG: usize = 4000;
const BASE: usize = 300;

/// Datagrams that the carrier takes at one moment.
const BURST: usize = 32;

/// Runs any datagrams, time steps and calls of the application: no panic, no datagram that is too
/// long, and no limit is exceeded.
pub fn hostile(data: &[u8]) {
    let mut input = Input::new(data);
    let mut victim = Victim::new(&mut input);
    for _ in 0..MAX_OPERATIONS {
        if input.is_empty() {
            break;
        }
        victim.step(&mut input);
        victim.drive();
        victim.check();
    }
    victim.read_everything();
}

struct Victim {
    session: Session,
    limits: Limits,
    send_buffer: usize,
    symbol_size: usize,
    now: Time,
    /// Streams that the application knows of.
    streams: Vec<StreamId>,
    accepted: BTreeSet<StreamId>,
    /// The state of an honest peer: next transmission number and ESI, and next report.
    transmission: u32,
    esi: u32,
    report: u32,
    /// Bits of an element in the last repair symbol that named a field.
    bits: u8,
    /// Numbered datagrams and source symbols that the session has sent.
    sent: u32,
    sources: u32,
    /// The last event was seen.
    over: bool,
    out: Vec<u8>,
}

impl Victim {
    fn new(input: &mut Input<'_>) -> Self {
        let flags = input.u8();
        let preset = Preset::ALL[usize::from(flags & 7) % Preset::ALL.len()];
        let mut config = Config::preset(preset);
        // The lowest limits that the protocol allows are soon reached.
        config.limits = Limits::LEAST;
        config.symbol_size = 256;
        if flags & 64 != 0 {
            config.limits.symbol_size = LONG as u16;
        }
        config.send_buffer = 8 << 10;
        config.deliver_late_messages = flags & 8 != 0;
        let role = match flags & 16 {
            0 => Role::Client,
            _ => Role::Server,
        };
        let now = Time::from_micros(input.u8().into());
        let mut victim = Victim {
            limits: config.limits,
            send_buffer: config.send_buffer,
            symbol_size: config.symbol_size.into(),
            session: Session::new(role, config, 1, now).expect("the configuration is possible"),
            now,
            streams: Vec::new(),
            accepted: BTreeSet::new(),
            transmission: 0,
            esi: 0,
            report: 0,
            bits: 1,
            sent: 0,
            sources: 0,
            over: false,
            out: Vec::new(),
        };
        if flags & 128 != 0 {
            let found = (victim.session).discover_largest_datagram(now, BASE..=usize::MAX);
            found.expect("the base is long enough");
        }
        if flags & 32 == 0 {
            victim.hello(input, false);
        }
        victim.drive();
        victim
    }

    fn step(&mut self, input: &mut Input<'_>) {
        match input.u8() % 16 {
            0 => {
                let length = usize::from(input.u16() % 1600);
                let datagram = input.bytes(length);
                self.session.handle_datagram(self.now, datagram);
            }
            1..=3 => self.source(input),
            4 => self.repair(input),
            5 => self.probe(input),
            6 | 7 => self.feedback(input),
            8 => self.hello(input, true),
            9 | 10 => self.advance(input),
            11 => self.source_with_repairs(input),
            _ => self.application(input),
        }
    }

    /// Fields of a numbered datagram, mostly as an honest peer would fill them.
    fn coded(&mut self, input: &mut Input<'_>) -> Coded {
        let mode = input.u8();
        let near = |next: u32, bits: u8, input: &mut Input<'_>| match bits & 3 {
            0 | 1 => next,
            2 => next.wrapping_add(u32::from(input.u8())).wrapping_sub(64),
            _ => input.u32(),
        };
        let coded = Coded {
            transmission: near(self.transmission, mode, input),
            timestamp: near(self.now.as_micros() as u32, mode >> 2, input),
            esi: near(self.esi, mode >> 4, input),
            span: match mode >> 6 {
                0 | 1 => self.esi.min(32) as u16,
                2 => u16::from(input.u8()),
                _ => input.u16(),
            },
        };
        self.transmission = coded.transmission.wrapping_add(1);
        coded
    }

    fn source(&mut self, input: &mut Input<'_>) {
        let coded = self.coded(input);
        self.out.clear();
        coded.put_source(&mut self.out);
        let length = usize::from(input.u8()) * if input.flag() { 1 } else { 6 };
        match input.flag() {
            true => self.out.extend_from_slice(input.bytes(length)),
            false => put_frames(input, self.limits.symbol_size.into(), &mut self.out),
        }
        self.esi = coded.esi.wrapping_add(1);
        self.session.handle_datagram(self.now, &self.out);
    }

    fn source_with_repairs(&mut self, input: &mut Input<'_>) {
        let coded = self.coded(input);
        let header = RidersHeader {
            count: input.u8() % 12,
            nss: match input.u8() {
                n @ 0..=191 => u16::from(n) % 48,
                _ => input.u16(),
            },
            key: input.u16(),
            len: usize::from(input.u8()),
        };
        self.out.clear();
        coded.put_source_and_repairs(&header, &mut self.out);
        let symbols = input.bytes(usize::from(header.count) * header.len);
        self.out.extend_from_slice(symbols);
        let mut symbol = Vec::new();
        put_frames(input, self.limits.symbol_size.into(), &mut symbol);
        self.out.extend_from_slice(&symbol);
        self.esi = coded.esi.wrapping_add(1);
        self.session.handle_datagram(self.now, &self.out);
    }

    fn repair(&mut self, input: &mut Input<'_>) {
        let coded = self.coded(input);
        let nss = match input.u8() {
            n @ 0..=127 => u16::from(n),
            _ => input.u16(),
        };
        self.out.clear();
        match input.u8() {
            // Half of them name a field, mostly the same one as before.
            choice @ 128.. => {
                let bits = match choice & 3 {
                    0 => 1 + (choice >> 2 & 7),
                    _ => self.bits,
                };
                self.bits = bits;
                let packed = input.bytes((usize::from(nss) * usize::from(bits)).div_ceil(8));
                let vector = match choice & 64 {
                    0 => CodingVector::Seed(choice.into()),
                    _ => CodingVector::Explicit(packed),
                };
                coded.put_field_repair(nss, &FieldCode { bits, vector }, &mut self.out);
            }
            _ => coded.put_repair(nss, input.u16(), &mut self.out),
        }
        let length = usize::from(input.u8()) * 6;
        self.out.extend_from_slice(input.bytes(length));
        if self.limits.symbol_size == LONG as u16 && input.flag() {
            self.out.resize(LONG, 5);
        }
        self.session.handle_datagram(self.now, &self.out);
    }

    fn probe(&mut self, input: &mut Input<'_>) {
        let coded = self.coded(input);
        self.out.clear();
        coded.put_probe(&mut self.out);
        self.out.resize(self.out.len() + usize::from(input.u8()), 6);
        self.session.handle_datagram(self.now, &self.out);
    }

    fn feedback(&mut self, input: &mut Input<'_>) {
        let back = |n: u32, input: &mut Input<'_>| match input.u8() {
            255 => input.u32(),
            by => n.saturating_sub(u32::from(by) / 4),
        };
        self.report = match input.u8() {
            0 => input.u32(),
            _ => self.report.wrapping_add(1),
        };
        let next = back(self.sources, input);
        let extent = match input.u8() {
            255 => input.u62() >> 33,
            254 => 0,
            _ => u64::from(self.sources.saturating_sub(next)),
        };
        let writer = FeedbackWriter {
            number: self.report,
            largest: back(self.sent.saturating_sub(1), input),
            next,
            delay: input.u62(),
            queue_delay: input.u62(),
            extent,
            rank: u64::from(input.u8()),
            credit: match input.u8() {
                255 => input.u62() >> 32,
                credit => u64::from(credit),
            },
            loss: input.flag().then(|| input.u16()),
        };
        let mut runs = [const { Vec::new() }; 2];
        for list in &mut runs {
            for _ in 0..input.u8() % 8 {
                let (first, second) = (u64::from(input.u8()), u64::from(input.u8() % 8));
                list.push(Run { first, second });
            }
        }
        let [symbols, transmissions] = runs;
        self.out.clear();
        writer.write(
            symbols.into_iter(),
            transmissions.into_iter(),
            1200,
            &mut self.out,
        );
        self.session.handle_datagram(self.now, &self.out);
    }

    fn hello(&mut self, input: &mut Input<'_>, strange: bool) {
        let limits = match strange {
            false => Limits::LEAST,
            true => Limits {
                symbol_size: input.u16(),
                symbols: input.u32(),
                window: input.u16(),
                unknowns: input.u16(),
                session_data: input.u62(),
                stream_data: input.u62(),
                stream_data_most: 0,
                streams: input.u32(),
                message_size: input.u32(),
                message_data: input.u62(),
            },
        };
        let interval = Duration::from_micros(input.u62() >> 20);
        let hello = Hello {
            seen: input.flag(),
            limits,
            feedback: match (input.flag(), limits.window & 1) {
                (true, 0) => Feedback::Periodic { interval },
                (true, _) => Feedback::Block { interval },
                (false, _) => Feedback::EveryDatagram {
                    min_interval: interval,
                },
            },
            measuring: input.flag().then(|| Measuring {
                window: interval,
                weight: input.u16(),
            }),
            riders: input.flag(),
        };
        self.out.clear();
        hello.put(&mut self.out);
        self.session.handle_datagram(self.now, &self.out);
    }

    fn advance(&mut self, input: &mut Input<'_>) {
        let step = u64::from(input.u16());
        // Up to 65 ms, or up to a minute.
        let step = if input.flag() { step * 1000 } else { step };
        let target = self.now + Duration::from_micros(step);
        for _ in 0..64 {
            match self.session.poll_timeout() {
                Some(timer) if timer <= target => self.now = self.now.max(timer),
                _ => break,
            }
            self.session.handle_timeout(self.now);
            self.drive();
        }
        self.now = target;
        self.session.handle_timeout(self.now);
    }

    fn application(&mut self, input: &mut Input<'_>) {
        let stream = match input.u8() {
            255 => StreamId(input.u62()),
            pick => match self.streams.len() {
                0 => StreamId(u64::from(pick)),
                n => self.streams[usize::from(pick) % n],
            },
        };
        match input.u8() % 12 {
            0 => self.streams.extend(self.session.open_stream()),
            1 | 2 => self.accept(),
            3 | 4 => {
                let data = vec![7; usize::from(input.u16() % 3000)];
                let taken = self.session.write(stream, &data);
                assert!(taken.is_err() || taken.is_ok_and(|n| n <= data.len()));
            }
            5 => drop(self.session.finish(stream)),
            6 => self.session.reset(stream, input.u62()),
            7 => self.session.stop(stream, input.u62()),
            8 => {
                let mut buf = vec![0; usize::from(input.u8()) * 16];
                let _ = self.session.read(stream, &mut buf);
            }
            9 => {
                let data = vec![7; usize::from(input.u16() % 3000)];
                let deadline = input
                    .flag()
                    .then(|| Duration::from_micros(input.u16().into()));
                let _ = self.session.send_message(self.now, data, deadline);
            }
            10 => drop(self.session.recv_message()),
            _ if input.u8() == 0 => self.session.close(self.now, input.u62(), "enough"),
            _ => self.session.handle_timeout(self.now),
        }
    }

    fn accept(&mut self) {
        while let Some(id) = self.session.accept_stream() {
            assert!(self.accepted.insert(id), "{id:?} accepted twice");
            assert_ne!(id.0 & 1 == 0, self.session.role() == Role::Client);
            self.streams.push(id);
        }
    }

    /// The driver's loop, with a carrier that takes a bounded burst.
    fn drive(&mut self) {
        let mut events = 0;
        while let Some(event) = self.session.poll_event() {
            events += 1;
            assert!(!self.over, "{event:?} after the session's end");
            self.over = matches!(event, Event::Closed(_));
        }
        assert!(events <= 4096, "{events} events at once");
        let longest = (self.symbol_size + REPAIR_OVERHEAD).max(usize::from(MIN_SYMBOL_SIZE) / 4);
        for _ in 0..BURST {
            if !self.session.poll_transmit(self.now, &mut self.out) {
                break;
            }
            let sized = matches!(Datagram::parse(&self.out), Ok(Datagram::Probe(_)));
            assert!(
                sized || self.out.len() <= longest,
                "{} bytes",
                self.out.len()
            );
            let most = self.symbol_size.max(self.limits.symbol_size.into()) + REPAIR_OVERHEAD;
            assert!(self.out.len() <= most, "{} bytes", self.out.len());
            match Datagram::parse(&self.out) {
                Ok(Datagram::Source { coded, .. }) => {
                    self.sources = self.sources.max(coded.esi + 1);
                    self.sent += 1;
                }
                Ok(Datagram::Repair { .. } | Datagram::Probe(_)) => self.sent += 1,
                Ok(Datagram::FieldRepair { coded, nss, .. }) => {
                    self.sources = self.sources.max(coded.esi + u32::from(nss));
                    self.sent += 1;
                }
                Ok(_) => {}
                Err(error) => panic!("own datagram {:02x?} is malformed: {error}", self.out),
            }
        }
    }

    fn check(&self) {
        let stats = self.session.stats();
        let (limits, path) = (&self.limits, &stats.path);
        assert!(path.unacknowledged <= u64::from(limits.symbols));
        // One buffer for each stream, one for messages and one message longer than it.
        let buffers = self.streams.len() + 2;
        assert!(path.queued <= (buffers * self.send_buffer) as u64 + 3000);
        let (held, most) = (self.session.held(), self.session.memory());
        assert!(held <= most + path.queued, "{held} bytes, not {most}");
        assert!((0.0..=1.0).contains(&path.loss), "loss {}", path.loss);
        let received = &stats.received;
        assert!(received.useful_repairs <= received.repair_symbols);
        assert!(self.session.poll_timeout().is_some() || self.session.is_drained());
    }

    /// Reads everything that the session holds for the application, and checks its limits.
    fn read_everything(&mut self) {
        self.accept();
        let mut held = 0;
        let mut buf = [0; 4096];
        for &id in &self.streams {
            for _ in 0..1000 {
                match self.session.read(id, &mut buf) {
                    Ok(n) if n > 0 => held += n as u64,
                    _ => break,
                }
            }
        }
        assert!(held <= self.limits.session_data, "{held} bytes of streams");
        let mut messages = 0;
        while let Some(message) = self.session.recv_message() {
            assert!(message.data.len() <= self.limits.message_size as usize);
            messages += message.data.len() as u64 + crate::wire::FRAGMENT_COST;
        }
        let most = self.limits.session_data + self.limits.message_data;
        assert!(held + messages <= most, "{held} + {messages} bytes");
    }
}

/// A few well-formed frames; their numbers may be plausible or not.
fn put_frames(input: &mut Input<'_>, most: usize, out: &mut Vec<u8>) {
    use crate::wire::Frame;
    let start = out.len();
    let mut symbol = Vec::new();
    let mut writer = FrameWriter::new(&mut symbol, most);
    for _ in 0..1 + input.u8() % 4 {
        let kind = input.u8();
        let id = match kind >> 6 {
            3 => input.u62(),
            _ => u64::from(input.u8() % 20),
        };
        let offset = match kind >> 5 & 1 {
            0 => u64::from(input.u16()),
            _ => input.u62() >> 2,
        };
        match kind % 8 {
            0..=2 => {
                let room = writer.stream_room(id, offset);
                let data = vec![3; (usize::from(input.u16()) % most).min(room)];
                if room > 0 {
                    writer.stream(id, offset, kind & 16 != 0, [&data, &[]]);
                }
            }
            3 | 4 => {
                let total = match kind & 16 {
                    0 => offset + u64::from(input.u8()),
                    _ => u64::from(input.u16()),
                };
                let offset = offset.min(total);
                let deadline = (kind & 8 != 0).then(|| u64::from(input.u32()));
                let room = writer.message_room(id, total, offset, deadline);
                let data = vec![4; ((total - offset) as usize).min(room)];
                if room > 0 {
                    writer.message(id, total, offset, deadline, &data);
                }
            }
            5 => drop(writer.control(Frame::Reset { id, code: offset })),
            6 => drop(writer.control(Frame::Stop { id, code: offset })),
            _ => drop(writer.control(match kind >> 3 & 3 {
                0 => Frame::MaxData(offset),
                1 => Frame::MaxStreamData { id, max: offset },
                _ => Frame::MaxStreams(offset),
            })),
        }
    }
    out.truncate(start);
    out.extend_from_slice(&symbol);
}
