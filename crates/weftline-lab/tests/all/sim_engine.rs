//! The real engine over simulated links.

use std::time::Duration;

use weftline_sim::engine::{Application, Experiment, Outcome, Path};
use weftline_sim::schemes;

fn experiment(settings: &[&str], link: &str, application: &str, secs: u64) -> Experiment {
    let back = "delay=30ms";
    Experiment {
        config: schemes::read(settings).expect("settings"),
        paths: vec![Path {
            forward: link.parse().expect("a link"),
            back: back.parse().expect("a link"),
        }],
        application: application.parse().expect("an application"),
        duration: Duration::from_secs(secs),
        skip: Duration::from_secs(1),
        seed: 5,
        within: None,
        close: false,
        distribution: false,
    }
}

fn stream(settings: &[&str], loss: &str) -> Outcome {
    let link = format!("rate=25mbit delay=30ms queue=60ms loss={loss}");
    experiment(settings, &link, "cbr:10mbit,1200", 30).run()
}

/// What losses added: the path takes 30 ms, and a message 0.42 ms on the link.
fn added(outcome: &Outcome) -> (f64, f64) {
    let path = 30.42;
    let mean = outcome.delay.mean.expect("messages") - path;
    (mean, outcome.delay.p99.expect("messages") - path)
}

#[test]
fn jitter_is_no_queue_for_which_repairs_wait() {
    // Delays are normal with 5 ms each way. Where repairs waited, the 99th percentile was 142 ms and 152 ms.
    let link = "rate=40mbit delay=30ms queue=100ms jitter=5ms,normal loss=iid:0.5%";
    for seed in [2, 5] {
        let mut experiment = experiment(&[], link, "cbr:10mbit,1200", 10);
        experiment.paths[0].back = link.parse().expect("a link");
        experiment.seed = seed;
        let p99 = experiment.run().delay.p99.expect("messages");
        assert!(p99 < 50.0, "{p99} ms");
    }
}

#[test]
fn the_same_experiment_gives_the_same_result() {
    let link = "rate=25mbit delay=30ms jitter=2ms loss=ge:5%,3";
    let experiment = experiment(&[], link, "cbr:5mbit,700", 5);
    let first = experiment.run();
    assert_eq!(first, experiment.run());
    assert_eq!(first.sent, first.got);
    let mut other = experiment.clone();
    other.seed += 1;
    assert_ne!(first, other.run());
}

#[test]
fn a_saturating_source_fills_the_path_and_its_delays_are_the_networks() {
    let settings = ["preset=arq", "fixed_window=187500", "send_buffer=4096"];
    let link = "rate=25mbit delay=30ms queue=100ms";
    let mut experiment = experiment(&settings, link, "bulk:1100", 3);
    experiment.distribution = true;
    let outcome = experiment.run();
    assert_eq!(outcome.sent, outcome.got);
    assert!(outcome.goodput_mbit > 23.0, "{outcome:?}");
    let (p50, max) = (outcome.delay.p50.unwrap(), outcome.delay.max.unwrap());
    assert!(p50 > 30.0 && p50 < 40.0, "{outcome:?}");
    let cdf = outcome.cdf.expect("the distribution");
    assert!(cdf.windows(2).all(|pair| pair[0].1 <= pair[1].1));
    assert!(cdf.last().is_some_and(|last| last.1 <= max), "{cdf:?}");
    assert!((outcome.effective_rate - 1.0).abs() < 1e-9);
    assert!("bulk:15".parse::<Application>().is_err());
}

#[test]
fn auto_meets_its_delays_within_its_limit_whatever_the_losses() {
    // Loss, mean and 99th percentile of what losses may add (ms), wire bytes for each byte.
    let goals = [
        ("iid:1%", 1.0, 6.0, 1.40),
        ("iid:5%", 1.2, 9.0, 1.40),
        ("iid:10%", 2.0, 22.0, 1.40),
        ("iid:20%", 3.5, 42.0, 1.65),
        ("ge:10%,4", 12.0, 110.0, 1.41),
    ];
    for (loss, mean, p99, wire) in goals {
        let outcome = stream(&[], loss);
        let delays = added(&outcome);
        assert_eq!(outcome.sent, outcome.got, "{loss}");
        assert!(delays.0 < mean && delays.1 < p99, "{loss}: {delays:?}");
        assert!(outcome.wire_per_byte < wire, "{loss}: {outcome:?}");
    }
}

#[test]
fn a_path_without_losses_is_charged_next_to_nothing() {
    let outcome = stream(&[], "none");
    assert!(outcome.repair_share < 0.01, "{outcome:?}");
}

