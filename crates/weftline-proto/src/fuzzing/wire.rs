//! The parsers: they accept any bytes, and are inverse to the writers.

use super::input::Input;
use crate::wire::{
    CloseClass, Coded, Datagram, FeedbackView, FeedbackWriter, Frame, FrameWriter, Frames, Hello,
    MIN_FRAGMENT, Riders, RidersHeader, Run, put_close,
};

/// Parses any bytes as a datagram. If they parse, the datagram can be written again and reads the
/// same.
pub fn datagram(data: &[u8]) {
    let Ok(parsed) = Datagram::parse(data) else {
        return;
    };
    let mut again = Vec::new();
    match &parsed {
        Datagram::Source {
            coded,
            payload,
            riders: Some(riders),
        } => {
            source_with_repairs(coded, riders, payload, &mut again);
            assert_eq!(Datagram::parse(&again).as_ref(), Ok(&parsed), "repairs");
        }
        Datagram::Source { coded, payload, .. } => {
            coded.put_source(&mut again);
            again.extend_from_slice(payload);
            // The padding is not kept.
            let kept = again.len();
            assert_eq!(again[1..], data[1..kept], "source");
        }
        Datagram::Repair {
            coded,
            nss,
            key,
            data: symbol,
        } => {
            coded.put_repair(*nss, *key, &mut again);
            again.extend_from_slice(symbol);
            assert_eq!(again, data, "repair");
        }
        Datagram::FieldRepair {
            coded,
            nss,
            code,
            data: symbol,
        } => {
            coded.put_field_repair(*nss, code, &mut again);
            again.extend_from_slice(symbol);
            assert_eq!(again, data, "repair in a field");
            let mut vector = Vec::new();
            code.fill(*nss, &mut vector);
            assert_eq!(vector.len(), usize::from(*nss));
            assert!(vector.iter().all(|c| u16::from(*c) < 1 << code.bits));
        }
        Datagram::Probe(coded) => {
            coded.put_probe(&mut again);
            assert!(data.starts_with(&again), "probe");
        }
        Datagram::Piece(piece) => {
            piece.put(&mut again);
            assert_eq!(again, data, "piece");
        }
        Datagram::Feedback(view) => feedback(view),
        Datagram::Hello(hello) => {
            hello.put(&mut again);
            assert_eq!(parse_hello(&again), *hello);
        }
        Datagram::Close {
            report,
            class,
            code,
            reason,
        } => {
            if let Some(view) = report {
                feedback(view);
            }
            close(*class, *code, reason);
        }
    }
}

fn source_with_repairs(coded: &Coded, riders: &Riders<'_>, symbol: &[u8], out: &mut Vec<u8>) {
    let header = RidersHeader {
        count: riders.count(),
        nss: riders.nss,
        key: riders.key,
        len: riders.symbol_len(),
    };
    assert!((1..=Riders::MOST).contains(&header.count));
    assert!(header.nss > 0 && header.nss <= coded.span);
    coded.put_source_and_repairs(&header, out);
    for (_, repair) in riders.iter() {
        assert_eq!(repair.len(), header.len);
        out.extend_from_slice(repair);
    }
    out.extend_from_slice(symbol);
}

fn parse_hello(bytes: &[u8]) -> Hello {
    match Datagram::parse(bytes) {
        Ok(Datagram::Hello(hello)) => hello,
        other => panic!("a written HELLO reads as {other:?}"),
    }
}

fn feedback(view: &FeedbackView<'_>) {
    let symbols: Vec<Run> = view.symbols().collect();
    let transmissions: Vec<Run> = view.transmissions().collect();
    let described: u64 = symbols.iter().map(|r| r.first + r.second).sum();
    assert!(described <= view.extent);
    assert!(symbols.iter().chain(&transmissions).all(|r| r.first > 0));
    for max in [4096, 1200, 100, 64] {
        let writer = FeedbackWriter {
            number: view.number,
            largest: view.largest,
            next: view.next,
            delay: view.delay,
            queue_delay: view.queue_delay,
            extent: view.extent,
            rank: view.rank,
            credit: view.credit,
            loss: view.loss,
        };
        let mut out = Vec::new();
        writer.write(
            symbols.iter().copied(),
            transmissions.iter().copied(),
            max,
            &mut out,
        );
        assert!(out.len() <= max, "{} bytes where {max} fit", out.len());
        let again = match Datagram::parse(&out) {
            Ok(Datagram::Feedback(again)) => again,
            other => panic!("a written report reads as {other:?}"),
        };
        let fixed = |v: &FeedbackView<'_>| {
            let numbers = (v.number, v.largest, v.next);
            let counts = (v.extent, v.rank, v.credit);
            (numbers, v.delay, v.queue_delay, counts, v.loss)
        };
        assert_eq!(fixed(&again), fixed(view));
        // Runs that do not fit are left out at the end.
        let written: Vec<Run> = again.symbols().collect();
        assert!(symbols.starts_with(&written));
        let written: Vec<Run> = again.transmissions().collect();
        assert!(transmissions.starts_with(&written));
        if max == 4096 && symbols.len().max(transmissions.len()) <= 60 {
            assert_eq!(again.symbols().count(), symbols.len());
            assert_eq!(again.transmissions().count(), transmissions.len());
        }
    }
}

