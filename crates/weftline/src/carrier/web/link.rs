//! One page's connection.

use std::collections::VecDeque;
use std::future::Future;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::{Buf, Bytes};
use quinn::{ConnectionError, VarInt};
use tokio::time::timeout;
use weftline_proto::CloseReason;

use super::super::quic::{ANSWERED, Wire};
use super::http3::Session;
use super::{PREFIX, code};
use crate::{ExportError, Packets};

/// A page with a session.
pub(crate) struct Link {
    wire: Wire,
    session: Session,
    path: String,
}

impl Link {
    pub(super) fn new(wire: Wire, session: Session, path: String) -> Self {
        Link {
            wire,
            session,
            path,
        }
    }

    /// Path and query of the URL that the page has asked for.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Runs the engine's work.
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.wire.spawn(work);
    }

    pub(crate) fn room(&self) -> usize {
        self.wire.room()
    }

    /// Each of them begins with [`PREFIX`].
    pub(crate) async fn send(&self, datagrams: &mut VecDeque<Bytes>) -> Result<(), CloseReason> {
        let end = |error| self.end(error);
        self.wire.send(datagrams, PREFIX.len(), end).await
    }

    pub(crate) async fn recv(
        &self,
        batch: &mut Vec<Bytes>,
        limit: usize,
    ) -> Result<(), CloseReason> {
        let received = self.wire.recv(batch, limit).await;
        received.map_err(|error| self.end(error))?;
        batch.retain_mut(|datagram| {
            let is_ours = datagram.starts_with(PREFIX);
            if is_ours {
                datagram.advance(PREFIX.len());
            }
            is_ours
        });
        Ok(())
    }

    pub(crate) async fn close(&self, code: u64, reason: &str) {
        self.wire.drained().await;
        let code = code::to_page(code);
        if self.wire.connection.close_reason().is_none() {
            // The page ends the connection when it has heard of it, if it is still there.
            let answer = 2 * self.wire.rtt() + ANSWERED;
            let told = async {
                if self.session.close(code, reason).await.is_ok() {
                    self.wire.connection.closed().await;
                }
            };
            timeout(answer, told).await.ok();
        }
        let code = VarInt::from_u64(code::to_http3(code)).unwrap_or(VarInt::MAX);
        self.wire.connection.close(code, reason.as_bytes());
    }

    pub(crate) fn export_keying_material(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: &[u8],
    ) -> Result<(), ExportError> {
        self.wire.export_keying_material(output, label, context)
    }

    pub(crate) fn remote_addr(&self) -> SocketAddr {
        self.wire.remote_addr()
    }

    pub(crate) fn rtt(&self) -> Duration {
        self.wire.rtt()
    }

    pub(crate) fn packets(&self) -> Packets {
        self.wire.packets()
    }

    pub(crate) fn congestion_marks(&self) -> u64 {
        self.wire.congestion_marks()
    }

    pub(crate) fn max_datagram(&self) -> usize {
        self.wire.max_datagram().saturating_sub(PREFIX.len())
    }

    fn end(&self, error: ConnectionError) -> CloseReason {
        let reason = self.wire.end(error);
        match self.wire.ended() {
            Some(ConnectionError::LocallyClosed) => self.session.closed().unwrap_or(reason),
            Some(ConnectionError::ApplicationClosed(close)) => {
                code::connection_closed(close, self.wire.idle())
            }
            _ => reason,
        }
    }
}
