//! Sharing a queue with flows that fill it.
//!
//! A flow that follows the queue yields to flows that follow losses until it has nothing left. So,
//! beside such flows, this flow follows losses too, as CUBIC does (RFC 9438), but ignores the losses
//! that the path has anyway. If no flow responds to losses, this flow insists on a share, as BBR's
//! first version does (Cardwell et al. 2016): it keeps two round trips' worth in flight.

use std::collections::VecDeque;

use core::time::Duration;

use crate::time::Time;

/// CUBIC's constants (RFC 9438, sections 4.1 and 4.6), and Reno's growth with them.
const SCALE: f64 = 0.4;
const DECREASE: f64 = 0.7;
const RENO: f64 = 3.0 * (1.0 - DECREASE) / (1.0 + DECREASE);

/// Flows of this kind may mistake each other for competing traffic. So the window dips to this part
/// for a round, after this long. A flow that sees the queue fall below this part of its lowest recent
/// length starts to wait again. So all flows soon dip at the same time, and see the queue empty.
const DIP_EVERY: Duration = Duration::from_secs(4);
const DIP: f64 = 0.3;
const LOWER: f64 = 0.8;
/// A dip that would empty the queue by itself shows nothing of others, for this many round trips, unless the session has
/// nearly the whole path.
const DIP_TRIPS: u32 = 3;
const NEARLY_ALL: f64 = 0.8;

/// Rounds whose queues are remembered.
const ROUNDS: usize = 32;
/// No competing flow yields if this flow has less than this part of the path, and the queue stayed
/// above this part of its maximum in all but a tenth of those rounds.
const STARVED: f64 = 0.25;
const PINNED: f64 = 0.7;
/// Nor does one yield if losses go on although the window shrinks: in this many rounds in a row. CUBIC yields within
/// two.
const LOSSY: u32 = 5;
/// With more than this share for this many rounds, a competing flow yields (BBR falls silent for
/// 200 ms now and then), and this flow stops insisting. It also stops after this many rounds, and
/// after twice as many each time that insisting was in vain.
const PLENTY: f64 = 0.6;
const PLENTY_ROUNDS: u32 = 12;
const INSIST: u32 = 320;
const MOST_INSIST: u32 = 8 * INSIST;
/// It stops at once if it loses more than this part, in the mean of the last rounds, about this many, and does not
/// insist for as many rounds as it would have: several flows that insist would lose ever more. Beside BBR with a
/// short queue it loses half as much.
const VAIN: f64 = 0.3;
const VAIN_ROUNDS: f64 = 16.0;
/// While it insists: round trips' worth in flight, the addition as the share falls below the small
/// one, and the paces of eight rounds.
const IN_FLIGHT: f64 = 2.0;
const CATCH_UP: f64 = 1.5;
const SMALL: f64 = 0.45;
const PACES: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];

/// A flow beside competing flows that fill the queue.
#[derive(Clone, Debug)]
pub(super) struct Competition {
    /// Bytes in flight before the last decrease, and the time of that decrease.
    most: f64,
    since: Time,
    /// The window that Reno would have now.
    reno: f64,
    /// The window after the current dip, and the time from which the wait for the next dip counts.
    after: Option<f64>,
    waiting_since: Time,
    /// Until when this flow's own dip makes the queue empty.
    empties_until: Time,
    /// The window has just come back from the dip.
    refills: bool,
    /// The queue in the last rounds, the newest first, in seconds.
    queues: VecDeque<f64>,
    /// Rounds in a row with losses by congestion.
    lossy: u32,
    /// The window became smaller after the last round.
    decreased: bool,
    /// Rounds left of insisting.
    insist: u32,
    /// Rounds for which to insist the next time.
    next_insist: u32,
    /// Rounds left in which it must not insist.
    refrain: u32,
    /// Rounds in a row with a large share.
    plenty: u32,
    /// The part of the packets that was lost while it insisted, beyond the path's own losses.
    lost: f64,
}

