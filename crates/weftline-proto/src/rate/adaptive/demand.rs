//! What a flow does that does not fill its window, such as a stream or a video, once others fill the queue.
//!
//! Such a flow has not made the queue. If it gave way, its application would wait for seconds, until the flow knows
//! that the others react to losses only. So it goes on at its rate, unless the queue may be its own: the path carries
//! less than before, or the application wants more. A train of packets tells: it arrives as fast as the flow usually
//! does if the queue has no other packets, and faster if the train takes the places of others.

use core::time::Duration;

use super::offer::Offer;
use super::{Adaptive, Found, Phase, START_LOSS, Train, arrived_part};
use crate::rate::round::Round;
use crate::time::Time;

/// The window may hold this many times what the application sends in a round trip without a queue, and once what it
/// sends in the time of the queue. With more of the latter, a queue of the flow's own would let it grow.
const ROOM: f64 = 1.5;
/// But it does not grow beyond what arrived in a round by more than this factor.
const MOST_GROWTH: f64 = 2.0;
/// Where the flow fills its window, and less than this part of its rate arrives, the path carries less than before;
/// so it does where more than [`START_LOSS`] is lost. It takes this many rounds in a row, as TCP does the same when it
/// starts.
const ARRIVES: f64 = 0.65;
/// A newcomer's window is still too small as long as ever more arrives, by this factor.
const GROWS: f64 = 1.1;
const SHORT: u8 = 4;
/// The same where this many rounds in a row lose more than before by this share.
const LOSSY: u8 = 6;
const HEAVY_LOSS: f64 = 0.1;
/// The same where the path seems to move the delay for this many rounds in a row.
const MOVED: u8 = 3;
/// A longer queue is not left to others.
const LONGEST: Duration = Duration::from_millis(250);
/// The rate at which the application writes counts for this time at first, and as long as a train finds others.
const YOUNG: Duration = Duration::from_secs(5);
/// Losses are averaged over some eight rounds.
const NEW_LOSS: f64 = 1.0 / 8.0;

/// A train leaves when the queue is longer than its target by this factor for this many rounds in a row, but not
/// within this time after one that has told whose the queue is.
const TOO_LONG: f64 = 1.25;
const LONG: u8 = 3;
const AGAIN: Duration = Duration::from_secs(10);
/// The queue has packets of others if the train arrives this many times faster than the flow.
const FASTER: f64 = 1.15;
/// If nothing waits to be sent, a flow that has never been without a queue, and has been that much faster, holds back
/// this many packets for the train, if that takes no longer than this. Others do so if it takes no longer than that.
const TRAIN: f64 = 16.0;
const HOLD: Duration = Duration::from_millis(50);
const SHORT_HOLD: Duration = Duration::from_millis(20);
/// Where no train has told, a queue is the flow's own if the flow always has more to send for this many rounds. Where
/// one has, the application wants more than before after as many rounds as this.
const BEHIND: u8 = 20;
const HOPELESS: u8 = 100;
/// It also is if the queue has not fallen to this part for this time: TCP makes it fall now and then.
const FALLS: f64 = 0.8;
const STANDS: Duration = Duration::from_secs(20);

/// A train that tells whose the queue is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Check {
    #[default]
    None,
    /// The packet after the next one, and those that follow it, wait until there is a train.
    Hold,
    /// They wait.
    Holds,
    /// A train leaves if enough waits to be sent.
    Leaves,
    /// It certainly does, or has.
    Certain,
}

/// What an application sends that does not fill the window.
#[derive(Clone, Debug, Default)]
pub(super) struct Demand {
    offer: Option<Offer>,
    /// When the first of it had left.
    began: Time,
    /// Bytes a second, measured without a queue or as they were written; zero if the flow keeps nothing for them.
    rate: f64,
    /// The share of them that was lost without a queue.
    loss: f64,
    /// The rate was measured without a queue.
    measured: bool,
    /// A queue was the flow's own. What it wants counts again when it meets none.
    refused: bool,
    /// Rounds in a row that lost much, in which little arrived, and in which the queue was too long.
    lossy: u8,
    short: u8,
    long: u8,
    /// The most bytes a second that have arrived in a round.
    arrived: f64,
    check: Check,
    /// When a train last found others, and when one last found none.
    others: Option<Time>,
    alone: Option<Time>,
    /// The longest queue since it last fell, and when that was.
    longest: Duration,
    since: Time,
}

