//! Two endpoints in virtual time.

use std::time::Duration;

use weftline_netem::{LinkConfig, MAX_EVENTS_PER_INSTANT, NamedLink, Node, RunEnd, Simulation};

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// Sends one numbered ping each interval, and notes when its echo came.
#[derive(Debug, Clone, PartialEq)]
struct Pinger {
    interval: Duration,
    next: Option<Duration>,
    sent: u32,
    count: u32,
    ready: Option<Vec<u8>>,
    echoes: Vec<(Duration, u32)>,
}

impl Pinger {
    fn new(interval: Duration, count: u32) -> Self {
        Self {
            interval,
            next: Some(Duration::ZERO),
            sent: 0,
            count,
            ready: None,
            echoes: Vec::new(),
        }
    }
}

impl Node for Pinger {
    fn receive(&mut self, now: Duration, datagram: &[u8]) {
        let number = datagram[..4]
            .try_into()
            .expect("a ping is longer than four bytes");
        self.echoes.push((now, u32::from_be_bytes(number)));
    }

    fn timeout(&mut self, now: Duration) {
        let mut ping = self.sent.to_be_bytes().to_vec();
        ping.resize(972, 0);
        self.ready = Some(ping);
        self.sent += 1;
        self.next = (self.sent < self.count).then_some(now + self.interval);
    }

    fn transmit(&mut self, _now: Duration) -> Option<Vec<u8>> {
        self.ready.take()
    }

    fn next_timeout(&self) -> Option<Duration> {
        self.next
    }
}

/// Sends back what it gets.
#[derive(Debug, Clone, Default, PartialEq)]
struct Echo(Vec<Vec<u8>>);

impl Node for Echo {
    fn receive(&mut self, _now: Duration, datagram: &[u8]) {
        self.0.push(datagram.to_vec());
    }

    fn timeout(&mut self, _now: Duration) {}

    fn transmit(&mut self, _now: Duration) -> Option<Vec<u8>> {
        self.0.pop()
    }

    fn next_timeout(&self) -> Option<Duration> {
        None
    }
}

/// 972 bytes and 28 of headers at 8 Mbit/s take 1 ms: an echo needs 2 + 10 + 10 ms.
fn path() -> LinkConfig {
    LinkConfig::default()
        .with_rate(8_000_000)
        .with_delay(ms(10))
}

fn pinging(count: u32) -> Simulation<Pinger, Echo> {
    Simulation::new(
        Pinger::new(ms(5), count),
        Echo::default(),
        path(),
        path(),
        1,
    )
}

#[test]
fn echoes_come_back_after_exactly_one_round_trip() {
    let mut sim = pinging(4);
    while sim.step().is_some() {}
    let expected: Vec<_> = (0..4).map(|i| (ms(22 + 5 * u64::from(i)), i)).collect();
    assert_eq!(sim.a.echoes, expected);
    assert_eq!(sim.now(), ms(37));
    assert_eq!(sim.a_to_b.link().counters().delivered_bytes, 4000);
}

#[test]
fn steps_visit_every_instant_in_order() {
    let mut sim = pinging(2);
    let times: Vec<Duration> = std::iter::from_fn(|| sim.step()).collect();
    // Ping, ping, arrival, arrival, echo, echo.
    assert_eq!(times, [0, 5, 11, 16, 22, 27].map(ms));
    assert_eq!(sim.step(), None);
}

#[test]
fn run_until_stops_the_clock_at_its_end() {
    let mut sim = pinging(4);
    sim.run_until(ms(23));
    assert_eq!((sim.now(), sim.a.echoes.len()), (ms(23), 1));
    sim.run_until(ms(27));
    assert_eq!((sim.now(), sim.a.echoes.len()), (ms(27), 2));
    sim.run_until(ms(1000));
    assert_eq!((sim.now(), sim.a.echoes.len()), (ms(1000), 4));
}