/// A flow's share of a path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share {
    /// Bytes that may be in flight, and bytes of a packet.
    pub(super) window: f64,
    pub(super) packet: f64,
    /// Bytes that arrive in a round trip without a queue.
    pub(super) holds: f64,
    /// The part of the path's highest rate that the session has, as far as is known.
    pub(super) share: f64,
    /// The path's rate of late in bytes a second, and the part of it that the session has.
    pub(super) rate: f64,
    pub(super) share_of_late: f64,
    /// The part of that share which is this path's; the rest is that of other paths of the session.
    pub(super) part: f64,
    /// The shortest queue of the round.
    pub(super) queue: Duration,
    /// The current round trip.
    pub(super) rtt: Duration,
    /// The part of the packets of the round that was lost, beyond the path's own losses.
    pub(super) excess: f64,
}

impl Competition {
    pub(super) fn new(window: f64, now: Time) -> Self {
        Competition {
            most: window,
            since: now,
            reno: window,
            after: None,
            waiting_since: now,
            empties_until: now,
            refills: false,
            queues: VecDeque::new(),
            lossy: 0,
            decreased: false,
            insist: 0,
            next_insist: INSIST,
            refrain: 0,
            plenty: 0,
            lost: 0.0,
        }
    }

    /// How much faster than the measured rate to send; `None` means the window's pace.
    pub(super) fn pace(&self, share: f64) -> Option<f64> {
        let catch_up = round_trips_in_flight(share) / IN_FLIGHT;
        (self.insist > 0).then(|| PACES[(self.insist % 8) as usize] * catch_up)
    }

    /// Whether the window has just come back from a dip, so that a train may leave.
    pub(super) fn is_refilling(&self) -> bool {
        self.refills
    }

    /// Whether this flow's own dip explains that the queue is empty.
    pub(super) fn empties_queue(&self, now: Time) -> bool {
        now < self.empties_until
    }

    /// The window after a round, in bytes; `congested`: chance does not explain the round's losses.
    pub(super) fn window(&mut self, now: Time, congested: bool, path: &Share) -> f64 {
        let queue = path.queue.as_secs_f64();
        let lowest = self.queues.iter().copied().fold(f64::INFINITY, f64::min);
        self.queues.truncate(ROUNDS - 1);
        self.queues.push_front(queue);
        self.refills = false;
        if let Some(after) = self.after.take() {
            self.refills = true;
            return after;
        }
        if now.since(self.waiting_since) >= DIP_EVERY {
            self.waiting_since = now;
            self.after = Some(path.window);
            (self.lossy, self.decreased) = (0, false);
            let dip = DIP * path.window;
            if path.share_of_late <= NEARLY_ALL && path.window - dip > queue * path.rate {
                self.empties_until = now + path.rtt * DIP_TRIPS;
            }
            return dip;
        }
        if queue < LOWER * lowest && lowest.is_finite() {
            self.waiting_since = now;
        }
        if self.insist > 0 {
            return self.window_while_insisting(now, path);
        }
        self.refrain = self.refrain.saturating_sub(1);
        self.lossy = if congested { self.lossy + 1 } else { 0 };
        let lossy = self.lossy >= LOSSY;
        let is_needed = lossy || path.share < STARVED && self.is_pinned();
        if is_needed && self.refrain == 0 {
            self.insist = self.next_insist;
            self.next_insist = (2 * self.next_insist).min(MOST_INSIST);
            return round_trips_in_flight(path.share) * path.holds;
        }
        // What is lost of the packets that had left at a decrease is the same event (RFC 5681, section 3.2).
        self.decreased = congested && !self.decreased;
        if self.decreased {
            self.most = path.window;
            self.since = now;
            self.reno = DECREASE * path.window;
            return self.reno;
        }
        // Several windows that add up to one: the one of Reno is as the root of its growth, that of CUBIC
        // as the fourth root.
        let reno = RENO * path.part.powi(2);
        let scale = SCALE * path.part.powi(4);
        self.reno += reno * path.packet * (1.0 + CATCH_UP * (1.0 - path.share / SMALL).max(0.0));
        let most = self.most / path.packet;
        let way = (most * (1.0 - DECREASE) / scale).cbrt();
        let time = (now.since(self.since) + path.rtt).as_secs_f64();
        let cubic = (scale * (time - way).powi(3) + most) * path.packet;
        cubic.max(self.reno).clamp(path.window, 1.5 * path.window)
    }

