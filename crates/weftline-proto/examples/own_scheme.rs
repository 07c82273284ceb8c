//! A scheme of one's own, written outside of the engine and run over an emulated path.
//!
//! `cargo run -p weftline-proto --features unstable-scheme --example own_scheme`
//!
//! The scheme `parity` sends one repair symbol after every fourth source symbol. The repair covers
//! these four. Losses that it does not recover are sent again. The program carries messages over a
//! path that loses 5 % and compares the scheme with `arq`: mean delay, and bytes on the wire for
//! each byte of data.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use weftline_netem::{LinkConfig, Node, Simulation};
use weftline_proto::scheme::{Action, Custom, Rule, Situation};
use weftline_proto::{Config, EncodingWindow, Event, Role, Session, Time};

/// Source symbols for each repair, and the symbols that it covers.
const EVERY: u16 = 4;

/// The scheme: how many source symbols no repair has covered.
#[derive(Debug, Default)]
struct Parity {
    uncovered: u16,
}

impl Rule for Parity {
    fn choose(&mut self, at: &Situation<'_>) -> Option<Action> {
        if let Some(esi) = at.lost_from(0) {
            return Some(Action::Again(esi));
        }
        if self.uncovered >= EVERY && !at.is_idle() {
            let newest = EncodingWindow::Fixed { size: EVERY };
            return Some(Action::repair(at.newest_window(newest)));
        }
        at.can_send_new().then_some(Action::New)
    }

    fn probe(&mut self, at: &Situation<'_>) -> Action {
        Action::Again(at.first())
    }

    fn on_source(&mut self, _at: &Situation<'_>, _esi: u64) {
        self.uncovered += 1;
    }

    fn on_repair(
        &mut self,
        _at: &Situation<'_>,
        _window: &Range<u64>,
        _top_up: bool,
    ) -> Option<u64> {
        self.uncovered = 0;
        None
    }
}

const MESSAGES: u64 = 5000;
const SIZE: usize = 1000;
const PERIOD: Duration = Duration::from_millis(1);

/// One end over the emulated path. The client sends a message in each period.
struct End {
    session: Session,
    to_send: u64,
    /// Delay of each message that arrived, by its number.
    delays: BTreeMap<u64, Duration>,
    datagram: Vec<u8>,
}

impl End {
    fn new(role: Role, config: &Config) -> Self {
        let session = Session::new(role, config.clone(), 1, Time::ZERO);
        End {
            session: session.expect("the configuration is possible"),
            to_send: if role == Role::Client { MESSAGES } else { 0 },
            delays: BTreeMap::new(),
            datagram: Vec::new(),
        }
    }

    fn next_message(&self) -> Option<Duration> {
        let sent = MESSAGES - self.to_send;
        (self.to_send > 0).then(|| PERIOD * sent as u32)
    }

    fn run_application(&mut self, now: Duration) {
        while self.next_message().is_some_and(|at| at <= now) {
            let mut message = [7; SIZE];
            message[..8].copy_from_slice(&(MESSAGES - self.to_send).to_be_bytes());
            let sent = self.session.send_message(time(now), message.to_vec(), None);
            sent.expect("the send buffer has room");
            self.to_send -= 1;
        }
        while let Some(event) = self.session.poll_event() {
            assert!(!matches!(event, Event::Closed(_)), "{event:?}");
        }
        while let Some(message) = self.session.recv_message() {
            let (number, rest) = message.data.split_at(8);
            assert!(rest.len() == SIZE - 8 && rest.iter().all(|byte| *byte == 7));
            let number = u64::from_be_bytes(number.try_into().expect("eight bytes"));
            self.delays.insert(number, now - PERIOD * number as u32);
        }
    }
}

impl Node for End {
    fn receive(&mut self, now: Duration, datagram: &[u8]) {
        self.session.handle_datagram(time(now), datagram);
        self.run_application(now);
    }

    fn timeout(&mut self, now: Duration) {
        self.session.handle_timeout(time(now));
        self.run_application(now);
    }

    fn transmit(&mut self, now: Duration) -> Option<Vec<u8>> {
        let wrote = self.session.poll_transmit(time(now), &mut self.datagram);
        wrote.then(|| self.datagram.clone())
    }

    fn next_timeout(&self) -> Option<Duration> {
        let timer = self.session.poll_timeout();
        let timer = timer.map(|t| Duration::from_micros(t.as_micros()));
        timer.into_iter().chain(self.next_message()).min()
    }
}

fn time(now: Duration) -> Time {
    Time::from_micros(now.as_micros() as u64)
}

/// Mean delay beyond the path's own, in ms, and wire bytes for each byte of data.
fn measure(config: &Config) -> (f64, f64) {
    let link = |text: &str| text.parse::<LinkConfig>().expect("well-formed");
    let mut simulation = Simulation::new(
        End::new(Role::Client, config),
        End::new(Role::Server, config),
        link("rate=25mbit delay=30ms queue=100ms loss=iid:5%"),
        link("delay=30ms"),
        1,
    );
    simulation.run_until(PERIOD * MESSAGES as u32 + Duration::from_secs(3));
    let delays = &simulation.b.delays;
    assert_eq!(delays.len() as u64, MESSAGES, "every message arrives");
    let sum = delays.values().sum::<Duration>();
    let mean = sum.as_secs_f64() * 1e3 / MESSAGES as f64 - 30.0;
    let wire = simulation.a_to_b.link().counters().offered_bytes;
    (mean, wire as f64 / (MESSAGES as f64 * SIZE as f64))
}

fn main() {
    let own = Config::new(Custom::new("parity", |_| Parity::default()));
    println!("scheme    mean ms    wire");
    let measured = [own, Config::arq().into()].map(|config| {
        let (mean, wire) = measure(&config);
        println!("{:8} {mean:8.2} {wire:7.3}", config.scheme.name());
        mean
    });
    assert!(measured[0] < measured[1], "a code saves round trips");
}
