//! The eleven kinds of datagram.

use super::reader::{Malformed, Reader, put_varint};
use super::{FeedbackView, FieldCode, Hello, Riders, RidersHeader};

pub(super) const KIND_SOURCE: u8 = 0x01;
pub(super) const KIND_REPAIR: u8 = 0x02;
pub(super) const KIND_PROBE: u8 = 0x03;
pub(super) const KIND_FEEDBACK: u8 = 0x04;
pub(super) const KIND_HELLO: u8 = 0x05;
pub(super) const KIND_CLOSE: u8 = 0x06;
pub(super) const KIND_PIECE: u8 = 0x07;
pub(super) const KIND_PADDED: u8 = 0x08;
pub(super) const KIND_FIELD_REPAIR: u8 = 0x09;
pub(super) const KIND_CLOSE_REPORT: u8 = 0x0a;
pub(super) const KIND_SOURCE_AND_REPAIRS: u8 = 0x0b;

/// Longest close reason in bytes.
const MAX_REASON: usize = 256;

/// Bytes that a CLOSE with a report has besides the report, at most, with this reason: the report's
/// length, class and code.
pub(crate) fn close_overhead(reason: &str) -> usize {
    2 + 1 + 8 + reason.len().min(MAX_REASON)
}

/// The fields that every numbered datagram (source, repair, probe) begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coded {
    /// Low 32 bits of the transmission number.
    pub transmission: u32,
    /// Low 32 bits of the sender's clock in microseconds when it was sent.
    pub timestamp: u32,
    /// Low 32 bits of an ESI: the symbol's own, the first of the repair's window, or for a probe
    /// the one after the last that was sent.
    pub esi: u32,
    /// `esi` minus the lowest ESI that the sender still covers.
    pub span: u16,
}

/// A parsed datagram, not yet checked against the session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Datagram<'a> {
    /// One source symbol.
    Source {
        /// Number, time and ESI.
        coded: Coded,
        /// The symbol: frames.
        payload: &'a [u8],
        /// Repair symbols in the same datagram.
        riders: Option<Riders<'a>>,
    },
    /// One repair symbol.
    Repair {
        /// Number, time and the window's first ESI.
        coded: Coded,
        /// Number of source symbols in the encoding window, at least 1.
        nss: u16,
        /// Repair key, from which both ends derive the coding vector.
        key: u16,
        /// The coded symbol, at least 2 bytes.
        data: &'a [u8],
    },
    /// One repair symbol in the field that it names.
    FieldRepair {
        /// Number, time and the window's first ESI.
        coded: Coded,
        /// Number of source symbols in the encoding window, at least 1.
        nss: u16,
        /// Field and coding vector.
        code: FieldCode<'a>,
        /// The coded symbol, at least 2 bytes.
        data: &'a [u8],
    },
    /// No symbol; asks for feedback.
    Probe(Coded),
    /// The receiver's state.
    Feedback(FeedbackView<'a>),
    /// Version and limits; the first datagram of each end.
    Hello(Hello),
    /// The session is over.
    Close {
        /// What the sender has received, if anything.
        report: Option<FeedbackView<'a>>,
        /// What closed the session.
        class: CloseClass,
        /// Application error code.
        code: u64,
        /// Text for people.
        reason: String,
    },
    /// Part of a datagram that was too long for the path.
    Piece(Piece<'a>),
}

/// Part of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece<'a> {
    /// The same for all pieces of a datagram.
    pub id: u32,
    /// Its place among them, from 0.
    pub index: u8,
    /// How many there are: 2 to [`Piece::MOST`].
    pub count: u8,
    /// The bytes.
    pub data: &'a [u8],
}

/// What closed a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseClass {
    /// The application.
    Application,
    /// The engine: the other end broke the protocol or speaks another version.
    Protocol,
}

