//! Several paths under one session, in virtual time.

use std::process::Output;
use std::time::Duration;

use serde_json::Value;
use weftline_lab::sim::paths::Profile;
use weftline_sim::engine::{Application, Experiment, Outcome, Path};
use weftline_sim::schemes;

use crate::program::lab;

fn experiment(paths: Vec<Path>, application: &str) -> Experiment {
    let application: Application = application.parse().unwrap();
    Experiment {
        config: schemes::read::<&str>(&[]).unwrap(),
        paths,
        application,
        duration: Duration::from_secs(3),
        skip: Duration::from_secs(1),
        within: None,
        distribution: false,
        seed: 3,
        close: false,
    }
}

fn pair(name: &str) -> Vec<Path> {
    let (profile, order) = Profile::find(name).unwrap();
    profile.paths(order).to_vec()
}

fn alone(name: &str, which: usize) -> Outcome {
    experiment(vec![pair(name).swap_remove(which)], "bulk").run()
}

#[test]
fn a_session_over_two_links_carries_what_both_carry_and_tells_it_of_each() {
    let experiment = experiment(pair("bw_4to1"), "bulk");
    let both = experiment.run();
    assert_eq!(both, experiment.run());
    let [a, b] = [0, 1].map(|which| alone("bw_4to1", which));
    assert!(a.paths.is_empty(), "one path is told as before");
    assert!(
        both.goodput_mbit > 0.95 * (a.goodput_mbit + b.goodput_mbit),
        "{both:?}"
    );
    let [fast, slow] = &both.paths[..] else {
        panic!("{both:?}");
    };
    assert!((fast.share + slow.share - 1.0).abs() < 1e-9);
    assert!((0.15..0.25).contains(&slow.share), "{slow:?}");
    let last = |path: &weftline_sim::engine::PathOutcome| path.windows_mbit[2];
    assert_eq!(slow.windows_mbit.len(), 3);
    assert!(
        last(fast) > 48.0 && (11.0..=12.1).contains(&last(slow)),
        "{both:?}"
    );
    assert!((40.0..150.0).contains(&slow.rtt_ms), "{slow:?}");
}

#[test]
fn a_link_that_is_cut_carries_nothing_until_it_is_back() {
    let mut paths = pair("baseline");
    paths[0].forward.down = "1s..2s".parse().unwrap();
    paths[0].back.down = "1s..2s".parse().unwrap();
    let outcome = experiment(paths, "cbr:10mbit,1200").run();
    assert_eq!(outcome.sent, outcome.got);
    let [cut, other] = &outcome.paths[..] else {
        panic!("{outcome:?}");
    };
    assert!(
        cut.windows_mbit[1] < 0.5 && other.windows_mbit[1] > 9.0,
        "{outcome:?}"
    );
    assert!(cut.queue_drops > 0);
}

/// The longest delay of a stream whose first link is cut without notice, in ms.
fn longest_after_a_cut(mut paths: Vec<Path>, seed: u64) -> f64 {
    paths[0].forward.down = "1s..4s".parse().unwrap();
    paths[0].back.down = paths[0].forward.down.clone();
    let mut experiment = experiment(paths, "cbr:10mbit,1200");
    experiment.duration = Duration::from_secs(5);
    experiment.skip = Duration::ZERO;
    experiment.seed = seed;
    let outcome = experiment.run();
    assert_eq!(outcome.sent, outcome.got);
    outcome.delay.max.unwrap()
}

#[test]
fn the_other_link_takes_over_a_stream_within_150_ms() {
    let mut steady = pair("dual_lte");
    for path in &mut steady {
        path.forward.jitter = Default::default();
        path.back.jitter = Default::default();
    }
    let longest = longest_after_a_cut(steady, 1);
    assert!(longest < 150.0 + 45.0, "{longest} ms");
}

#[test]
fn jitter_of_the_other_link_does_not_make_it_slow_to_take_over() {
    let mut all = [1, 2, 3, 4, 5].map(|seed| longest_after_a_cut(pair("dual_lte"), seed));
    all.sort_by(f64::total_cmp);
    assert!(all[2] < 300.0, "{all:?} ms");
}

#[test]
fn each_path_carries_what_its_mtu_lets_through() {
    let mut paths = pair("baseline");
    paths[1].forward.mtu = Some(1200);
    let outcome = experiment(paths, "bulk").run();
    let narrow = outcome.paths[1].arrived_mbit;
    assert!(narrow > 30.0, "{outcome:?}");
}

fn sim(arguments: &[&str]) -> Output {
    lab(&[&["sim"], arguments].concat())
}

