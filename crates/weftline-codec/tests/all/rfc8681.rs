//! Coefficients, arithmetic and repair symbols agree with RFC 8681 byte for
//! byte: checked against vectors of another implementation.

use serde_json::Value;
use sha2::{Digest, Sha256};
use weftline_codec::coefficients::{Coefficients, CoefficientsError};
use weftline_codec::field::{Arithmetic, Field, Gf256};

fn vectors() -> Value {
    serde_json::from_str(include_str!("../vectors/rfc8681.json")).unwrap()
}

fn cases<'a>(vectors: &'a Value, key: &str) -> &'a [Value] {
    let cases = vectors[key].as_array().unwrap();
    assert!(!cases.is_empty());
    cases
}

fn number(value: &Value) -> usize {
    usize::try_from(value.as_u64().unwrap()).unwrap()
}

fn bytes(value: &Value) -> Vec<u8> {
    let numbers = value.as_array().unwrap();
    numbers
        .iter()
        .map(|n| u8::try_from(number(n)).unwrap())
        .collect()
}

fn hex(value: &Value) -> Vec<u8> {
    let digits = value.as_str().unwrap();
    let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
    (0..digits.len()).step_by(2).map(byte).collect()
}

fn hexes(value: &Value) -> Vec<Vec<u8>> {
    value.as_array().unwrap().iter().map(hex).collect()
}

fn field(case: &Value) -> Arithmetic {
    Arithmetic::with_bits(number(&case["m"]) as u32).unwrap()
}

/// The coding vector of a key with the field, density and window of a case.
fn vector(case: &Value, repair_key: &Value) -> Vec<u8> {
    let coefficients = Coefficients::Rfc8681 {
        repair_key: number(repair_key) as u16,
        density_threshold: number(&case["dt"]) as u8,
    };
    let mut out = vec![0xEE; number(&case["nss"])];
    coefficients.fill(field(case), &mut out).unwrap();
    out
}

/// The sum of the products of symbols and coefficients.
fn combination(field: Arithmetic, vector: &[u8], symbols: &[Vec<u8>]) -> Vec<u8> {
    let symbols = symbols.iter().map(Vec::as_slice);
    let terms: Vec<(u8, &[u8])> = vector.iter().copied().zip(symbols).collect();
    let mut out = vec![0; terms[0].1.len()];
    field.mul_add_multi(&mut out, &terms);
    out
}

#[test]
fn arithmetic_is_that_of_the_vectors() {
    let vectors = vectors();
    let field = &vectors["gf256"];
    assert_eq!(usize::from(Gf256::POLYNOMIAL), number(&field["polynomial"]));
    assert_eq!(
        usize::from(Gf256::GENERATOR),
        number(&field["generator_alpha"])
    );
    for case in cases(field, "products_a_b_ab") {
        let [a, b, product] = bytes(case)[..] else {
            panic!("{case}")
        };
        assert_eq!(Gf256::mul(a, b), product, "{a} * {b}");
    }
    for case in cases(field, "inverses_a_inv") {
        let [a, inverse] = bytes(case)[..] else {
            panic!("{case}")
        };
        assert_eq!(Gf256::inv(a), inverse, "1 / {a}");
    }
    for (n, power) in bytes(&field["alpha_powers_0_to_20"])
        .into_iter()
        .enumerate()
    {
        assert_eq!(Gf256::exp(n as u8), power);
    }
}

#[test]
fn coefficients_are_those_of_the_vectors() {
    for case in cases(&vectors(), "coefficients") {
        let got = vector(case, &case["repair_key"]);
        let nonzero = got.iter().filter(|&&c| c != 0).count();
        assert_eq!(nonzero, number(&case["nonzero_count"]), "{case}");
        let digest = hex(&case["sha256_of_coefficient_octets"]);
        assert_eq!(Sha256::digest(&got)[..], digest, "{case}");
        if let Some(head) = case.get("coefficients_head") {
            let (head, tail) = (bytes(head), bytes(&case["coefficients_tail"]));
            assert_eq!(got[..head.len()], head);
            assert_eq!(got[got.len() - tail.len()..], tail);
        } else {
            assert_eq!(got, bytes(&case["coefficients"]));
        }
    }
}

#[test]
fn repair_symbols_are_those_of_the_vectors() {
    for case in cases(&vectors(), "repair_symbols") {
        let vector = vector(case, &case["repair_key"]);
        assert_eq!(vector, bytes(&case["coefficients"]));
        let repair = combination(field(case), &vector, &hexes(&case["source_symbols_hex"]));
        assert_eq!(repair, hex(&case["repair_symbol_hex"]), "{}", case["name"]);
    }
}