impl<'a> Datagram<'a> {
    /// Parses a datagram; allocates only for HELLO and CLOSE, and no more than their bounds.
    pub fn parse(datagram: &'a [u8]) -> Result<Self, Malformed> {
        let mut r = Reader(datagram);
        match r.u8()? {
            KIND_SOURCE => Ok(Datagram::Source {
                coded: Coded::parse(&mut r)?,
                payload: r.rest(),
                riders: None,
            }),
            KIND_SOURCE_AND_REPAIRS => {
                let coded = Coded::parse(&mut r)?;
                let riders = Some(Riders::parse(&mut r, coded.span)?);
                Ok(Datagram::Source {
                    coded,
                    payload: r.rest(),
                    riders,
                })
            }
            KIND_PADDED => {
                let coded = Coded::parse(&mut r)?;
                let rest = r.rest();
                let padding = rest.last().map_or(0, |&n| usize::from(n));
                if padding == 0 || padding > rest.len() {
                    return Err(Malformed::Range("length of padding"));
                }
                Ok(Datagram::Source {
                    coded,
                    payload: &rest[..rest.len() - padding],
                    riders: None,
                })
            }
            KIND_REPAIR => {
                let coded = Coded::parse(&mut r)?;
                let (nss, key) = (r.u16()?, r.u16()?);
                if nss == 0 {
                    return Err(Malformed::Range("number of source symbols is 0"));
                }
                let data = r.rest();
                if data.len() < 2 {
                    return Err(Malformed::Truncated);
                }
                Ok(Datagram::Repair {
                    coded,
                    nss,
                    key,
                    data,
                })
            }
            KIND_FIELD_REPAIR => {
                let coded = Coded::parse(&mut r)?;
                let nss = r.u16()?;
                if nss == 0 {
                    return Err(Malformed::Range("number of source symbols is 0"));
                }
                let code = FieldCode::parse(&mut r, nss)?;
                let data = r.rest();
                if data.len() < 2 {
                    return Err(Malformed::Truncated);
                }
                Ok(Datagram::FieldRepair {
                    coded,
                    nss,
                    code,
                    data,
                })
            }
            // What follows only makes it longer.
            KIND_PROBE => Coded::parse(&mut r).map(Datagram::Probe),
            KIND_FEEDBACK => FeedbackView::parse(r.rest()).map(Datagram::Feedback),
            KIND_HELLO => Hello::parse(&mut r).map(Datagram::Hello),
            KIND_CLOSE => parse_close(None, &mut r),
            KIND_CLOSE_REPORT => {
                let len = usize::from(r.u16()?);
                let report = FeedbackView::parse(r.bytes(len)?)?;
                parse_close(Some(report), &mut r)
            }
            KIND_PIECE => Piece::parse(&mut r).map(Datagram::Piece),
            kind => Err(Malformed::Kind(kind)),
        }
    }
}

fn parse_close<'a>(
    report: Option<FeedbackView<'a>>,
    r: &mut Reader<'a>,
) -> Result<Datagram<'a>, Malformed> {
    let class = match r.u8()? {
        0 => CloseClass::Application,
        1 => CloseClass::Protocol,
        _ => return Err(Malformed::Range("class of CLOSE")),
    };
    let code = r.varint()?;
    let reason = r.rest();
    if reason.len() > MAX_REASON {
        return Err(Malformed::Range("length of the close reason"));
    }
    Ok(Datagram::Close {
        report,
        class,
        code,
        reason: String::from_utf8_lossy(reason).into_owned(),
    })
}

impl<'a> Piece<'a> {
    /// Most pieces of one datagram.
    pub const MOST: u8 = 72;

    fn parse(r: &mut Reader<'a>) -> Result<Self, Malformed> {
        let (id, index, count) = (r.u32()?, r.u8()?, r.u8()?);
        if !(2..=Self::MOST).contains(&count) || index >= count {
            return Err(Malformed::Range("number of a piece"));
        }
        let data = r.rest();
        if data.is_empty() {
            return Err(Malformed::Truncated);
        }
        Ok(Piece {
            id,
            index,
            count,
            data,
        })
    }

