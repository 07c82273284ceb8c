//! RTP (RFC 3550) with H.264 (RFC 6184) or Opus (RFC 7587).

use std::collections::BTreeMap;

use super::h264::Pictures;
use super::{Kind, LONGEST_FRAME, Parse, Unit, opus};

/// Packets that arrived before an earlier one are kept up to this number.
const MOST_EARLY: usize = 64;
/// And for this long, in microseconds.
const PATIENCE: u64 = 50_000;
/// A jump of more than this many numbers is another stream, not loss: RFC 3550, appendix A.1.
const JUMP: u16 = 3000;

/// Types of payloads (RFC 6184, section 5.4).
const STAP_A: u8 = 24;
const FU_A: u8 = 28;

/// Packets with one kind of payload.
pub(in crate::view) struct Rtp {
    payload: Payload,
    source: Option<u32>,
    next: u16,
    early: BTreeMap<u16, Packet>,
    stamp: Option<(u32, u64)>,
    /// The time stamp of the picture that is being collected.
    picture: Option<u32>,
}

enum Payload {
    H264 {
        pictures: Pictures,
        /// A NAL unit in fragments.
        fragments: Vec<u8>,
    },
    Opus,
}

#[derive(Clone, Debug)]
struct Packet {
    marker: bool,
    stamp: u32,
    at: u64,
    payload: Vec<u8>,
}

impl Rtp {
    /// H.264 in packetization mode 0 or 1.
    pub(in crate::view) fn h264() -> Self {
        Rtp::new(Payload::H264 {
            pictures: Pictures::default(),
            fragments: Vec::new(),
        })
    }

    /// Opus, with two channels as RFC 7587 says.
    pub(in crate::view) fn opus() -> Self {
        Rtp::new(Payload::Opus)
    }

    fn new(payload: Payload) -> Self {
        Rtp {
            payload,
            source: None,
            next: 0,
            early: BTreeMap::new(),
            stamp: None,
            picture: None,
        }
    }

    /// Takes the packets that are next, and gives up missing ones when too many wait for them, or for too long.
    fn advance(&mut self, at: u64, out: &mut Vec<Unit>) {
        loop {
            if let Some(packet) = self.early.remove(&self.next) {
                self.next = self.next.wrapping_add(1);
                self.take(&packet, out);
            } else if self.early.len() > MOST_EARLY
                || self
                    .early
                    .values()
                    .any(|packet| at.saturating_sub(packet.at) > PATIENCE)
            {
                let next = self.next;
                let nearest = self
                    .early
                    .keys()
                    .min_by_key(|number| number.wrapping_sub(next));
                self.next = nearest.copied().unwrap_or(next);
                if let Payload::H264 {
                    pictures,
                    fragments,
                } = &mut self.payload
                {
                    fragments.clear();
                    pictures.lost();
                }
            } else {
                return;
            }
        }
    }

    fn take(&mut self, packet: &Packet, out: &mut Vec<Unit>) {
        let rate = match self.payload {
            Payload::H264 { .. } => 90_000,
            Payload::Opus => 48_000,
        };
        // Time stamps of 32 bits wrap.
        let ticks = match self.stamp {
            None => 1 << 32,
            Some((last, ticks)) => {
                let ahead = i64::from(packet.stamp.wrapping_sub(last).cast_signed());
                ticks.saturating_add_signed(ahead)
            }
        };
        self.stamp = Some((packet.stamp, ticks));
        let pts = Some(ticks.saturating_mul(1000) / (rate / 1000));
        match &mut self.payload {
            Payload::Opus => {
                let payload = &packet.payload;
                if opus::duration(payload).is_some() && payload.len() <= opus::LONGEST {
                    out.push(Unit {
                        kind: Kind::Sound { channels: 2 },
                        pts,
                        came: packet.at,
                        data: payload.clone().into(),
                    });
                }
            }
            Payload::H264 {
                pictures,
                fragments,
            } => {
                // A picture whose last packet was lost ends with the first one of the next.
                if self.picture.is_some_and(|stamp| stamp != packet.stamp) {
                    pictures.flush(out);
                }
                let mut nal = |nal: &[u8]| pictures.nal(nal, pts, packet.at, out);
                if h264(&packet.payload, fragments, &mut nal).is_none() {
                    pictures.lost();
                }
                self.picture = Some(packet.stamp);
                if packet.marker {
                    pictures.flush(out);
                    self.picture = None;
                }
            }
        }
    }
}

