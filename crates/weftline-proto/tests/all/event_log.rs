//! The event log tells what happened, completely and in order, and changes nothing.

use std::fmt::Write;
use std::time::Duration;

use crate::support::pair::{Pair, transmit_all};
use crate::support::{Outcome, Peer, Script, run};
use weftline_netem::LinkConfig;
use weftline_proto::{
    Config, DropReason, EndReason, HoldReason, LogEntry, LogEvent, Preset, RateControl, Role,
    Session,
};

const CAPACITY: usize = 1 << 20;

fn entries(session: &mut Session) -> Vec<LogEntry> {
    std::iter::from_fn(|| session.poll_log()).collect()
}

fn config(text: &str) -> Config {
    let mut config: Config = text.parse().expect(text);
    config.symbol_size = 450;
    config.rate = RateControl::Fixed {
        rate: Some(1_000_000),
        window: None,
    };
    config
}

fn transfer(config: &Config, bytes: u64, loss: &str, seed: u64, log: Option<usize>) -> Outcome {
    let [writer, reader] = Script::transfer(bytes);
    let link = |text: &str| -> LinkConfig { text.parse().expect("well-formed") };
    let mut ends = [
        Peer::new(Role::Client, config.clone(), 1, writer),
        Peer::new(Role::Server, config.clone(), 2, reader),
    ];
    for end in &mut ends {
        log.into_iter().for_each(|n| end.session.start_log(n));
    }
    let [client, server] = ends;
    let back = link("delay=20ms");
    let forward = link(&format!("delay=20ms loss={loss}"));
    let limit = Duration::from_secs(300);
    run(client, server, forward, back, seed, limit)
}

/// A line for each entry: enough to see the order of things.
fn text(entries: &[LogEntry]) -> String {
    let mut out = String::new();
    for entry in entries {
        writeln!(out, "{:>7} {:?}", entry.time.as_micros(), entry.event).expect("a string");
    }
    out
}

#[test]
fn a_small_transfer_is_told_datagram_by_datagram() {
    let mut outcome = transfer(
        &config("streaming,l=3,encoding=elastic:4"),
        2500,
        "iid:0.3",
        7,
        Some(CAPACITY),
    );
    assert!(outcome.done);
    let writer = entries(&mut outcome.client.session);
    let reader = entries(&mut outcome.server.session);
    insta::assert_snapshot!("writer", text(&writer));
    insta::assert_snapshot!("reader", text(&reader));
}

#[test]
fn a_log_changes_nothing() {
    for text in [
        "auto",
        "streaming,l=5",
        "rest",
        "block",
        "arq",
        "udp-rc",
        "rlc-block",
    ] {
        let config = config(text);
        let [without, with, full] = [None, Some(CAPACITY), Some(1)].map(|log| {
            let outcome = transfer(&config, 60_000, "ge:10%,3", 9, log);
            assert!(outcome.done, "{text}");
            let stats = [&outcome.client, &outcome.server].map(|end| end.session.stats());
            (outcome.took, stats)
        });
        assert_eq!(without, with, "{text}");
        assert_eq!(without, full, "{text}, when the log is full");
    }
}