fn close(class: CloseClass, code: u64, reason: &str) {
    let mut out = Vec::new();
    put_close(&[], class, code, reason, &mut out);
    match Datagram::parse(&out) {
        Ok(Datagram::Close {
            report: None,
            class: again,
            code: number,
            reason: words,
        }) => {
            assert_eq!((again, number), (class, code));
            // Invalid UTF-8 is replaced by longer text, which may exceed what is written.
            assert!(reason.starts_with(&words));
            assert!(words.len() >= reason.len().min(253));
        }
        other => panic!("a written CLOSE reads as {other:?}"),
    }
}

/// Parses any bytes as a symbol. If they parse, the frames can be packed again and read the same. The
/// first two bytes set the room for packing.
pub fn frames(data: &[u8]) {
    let mut input = Input::new(data);
    let max = usize::from(input.u16() & 0x3fff);
    let symbol = input.bytes(usize::MAX);
    let mut read = Vec::new();
    let mut frames = Frames::new(symbol);
    for frame in &mut frames {
        match frame {
            Ok(frame) => read.push(frame),
            Err(_) => break,
        }
    }
    for frame in &read {
        alone(frame);
    }
    packed(&read, max);
}

/// A frame in a symbol of its own, with just enough room and with more.
fn alone(frame: &Frame<'_>) {
    for spare in [0, 1, 2, 3, 64] {
        let mut out = Vec::new();
        let needed = 64 + data_len(frame) + spare;
        let mut writer = FrameWriter::new(&mut out, needed);
        assert!(put(&mut writer, frame));
        assert_reads_as(&out, std::slice::from_ref(frame));
    }
}

fn data_len(frame: &Frame<'_>) -> usize {
    match frame {
        Frame::Stream { data, .. } | Frame::Message { data, .. } => data.len(),
        _ => 0,
    }
}

/// Packs as many frames as fit in `max` bytes; the last one may be cut.
fn packed(read: &[Frame<'_>], max: usize) {
    let mut out = Vec::new();
    let mut writer = FrameWriter::new(&mut out, max);
    let mut written = Vec::new();
    for frame in read {
        let Some(fitting) = cut(&writer, frame) else {
            continue;
        };
        if put(&mut writer, &fitting) {
            written.push(fitting);
        }
    }
    assert!(out.len() <= max, "{} bytes where {max} fit", out.len());
    assert_reads_as(&out, &written);
}

/// The frame with as much of its data as fits.
fn cut<'a>(writer: &FrameWriter<'_>, frame: &Frame<'a>) -> Option<Frame<'a>> {
    match *frame {
        Frame::Stream {
            id,
            offset,
            fin,
            data,
        } => {
            let room = writer.stream_room(id, offset);
            let len = data.len().min(room);
            (room > 0).then_some(Frame::Stream {
                id,
                offset,
                fin: fin && len == data.len(),
                data: &data[..len],
            })
        }
        Frame::Message {
            id,
            total,
            offset,
            deadline,
            data,
        } => {
            let room = writer.message_room(id, total, offset, deadline);
            let len = data.len().min(room);
            let last = offset + len as u64 == total;
            (room > 0 && (last || len >= MIN_FRAGMENT)).then_some(Frame::Message {
                id,
                total,
                offset,
                deadline,
                data: &data[..len],
            })
        }
        control => Some(control),
    }
}

fn put(writer: &mut FrameWriter<'_>, frame: &Frame<'_>) -> bool {
    match *frame {
        Frame::Stream {
            id,
            offset,
            fin,
            data,
        } => {
            let (left, right) = data.split_at(data.len() / 3);
            writer.stream(id, offset, fin, [left, right]);
            true
        }
        Frame::Message {
            id,
            total,
            offset,
            deadline,
            data,
        } => {
            writer.message(id, total, offset, deadline, data);
            true
        }
        control => writer.control(control),
    }
}

fn assert_reads_as(symbol: &[u8], frames: &[Frame<'_>]) {
    let again: Result<Vec<Frame<'_>>, _> = Frames::new(symbol).collect();
    assert_eq!(again.as_deref(), Ok(frames));
}
