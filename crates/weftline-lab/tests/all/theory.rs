//! `weftline-lab theory`: the keys that scripts rely on, and errors that say what to do.

use std::process::Output;

use serde_json::Value;

use crate::program::{lab, printed};

fn theory(arguments: &str) -> Output {
    let arguments: Vec<&str> = arguments.split(' ').collect();
    lab(&[&["theory"], &arguments[..]].concat())
}

fn json(arguments: &str) -> Value {
    let output = theory(&format!("{arguments} --json"));
    serde_json::from_str(&printed(&output)).unwrap()
}

fn number(value: &Value, key: &str) -> f64 {
    value[key]
        .as_f64()
        .unwrap_or_else(|| panic!("{key} of {value}"))
}

#[test]
fn streaming_has_its_keys_in_full_precision() {
    let value = json("streaming --loss 0.05 --spacing 10");
    let idle = value["busy_time_pmf"][0].as_f64().unwrap();
    assert!((idle - 0.6302494097246091).abs() < 1e-15, "{idle}");
    for (key, expected) in [
        ("mean_busy", 0.5672244687521482),
        ("second_moment_busy", 1.6449509593812297),
        ("third_moment_busy", 10.805626129728456),
        ("mean_busy_plus", 1.1974738784767573),
        ("delay_bound_slots", 6.868421052631579),
    ] {
        let got = number(&value, key);
        assert!((got / expected - 1.0).abs() < 1e-12, "{key}: {got}");
    }
    assert!((number(&value, "mean_delay_slots") - 5.576).abs() < 0.1);
    assert!(number(&value, "operations_per_packet") > 0.0);
    let pmf = value["delay_pmf"].as_array().unwrap();
    assert!(pmf.iter().map(|p| p.as_f64().unwrap()).sum::<f64>() > 0.99);
    assert!(value["delay_quantiles_slots"]["p99"].as_u64() > Some(10));
    assert!(number(&value["printed"], "third_moment_busy") > 11.8);
}

#[test]
fn runs_of_losses_have_the_same_keys() {
    let value = json("streaming --loss markov:0.05,2 --spacing 10");
    assert!((number(&value, "mean_delay_slots") - 22.06).abs() < 0.42);
    for key in [
        "mean_busy",
        "second_moment_busy",
        "third_moment_busy",
        "mean_busy_plus",
    ] {
        assert!(number(&value, key) > 0.0);
    }
    let pmf = value["busy_time_pmf"].as_array().unwrap();
    assert!((pmf.iter().map(|p| p.as_f64().unwrap()).sum::<f64>() - 1.0).abs() < 1e-6);
}

#[test]
fn rlnc_has_its_keys() {
    let value = json("rlnc --q 1 --symbols 64 --received 70");
    assert!((number(&value, "decode_probability") - 0.9844561987452083).abs() < 1e-12);
    assert!((number(&value, "mean_receptions") - 65.60669515241528).abs() < 1e-9);
    assert!((number(&value, "excess_ratio") - 1.60669515241528 / 65.60669515241528).abs() < 1e-9);
    assert_eq!(value["vector_header_bytes"], 17);
    assert_eq!(value["seed_header_bytes"], 13);
    let lossy = json("rlnc --q 8 --symbols 256 --loss 0.1 --sent 290");
    assert!((0.5..1.0).contains(&number(&lossy, "decode_probability")));
}

#[test]
fn fecframe_rest_and_bianchi_have_their_keys() {
    let value =
        json("fecframe --max-latency-ms 167 --bitrate 8000000 --symbol-size 1000 --code-rate 2/3");
    let sizes = [
        "block_size",
        "decoding_window",
        "encoding_window",
        "linear_system",
    ];
    assert_eq!(
        sizes.map(|key| value[key].as_u64()),
        [167, 167, 83, 334].map(Some)
    );
    assert_eq!(number(&value, "spacing"), 2.0);
    let value = json("rest --loss 0.15");
    assert!((number(&value, "redundancy") - 0.15 / 0.85).abs() < 1e-12);
    assert_eq!(value["spacing"], 5);
    assert!(number(&value["without_feedback"], "mean_ms") > 0.41);
    let value = json("bianchi --stations 1");
    assert!((5.5..6.5).contains(&number(&value, "throughput_mbit")));
}

#[test]
fn people_get_lines_and_reasons() {
    let output = theory("streaming --loss 0.1 --spacing 5");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("3.11111  slots, upper bound of the mean in-order delay"),
        "{text}"
    );
    let output = theory("streaming --loss 0.1 --spacing 10");
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        text.contains("unstable") && text.contains("smaller spacing"),
        "{text}"
    );
    for wrong in [
        "streaming --loss 2 --spacing 3",
        "rlnc --q 9 --symbols 4",
        "rest --loss 1",
    ] {
        assert_eq!(theory(wrong).status.code(), Some(2), "{wrong}");
    }
}
