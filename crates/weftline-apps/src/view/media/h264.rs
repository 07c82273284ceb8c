//! H.264: access units from NAL units (ITU-T H.264, section 7.4.1.2).

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;

use super::bits::Bits;
use super::{Kind, LONGEST_FRAME, Unit};

/// Longest parameter set that is kept; real ones have some tens of bytes.
const LONGEST_SET: usize = 4 << 10;
/// Most parameter sets of each kind that are kept: of ids there are 32 and 256.
const MOST_SETS: usize = 32;

const START: [u8; 4] = [0, 0, 0, 1];

const SLICE: u8 = 1;
const IDR: u8 = 5;
const SEI: u8 = 6;
const SPS: u8 = 7;
const PPS: u8 = 8;
const DELIMITER: u8 = 9;

/// Collects NAL units into pictures. Each key frame has its parameter sets with it.
#[derive(Debug, Default)]
pub(super) struct Pictures {
    picture: Picture,
    sequences: BTreeMap<u32, Bytes>,
    sets: BTreeMap<u32, Bytes>,
    codec: Option<Arc<str>>,
    frame_time: Option<u64>,
    /// There was a key frame, and nothing was lost since: pictures that need others can be decoded.
    is_whole: bool,
}

/// The access unit that is being collected.
#[derive(Debug, Default)]
struct Picture {
    data: Vec<u8>,
    pts: Option<u64>,
    came: u64,
    has_slice: bool,
    is_key: bool,
    has_sequence: bool,
    has_set: bool,
    /// A part of it is missing.
    is_damaged: bool,
}

impl Pictures {
    /// Takes a NAL unit without its start code.
    pub(super) fn nal(&mut self, nal: &[u8], pts: Option<u64>, came: u64, out: &mut Vec<Unit>) {
        let Some(&head) = nal.first() else { return };
        let kind = head & 0x1f;
        let begins = match kind {
            // The first bit behind the head is set if first_mb_in_slice is 0.
            SLICE | 2 | IDR => nal.get(1).is_some_and(|byte| byte & 0x80 != 0),
            SEI | SPS | PPS | DELIMITER | 14..=18 => true,
            _ => false,
        };
        if begins && self.picture.has_slice {
            self.flush(out);
        }
        let picture = &mut self.picture;
        if picture.data.is_empty() {
            picture.came = came;
        }
        // A picture without its first slice.
        picture.is_damaged |= matches!(kind, SLICE | 2 | IDR) && !begins && !picture.has_slice;
        picture.pts = picture.pts.or(pts);
        match kind {
            SLICE | 2 => picture.has_slice = true,
            IDR => (picture.has_slice, picture.is_key) = (true, true),
            SPS => {
                picture.has_sequence = true;
                self.keep_sequence(nal);
            }
            PPS => {
                picture.has_set = true;
                keep(&mut self.sets, nal, Bits::new(&nal[1..]).ue());
            }
            // The delimiter and filler data: a decoder needs neither.
            DELIMITER | 12 => return,
            _ => {}
        }
        let picture = &mut self.picture;
        if picture.data.len() + nal.len() + START.len() > LONGEST_FRAME {
            picture.is_damaged = true;
            return;
        }
        picture.data.extend_from_slice(&START);
        picture.data.extend_from_slice(nal);
    }

    /// Bytes were lost: the picture that is being collected is damaged, or else the one that comes next.
    pub(super) fn lost(&mut self) {
        self.picture.is_damaged = true;
    }

    /// The picture is complete.
    pub(super) fn flush(&mut self, out: &mut Vec<Unit>) {
        let picture = std::mem::take(&mut self.picture);
        if picture.is_damaged && self.is_whole {
            self.is_whole = false;
            out.push(Unit {
                kind: Kind::Gap,
                pts: None,
                came: picture.came,
                data: Bytes::new(),
            });
        }
        if !picture.has_slice || picture.is_damaged {
            return;
        }
        let codec = self.codec.clone().filter(|_| picture.is_key);
        let Some(codec) = codec else {
            // A key frame cannot be decoded either before there are parameter sets.
            if !picture.is_key && self.is_whole {
                out.push(Unit {
                    kind: Kind::Delta,
                    pts: picture.pts,
                    came: picture.came,
                    data: picture.data.into(),
                });
            }
            return;
        };
        if self.sets.is_empty() {
            return;
        }
        self.is_whole = true;
        let mut data = Vec::new();
        let missing = [
            (!picture.has_sequence).then_some(&self.sequences),
            (!picture.has_set).then_some(&self.sets),
        ];
        for set in missing.into_iter().flatten().flat_map(BTreeMap::values) {
            data.extend_from_slice(&START);
            data.extend_from_slice(set);
        }
        let data = match data.is_empty() {
            true => picture.data,
            false => [data, picture.data].concat(),
        };
        out.push(Unit {
            kind: Kind::Key(codec),
            pts: picture.pts,
            came: picture.came,
            data: data.into(),
        });
    }

