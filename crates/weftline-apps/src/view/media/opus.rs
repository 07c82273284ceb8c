//! Opus packets (RFC 6716): their durations, and their form in MPEG-TS (ETSI TS 103 491, as ffmpeg and
//! GStreamer write it).

/// Longest packet: RFC 6716, section 3.4, for the longest durations.
pub(super) const LONGEST: usize = 61_440;

/// Microseconds of sound in a packet; `None` if it is none.
pub(super) fn duration(packet: &[u8]) -> Option<u64> {
    let &toc = packet.first()?;
    let config = toc >> 3;
    // RFC 6716, table 2.
    let frame = match config {
        0..=11 => [10_000, 20_000, 40_000, 60_000][usize::from(config % 4)],
        12..=15 => [10_000, 20_000][usize::from(config % 2)],
        _ => [2_500, 5_000, 10_000, 20_000][usize::from(config % 4)],
    };
    let frames = match toc & 3 {
        0 => 1,
        1 | 2 => 2,
        _ => u64::from(packet.get(1)? & 0x3f),
    };
    let time = frame * frames;
    // At most 120 ms: section 3.2.5.
    (1..=120_000).contains(&time).then_some(time)
}

/// Splits the payload of a PES packet into Opus packets. What is malformed ends it.
pub(super) fn split(mut payload: &[u8]) -> Vec<&[u8]> {
    let mut packets = Vec::new();
    while let Some((packet, rest)) = first(payload) {
        packets.push(packet);
        payload = rest;
    }
    packets
}

/// The first access unit and what follows it.
fn first(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&[prefix, flags], mut rest) = bytes.split_first_chunk::<2>()?;
    if prefix != 0x7f || flags & 0xe0 != 0xe0 {
        return None;
    }
    let mut size = 0;
    loop {
        let (&byte, after) = rest.split_first()?;
        rest = after;
        size += usize::from(byte);
        if byte != 255 {
            break;
        }
    }
    // Samples to trim at the start and at the end.
    for flag in [0x10, 0x08] {
        if flags & flag != 0 {
            rest = rest.get(2..)?;
        }
    }
    if flags & 0x04 != 0 {
        let (&length, after) = rest.split_first()?;
        rest = after.get(usize::from(length)..)?;
    }
    let is_sound = size > 0 && size <= LONGEST && size <= rest.len();
    is_sound.then(|| rest.split_at(size))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_those_of_the_table() {
        // SILK 20 ms, CELT 2.5 ms twice, hybrid 20 ms, five frames of 20 ms; none and too many.
        for (packet, time) in [
            (&[1 << 3][..], Some(20_000)),
            (&[16 << 3 | 1], Some(5_000)),
            (&[13 << 3], Some(20_000)),
            (&[31 << 3 | 3, 5], Some(100_000)),
            (&[], None),
            (&[3], None),
            (&[3, 0], None),
            (&[3 << 3 | 3, 63], None),
        ] {
            assert_eq!(duration(packet), time, "{packet:?}");
        }
    }

    #[test]
    fn a_payload_is_split_at_its_headers() {
        let long = [7; 300];
        let payload = [
            &[0x7f, 0xe0, 2, 1, 2][..],
            &[0x7f, 0xf8, 1, 9, 9, 9, 9, 3],
            &[0x7f, 0xe4, 255, 45, 2, 0, 0],
            &long,
        ]
        .concat();
        assert_eq!(split(&payload), [&[1, 2][..], &[3], &long]);
        for cut in 0..payload.len() {
            assert!(split(&payload[..cut]).len() <= 2);
        }
    }
}