impl Demand {
    /// What the application writes, and what a train has found alone, outlasts the rest.
    fn anew(&self) -> Demand {
        Demand {
            offer: self.offer,
            began: self.began,
            alone: self.alone,
            ..Demand::default()
        }
    }

    /// A train has found others in the queue lately.
    fn has_found_others(&self, now: Time) -> bool {
        self.others.is_some_and(|at| now.since(at) < 2 * AGAIN)
    }
}

impl Adaptive {
    /// Of the bytes that the application has written until now, `waiting` have not left.
    pub(in crate::rate) fn on_written(&mut self, now: Time, written: u64, waiting: u64) {
        let demand = match &mut self.demand {
            None if written == 0 || waiting > 0 => return,
            demand => demand.get_or_insert_default(),
        };
        match &mut demand.offer {
            Some(offer) => offer.on_written(now, written, waiting),
            None if waiting == 0 => {
                demand.offer = Some(Offer::new(now, written));
                demand.began = now;
            }
            None => {}
        }
    }

    /// Bytes a second for which the window keeps room, or zero.
    pub(super) fn demanded(&self) -> f64 {
        self.demand.as_ref().map_or(0.0, |demand| demand.rate)
    }

    /// What the application wants no longer counts, until the flow meets no queue.
    pub(super) fn refuse_demand(&mut self) {
        if let Some(demand) = &mut self.demand {
            **demand = Demand {
                refused: true,
                ..demand.anew()
            };
        }
    }

    /// A round without a queue has ended, and the flow has met none for a time.
    pub(super) fn notice_demand(&mut self, round: &Round, found: &Found) {
        // Late reports would show too late that the queue is the flow's own.
        if !found.is_even() || self.late > Duration::ZERO {
            return;
        }
        let recent = self.rates.recent();
        let demand = self.demand.get_or_insert_default();
        let before = demand.loss;
        let loss = match demand.rate > 0.0 {
            true => before + NEW_LOSS * (round.loss() - before),
            false => round.loss(),
        };
        **demand = Demand {
            rate: recent / (1.0 - loss.min(START_LOSS)),
            loss,
            measured: true,
            ..demand.anew()
        };
    }

    /// Takes the application's rate as it writes, as long as the flow has not measured it without a queue.
    fn take_offer(&mut self, now: Time, found: &Found) {
        let Some(demand) = &mut self.demand else {
            return;
        };
        if let Some(offer) = &demand.offer
            && !demand.refused
            && !demand.measured
            && !found.moves
            && found.is_even()
            && self.late.is_zero()
            && self.competition.is_none()
        {
            let counts = demand.has_found_others(now) || now.since(demand.began) < YOUNG;
            if demand.rate == 0.0 {
                demand.since = now;
            }
            demand.rate = if counts { offer.rate() } else { 0.0 };
        }
    }

