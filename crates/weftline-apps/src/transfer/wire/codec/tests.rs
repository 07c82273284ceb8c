//! Frames there and back, and hostile bytes.

use super::*;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

fn examples() -> Vec<Frame> {
    let entry = Entry {
        id: 7,
        kind: Kind::File,
        meta: Meta {
            size: Some(12),
            modified: Some((-5, 999_999_999)),
            mode: Some(0o640),
        },
        path: "a/ü b".into(),
    };
    let unknown = Entry {
        meta: Meta::default(),
        kind: Kind::Directory,
        ..entry.clone()
    };
    let mut frames = vec![
        Frame::Offer {
            version: 1,
            entries: 3,
            left_out: 2,
            bytes: Some(9),
        },
        Frame::Offer {
            version: 2,
            entries: u32::MAX,
            left_out: 0,
            bytes: None,
        },
        Frame::Accept { version: 1 },
        Frame::Entry(entry),
        Frame::Entry(unknown),
        Frame::Want {
            id: 1,
            offset: 5,
            prefix: [3; 32],
        },
        Frame::Have {
            id: 1,
            size: 5,
            digest: [4; 32],
        },
        Frame::Start {
            id: 1,
            offset: 5,
            meta: Meta::default(),
        },
        Frame::Wait,
        Frame::Same { id: 1, same: true },
        Frame::Data(Bytes::from_static(b"bytes")),
        Frame::End {
            size: 12,
            digest: [5; 32],
        },
        Frame::Fail {
            id: 1,
            text: "gone".into(),
        },
        Frame::Done,
        Frame::Final {
            complete: 1,
            failed: 2,
        },
        Frame::Abort {
            text: String::new(),
        },
    ];
    frames.extend(Verdict::ALL.map(|verdict| Frame::Verdict {
        id: 9,
        verdict,
        text: "why".into(),
    }));
    frames
}

fn encoded(frames: &[Frame]) -> BytesMut {
    let mut out = BytesMut::new();
    frames.iter().for_each(|f| f.encode(&mut out));
    out
}

#[test]
fn every_frame_round_trips_in_pieces_of_any_size() {
    let all = encoded(&examples());
    let (mut buffer, mut back) = (BytesMut::new(), Vec::new());
    for byte in all {
        buffer.put_u8(byte);
        while let Some(frame) = Frame::split(&mut buffer).unwrap() {
            back.push(frame);
        }
    }
    assert_eq!(back, examples());
    assert!(buffer.is_empty());
}

#[test]
fn a_body_that_is_too_long_is_refused_before_it_arrives() {
    let mut buffer = BytesMut::from(&[8, 0, 1, 0, 1][..]);
    let error = Frame::split(&mut buffer).unwrap_err();
    assert_eq!(
        error,
        WireError::TooLong {
            kind: 8,
            got: 65537,
            limit: MAX_DATA
        }
    );
    let mut buffer = BytesMut::from(&[99, 0, 0, 0, 0][..]);
    assert_eq!(Frame::split(&mut buffer), Err(WireError::Type(99)));
}

#[test]
fn missing_and_surplus_bytes_are_malformed() {
    for frame in examples() {
        let whole = encoded(std::slice::from_ref(&frame));
        // A frame that ends in text or data may have any length.
        if matches!(
            frame,
            Frame::Data(_) | Frame::Abort { .. } | Frame::Entry(_)
        ) {
            continue;
        }
        if matches!(frame, Frame::Fail { .. } | Frame::Verdict { .. }) {
            continue;
        }
        let surplus = edit(&whole, 1);
        assert!(
            Frame::split(&mut surplus.clone()).is_err(),
            "{frame:?} with a byte more"
        );
        if whole.len() > HEADER {
            let missing = edit(&whole, -1);
            assert!(
                Frame::split(&mut missing.clone()).is_err(),
                "{frame:?} with a byte less"
            );
        }
    }
}

fn edit(whole: &BytesMut, by: i64) -> BytesMut {
    let len = (whole.len() as i64 + by) as usize;
    let mut out = whole.clone();
    out.resize(len, 0);
    out[1..5].copy_from_slice(&((len - HEADER) as u32).to_be_bytes());
    out
}

#[test]
fn texts_of_the_peer_are_printable_and_names_are_unchanged() {
    let text = "\u{1b}[2J\u{9b}31m\u{202e}\n".to_owned();
    let entry = Entry {
        id: 0,
        kind: Kind::File,
        meta: Meta::default(),
        path: text.clone(),
    };
    let (id, verdict) = (0, Verdict::Failed);
    let frames = [
        Frame::Abort { text: text.clone() },
        Frame::Fail {
            id,
            text: text.clone(),
        },
        Frame::Verdict { id, verdict, text },
    ];
    for frame in frames {
        let back = Frame::split(&mut encoded(&[frame])).unwrap();
        let Some(Frame::Abort { text } | Frame::Fail { text, .. } | Frame::Verdict { text, .. }) =
            back
        else {
            panic!("{back:?}")
        };
        assert_eq!(text, r"\u{1b}[2J\u{9b}31m\u{202e}\n");
    }
    let back = Frame::split(&mut encoded(&[Frame::Entry(entry.clone())]));
    assert_eq!(back, Ok(Some(Frame::Entry(entry))));
}

#[test]
fn another_protocol_is_named_as_such() {
    let mut buffer = BytesMut::from(&[2, 0, 0, 0, 6, b'H', b'T', b'T', b'P', 0, 1][..]);
    assert_eq!(Frame::split(&mut buffer), Err(WireError::Magic));
}

#[test]
fn a_long_text_is_truncated_at_a_character_boundary() {
    let frame = Frame::Abort {
        text: "ü".repeat(MAX_TEXT),
    };
    let Ok(Some(Frame::Abort { text })) = Frame::split(&mut encoded(&[frame])) else {
        panic!("must parse")
    };
    assert_eq!(text, "ü".repeat(MAX_TEXT / 2));
}

/// Inputs that the fuzzer kept.
#[test]
fn the_fuzzers_corpus_is_parsed() {
    for input in weftline_testkit::corpus("transfer") {
        fuzz_entry(&input);
    }
}

#[test]
fn hostile_bytes_never_panic() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let good = encoded(&examples());
    for round in 0..20_000 {
        let mut data = good.to_vec();
        if round % 2 == 0 {
            data = vec![0; (random.next_u32() % 200) as usize];
            random.fill_bytes(&mut data);
            // Mostly plausible headers, because random bytes rarely pass them.
            if let [kind, a, b, c, d, ..] = &mut data[..] {
                (*kind, *a, *b, *c) = (*kind % 16, 0, 0, 0);
                *d %= 64;
            }
        } else {
            for _ in 0..1 + random.next_u32() % 8 {
                let at = random.next_u32() as usize % data.len();
                data[at] = random.next_u32() as u8;
            }
        }
        fuzz_entry(&data);
    }
}
