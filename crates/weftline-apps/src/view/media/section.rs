//! Tables of MPEG-TS (ISO/IEC 13818-1, section 2.4.4): which packets carry what.

/// Longest section of the tables that are read.
const LONGEST: usize = 1024;

/// Collects one section at a time.
#[derive(Debug, Default)]
pub(super) struct Sections {
    buffer: Vec<u8>,
    is_inside: bool,
}

impl Sections {
    /// Takes the payload of a packet; calls `take` with each section that is whole, without its checksum.
    pub(super) fn push(&mut self, payload: &[u8], begins: bool, mut take: impl FnMut(&[u8])) {
        if !begins {
            return self.add(payload, &mut take);
        }
        let Some((&pointer, rest)) = payload.split_first() else {
            return;
        };
        let Some((before, after)) = rest.split_at_checked(usize::from(pointer)) else {
            return;
        };
        self.add(before, &mut take);
        self.buffer.clear();
        self.is_inside = true;
        self.add(after, &mut take);
    }

    fn add(&mut self, bytes: &[u8], take: &mut impl FnMut(&[u8])) {
        if !self.is_inside {
            return;
        }
        self.buffer.extend_from_slice(bytes);
        while let &[table, high, low, ..] = &self.buffer[..] {
            let length = 3 + usize::from(u16::from_be_bytes([high & 0x0f, low]));
            // 0xff is stuffing: no section follows in this packet.
            if table == 0xff || length > LONGEST {
                break;
            }
            let Some(section) = self.buffer.get(..length) else {
                return;
            };
            if let Some(body) = section.split_last_chunk::<4>().map(|(body, _)| body)
                && crc(section) == 0
            {
                take(body);
            }
            self.buffer.drain(..length);
        }
        if self.buffer.len() >= 3 {
            self.is_inside = false;
            self.buffer.clear();
        }
    }
}

/// The packet identifier of the first program's map, of a program association section.
pub(super) fn first_program(section: &[u8]) -> Option<u16> {
    let entries = section.get(8..).filter(|_| section[0] == 0)?;
    let mut programs = entries.as_chunks::<4>().0.iter();
    // Program 0 is the network's table.
    let program = programs.find(|entry| entry[..2] != [0, 0])?;
    Some(u16::from_be_bytes([program[2] & 0x1f, program[3]]))
}

/// A stream of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stream<'a> {
    pub(super) pid: u16,
    pub(super) kind: u8,
    pub(super) descriptors: &'a [u8],
}

/// The streams of a program map section.
pub(super) fn streams(section: &[u8]) -> Vec<Stream<'_>> {
    let mut all = Vec::new();
    let Some(&[high, low]) = section.get(10..12).filter(|_| section[0] == 2) else {
        return all;
    };
    let skipped = 12 + usize::from(u16::from_be_bytes([high & 0x0f, low]));
    let mut rest = section.get(skipped..).unwrap_or_default();
    while let Some((&[kind, p, q, h, l], after)) = rest.split_first_chunk::<5>() {
        let length = usize::from(u16::from_be_bytes([h & 0x0f, l]));
        let Some((descriptors, after)) = after.split_at_checked(length) else {
            break;
        };
        let pid = u16::from_be_bytes([p & 0x1f, q]);
        all.push(Stream {
            pid,
            kind,
            descriptors,
        });
        rest = after;
    }
    all
}

/// The descriptors of a stream: their tags and bodies.
pub(super) fn descriptors(mut rest: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    std::iter::from_fn(move || {
        let (&[tag, length], after) = rest.split_first_chunk::<2>()?;
        let (body, after) = after.split_at_checked(usize::from(length))?;
        rest = after;
        Some((tag, body))
    })
}

/// CRC-32/MPEG-2: 0 over a section with its checksum.
pub(super) fn crc(bytes: &[u8]) -> u32 {
    bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte) << 24, |crc, _| match crc >> 31 {
            1 => crc << 1 ^ 0x04c1_1db7,
            _ => crc << 1,
        })
    })
}
