//! The sections of a vector file, each derived again.

use serde_json::Value;
use sha2::{Digest, Sha256};
use weftline_codec::coefficients::Coefficients;
use weftline_codec::field::{Arithmetic, Field, Gf256};
use weftline_codec::reed_solomon::{Code, Construction};
use weftline_codec::tinymt32::TinyMt32;
use weftline_fecframe::payload_id::RepairId;
use weftline_fecframe::{CodeRate, EncodingId, FlowSet, Fssi, Sender, SenderConfig, Time, adui};

use super::entry::{Checked, field, get, hex, hexes, list, number, numbers, octets, same, to_hex};

/// The polynomials of RFC 5510, section 8.1, for m from 2 on.
const POLYNOMIALS: [u32; 15] = [
    0x7, 0xB, 0x13, 0x25, 0x43, 0x89, 0x11D, 0x211, 0x409, 0x805, 0x1053, 0x201B, 0x4443, 0x8003,
    0x1_100B,
];

/// Each entry of a section by its index, correct or wrong; `None` if the section is unknown.
pub(super) fn check(name: &str, section: &Value) -> Option<Vec<(String, Checked)>> {
    Some(match name {
        "tinymt32" => {
            let mut entries = each(get(section, "sequences"), ".sequences", sequence);
            entries.push((".parameters".to_owned(), parameters(section)));
            entries
        }
        "gf256" => gf256(section),
        "coefficients" => each(Ok(section), "", coefficients),
        "repair_symbols" => each(Ok(section), "", repair_symbol),
        "rank_edge_cases" => each(Ok(section), "", rank_case),
        "several_repair_symbols_in_one_packet" => each(Ok(section), "", several),
        "adu_to_packets" => each(Ok(section), "", packets),
        "fssi_octets" => each(Ok(section), "", fssi),
        "reed_solomon_rfc5510" => each(Ok(section), "", reed_solomon),
        "reed_solomon_polynomials_rfc5510" => {
            let polynomials = section.as_object().into_iter().flatten();
            let entries = polynomials.map(|(m, value)| (format!(".{m}"), polynomial(m, value)));
            entries.collect()
        }
        _ => return None,
    })
}

/// Checks every entry of a list; anything but a list is one wrong entry.
fn each(
    list: Checked<&Value>,
    place: &str,
    check: impl Fn(&Value) -> Checked,
) -> Vec<(String, Checked)> {
    let entries = list.and_then(|list| {
        let entries = list.as_array();
        entries.ok_or_else(|| "a list is expected".to_owned())
    });
    match entries {
        Err(error) => vec![(place.to_owned(), Err(error))],
        Ok(entries) => {
            let named = |(i, entry): (usize, &Value)| {
                let name = entry.get("name").and_then(Value::as_str);
                let name = name.map(|name| format!(" {name}")).unwrap_or_default();
                (format!("{place}[{i}]{name}"), check(entry))
            };
            entries.iter().enumerate().map(named).collect()
        }
    }
}

fn parameters(section: &Value) -> Checked {
    let [mat1, mat2, tmat] = TinyMt32::PARAMETERS;
    same(section, "mat1", mat1)?;
    same(section, "mat2", mat2)?;
    same(section, "tmat", tmat)
}

fn sequence(entry: &Value) -> Checked {
    let seed = number(entry, "seed", u32::MAX.into())? as u32;
    let length = list(entry, "u32")?.len().min(10_000);
    let mut generator = TinyMt32::new(seed);
    let outputs: Vec<u32> = (0..10_000).map(|_| generator.next_u32()).collect();
    let low = |bits: u32| -> Vec<u32> { outputs[..length].iter().map(|n| n & bits).collect() };
    same(entry, "u32", low(u32::MAX))?;
    same(entry, "rand16", low(0xF))?;
    same(entry, "rand256", low(0xFF))?;
    same(entry, "u32_number_10000", outputs[9_999])
}

