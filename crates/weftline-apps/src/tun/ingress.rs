//! Packets that this host sends through the device.

use std::io::{self, ErrorKind};

use super::device::Device;
use super::options::MOST_MTU;
use super::packet::Header;
use super::wire::HEAD;

/// Packets read before other tasks have their turn.
const BATCH: usize = 64;

/// Reads the device's packets for as long as it is there; each goes to `take` with room for a head
/// before it, and with its header if it is valid. Returns the device's error.
pub(super) async fn ingress(
    device: &impl Device,
    take: impl Fn(Vec<u8>, Option<Header>),
) -> io::Error {
    let mut buffer = vec![0; HEAD + usize::from(MOST_MTU)];
    let take = |buffer: &[u8], length: usize| {
        let frame = &buffer[..buffer.len().min(HEAD + length)];
        take(frame.to_vec(), Header::read(&frame[HEAD..]));
    };
    loop {
        match device.recv(&mut buffer[HEAD..]).await {
            Ok(length) => take(&buffer, length),
            Err(error) => return error,
        }
        for _ in 1..BATCH {
            match device.try_recv(&mut buffer[HEAD..]) {
                Ok(length) => take(&buffer, length),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return error,
            }
        }
        tokio::task::yield_now().await;
    }
}
