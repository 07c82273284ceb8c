//! KCP, as the tokio_kcp crate implements it, with the settings that users call fast3.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, sleep};
use tokio_kcp::{KcpConfig, KcpListener, KcpNoDelayConfig, KcpStream};

use super::socket::{any_port, bound_tokio};
use super::{ByteStream, Link, Listener, LoadError, Settings, Task, Transport};

/// Bytes passed to KCP at a time: it refuses data of 128 packets or more.
const PIECE: usize = 32 << 10;
/// How long closing waits for the peer to receive everything.
const LINGER: Duration = Duration::from_secs(1);
/// Time between two checks of this.
const LOOK: Duration = Duration::from_millis(5);

/// KCP in stream mode.
pub(super) struct Kcp(KcpConfig);

impl Kcp {
    pub(super) fn take(settings: &mut Settings) -> Result<Self, LoadError> {
        let config = KcpConfig {
            mtu: settings
                .number("mtu", "bytes of a UDP payload", 100..=1472)?
                .unwrap_or(1400),
            nodelay: KcpNoDelayConfig {
                nodelay: settings.switch("nodelay")?.unwrap_or(true),
                interval: settings
                    .number("interval", "milliseconds", 10..=5000)?
                    .unwrap_or(10),
                resend: settings
                    .number("resend", "acknowledgements", 0..=100)?
                    .unwrap_or(2),
                nc: settings.switch("nc")?.unwrap_or(true),
            },
            wnd_size: {
                let window = settings.number("window", "packets", 128..=32_768u16)?;
                let window = window.unwrap_or(1024);
                (window, window)
            },
            flush_write: settings.switch("flush")?.unwrap_or(true),
            flush_acks_input: settings.switch("acknodelay")?.unwrap_or(true),
            stream: true,
            ..KcpConfig::default()
        };
        Ok(Kcp(config))
    }
}

impl Transport for Kcp {
    fn listen(&self, at: SocketAddr) -> Task<'_, Box<dyn Listener>> {
        Box::pin(async move {
            let listener = KcpListener::from_socket(self.0, bound_tokio(at)?).await;
            let listener = listener.map_err(|e| LoadError::Listen {
                at,
                reason: e.to_string(),
            })?;
            Ok(Box::new(listener) as Box<dyn Listener>)
        })
    }

    fn connect(&self, to: SocketAddr) -> Task<'_, Link> {
        Box::pin(async move {
            let socket = bound_tokio(any_port(to))?;
            let stream = KcpStream::connect_with_socket(&self.0, socket, to).await;
            let stream = stream.map_err(|e| LoadError::Connect {
                to,
                reason: e.to_string(),
            })?;
            Ok(Link::Bytes(Box::new(Stream(stream))))
        })
    }
}

impl Listener for KcpListener {
    fn accept(&mut self) -> Task<'_, Link> {
        Box::pin(async move {
            let (stream, _) = KcpListener::accept(self).await.map_err(io::Error::other)?;
            Ok(Link::Bytes(Box::new(Stream(stream))))
        })
    }
}

struct Stream(KcpStream);

impl ByteStream for Stream {
    fn close(self: Box<Self>) -> Task<'static, ()> {
        Box::pin(async move {
            // KCP cannot end a connection: a program can only check whether packets wait to be
            // acknowledged.
            let end = Instant::now() + LINGER;
            while !self.0.session().kcp_socket().lock().can_close() && Instant::now() < end {
                sleep(LOOK).await;
            }
            Ok(())
        })
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let piece = &bytes[..bytes.len().min(PIECE)];
        Pin::new(&mut self.0).poll_write(context, piece)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
