//! MPEG-TS (ISO/IEC 13818-1) with H.264 and Opus.

use super::annexb::Splitter;
use super::h264::Pictures;
use super::pes::Pes;
use super::section::{Sections, Stream, descriptors, first_program, streams};
use super::{Kind, LONGEST_FRAME, Parse, Unit, opus};

/// Bytes of a packet.
pub(super) const PACKET: usize = 188;
/// The first byte of each packet.
pub(super) const SYNC: u8 = 0x47;

/// A muxer that fills PES packets to their limit continues the picture in the next one.
const FULL_PES: usize = 60_000;

/// Types of streams, and the identifier of Opus in a registration descriptor.
const H264: u8 = 0x1b;
const PRIVATE: u8 = 0x06;
const OPUS: &[u8] = b"Opus";

/// MPEG-TS: the first program's first video and its first sound.
#[derive(Default)]
pub(in crate::view) struct Ts {
    /// An incomplete packet.
    rest: Vec<u8>,
    programs: Sections,
    map: Option<(u16, Sections)>,
    video: Option<Video>,
    sound: Option<Sound>,
    trouble: Option<String>,
    has_complained: bool,
}

struct Video {
    pes: Pes,
    splitter: Splitter,
    pictures: Pictures,
    pts: Option<u64>,
    /// Bytes of this PES packet's payload.
    bytes: usize,
}

struct Sound {
    pes: Pes,
    channels: u8,
    pts: Option<u64>,
    data: Vec<u8>,
}

impl Video {
    fn new(pid: u16) -> Self {
        Video {
            pes: Pes::new(pid),
            splitter: Splitter::default(),
            pictures: Pictures::default(),
            pts: None,
            bytes: 0,
        }
    }

    fn push(&mut self, payload: &[u8], begins: bool, at: u64, out: &mut Vec<Unit>) {
        let (mut pts, mut bytes) = (self.pts, self.bytes);
        let (splitter, pictures) = (&mut self.splitter, &mut self.pictures);
        self.pes.push(payload, begins, at, |pes, part| {
            if let Some(head) = part.head {
                bytes = 0;
                // A PES packet without a time continues the picture before it.
                if let Some(stamp) = head.pts {
                    splitter.end(|nal, came| pictures.nal(nal, pts, came, out));
                    pictures.flush(out);
                    pts = Some(pes.clock.unwrapped(stamp));
                }
            }
            bytes += part.data.len();
            if !splitter.push(part.data, at, |nal, came| pictures.nal(nal, pts, came, out)) {
                pictures.lost();
            }
            if part.is_last && bytes < FULL_PES {
                splitter.end(|nal, came| pictures.nal(nal, pts, came, out));
                pictures.flush(out);
            }
        });
        (self.pts, self.bytes) = (pts, bytes);
    }

    fn lost(&mut self) {
        self.pes.lost();
        self.splitter.clear();
        self.pictures.lost();
    }

    fn end(&mut self, out: &mut Vec<Unit>) {
        let (pts, pictures) = (self.pts, &mut self.pictures);
        self.splitter
            .end(|nal, came| pictures.nal(nal, pts, came, out));
        pictures.flush(out);
    }
}

impl Sound {
    fn push(&mut self, payload: &[u8], begins: bool, at: u64, out: &mut Vec<Unit>) {
        if begins {
            self.flush(out);
        }
        let (mut pts, data) = (self.pts, &mut self.data);
        let mut is_complete = false;
        self.pes.push(payload, begins, at, |pes, part| {
            if let Some(head) = part.head {
                pts = head.pts.map(|stamp| pes.clock.unwrapped(stamp));
            }
            if data.len() + part.data.len() <= 2 * opus::LONGEST {
                data.extend_from_slice(part.data);
            }
            is_complete = part.is_last;
        });
        self.pts = pts;
        if is_complete {
            self.flush(out);
        }
    }

    fn flush(&mut self, out: &mut Vec<Unit>) {
        let data = std::mem::take(&mut self.data);
        for packet in opus::split(&data) {
            let Some(time) = opus::duration(packet) else {
                continue;
            };
            out.push(Unit {
                kind: Kind::Sound {
                    channels: self.channels,
                },
                pts: self.pts,
                came: self.pes.came,
                data: packet.to_vec().into(),
            });
            self.pts = self.pts.map(|pts| pts + time);
        }
    }
}