/// What a log must agree with, whatever the scheme.
fn check(text: &str, outcome: &mut Outcome) {
    let (sent, received) = (
        outcome.client.session.stats().sent,
        outcome.server.session.stats().received,
    );
    let writer = entries(&mut outcome.client.session);
    let reader = entries(&mut outcome.server.session);
    let in_order = |log: &[LogEntry]| log.is_sorted_by_key(|entry| entry.time);
    assert!(in_order(&writer) && in_order(&reader), "{text}");

    let (mut sources, mut again, mut repairs, mut filled, mut number, mut edge) =
        (0, 0, 0, 0, 0, 0);
    for entry in &writer {
        match entry.event {
            LogEvent::SourceSent {
                number: n,
                again: is_again,
                esi,
                edge: e,
                riders,
                ..
            } => {
                assert_eq!((n, e), (number, edge), "{text}: {entry:?}");
                assert!(is_again || esi == sources, "{text}: {entry:?}");
                number += 1;
                sources += u64::from(!is_again);
                again += u64::from(is_again);
                repairs += u64::from(riders);
            }
            LogEvent::RepairSent {
                number: n,
                first,
                count,
                edge: e,
                ..
            } => {
                assert_eq!((n, e), (number, edge), "{text}: {entry:?}");
                assert!(first >= edge && count >= 1, "{text}: {entry:?}");
                assert!(
                    first + u64::from(count) <= sources + filled,
                    "{text}: {entry:?}"
                );
                number += 1;
                repairs += 1;
            }
            LogEvent::ProbeSent { number: n, .. } => {
                assert_eq!(n, number, "{text}: {entry:?}");
                number += 1;
            }
            LogEvent::Filled { first, count, .. } => {
                assert_eq!(first, sources + filled, "{text}: {entry:?}");
                filled += count;
            }
            LogEvent::EdgeMoved {
                previous, edge: to, ..
            } => {
                assert!(previous == edge && to > previous, "{text}: {entry:?}");
                edge = to;
            }
            _ => {}
        }
    }
    assert_eq!(sources + filled, sent.source_symbols, "{text}");
    assert_eq!(
        (again, repairs),
        (sent.retransmissions, sent.repair_symbols),
        "{text}"
    );
    assert_eq!(edge, sources + filled, "{text}: everything is acknowledged");
    let last = |log: &[LogEntry], event: &dyn Fn(&LogEvent) -> bool| {
        log.iter().filter(|entry| event(&entry.event)).count()
    };
    let all = |event: &LogEvent| matches!(event, LogEvent::AllAcknowledged { .. });
    assert!(last(&writer, &all) >= 1, "{text}");
    let end = |event: &LogEvent| matches!(event, LogEvent::EndOfData { esi } if *esi + 1 == edge);
    assert_eq!((last(&writer, &end), last(&reader, &end)), (1, 1), "{text}");

    let (mut useful, mut decoded, mut repairs, mut useful_repairs, mut next) = (0, 0, 0, 0, 0);
    let (mut stalled, mut stalls, mut deliveries) = (None, 0, 0);
    for entry in &reader {
        match &entry.event {
            LogEvent::SourceReceived {
                esi,
                useful: u,
                delivered,
                ..
            } => {
                useful += u64::from(*u);
                assert!(*delivered == 0 || *esi == next, "{text}: {entry:?}");
                next += delivered;
            }
            LogEvent::RepairReceived {
                useful: u,
                rank,
                unknowns,
                ..
            } => {
                repairs += 1;
                useful_repairs += u64::from(*u);
                assert!(rank <= unknowns, "{text}: {entry:?}");
            }
            LogEvent::Decoded { symbols, count, .. } => {
                assert_eq!(
                    symbols.iter().map(|run| run.1).sum::<u64>(),
                    *count,
                    "{text}"
                );
                decoded += count;
            }
            LogEvent::Delivered { first, count, .. } => {
                assert_eq!(*first, next, "{text}: {entry:?}");
                deliveries += 1;
                next += count;
            }
            LogEvent::StallBegan { esi } => {
                assert_eq!((*esi, stalled), (next, None), "{text}: {entry:?}");
                stalled = Some(entry.time);
                stalls += 1;
            }
            LogEvent::StallEnded { began, next: n } => {
                assert_eq!(
                    (stalled.take(), *n),
                    (Some(*began), next),
                    "{text}: {entry:?}"
                );
            }
            _ => {}
        }
    }
    assert_eq!(next, edge, "{text}");
    assert!(
        deliveries <= repairs,
        "{text}: {deliveries} entries of {repairs} repairs"
    );
    assert_eq!(stalled, None, "{text}");
    assert!(stalls > 0, "{text}: losses stall");
    assert_eq!(useful, received.source_symbols, "{text}");
    assert_eq!(decoded, received.recovered_symbols, "{text}");
    assert_eq!(
        (repairs, useful_repairs),
        (received.repair_symbols, received.useful_repairs),
        "{text}"
    );
}

#[test]
fn a_log_agrees_with_the_counters_and_with_itself_in_every_preset() {
    for preset in Preset::ALL {
        let text = preset.to_string();
        let config = config(&text);
        for seed in 0..5 {
            let mut outcome = transfer(&config, 40_000, "iid:20%", seed, Some(CAPACITY));
            assert!(outcome.done, "{text}");
            check(&text, &mut outcome);
        }
    }
}

#[test]
fn a_log_says_when_data_was_written_and_what_holds_it_back() {
    let mut config = Config::default();
    config.rate = RateControl::Fixed {
        rate: Some(1_000_000),
        window: None,
    };
    let mut pair = Pair::connected(config);
    pair.client.start_log(1000);
    let stream = pair.client.open_stream().expect("a stream");
    let written = pair.client.write(stream, &[7; 6000]).expect("room");
    assert_eq!(written, 6000);
    pair.client.time_log(pair.now);
    let message = pair.client.send_message(pair.now, vec![7; 100], None);
    let message = message.expect("room").0;
    let began = pair.now;
    for millis in 0..200 {
        pair.at(1000 * millis).exchange();
    }
    let log = entries(&mut pair.client);
    let tell = |stream, message, bytes| LogEvent::Written {
        stream,
        message,
        bytes,
    };
    let first: Vec<_> = log.iter().take(2).map(|e| (e.time, &e.event)).collect();
    let expected = [
        tell(Some(stream.0), None, 6000),
        tell(None, Some(message), 100),
    ];
    assert_eq!(first, [(began, &expected[0]), (began, &expected[1])]);
    let (mut bytes, mut with_message, mut held) = (0, 0, Vec::new());
    for entry in &log {
        match &entry.event {
            LogEvent::SourceSent {
                streams, messages, ..
            } => {
                bytes += streams.iter().map(|(_, bytes)| bytes).sum::<u64>();
                with_message += messages.iter().filter(|id| **id == message).count();
            }
            LogEvent::Held { by } => held.push(*by),
            _ => {}
        }
    }
    assert_eq!((bytes, with_message), (6000, 1));
    assert_eq!(held, [Some(HoldReason::Rate), None]);
}

