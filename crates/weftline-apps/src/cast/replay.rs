//! Detects packets of a sender that were received before.

/// Packets by which one may be reordered.
const SPAN: u64 = 4096;
const WORDS: usize = (SPAN / 64) as usize;

/// A window over the highest numbers of a sender, as in RFC 4303, section 3.4.3.
#[derive(Clone, Debug)]
pub(super) struct Replay {
    /// One more than the highest number.
    next: u64,
    /// Bit n % SPAN: number n was received; only for the highest SPAN numbers.
    seen: [u64; WORDS],
}

impl Replay {
    pub(super) fn new() -> Self {
        Replay {
            next: 0,
            seen: [0; WORDS],
        }
    }

    /// Whether `number` was not received yet, and is inside the window.
    pub(super) fn is_new(&self, number: u64) -> bool {
        let (word, bit) = place(number);
        number >= self.next || (self.next - number <= SPAN && self.seen[word] & bit == 0)
    }

    /// Records `number`, of a packet that was authentic and [new](Self::is_new).
    pub(super) fn mark(&mut self, number: u64) {
        if number >= self.next {
            let skipped = number - self.next;
            match skipped < SPAN {
                true => (self.next..number).for_each(|n| self.seen[place(n).0] &= !place(n).1),
                false => self.seen = [0; WORDS],
            }
            self.next = number + 1;
        }
        let (word, bit) = place(number);
        self.seen[word] |= bit;
    }
}

fn place(number: u64) -> (usize, u64) {
    let place = number % SPAN;
    ((place / 64) as usize, 1 << (place % 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_passes_once_in_any_order() {
        let mut replay = Replay::new();
        for number in [5, 3, 4, 0, 100, 99, 4000] {
            assert!(replay.is_new(number), "{number}");
            replay.mark(number);
            assert!(!replay.is_new(number), "{number}");
        }
        assert!(replay.is_new(1) && replay.is_new(98));
    }

    #[test]
    fn numbers_below_the_window_are_refused() {
        let mut replay = Replay::new();
        replay.mark(7);
        replay.mark(SPAN + 6);
        assert!(!replay.is_new(6) && !replay.is_new(7));
        assert!(replay.is_new(8));
        replay.mark(1 << 40);
        assert!(!replay.is_new(SPAN + 7));
        assert!(replay.is_new((1 << 40) - SPAN + 1));
        assert!(!replay.is_new((1 << 40) - SPAN));
    }

    #[test]
    fn it_agrees_with_a_set_of_all_received_numbers() {
        let (mut replay, mut came) = (Replay::new(), std::collections::BTreeSet::new());
        let mut state = 1_u64;
        for step in 0..20_000_u64 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let number = step + (state >> 33) % 5000;
            let newest = came.last().copied().unwrap_or(0);
            let expected = !came.contains(&number) && number + SPAN > newest;
            assert_eq!(replay.is_new(number), expected, "{number} after {newest}");
            if expected {
                replay.mark(number);
                came.insert(number);
            }
        }
    }
}
