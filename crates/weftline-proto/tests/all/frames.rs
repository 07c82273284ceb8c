//! The frames of a live video as messages: each is a burst of symbols, and a pause follows.

use std::collections::BTreeMap;
use std::time::Duration;

use weftline_netem::{LinkConfig, Node, Outages, Simulation};
use weftline_proto::{Config, Role, Session, Time};

const FRAMES: u64 = 3600;
const LONG: Duration = Duration::from_secs(1);
/// A path that loses 6 % and, once, holds all packets for 30 ms.
const HOLD: &str = "0s rate=25mbit loss=iid:6%\n20s rate=0bit\n20.03s rate=25mbit\n";
/// IP, UDP, QUIC and WebTransport.
const HEADERS: usize = 54;

/// 2 Mbit/s at 30 frames a second; each 60th is a key frame of five times the usual size.
fn size(frame: u64) -> usize {
    let parts = match frame % 60 {
        0 => 40,
        place => 4 + (place * 7) % 9,
    };
    969 * parts as usize
}

fn due(frame: u64) -> Duration {
    LONG + Duration::from_nanos(frame * 1_000_000_000 / 30)
}

fn time(now: Duration) -> Time {
    Time::from_micros(now.as_micros() as u64)
}

/// A process that has no time now and then takes what has arrived meanwhile afterwards.
const STALLS_EVERY: Duration = Duration::from_millis(700);

/// The end of the stall that `now` is in: each lasts for 10 to 60 ms.
fn stalled_until(now: Duration) -> Option<Duration> {
    let number = (now.as_nanos() / STALLS_EVERY.as_nanos()) as u32;
    let long = Duration::from_millis(10 + u64::from(number) * 37 % 51);
    // Not in step with the frames.
    let begin = STALLS_EVERY * number + Duration::from_millis(u64::from(number) * 101 % 600);
    (begin..begin + long).contains(&now).then_some(begin + long)
}

struct End {
    session: Session,
    next: u64,
    last: u64,
    /// It stalls now and then. What has arrived during a stall.
    stalls: bool,
    held: Vec<Vec<u8>>,
    wakes: Option<Duration>,
    /// When each frame was here, after it was due.
    delays: BTreeMap<u64, Duration>,
}

impl End {
    fn new(role: Role, config: &Config, last: u64) -> Self {
        let mut session = Session::new(role, config.clone(), 1, Time::ZERO).expect("possible");
        session.set_largest_datagram(1180).expect("long enough");
        End {
            session,
            next: 0,
            last,
            stalls: false,
            held: Vec::new(),
            wakes: None,
            delays: BTreeMap::new(),
        }
    }

    fn run(&mut self, now: Duration) {
        while self.next < self.last && due(self.next) <= now {
            let mut frame = vec![7; size(self.next)];
            frame[..8].copy_from_slice(&self.next.to_be_bytes());
            // In an outage there may be no room for it.
            let _ = self.session.send_message(time(now), frame, Some(LONG));
            self.next += 1;
        }
        while self.session.poll_event().is_some() {}
        while let Some(message) = self.session.recv_message() {
            let frame = u64::from_be_bytes(message.data[..8].try_into().expect("eight bytes"));
            self.delays.insert(frame, now - due(frame));
        }
    }

    /// The end of the stall that it is in.
    fn until(&self, now: Duration) -> Option<Duration> {
        self.stalls.then(|| stalled_until(now)).flatten()
    }
}

impl Node for End {
    fn receive(&mut self, now: Duration, datagram: &[u8]) {
        if let Some(until) = self.until(now) {
            self.held.push(datagram.to_vec());
            self.wakes = Some(until);
            return;
        }
        self.session.handle_datagram(time(now), datagram);
        self.run(now);
    }

    fn timeout(&mut self, now: Duration) {
        if self.until(now).is_some() {
            return;
        }
        self.wakes = None;
        for datagram in self.held.drain(..) {
            self.session.handle_datagram(time(now), &datagram);
        }
        self.session.handle_timeout(time(now));
        self.run(now);
    }

    fn transmit(&mut self, now: Duration) -> Option<Vec<u8>> {
        if self.until(now).is_some() {
            return None;
        }
        let mut datagram = Vec::new();
        let wrote = self.session.poll_transmit(time(now), &mut datagram);
        wrote.then_some(datagram)
    }

    fn next_timeout(&self) -> Option<Duration> {
        let timer = self.session.poll_timeout();
        let timer = timer.map(|at| Duration::from_micros(at.as_micros()));
        let frame = (self.next < self.last).then(|| due(self.next));
        let due = timer.into_iter().chain(frame).chain(self.wakes).min()?;
        Some(self.until(due).unwrap_or(due))
    }
}

/// How long after the path's own delay 99 % of the frames are here, and bytes on the wire for each
/// byte of video. `stalls`: the viewer does.
fn play(preset: &str, delay: u64, loss: &str, stalls: bool) -> (Duration, f64) {
    let (delays, wire) = delays(1, preset, delay, loss, stalls);
    (delays[delays.len() * 99 / 100], wire)
}

