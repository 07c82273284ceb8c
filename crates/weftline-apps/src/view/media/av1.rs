//! AV1: what a temporal unit is, and temporal units from a stream of OBUs (AV1 specification, sections 5
//! and 7.5).

use std::sync::Arc;

use bytes::Bytes;

use super::bits::Bits;
use super::{Kind, LONGEST_FRAME, Parse, Unit};

const SEQUENCE: u8 = 1;
const DELIMITER: u8 = 2;
const FRAME_HEADER: u8 = 3;
const FRAME: u8 = 6;
/// Longest sequence header that is kept; real ones have some tens of bytes.
const LONGEST_SEQUENCE: usize = 4 << 10;

/// An OBU with a size field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Obu<'a> {
    kind: u8,
    /// All of it.
    whole: &'a [u8],
    body: &'a [u8],
}

/// The first OBU. `Ok(None)`: more bytes are needed.
///
/// # Errors
/// It is none, or has no size.
fn first(bytes: &[u8]) -> Result<Option<Obu<'_>>, ()> {
    let Some(&head) = bytes.first() else {
        return Ok(None);
    };
    let (kind, has_extension, has_size) = (head >> 3 & 15, head & 4 != 0, head & 2 != 0);
    if head & 0x80 != 0 || !has_size {
        return Err(());
    }
    let begin = if has_extension { 2 } else { 1 };
    let mut size = 0;
    for (i, byte) in bytes.iter().skip(begin).take(8).enumerate() {
        size |= usize::from(byte & 0x7f) << (7 * i);
        if size > LONGEST_FRAME {
            return Err(());
        }
        if byte & 0x80 == 0 {
            let body = begin + i + 1;
            return Ok(bytes.get(..body + size).map(|whole| Obu {
                kind,
                whole,
                body: &whole[body..],
            }));
        }
    }
    match bytes.len() < begin + 8 {
        true => Ok(None),
        false => Err(()),
    }
}

/// Makes units of temporal units.
#[derive(Debug, Default)]
pub(super) struct Pictures {
    codec: Option<Arc<str>>,
    sequence: Bytes,
    data: Vec<u8>,
    has_sequence: bool,
    /// The type of its first frame, once there is one.
    is_key: Option<bool>,
}

impl Pictures {
    fn obu(&mut self, obu: Obu<'_>) {
        match obu.kind {
            // A decoder is given whole temporal units, and needs no padding.
            DELIMITER | 15 => return,
            SEQUENCE if obu.whole.len() <= LONGEST_SEQUENCE => {
                if self.sequence != obu.whole {
                    self.sequence = Bytes::copy_from_slice(obu.whole);
                    self.codec = codec(obu.body).map(Into::into);
                }
                self.has_sequence = true;
            }
            FRAME | FRAME_HEADER if self.is_key.is_none() => {
                // show_existing_frame, and frame_type 0.
                self.is_key = Some(obu.body.first().is_some_and(|byte| byte & 0xe0 == 0));
            }
            _ => {}
        }
        self.data.extend_from_slice(obu.whole);
    }

    /// The temporal unit is complete.
    fn flush(&mut self, pts: Option<u64>, came: u64, out: &mut Vec<Unit>) {
        let data = std::mem::take(&mut self.data);
        let has_sequence = std::mem::take(&mut self.has_sequence);
        let kind = match (self.is_key.take(), &self.codec) {
            (Some(true), Some(codec)) => Kind::Key(codec.clone()),
            (Some(false), Some(_)) => Kind::Delta,
            _ => return,
        };
        let is_bare = matches!(kind, Kind::Key(_)) && !has_sequence;
        let data = match is_bare {
            true => [&self.sequence[..], &data].concat(),
            false => data,
        };
        out.push(Unit {
            kind,
            pts,
            came,
            data: data.into(),
        });
    }

    /// Takes a whole temporal unit.
    pub(super) fn unit(
        &mut self,
        mut bytes: &[u8],
        pts: Option<u64>,
        came: u64,
        out: &mut Vec<Unit>,
    ) {
        while let Ok(Some(obu)) = first(bytes) {
            self.obu(obu);
            bytes = &bytes[obu.whole.len()..];
        }
        self.flush(pts, came, out);
    }
}

