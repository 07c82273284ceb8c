//! `weftline-lab vectors check` passes our vectors and finds every value that is changed.

use std::process::Output;

use serde_json::Value;
use weftline_lab::commands::vectors::{Report, check};

use crate::program::lab;

const FILE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../weftline-codec/tests/vectors/rfc8681.json"
);

fn vectors() -> Value {
    serde_json::from_slice(&std::fs::read(FILE).unwrap()).unwrap()
}

fn program(file: &str, arguments: &[&str]) -> Output {
    lab(&[&["vectors", "check", file], arguments].concat())
}

/// Names of values that follow from the others of their entry, so that none can be
/// changed without being wrong.
const DERIVED: [&str; 35] = [
    "mat1",
    "mat2",
    "tmat",
    "u32",
    "rand16",
    "rand256",
    "u32_number_10000",
    "polynomial",
    "generator_alpha",
    "products_a_b_ab",
    "inverses_a_inv",
    "alpha_powers_0_to_20",
    "field",
    "fec_encoding_id",
    "nss",
    "coefficients",
    "coefficients_head",
    "coefficients_tail",
    "nonzero_count",
    "sha256_of_coefficient_octets",
    "esis",
    "repair_symbol_hex",
    "repair_payload_id_hex",
    "fec_repair_packet_hex",
    "rows",
    "rank",
    "repair_symbols_hex",
    "repair_keys",
    "adui_symbols_hex",
    "fec_source_packet_hex",
    "hex",
    "sdp",
    "primitive_polynomial",
    "generator_columns_k_to_n_minus_1",
    "repair_elements",
];

/// Pointers to the values to change: of a list the first and the last.
fn places(value: &Value, at: &str, derived: bool, out: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (key, member) in members {
                // Longer windows of an entry without data are as right.
                let is = DERIVED.contains(&key.as_str())
                    && !(key == "nss" && members.contains_key("rank"));
                let polynomial = at == "/reed_solomon_polynomials_rfc5510";
                places(
                    member,
                    &format!("{at}/{key}"),
                    derived || is || polynomial,
                    out,
                );
            }
        }
        Value::Array(list) => {
            let last = list.len().saturating_sub(1);
            for (i, member) in list.iter().enumerate() {
                if !derived || i == 0 || i == last {
                    places(member, &format!("{at}/{i}"), derived, out);
                }
            }
        }
        _ if derived => out.push(at.to_owned()),
        _ => {}
    }
}

fn change(value: &mut Value) {
    *value = match &*value {
        Value::Number(n) => Value::from(n.as_u64().unwrap() ^ 1),
        Value::String(text) => {
            let (rest, last) = text.split_at(text.len() - 1);
            let other = if last == "0" { "1" } else { "0" };
            Value::from(format!("{rest}{other}"))
        }
        other => panic!("{other}"),
    };
}

#[test]
fn our_vectors_pass() {
    let output = program(FILE, &[]);
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let last = text.lines().last().unwrap();
    let passed: usize = last
        .strip_suffix(" passed, 0 failed")
        .unwrap()
        .parse()
        .unwrap();
    assert!(passed > 100, "{text}");
    assert!(!text.contains("skipped"), "{text}");

    let output = program(FILE, &["--json"]);
    let object: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(object["passed"], passed);
    assert_eq!(object["failed"], 0);
}

#[test]
fn every_value_that_follows_from_others_is_checked_in_every_section() {
    let vectors = vectors();
    for (name, section) in vectors.as_object().unwrap() {
        if name == "about" {
            continue;
        }
        let mut all = Vec::new();
        places(section, &format!("/{name}"), false, &mut all);
        // A factor of 0 leaves the other one free: only products are changed.
        all.retain(|place| !place.contains("products_a_b_ab") || place.ends_with("/2"));
        assert!(!all.is_empty(), "{name}");
        for place in all {
            let mut alone = serde_json::json!({ name: section });
            change(alone.pointer_mut(&place).unwrap());
            let Report { failed, .. } = check(&alone);
            assert_eq!(failed.len(), 1, "{place} was changed: {failed:?}");
            assert!(failed[0].0.starts_with(name.as_str()), "{failed:?}");
        }
    }
}

#[test]
fn a_wrong_value_ends_the_program_with_1_and_is_named() {
    let mut vectors = vectors();
    change(&mut vectors["repair_symbols"][3]["repair_symbol_hex"]);
    vectors["new_things"] = Value::from(3);
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), vectors.to_string()).unwrap();
    let output = program(file.path().to_str().unwrap(), &[]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("FAILED repair_symbols[3] w4-gf256-half-12: repair_symbol_hex is"),
        "{text}"
    );
    assert!(text.contains("skipped new_things"), "{text}");
    assert!(text.trim_end().ends_with(" passed, 1 failed"), "{text}");
}

#[test]
fn what_is_no_vector_file_is_an_error_and_nothing_panics() {
    let output = program("/nowhere/vectors.json", &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("/nowhere/vectors.json"));
    // Every section of the wrong kind, and every entry emptied.
    let vectors = vectors();
    for (name, section) in vectors.as_object().unwrap() {
        for wrong in [
            Value::Null,
            Value::from(1),
            serde_json::json!([{}]),
            serde_json::json!([]),
        ] {
            if name != "about" {
                let report = check(&serde_json::json!({ name: wrong }));
                assert!(!report.failed.is_empty(), "{name}: {wrong}");
            }
        }
        for key in ["nss", "e", "k", "n", "dt", "repair_key", "packets"] {
            for wrong in [
                Value::Null,
                Value::from(0),
                Value::from(u64::MAX),
                Value::from("x"),
            ] {
                let mut section = section.clone();
                if let Some(value) = section.get_mut(0).and_then(|entry| entry.get_mut(key)) {
                    *value = wrong;
                }
                let _ = check(&serde_json::json!({ name: section }));
            }
        }
    }
}
