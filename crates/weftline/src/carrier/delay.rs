//! A QUIC congestion controller that goes by delay, not by loss.
//!
//! Like Vegas (Brakmo and Peterson 1995) it keeps the queue that it adds to the path near a small
//! target, so that losses which have nothing to do with congestion do not slow it down. Like BBR
//! it never lets out much more than what was delivered, so that a path without a queue, which
//! answers overload with losses alone, is not overloaded for long.

use std::any::Any;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use quinn::congestion::{Controller, ControllerFactory};
use quinn_proto::RttEstimator;

/// The queue aimed at is this part of the round-trip time, within these bounds: below the lower
/// one is the noise of timers, above the upper one others would suffer.
const TARGET_SHARE: u32 = 8;
const TARGET_MIN: Duration = Duration::from_millis(4);
const TARGET_MAX: Duration = Duration::from_millis(20);
/// The window may exceed what was delivered in a round trip by this factor. It bounds the
/// overload on a path without a queue, and the loss that is tolerated, to a third.
const HEADROOM: f64 = 1.5;
/// The same at the start, when the window doubles each round.
const START_HEADROOM: f64 = 3.0;
/// A round with more loss than this ends the start, if it had this many packets: of ten, four may be
/// lost by chance where one in five is.
const START_LOSS: f64 = 0.3;
const START_SAMPLE: u64 = 40;
/// After as many rounds without a queue the window grows by this power of two faster, up to
/// doubling: what ended the start was not the path's rate.
const CALM: u32 = 4;
/// The round-trip time without a queue is the smallest of this long.
const BASE_EPOCH: Duration = Duration::from_secs(5);
const BASE_EPOCHS: usize = 2;
/// Its own short queue would pass for the path's delay after that. So, about once an epoch, the
/// window falls to this part of what the path holds, for as many rounds, which empties the queue.
const PROBE_SHARE: f64 = 0.75;
const PROBE_ROUNDS: u32 = 2;
/// More than RFC 9002 has: they leave paced over a round trip, and a loss among them costs none.
const INITIAL_PACKETS: u64 = 32;
/// What the window may exceed a round's worth by, so that it can grow from nothing.
const SLACK_PACKETS: u64 = 10;
const MIN_PACKETS: u64 = 4;

/// Makes the controller.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DelayConfig;

impl ControllerFactory for DelayConfig {
    fn build(self: Arc<Self>, now: Instant, mtu: u16) -> Box<dyn Controller> {
        Box::new(Delay::new(now, mtu))
    }
}

#[derive(Clone, Debug)]
struct Delay {
    window: u64,
    mtu: u64,
    starting: bool,
    /// Rounds in a row that saw hardly any queue.
    calm: u32,
    base: Base,
    probed: Instant,
    /// Rounds that the base is still being measured for, and the window afterwards.
    probing: Option<(u32, u64)>,
    round: Round,
    last_sent: u64,
}

/// What happened since the round began; it ends when a packet sent after that is acknowledged.
#[derive(Clone, Copy, Debug)]
struct Round {
    began: Instant,
    last_packet: u64,
    shortest: Option<Duration>,
    delivered: u64,
    lost: u64,
    limited_by_window: bool,
}

impl Round {
    fn new(began: Instant, last_packet: u64) -> Self {
        Round {
            began,
            last_packet,
            shortest: None,
            delivered: 0,
            lost: 0,
            limited_by_window: false,
        }
    }
}

/// The smallest round-trip time of the last epochs.
#[derive(Clone, Debug)]
struct Base(VecDeque<(Instant, Duration)>);

impl Base {
    fn add(&mut self, now: Instant, rtt: Duration) -> Duration {
        match self.0.back_mut() {
            Some((began, min)) if now.duration_since(*began) < BASE_EPOCH => *min = rtt.min(*min),
            _ => self.0.push_back((now, rtt)),
        }
        if self.0.len() > BASE_EPOCHS {
            self.0.pop_front();
        }
        self.0.iter().map(|(_, min)| *min).min().unwrap_or(rtt)
    }
}