fn gf256(section: &Value) -> Vec<(String, Checked)> {
    let wrong = |right: bool| {
        let error = || "is wrong in this field".to_owned();
        right.then_some(()).ok_or_else(error)
    };
    let product = |entry: &Value| match octets(entry)?[..] {
        [a, b, product] => wrong(Gf256::mul(a, b) == product),
        _ => Err("three numbers are expected".to_owned()),
    };
    let inverse = |entry: &Value| match octets(entry)?[..] {
        [a, inverse] if a != 0 => wrong(Gf256::inv(a) == inverse),
        _ => Err("a number above 0 and its inverse are expected".to_owned()),
    };
    let powers = || {
        let powers = octets(get(section, "alpha_powers_0_to_20")?)?;
        wrong(powers.len() == 21 && powers.iter().zip(0..).all(|(p, n)| *p == Gf256::exp(n)))
    };
    let constants = || {
        same(section, "polynomial", Gf256::POLYNOMIAL)?;
        same(section, "generator_alpha", Gf256::GENERATOR)
    };
    let products = get(section, "products_a_b_ab");
    let mut entries = each(products, ".products_a_b_ab", product);
    let inverses = get(section, "inverses_a_inv");
    entries.extend(each(inverses, ".inverses_a_inv", inverse));
    entries.push((".alpha_powers_0_to_20".to_owned(), powers()));
    entries.push((".constants".to_owned(), constants()));
    entries
}

/// The coding vector of an entry with this key.
fn vector(entry: &Value, key: u16) -> Checked<Vec<u8>> {
    let nss = number(entry, "nss", 4095)? as usize;
    let coefficients = Coefficients::Rfc8681 {
        repair_key: key,
        density_threshold: number(entry, "dt", 15)? as u8,
    };
    let mut vector = vec![0; nss];
    let filled = coefficients.fill(field(entry)?, &mut vector);
    filled.map_err(|error| error.to_string())?;
    Ok(vector)
}

fn key(entry: &Value, name: &str) -> Checked<u16> {
    number(entry, name, u16::MAX.into()).map(|key| key as u16)
}

fn coefficients(entry: &Value) -> Checked {
    let vector = vector(entry, key(entry, "repair_key")?)?;
    if entry.get("coefficients_head").is_some() {
        let (head, tail) = (
            list(entry, "coefficients_head")?,
            list(entry, "coefficients_tail")?,
        );
        let short = || "head and tail are longer than the vector".to_owned();
        let tail = vector.len().checked_sub(tail.len()).ok_or_else(short)?;
        let head = vector.get(..head.len()).ok_or_else(short)?;
        same(entry, "coefficients_head", head)?;
        same(entry, "coefficients_tail", &vector[tail..])?;
    } else {
        same(entry, "coefficients", &vector[..])?;
    }
    let nonzero = vector.iter().filter(|c| **c != 0).count();
    same(entry, "nonzero_count", nonzero)?;
    let digest = to_hex(&Sha256::digest(&vector));
    same(entry, "sha256_of_coefficient_octets", digest)
}

/// The symbols of an entry: as many as NSS, all of the size E.
fn symbols(entry: &Value) -> Checked<Vec<Vec<u8>>> {
    let symbols = hexes(entry, "source_symbols_hex")?;
    let size = number(entry, "e", 65_535)? as usize;
    same(entry, "nss", symbols.len())?;
    if symbols.is_empty() || symbols.iter().any(|symbol| symbol.len() != size) {
        return Err(format!(
            "source_symbols_hex must be symbols of {size} octets"
        ));
    }
    Ok(symbols)
}

fn combination(field: Arithmetic, vector: &[u8], symbols: &[Vec<u8>]) -> Vec<u8> {
    let symbols = symbols.iter().map(Vec::as_slice);
    let terms: Vec<(u8, &[u8])> = vector.iter().copied().zip(symbols).collect();
    let mut sum = vec![0; terms.first().map_or(0, |(_, symbol)| symbol.len())];
    field.mul_add_multi(&mut sum, &terms);
    sum
}

fn repair_id(entry: &Value, key: u16) -> Checked<RepairId> {
    Ok(RepairId {
        key,
        density_threshold: number(entry, "dt", 15)? as u8,
        nss: number(entry, "nss", 4095)? as u16,
        first_esi: number(entry, "fss_esi", u32::MAX.into())? as u32,
    })
}