/// AV1 as a stream of OBUs. A picture is complete when the next one begins.
#[derive(Debug, Default)]
pub(in crate::view) struct Obus {
    buffer: Vec<u8>,
    pictures: Pictures,
    came: u64,
    is_lost: bool,
    has_told: bool,
}

impl Parse for Obus {
    fn push(&mut self, bytes: &[u8], at: u64, out: &mut Vec<Unit>) {
        if self.is_lost {
            return;
        }
        self.buffer.extend_from_slice(bytes);
        let mut done = 0;
        loop {
            match first(&self.buffer[done..]) {
                Ok(Some(obu)) => {
                    if obu.kind == DELIMITER {
                        self.pictures.flush(None, self.came, out);
                        self.came = at;
                    }
                    let fits = self.pictures.data.len() + obu.whole.len() <= LONGEST_FRAME;
                    let length = obu.whole.len();
                    if fits {
                        self.pictures.obu(obu);
                    }
                    self.is_lost |= !fits;
                    done += length;
                }
                Ok(None) => break,
                // There is no mark by which the next OBU could be found.
                Err(()) => self.is_lost = true,
            }
            if self.is_lost {
                self.buffer = Vec::new();
                return;
            }
        }
        self.buffer.drain(..done);
    }

    fn end(&mut self, out: &mut Vec<Unit>) {
        self.pictures.flush(None, self.came, out);
    }

    fn trouble(&mut self) -> Option<String> {
        let tells = self.is_lost && !std::mem::replace(&mut self.has_told, self.is_lost);
        tells.then(|| "the stream of OBUs is damaged: it cannot be read further".to_owned())
    }
}

/// The name of a sequence's codec ("AV1 Codec ISO Media File Format Binding", section 5), by its header
/// (AV1 specification, section 5.5).
fn codec(sequence: &[u8]) -> Option<String> {
    let mut bits = Bits::new(sequence);
    let profile = bits.bits(3)?;
    bits.skip(1);
    let is_reduced = bits.bit()?;
    let (mut level, mut tier) = (0, false);
    if is_reduced {
        level = bits.bits(5)?;
    } else {
        let mut delay_length = None;
        if bits.bit()? {
            bits.skip(64);
            if bits.bit()? {
                bits.ue()?;
            }
            if bits.bit()? {
                delay_length = Some(bits.bits(5)? as usize + 1);
                bits.skip(42);
            }
        }
        let has_display_delay = bits.bit()?;
        for i in 0..=bits.bits(5)? {
            bits.skip(12);
            let its_level = bits.bits(5)?;
            let its_tier = its_level > 7 && bits.bit()?;
            if i == 0 {
                (level, tier) = (its_level, its_tier);
            }
            if let Some(length) = delay_length
                && bits.bit()?
            {
                bits.skip(2 * length + 1);
            }
            if has_display_delay && bits.bit()? {
                bits.skip(4);
            }
        }
    }
    let (width, height) = (bits.bits(4)?, bits.bits(4)?);
    bits.skip((width + height) as usize + 2);
    if !is_reduced && bits.bit()? {
        bits.skip(7);
    }
    bits.skip(3);
    if !is_reduced {
        bits.skip(4);
        let has_order = bits.bit()?;
        if has_order {
            bits.skip(2);
        }
        let has_screen_tools = bits.bit()? || bits.bit()?;
        if has_screen_tools && !bits.bit()? {
            bits.skip(1);
        }
        if has_order {
            bits.skip(3);
        }
    }
    bits.skip(3);
    let depth = match (bits.bit()?, profile) {
        (false, _) => 8,
        (true, 2) if bits.bit()? => 12,
        (true, _) => 10,
    };
    let tier = if tier { 'H' } else { 'M' };
    Some(format!("av01.{profile}.{level:02}{tier}.{depth:02}"))
}
