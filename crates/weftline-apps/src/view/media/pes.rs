//! PES packets of one stream of MPEG-TS (ISO/IEC 13818-1, section 2.4.3.6).

/// The packets of one stream.
pub(super) struct Pes {
    pub(super) pid: u16,
    /// The continuity counter of the last packet.
    counter: Option<u8>,
    /// The header, and in a stream of sound the rest of the PES packet.
    buffer: Vec<u8>,
    state: State,
    pub(super) clock: Clock,
    pub(super) came: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Until a PES packet begins.
    Waits,
    Header,
    /// Bytes left, if the header tells.
    Payload(Option<usize>),
}

/// Time stamps of 33 bits as a time that does not wrap.
#[derive(Default)]
pub(super) struct Clock {
    last: Option<u64>,
}

impl Clock {
    /// Microseconds.
    pub(super) fn unwrapped(&mut self, stamp: u64) -> u64 {
        const WRAP: u64 = 1 << 33;
        let time = match self.last {
            None => stamp + WRAP,
            Some(last) => {
                let ahead = stamp.wrapping_sub(last) & (WRAP - 1);
                match ahead < WRAP / 2 {
                    true => last + ahead,
                    false => last.saturating_sub(WRAP - ahead),
                }
            }
        };
        self.last = Some(time);
        time.saturating_mul(100) / 9
    }
}

/// What a PES packet's header says.
pub(super) struct Head {
    pub(super) pts: Option<u64>,
    /// Bytes of payload, if it tells.
    length: Option<usize>,
    /// Bytes of the header.
    size: usize,
}

/// Reads a PES packet's header (section 2.4.3.6). `Ok(None)`: more bytes are needed.
fn head(bytes: &[u8]) -> Result<Option<Head>, ()> {
    let Some(&[a, b, c, _, high, low, flags, times, extra]) = bytes.first_chunk::<9>() else {
        return Ok(None);
    };
    if [a, b, c] != [0, 0, 1] || flags & 0xc0 != 0x80 {
        return Err(());
    }
    let size = 9 + usize::from(extra);
    if bytes.len() < size {
        return Ok(None);
    }
    let pts = match (times & 0x80 != 0, bytes[9..size].first_chunk::<5>()) {
        (true, Some(&[a, b, c, d, e])) => {
            let part = |high: u8, low: u8| u64::from(u16::from_be_bytes([high, low]) >> 1);
            Some(u64::from(a >> 1 & 7) << 30 | part(b, c) << 15 | part(d, e))
        }
        _ => None,
    };
    let length = match u16::from_be_bytes([high, low]) {
        0 => None,
        length => Some((usize::from(length) + 6).checked_sub(size).ok_or(())?),
    };
    Ok(Some(Head { pts, length, size }))
}

/// A part of a PES packet's payload.
pub(super) struct Part<'a> {
    /// The header, if it is the first part.
    pub(super) head: Option<Head>,
    pub(super) data: &'a [u8],
    /// The PES packet ends with it, as its header says.
    pub(super) is_last: bool,
}

impl Pes {
    pub(super) fn new(pid: u16) -> Self {
        Pes {
            pid,
            counter: None,
            buffer: Vec::new(),
            state: State::Waits,
            clock: Clock::default(),
            came: 0,
        }
    }

    /// Whether a packet is missing before this one; `None` if it is a copy of the last one.
    pub(super) fn is_gap(&mut self, counter: u8) -> Option<bool> {
        match self.counter.replace(counter) {
            Some(last) if last == counter => None,
            Some(last) => Some((last + 1) & 15 != counter),
            None => Some(false),
        }
    }

    /// The rest of the PES packet is of no use.
    pub(super) fn lost(&mut self) {
        self.state = State::Waits;
    }

    /// Takes the payload of a packet.
    pub(super) fn push(
        &mut self,
        payload: &[u8],
        begins: bool,
        at: u64,
        take: impl FnOnce(&mut Self, Part<'_>),
    ) {
        if begins {
            self.buffer.clear();
            self.state = State::Header;
            self.came = at;
        }
        match self.state {
            State::Waits => {}
            State::Header => {
                self.buffer.extend_from_slice(payload);
                match head(&self.buffer) {
                    Ok(None) => {}
                    Err(()) => self.state = State::Waits,
                    Ok(Some(head)) => {
                        let buffer = std::mem::take(&mut self.buffer);
                        let data = &buffer[head.size..];
                        self.state = State::Payload(head.length);
                        self.part(Some(head), data, take);
                    }
                }
            }
            State::Payload(_) => self.part(None, payload, take),
        }
    }

    fn part(&mut self, head: Option<Head>, data: &[u8], take: impl FnOnce(&mut Self, Part<'_>)) {
        let State::Payload(left) = self.state else {
            return;
        };
        let data = &data[..left.map_or(data.len(), |left| left.min(data.len()))];
        let left = left.map(|left| left - data.len());
        let is_last = left == Some(0);
        self.state = if is_last {
            State::Waits
        } else {
            State::Payload(left)
        };
        take(
            self,
            Part {
                head,
                data,
                is_last,
            },
        );
    }
}
