//! Coefficients and shards agree with the definitions.

#[cfg(feature = "std")]
use std::process::Command;

use serde_json::Value;
use weftline_codec::field::Arithmetic;
#[cfg(feature = "std")]
use weftline_codec::kernel::{ENVIRONMENT, Kernel};
use weftline_codec::reed_solomon::{Code, Construction, Decoder};

use super::support::{BOTH, Reference, codeword, noise, recovers_all, slices, slices_mut};

fn vectors() -> Value {
    serde_json::from_str(include_str!("../../vectors/rfc8681.json")).unwrap()
}

fn bytes(value: &Value) -> Vec<u8> {
    let byte = |value: &Value| u8::try_from(value.as_u64().unwrap()).unwrap();
    value.as_array().unwrap().iter().map(byte).collect()
}

fn rows(value: &Value) -> Vec<Vec<u8>> {
    value.as_array().unwrap().iter().map(bytes).collect()
}

#[test]
fn rfc_5510_coefficients_and_repairs_are_those_of_the_vectors() {
    for case in vectors()["reed_solomon_rfc5510"].as_array().unwrap() {
        let number = |key: &str| case[key].as_u64().unwrap() as usize;
        let (k, n) = (number("k"), number("n"));
        let field = Arithmetic::with_bits(number("m") as u32).unwrap();
        let code = Code::with_field(Construction::Rfc5510, field, k, n - k).unwrap();
        let columns = rows(&case["generator_columns_k_to_n_minus_1"]);
        for (j, column) in columns.iter().enumerate() {
            assert_eq!(code.coefficients(j), Some(&column[..]));
        }
        // One element to a byte works for GF(2^4) too: the other half is 0.
        let sources = rows(&case["source_elements"]);
        let expected = rows(&case["repair_elements"]);
        let mut repairs = vec![vec![0; sources[0].len()]; n - k];
        code.encode(&slices(&sources), &mut slices_mut(&mut repairs))
            .unwrap();
        assert_eq!(repairs, expected);
    }
}

#[test]
fn fields_have_the_polynomials_of_rfc_5510() {
    let listed = &vectors()["reed_solomon_polynomials_rfc5510"];
    for bits in 2..=8_u32 {
        let field = Arithmetic::with_bits(bits).unwrap();
        let expected = listed[bits.to_string()].as_u64().unwrap();
        assert_eq!(u64::from(field.polynomial()), expected);
    }
}

#[test]
fn the_matrix_of_the_rizzo_family_differs() {
    let code = Code::new(Construction::Rfc5510, 3, 3).unwrap();
    assert_eq!(code.coefficients(0), Some(&[8, 14, 7][..]));
    assert_ne!(code.coefficients(0), Some(&[15, 8, 6][..]));
}

#[test]
fn coefficients_are_those_of_the_definition_in_every_field() {
    for bits in 1..=8 {
        let field = Arithmetic::with_bits(bits).unwrap();
        for construction in BOTH {
            let most = construction.max_shards(field);
            for (k, m) in [
                (1, 1),
                (2, 1),
                (1, 3),
                (3, 4),
                (5, 2),
                (8, 8),
                (20, 11),
                (31, 225),
            ] {
                if k + m > most {
                    continue;
                }
                let code = Code::with_field(construction, field, k, m).unwrap();
                let expected = Reference::of(field).coefficients(construction, k, m);
                for (j, row) in expected.iter().enumerate() {
                    assert_eq!(
                        code.coefficients(j),
                        Some(&row[..]),
                        "{construction:?} {bits}"
                    );
                }
                assert_eq!(code.coefficients(m), None);
            }
        }
    }
}

#[test]
fn the_first_cauchy_repair_is_the_xor_of_the_sources() {
    let code = Code::new(Construction::Cauchy, 200, 56).unwrap();
    assert_eq!(code.coefficients(0), Some(&[1; 200][..]));
}