/// The NAL units of a payload; `None`: it is malformed, or of a type that needs interleaving.
fn h264(payload: &[u8], fragments: &mut Vec<u8>, nal: &mut impl FnMut(&[u8])) -> Option<()> {
    let (&head, rest) = payload.split_first()?;
    match head & 0x1f {
        1..=23 => nal(payload),
        STAP_A => {
            let mut rest = rest;
            while let Some((&size, after)) = rest.split_first_chunk::<2>() {
                let size = usize::from(u16::from_be_bytes(size));
                let (unit, after) = after.split_at_checked(size)?;
                nal(unit);
                rest = after;
            }
        }
        FU_A => {
            let (&fragment, rest) = rest.split_first()?;
            let (is_first, is_last) = (fragment & 0x80 != 0, fragment & 0x40 != 0);
            if is_first {
                fragments.clear();
                fragments.push(head & 0xe0 | fragment & 0x1f);
            }
            if fragments.is_empty() || fragments.len() + rest.len() > LONGEST_FRAME {
                fragments.clear();
                return None;
            }
            fragments.extend_from_slice(rest);
            if is_last {
                nal(fragments);
                fragments.clear();
            }
        }
        _ => return None,
    }
    Some(())
}

/// A packet: its source, its number and what is in it. `None` if it is no RTP, as RTCP on the same port.
fn packet(bytes: &[u8], at: u64) -> Option<(u32, u16, Packet)> {
    let (&head, rest) = bytes.split_first_chunk::<12>()?;
    let [flags, kind, n, m, t0, t1, t2, t3, s0, s1, s2, s3] = head;
    // RTCP has types 72 to 76 in this place (RFC 5761, section 4).
    if flags >> 6 != 2 || (64..96).contains(&(kind & 0x7f)) {
        return None;
    }
    let mut payload = rest.get(4 * usize::from(flags & 0x0f)..)?;
    if flags & 0x10 != 0 {
        let (&[_, _, high, low], after) = payload.split_first_chunk::<4>()?;
        payload = after.get(4 * usize::from(u16::from_be_bytes([high, low]))..)?;
    }
    if flags & 0x20 != 0 {
        let padding = usize::from(*payload.last()?);
        payload = &payload[..payload.len().checked_sub(padding)?];
    }
    let packet = Packet {
        marker: kind & 0x80 != 0,
        stamp: u32::from_be_bytes([t0, t1, t2, t3]),
        at,
        payload: payload.to_vec(),
    };
    let source = u32::from_be_bytes([s0, s1, s2, s3]);
    Some((source, u16::from_be_bytes([n, m]), packet))
}

impl Parse for Rtp {
    fn push(&mut self, bytes: &[u8], at: u64, out: &mut Vec<Unit>) {
        let Some((source, number, packet)) = packet(bytes, at) else {
            return;
        };
        let ahead = number.wrapping_sub(self.next);
        let is_late = ahead > u16::MAX - JUMP;
        if self.source == Some(source) && is_late {
            return;
        }
        // Another sender, or the same one after a restart.
        if self.source != Some(source) || ahead > JUMP {
            if let (
                Some(_),
                Payload::H264 {
                    pictures,
                    fragments,
                },
            ) = (self.source, &mut self.payload)
            {
                fragments.clear();
                pictures.lost();
            }
            self.source = Some(source);
            self.early.clear();
            self.stamp = None;
            self.next = number;
        }
        self.early.insert(number, packet);
        self.advance(at, out);
    }

    fn end(&mut self, out: &mut Vec<Unit>) {
        if let Payload::H264 { pictures, .. } = &mut self.payload {
            pictures.flush(out);
        }
    }
}
