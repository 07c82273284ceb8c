//! What became of a message is told once, and it is true.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::support::pair::{Pair, events};
use crate::support::{Peer, Script};
use weftline_netem::{LinkConfig, Simulation};
use weftline_proto::{Config, Event, MessageId, Preset, RateControl, Role};

const MS: Duration = Duration::from_millis(1);
const MESSAGES: usize = 2000;

/// The ids told to be delivered, told to be expired, and those that arrived.
fn fates(preset: Preset, loss: &str, deadline: Option<Duration>) -> [BTreeSet<MessageId>; 3] {
    let mut config = Config::preset(preset);
    config.deliver_late_messages = true;
    config.rate = RateControl::Fixed {
        rate: Some(20_000_000),
        window: None,
    };
    let lengths = [200, 20, 3000, 1200];
    let messages = lengths.into_iter().cycle().take(MESSAGES);
    let script = Script {
        messages: messages.map(|len| (len, deadline)).collect(),
        ..Script::default()
    };
    let link = |text: &str| -> LinkConfig { text.parse().expect("well-formed") };
    let mut sim = Simulation::new(
        Peer::new(Role::Client, config.clone(), 1, script),
        Peer::new(Role::Server, config, 2, Script::default()),
        link(&format!("rate=25mbit delay=30ms queue=60ms loss={loss}")),
        link("delay=30ms"),
        7,
    );
    sim.run_until(20_000 * MS);
    let told = &sim.a.fates;
    assert_eq!(
        told.len(),
        MESSAGES,
        "{preset:?}: each message has one fate"
    );
    let given_up = sim.b.session.stats().received.abandoned_symbols;
    assert_eq!(
        given_up > 0,
        deadline.is_some() && loss != "none",
        "{preset:?}: {given_up}"
    );
    let those = |delivered| {
        let told = told.iter().filter(|(_, d)| *d == delivered);
        told.map(|(id, _)| *id).collect::<BTreeSet<_>>()
    };
    let arrived = sim.b.messages.iter().map(|m| m.id).collect();
    let sets = [those(true), those(false), arrived];
    assert_eq!(sets[0].len() + sets[1].len(), MESSAGES, "{preset:?}");
    sets
}

#[test]
fn without_a_deadline_all_are_delivered() {
    for preset in [Preset::Arq, Preset::Auto, Preset::Streaming] {
        let [delivered, expired, arrived] = fates(preset, "iid:10%", None);
        assert!(expired.is_empty(), "{preset:?}");
        assert_eq!(delivered, arrived, "{preset:?}");
    }
}

#[test]
fn what_is_told_to_be_delivered_has_arrived_also_with_a_deadline_below_the_round_trip() {
    for preset in [Preset::Arq, Preset::Auto, Preset::Streaming] {
        let [delivered, expired, arrived] = fates(preset, "iid:10%", Some(45 * MS));
        assert!(delivered.is_subset(&arrived), "{preset:?}");
        // The others arrived by a repair after their own datagram was lost, and that after the
        // sender had given them up.
        let (told, came) = (delivered.len(), arrived.len());
        assert!(10 * told > 8 * came, "{preset:?}: {told} of {came}");
        assert!(!expired.is_empty(), "{preset:?}");
    }
}

#[test]
fn without_losses_nothing_that_was_sent_counts_as_expired() {
    let [delivered, expired, arrived] = fates(Preset::Auto, "none", Some(45 * MS));
    assert_eq!(delivered, arrived);
    // Only what its deadline caught in the queue.
    assert_eq!(expired.len(), MESSAGES - arrived.len());
}

#[test]
fn a_message_that_nobody_acknowledges_is_told_to_be_expired_without_further_traffic() {
    let mut config = Config::default();
    config.keep_alive = None;
    let mut pair = Pair::connected(config);
    let lost = pair
        .client
        .send_message(pair.now, vec![1; 100], Some(50 * MS))
        .expect("room");
    pair.exchange_unless(|_| true);
    events(&mut pair.client);
    let mut told = Vec::new();
    while told.is_empty() {
        let next = pair.client.poll_timeout().expect("the session lives");
        pair.at(next.as_micros()).exchange_unless(|_| true);
        told = events(&mut pair.client);
    }
    assert_eq!(told, [Event::MessageExpired(lost)]);
    assert!(pair.now.as_micros() < 5_000_000, "{:?}", pair.now);
}