fn printed(arguments: &[&str]) -> String {
    crate::program::printed(&sim(arguments))
}

#[test]
fn links_and_pairs_are_read_in_their_order() {
    let links = [
        "--link",
        "rate=9mbit delay=5ms",
        "--link",
        "rate=3mbit delay=9ms",
    ];
    let common = ["engine", "--app", "bulk", "--secs", "2", "--json"];
    let text = printed(&[&common[..], &links].concat());
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["link"][1], links[3]);
    let paths = value["runs"][0]["result"]["paths"].as_array().unwrap();
    let arrived = |path: usize| paths[path]["arrived_mbit"].as_f64().unwrap();
    assert!(arrived(0) > 2.0 * arrived(1) && arrived(1) > 2.0, "{text}");

    // The second return path is the second path's.
    let back = ["--back", "delay=5ms", "--back", "delay=100ms"];
    let text = printed(&[&common[..], &links, &back].concat());
    let value: Value = serde_json::from_str(&text).unwrap();
    let paths = &value["runs"][0]["result"]["paths"];
    assert!(paths[1]["rtt_ms"].as_f64().unwrap() > 100.0, "{text}");
    assert!(paths[0]["rtt_ms"].as_f64().unwrap() < 100.0, "{text}");

    let text = printed(&["engine", "--paths", "bw_4to1", "--secs", "2"]);
    assert!(
        text.contains("path 0\n") && text.contains("path 1\n"),
        "{text}"
    );
    let one = printed(&["engine", "--secs", "2", "--json"]);
    let one: Value = serde_json::from_str(&one).unwrap();
    assert!(one["link"].is_string() && one["runs"][0]["result"]["paths"].is_null());
}

#[test]
fn a_log_says_on_which_path_a_datagram_left() {
    let log = ["--json", "--with-events", "--app", "file:200kB"];
    let text = printed(&[&["engine", "--paths", "baseline"][..], &log].concat());
    let value: Value = serde_json::from_str(&text).unwrap();
    let events = value["runs"][0]["events"].as_array().unwrap();
    let on = |place: &'static str, path: u64| {
        events.iter().filter(move |e| {
            let of = e["path"].as_u64().unwrap_or(0);
            of == path && e["group_id"] == place
        })
    };
    for place in ["writer", "path", "reader"] {
        assert!(
            on(place, 0).count() > 10 && on(place, 1).count() > 10,
            "{place}"
        );
    }
    // What left on a path has its fate on it, and the transmissions of each path are counted from 0.
    for path in [0, 1] {
        let sent = on("writer", path).filter_map(|e| match e["name"].as_str() {
            Some("weftline:source_sent" | "weftline:repair_sent" | "weftline:probe_sent") => {
                e["data"]["number"].as_u64()
            }
            _ => None,
        });
        let fates = on("path", path).filter(|e| {
            let data = &e["data"];
            data["from"] == "writer"
                && ["source", "repair", "probe"]
                    .map(Value::from)
                    .contains(&data["kind"])
        });
        let sent: Vec<u64> = sent.collect();
        assert!(sent.iter().copied().eq(0..sent.len() as u64), "{path}");
        assert_eq!(fates.count(), sent.len(), "{path}");
    }
}

#[test]
fn pairs_are_compared_with_each_path_alone_and_judged() {
    let only = ["--only", "congested", "--in-order", "--seeds", "1"];
    let text = printed(&[&["paths"][..], &only].concat());
    assert!(text.contains("| congested | "), "{text}");
    assert!(
        text.contains("p99 never above that of the better path alone: "),
        "{text}"
    );
    assert!(!text.contains("bottleneck"), "{text}");
}

#[test]
fn what_cannot_have_several_paths_is_refused() {
    for (arguments, says) in [
        (&["engine", "--paths", "dual"][..], "dual_lte"),
        (
            &["engine", "--paths", "baseline", "--link", "delay=1ms"],
            "--link",
        ),
        (
            &["engine", "preset=block", "--paths", "baseline"],
            "auto, streaming or arq",
        ),
        (
            &["engine", "--back", "delay=1ms", "--back", "delay=1ms"],
            "--back",
        ),
        (
            &["crowd", "preset=block", "--paths", "2"],
            "auto, streaming or arq",
        ),
        (&["paths", "preset=block"], "auto, streaming or arq"),
        (&["paths", "--only", "wifi"], "lte_geo"),
        (&["paths", "--traces", "/does/not/exist"], "/does/not/exist"),
    ] {
        let output = sim(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains(says), "{arguments:?}: {said}");
    }
}