#[test]
fn run_while_says_why_it_ended() {
    let mut sim = pinging(4);
    let end = sim.run_while(ms(1000), |sim| sim.a.echoes.len() < 2);
    assert_eq!((end, sim.now()), (RunEnd::Condition, ms(27)));
    assert_eq!(sim.run_while(ms(30), |_| true), RunEnd::TimeLimit);
    assert_eq!((sim.now(), sim.a.echoes.len()), (ms(30), 2));
    assert_eq!(sim.run_while(ms(1000), |_| true), RunEnd::Idle);
    assert_eq!((sim.now(), sim.a.echoes.len()), (ms(37), 4));
}

#[test]
fn an_idle_simulation_goes_on_with_new_work() {
    let mut sim = pinging(1);
    while sim.step().is_some() {}
    sim.run_until(ms(100));
    sim.a.ready = Some(7u32.to_be_bytes().to_vec());
    sim.per_datagram_overhead = 996;
    while sim.step().is_some() {}
    assert_eq!(sim.a.echoes.last(), Some(&(ms(122), 7)));
}

#[test]
fn the_same_seed_runs_the_same_and_another_does_not() {
    let (forward, back) = NamedLink::find("awful").unwrap().both();
    let run = |seed| {
        let nodes = (Pinger::new(ms(20), 2000), Echo::default());
        let mut sim = Simulation::new(nodes.0, nodes.1, forward.clone(), back.clone(), seed);
        sim.run_until(ms(60_000));
        assert_eq!(sim.a_to_b.in_flight() + sim.b_to_a.in_flight(), 0);
        sim.a.echoes
    };
    let first = run(1);
    assert_eq!(first, run(1));
    assert_ne!(first, run(2));
    // 64 % of 2,000 pings survive both ways, and 2 % are copies.
    assert!((1150..1450).contains(&first.len()), "{}", first.len());
}

#[test]
fn the_two_directions_do_not_lose_in_step() {
    let lossy: LinkConfig = "loss=iid:50%".parse().unwrap();
    let mut sim = Simulation::new(Echo::default(), Echo::default(), lossy.clone(), lossy, 3);
    let alike = (0..4000).filter(|_| {
        let forward = sim.a_to_b.send(Duration::ZERO, Vec::new(), 1);
        forward == sim.b_to_a.send(Duration::ZERO, Vec::new(), 1)
    });
    // Independent coins agree half the time; four standard deviations are 126.
    let alike = alike.count();
    assert!(alike.abs_diff(2000) < 126, "{alike}");
}

#[test]
fn a_timeout_in_the_past_fires_now_and_does_not_turn_the_clock_back() {
    #[derive(Default)]
    struct Late {
        due: Option<Duration>,
        fired: Option<Duration>,
    }
    impl Node for Late {
        fn receive(&mut self, _now: Duration, _datagram: &[u8]) {
            self.due = Some(ms(1));
        }
        fn timeout(&mut self, now: Duration) {
            self.due = None;
            self.fired = Some(now);
        }
        fn transmit(&mut self, _now: Duration) -> Option<Vec<u8>> {
            None
        }
        fn next_timeout(&self) -> Option<Duration> {
            self.due
        }
    }
    let mut sim = Simulation::new(Late::default(), Late::default(), path(), path(), 1);
    sim.b_to_a.send(Duration::ZERO, vec![0; 1000], 1000);
    assert_eq!(sim.step(), Some(ms(11)));
    assert_eq!(sim.a.fired, Some(ms(11)));
    sim.b.due = Some(ms(2));
    assert_eq!(sim.step(), Some(ms(11)));
    assert_eq!(sim.b.fired, Some(ms(11)));
}

#[test]
fn boxed_nodes_run_too() {
    let a: Box<dyn Node> = Box::new(Pinger::new(ms(5), 1));
    let b: Box<dyn Node> = Box::new(Echo::default());
    let mut sim = Simulation::new(a, b, path(), path(), 1);
    while sim.step().is_some() {}
    assert_eq!(sim.now(), ms(22));
}

/// Misbehaves in the way asked for.
struct Faulty {
    floods: bool,
}

impl Node for Faulty {
    fn receive(&mut self, _now: Duration, _datagram: &[u8]) {}

