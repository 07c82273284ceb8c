//! Datagrams from local programs.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::UdpSocket;
use tokio::time::Instant;

use super::{CHUNK, Feed};
use crate::view::media::Parse;

/// Bytes that may wait in the system: key frames come in bursts.
const BUFFER: usize = 4 << 20;

/// A sender that is silent for this long may be followed by another one.
const SILENCE: Duration = Duration::from_secs(2);

/// The one that sends the stream: what others send between is no part of it.
#[derive(Debug, Default)]
struct Sender(Option<(SocketAddr, Instant)>);

impl Sender {
    fn is(&mut self, from: SocketAddr, now: Instant) -> bool {
        let is_other = |&(addr, last): &(_, Instant)| addr != from && now - last < SILENCE;
        let is = !self.0.as_ref().is_some_and(is_other);
        if is {
            self.0 = Some((from, now));
        }
        is
    }
}

/// An address that a source sends to.
pub(super) struct Socket(UdpSocket);

impl Socket {
    pub(super) async fn bind(addr: SocketAddr) -> io::Result<Self> {
        let socket = UdpSocket::bind(addr).await?;
        // The system may give less.
        let _ = socket2::SockRef::from(&socket).set_recv_buffer_size(BUFFER);
        Ok(Socket(socket))
    }

    /// Takes datagrams until the socket fails.
    pub(super) async fn play(
        &self,
        mut parser: Box<dyn Parse>,
        mut feed: Feed<'_>,
    ) -> io::Result<()> {
        let (mut buffer, mut sender) = (vec![0; CHUNK], Sender::default());
        loop {
            let (length, from) = self.0.recv_from(&mut buffer).await?;
            if sender.is(from, Instant::now()) {
                feed.push(&mut *parser, &buffer[..length]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_sends_until_it_is_silent() {
        let (begin, mut sender) = (Instant::now(), Sender::default());
        let [one, other] = [1, 2].map(|port| SocketAddr::from(([127, 0, 0, 1], port)));
        for (from, millis, is) in [
            (one, 0, true),
            (other, 100, false),
            (one, 1500, true),
            (other, 3400, false),
            (other, 3500, true),
            (one, 3600, false),
        ] {
            let now = begin + Duration::from_millis(millis);
            assert_eq!(sender.is(from, now), is, "{from} after {millis} ms");
        }
    }
}
