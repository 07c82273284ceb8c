//! Whether competing traffic fills the queue.

use core::time::Duration;

use crate::time::Time;

/// A queue is too long if it exceeds its target by this factor, and competing traffic is likely if it also
/// exceeds the queue that flows of this kind make by as much.
const TOO_LONG: f64 = 1.25;
/// If the queue that such flows make with this window is at least this part of the one that they make with the
/// least, then the window is small (below about ten least ones), and this flow may be one of many that have less.
const CROWDED: f64 = 0.5;
/// Competing traffic fills the queue if it stays too long for this time, and this many rounds,
/// although the window has shrunk to this part.
const FILLED: Duration = Duration::from_secs(2);
pub(super) const FILLED_ROUNDS: u32 = 24;
const SHRUNK: f64 = 0.8;
/// It takes this long in a flow younger than that: flows of this kind that begin together need some seconds.
const FILLED_AT_FIRST: Duration = Duration::from_secs(4);
const YOUNG: Duration = Duration::from_secs(10);
/// If no drain has emptied the queue for this long, the length that flows of this kind make it does not matter: one of
/// them would have seen it empty.
const UNSEEN: Duration = Duration::from_secs(4);
/// It takes this long after an overflow in which rounds lost more than this, for longer than that: flows of this
/// kind that overflow the queue together need as long to find it empty. TCP does not lose so much, and the start of
/// one flow beside it overflows a queue for a moment only.
const OVERFLOWN: Duration = Duration::from_secs(8);
const HEAVY_LOSS: f64 = 0.1;
const OVERFLOW: Duration = Duration::from_secs(1);
/// An overflow is over after as long without such a round.
const LATELY: Duration = Duration::from_secs(4);
/// A flow that has less than this part of the path has little.
pub(super) const LITTLE: f64 = 0.35;
/// An overflow that lasts for `OVERFLOWN`, with a mean loss above this, is competing traffic to a flow that has little and
/// has not seen the queue empty, even if its window has not shrunk: beside several of BBR it may never have seen the
/// path's own delay. A crowd whose flows join one after the other overflows the queue again and again, but loses less.
const MEAN_LOSS: f64 = 0.2;
/// The mean is over about this many rounds.
const MEAN_ROUNDS: f64 = 64.0;
/// A queue that falls below this part of its shortest length is about to become short.
const FALLS: f64 = 0.8;
/// A flow keeps its window if it has more than this part of it after this time: beside flows of its kind, and not
/// beside TCP, which takes more and more.
const KEEPS: f64 = 0.95;
const KEEPS_FOR: Duration = Duration::from_secs(1);

/// Beside competing traffic the queue is never empty, except for some rounds every ten seconds, when
/// BBR probes the round-trip time.
const EMPTY_ROUNDS: u32 = 12;
const EMPTY_AGAIN: Duration = Duration::from_secs(8);

/// The measurements of a round.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sight {
    pub(super) now: Time,
    /// For how long the flow has been there.
    pub(super) age: Duration,
    pub(super) rtt: Duration,
    /// The shortest queue of the round, and the target.
    pub(super) queue: Duration,
    pub(super) target: Duration,
    /// Whether the flow has seen the queue empty, in its last drain or since.
    pub(super) shown: bool,
    /// The queue that flows of this kind make if they all have this window.
    pub(super) usual: Duration,
    /// The same with the least window.
    pub(super) most: Duration,
    /// The part of the round's packets that was lost.
    pub(super) loss: f64,
    /// The part of the path's rate that the session has, as far as is known.
    pub(super) share: f64,
    /// The window in bytes, or during a drain the window after it.
    pub(super) window: f64,
}

impl Sight {
    fn is_empty(&self) -> bool {
        self.queue <= self.target / 4
    }

    /// The queue is longer than flows of this kind make it.
    fn is_unusual(&self) -> bool {
        let usual = match self.usual >= self.most.mul_f64(CROWDED) {
            true => self.most,
            false => self.usual,
        };
        self.queue > usual.mul_f64(TOO_LONG)
    }
}

/// Looks for competing flows that fill the queue: they are there if it stays long, and gone if it is
/// seen empty twice within some time.
#[derive(Clone, Debug, Default)]
pub(super) struct Watch {
    /// Since when the queue has been too long.
    filled: Option<Filled>,
    /// The last overflow of the queue: its first and its last round.
    overflow: Option<[Time; 2]>,
    /// The part of the packets that was lost in the mean of the last rounds.
    mean_loss: f64,
    /// Competing traffic is likely: a drain of this flow's part of the queue must confirm it.
    suspicious: bool,
    /// When the queue was seen empty beside competing traffic.
    seen_empty: Option<Time>,
}

impl Watch {
    pub(super) fn is_suspicious(&self) -> bool {
        self.suspicious
    }

