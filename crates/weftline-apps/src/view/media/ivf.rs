//! The container IVF with AV1.

use super::av1::Pictures;
use super::{LONGEST_FRAME, Parse, Unit};

/// The first bytes of a file.
pub(super) const MAGIC: &[u8; 4] = b"DKIF";

/// IVF: each frame has a length and a time.
#[derive(Debug, Default)]
pub(in crate::view) struct Ivf {
    buffer: Vec<u8>,
    /// Seconds of a tick, as a fraction.
    tick: Option<(u32, u32)>,
    came: Option<u64>,
    pictures: Pictures,
    trouble: Option<String>,
    is_lost: bool,
}

impl Ivf {
    fn fail(&mut self, why: &str) {
        self.trouble = Some(why.to_owned());
        self.is_lost = true;
        self.buffer = Vec::new();
    }

    /// Takes the file's header; `None`: more bytes are needed.
    fn header(&mut self) -> Option<()> {
        let head = self.buffer.first_chunk::<32>()?;
        let number =
            |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let size = usize::from(u16::from_le_bytes([head[6], head[7]]));
        let (tick, is_av1) = ((number(20), number(16)), &head[8..12] == b"AV01");
        if !(32..1024).contains(&size) || !is_av1 || tick.1 == 0 {
            self.fail("the IVF stream is not AV1: encode it with -c:v libsvtav1 or libaom-av1");
            return None;
        }
        self.buffer.get(..size)?;
        self.buffer.drain(..size);
        self.tick = Some(tick);
        Some(())
    }
}

impl Parse for Ivf {
    fn push(&mut self, bytes: &[u8], at: u64, out: &mut Vec<Unit>) {
        if self.is_lost {
            return;
        }
        self.buffer.extend_from_slice(bytes);
        if self.tick.is_none() && self.header().is_none() {
            return;
        }
        let Some((numerator, denominator)) = self.tick else {
            return;
        };
        let mut done = 0;
        while let Some((head, rest)) = self.buffer[done..].split_first_chunk::<12>() {
            let came = *self.came.get_or_insert(at);
            let [a, b, c, d, stamp @ ..] = *head;
            let size = u32::from_le_bytes([a, b, c, d]) as usize;
            if size > LONGEST_FRAME {
                return self.fail("the IVF stream is damaged: it cannot be read further");
            }
            let Some(frame) = rest.get(..size) else { break };
            let ticks = u128::from(u64::from_le_bytes(stamp));
            let pts = ticks * 1_000_000 * u128::from(numerator) / u128::from(denominator);
            self.pictures
                .unit(frame, u64::try_from(pts).ok(), came, out);
            self.came = None;
            done += 12 + size;
        }
        self.buffer.drain(..done);
    }

    fn end(&mut self, _out: &mut Vec<Unit>) {}

    fn trouble(&mut self) -> Option<String> {
        self.trouble.take()
    }
}
