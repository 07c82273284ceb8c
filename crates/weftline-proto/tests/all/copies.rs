//! Short messages beside a long transfer in one session: each has a copy of its own.

use std::time::Duration;

use weftline_netem::{LinkConfig, Node, Simulation};
use weftline_proto::{Config, Role};

use crate::support::{Peer, Script, time};

const PERIOD: Duration = Duration::from_millis(10);
const ONE_WAY: Duration = Duration::from_millis(20);
const SHORT: usize = 84;

/// A peer that sends a short message every 10 ms beside its script, or notes how long they take.
struct End {
    peer: Peer,
    next: Option<Duration>,
    delays: Vec<Duration>,
}

impl End {
    fn new(role: Role, config: &Config, script: Script) -> Self {
        let next = matches!(role, Role::Client).then_some(Duration::from_secs(2));
        End {
            peer: Peer::new(role, config.clone(), 1, script),
            next,
            delays: Vec::new(),
        }
    }

    fn after(&mut self, now: Duration) {
        while let Some(due) = self.next.filter(|due| *due <= now) {
            let mut data = (due.as_micros() as u64).to_le_bytes().to_vec();
            data.resize(SHORT, 0);
            let deadline = Some(Duration::from_millis(300));
            let sent = self
                .peer
                .session
                .send_message_alone(time(now), data, deadline);
            sent.expect("room");
            self.next = Some(due + PERIOD);
        }
        for message in self.peer.messages.drain(..) {
            let sent = u64::from_le_bytes(message.data[..8].try_into().expect("eight bytes"));
            self.delays.push(now - Duration::from_micros(sent));
        }
    }
}

impl Node for End {
    fn receive(&mut self, now: Duration, datagram: &[u8]) {
        self.peer.receive(now, datagram);
        self.after(now);
    }

    fn timeout(&mut self, now: Duration) {
        self.peer.timeout(now);
        self.after(now);
    }

    fn transmit(&mut self, now: Duration) -> Option<Vec<u8>> {
        self.peer.transmit(now)
    }

    fn next_timeout(&self) -> Option<Duration> {
        [self.peer.next_timeout(), self.next]
            .into_iter()
            .flatten()
            .min()
    }
}

/// The sorted delays of short messages above the path's, beside a transfer at 5 % loss, and the bytes of the transfer
/// that have arrived after ten seconds.
fn beside_a_transfer(preset: &str) -> (Vec<Duration>, u64) {
    let config: Config = preset.parse().expect("a preset");
    let [writer, reader] = Script::transfer(1 << 40);
    let link = |text: &str| -> LinkConfig { text.parse().expect("well-formed") };
    let mut sim = Simulation::new(
        End::new(Role::Client, &config, writer),
        End::new(Role::Server, &config, reader),
        link("rate=50mbit delay=20ms queue=60ms loss=iid:5%"),
        link("rate=50mbit delay=20ms queue=60ms"),
        7,
    );
    sim.run_until(Duration::from_secs(10));
    let mut delays = std::mem::take(&mut sim.b.delays);
    // Those of the last moment are still on their way.
    assert!(delays.len() >= 780, "{} of 800 messages", delays.len());
    delays
        .iter_mut()
        .for_each(|d| *d = d.saturating_sub(ONE_WAY));
    delays.sort();
    let read = sim.b.peer.read.values().map(|(bytes, _)| bytes).sum();
    (delays, read)
}

#[test]
fn short_messages_beside_a_transfer_hardly_wait_for_its_repairs() {
    for (with, without) in [
        ("auto", "auto,without=copies"),
        ("auto,without=backlog", "auto,without=backlog+copies"),
    ] {
        let (copied, bytes) = beside_a_transfer(with);
        let (alone, most) = beside_a_transfer(without);
        let p99 = |delays: &[Duration]| delays[delays.len() * 99 / 100];
        println!(
            "{with}: {:?} beside {:?}, {bytes} of {most} bytes",
            p99(&copied),
            p99(&alone)
        );
        assert!(2 * p99(&copied) < p99(&alone), "{with}");
        assert!(
            bytes as f64 > 0.98 * most as f64,
            "{with}: {bytes} of {most}"
        );
    }
}
