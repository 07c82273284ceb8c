//! Values of an entry, and their expected values.

use serde_json::Value;
use weftline_codec::field::Arithmetic;

/// Why an entry is wrong.
pub(super) type Checked<T = ()> = Result<T, String>;

/// The value under a key.
pub(super) fn get<'a>(entry: &'a Value, key: &str) -> Checked<&'a Value> {
    entry.get(key).ok_or_else(|| format!("{key} is missing"))
}

/// A number of at most `most`.
pub(super) fn number(entry: &Value, key: &str, most: u64) -> Checked<u64> {
    let value = get(entry, key)?;
    let number = value.as_u64().filter(|n| *n <= most);
    number.ok_or_else(|| {
        format!(
            "{key} is {}, a number up to {most} is expected",
            short(value)
        )
    })
}

/// An array.
pub(super) fn list<'a>(entry: &'a Value, key: &str) -> Checked<&'a [Value]> {
    let value = get(entry, key)?.as_array();
    value
        .map(Vec::as_slice)
        .ok_or_else(|| format!("{key} is not a list"))
}

/// Numbers of at most `most`.
pub(super) fn numbers(value: &Value, most: u64) -> Checked<Vec<u64>> {
    let list = value.as_array();
    let numbers = list.and_then(|list| {
        let number = |value: &Value| value.as_u64().filter(|n| *n <= most);
        list.iter().map(number).collect()
    });
    numbers.ok_or_else(|| format!("{} is not a list of numbers up to {most}", short(value)))
}

/// Numbers that are octets.
pub(super) fn octets(value: &Value) -> Checked<Vec<u8>> {
    let numbers = numbers(value, 255)?;
    Ok(numbers.into_iter().map(|n| n as u8).collect())
}

/// A string of two hexadecimal digits for each octet.
pub(super) fn hex(value: &Value) -> Checked<Vec<u8>> {
    let octets = value
        .as_str()
        .filter(|text| text.len() % 2 == 0)
        .and_then(|text| {
            let digit = |c: &u8| char::from(*c).to_digit(16);
            let pairs = text.as_bytes().as_chunks::<2>().0.iter();
            pairs
                .map(|[high, low]| Some((digit(high)? * 16 + digit(low)?) as u8))
                .collect::<Option<Vec<u8>>>()
        });
    octets.ok_or_else(|| format!("{} is not a string of octets in hexadecimal", short(value)))
}

/// A list of such strings.
pub(super) fn hexes(entry: &Value, key: &str) -> Checked<Vec<Vec<u8>>> {
    list(entry, key)?.iter().map(hex).collect()
}

/// Whether the value under a key is this one.
pub(super) fn same(entry: &Value, key: &str, expected: impl Into<Value>) -> Checked {
    let (got, expected) = (get(entry, key)?, expected.into());
    if *got == expected {
        return Ok(());
    }
    // Hexadecimal digits may be capitals.
    if let (Some(got), Some(expected)) = (got.as_str(), expected.as_str())
        && got.eq_ignore_ascii_case(expected)
    {
        return Ok(());
    }
    Err(format!(
        "{key} is {}, expected {}",
        short(got),
        short(&expected)
    ))
}

/// Octets as hexadecimal digits.
pub(super) fn to_hex(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}

/// The field of an entry, which names it in three ways that must agree.
pub(super) fn field(entry: &Value) -> Checked<Arithmetic> {
    let m = number(entry, "m", 8)?;
    let id = match m {
        1 => 9,
        8 => 10,
        _ => return Err(format!("m is {m}; RFC 8681 has 1 and 8")),
    };
    if entry.get("fec_encoding_id").is_some() {
        same(entry, "fec_encoding_id", id)?;
        same(entry, "field", if m == 1 { "GF(2)" } else { "GF(2^8)" })?;
    }
    Arithmetic::with_bits(m as u32).ok_or_else(|| format!("GF(2^{m}) is not supported"))
}

/// A value, truncated if long.
fn short(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= 60 {
        return text;
    }
    let cut: String = text.chars().take(57).collect();
    format!("{cut}...")
}
