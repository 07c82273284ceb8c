//! As much of HTTP/3 (RFC 9114) as a session of WebTransport needs: each end's settings, the page's request
//! and the answer, and capsules (RFC 9297) on the request's stream, which then stands for the session.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use quinn::{Connection, RecvStream, SendStream};
use tokio::io::{AsyncRead, ReadBuf};
use tokio::task::AbortHandle;
use web_transport_proto::http::StatusCode;
use web_transport_proto::{
    Capsule, ConnectRequest, ConnectResponse, Frame, Http3CapsuleReader, Settings, VarInt,
};
use weftline_proto::{CloseReason, printable};

use super::super::quic::Wire;
use super::code;
use crate::lock::lock;

/// Sessions of a connection.
const SESSIONS: u32 = 1;
/// Bytes of a close's reason (draft-ietf-webtrans-http3, section 6).
const REASON: usize = 1024;
/// Bytes of the request's stream in which a capsule has to end: one of 64 KiB does, in frames of one byte each.
const CAPSULE: usize = 256 << 10;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The control streams: while the connection lasts, neither may end.
struct Control {
    _ours: SendStream,
    _theirs: RecvStream,
}

/// A page has asked for a session.
pub(super) struct Asked {
    pub(super) request: ConnectRequest,
    control: Control,
    send: SendStream,
    recv: RecvStream,
}

impl Asked {
    /// Exchanges settings with the page, and reads its request.
    pub(super) async fn hear(connection: &Connection) -> Result<Asked, Failure> {
        let (_ours, _theirs) =
            tokio::try_join!(tell_settings(connection), hear_settings(connection))?;
        let (send, mut recv) = connection.accept_bi().await?;
        Ok(Asked {
            request: ConnectRequest::read(&mut recv).await?,
            control: Control { _ours, _theirs },
            send,
            recv,
        })
    }

    /// Says no, and waits until the page has heard it.
    pub(super) async fn refuse(mut self) {
        let answer = ConnectResponse::new(StatusCode::FORBIDDEN);
        if answer.write(&mut self.send).await.is_ok() && self.send.finish().is_ok() {
            self.send.stopped().await.ok();
        }
    }

    /// Says yes: the session begins.
    pub(super) async fn accept(mut self, wire: &Wire) -> Result<Session, Failure> {
        ConnectResponse::OK.write(&mut self.send).await?;
        let closed = Arc::new(OnceLock::new());
        let listen = listen(
            wire.connection.clone(),
            self.recv,
            wire.idle(),
            closed.clone(),
        );
        Ok(Session {
            _control: self.control,
            send: Mutex::new(Some(self.send)),
            closed,
            listener: tokio::spawn(listen).abort_handle(),
        })
    }
}

async fn tell_settings(connection: &Connection) -> Result<SendStream, Failure> {
    let mut settings = Settings::default();
    settings.enable_webtransport(SESSIONS);
    let mut control = connection.open_uni().await?;
    settings.write(&mut control).await?;
    Ok(control)
}

async fn hear_settings(connection: &Connection) -> Result<RecvStream, Failure> {
    let mut control = connection.accept_uni().await?;
    let settings = Settings::read(&mut control).await?;
    match settings.supports_webtransport() {
        0 => Err("it does not speak WebTransport".into()),
        _ => Ok(control),
    }
}

/// A page's session, while its streams are open.
pub(super) struct Session {
    _control: Control,
    /// This end's half of the request's stream, until it is closed.
    send: Mutex<Option<SendStream>>,
    /// How the page has ended the session.
    closed: Arc<OnceLock<CloseReason>>,
    listener: AbortHandle,
}

impl Drop for Session {
    fn drop(&mut self) {
        self.listener.abort();
    }
}

impl Session {
    /// How the page has ended the session, if it has.
    pub(super) fn closed(&self) -> Option<CloseReason> {
        self.closed.get().cloned()
    }

    /// Tells the page that the session is over.
    pub(super) async fn close(&self, code: u32, reason: &str) -> Result<(), Failure> {
        let send = {
            let mut send = lock(&self.send);
            send.take()
        };
        let Some(mut send) = send else { return Ok(()) };
        let capsule = Capsule::CloseWebTransportSession {
            code,
            reason: beginning(reason, REASON).to_owned(),
        };
        let (mut contents, mut frame) = (Vec::new(), Vec::new());
        capsule.encode(&mut contents);
        Frame::DATA.encode(&mut frame);
        VarInt::try_from(contents.len())?.encode(&mut frame);
        frame.append(&mut contents);
        send.write_all(&frame).await?;
        Ok(send.finish()?)
    }
}

/// As much of it as fits into so many bytes.
fn beginning(text: &str, bytes: usize) -> &str {
    let end = (0..=bytes.min(text.len())).rfind(|at| text.is_char_boundary(*at));
    &text[..end.unwrap_or(0)]
}

/// A stream that fails when no capsule ends in time: until then its reader keeps all that comes.
struct Metered {
    recv: RecvStream,
    left: Arc<AtomicUsize>,
}

impl AsyncRead for Metered {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let left = self.left.load(Ordering::Relaxed);
        if left == 0 {
            return Poll::Ready(Err(io::Error::other("a capsule does not end")));
        }
        let before = buffer.filled().len();
        ready!(AsyncRead::poll_read(
            Pin::new(&mut self.recv),
            context,
            buffer
        ))?;
        let read = buffer.filled().len() - before;
        self.left
            .store(left.saturating_sub(read), Ordering::Relaxed);
        Poll::Ready(Ok(()))
    }
}

/// Waits until the page ends the session; then ends the connection.
async fn listen(
    connection: Connection,
    recv: RecvStream,
    idle: Duration,
    closed: Arc<OnceLock<CloseReason>>,
) {
    let left = Arc::new(AtomicUsize::new(CAPSULE));
    let mut capsules = Http3CapsuleReader::new(Metered {
        recv,
        left: left.clone(),
    });
    let reason = loop {
        match capsules.read().await {
            Ok(Some(Capsule::CloseWebTransportSession { code, reason })) => {
                break code::closed_by_page(code, &reason, idle);
            }
            // What is not known is passed over (RFC 9297, section 3.2).
            Ok(Some(_)) => left.store(CAPSULE, Ordering::Relaxed),
            // Without a word it stands for code 0.
            Ok(None) => break code::closed_by_page(0, "", idle),
            // That is met elsewhere.
            Err(_) if connection.close_reason().is_some() => return,
            Err(error) => break CloseReason::Carrier(printable(&error.to_string())),
        }
        tokio::task::consume_budget().await;
    };
    closed.set(reason).ok();
    connection.close(quinn::VarInt::from_u32(code::NO_ERROR), b"");
}