#[test]
fn what_auto_is_told_to_aim_at_costs_accordingly() {
    let [hasty, patient] =
        ["delay=5", "delay=40"].map(|delay| stream(&[delay, "share=2"], "iid:5%"));
    assert!(hasty.wire_per_byte > patient.wire_per_byte + 0.1);
    assert!(added(&hasty).1 < added(&patient).1 / 2.0);
}

#[test]
fn a_transfer_does_not_wait_for_a_round_trip_at_its_end() {
    let link = "rate=100mbit delay=100ms queue=100ms loss=iid:1%";
    let run = |preset| {
        let times = (1..=9).map(|seed| {
            let settings = [preset, "fixed_rate=95"];
            let mut experiment = experiment(&settings, link, "file:1000000", 10);
            experiment.seed = seed;
            experiment.run().completion_s.expect("complete")
        });
        let mut times: Vec<f64> = times.collect();
        times.sort_by(f64::total_cmp);
        times[4]
    };
    let (auto, arq) = (run("preset=auto"), run("preset=arq"));
    assert!(auto + 0.1 < arq, "{auto} {arq}");
}

#[test]
fn a_video_comes_in_frames_and_a_share_is_of_the_links_capacity() {
    let link = "rate=12mbit delay=30ms queue=100ms";
    let outcome = experiment(&["preset=arq"], link, "video:4mbit,1200", 10).run();
    // 40 Mbit in messages of 9600 bits; a key frame takes 63 ms on the link.
    assert_eq!((outcome.sent, outcome.got), (4166, 4166));
    let (p50, max) = (outcome.delay.p50.unwrap(), outcome.delay.max.unwrap());
    assert!(
        (35.0..45.0).contains(&p50) && (85.0..115.0).contains(&max),
        "{outcome:?}"
    );
    let share = outcome.capacity_share.unwrap();
    assert!(
        (share - outcome.goodput_mbit / 12.0).abs() < 1e-6,
        "{share}"
    );
    let unlimited = experiment(&[], "delay=30ms", "video:1mbit,500", 2).run();
    assert_eq!(unlimited.capacity_share, None);
}

#[test]
fn applications_are_read_as_they_are_written() {
    for text in [
        "cbr:10000000bit,1200",
        "video:4000000bit,1200",
        "bulk",
        "file:1000000",
    ] {
        let application: Application = text.parse().expect(text);
        assert_eq!(application.to_string(), text);
    }
    for text in [
        "",
        "cbr",
        "cbr:0,1200",
        "cbr:1mbit,3",
        "file:0",
        "bulk:1",
        "game",
    ] {
        assert!(text.parse::<Application>().is_err(), "{text}");
    }
}

mod events {
    //! The event log of an experiment.

    use std::collections::BTreeMap;
    use std::process::Output;

    use super::experiment;
    use serde_json::Value;
    use weftline_proto::LogEvent;
    use weftline_sim::engine::{DatagramKind, Entry, LogLine, PathEvent, Place};

    const LINK: &str = "rate=10mbit delay=20ms queue=40ms loss=iid:10%";

    #[test]
    fn a_log_leaves_the_result_as_it_is() {
        for application in ["file:200000", "cbr:2mbit,500"] {
            let experiment = experiment(&["preset=streaming"], LINK, application, 2);
            let (outcome, log) = experiment.run_logged(1_000_000).unwrap();
            assert_eq!(outcome, experiment.run(), "{application}");
            assert_eq!(log, experiment.run_logged(log.len()).unwrap().1);
            let error = experiment.run_logged(log.len() - 1).unwrap_err();
            assert_eq!(error.most, log.len() - 1);
        }
    }

    /// Counts lines by place and event.
    fn count(log: &[LogLine]) -> BTreeMap<(String, String), u64> {
        let mut counts = BTreeMap::new();
        for line in log {
            let value = serde_json::to_value(line).unwrap();
            let data = value["data"].as_object().unwrap();
            assert!(data.values().all(|v| !v.is_object()));
            assert_eq!(
                &serde_json::from_value::<LogLine>(value.clone()).unwrap(),
                line
            );
            let text = |key: &str| value[key].as_str().unwrap();
            let name = text("name").strip_prefix("weftline:").unwrap();
            let key = (text("group_id").to_owned(), name.to_owned());
            *counts.entry(key).or_default() += 1;
        }
        counts
    }