    /// Ends the demand if this round shows that the queue may be the flow's own.
    pub(super) fn watch_demand(&mut self, now: Time, round: &Round, found: &Found) {
        self.take_offer(now, found);
        let recent = self.rates.recent();
        let Some(demand) = &mut self.demand else {
            return;
        };
        if demand.rate == 0.0 {
            return;
        }
        let told = demand.has_found_others(now);
        let count = |so_far: u8, so: bool| if so { so_far.saturating_add(1) } else { 0 };
        let lost = round.loss() - demand.loss;
        let is_steady = self.phase == Phase::Steady;
        let slow = is_steady && round.full && recent < ARRIVES * demand.rate && !told;
        if recent > GROWS * demand.arrived {
            (demand.arrived, demand.short) = (recent, 0);
        }
        demand.lossy = count(demand.lossy, lost > HEAVY_LOSS);
        demand.short = count(demand.short, slow || lost > START_LOSS);
        demand.long = count(demand.long, found.queue > found.target.mul_f64(TOO_LONG));
        let queue = found.queue;
        if queue < demand.longest.mul_f64(FALLS) || queue <= found.target {
            (demand.longest, demand.since) = (queue, now);
        }
        demand.longest = demand.longest.max(queue);
        let stands = now.since(demand.since) >= STANDS;
        let behind = if told { HOPELESS } else { BEHIND };
        let is_own = found.moves && self.moved + 1 >= MOVED
            || queue > LONGEST
            || round.marked
            || demand.short >= SHORT
            || demand.lossy >= LOSSY
            || stands && !told
            || self.backlogged >= behind;
        if is_own {
            self.refuse_demand();
        } else {
            self.check_queue(now, round.idle);
        }
    }

    /// Sends a train if it is time to know whose the queue is.
    fn check_queue(&mut self, now: Time, is_idle: bool) {
        let Some(demand) = &mut self.demand else {
            return;
        };
        let is_recent = |at: Option<Time>| at.is_some_and(|at| now.since(at) < AGAIN);
        if demand.long < LONG || is_recent(demand.others) {
            return;
        }
        if is_recent(demand.alone) {
            return self.refuse_demand();
        }
        if self.phase != Phase::Steady || self.train != Train::None {
            return;
        }
        let takes = TRAIN * self.packet / demand.rate;
        let was_faster = self.rates.path() >= FASTER * self.rates.recent();
        let most = if was_faster { HOLD } else { SHORT_HOLD };
        // A shorter round ends before the train leaves.
        let most = most.min(self.srtt);
        let may_hold = !demand.measured && takes <= most.as_secs_f64();
        demand.check = match is_idle && may_hold {
            true => Check::Hold,
            false => Check::Leaves,
        };
        demand.long = 0;
        self.train = Train::Leaving;
    }

    /// A datagram leaves. If a train is to leave, the packets behind it wait.
    pub(super) fn advance_check(&mut self) {
        if let Some(demand) = &mut self.demand {
            demand.check = match demand.check {
                Check::Hold => Check::Holds,
                Check::Holds => Check::Certain,
                check => check,
            };
        }
    }

    /// Bytes a second at which the newest datagram has to leave, so that a train gathers behind it.
    pub(super) fn gathering(&self) -> Option<f64> {
        let demand = self.demand.as_ref()?;
        (demand.check == Check::Holds).then_some(demand.rate / TRAIN)
    }

    /// The round in which the train had to leave has ended; in it there was always more to send, or not.
    pub(super) fn note_train(&mut self, was_idle: bool) {
        if let Some(demand) = &mut self.demand
            && demand.check == Check::Leaves
            && !was_idle
        {
            demand.check = Check::Certain;
        }
    }

    /// The train has arrived, and tells whose the queue is.
    pub(super) fn end_check(&mut self, now: Time) {
        let (best, recent) = (self.rates.trains.best(), self.rates.recent());
        let Some(demand) = &mut self.demand else {
            return;
        };
        let check = core::mem::take(&mut demand.check);
        if check == Check::None || best == 0.0 {
            return;
        }
        if best >= FASTER * recent {
            demand.others = Some(now);
            (demand.longest, demand.since) = (Duration::ZERO, now);
        } else if check == Check::Certain && FASTER * best >= recent {
            demand.alone = Some(now);
            self.refuse_demand();
        }
    }

    /// The bytes that the window keeps with this queue, as it is not this flow's.
    pub(super) fn kept(&self, round: &Round, base: Duration, queue: Duration) -> f64 {
        let time = (base + self.interval).mul_f64(ROOM) + queue;
        let sent = round.arrived() / arrived_part(round);
        let most = self.window.max(MOST_GROWTH * sent);
        (self.demanded() * time.as_secs_f64()).min(most)
    }
}
