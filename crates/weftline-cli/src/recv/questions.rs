//! Which unknown peers the operator is asked about, and when.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use weftline::Fingerprint;

/// Peers that the operator does not want, remembered; the oldest are forgotten.
const REMEMBERED: usize = 64;
/// After a peer that is not wanted, the next question waits this long, and twice as long each time.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(600);

/// What the operator says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    No,
    /// For this run.
    Yes,
    Always,
}

impl Answer {
    /// The answer that a line means: whatever is not clearly yes is no.
    pub(super) fn read(line: &str) -> Self {
        match line.trim().to_ascii_lowercase().as_str() {
            "y" | "yes" => Answer::Yes,
            "a" | "always" => Answer::Always,
            _ => Answer::No,
        }
    }
}

/// The questions so far. One is asked at a time.
#[derive(Debug)]
pub(super) struct Questions {
    unwanted: VecDeque<Fingerprint>,
    next: Option<Instant>,
    pause: Duration,
}

impl Questions {
    pub(super) fn new() -> Self {
        Questions {
            unwanted: VecDeque::new(),
            next: None,
            pause: FIRST_PAUSE,
        }
    }

    /// The operator does not want this peer.
    pub(super) fn is_unwanted(&self, peer: &Fingerprint) -> bool {
        self.unwanted.contains(peer)
    }

    pub(super) fn may_ask(&self, peer: &Fingerprint, now: Instant) -> bool {
        !self.is_unwanted(peer) && self.next.is_none_or(|next| now >= next)
    }

    pub(super) fn on_answer(&mut self, peer: Fingerprint, answer: Answer, now: Instant) {
        if answer != Answer::No {
            self.pause = FIRST_PAUSE;
            return;
        }
        if self.unwanted.len() == REMEMBERED {
            self.unwanted.pop_front();
        }
        self.unwanted.push_back(peer);
        self.next = Some(now + self.pause);
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(number: u16) -> Fingerprint {
        let mut bytes = [0; 20];
        bytes[..2].copy_from_slice(&number.to_be_bytes());
        Fingerprint::from(bytes)
    }

    #[test]
    fn only_a_clear_yes_is_one() {
        for (line, answer) in [
            ("y\n", Answer::Yes),
            (" YES ", Answer::Yes),
            ("always\n", Answer::Always),
            ("a", Answer::Always),
        ] {
            assert_eq!(Answer::read(line), answer);
        }
        for line in ["", "\n", "n", "no", "yy", "ja", "yes please"] {
            assert_eq!(Answer::read(line), Answer::No, "{line}");
        }
    }

    #[test]
    fn nobody_is_asked_about_twice_after_no() {
        let (mut questions, now) = (Questions::new(), Instant::now());
        assert!(questions.may_ask(&peer(1), now));
        questions.on_answer(peer(1), Answer::No, now);
        let later = now + LONGEST_PAUSE;
        assert!(!questions.may_ask(&peer(1), later));
        assert!(questions.may_ask(&peer(2), later));
    }

    /// A stranger who makes new keys without end.
    #[test]
    fn questions_become_rare_and_are_forgotten_in_the_end() {
        let (mut questions, began) = (Questions::new(), Instant::now());
        let mut asked = 0;
        for second in 0..86_400_u64 {
            let now = began + Duration::from_secs(second);
            let peer = peer(second as u16);
            if questions.may_ask(&peer, now) {
                questions.on_answer(peer, Answer::No, now);
                asked += 1;
            }
        }
        assert!((10..160).contains(&asked), "{asked}");
        assert_eq!(questions.unwanted.len(), REMEMBERED);
        questions.on_answer(peer(1), Answer::Yes, began);
        assert_eq!(questions.pause, FIRST_PAUSE);
    }
}
