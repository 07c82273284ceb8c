//! The rules for the symbols that a repair covers.

use core::ops::Range;

use crate::esi::Esi;

/// A rule for the encoding window of repair symbols (RFC 8681, section 3.1, and
/// policies from the literature).
///
/// ```
/// use weftline_codec::{EncodingWindow, WindowEncoder};
///
/// let mut encoder = WindowEncoder::new(100, 1200);
/// for payload in ["a", "b", "c", "d", "e"] {
///     encoder.push(payload.as_bytes())?;
/// }
/// // The receiver has reported that symbol 1 is its lowest missing one.
/// let (unacknowledged, held) = (1, encoder.held());
/// assert_eq!(EncodingWindow::Elastic.range(unacknowledged, held.clone()), 1..5);
/// assert_eq!(EncodingWindow::Fixed(2).range(unacknowledged, held.clone()), 3..5);
/// assert_eq!(EncodingWindow::Mobile(2).range(unacknowledged, held), 1..3);
/// # Ok::<(), weftline_codec::PushError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EncodingWindow {
    /// All symbols from the lowest unacknowledged one on. Any repair helps with
    /// any loss; its cost grows with the time that acknowledgements take.
    Elastic,
    /// The latest symbols, this many of them. Needs no feedback; symbols that
    /// left the window can no longer be repaired.
    Fixed(usize),
    /// The oldest unacknowledged symbols, this many of them. The window stays
    /// until they are acknowledged, so nothing is given up.
    Mobile(usize),
}

impl EncodingWindow {
    /// The symbols of `held` (see [`WindowEncoder::held`]) to cover, if
    /// `unacknowledged` is the lowest unacknowledged ESI. Empty if there is
    /// nothing to cover. O(1).
    ///
    /// [`WindowEncoder::held`]: crate::WindowEncoder::held
    #[must_use]
    pub fn range(self, unacknowledged: Esi, held: Range<Esi>) -> Range<Esi> {
        let Range { start, end } = held;
        let end = end.max(start);
        let lowest = unacknowledged.clamp(start, end);
        match self {
            Self::Elastic => lowest..end,
            Self::Fixed(symbols) => end.saturating_sub(symbols as u64).max(start)..end,
            Self::Mobile(symbols) => lowest..lowest.saturating_add(symbols as u64).min(end),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_stay_within_what_is_held() {
        let all = [
            EncodingWindow::Elastic,
            EncodingWindow::Fixed(5),
            EncodingWindow::Mobile(5),
            EncodingWindow::Fixed(usize::MAX),
            EncodingWindow::Mobile(usize::MAX),
        ];
        for (start, end) in [(0, 0), (0, 3), (10, 20), (u64::MAX - 2, u64::MAX)] {
            for unacknowledged in [0, 1, 12, 30, u64::MAX - 1, u64::MAX] {
                for window in all {
                    let range = window.range(unacknowledged, start..end);
                    assert!(start <= range.start && range.end <= end, "{window:?}");
                    assert!(range.start <= range.end, "{window:?}");
                }
            }
        }
    }

    #[test]
    fn each_rule_covers_the_symbols_it_names() {
        let range = |window: EncodingWindow, lowest| window.range(lowest, 10..20);
        assert_eq!(range(EncodingWindow::Elastic, 13), 13..20);
        assert_eq!(range(EncodingWindow::Elastic, 3), 10..20);
        assert_eq!(range(EncodingWindow::Fixed(4), 13), 16..20);
        assert_eq!(range(EncodingWindow::Fixed(40), 13), 10..20);
        assert_eq!(range(EncodingWindow::Mobile(4), 13), 13..17);
        assert_eq!(range(EncodingWindow::Mobile(4), 18), 18..20);
        assert!(range(EncodingWindow::Mobile(4), 20).is_empty());
        assert!(range(EncodingWindow::Fixed(0), 13).is_empty());
    }
}