    #[test]
    fn every_datagram_has_a_fate_and_what_arrives_was_delivered_by_the_path() {
        let link = "rate=2mbit delay=20ms queue=20ms loss=iid:10%";
        let experiment = experiment(&["preset=streaming"], link, "file:200000", 20);
        let (outcome, log) = experiment.run_logged(1_000_000).unwrap();
        let times = log.iter().map(|line| match &line.entry {
            Entry::Session(entry) => entry.time.as_micros() as f64 / 1e3,
            Entry::Path(entry) => entry.time,
        });
        assert!(times.is_sorted());
        let counts = count(&log);
        let of = |end: &str, event: &str| {
            let key = (end.to_owned(), event.to_owned());
            counts.get(&key).copied().unwrap_or(0)
        };
        let path = |kind, wanted| {
            let fits = log.iter().filter(|line| match &line.entry {
                Entry::Path(entry) => {
                    let datagram = entry.datagram;
                    (datagram.from, datagram.kind, entry.event) == (Place::Writer, kind, wanted)
                }
                Entry::Session(_) => false,
            });
            fits.count() as u64
        };
        for (kind, name) in [
            (DatagramKind::Source, "source"),
            (DatagramKind::Repair, "repair"),
        ] {
            let delivered = path(kind, PathEvent::PathDelivered);
            let fates =
                delivered + path(kind, PathEvent::PathLost) + path(kind, PathEvent::PathQueueDrop);
            assert_eq!(of("writer", &format!("{name}_sent")), fates, "{name}");
            let received = of("reader", &format!("{name}_received"));
            // The last ones are on their way when the log ends.
            assert!(received <= delivered, "{name}");
            assert!(received + 60 >= delivered, "{name}");
        }
        assert!(of("path", "path_lost") > 0);
        assert!(of("path", "path_queue_drop") >= outcome.queue_drops);
        assert_eq!(of("writer", "all_acknowledged"), 1);
        assert_eq!(
            (of("writer", "end_of_data"), of("reader", "end_of_data")),
            (1, 1)
        );
        let gap = |line: &LogLine| match &line.entry {
            Entry::Session(entry) => matches!(entry.event, LogEvent::Gap { .. }),
            Entry::Path(_) => false,
        };
        assert!(!log.iter().any(gap));
    }

    fn lab(arguments: &[&str]) -> Output {
        let engine = ["sim", "engine", "preset=rest", "--link", LINK];
        crate::program::lab(&[&engine[..], arguments].concat())
    }

    #[test]
    fn the_file_and_the_printed_array_are_the_same_log() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("events.sqlog");
        let wrote = lab(&["--app", "file:20000", "--events", file.to_str().unwrap()]);
        assert!(wrote.status.success(), "{wrote:?}");
        let text = std::fs::read_to_string(&file).unwrap();
        let mut lines = text.lines().map(|line| {
            let record = line.strip_prefix('\u{1e}').unwrap();
            serde_json::from_str(record).unwrap()
        });
        let head: Value = lines.next().unwrap();
        assert_eq!(
            (&head["qlog_version"], &head["qlog_format"]),
            (&"0.3".into(), &"JSON-SEQ".into())
        );
        let run = &head["trace"]["configuration"]["weftline"];
        assert_eq!(
            (&run["version"], &run["app"]),
            (&1.into(), &"file:20000".into())
        );
        let printed = lab(&["--app", "file:20000", "--json", "--with-events"]);
        let printed: Value = serde_json::from_slice(&printed.stdout).unwrap();
        let events = printed["runs"][0]["events"].as_array().unwrap();
        assert!(events.len() > 100);
        assert!(lines.eq(events.iter().cloned()));
        assert!(printed["runs"][0]["result"]["completion_s"].is_number());
    }

    #[test]
    fn a_closed_session_ends_with_close_and_its_result_is_the_same() {
        let of = |arguments: &[&str]| {
            let log = ["--app", "file:20kB", "--json", "--with-events"];
            let printed = lab(&[&log[..], arguments].concat());
            let printed: Value = serde_json::from_slice(&printed.stdout).unwrap();
            printed["runs"][0].clone()
        };
        let (open, closed) = (of(&[]), of(&["--close"]));
        assert_eq!(open["result"], closed["result"]);
        let count = |run: &Value, event: &str| {
            let events = run["events"].as_array().unwrap();
            events
                .iter()
                .filter(|entry| entry["name"] == format!("weftline:{event}"))
                .count()
        };
        assert_eq!(count(&open, "close_sent"), 0);
        assert!(count(&closed, "close_sent") > 0 && count(&closed, "close_received") > 0);
    }

    #[test]
    fn logs_that_are_too_long_or_have_no_place_are_refused() {
        for (arguments, says) in [
            (&["--with-events"][..], "--json"),
            (&["--events", "FILE", "--seeds", "2"], "--seeds"),
            (&["--json", "--close"], "--with-events"),
            (
                &["--json", "--with-events", "--secs", "60"],
                "100000 entries",
            ),
        ] {
            let output = lab(arguments);
            assert_eq!(output.status.code(), Some(2), "{arguments:?}");
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(said.contains(says), "{arguments:?}: {said}");
        }
    }
}