/// The same of all frames, sorted, for these losses.
fn delays(seed: u64, preset: &str, delay: u64, loss: &str, stalls: bool) -> (Vec<Duration>, f64) {
    let config: Config = preset.parse().expect("a preset");
    let link = |loss: &str| -> LinkConfig {
        let text = format!("rate=25mbit delay={delay}ms queue=100ms loss={loss}");
        LinkConfig::parse_with(&text, &mut |_| Ok(HOLD.to_owned())).expect("well-formed")
    };
    let mut sim = Simulation::new(
        End::new(Role::Server, &config, FRAMES),
        End::new(Role::Client, &config, 0),
        link(loss),
        link("none"),
        seed,
    );
    sim.per_datagram_overhead = HEADERS;
    sim.b.stalls = stalls;
    sim.run_until(due(FRAMES) + 3 * LONG);
    let delays = &sim.b.delays;
    assert_eq!(delays.len() as u64, FRAMES, "no frame is lost");
    let path = Duration::from_millis(delay);
    let mut sorted: Vec<Duration> = delays.values().map(|&delay| delay - path).collect();
    sorted.sort();
    let wire = sim.a_to_b.link().counters().offered_bytes as f64;
    let video: usize = (0..FRAMES).map(size).sum();
    (sorted, wire / video as f64)
}

/// Far away, 6 % lost: nobody can ask for what is missing within 50 ms. Repairs that leave just before
/// the next frame are of use only with that one.
#[test]
fn the_repairs_of_a_frame_follow_its_last_symbol() {
    for (preset, most) in [("auto,share=0.22", 1.4), ("auto", 1.48)] {
        let (beyond, wire) = play(preset, 120, "iid:6%", false);
        assert!(beyond < Duration::from_millis(38), "{preset}: {beyond:?}");
        assert!(wire < most, "{preset}: {wire}");
    }
}

/// Near the limit the repairs go to the frames that need them most, not to each as many.
#[test]
fn few_frames_are_late_where_the_limit_allows_few_repairs() {
    let mut late = 0;
    for seed in 1..=5 {
        let (delays, wire) = delays(seed, "auto,share=0.24", 120, "iid:6%", false);
        assert!(wire < 1.41, "{wire}");
        late += delays.len() - delays.partition_point(|delay| *delay <= Duration::from_millis(25));
    }
    // 369 when each frame had as many repairs as the limit left at its time.
    assert!(late < 340, "{late} of {} frames", 5 * FRAMES);
}

/// A run of losses takes the end of a frame and all its repairs. What is sent again must not wait for the next
/// frame to show the loss.
#[test]
fn the_pause_after_a_frame_shows_that_its_end_is_lost() {
    let (beyond, wire) = play("auto,deadline=110,share=0.6", 30, "ge:10%,4", false);
    assert!(beyond < Duration::from_millis(85), "{beyond:?}");
    assert!(wire < 1.98, "{wire}");
}

/// The path carries nothing for five seconds. How long after its return the next frame is here.
fn after_an_outage(delay: u64, ms: u64) -> Duration {
    let (from, to) = (
        Duration::from_millis(6000 + ms),
        Duration::from_millis(11_000 + ms),
    );
    let link = || -> LinkConfig {
        let text = format!("rate=25mbit delay={delay}ms queue=100ms");
        let link: LinkConfig = text.parse().expect("well-formed");
        link.with_down(Outages::new(from, to))
    };
    let config = Config::default();
    let mut sim = Simulation::new(
        End::new(Role::Server, &config, FRAMES),
        End::new(Role::Client, &config, 0),
        link(),
        link(),
        1,
    );
    sim.per_datagram_overhead = HEADERS;
    sim.run_until(to + 2 * LONG);
    let arrived = sim
        .b
        .delays
        .iter()
        .map(|(&frame, &delay)| due(frame) + delay);
    let first = arrived
        .filter(|&at| at > to)
        .min()
        .expect("a frame arrives");
    first - to
}

#[test]
fn a_video_plays_again_soon_after_an_outage() {
    for (delay, most) in [(10, 150), (30, 300), (60, 500)] {
        let mut took: Vec<Duration> = (0..10).map(|n| after_an_outage(delay, 37 * n)).collect();
        took.sort();
        assert!(
            took[9] < Duration::from_millis(most),
            "{delay} ms: {took:?}"
        );
    }
}

/// A key frame must not wait for the pace of the frames before it. On an empty link of 25 Mbit/s it takes
/// 13 ms.
#[test]
fn the_pace_follows_what_the_path_carries_and_not_what_the_video_needs() {
    let (beyond, _) = play("auto", 30, "none", false);
    assert!(beyond < Duration::from_millis(20), "{beyond:?}");
    let (beyond, wire) = play("auto", 30, "iid:2%", false);
    assert!(beyond < Duration::from_millis(20), "{beyond:?}");
    assert!(wire < 1.42, "{wire}");
}

/// A viewer that stalls sees frames late, but its sender must not take the delay for a queue and send the
/// next ones slowly or without repairs.
#[test]
fn a_viewer_that_stalls_is_not_a_queue() {
    for (delay, loss) in [(30, "none"), (30, "iid:2%"), (120, "iid:6%")] {
        let (beyond, _) = play("auto", delay, loss, true);
        assert!(
            beyond < Duration::from_millis(45),
            "{delay} ms, {loss}: {beyond:?}"
        );
    }
}

/// One short hold looks like a queue and ends the start. The rate of that round is the video's, not the path's.
#[test]
fn one_hold_does_not_slow_a_video_for_good() {
    let (beyond, wire) = play("auto,share=0.22", 120, "trace:hold", false);
    assert!(beyond < Duration::from_millis(50), "{beyond:?}");
    assert!(wire < 1.4, "{wire}");
}
