//! `weftline-lab sim streaming|block|arq|rest|udp-rc|rlc-block`: keys, repeatability, refusals.

use std::process::Output;

use serde_json::Value;

use crate::program::{lab, printed};

fn sim(arguments: &str) -> Output {
    let arguments: Vec<&str> = arguments.split(' ').collect();
    lab(&[&["sim"], &arguments[..]].concat())
}

fn json(arguments: &str) -> Value {
    let output = sim(&format!("{arguments} --json"));
    let printed = printed(&output);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.is_empty(),
        "no progress where there is no terminal: {said}"
    );
    serde_json::from_str(&printed).unwrap()
}

fn number(value: &Value, key: &str) -> f64 {
    value[key]
        .as_f64()
        .unwrap_or_else(|| panic!("{key} of {value}"))
}

#[test]
fn streaming_gives_the_mean_delay_and_its_error() {
    for (loss, spacing, exact) in [("iid:0.1", 5, 2.60545), ("markov:0.1,4", 5, 25.72)] {
        let value = json(&format!(
            "streaming --loss {loss} --spacing {spacing} --slots 1000000 --seed 3"
        ));
        let (mean, stderr) = (number(&value, "mean_delay_slots"), number(&value, "stderr"));
        assert!(
            (mean - exact).abs() < 4.0 * stderr + 0.05,
            "{loss}: {mean} +- {stderr}"
        );
        assert!(number(&value, "slots") >= 1e6);
        for key in [
            "mean_busy",
            "second_moment_busy",
            "mean_busy_plus",
            "undelayed",
        ] {
            assert!(number(&value, key) > 0.0);
        }
        assert!(value["delay_slots"]["p99"].as_u64() > Some(10));
    }
}

#[test]
fn a_seed_gives_the_same_line_on_any_number_of_threads() {
    for model in [
        "streaming --loss 0.1 --spacing 5 --slots 300000",
        "streaming --loss 0.1 --spacing 5 --slots 50000 --code real --rtt 20",
        "arq --loss 0.2 --rtt 63 --slots 100000",
        "block --loss 0.1 --k 16 --n 20 --rtt 63 --slots 100000",
        "rest --redundancy 0.2 --packets 300 --runs 10",
        "udp-rc --k 50 --loss 0.1 --trials 1000",
        "rlc-block --k 16 --q 1 --blocks 100 --fer 0.2",
    ] {
        let one = json(&format!("{model} --seed 5 --threads 1"));
        assert_eq!(
            one,
            json(&format!("{model} --seed 5 --threads 3")),
            "{model}"
        );
        assert_eq!(one["seed"], 5);
        assert_ne!(
            one,
            json(&format!("{model} --seed 6 --threads 1")),
            "{model}"
        );
    }
}

#[test]
fn the_other_models_have_their_figures() {
    let block = json("block --loss 0.05 --k 8 --n 10 --slots 500000");
    assert!((number(&block, "mean_delay_slots") - 0.722).abs() < 0.03);
    assert!((number(&block, "residual_loss") - 0.0035).abs() < 0.0008);
    let arq = json("arq --loss 0.2 --rtt 63 --slots 200000");
    assert!(number(&arq, "mean_delay_slots") > 63.0);
    let rest = json("rest --redundancy 0.3 --runs 30");
    assert!((number(&rest["duration_s"], "mean") - 25.005).abs() < 0.02);
    assert!((number(&rest["mean_delay_s"], "mean") - 0.162).abs() < 0.01);
    let udp = json("udp-rc --message 500kB --rate 1mbit --rtt 50ms --loss 1% --trials 3000");
    assert_eq!(udp["k"], 358);
    assert!(number(&udp, "decode_probability") > 0.997);
    assert!((number(&udp["transfer_s"], "mean") - 4.23).abs() < 0.05);
    let rlc = json("rlc-block --k 256 --q 8 --blocks 20");
    assert!((400.0..600.0).contains(&number(&rlc["latency_ms"], "mean")));
}

#[test]
fn what_makes_no_sense_is_a_wrong_command_line() {
    for wrong in [
        "streaming --loss 0.1 --spacing 10",
        "streaming --loss ge:0.1,4 --spacing 5",
        "block --loss 0.1 --k 10 --n 9",
        "arq --loss 0.1 --rtt 0",
        "rest --loss burst:2",
        "rest --loss iid:0.99",
        "udp-rc --loss 0.1",
        "udp-rc --k 10 --loss 0.1 --q 9",
        "rlc-block --k 257",
    ] {
        assert_eq!(sim(wrong).status.code(), Some(2), "{wrong}");
    }
}
