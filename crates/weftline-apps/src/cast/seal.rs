//! The seal that a group key puts on each packet.
//!
//! ```text
//! sealed packet:  start 48 | random 48 | number 48 | ChaCha20-Poly1305(packet) | tag 128
//! ```
//!
//! `start` (milliseconds since 1970) and `random` name a run of a sender. Each run has its own
//! key, HKDF-SHA-256 of the group key with them as salt, and counts its packets, so that no nonce
//! is ever used twice. The header and the packet's flow are authenticated too.
//!
//! A receiver accepts one run at a time, and changes only to a run that started later: a recording
//! of an earlier run cannot be replayed to it.

use std::time::{SystemTime, UNIX_EPOCH};

use aws_lc_rs::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::hkdf::{HKDF_SHA256, Salt};

use super::group_key::GroupKey;
use super::replay::Replay;

/// Octets of a run's name and of a packet's number.
const RUN: usize = 12;
const NUMBER: usize = 6;
const HEADER: usize = RUN + NUMBER;
const TAG: usize = 16;
/// Octets that the seal adds to a packet.
pub(super) const OVERHEAD: usize = HEADER + TAG;
/// Separates these keys from others that are derived from the same secret.
const PURPOSE: &[u8] = b"weftline cast 1";

/// The flow of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lane {
    /// With the source packets of this flow.
    Source(u8),
    /// With the repair packets.
    Repair,
}

impl Lane {
    fn octets(self) -> [u8; 2] {
        match self {
            Lane::Source(flow) => [0, flow],
            Lane::Repair => [1, 0],
        }
    }
}

/// The system gives no random numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NoRandom;

/// Seals the packets of one run of a sender.
#[derive(Debug)]
pub(super) struct Sealer {
    run: [u8; RUN],
    key: LessSafeKey,
    next: u64,
    packet: Vec<u8>,
}

impl Sealer {
    /// A new run, as of now.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub(super) fn new(key: &GroupKey) -> Result<Self, NoRandom> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let start = since.map_or(0, |since| since.as_millis() as u64);
        let mut run = [0; RUN];
        run[..6].copy_from_slice(&start.to_be_bytes()[2..]);
        aws_lc_rs::rand::fill(&mut run[6..]).map_err(|_| NoRandom)?;
        Ok(Sealer {
            run,
            key: run_key(key, &run),
            next: 0,
            packet: Vec::new(),
        })
    }

    /// `packet`, sealed.
    pub(super) fn seal(&mut self, lane: Lane, packet: &[u8]) -> &[u8] {
        let number = self.next;
        self.next += 1;
        let sealed = &mut self.packet;
        sealed.clear();
        sealed.extend_from_slice(&self.run);
        sealed.extend_from_slice(&number.to_be_bytes()[8 - NUMBER..]);
        let aad = aad(sealed, lane);
        sealed.extend_from_slice(packet);
        let inside = &mut sealed[HEADER..];
        let tag = self
            .key
            .seal_in_place_separate_tag(nonce(number), Aad::from(aad), inside)
            .expect("no datagram is too long for the cipher");
        sealed.extend_from_slice(tag.as_ref());
        sealed
    }
}

/// Why a packet could not be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It was not sealed with the key, or not for this flow, or it was changed on the path.
    Forged,
    /// It is a duplicate, too old to tell, or of an earlier run.
    Replayed,
}

/// A packet that was opened.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Opened<'a> {
    pub(super) packet: &'a [u8],
    /// Whether the sender has restarted.
    pub(super) is_new_run: bool,
}

/// Opens the packets of a group's senders, one run at a time.
#[derive(Debug)]
pub(super) struct Opener {
    key: GroupKey,
    run: Option<Run>,
}

#[derive(Debug)]
struct Run {
    name: [u8; RUN],
    key: LessSafeKey,
    replay: Replay,
}

impl Opener {
    pub(super) fn new(key: GroupKey) -> Self {
        Opener { key, run: None }
    }

