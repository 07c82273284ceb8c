//! QUIC's first packets (RFC 9000, RFC 9001), made from those of a real client: the same TLS
//! messages to any number of connection ids.

use anyhow::{Result, anyhow, bail};
use rustls::quic::{Keys, Suite, Version};
use rustls::{Side, crypto::aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256};

/// Bytes of the server's connection id that a client chooses at first.
pub(super) const ID: usize = 8;
/// A client's first datagram has at least this many bytes.
const LEAST: usize = 1200;
/// Bytes of AES-GCM's tag.
const TAG: usize = 16;
/// Header byte and version of an Initial packet whose packet number has four bytes.
const FIRST: u8 = 0xc3;
const V1: [u8; 4] = [0, 0, 0, 1];
/// The type of a Retry packet, in the header byte.
const RETRY: u8 = 0xf0;

/// What a client sends first, without its packets.
#[derive(Clone, Debug)]
pub(super) struct Flight {
    /// The client's connection id, which its TLS message names.
    client: Vec<u8>,
    /// The frames of each packet.
    payloads: Vec<Vec<u8>>,
}

/// A server's demand to prove the address.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Retry {
    id: Vec<u8>,
    token: Vec<u8>,
}

impl Flight {
    /// Takes apart what a client sent.
    ///
    /// # Errors
    /// That is not a client's first flight.
    pub(super) fn of(datagrams: &[Vec<u8>]) -> Result<Self> {
        let (mut client, mut payloads) = (Vec::new(), Vec::new());
        for datagram in datagrams {
            let (id, payload) = open(datagram)?;
            client = id;
            payloads.push(payload);
        }
        if payloads.is_empty() {
            bail!("the client sent nothing");
        }
        Ok(Flight { client, payloads })
    }

    /// The datagrams of a client that sends this to the connection id, with the token of a Retry.
    pub(super) fn datagrams(&self, id: &[u8], token: &[u8]) -> Result<Vec<Vec<u8>>> {
        let keys = keys(id, Side::Client)?;
        let packets = self.payloads.iter().enumerate();
        packets
            .map(|(number, payload)| seal(&keys, number as u32, id, &self.client, token, payload))
            .collect()
    }

    /// The same after this Retry.
    pub(super) fn after(&self, retry: &Retry) -> Result<Vec<Vec<u8>>> {
        self.datagrams(&retry.id, &retry.token)
    }
}

impl Retry {
    /// Reads a Retry packet.
    pub(super) fn read(datagram: &[u8]) -> Option<Self> {
        let mut rest = Bytes(datagram);
        let first = rest.take(1)?[0];
        if first & 0xf0 != RETRY || rest.take(4)? != V1 {
            return None;
        }
        let _client = rest.counted()?;
        let id = rest.counted()?.to_vec();
        let token = rest.0.get(..rest.0.len().checked_sub(TAG)?)?.to_vec();
        Some(Retry { id, token })
    }
}

fn suite() -> Result<Suite> {
    let suite = TLS13_AES_128_GCM_SHA256.tls13();
    suite
        .and_then(|suite| suite.quic_suite())
        .ok_or_else(|| anyhow!("this TLS library has no keys for QUIC"))
}

fn keys(id: &[u8], side: Side) -> Result<Keys> {
    Ok(suite()?.keys(id, side, Version::V1))
}

fn seal(
    keys: &Keys,
    number: u32,
    id: &[u8],
    client: &[u8],
    token: &[u8],
    payload: &[u8],
) -> Result<Vec<u8>> {
    let mut packet = vec![FIRST];
    packet.extend(V1);
    for id in [id, client] {
        packet.push(id.len() as u8);
        packet.extend(id);
    }
    packet.extend(varint(token.len()));
    packet.extend(token);
    let head = packet.len() + 2 + 4;
    let body = payload.len().max(LEAST.saturating_sub(head + TAG));
    packet.extend(varint(4 + body + TAG));
    let at = packet.len();
    packet.extend(number.to_be_bytes());
    let mut sealed = payload.to_vec();
    // PADDING frames are zeros.
    sealed.resize(body, 0);
    let tag = keys
        .local
        .packet
        .encrypt_in_place(u64::from(number), &packet, &mut sealed)?;
    packet.extend(sealed);
    packet.extend(tag.as_ref());
    let (head, tail) = packet.split_at_mut(at);
    let (number, sample) = tail.split_at_mut(4);
    let sample = &sample[..keys.local.header.sample_len()];
    keys.local
        .header
        .encrypt_in_place(sample, &mut head[0], number)?;
    Ok(packet)
}

