//! A capture file: the classic pcap format with nanoseconds, one raw IP packet a record.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::error::PathError;

/// Magic number of a file with times in nanoseconds, in this machine's byte order.
const MAGIC: u32 = 0xa1b2_3c4d;
const VERSION: [u16; 2] = [2, 4];
/// Link type: a packet begins with its IPv4 or IPv6 header.
const LINKTYPE_RAW: u32 = 101;
/// Longest packet.
const SNAPLEN: u32 = 65_535;
/// Packets that may wait for the disk: about a second at 200 Mbit/s. While the queue is full,
/// further packets are counted instead of written.
const WAITING: usize = 16_384;

/// A capture file, written by its own thread: the emulator must not wait for the disk.
#[derive(Debug)]
pub(crate) struct Capture {
    packets: SyncSender<(Duration, Box<[u8]>)>,
    writer: JoinHandle<io::Result<()>>,
    missed: u64,
}

impl Capture {
    /// Creates the file. Times of packets are relative to now.
    pub(crate) fn create(path: &Path) -> Result<Self, PathError> {
        let epoch = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let file = File::create(path).map_err(PathError::file(path))?;
        let mut file = BufWriter::new(file);
        write_header(&mut file).map_err(PathError::file(path))?;
        let (packets, waiting) = sync_channel(WAITING);
        let writer = thread::spawn(move || write_all(&mut file, epoch, &waiting));
        Ok(Self {
            packets,
            writer,
            missed: 0,
        })
    }

    /// Adds a packet, unless the queue is full.
    pub(crate) fn add(&mut self, at: Duration, packet: Box<[u8]>) {
        self.missed += u64::from(self.packets.try_send((at, packet)).is_err());
    }

    /// Packets not written so far.
    pub(crate) fn missed(&self) -> u64 {
        self.missed
    }

    /// Waits until everything is on disk.
    pub(crate) fn finish(self) -> io::Result<()> {
        drop(self.packets);
        let ended = self.writer.join();
        ended.unwrap_or_else(|_| Err(io::Error::other("the writer of the capture file panicked")))
    }
}

fn write_all(
    file: &mut impl Write,
    epoch: Duration,
    packets: &Receiver<(Duration, Box<[u8]>)>,
) -> io::Result<()> {
    for (at, packet) in packets {
        write_packet(file, epoch + at, &packet)?;
    }
    file.flush()
}

fn write_header(file: &mut impl Write) -> io::Result<()> {
    file.write_all(&MAGIC.to_ne_bytes())?;
    for half in VERSION {
        file.write_all(&half.to_ne_bytes())?;
    }
    // No reader uses time zone and accuracy.
    for word in [0, 0, SNAPLEN, LINKTYPE_RAW] {
        file.write_all(&word.to_ne_bytes())?;
    }
    Ok(())
}

fn write_packet(file: &mut impl Write, at: Duration, packet: &[u8]) -> io::Result<()> {
    let seconds = at.as_secs() as u32;
    let length = packet.len() as u32;
    for word in [seconds, at.subsec_nanos(), length, length] {
        file.write_all(&word.to_ne_bytes())?;
    }
    file.write_all(packet)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_a_header_and_a_record_for_each_packet() {
        let mut file = Vec::new();
        write_header(&mut file).unwrap();
        write_packet(&mut file, Duration::new(7, 42), &[0x45, 1, 2]).unwrap();
        let words: Vec<u32> = file[..40]
            .chunks(4)
            .map(|w| u32::from_ne_bytes(w.try_into().unwrap()))
            .collect();
        assert_eq!(
            (words[0], words[4], words[5]),
            (MAGIC, SNAPLEN, LINKTYPE_RAW)
        );
        assert_eq!(words[6..], [7, 42, 3, 3]);
        assert_eq!(file[40..], [0x45, 1, 2]);
    }
}