fn repair_symbol(entry: &Value) -> Checked {
    let key = key(entry, "repair_key")?;
    let (vector, symbols) = (vector(entry, key)?, symbols(entry)?);
    same(entry, "coefficients", &vector[..])?;
    let id = repair_id(entry, key)?;
    let esis: Vec<u32> = (0..u32::from(id.nss))
        .map(|i| id.first_esi.wrapping_add(i))
        .collect();
    same(entry, "esis", esis)?;
    let repair = combination(field(entry)?, &vector, &symbols);
    same(entry, "repair_symbol_hex", to_hex(&repair))?;
    same(entry, "repair_payload_id_hex", to_hex(&id.to_bytes()))?;
    let packet = [&id.to_bytes()[..], &repair].concat();
    same(entry, "fec_repair_packet_hex", to_hex(&packet))
}

fn several(entry: &Value) -> Checked {
    let (symbols, first) = (symbols(entry)?, key(entry, "first_repair_key")?);
    let count = list(entry, "repair_keys")?.len().min(4096) as u16;
    let keys: Vec<u16> = (0..count).map(|i| first.wrapping_add(i)).collect();
    same(entry, "repair_keys", &keys[..])?;
    let mut packet = repair_id(entry, first)?.to_bytes().to_vec();
    let mut repairs = Vec::new();
    for key in keys {
        let repair = combination(field(entry)?, &vector(entry, key)?, &symbols);
        repairs.push(to_hex(&repair));
        packet.extend(repair);
    }
    same(entry, "repair_symbols_hex", repairs)?;
    same(entry, "fec_repair_packet_hex", to_hex(&packet))
}

fn rank_case(entry: &Value) -> Checked {
    let keys = match entry.get("repair_keys") {
        Some(keys) => numbers(keys, u16::MAX.into())?,
        None => vec![key(entry, "repair_key")?.into()],
    };
    let rows: Checked<Vec<_>> = keys.iter().map(|key| vector(entry, *key as u16)).collect();
    let rows = rows?;
    if entry.get("rows").is_some() {
        same(entry, "rows", rows.clone())?;
    }
    same(entry, "rank", rank(field(entry)?, rows))
}

fn rank(field: Arithmetic, mut rows: Vec<Vec<u8>>) -> usize {
    let columns = rows.first().map_or(0, Vec::len);
    let mut rank = 0;
    for column in 0..columns {
        let Some(pivot) = (rank..rows.len()).find(|row| rows[*row][column] != 0) else {
            continue;
        };
        rows.swap(rank, pivot);
        let pivot = rows[rank].clone();
        for row in &mut rows[rank + 1..] {
            let factor = field.product(row[column], field.inverse(pivot[column]));
            field.mul_add_vector(row, &pivot, factor);
        }
        rank += 1;
    }
    rank
}

/// Whole packets, made by the sender that programs use.
fn packets(entry: &Value) -> Checked {
    let id = match field(entry)?.bits() {
        1 => EncodingId::RlcGf2,
        _ => EncodingId::RlcGf256,
    };
    let symbol_size = number(entry, "e", 65_535)? as u16;
    let fssi = Fssi::Rlc {
        symbol_size,
        window_size_ratio: 0,
    };
    let window = number(entry, "nss", 4095)? as u16;
    let mut config = SenderConfig::new(id, fssi, CodeRate::ONE, window);
    config.flows = FlowSet::from_iter(0..=u8::MAX);
    config.first_key = key(entry, "repair_key")?;
    config.density_threshold = number(entry, "dt", 15)? as u8;
    config.bandwidth_cap = false;
    let source = list(entry, "packets")?;
    let first = source.first().ok_or("packets is empty")?;
    config.first = number(first, "esi", u32::MAX.into())? as u32;
    let mut sender = Sender::new(config).map_err(|error| error.to_string())?;
    let (mut packet, mut adui) = (Vec::new(), Vec::new());
    for source in source {
        let flow = number(source, "flow_id", 255)? as u8;
        let adu = hex(get(source, "adu_hex")?)?;
        let sent = sender.source(flow, &adu, Time::ZERO, &mut packet);
        let sent = sent.map_err(|error| error.to_string())?;
        same(source, "esi", sent.esi)?;
        adui::write(flow, &adu, symbol_size, &mut adui);
        let symbols: Vec<String> = adui.chunks(symbol_size.into()).map(to_hex).collect();
        same(source, "adui_symbols_hex", symbols)?;
        same(source, "fec_source_packet_hex", to_hex(&packet))?;
    }
    let repair = sender.extra_repair(Time::ZERO, &mut packet);
    let repair = repair.ok_or("these parameters give no repair packet")?;
    same(entry, "repair_key", repair.key)?;
    same(entry, "nss", repair.window)?;
    same(entry, "fss_esi", repair.first_esi)?;
    same(entry, "coefficients", vector(entry, repair.key)?)?;
    same(entry, "fec_repair_packet_hex", to_hex(&packet))?;
    let symbol = packet.get(packet.len() - usize::from(symbol_size)..);
    same(
        entry,
        "repair_symbol_hex",
        to_hex(symbol.unwrap_or_default()),
    )
}