impl Delay {
    fn new(now: Instant, mtu: u16) -> Self {
        Delay {
            window: INITIAL_PACKETS * u64::from(mtu),
            mtu: u64::from(mtu),
            starting: true,
            calm: 0,
            base: Base(VecDeque::new()),
            probed: now,
            probing: None,
            round: Round::new(now, 0),
            last_sent: 0,
        }
    }

    fn acknowledged(&mut self, bytes: u64, rtt: Duration, app_limited: bool) {
        let round = &mut self.round;
        round.delivered += bytes;
        round.limited_by_window |= !app_limited;
        round.shortest = Some(round.shortest.map_or(rtt, |shortest| shortest.min(rtt)));
    }

    fn end_round(&mut self, now: Instant) {
        let round = std::mem::replace(&mut self.round, Round::new(now, self.last_sent));
        let Some(rtt) = round.shortest else { return };
        let base = self.base.add(now, rtt);
        if let Some((left, window)) = self.probing {
            self.probing = (left > 1).then_some((left - 1, window));
            if self.probing.is_none() {
                self.window = window;
            }
            return;
        }
        if !round.limited_by_window {
            return;
        }
        let took = now.duration_since(round.began).as_secs_f64().max(1e-6);
        let rate = round.delivered as f64 / took;
        let least = MIN_PACKETS * self.mtu;
        if !self.starting && now.duration_since(self.probed) >= BASE_EPOCH {
            self.probed = now;
            self.probing = Some((PROBE_ROUNDS, self.window));
            self.window = ((PROBE_SHARE * rate * base.as_secs_f64()) as u64).max(least);
            return;
        }
        let target = (base / TARGET_SHARE).clamp(TARGET_MIN, TARGET_MAX);
        let queue = rtt - base;
        let loss = round.lost as f64 / (round.lost + round.delivered).max(1) as f64;
        let enough = round.lost + round.delivered >= START_SAMPLE * self.mtu;
        let overloaded = queue > target || enough && loss > START_LOSS;
        self.starting &= !overloaded;
        self.calm = match overloaded || queue > target / 4 {
            true => 0,
            false => (self.calm + 1).min(CALM),
        };

        let window = self.window as f64;
        let wanted = if queue > target {
            window * ((base + target).as_secs_f64() / rtt.as_secs_f64()).max(0.7)
        } else if self.starting {
            window * 2.0
        } else {
            let room = 1.0 - queue.as_secs_f64() / target.as_secs_f64();
            let step = (window / 16.0).max(2.0 * self.mtu as f64);
            window + step * f64::from(1u32 << self.calm.saturating_sub(1).min(CALM)) * room
        };
        let headroom = if self.starting {
            START_HEADROOM
        } else {
            HEADROOM
        };
        let most = headroom * rate * rtt.as_secs_f64() + (SLACK_PACKETS * self.mtu) as f64;
        self.window = (wanted.min(most) as u64).max(least);
    }
}

impl Controller for Delay {
    fn on_sent(&mut self, _now: Instant, _bytes: u64, packet: u64) {
        self.last_sent = packet;
    }

    fn on_ack(
        &mut self,
        now: Instant,
        sent: Instant,
        bytes: u64,
        app_limited: bool,
        _rtt: &RttEstimator,
    ) {
        let rtt = now.saturating_duration_since(sent);
        self.acknowledged(bytes, rtt, app_limited);
    }

    fn on_end_acks(&mut self, now: Instant, _in_flight: u64, _limited: bool, packet: Option<u64>) {
        if packet.is_some_and(|packet| packet > self.round.last_packet) {
            self.end_round(now);
        }
    }

    fn on_congestion_event(&mut self, _now: Instant, _sent: Instant, persistent: bool, lost: u64) {
        self.round.lost += lost;
        if persistent {
            self.probing = None;
            self.window = MIN_PACKETS * self.mtu;
        }
    }

    fn on_mtu_update(&mut self, mtu: u16) {
        self.mtu = u64::from(mtu);
        self.window = self.window.max(MIN_PACKETS * self.mtu);
    }