    /// Microseconds from one picture to the next, as the parameter sets say.
    pub(super) fn frame_time(&self) -> Option<u64> {
        self.frame_time
    }

    fn keep_sequence(&mut self, nal: &[u8]) {
        let &[_, profile, constraints, level, ..] = nal else {
            return;
        };
        let id = nal.get(4..).and_then(|rest| Bits::new(rest).ue());
        if keep(&mut self.sequences, nal, id) {
            let codec = format!("avc1.{profile:02x}{constraints:02x}{level:02x}");
            if self.codec.as_deref() != Some(&codec) {
                self.codec = Some(codec.into());
            }
            self.frame_time = frame_time(&unescaped(nal));
        }
    }
}

/// Keeps a parameter set by its id; false if it cannot be one.
fn keep(sets: &mut BTreeMap<u32, Bytes>, nal: &[u8], id: Option<u32>) -> bool {
    let Some(id) = id.filter(|id| *id < 256 && nal.len() <= LONGEST_SET) else {
        return false;
    };
    if sets.len() >= MOST_SETS && !sets.contains_key(&id) {
        sets.clear();
    }
    if sets.get(&id).is_none_or(|set| set[..] != *nal) {
        sets.insert(id, Bytes::copy_from_slice(nal));
    }
    true
}

/// A NAL unit without its emulation prevention bytes (section 7.3.1).
fn unescaped(nal: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(nal.len());
    let mut zeros = 0;
    for &byte in nal {
        if zeros >= 2 && byte == 3 {
            zeros = 0;
            continue;
        }
        zeros = if byte == 0 { zeros + 1 } else { 0 };
        plain.push(byte);
    }
    plain
}

/// Microseconds from one picture to the next, by the sequence parameter set's VUI (sections 7.3.2.1.1
/// and E.1.1).
fn frame_time(sps: &[u8]) -> Option<u64> {
    let mut bits = Bits::new(sps);
    bits.skip(8);
    let profile = bits.bits(8)?;
    bits.skip(16);
    bits.ue()?;
    if [100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135].contains(&profile) {
        let chroma = bits.ue()?;
        if chroma == 3 {
            bits.skip(1);
        }
        bits.ue()?;
        bits.ue()?;
        bits.skip(1);
        if bits.bit()? {
            for list in 0..if chroma == 3 { 12 } else { 8 } {
                if bits.bit()? {
                    skip_scaling_list(&mut bits, if list < 6 { 16 } else { 64 })?;
                }
            }
        }
    }
    bits.ue()?;
    match bits.ue()? {
        0 => {
            bits.ue()?;
        }
        1 => {
            bits.skip(1);
            bits.se()?;
            bits.se()?;
            for _ in 0..bits.ue()?.min(255) {
                bits.se()?;
            }
        }
        _ => {}
    }
    bits.ue()?;
    bits.skip(1);
    bits.ue()?;
    bits.ue()?;
    if !bits.bit()? {
        bits.skip(1);
    }
    bits.skip(1);
    if bits.bit()? {
        for _ in 0..4 {
            bits.ue()?;
        }
    }
    if !bits.bit()? {
        return None;
    }
    if bits.bit()? && bits.bits(8)? == 255 {
        bits.skip(32);
    }
    if bits.bit()? {
        bits.skip(1);
    }
    if bits.bit()? {
        bits.skip(4);
        if bits.bit()? {
            bits.skip(24);
        }
    }
    if bits.bit()? {
        bits.ue()?;
        bits.ue()?;
    }
    if !bits.bit()? {
        return None;
    }
    let (tick, scale) = (bits.bits(32)?, bits.bits(32)?);
    let time = (tick * 2_000_000).checked_div(scale)?;
    // 1 to 240 pictures a second.
    (4_000..=1_000_000).contains(&time).then_some(time)
}

fn skip_scaling_list(bits: &mut Bits<'_>, size: usize) -> Option<()> {
    let (mut last, mut next) = (8, 8);
    for _ in 0..size {
        if next != 0 {
            next = (last + bits.se()?).rem_euclid(256);
        }
        last = if next == 0 { last } else { next };
    }
    Some(())
}