#[test]
fn the_repair_symbols_of_a_packet_have_consecutive_keys() {
    for case in cases(&vectors(), "several_repair_symbols_in_one_packet") {
        let symbols = hexes(&case["source_symbols_hex"]);
        let keys = case["repair_keys"].as_array().unwrap();
        let repairs: Vec<_> = keys
            .iter()
            .map(|key| combination(field(case), &vector(case, key), &symbols))
            .collect();
        assert_eq!(
            repairs,
            hexes(&case["repair_symbols_hex"]),
            "{}",
            case["name"]
        );
    }
}

#[test]
fn all_zero_vectors_are_those_of_the_vectors() {
    for case in cases(&vectors(), "rank_edge_cases") {
        let keys = match case.get("repair_keys") {
            Some(keys) => keys.as_array().unwrap().clone(),
            None => vec![case["repair_key"].clone()],
        };
        let rows: Vec<Vec<u8>> = keys.iter().map(|key| vector(case, key)).collect();
        if let Some(expected) = case.get("rows") {
            let expected: Vec<_> = expected.as_array().unwrap().iter().map(bytes).collect();
            assert_eq!(rows, expected);
        }
        assert_eq!(rank(field(case), rows), number(&case["rank"]), "{case}");
    }
}

fn rank(field: Arithmetic, mut rows: Vec<Vec<u8>>) -> usize {
    let mut rank = 0;
    for column in 0..rows[0].len() {
        let Some(pivot) = (rank..rows.len()).find(|&row| rows[row][column] != 0) else {
            continue;
        };
        rows.swap(rank, pivot);
        let pivot = rows[rank].clone();
        for row in &mut rows[rank + 1..] {
            let factor = field.product(row[column], field.inverse(pivot[column]));
            for (x, &p) in row.iter_mut().zip(&pivot) {
                *x ^= field.product(factor, p);
            }
        }
        rank += 1;
    }
    rank
}

#[test]
fn a_longer_window_only_adds_to_the_vector() {
    for bits in [1, 8] {
        let field = Arithmetic::with_bits(bits).unwrap();
        for density_threshold in 0..=15 {
            for repair_key in [0, 1, 255, 4097, u16::MAX] {
                let coefficients = Coefficients::Rfc8681 {
                    repair_key,
                    density_threshold,
                };
                let mut whole = [0; 300];
                coefficients.fill(field, &mut whole).unwrap();
                for length in [0, 1, 7, 8, 9, 64, 255] {
                    let mut part = vec![0; length];
                    coefficients.fill(field, &mut part).unwrap();
                    assert_eq!(part, whole[..length]);
                }
            }
        }
    }
}

#[test]
fn the_share_of_non_zero_coefficients_is_that_of_the_threshold() {
    for bits in [1, 8] {
        let field = Arithmetic::with_bits(bits).unwrap();
        for density_threshold in 0..=15 {
            let (mut nonzero, mut all) = (0, 0);
            let mut vector = [0; 128];
            for repair_key in 0..400 {
                let coefficients = Coefficients::Rfc8681 {
                    repair_key,
                    density_threshold,
                };
                coefficients.fill(field, &mut vector).unwrap();
                nonzero += vector.iter().filter(|&&c| c != 0).count();
                all += vector.len();
            }
            let share = nonzero as f64 / all as f64;
            let expected = f64::from(density_threshold + 1) / 16.0;
            // The standard deviation is at most 0.0022.
            assert!(
                (share - expected).abs() < 0.01,
                "{density_threshold}: {share}"
            );
        }
    }
}

#[test]
fn codes_that_the_rfc_does_not_define_are_refused() {
    let with = |density_threshold| Coefficients::Rfc8681 {
        repair_key: 1,
        density_threshold,
    };
    let mut out = [0xEE; 4];
    for bits in 2..8 {
        let field = Arithmetic::with_bits(bits).unwrap();
        let refusal = with(15).fill(field, &mut out);
        assert_eq!(refusal, Err(CoefficientsError::Field { bits }));
    }
    for got in [16, 255] {
        let refusal = with(got).fill(Gf256::arithmetic(), &mut out);
        assert_eq!(refusal, Err(CoefficientsError::DensityThreshold { got }));
    }
    assert_eq!(out, [0xEE; 4]);
}
