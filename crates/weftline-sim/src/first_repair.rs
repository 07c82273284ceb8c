//! The first repair that a session sends, byte by byte: for drawings of its header.

use std::time::Duration;

use weftline_proto::{Config, Role, Session, Time};

/// Kind of the datagram REPAIR with field (docs/protocol.md, section 3.2).
const REPAIR_WITH_FIELD: u8 = 9;
/// Datagrams that are looked at.
const PATIENCE: usize = 10_000;

/// A part of a datagram: its name, and its bytes in hexadecimal.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Part {
    /// The field's name in docs/protocol.md.
    pub name: &'static str,
    /// Length in bytes.
    pub bytes: usize,
    /// The bytes themselves; empty for the coded symbol.
    pub hex: String,
}

/// The parts of the first REPAIR with field that a session with this configuration sends when its
/// application has more data than it can send; `None` if it sends none.
///
/// # Errors
/// The configuration cannot be used.
pub fn first_repair(
    config: &Config,
    seed: u64,
) -> Result<Option<Vec<Part>>, weftline_proto::ConfigError> {
    let mut now = Time::ZERO;
    let mut writer = Session::new(Role::Client, config.clone(), seed, now)?;
    let mut reader = Session::new(Role::Server, config.clone(), !seed, now)?;
    let stream = writer
        .open_stream()
        .expect("a new session has room for a stream");
    let mut datagram = Vec::new();
    for _ in 0..PATIENCE {
        // More data than a block has, as long as there is room.
        while writer.write(stream, &[0; 16 << 10]).is_ok_and(|n| n > 0) {}
        now += Duration::from_millis(1);
        writer.handle_timeout(now);
        reader.handle_timeout(now);
        datagram.clear();
        while writer.poll_transmit(now, &mut datagram) {
            if datagram.first() == Some(&REPAIR_WITH_FIELD) {
                return Ok(parts(&datagram));
            }
            reader.handle_datagram(now, &datagram);
            datagram.clear();
        }
        while reader.poll_transmit(now, &mut datagram) {
            writer.handle_datagram(now, &datagram);
            datagram.clear();
        }
    }
    Ok(None)
}

fn parts(datagram: &[u8]) -> Option<Vec<Part>> {
    let symbols = u16::from_be_bytes([*datagram.get(15)?, *datagram.get(16)?]);
    let code = *datagram.get(17)?;
    let q = usize::from(code & 7) + 1;
    let coefficients = match code & 8 {
        0 => ("seed", 4),
        _ => ("vector", (usize::from(symbols) * q).div_ceil(8)),
    };
    let fixed = [
        ("kind", 1),
        ("transmission", 4),
        ("timestamp", 4),
        ("ESI", 4),
        ("span", 2),
        ("NSS", 2),
        ("code", 1),
    ];
    let (mut parts, mut rest) = (Vec::new(), datagram);
    for (name, bytes) in fixed.into_iter().chain([coefficients]) {
        let (part, others) = rest.split_at_checked(bytes)?;
        rest = others;
        parts.push(Part {
            name,
            bytes,
            hex: part.iter().map(|byte| format!("{byte:02x}")).collect(),
        });
    }
    parts.push(Part {
        name: "coded symbol",
        bytes: rest.len(),
        hex: String::new(),
    });
    Some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schemes;

    #[test]
    fn the_header_with_a_seed_and_the_one_with_the_vector_are_as_long_as_documented() {
        for (settings, name, bytes) in [
            ("k=64 field=2 header=seed", "seed", 4),
            ("k=64 field=2 header=vector", "vector", 8),
            ("k=64 field=256 header=vector", "vector", 64),
        ] {
            let words = format!("preset=rlc-block {settings}");
            let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
            let config = schemes::read(&words).unwrap();
            let parts = first_repair(&config, 1).unwrap().unwrap();
            let header: usize = parts.iter().take(7).map(|part| part.bytes).sum();
            assert_eq!(header, 18);
            assert_eq!((parts[7].name, parts[7].bytes), (name, bytes), "{settings}");
            assert!(parts[8].bytes > 1000 && parts[0].hex == "09");
        }
        let config = schemes::read(&["preset=arq".to_owned()]).unwrap();
        assert_eq!(first_repair(&config, 1), Ok(None));
    }
}
