//! A client's handshake packets leave more than once.
//!
//! They are few and small, and everything waits for them: QUIC sends a lost one again after three
//! times a round trip that nobody knows yet. So a copy follows each a little later, and one of Initial
//! packets at once too: early data that comes before them means nothing to a server. The receiver drops
//! copies as any duplicate (RFC 9000, section 12.3). Servers send none: before a client has proved
//! its address, what is sent there is bounded by what came from it (section 8.1).

use std::fmt;
use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use quinn::udp::{EcnCodepoint, RecvMeta, Transmit};
use quinn::{AsyncUdpSocket, UdpPoller};

/// What loses packets for a moment is over then, mostly.
const LATER: Duration = Duration::from_millis(10);

/// Bytes that the system cuts into packets at most.
const CUT: usize = 65_000;

/// A socket that sends handshake packets again, while its endpoint answers no clients.
pub(super) struct Twice {
    socket: Arc<dyn AsyncUdpSocket>,
    /// The endpoint answers clients.
    serves: Arc<AtomicBool>,
}

impl Twice {
    pub(super) fn new(socket: Arc<dyn AsyncUdpSocket>, serves: Arc<AtomicBool>) -> Arc<Self> {
        Arc::new(Twice { socket, serves })
    }
}

/// Packets of the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Initial,
    Handshake,
}

/// What the UDP datagram begins with, of QUIC version 1 (RFC 9000, section 17.2); whatever else is in
/// it comes along.
fn kind(datagram: &[u8]) -> Option<Kind> {
    const LONG: u8 = 0x80;
    let (&first, rest) = datagram.split_first()?;
    let is_long = first & LONG != 0 && rest.starts_with(&[0, 0, 0, 1]);
    match (first >> 4) & 3 {
        0 if is_long => Some(Kind::Initial),
        2 if is_long => Some(Kind::Handshake),
        _ => None,
    }
}

impl AsyncUdpSocket for Twice {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        self.socket.clone().create_io_poller()
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        let size = transmit.segment_size.unwrap_or(transmit.contents.len());
        // QUIC sends ten packets at a time. As jumbo frames they are longer together than the system
        // takes; copies, if there is no room in between, do no harm.
        for contents in transmit
            .contents
            .chunks((CUT / size.max(1)).max(1) * size.max(1))
        {
            self.socket.try_send(&Transmit {
                contents,
                segment_size: transmit.segment_size.filter(|size| contents.len() > *size),
                ..*transmit
            })?;
        }
        let first = &transmit.contents[..size.min(transmit.contents.len())];
        if let Some(kind) = kind(first)
            && !self.serves.load(Ordering::Relaxed)
        {
            let socket = self.socket.clone();
            let copy = Copy {
                destination: transmit.destination,
                contents: first.to_vec(),
                ecn: transmit.ecn,
                src_ip: transmit.src_ip,
            };
            if kind == Kind::Initial {
                self.socket.try_send(&copy.transmit()).ok();
            }
            tokio::spawn(async move {
                tokio::time::sleep(LATER).await;
                // A copy that finds no room is not worth waiting for.
                socket.try_send(&copy.transmit()).ok();
            });
        }
        Ok(())
    }

    fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        bufs: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        self.socket.poll_recv(cx, bufs, meta)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    fn max_transmit_segments(&self) -> usize {
        self.socket.max_transmit_segments()
    }

    fn max_receive_segments(&self) -> usize {
        self.socket.max_receive_segments()
    }

    fn may_fragment(&self) -> bool {
        self.socket.may_fragment()
    }
}

impl fmt::Debug for Twice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Twice").field(&self.socket).finish()
    }
}

struct Copy {
    destination: SocketAddr,
    contents: Vec<u8>,
    ecn: Option<EcnCodepoint>,
    src_ip: Option<std::net::IpAddr>,
}

impl Copy {
    fn transmit(&self) -> Transmit<'_> {
        Transmit {
            destination: self.destination,
            ecn: self.ecn,
            contents: &self.contents,
            segment_size: None,
            src_ip: self.src_ip,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn initial_and_handshake_packets_are_told_from_the_others() {
        let long = |kind: u8| [0xc0 | (kind << 4), 0, 0, 0, 1, 8];
        assert_eq!(kind(&long(0)), Some(Kind::Initial));
        assert_eq!(kind(&long(2)), Some(Kind::Handshake));
        // 0-RTT and Retry.
        assert_eq!((kind(&long(1)), kind(&long(3))), (None, None));
        // With the fixed bit greased (RFC 9287), another version, a short header, nothing.
        assert_eq!(kind(&[0x80, 0, 0, 0, 1]), Some(Kind::Initial));
        assert_eq!(kind(&[0xc0, 0, 0, 0, 2]), None);
        assert_eq!(kind(&[0x40, 0, 0, 0, 1]), None);
        assert_eq!(kind(&[]), None);
    }
}
