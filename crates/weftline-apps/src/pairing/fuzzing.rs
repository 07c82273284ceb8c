//! What a stranger sends to an end that pairs, for the fuzzer.

use std::time::Instant;

use weftline::Fingerprint;

use super::code::Code;
use super::codes::Codes;
use super::exchange::{Binding, ReceiverNext, Receiving, SenderNext, Sending};
use super::wire::{HEADER, Message};

/// Reads bytes as messages, and gives them to both ends of an exchange.
///
/// # Panics
/// A parser is wrong, or bytes without the code were taken for a proof.
#[doc(hidden)]
pub fn fuzz_entry(data: &[u8]) {
    let [sender, receiver] = [1, 2].map(|number| Fingerprint::from([number; 20]));
    let binding = Binding {
        sender,
        receiver,
        exported: [3; 32],
    };
    let Ok(code) = "7-amber-river".parse::<Code>() else {
        return;
    };
    let (mut codes, now) = (Codes::new(), Instant::now());
    codes.open(code, now);
    let (mut sending, _) = Sending::new(&code, binding, None);
    let mut receiving = Receiving::new(binding, None);
    let mut rest = data;
    while let Some((header, after)) = rest.split_first_chunk::<HEADER>() {
        let Ok(length) = Message::body_len(*header) else {
            return;
        };
        let Some((body, after)) = after.split_at_checked(length) else {
            return;
        };
        let Ok(message) = Message::read(*header, body) else {
            return;
        };
        assert_eq!(message.to_bytes(), [header, body].concat());
        let next = sending.handle(message.clone());
        assert!(!matches!(next, Ok(SenderNext::Paired(..))));
        let next = receiving.handle(message, &mut codes, now);
        assert!(!matches!(
            next,
            Ok(ReceiverNext::Paired(_) | ReceiverNext::Named(_))
        ));
        rest = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The inputs that the fuzzer kept.
    #[test]
    fn hostile_bytes_pair_nobody() {
        for input in weftline_testkit::corpus("pairing") {
            fuzz_entry(&input);
        }
    }
}