    /// Appends this piece.
    pub fn put(&self, out: &mut Vec<u8>) {
        out.push(KIND_PIECE);
        out.extend_from_slice(&self.id.to_be_bytes());
        out.extend_from_slice(&[self.index, self.count]);
        out.extend_from_slice(self.data);
    }
}

impl Coded {
    fn parse(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Coded {
            transmission: r.u32()?,
            timestamp: r.u32()?,
            esi: r.u32()?,
            span: r.u16()?,
        })
    }

    fn put(&self, kind: u8, out: &mut Vec<u8>) {
        out.push(kind);
        out.extend_from_slice(&self.transmission.to_be_bytes());
        out.extend_from_slice(&self.timestamp.to_be_bytes());
        out.extend_from_slice(&self.esi.to_be_bytes());
        out.extend_from_slice(&self.span.to_be_bytes());
    }

    /// Appends the header of a source datagram; the symbol follows.
    pub fn put_source(&self, out: &mut Vec<u8>) {
        self.put(KIND_SOURCE, out);
    }

    /// Appends the header of a source datagram with repair symbols; these follow, then the symbol.
    pub fn put_source_and_repairs(&self, riders: &RidersHeader, out: &mut Vec<u8>) {
        self.put(KIND_SOURCE_AND_REPAIRS, out);
        riders.put(out);
    }

    /// Appends the header of a repair datagram; the coded symbol follows.
    pub fn put_repair(&self, nss: u16, key: u16, out: &mut Vec<u8>) {
        self.put(KIND_REPAIR, out);
        out.extend_from_slice(&nss.to_be_bytes());
        out.extend_from_slice(&key.to_be_bytes());
    }

    /// Appends the header of a repair datagram that names its field; the coded symbol follows.
    pub fn put_field_repair(&self, nss: u16, code: &FieldCode<'_>, out: &mut Vec<u8>) {
        self.put(KIND_FIELD_REPAIR, out);
        out.extend_from_slice(&nss.to_be_bytes());
        code.put(out);
    }

    /// Appends a probe.
    pub fn put_probe(&self, out: &mut Vec<u8>) {
        self.put(KIND_PROBE, out);
    }
}

/// Adds `padding` bytes, 1 to 255, to a source datagram. They are not part of its symbol.
pub(crate) fn pad_source(padding: u8, out: &mut Vec<u8>) {
    debug_assert_eq!(out.first(), Some(&KIND_SOURCE));
    if padding > 0 {
        out[0] = KIND_PADDED;
        out.resize(out.len() + usize::from(padding) - 1, 0);
        out.push(padding);
    }
}