impl Ts {
    fn packet(&mut self, packet: &[u8; PACKET], at: u64, out: &mut Vec<Unit>) {
        let &[_, a, b, flags, ..] = packet;
        let pid = u16::from_be_bytes([a & 0x1f, b]);
        let (is_damaged, begins) = (a & 0x80 != 0, a & 0x40 != 0);
        let payload = match flags >> 4 & 3 {
            1 => Some(4),
            3 => Some(5 + usize::from(packet[4])),
            _ => None,
        };
        let payload = payload.and_then(|from| packet.get(from..));
        // Scrambled packets are of no use.
        let Some(payload) = payload.filter(|_| !is_damaged && flags & 0xc0 == 0) else {
            return;
        };
        let counter = flags & 15;
        if pid == 0 {
            let mut found = None;
            self.programs
                .push(payload, begins, |s| found = first_program(s).or(found));
            if let Some(map) = found.filter(|map| self.map.as_ref().is_none_or(|(m, _)| m != map)) {
                self.map = Some((map, Sections::default()));
            }
        } else if let Some(video) = self.video.as_mut().filter(|video| video.pes.pid == pid) {
            if let Some(is_gap) = video.pes.is_gap(counter) {
                if is_gap {
                    video.lost();
                }
                video.push(payload, begins, at, out);
            }
        } else if let Some(sound) = self.sound.as_mut().filter(|sound| sound.pes.pid == pid) {
            if let Some(is_gap) = sound.pes.is_gap(counter) {
                if is_gap {
                    sound.pes.lost();
                    sound.data.clear();
                }
                sound.push(payload, begins, at, out);
            }
        } else if let Some((map, mut sections)) = self.map.take() {
            if map == pid {
                sections.push(payload, begins, |section| self.choose(section));
            }
            self.map = Some((map, sections));
        }
    }

    /// Takes the streams that can be played from a program map.
    fn choose(&mut self, section: &[u8]) {
        let all = streams(section);
        if all.is_empty() {
            return;
        }
        let video = all.iter().find(|stream| stream.kind == H264);
        let sound = all
            .iter()
            .find_map(|stream| Some((stream.pid, opus_channels(stream)?)));
        let is_same = |pes: Option<&Pes>, pid: Option<u16>| pes.map(|pes| pes.pid) == pid;
        if !is_same(self.video.as_ref().map(|v| &v.pes), video.map(|v| v.pid)) {
            self.video = video.map(|video| Video::new(video.pid));
        }
        if !is_same(
            self.sound.as_ref().map(|s| &s.pes),
            sound.map(|(pid, _)| pid),
        ) {
            self.sound = sound.map(|(pid, channels)| Sound {
                pes: Pes::new(pid),
                channels,
                pts: None,
                data: Vec::new(),
            });
        }
        let left_out = all
            .iter()
            .any(|stream| Some(stream.pid) != sound.map(|s| s.0) && is_sound(stream));
        if !self.has_complained && (video.is_none() || sound.is_none() && left_out) {
            self.has_complained = true;
            self.trouble = Some(match video {
                None => "the stream has no H.264 video: encode it with -c:v libx264".to_owned(),
                Some(_) => {
                    "the sound is not Opus and is left out: encode it with -c:a libopus".to_owned()
                }
            });
        }
    }
}

/// MPEG audio, AAC and AC-3.
fn is_sound(stream: &Stream<'_>) -> bool {
    [0x03, 0x04, 0x0f, 0x11, 0x81].contains(&stream.kind)
}

/// Channels of a stream of Opus that browsers play; `None` if it is none.
fn opus_channels(stream: &Stream<'_>) -> Option<u8> {
    let is_opus = |(tag, body): (u8, &[u8])| tag == 0x05 && body.starts_with(OPUS);
    if stream.kind != PRIVATE || !descriptors(stream.descriptors).any(is_opus) {
        return None;
    }
    // The extension descriptor: its tag and the channel configuration; 0 is two independent channels.
    let channels = descriptors(stream.descriptors).find_map(|(tag, body)| match (tag, body) {
        (0x7f, &[0x80, channels, ..]) => Some(channels),
        _ => None,
    });
    match channels {
        Some(1) => Some(1),
        Some(0 | 2) | None => Some(2),
        Some(_) => None,
    }
}

impl Parse for Ts {
    fn push(&mut self, bytes: &[u8], at: u64, out: &mut Vec<Unit>) {
        let mut bytes = bytes;
        // Whole packets are read where they are.
        if !self.rest.is_empty() {
            let missing = PACKET.saturating_sub(self.rest.len()).min(bytes.len());
            self.rest.extend_from_slice(&bytes[..missing]);
            bytes = &bytes[missing..];
            if let Ok(packet) = <[u8; PACKET]>::try_from(&self.rest[..]) {
                self.rest.clear();
                self.packet(&packet, at, out);
            }
        }
        while let Some(begin) = bytes.iter().position(|byte| *byte == SYNC) {
            bytes = &bytes[begin..];
            let Some((packet, after)) = bytes.split_first_chunk::<PACKET>() else {
                break;
            };
            // Out of step, the byte may be one like the first of a packet.
            match after.first() {
                Some(&next) if next != SYNC => bytes = &bytes[1..],
                _ => {
                    self.packet(packet, at, out);
                    bytes = after;
                }
            }
        }
        if bytes.first() == Some(&SYNC) {
            self.rest
                .extend_from_slice(&bytes[..bytes.len().min(PACKET - 1)]);
        }
        debug_assert!(self.rest.len() < PACKET && out.len() < LONGEST_FRAME);
    }

    fn end(&mut self, out: &mut Vec<Unit>) {
        if let Some(video) = &mut self.video {
            video.end(out);
        }
        if let Some(sound) = &mut self.sound {
            sound.flush(out);
        }
    }

    fn trouble(&mut self) -> Option<String> {
        self.trouble.take()
    }
}
