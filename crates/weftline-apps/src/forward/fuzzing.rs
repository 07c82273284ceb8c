//! What a peer, or a program with SOCKS, sends to an end of `forward`, for the fuzzer.

use super::moving;
use super::socks::request;
use super::wire::{LONGEST, Reply, Request};
use crate::line::at_once;

/// Reads bytes as what their first one says: a request, an answer, what a session has written to connections that move, or
/// a program's SOCKS.
///
/// # Panics
/// A parser is wrong.
#[doc(hidden)]
pub fn fuzz_entry(data: &[u8]) {
    let Some((kind, mut data)) = data.split_first() else {
        return;
    };
    match *kind {
        u8::MAX => {
            if let Ok(written) = at_once(moving::read(&mut data)) {
                let bytes = moving::bytes(&written);
                let again = at_once(moving::read(&mut &bytes[..]));
                assert!(again.is_ok_and(|again| again == written));
            }
        }
        kind if kind % 3 == 0 => {
            if let Ok(request) = at_once(Request::read(&mut data)) {
                let bytes = request.bytes();
                let again = at_once(Request::read(&mut &bytes[..]));
                assert!(again.is_ok_and(|again| again == request));
            }
        }
        kind if kind % 3 == 1 => {
            if let Ok(reply) = at_once(Reply::read(&mut data)) {
                assert!(!reply.text.contains(char::is_control), "{reply:?}");
                let bytes = reply.bytes();
                assert!(bytes.len() <= 4 + LONGEST);
                let again = at_once(Reply::read(&mut &bytes[..]));
                assert!(again.is_ok_and(|again| again.status == reply.status));
            }
        }
        _ => {
            let mut program = tokio::io::join(data, Vec::new());
            if let Ok(target) = at_once(request(&mut program)) {
                let again = target.to_string().parse();
                assert!(again.is_ok_and(|again| target == again));
            }
            assert!(program.writer().len() <= 12);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The inputs that the fuzzer kept, and all their beginnings.
    #[test]
    fn hostile_bytes_never_panic() {
        for input in weftline_testkit::corpus("forward") {
            for end in 0..=input.len() {
                fuzz_entry(&input[..end]);
            }
        }
    }
}