    /// Returns whether it was suspicious, and is no longer.
    pub(super) fn end_suspicion(&mut self) -> bool {
        core::mem::take(&mut self.suspicious)
    }

    /// A round without known competing traffic has ended.
    pub(super) fn on_lone_round(&mut self, sight: &Sight) {
        self.mean_loss += (sight.loss - self.mean_loss) / MEAN_ROUNDS;
        let is_recent = |[_, last]: &[Time; 2]| sight.now.since(*last) < LATELY;
        let overflow = self.overflow.filter(is_recent);
        self.overflow = match sight.loss > HEAVY_LOSS {
            true => Some([overflow.map_or(sight.now, |[first, _]| first), sight.now]),
            false => overflow,
        };
        if sight.queue <= sight.target.mul_f64(TOO_LONG) {
            self.filled = None;
            return;
        }
        let anew = Filled {
            since: sight.now,
            window: sight.window,
            lowest: sight.queue,
            asked: (sight.now, sight.window),
        };
        let filled = self.filled.get_or_insert(anew);
        // A queue that flows of this kind make, and that drains empty, is theirs while this flow keeps its window.
        let is_theirs = sight.shown && !sight.is_unusual();
        let keeps = filled.keeps_window(sight);
        if sight.queue < filled.lowest.mul_f64(FALLS) || is_theirs && keeps == Some(true) {
            *filled = anew;
        } else if keeps.is_some() {
            filled.asked = anew.asked;
        }
        let lasted = self.overflow.map(|[first, last]| last.since(first));
        let least = match sight.age < YOUNG {
            _ if lasted >= Some(OVERFLOW) => OVERFLOWN,
            true => FILLED_AT_FIRST,
            false => FILLED,
        };
        let loses = lasted >= Some(OVERFLOWN) && self.mean_loss > MEAN_LOSS;
        let loses = loses && !sight.shown && sight.share < LITTLE;
        self.suspicious |= loses || filled.is_by_others(sight, least);
    }

    /// A round beside competing traffic has ended. Returns whether that traffic is gone.
    pub(super) fn on_competing_round(&mut self, sight: &Sight) -> bool {
        if !sight.is_empty() {
            return false;
        }
        let since = self.seen_empty.map(|at| sight.now.since(at));
        match since {
            Some(since) if since < sight.rtt * EMPTY_ROUNDS => false,
            Some(since) if since < EMPTY_AGAIN => true,
            _ => {
                self.seen_empty = Some(sight.now);
                false
            }
        }
    }
}

/// A queue that is too long.
#[derive(Clone, Copy, Debug)]
struct Filled {
    since: Time,
    /// The window then.
    window: f64,
    /// The shortest queue then.
    lowest: Duration,
    /// When it was last asked whether the flow keeps its window, and the window then.
    asked: (Time, f64),
}

impl Filled {
    /// Whether the flow keeps its window; nothing until the next answer is due.
    fn keeps_window(&self, sight: &Sight) -> Option<bool> {
        let (at, window) = self.asked;
        (sight.now.since(at) >= KEEPS_FOR).then_some(sight.window > KEEPS * window)
    }