#[test]
fn a_log_names_the_full_window_and_flow_control() {
    let held = |config: Config| {
        let mut pair = Pair::connected(config);
        pair.client.start_log(10_000);
        let stream = pair.client.open_stream().expect("a stream");
        pair.client.write(stream, &[7; 400_000]).expect("room");
        // Nothing arrives.
        transmit_all(&mut pair.client, pair.now);
        let held = entries(&mut pair.client)
            .into_iter()
            .filter_map(|entry| match entry.event {
                LogEvent::Held { by } => Some(by),
                _ => None,
            });
        held.collect::<Vec<_>>()
    };
    let mut window = Config::default();
    window.rate = RateControl::Fixed {
        rate: None,
        window: Some(10_000),
    };
    assert_eq!(held(window), [Some(HoldReason::Window)]);
    let mut credit = Config::default();
    credit.rate = RateControl::Carrier;
    credit.limits.stream_data = 262_144;
    credit.send_buffer = 1 << 20;
    assert_eq!(held(credit), [Some(HoldReason::Credit)]);
}

#[test]
fn reports_arrive_as_they_were_sent() {
    let mut outcome = transfer(&config("streaming"), 60_000, "iid:10%", 3, Some(CAPACITY));
    let sent = entries(&mut outcome.server.session).into_iter();
    let sent = sent.filter_map(|entry| match entry.event {
        LogEvent::ReportSent(report) => Some(report),
        _ => None,
    });
    let received = entries(&mut outcome.client.session).into_iter();
    let received = received.filter_map(|entry| match entry.event {
        LogEvent::ReportReceived { report, news } => Some((report, news)),
        _ => None,
    });
    let (sent, received): (Vec<_>, Vec<_>) = (sent.collect(), received.collect());
    assert!(received.len() > 20);
    assert!(sent.iter().any(|report| !report.missing.is_empty()));
    for (report, news) in &received {
        assert!(*news && sent.contains(report), "{report:?}");
    }
}

#[test]
fn a_refused_datagram_and_the_end_are_told_without_the_peers_words() {
    let mut pair = Pair::connected(Config::default());
    pair.server.start_log(100);
    pair.server.handle_datagram(pair.now, &[0xff, 1, 2]);
    pair.client.close(pair.now, 3, "words of the peer");
    pair.exchange();
    let events: Vec<_> = entries(&mut pair.server)
        .into_iter()
        .map(|e| e.event)
        .collect();
    let dropped = LogEvent::Dropped {
        size: 3,
        reason: DropReason::Malformed,
    };
    assert_eq!(events[0], dropped);
    let closed = LogEvent::Closed {
        reason: EndReason::Peer,
    };
    assert!(events.contains(&closed), "{events:?}");
    assert!(!format!("{events:?}").contains("words"));
    // Nothing is logged before a log is started, or after it is stopped.
    assert_eq!(pair.client.poll_log(), None);
    pair.server.stop_log();
    assert_eq!(pair.server.poll_log(), None);
}

#[cfg(feature = "serde")]
#[test]
fn an_entry_is_an_event_of_qlog_and_unknown_ones_can_be_read() {
    use serde_json::{from_str, from_value, json, to_value};
    use weftline_proto::Time;

    let mut outcome = transfer(&config("rest"), 20_000, "iid:20%", 1, Some(CAPACITY));
    for session in [&mut outcome.client.session, &mut outcome.server.session] {
        for entry in entries(session) {
            let value = to_value(&entry).unwrap();
            assert_eq!(value["time"], json!(entry.time.as_micros() as f64 / 1e3));
            assert!(value["name"].as_str().unwrap().starts_with("weftline:"));
            let data = value["data"].as_object().unwrap();
            assert!(data.values().all(|v| !v.is_object()), "{value}");
            assert_eq!(from_value::<LogEntry>(value).unwrap(), entry);
        }
    }
    let later = r#"{"time":7.001,"path":2,"name":"weftline:teleported","data":{"distance":3}}"#;
    let read: LogEntry = from_str(later).unwrap();
    assert_eq!(
        (read.time, read.path.index(), read.event),
        (Time::from_micros(7001), 2, LogEvent::Unknown)
    );
}
