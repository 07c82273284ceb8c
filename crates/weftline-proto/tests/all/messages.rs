//! Messages arrive whole and in any order. An end does not wait for them beyond their deadline.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::support::{Peer, Script, byte, run};
use weftline_netem::LinkConfig;
use weftline_proto::{Config, Preset, RateControl, Role};

fn link(text: &str) -> LinkConfig {
    text.parse().expect("well-formed")
}

fn check(data: &[u8]) -> u64 {
    let name = u64::from_be_bytes(data[..8].try_into().expect("eight bytes"));
    for (i, &b) in data[8..].iter().enumerate() {
        assert_eq!(b, byte(name, i as u64), "message {name}");
    }
    name
}

#[test]
fn reliable_messages_of_all_sizes_arrive_once_each_over_a_bad_path() {
    let sizes = [
        0, 1, 55, 56, 57, 1100, 1101, 5000, 70_000, 1_000_000, 3, 200_000,
    ];
    for preset in Preset::ALL {
        let sender = Script {
            messages: sizes.iter().cycle().take(60).map(|&n| (n, None)).collect(),
            ..Script::default()
        };
        let reader = Script {
            expect_messages: 60,
            ..Script::default()
        };
        let mut config = Config::preset(preset);
        config.rate = RateControl::Fixed {
            rate: Some(50_000_000),
            window: None,
        };
        let outcome = run(
            Peer::new(Role::Client, config.clone(), 1, sender),
            Peer::new(Role::Server, config, 2, reader),
            link("rate=60mbit delay=20ms queue=100ms loss=iid:10%"),
            link("delay=20ms loss=iid:10%"),
            4,
            Duration::from_secs(60),
        );
        assert!(
            outcome.done,
            "{preset}: {:#?}",
            outcome.client.session.stats()
        );
        let names: BTreeSet<u64> = outcome
            .server
            .messages
            .iter()
            .map(|m| check(&m.data))
            .collect();
        assert_eq!(names.len(), 60, "{preset}");
        assert_eq!(outcome.server.messages.len(), 60, "{preset}");
    }
}

#[test]
fn messages_that_cannot_arrive_in_time_are_dropped_and_the_rest_are_on_time() {
    // Four times what the link carries; each message is worthless after 100 ms.
    let deadline = Duration::from_millis(100);
    let sender = Script {
        messages: (0..2000).map(|_| (1000, Some(deadline))).collect(),
        ..Script::default()
    };
    let mut config = Config::preset(Preset::Streaming);
    config.send_buffer = 64 << 20;
    config.rate = RateControl::Fixed {
        rate: Some(5_000_000),
        window: None,
    };
    let outcome = run(
        Peer::new(Role::Client, config.clone(), 1, sender),
        Peer::new(Role::Server, config, 2, Script::default()),
        link("rate=6mbit delay=20ms queue=100ms loss=iid:5%"),
        link("delay=20ms"),
        4,
        Duration::from_secs(10),
    );
    let (sent, received) = (
        outcome.client.session.stats().sent,
        outcome.server.session.stats().received,
    );
    assert!(outcome.done, "{sent:#?}");
    let arrived = outcome.server.messages.len() as u64;
    outcome.server.messages.iter().for_each(|m| {
        check(&m.data);
        assert!(!m.late);
    });
    // 100 ms at 5 Mbit/s are about 50 messages.
    assert!((20..80).contains(&arrived), "{arrived} arrived");
    assert!(sent.expired_messages > 1900, "{sent:?}");
    assert!(sent.expired_messages + arrived + received.late_messages <= 2000);
    assert!(outcome.took < Duration::from_secs(1), "{:?}", outcome.took);
}

#[test]
fn losses_of_perishable_messages_do_not_hold_up_the_session() {
    // The path fails for longer than the deadlines while messages are in flight.
    let sender = Script {
        messages: (0..200)
            .map(|_| (900, Some(Duration::from_millis(80))))
            .collect(),
        streams: vec![100_000],
        ..Script::default()
    };
    let reader = Script {
        expect_streams: vec![100_000],
        ..Script::default()
    };
    let mut config = Config::preset(Preset::Arq);
    config.rate = RateControl::Fixed {
        rate: Some(20_000_000),
        window: None,
    };
    let outcome = run(
        Peer::new(Role::Client, config.clone(), 1, sender),
        Peer::new(Role::Server, config, 2, reader),
        link("rate=25mbit delay=20ms queue=100ms loss=iid:40%"),
        link("delay=20ms"),
        4,
        Duration::from_secs(20),
    );
    assert!(outcome.done, "{:#?}", outcome.client.session.stats());
    assert_eq!(outcome.server.wrong, 0);
}