fn fssi(entry: &Value) -> Checked {
    let fssi = Fssi::Rlc {
        symbol_size: number(entry, "e", 65_535)? as u16,
        window_size_ratio: number(entry, "wsr", 255)? as u8,
    };
    same(entry, "hex", to_hex(&fssi.to_bytes()))?;
    same(entry, "sdp", fssi.to_string())?;
    let read = Fssi::parse(EncodingId::RlcGf256, &fssi.to_string());
    if read.as_ref() != Ok(&fssi) {
        return Err(format!("its text parses to {read:?}"));
    }
    Ok(())
}

fn reed_solomon(entry: &Value) -> Checked {
    let m = number(entry, "m", 8)?;
    let (k, n) = (
        number(entry, "k", 255)? as usize,
        number(entry, "n", 255)? as usize,
    );
    let field = match m {
        2 | 4 | 8 => Arithmetic::with_bits(m as u32),
        _ => None,
    };
    let field = field.ok_or_else(|| format!("m is {m}; codes exist for 2, 4 and 8"))?;
    same(entry, "primitive_polynomial", field.polynomial())?;
    let code = Code::with_field(Construction::Rfc5510, field, k, n.saturating_sub(k));
    let code = code.map_err(|error| error.to_string())?;
    let columns: Vec<&[u8]> = (0..)
        .map_while(|repair| code.coefficients(repair))
        .collect();
    let columns: Vec<Value> = columns.into_iter().map(Value::from).collect();
    same(entry, "generator_columns_k_to_n_minus_1", columns)?;
    // One element in each octet: elements of small fields are coded side by side.
    let sources: Checked<Vec<_>> = list(entry, "source_elements")?.iter().map(octets).collect();
    let sources = sources?;
    if sources
        .iter()
        .flatten()
        .any(|element| usize::from(*element) >= field.order())
    {
        return Err(format!("source_elements are not all of GF(2^{m})"));
    }
    let length = sources.first().map_or(0, Vec::len);
    let sources: Vec<&[u8]> = sources.iter().map(Vec::as_slice).collect();
    let mut repairs = vec![vec![0; length]; n - k];
    let mut out: Vec<&mut [u8]> = repairs.iter_mut().map(Vec::as_mut_slice).collect();
    let encoded = code.encode(&sources, &mut out);
    encoded.map_err(|error| error.to_string())?;
    same(entry, "repair_elements", repairs)
}

fn polynomial(m: &str, value: &Value) -> Checked {
    let degree = m.parse::<usize>().ok().and_then(|m| m.checked_sub(2));
    let known = degree.and_then(|place| POLYNOMIALS.get(place));
    let known = known.ok_or_else(|| format!("RFC 5510 has none for m = {m}"))?;
    if value.as_u64() == Some(u64::from(*known)) {
        return Ok(());
    }
    Err(format!("is {value}, expected {known}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_polynomials_generate_their_fields_and_are_those_of_the_codec() {
        for (m, polynomial) in (2_u32..).zip(POLYNOMIALS) {
            let order = (1_u32 << m) - 1;
            let mut power = 1;
            let mut count = 0;
            loop {
                power <<= 1;
                if power >> m == 1 {
                    power ^= polynomial;
                }
                count += 1;
                if power == 1 {
                    break;
                }
                assert!(count < order, "m = {m}");
            }
            assert_eq!(count, order, "m = {m}");
            if let Some(field) = Arithmetic::with_bits(m) {
                assert_eq!(u32::from(field.polynomial()), polynomial);
            }
        }
    }
}