/// Appends a CLOSE datagram, with the FEEDBACK datagram `report` in it unless that is empty; a
/// reason that is too long is cut at a character boundary.
pub(crate) fn put_close(
    report: &[u8],
    class: CloseClass,
    code: u64,
    reason: &str,
    out: &mut Vec<u8>,
) {
    match report
        .get(1..)
        .map(|body| (body, u16::try_from(body.len())))
    {
        Some((body, Ok(len))) => {
            out.push(KIND_CLOSE_REPORT);
            out.extend_from_slice(&len.to_be_bytes());
            out.extend_from_slice(body);
        }
        _ => out.push(KIND_CLOSE),
    }
    out.push(match class {
        CloseClass::Application => 0,
        CloseClass::Protocol => 1,
    });
    put_varint(out, code.min(super::reader::VARINT_MAX));
    let mut cut = reason.len().min(MAX_REASON);
    while !reason.is_char_boundary(cut) {
        cut -= 1;
    }
    out.extend_from_slice(&reason.as_bytes()[..cut]);
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODED: Coded = Coded {
        transmission: 7,
        timestamp: 1_000_000,
        esi: 5,
        span: 2,
    };

    #[test]
    fn numbered_datagrams_round_trip() {
        let mut out = Vec::new();
        CODED.put_source(&mut out);
        assert_eq!(out.len(), super::super::SOURCE_HEADER);
        assert!(!super::super::is_repair(&out));
        out.extend_from_slice(b"symbol");
        assert_eq!(
            Datagram::parse(&out),
            Ok(Datagram::Source {
                coded: CODED,
                payload: b"symbol",
                riders: None,
            })
        );

        let plain = out.clone();
        for padding in [1, 2, 255] {
            let mut padded = plain.clone();
            pad_source(padding, &mut padded);
            assert_eq!(padded.len(), plain.len() + usize::from(padding));
            assert_eq!(Datagram::parse(&padded), Datagram::parse(&plain));
        }

        out.clear();
        CODED.put_repair(3, 9, &mut out);
        assert_eq!(out.len() + 2, super::super::REPAIR_OVERHEAD);
        assert!(super::super::is_repair(&out));
        out.extend_from_slice(&[1, 2, 3]);
        assert_eq!(
            Datagram::parse(&out),
            Ok(Datagram::Repair {
                coded: CODED,
                nss: 3,
                key: 9,
                data: &[1, 2, 3]
            })
        );

        out.clear();
        CODED.put_probe(&mut out);
        assert_eq!(Datagram::parse(&out), Ok(Datagram::Probe(CODED)));
    }

    #[test]
    fn a_repair_in_any_field_round_trips() {
        use super::super::{CodingVector, FIELD_REPAIR_HEADER, is_repair};
        for (bits, vector) in [
            (1, CodingVector::Seed(7)),
            (8, CodingVector::Seed(u32::MAX)),
            (5, CodingVector::Explicit(&[0xff, 0x80, 0xfe])),
        ] {
            let code = FieldCode { bits, vector };
            let mut out = Vec::new();
            CODED.put_field_repair(4, &code, &mut out);
            assert!(is_repair(&out));
            if let CodingVector::Seed(_) = vector {
                assert_eq!(out.len(), FIELD_REPAIR_HEADER);
            }
            out.extend_from_slice(&[1, 2]);
            let read = Datagram::FieldRepair {
                coded: CODED,
                nss: 4,
                code,
                data: &[1, 2],
            };
            // Four elements of five bits leave four bits, which must be 0.
            match bits {
                5 => assert!(Datagram::parse(&out).is_err()),
                _ => assert_eq!(Datagram::parse(&out), Ok(read)),
            }
            for n in 0..out.len() {
                assert!(Datagram::parse(&out[..n]).is_err(), "{n} bytes");
            }
        }
        let code = FieldCode {
            bits: 3,
            vector: CodingVector::Explicit(&[0xff, 0xf0]),
        };
        let mut out = Vec::new();
        CODED.put_field_repair(4, &code, &mut out);
        out.extend_from_slice(&[1, 2]);
        assert!(matches!(
            Datagram::parse(&out),
            Ok(Datagram::FieldRepair { code: read, .. }) if read == code
        ));
        out[17] |= 0x10;
        assert!(matches!(Datagram::parse(&out), Err(Malformed::Range(_))));
    }

    #[test]
    fn every_truncation_of_a_header_is_refused() {
        let mut out = Vec::new();
        CODED.put_repair(3, 9, &mut out);
        out.extend_from_slice(&[1, 2]);
        for n in 0..out.len() {
            assert_eq!(
                Datagram::parse(&out[..n]),
                Err(Malformed::Truncated),
                "{n} bytes"
            );
        }
    }

    #[test]
    fn an_empty_window_is_refused_and_a_probe_may_be_longer() {
        let mut out = Vec::new();
        CODED.put_repair(0, 9, &mut out);
        out.extend_from_slice(&[1, 2]);
        assert!(matches!(Datagram::parse(&out), Err(Malformed::Range(_))));
        out.clear();
        CODED.put_probe(&mut out);
        for length in [out.len() + 1, 9000] {
            out.resize(length, 7);
            assert_eq!(Datagram::parse(&out), Ok(Datagram::Probe(CODED)));
        }
        assert_eq!(Datagram::parse(&[0x77]), Err(Malformed::Kind(0x77)));
    }

    #[test]
    fn a_close_has_a_report_only_where_something_arrived() {
        let mut report = vec![KIND_FEEDBACK];
        report.extend_from_slice(&[0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0, 8, 0, 0]);
        let view = match Datagram::parse(&report) {
            Ok(Datagram::Feedback(view)) => view,
            other => panic!("not a report: {other:?}"),
        };
        for (report, expected) in [(&[][..], None), (&report, Some(view))] {
            let mut out = Vec::new();
            put_close(report, CloseClass::Application, 7, "", &mut out);
            assert!(out.len() <= report.len() + close_overhead(""));
            let close = Datagram::Close {
                report: expected,
                class: CloseClass::Application,
                code: 7,
                reason: String::new(),
            };
            assert_eq!(Datagram::parse(&out), Ok(close));
            for n in 0..out.len() {
                assert!(Datagram::parse(&out[..n]).is_err(), "{n} bytes");
            }
        }
    }

    #[test]
    fn the_longest_close_takes_the_bytes_that_are_kept_for_it() {
        let report = [0; 40];
        for reason in [String::new(), "x".repeat(300)] {
            let mut out = Vec::new();
            let code = super::super::reader::VARINT_MAX;
            put_close(&report, CloseClass::Protocol, code, &reason, &mut out);
            assert_eq!(out.len(), report.len() + close_overhead(&reason));
        }
    }

    #[test]
    fn lengths_are_accepted_up_to_their_limits() {
        let numbered = |kind: u8, rest: &[u8]| {
            let mut out = Vec::new();
            CODED.put(kind, &mut out);
            out.extend_from_slice(rest);
            Datagram::parse(&out).is_ok()
        };
        // Padding may be all that there is, and is at least one byte.
        assert!(numbered(KIND_PADDED, &[0, 0, 3]) && !numbered(KIND_PADDED, &[0, 0, 4]));
        assert!(!numbered(KIND_PADDED, &[1, 0]) && !numbered(KIND_PADDED, &[]));
        let mut unpadded = vec![KIND_SOURCE];
        pad_source(0, &mut unpadded);
        assert_eq!(unpadded, [KIND_SOURCE]);
        // A repair begins with the coded length.
        assert!(numbered(KIND_REPAIR, &[0, 1, 0, 0, 5, 6]));
        assert!(!numbered(KIND_REPAIR, &[0, 1, 0, 0, 5]));
        let field = [0, 1, 7, 0, 0, 0, 1, 5, 6];
        assert!(numbered(KIND_FIELD_REPAIR, &field));
        assert!(!numbered(KIND_FIELD_REPAIR, &field[..8]));
        let piece = |index, count, data: &[u8]| {
            let mut out = vec![KIND_PIECE, 0, 0, 0, 1, index, count];
            out.extend_from_slice(data);
            Datagram::parse(&out).is_ok()
        };
        assert!(piece(1, 2, &[9]) && piece(71, 72, &[9]));
        assert!(!piece(2, 2, &[9]) && !piece(0, 1, &[9]) && !piece(0, 73, &[9]));
        assert!(!piece(1, 2, &[]));
        let close = |reason| {
            let mut out = vec![KIND_CLOSE, 0, 0];
            out.resize(3 + reason, b'x');
            Datagram::parse(&out).is_ok()
        };
        assert!(close(MAX_REASON) && !close(MAX_REASON + 1));
    }

    #[test]
    fn a_long_close_reason_is_cut_at_a_character() {
        let mut out = Vec::new();
        put_close(&[], CloseClass::Application, 3, &"é".repeat(200), &mut out);
        assert_eq!(
            Datagram::parse(&out),
            Ok(Datagram::Close {
                report: None,
                class: CloseClass::Application,
                code: 3,
                reason: "é".repeat(128)
            })
        );
    }
}
