//! The real engine over simulated links.

use std::time::Duration;

use weftline_lab::schemes;
use weftline_lab::sim::engine::{Application, Experiment, Outcome};

fn experiment(settings: &[&str], link: &str, application: &str, secs: u64) -> Experiment {
    let back = "delay=30ms";
    Experiment {
        config: schemes::read(settings).expect("settings"),
        forward: link.parse().expect("a link"),
        back: back.parse().expect("a link"),
        application: application.parse().expect("an application"),
        duration: Duration::from_secs(secs),
        skip: Duration::from_secs(1),
        seed: 5,
        within: None,
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
fn applications_are_read_as_they_are_written() {
    for text in ["cbr:10000000bit,1200", "bulk", "file:1000000"] {
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
