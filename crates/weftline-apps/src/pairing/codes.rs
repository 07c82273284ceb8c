//! How often codes may be tried.

use std::time::{Duration, Instant};

use super::code::Code;

/// Wrong tries that end a code, of all peers together.
pub const TRIES: u32 = 3;
/// After a code that was tried too often, the next one waits this long, and twice as long each time.
const FIRST_PAUSE: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(3600);

/// The code that is open, and what has become of those before it.
///
/// A code stays open until it is used or has been tried [`TRIES`] times: what a guesser gains depends on the
/// number of tries, not on the time. So the codes after one that was guessed at come later and later.
#[derive(Debug)]
pub(super) struct Codes {
    open: Option<Open>,
    /// When the next code may be opened.
    next: Option<Instant>,
    pause: Duration,
    /// Codes opened so far.
    opened: u64,
    /// When a sender was last paired by one of them.
    used: Option<Instant>,
}

#[derive(Debug)]
struct Open {
    code: Code,
    wrong: u32,
}

/// Which code an exchange was begun with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ticket(u64);

/// Whether a sender knows the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Right,
    Wrong,
}

impl Codes {
    pub(super) fn new() -> Self {
        Codes {
            open: None,
            next: None,
            pause: FIRST_PAUSE,
            opened: 0,
            used: None,
        }
    }

    /// Opens this code in place of another; not before the last one's pause is over.
    pub(super) fn open(&mut self, code: Code, now: Instant) -> bool {
        if self.next.is_some_and(|next| now < next) {
            return false;
        }
        self.next = None;
        self.opened += 1;
        self.open = Some(Open { code, wrong: 0 });
        true
    }

    pub(super) fn code(&self) -> Option<Code> {
        self.open.as_ref().map(|open| open.code)
    }

    /// When the next code may be opened, if the last one was tried too often.
    pub(super) fn next(&self) -> Option<Instant> {
        self.next
    }

    /// When a sender was last paired by one of the codes.
    pub(super) fn used(&self) -> Option<Instant> {
        self.used
    }

    /// The open code, for an exchange that begins.
    pub(super) fn ticket(&self) -> Option<(Code, Ticket)> {
        Some((self.code()?, Ticket(self.opened)))
    }

    /// Looks whether a sender's proof is right, unless its code is not open any more: nobody learns more of
    /// a code by trying several times at once.
    pub(super) fn judge(
        &mut self,
        ticket: Ticket,
        is_right: impl FnOnce() -> bool,
        now: Instant,
    ) -> Verdict {
        let Some(open) = self.open.as_mut().filter(|_| ticket.0 == self.opened) else {
            return Verdict::Wrong;
        };
        if is_right() {
            self.open = None;
            self.used = Some(now);
            self.pause = FIRST_PAUSE;
            return Verdict::Right;
        }
        open.wrong += 1;
        if open.wrong == TRIES {
            self.open = None;
            self.next = Some(now + self.pause);
            self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        }
        Verdict::Wrong
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code() -> Code {
        "7-amber-river".parse().unwrap()
    }

    #[test]
    fn a_code_is_used_once() {
        let (mut codes, now) = (Codes::new(), Instant::now());
        assert_eq!(codes.ticket(), None);
        assert!(codes.open(code(), now));
        let (_, ticket) = codes.ticket().unwrap();
        assert_eq!(codes.judge(ticket, || true, now), Verdict::Right);
        assert_eq!(codes.judge(ticket, || true, now), Verdict::Wrong);
        assert_eq!((codes.code(), codes.next()), (None, None));
        assert_eq!(codes.used(), Some(now));
        // Not even when the next code is the same.
        assert!(codes.open(code(), now));
        assert_eq!(codes.judge(ticket, || true, now), Verdict::Wrong);
    }

    #[test]
    fn the_third_wrong_try_of_all_peers_ends_a_code_and_the_fourth_learns_nothing() {
        let (mut codes, now) = (Codes::new(), Instant::now());
        codes.open(code(), now);
        // All have begun before the first of them proves anything.
        let tickets: Vec<Ticket> = (0..4).map(|_| codes.ticket().unwrap().1).collect();
        for ticket in &tickets[..3] {
            assert!(codes.code().is_some());
            assert_eq!(codes.judge(*ticket, || false, now), Verdict::Wrong);
        }
        assert_eq!(codes.code(), None);
        let looked = std::cell::Cell::new(false);
        let verdict = codes.judge(tickets[3], || looked.replace(true) | true, now);
        assert_eq!((verdict, looked.get()), (Verdict::Wrong, false));
    }

    #[test]
    fn after_guessers_codes_come_later_and_later() {
        let (mut codes, began) = (Codes::new(), Instant::now());
        let (mut now, mut tries) = (began, 0);
        while now < began + Duration::from_secs(86_400) {
            assert!(codes.open(code(), now));
            let (_, ticket) = codes.ticket().unwrap();
            for _ in 0..TRIES {
                codes.judge(ticket, || false, now);
                tries += 1;
            }
            let next = codes.next().unwrap();
            assert!(!codes.open(code(), next - Duration::from_nanos(1)));
            now = next;
        }
        // One code of 6.5 million: the odds of a guesser in a day are less than 1 in 50,000.
        assert!(tries < 130, "{tries}");
        assert_eq!(codes.pause, LONGEST_PAUSE);
        // A sender that knows the code has not guessed it.
        codes.open(code(), now);
        let (_, ticket) = codes.ticket().unwrap();
        codes.judge(ticket, || true, now);
        assert_eq!(codes.pause, FIRST_PAUSE);
    }
}
