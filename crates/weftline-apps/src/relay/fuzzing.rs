//! What a peer sends to an end of `relay`, for the fuzzer.

use bytes::Bytes;

use super::wire::{Answer, Gone, Head, Hello, read};
use crate::line::at_once;

/// Reads bytes as what their first one says: a datagram's message or a line.
///
/// # Panics
/// A parser is wrong.
#[doc(hidden)]
pub fn fuzz_entry(data: &[u8]) {
    let Some((kind, mut data)) = data.split_first() else {
        return;
    };
    match kind % 4 {
        0 => {
            if let Some((head, datagram)) = Head::take(Bytes::copy_from_slice(data)) {
                let mut message = Vec::new();
                head.put(&mut message);
                message.extend(datagram);
                assert_eq!(message, data);
            }
        }
        1 => drop(at_once(read::<Hello>(&mut data))),
        2 => drop(at_once(read::<Answer>(&mut data))),
        _ => drop(at_once(read::<Gone>(&mut data))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The inputs that the fuzzer kept, and all their beginnings.
    #[test]
    fn hostile_bytes_never_panic() {
        for input in weftline_testkit::corpus("relay") {
            for end in 0..=input.len() {
                fuzz_entry(&input[..end]);
            }
        }
    }
}