    fn timeout(&mut self, _now: Duration) {}

    fn transmit(&mut self, _now: Duration) -> Option<Vec<u8>> {
        self.floods.then(Vec::new)
    }

    fn next_timeout(&self) -> Option<Duration> {
        (!self.floods).then_some(ms(3))
    }
}

#[test]
#[should_panic(expected = "node b (simulation::Faulty) sent more than")]
fn a_node_that_never_stops_sending_is_named() {
    let faulty = Faulty { floods: true };
    Simulation::new(Pinger::new(ms(5), 1), faulty, path(), path(), 1).run_until(ms(50));
}

#[test]
#[should_panic(expected = "node a (simulation::Faulty) still asks for a timeout at 3ms")]
fn a_node_whose_timeout_never_moves_is_named() {
    let faulty = Faulty { floods: false };
    Simulation::new(faulty, Echo::default(), path(), path(), 1).run_until(ms(50));
}

#[test]
#[should_panic(expected = "node b (simulation::Echo) sent more than")]
fn endless_ping_pong_over_a_path_without_delay_is_caught() {
    let perfect = LinkConfig::default();
    let mut sim = Simulation::new(
        Echo::default(),
        Echo::default(),
        perfect.clone(),
        perfect,
        1,
    );
    sim.a_to_b.send(Duration::ZERO, vec![1], 1);
    sim.run_until(ms(1));
}

#[test]
fn a_large_burst_at_one_instant_is_no_fault() {
    struct Burst(u32);
    impl Node for Burst {
        fn receive(&mut self, _now: Duration, _datagram: &[u8]) {}
        fn timeout(&mut self, _now: Duration) {}
        fn transmit(&mut self, _now: Duration) -> Option<Vec<u8>> {
            self.0 = self.0.checked_sub(1)?;
            Some(Vec::new())
        }
        fn next_timeout(&self) -> Option<Duration> {
            None
        }
    }
    let burst = Burst(MAX_EVENTS_PER_INSTANT);
    let mut sim = Simulation::new(burst, Burst(0), path(), path(), 1);
    sim.run_until(ms(10));
    assert_eq!(
        sim.a_to_b.link().counters().offered_packets,
        u64::from(MAX_EVENTS_PER_INSTANT)
    );
}

/// Sends one datagram on each path, the last path first, and notes what arrives where.
#[derive(Debug, Clone, Default)]
struct Spreader {
    next: Option<usize>,
    got: Vec<(Duration, usize, u8)>,
}

impl Node for Spreader {
    fn receive(&mut self, _: Duration, _: &[u8]) {
        unreachable!("all datagrams come with their path");
    }

    fn receive_on(&mut self, now: Duration, path: usize, datagram: &[u8]) {
        self.got.push((now, path, datagram[0]));
    }

    fn timeout(&mut self, _: Duration) {}

    fn transmit(&mut self, _: Duration) -> Option<Vec<u8>> {
        unreachable!("all paths are asked by their number");
    }

    fn transmit_on(&mut self, _: Duration, path: usize) -> Option<Vec<u8>> {
        (self.next == Some(path)).then(|| {
            self.next = path.checked_sub(1);
            vec![path as u8]
        })
    }

    fn next_timeout(&self) -> Option<Duration> {
        None
    }
}

#[test]
fn each_path_has_its_own_links_and_all_are_asked_until_none_has_anything() {
    let link = |delay| LinkConfig::default().with_delay(ms(delay));
    let (mut a, mut b) = (Spreader::default(), Spreader::default());
    (a.next, b.next) = (Some(2), Some(1));
    let mut sim = Simulation::new(a, b, link(10), link(20), 1);
    sim.add_path(link(5), link(6), 2);
    sim.add_path(link(7), link(8), 3);
    sim.run_until(ms(100));
    assert_eq!(sim.b.got, [(ms(5), 1, 1), (ms(7), 2, 2), (ms(10), 0, 0)]);
    assert_eq!(sim.a.got, [(ms(6), 1, 1), (ms(20), 0, 0)]);
}