#[test]
fn a_repair_shard_does_not_depend_on_the_number_of_repair_shards() {
    for construction in BOTH {
        let (few, many) = (
            Code::new(construction, 50, 2).unwrap(),
            Code::new(construction, 50, 200).unwrap(),
        );
        assert_eq!(few.coefficients(1), many.coefficients(1));
    }
}

#[test]
fn every_square_submatrix_of_a_small_code_is_invertible() {
    // This property makes a systematic code MDS.
    let field = Arithmetic::default();
    for construction in BOTH {
        let (k, m) = (6, 5);
        let code = Code::new(construction, k, m).unwrap();
        for columns in 1..1_u32 << k {
            for rows in 1..1_u32 << m {
                if rows.count_ones() != columns.count_ones() {
                    continue;
                }
                let pick = |row: &[u8]| -> Vec<u8> {
                    (0..k)
                        .filter(|i| columns >> i & 1 == 1)
                        .map(|i| row[i])
                        .collect()
                };
                let square: Vec<Vec<u8>> = (0..m)
                    .filter(|j| rows >> j & 1 == 1)
                    .map(|j| pick(code.coefficients(j).unwrap()))
                    .collect();
                let right = vec![vec![]; square.len()];
                assert!(Reference::of(field).solve(square, right).is_some());
            }
        }
    }
}

#[test]
fn shards_of_any_length_are_what_the_coefficients_say() {
    for bits in [4, 8] {
        let field = Arithmetic::with_bits(bits).unwrap();
        let reference = Reference::of(field);
        let times = |c: u8, byte: u8| match bits {
            4 => reference.mul(c, byte & 0xF) | reference.mul(c, byte >> 4) << 4,
            _ => reference.mul(c, byte),
        };
        for construction in BOTH {
            let code = Code::with_field(construction, field, 9, 6).unwrap();
            let mut decoder = Decoder::new(code.clone());
            for length in (0..140).chain([255, 512, 1280, 1333]) {
                let shards = codeword(&code, length);
                for (j, repair) in shards[9..].iter().enumerate() {
                    let mut expected = vec![0; length];
                    for (&c, source) in code.coefficients(j).unwrap().iter().zip(&shards) {
                        for (sum, &byte) in expected.iter_mut().zip(source) {
                            *sum ^= times(c, byte);
                        }
                    }
                    assert_eq!(repair, &expected, "{construction:?}, {length} bytes");
                }
                recovers_all(&mut decoder, &shards, &[14, 1, 12, 3, 4, 11, 10, 9, 8]);
                recovers_all(&mut decoder, &shards, &[0, 1, 2, 3, 9, 5, 6, 7, 8]);
            }
        }
    }
}

#[test]
// Without `std` the environment is not read, and some systems cannot start
// programs.
#[cfg(all(feature = "std", not(any(target_family = "wasm", miri))))]
fn every_kernel_makes_the_same_shards() {
    // The kernel is chosen once for a process, so each kernel gets its own
    // process.
    let program = std::env::current_exe().unwrap();
    for kernel in Kernel::available() {
        let output = Command::new(&program)
            .args([
                "--exact",
                "reed_solomon::definition::shards_of_any_length_are_what_the_coefficients_say",
            ])
            .env(ENVIRONMENT, kernel.name())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{kernel}: {said}");
        assert!(said.contains("1 passed"), "{kernel}: {said}");
    }
}

#[test]
fn a_repair_made_alone_equals_the_one_made_with_others() {
    for construction in BOTH {
        let code = Code::new(construction, 20, 9).unwrap();
        let shards = codeword(&code, 333);
        let sources = slices(&shards[..20]);
        for (j, expected) in shards[20..].iter().enumerate() {
            let mut repair = noise(3, 333);
            code.encode_one(j, &sources, &mut repair).unwrap();
            assert_eq!(&repair, expected);
        }
        let mut some = vec![noise(4, 333); 2];
        code.encode(&sources, &mut slices_mut(&mut some)).unwrap();
        assert_eq!(some, shards[20..22]);
    }
}