    /// Opens a packet in place.
    ///
    /// # Errors
    /// As [`Refusal`] says; nothing changes then.
    pub(super) fn open<'a>(
        &mut self,
        lane: Lane,
        sealed: &'a mut [u8],
    ) -> Result<Opened<'a>, Refusal> {
        let (header, inside) = sealed.split_at_mut_checked(HEADER).ok_or(Refusal::Forged)?;
        let (name, number) = header.split_at(RUN);
        let number = number.iter().fold(0, |n, octet| n << 8 | u64::from(*octet));
        let aad = Aad::from(aad(header, lane));
        if let Some(run) = self.run.as_mut().filter(|run| run.name == name) {
            if !run.replay.is_new(number) {
                return Err(Refusal::Replayed);
            }
            let packet = open(&run.key, number, aad, inside)?;
            run.replay.mark(number);
            return Ok(Opened {
                packet,
                is_new_run: false,
            });
        }
        // `start` comes first and alone decides; a run of the same millisecond is refused.
        if self
            .run
            .as_ref()
            .is_some_and(|run| name[..6] <= run.name[..6])
        {
            return Err(Refusal::Replayed);
        }
        let mut new = Run {
            name: name.try_into().map_err(|_| Refusal::Forged)?,
            key: run_key(&self.key, name),
            replay: Replay::new(),
        };
        let packet = open(&new.key, number, aad, inside)?;
        new.replay.mark(number);
        let is_new_run = self.run.replace(new).is_some();
        Ok(Opened { packet, is_new_run })
    }
}

fn open<'a>(
    key: &LessSafeKey,
    number: u64,
    aad: Aad<[u8; HEADER + 2]>,
    inside: &'a mut [u8],
) -> Result<&'a [u8], Refusal> {
    let opened = key.open_in_place(nonce(number), aad, inside);
    opened.map(|packet| &*packet).map_err(|_| Refusal::Forged)
}

fn run_key(key: &GroupKey, run: &[u8]) -> LessSafeKey {
    let pseudorandom = Salt::new(HKDF_SHA256, run).extract(&key.0);
    let okm = pseudorandom
        .expand(&[PURPOSE], &CHACHA20_POLY1305)
        .expect("a key of 32 octets is within what HKDF gives");
    LessSafeKey::new(UnboundKey::from(okm))
}

fn nonce(number: u64) -> Nonce {
    let mut nonce = [0; 12];
    nonce[4..].copy_from_slice(&number.to_be_bytes());
    Nonce::assume_unique_for_key(nonce)
}

fn aad(header: &[u8], lane: Lane) -> [u8; HEADER + 2] {
    let mut aad = [0; HEADER + 2];
    aad[..HEADER].copy_from_slice(header);
    aad[HEADER..].copy_from_slice(&lane.octets());
    aad
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> (Sealer, Opener) {
        let key = GroupKey([1; 32]);
        (Sealer::new(&key).unwrap(), Opener::new(key))
    }

    #[test]
    fn a_packet_passes_once_and_only_on_its_lane() {
        let (mut sealer, mut opener) = pair();
        let sealed = sealer.seal(Lane::Source(3), b"packet").to_vec();
        assert_eq!(sealed.len(), 6 + OVERHEAD);
        for lane in [Lane::Source(4), Lane::Repair] {
            assert_eq!(opener.open(lane, &mut sealed.clone()), Err(Refusal::Forged));
        }
        let mut copy = sealed.clone();
        let opened = opener.open(Lane::Source(3), &mut copy).unwrap();
        assert_eq!(opened.packet, b"packet");
        let mut copy = sealed.clone();
        assert_eq!(
            opener.open(Lane::Source(3), &mut copy),
            Err(Refusal::Replayed)
        );
        assert_eq!(opener.open(Lane::Repair, &mut []), Err(Refusal::Forged));
    }

    #[test]
    fn any_changed_bit_and_another_key_are_refused() {
        let (mut sealer, mut opener) = pair();
        let sealed = sealer.seal(Lane::Repair, b"some packet").to_vec();
        for bit in 0..sealed.len() * 8 {
            let mut changed = sealed.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(
                opener.open(Lane::Repair, &mut changed),
                Err(Refusal::Forged)
            );
        }
        let mut other = Opener::new(GroupKey([2; 32]));
        assert_eq!(
            other.open(Lane::Repair, &mut sealed.clone()),
            Err(Refusal::Forged)
        );
        assert!(opener.open(Lane::Repair, &mut sealed.clone()).is_ok());
    }

    #[test]
    fn a_restarted_sender_is_followed_and_its_earlier_run_refused() {
        let (mut first, mut opener) = pair();
        let recorded = first.seal(Lane::Repair, b"1").to_vec();
        assert!(opener.open(Lane::Repair, &mut recorded.clone()).is_ok());
        let unheard = first.seal(Lane::Repair, b"2").to_vec();
        std::thread::sleep(std::time::Duration::from_millis(2));
        let mut second = Sealer::new(&GroupKey([1; 32])).unwrap();
        let mut sealed = second.seal(Lane::Repair, b"3").to_vec();
        assert!(opener.open(Lane::Repair, &mut sealed).unwrap().is_new_run);
        for mut old in [recorded, unheard] {
            assert_eq!(opener.open(Lane::Repair, &mut old), Err(Refusal::Replayed));
        }
    }
}