    /// Whether competing traffic has filled it for this time.
    fn is_by_others(&self, sight: &Sight, least: Duration) -> bool {
        let lasted = sight.now.since(self.since);
        let long = lasted >= least.max(sight.rtt * FILLED_ROUNDS);
        let unusual = sight.is_unusual() || !sight.shown && lasted >= UNSEEN;
        long && unusual && sight.window < SHRUNK * self.window
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Flows of this kind make a queue of 8 ms with this window, and one of 24 ms with the least.
    pub(in crate::rate) fn sight(ms: u64, queue: u64, window: f64) -> Sight {
        Sight {
            now: Time::from_micros(1000 * ms),
            age: YOUNG,
            rtt: Duration::from_millis(60),
            queue: Duration::from_millis(queue),
            target: Duration::from_millis(8),
            shown: true,
            usual: Duration::from_millis(8),
            most: Duration::from_millis(24),
            loss: 0.0,
            share: 1.0,
            window,
        }
    }

    /// The time, in ms, at which a queue like this becomes suspicious, if it is seen every 60 ms
    /// while the window shrinks.
    fn suspicion(queue: impl Fn(u64) -> u64, kept: f64) -> Option<u64> {
        suspicion_with(queue, kept, |sight| sight)
    }

    /// The same where each round is changed like this.
    fn suspicion_with(
        queue: impl Fn(u64) -> u64,
        kept: f64,
        change: impl Fn(Sight) -> Sight,
    ) -> Option<u64> {
        let mut watch = Watch::default();
        (0..12_000).step_by(60).find(|ms| {
            let window = 1e5 * kept.powf(*ms as f64 / 1000.0);
            watch.on_lone_round(&change(sight(*ms, queue(*ms), window)));
            watch.is_suspicious()
        })
    }

    #[test]
    fn competing_traffic_fills_a_queue_that_stays_too_long_while_the_window_shrinks() {
        assert_eq!(suspicion(|_| 11, 0.6), Some(2040));
        assert_eq!(suspicion(|_| 9, 0.6), None);
        assert_eq!(suspicion(|_| 11, 1.0), None);
        assert_eq!(
            suspicion(|ms| if ms % 960 == 0 { 5 } else { 16 }, 0.6),
            None
        );
    }

    #[test]
    fn a_queue_that_flows_of_this_kind_with_smaller_windows_make_is_no_competing_traffic() {
        let usual = |ms| {
            move |sight| Sight {
                usual: Duration::from_millis(ms),
                ..sight
            }
        };
        // The window is large: few flows have less.
        assert_eq!(suspicion_with(|_| 13, 0.6, usual(11)), None);
        assert_eq!(suspicion_with(|_| 14, 0.6, usual(11)), Some(2040));
        assert_eq!(suspicion_with(|_| 30, 0.6, usual(12)), None);
        assert_eq!(suspicion_with(|_| 31, 0.6, usual(12)), Some(2040));
    }

    #[test]
    fn a_newcomer_is_no_competing_traffic_where_flows_of_this_kind_keep_their_windows() {
        // They make 12 ms for ten seconds; then a newcomer fills the queue, and the window falls to 0.7 in a moment.
        let fills_for = |ms: u64| {
            let mut watch = Watch::default();
            (0..20_000).step_by(60).find(|at| {
                let filled = (10_020..10_020 + ms).contains(at);
                let window = if filled { 0.7e5 } else { 1e5 };
                watch.on_lone_round(&Sight {
                    usual: Duration::from_millis(10),
                    ..sight(*at, if filled { 30 } else { 12 }, window)
                });
                watch.is_suspicious()
            })
        };
        assert_eq!(fills_for(1000), None);
        let after = fills_for(9000).expect("it stays");
        assert!((11_000..12_200).contains(&after), "{after}");
    }

    #[test]
    fn a_queue_that_no_drain_empties_is_competing_traffic_however_long_it_is() {
        let never = |sight| Sight {
            shown: false,
            ..sight
        };
        assert_eq!(suspicion_with(|_| 11, 0.6, never), Some(2040));
        let usual = |sight| Sight {
            usual: Duration::from_millis(11),
            ..never(sight)
        };
        assert_eq!(suspicion_with(|_| 13, 0.6, usual), Some(4020));
        assert_eq!(suspicion_with(|_| 13, 1.0, usual), None);
    }

    #[test]
    fn a_queue_that_overflows_by_much_is_competing_traffic_only_after_some_seconds() {
        let loses = |until: u64, loss| {
            move |sight: Sight| Sight {
                loss: match sight.now < Time::from_micros(1000 * until) {
                    true => loss,
                    false => 0.0,
                },
                ..sight
            }
        };
        assert_eq!(suspicion_with(|_| 60, 0.6, loses(12_000, 0.05)), Some(2040));
        assert_eq!(suspicion_with(|_| 60, 0.6, loses(12_000, 0.2)), Some(8040));
        // Four seconds after the last such round.
        let after = suspicion_with(|_| 60, 0.6, loses(2000, 0.2)).expect("it is there");
        assert!((5900..=6100).contains(&after), "{after}");
        // One flow overflows the queue when it starts, for a moment.
        assert_eq!(suspicion_with(|_| 60, 0.6, loses(1000, 0.2)), Some(2040));
    }

    #[test]
    fn an_overflow_that_lasts_is_competing_traffic_to_a_flow_with_little() {
        let loses = |shown, share| {
            move |sight| Sight {
                loss: 0.4,
                shown,
                share,
                ..sight
            }
        };
        // The window cannot shrink any more.
        assert_eq!(suspicion_with(|_| 13, 1.0, loses(false, 0.1)), Some(8040));
        assert_eq!(suspicion_with(|_| 9, 1.0, loses(false, 0.1)), None);
        assert_eq!(suspicion_with(|_| 13, 1.0, loses(true, 0.1)), None);
        assert_eq!(suspicion_with(|_| 13, 1.0, loses(false, 0.5)), None);
        // Others join each second: each of their starts overflows the queue.
        let joins = |sight: Sight| Sight {
            loss: match sight.now.as_micros() / 1000 % 1000 < 240 {
                true => 0.4,
                false => 0.0,
            },
            ..loses(false, 0.1)(sight)
        };
        assert_eq!(suspicion_with(|_| 13, 1.0, joins), None);
    }

    #[test]
    fn competing_traffic_is_gone_when_the_queue_is_empty_twice_within_some_time() {
        let mut watch = Watch::default();
        let mut empty = |ms| watch.on_competing_round(&sight(ms, 1, 1e5));
        assert!(!empty(0));
        assert!(!empty(300));
        assert!(!empty(9000));
        assert!(empty(12_000));
    }
}