/// The client's connection id and the frames of its first packet.
fn open(datagram: &[u8]) -> Result<(Vec<u8>, Vec<u8>)> {
    let short = || anyhow!("a packet ends too early");
    let mut rest = Bytes(datagram);
    let _first = rest.take(5).ok_or_else(short)?;
    let id = rest.counted().ok_or_else(short)?;
    let client = rest.counted().ok_or_else(short)?.to_vec();
    let token = rest.varint().ok_or_else(short)?;
    rest.take(token).ok_or_else(short)?;
    let len = rest.varint().ok_or_else(short)?;
    let at = datagram.len() - rest.0.len();
    let mut packet = datagram.get(..at + len).ok_or_else(short)?.to_vec();
    let keys = keys(id, Side::Server)?;
    let (head, tail) = packet.split_at_mut(at);
    let (number, sample) = tail.split_at_mut(4);
    let sample = sample
        .get(..keys.remote.header.sample_len())
        .ok_or_else(short)?;
    keys.remote
        .header
        .decrypt_in_place(sample, &mut head[0], number)?;
    let digits = usize::from(head[0] & 3) + 1;
    let number = number[..digits]
        .iter()
        .fold(0, |n, byte| n << 8 | u64::from(*byte));
    let (head, body) = packet.split_at_mut(at + digits);
    let payload = keys.remote.packet.decrypt_in_place(number, head, body)?;
    let end = payload
        .iter()
        .rposition(|byte| *byte != 0)
        .map_or(0, |last| last + 1);
    Ok((client, payload[..end].to_vec()))
}

/// Bytes that are read from the front.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    /// A number of bytes, and these.
    fn counted(&mut self) -> Option<&'a [u8]> {
        let len = self.take(1)?[0];
        self.take(usize::from(len))
    }

    /// RFC 9000, section 16.
    fn varint(&mut self) -> Option<usize> {
        let first = *self.0.first()?;
        let bytes = self.take(1 << (first >> 6))?;
        let rest = bytes[1..].iter();
        Some(rest.fold(usize::from(first & 0x3f), |n, byte| {
            n << 8 | usize::from(*byte)
        }))
    }
}

/// A number below 2^14 in two bytes.
fn varint(number: usize) -> [u8; 2] {
    [0x40 | (number >> 8) as u8, number as u8]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flight_is_taken_apart_and_put_together_again() {
        let flight = Flight {
            client: vec![1, 2, 3],
            payloads: vec![vec![6, 0, 5, 1, 2, 3, 4, 5], vec![6, 5, 1, 9]],
        };
        for token in [&[][..], &[7; 70]] {
            let datagrams = flight.datagrams(&[9; ID], token).unwrap();
            assert!(datagrams.iter().all(|datagram| datagram.len() == LEAST));
            let again = Flight::of(&datagrams).unwrap();
            assert_eq!(
                (again.client, again.payloads),
                (flight.client.clone(), flight.payloads.clone())
            );
        }
        assert!(Flight::of(&[vec![0xc3; 40]]).is_err() && Flight::of(&[]).is_err());
    }

    #[test]
    fn a_retry_is_read() {
        let mut packet = vec![0xf5, 0, 0, 0, 1, 2, 1, 1, 3, 4, 5, 6];
        packet.extend([8; 10]);
        packet.extend([0; TAG]);
        let retry = Retry {
            id: vec![4, 5, 6],
            token: vec![8; 10],
        };
        assert_eq!(Retry::read(&packet), Some(retry));
        assert_eq!(Retry::read(&packet[..20]), None);
        packet[0] = 0xc5;
        assert_eq!(Retry::read(&packet), None);
    }
}
