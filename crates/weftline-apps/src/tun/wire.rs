//! The messages between the two ends of a tunnel, inside a session (`docs/reference/tun-protocol.md`).
//!
//! Each IP packet is a message: a head, then the packet unchanged. The two ends agree over one stream
//! that the client opens: its [`Hello`], then the server's [`Answer`].

use std::io;

use bytes::{Buf, Bytes};
use ipnet::IpNet;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::AsyncRead;

use super::device::Lease;
use super::options::{LEAST_MTU, MOST_MTU, MOST_SUGGESTED};
use super::packet::{is_private, is_routable};
use super::pool::{is_one_of_each, is_sized};
use crate::line;

/// The version of this protocol.
pub(super) const VERSION: u32 = 1;
/// Flows that an end tells apart: as many as FQ-CoDel has queues (RFC 8290, section 5.2.3).
pub(super) const FLOWS: u16 = 1024;
/// Bytes of the head of a packet with a number; one without has the first alone.
pub(super) const HEAD: usize = 7;
/// Longest name of a tunnel, in bytes.
pub(super) const LONGEST_NAME: usize = 64;

/// First byte of a message: the packet may be delivered in any order.
const UNORDERED: u8 = 0;
/// First byte of a message: a flow and a number follow.
const ORDERED: u8 = 1;

/// The place of a packet in its flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The flow, below [`FLOWS`].
    pub(super) flow: u16,
    /// The packet's number in the flow.
    pub(super) number: u32,
}

/// A message of the packet in `frame` after [`HEAD`] bytes, with its place if the order matters.
pub(super) fn message(mut frame: Vec<u8>, place: Option<Place>) -> Bytes {
    match place {
        Some(Place { flow, number }) => {
            frame[0] = ORDERED;
            frame[1..3].copy_from_slice(&flow.to_be_bytes());
            frame[3..HEAD].copy_from_slice(&number.to_be_bytes());
            frame.into()
        }
        None => {
            frame[HEAD - 1] = UNORDERED;
            let mut message = Bytes::from(frame);
            message.advance(HEAD - 1);
            message
        }
    }
}

/// The packet in a message and its place. `None`: the message is not valid.
pub(super) fn take(mut message: Bytes) -> Option<(Option<Place>, Bytes)> {
    let place = match message.try_get_u8().ok()? {
        UNORDERED => None,
        ORDERED => {
            let flow = message.try_get_u16().ok().filter(|flow| *flow < FLOWS)?;
            let number = message.try_get_u32().ok()?;
            Some(Place { flow, number })
        }
        _ => return None,
    };
    Some((place, message))
}

/// Reads one of the messages below; [`crate::line::write`] writes them.
pub(super) async fn read<T: DeserializeOwned>(
    stream: &mut (impl AsyncRead + Unpin),
) -> io::Result<T> {
    line::read(stream, "the tunnel").await
}

/// The client's first message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Hello {
    /// [`VERSION`]
    pub(super) weftline_tun: u32,
    /// Names the tunnel among those of the client, at most [`LONGEST_NAME`] bytes.
    pub(super) name: String,
}

/// The server's answer to a [`Hello`]: a [`Lease`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Answer {
    /// [`VERSION`]
    pub(super) weftline_tun: u32,
    #[serde(flatten)]
    pub(super) lease: Lease,
}

impl Answer {
    pub(super) fn new(lease: Lease) -> Self {
        Answer {
            weftline_tun: VERSION,
            lease,
        }
    }

    /// The lease, if a device can have it.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn lease(self) -> Result<Lease, &'static str> {
        let mut lease = self.lease;
        if !is_one_of_each(&lease.addresses) {
            return Err("the server must grant one address of each IP version, or of one");
        }
        let is_possible = |net: &IpNet| is_sized(net) && is_routable(net.addr());
        if !lease.addresses.iter().all(is_possible) || lease.server.len() > 2 {
            return Err("the server grants an address that a host cannot have");
        }
        if !(LEAST_MTU..=MOST_MTU).contains(&lease.mtu) {
            return Err("the server grants an MTU that is not possible");
        }
        if lease.routes.len() > MOST_SUGGESTED || lease.dns.len() > MOST_SUGGESTED {
            return Err("the server suggests too many routes or DNS servers");
        }
        // What is sent to other hosts of the Internet goes into the tunnel only if this end wants it.
        let own = |net: &IpNet| match is_private(net.addr()) {
            true => *net,
            false => IpNet::from(net.addr()),
        };
        lease.addresses = lease.addresses.iter().map(own).collect();
        Ok(lease)
    }
}