    fn window(&self) -> u64 {
        self.window
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        INITIAL_PACKETS * self.mtu
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MTU: u64 = 1200;

    /// A path as a fluid: what exceeds a round trip's worth waits, then is lost.
    #[derive(Clone, Copy)]
    struct Path {
        bytes_per_second: f64,
        base: f64,
        queue: f64,
        loss: f64,
    }

    const PATH: Path = Path {
        bytes_per_second: 3e6,
        base: 0.06,
        queue: 0.1,
        loss: 0.0,
    };

    impl Path {
        fn product(&self) -> f64 {
            self.bytes_per_second * self.base
        }

        /// Runs `rounds` round trips; returns the last one's queueing delay and share of loss.
        fn run(&self, controller: &mut Delay, now: &mut Instant, rounds: u32) -> (f64, f64) {
            let mut last = (0.0, 0.0);
            for _ in 0..rounds {
                let sent = controller.window as f64;
                let arrived = sent * (1.0 - self.loss);
                let taken = arrived.min(self.bytes_per_second * (self.base + self.queue));
                let rtt = self.base.max(taken / self.bytes_per_second);
                *now += Duration::from_secs_f64(rtt);
                let rtt = Duration::from_secs_f64(rtt);
                controller.acknowledged(taken as u64, rtt, false);
                controller.round.lost += (sent - taken) as u64;
                controller.end_round(*now);
                last = (rtt.as_secs_f64() - self.base, (sent - taken) / sent);
            }
            last
        }
    }

    #[test]
    fn the_path_is_filled_with_a_short_queue() {
        let mut now = Instant::now();
        let mut controller = Delay::new(now, MTU as u16);
        PATH.run(&mut controller, &mut now, 12);
        let filled = controller.window as f64 / PATH.product();
        assert!(filled > 0.9, "{filled} of the path after 12 round trips");
        PATH.run(&mut controller, &mut now, 20);
        for _ in 0..1000 {
            let (queue, loss) = PATH.run(&mut controller, &mut now, 1);
            assert!(queue < 0.015 && loss == 0.0, "{queue} s, {loss}");
        }
        let window = controller
            .probing
            .map_or(controller.window, |(_, after)| after);
        assert!(window as f64 > PATH.product());
    }

    #[test]
    fn random_loss_does_not_slow_it_down() {
        for loss in [0.05, 0.1, 0.25] {
            let path = Path { loss, ..PATH };
            let mut now = Instant::now();
            let mut controller = Delay::new(now, MTU as u16);
            path.run(&mut controller, &mut now, 100);
            let filled = controller.window as f64 * (1.0 - loss) / path.product();
            assert!(filled > 0.9, "{filled} of the path at {loss}");
        }
    }

    #[test]
    fn a_path_without_a_queue_is_overloaded_by_a_third_at_most() {
        let path = Path { queue: 0.0, ..PATH };
        let mut now = Instant::now();
        let mut controller = Delay::new(now, MTU as u16);
        let (_, loss) = path.run(&mut controller, &mut now, 200);
        assert!(loss < 0.38, "{loss}");
    }

    #[test]
    fn a_slower_path_empties_its_queue_soon() {
        let mut now = Instant::now();
        let mut controller = Delay::new(now, MTU as u16);
        PATH.run(&mut controller, &mut now, 50);
        let slower = Path {
            bytes_per_second: PATH.bytes_per_second / 4.0,
            ..PATH
        };
        let (queue, _) = slower.run(&mut controller, &mut now, 10);
        assert!(queue < 0.02, "{queue} s");
    }

    #[test]
    fn a_longer_path_is_believed_after_a_while() {
        let mut now = Instant::now();
        let mut controller = Delay::new(now, MTU as u16);
        PATH.run(&mut controller, &mut now, 50);
        let longer = Path { base: 0.2, ..PATH };
        longer.run(&mut controller, &mut now, 400);
        let filled = controller.window as f64 / longer.product();
        assert!(filled > 0.9, "{filled}");
    }

    #[test]
    fn a_window_that_was_not_needed_does_not_grow() {
        let mut now = Instant::now();
        let mut controller = Delay::new(now, MTU as u16);
        for _ in 0..50 {
            now += Duration::from_millis(60);
            controller.acknowledged(MTU, Duration::from_millis(60), true);
            controller.end_round(now);
        }
        assert_eq!(controller.window, INITIAL_PACKETS * MTU);
    }
}