    fn window_while_insisting(&mut self, now: Time, path: &Share) -> f64 {
        self.insist -= 1;
        self.plenty = if path.share > PLENTY {
            self.plenty + 1
        } else {
            0
        };
        self.lost += (path.excess.max(0.0) - self.lost) / VAIN_ROUNDS;
        let is_vain = self.lost > VAIN;
        if self.insist == 0 || self.plenty >= PLENTY_ROUNDS || is_vain {
            let window = DECREASE * path.window;
            let next_insist = match self.insist {
                0 => self.next_insist,
                _ if is_vain => self.next_insist,
                _ => INSIST,
            };
            *self = Competition {
                waiting_since: self.waiting_since,
                empties_until: self.empties_until,
                refrain: if is_vain { self.next_insist } else { 0 },
                decreased: true,
                next_insist,
                ..Competition::new(window, now)
            };
            return window;
        }
        round_trips_in_flight(path.share) * path.holds
    }

    /// The queue hardly changes: no flow responds to losses.
    fn is_pinned(&self) -> bool {
        if self.queues.len() < ROUNDS {
            return false;
        }
        let mut sorted = Vec::from_iter(self.queues.iter().copied());
        sorted.sort_by(f64::total_cmp);
        let (low, high) = (sorted[ROUNDS / 10], sorted[ROUNDS - 1 - ROUNDS / 10]);
        low > PINNED * high
    }
}

/// Round trips' worth to keep in flight with this share.
fn round_trips_in_flight(share: f64) -> f64 {
    IN_FLIGHT + CATCH_UP * (1.0 - share / SMALL).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKET: f64 = 1000.0;
    const TRIP: Duration = Duration::from_millis(50);

    /// The flow has a window of 100 packets, half of what the path carries in a round trip.
    fn share(window: f64, queue: Duration) -> Share {
        Share {
            window,
            packet: PACKET,
            holds: 100.0 * PACKET,
            share: 0.5,
            rate: 200.0 * PACKET / TRIP.as_secs_f64(),
            share_of_late: 0.5,
            part: 1.0,
            queue,
            rtt: TRIP,
            excess: 0.01,
        }
    }

    /// The windows in packets after rounds that had losses or not.
    fn windows<const N: usize>(congested: [bool; N]) -> [f64; N] {
        let mut now = Time::ZERO;
        let mut window = 100.0 * PACKET;
        let mut competition = Competition::new(window, now);
        congested.map(|congested| {
            now += TRIP;
            let share = share(window, TRIP);
            window = competition.window(now, congested, &share);
            window / PACKET
        })
    }

    #[test]
    fn losses_of_packets_that_had_left_at_a_decrease_are_the_same_event() {
        let [first, second, third, fourth] = windows([true, true, false, true]);
        assert!((first - 70.0).abs() < 1e-9, "{first}");
        assert!(second > first && third > second, "{second} {third}");
        assert!((fourth - DECREASE * third).abs() < 1e-9, "{fourth}");
    }

    #[test]
    fn a_flow_insists_if_losses_go_on_although_its_window_shrinks() {
        let windows = windows([true; 5]);
        assert!(windows[3] < 60.0, "{windows:?}");
        assert_eq!(windows[4], IN_FLIGHT * 100.0);
    }

    #[test]
    fn losses_with_rounds_without_any_between_them_are_those_of_a_flow_that_yields() {
        let windows = windows(core::array::from_fn::<_, 60, _>(|n| n % 5 < 4));
        assert!(windows.iter().all(|window| *window < 80.0), "{windows:?}");
    }

    #[test]
    fn a_dip_that_empties_the_queue_by_itself_shows_nothing_of_others() {
        let window = 100.0 * PACKET;
        let dips = Time::ZERO + DIP_EVERY;
        let explains = |queue: u64, share_of_late| {
            let mut competition = Competition::new(window, Time::ZERO);
            let share = Share {
                share_of_late,
                ..share(window, Duration::from_millis(queue))
            };
            assert!(!competition.empties_queue(dips));
            assert_eq!(competition.window(dips, false, &share), DIP * window);
            assert!(!competition.empties_queue(dips + TRIP * DIP_TRIPS));
            competition.empties_queue(dips + TRIP)
        };
        // The dip takes 70 packets from the path, which are 17.5 ms of the queue.
        assert!(explains(17, 0.5));
        assert!(!explains(18, 0.5));
        // A flow that is alone always empties it.
        assert!(!explains(17, 0.9));
    }
}
