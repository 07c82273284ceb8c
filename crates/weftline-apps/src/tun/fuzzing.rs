//! What a peer or a program sends into a tunnel, for the fuzzer.

use bytes::Bytes;

use super::packet::{Header, clamp_mss, mark_congestion};
use super::wire::{Answer, HEAD, Hello, message, take};
use super::{LEAST_MTU, MOST_MTU};

/// Reads bytes as what their first one says: a packet, a message or an answer.
///
/// # Panics
/// A parser is wrong.
#[doc(hidden)]
pub fn fuzz_entry(data: &[u8]) {
    let Some((kind, data)) = data.split_first() else {
        return;
    };
    match kind % 3 {
        0 => packet(data),
        1 => wire(data),
        _ => agreement(data),
    }
}

/// Reading is total, and what the tunnel writes into a packet leaves its checksums as right as they were.
fn packet(data: &[u8]) {
    let mut marked = data.to_vec();
    let is_marked = mark_congestion(&mut marked);
    let Some(header) = Header::read(data) else {
        return;
    };
    assert!(!is_marked || data.len() >= 20);
    assert_eq!(Header::read(&marked), Some(header));
    if header.source.is_ipv4() {
        assert_eq!(sum(&marked), sum(data));
    }
    for mtu in [LEAST_MTU, MOST_MTU] {
        let mut clamped = data.to_vec();
        clamp_mss(&mut clamped, &header, mtu);
        assert_eq!(Header::read(&clamped), Some(header));
        assert_eq!(sum(&clamped), sum(data));
    }
}

/// The sum of all pairs of bytes in one's complement (RFC 1071), where 0 has two forms.
fn sum(data: &[u8]) -> u64 {
    let pairs = data.chunks(2).map(|pair| match *pair {
        [a, b] => u16::from_be_bytes([a, b]),
        [a] => u16::from_be_bytes([a, 0]),
        _ => 0,
    });
    pairs.map(u64::from).sum::<u64>() % 0xffff
}

/// A message that is read is the one that would be written.
fn wire(data: &[u8]) {
    let Some((place, packet)) = take(Bytes::copy_from_slice(data)) else {
        return;
    };
    let frame = [&[0; HEAD], &packet[..]].concat();
    assert_eq!(message(frame, place), data);
}

/// An answer that a device can have.
fn agreement(data: &[u8]) {
    let _ = serde_json::from_slice::<Hello>(data);
    if let Ok(answer) = serde_json::from_slice::<Answer>(data)
        && let Ok(lease) = answer.lease()
    {
        assert!((1..=2).contains(&lease.addresses.len()));
        assert!((LEAST_MTU..=MOST_MTU).contains(&lease.mtu));
    }
}

#[cfg(test)]
mod tests {
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::{Rng, SeedableRng};

    use super::*;

    /// The inputs that the fuzzer kept, and changes of them.
    #[test]
    fn hostile_bytes_never_panic() {
        let inputs = weftline_testkit::corpus("tunnel");
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        for input in &inputs {
            fuzz_entry(input);
            for _ in 0..200 {
                let mut input = input.clone();
                for _ in 0..1 + random.next_u32() % 4 {
                    let at = random.next_u32() as usize % input.len().max(1);
                    if let Some(byte) = input.get_mut(at) {
                        *byte = random.next_u32() as u8;
                    }
                }
                fuzz_entry(&input);
            }
        }
    }
}
