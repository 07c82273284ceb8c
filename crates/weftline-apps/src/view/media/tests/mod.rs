//! Formats as ffmpeg writes them, and as nobody should.

mod clips;
mod hostile;

use std::collections::BTreeSet;

use clips::{Clip, clip};

use super::annexb::AnnexB;
use super::detect::{Detect, Format};
use super::rtp::Rtp;
use super::ts::Ts;
use super::{Kind, Parse, Unit};

/// What a parser makes of bytes that come in pieces of this length.
fn units(parser: &mut dyn Parse, bytes: &[u8], piece: usize) -> Vec<Unit> {
    let mut out = Vec::new();
    for (at, piece) in bytes.chunks(piece).enumerate() {
        parser.push(piece, at as u64, &mut out);
    }
    parser.end(&mut out);
    out
}

fn is_picture(unit: &&Unit) -> bool {
    matches!(unit.kind, Kind::Key(_) | Kind::Delta)
}

/// The numbers of the key frames, counted over pictures.
fn keys(units: &[Unit]) -> Vec<usize> {
    let pictures = units.iter().filter(is_picture).enumerate();
    let keys = pictures.filter(|(_, unit)| matches!(unit.kind, Kind::Key(_)));
    keys.map(|(number, _)| number).collect()
}

fn codecs(units: &[Unit]) -> BTreeSet<String> {
    let codec = |unit: &Unit| match &unit.kind {
        Kind::Key(codec) => Some(codec.to_string()),
        _ => None,
    };
    units.iter().filter_map(codec).collect()
}

/// The data of all pictures, in one.
fn stream(units: &[Unit]) -> Vec<u8> {
    let pictures = units.iter().filter(is_picture);
    pictures.flat_map(|unit| unit.data.to_vec()).collect()
}

/// Times of pictures or of sound, in microseconds after the first one.
fn times(units: &[Unit], of: impl Fn(&&Unit) -> bool) -> Vec<u64> {
    let times: Vec<u64> = units
        .iter()
        .filter(of)
        .map(|unit| unit.pts.unwrap())
        .collect();
    times.iter().map(|time| time - times[0]).collect()
}

#[test]
fn a_byte_stream_is_cut_into_its_pictures_however_it_comes() {
    let Some(Clip { bytes, decoded }) = clip(Format::H264) else {
        return;
    };
    let whole = units(&mut Detect::new(None), &bytes, bytes.len());
    assert_eq!((whole.len(), keys(&whole)), (60, vec![0, 30]));
    assert_eq!(codecs(&whole), BTreeSet::from(["avc1.42c01e".to_owned()]));
    assert_eq!(clips::decoded(Format::H264, &stream(&whole)), decoded);
    let mut parser = AnnexB::default();
    units(&mut parser, &bytes, 1000);
    assert_eq!(parser.frame_time(), Some(33_333));
    for piece in [1, 7, 188, 4096] {
        let pieces = units(&mut Detect::new(None), &bytes, piece);
        let same = |(a, b): (&Unit, &Unit)| (&a.kind, &a.data) == (&b.kind, &b.data);
        assert!(
            pieces.len() == 60 && pieces.iter().zip(&whole).all(same),
            "{piece}"
        );
    }
}

#[test]
fn nothing_comes_before_the_first_key_frame() {
    let Some(Clip { bytes, .. }) = clip(Format::H264) else {
        return;
    };
    let whole = units(&mut AnnexB::default(), &bytes, bytes.len());
    // A recording that began in the middle of a group.
    let cut = stream(&whole[1..]);
    let rest = units(&mut Detect::new(None), &cut, 1000);
    assert_eq!((rest.len(), keys(&rest)), (30, vec![0]));
}

#[test]
fn a_picture_is_complete_when_a_live_source_is_quiet() {
    let Some(Clip { bytes, .. }) = clip(Format::H264) else {
        return;
    };
    let whole = units(&mut AnnexB::default(), &bytes, bytes.len());
    let mut parser = AnnexB::default();
    for unit in &whole {
        let mut out = Vec::new();
        parser.push(&unit.data, 7, &mut out);
        assert!(out.is_empty());
        parser.quiet(&mut out);
        let expected = usize::from(!unit.data.len().is_multiple_of(4096));
        assert_eq!(out.len(), expected);
        assert!(out.iter().all(|out| out.data == unit.data && out.came == 7));
    }
}

#[test]
fn a_picture_that_was_cut_too_early_ends_its_group() {
    let Some(Clip { bytes, .. }) = clip(Format::H264) else {
        return;
    };
    let whole = units(&mut AnnexB::default(), &bytes, bytes.len());
    let (mut parser, mut out) = (AnnexB::default(), Vec::new());
    for (number, unit) in whole.iter().enumerate() {
        if number == 5 {
            // The writer was slow, and did not write whole pages.
            let (begin, rest) = unit.data.split_at(101);
            parser.push(begin, 0, &mut out);
            parser.quiet(&mut out);
            parser.push(rest, 0, &mut out);
        } else {
            parser.push(&unit.data, 0, &mut out);
        }
        parser.quiet(&mut out);
    }
    parser.end(&mut out);
    let gap = out.iter().position(|unit| unit.kind == Kind::Gap);
    assert_eq!(gap, Some(6));
    let after: Vec<_> = out[7..].iter().collect();
    assert_eq!(after.len(), 30);
    assert!(matches!(after[0].kind, Kind::Key(_)));
}

#[test]
fn mpeg_ts_has_pictures_sound_and_their_times() {
    let Some(Clip { bytes, decoded }) = clip(Format::MpegTs) else {
        return;
    };
    for piece in [1, 188, 1316, 65536] {
        let all = units(&mut Detect::new(None), &bytes, piece);
        let is_sound = |unit: &&Unit| unit.kind == Kind::Sound { channels: 2 };
        assert_eq!(keys(&all), [0, 30]);
        let pictures = times(&all, is_picture);
        let even = |(n, time): (usize, &u64)| time.abs_diff(n as u64 * 100_000 / 3) < 20;
        assert!(pictures.len() == 60 && pictures.iter().enumerate().all(even));
        let sound = times(&all, is_sound);
        let even = |(n, time): (usize, &u64)| time.abs_diff(n as u64 * 20_000) < 20;
        assert!((98..=102).contains(&sound.len()) && sound.iter().enumerate().all(even));
        assert_eq!(clips::decoded(Format::H264, &stream(&all)), decoded);
    }
}

#[test]
fn mpeg_ts_without_a_packet_has_whole_pictures_only() {
    let Some(Clip { bytes, .. }) = clip(Format::MpegTs) else {
        return;
    };
    let whole = units(&mut Ts::default(), &bytes, bytes.len());
    let good: BTreeSet<_> = whole.iter().map(|unit| unit.data.clone()).collect();
    let packets = bytes.as_chunks::<188>().0;
    for lost in (0..packets.len()).step_by(7) {
        let some = packets.iter().enumerate().filter(|(n, _)| *n != lost);
        let some: Vec<u8> = some.flat_map(|(_, packet)| packet.to_vec()).collect();
        let all = units(&mut Ts::default(), &some, 1316);
        let mut is_broken = false;
        for unit in &all {
            match &unit.kind {
                Kind::Gap => is_broken = true,
                Kind::Key(_) => is_broken = false,
                Kind::Delta => assert!(!is_broken, "{lost}"),
                Kind::Sound { .. } => {}
            }
            assert!(
                unit.kind == Kind::Gap || good.contains(&unit.data),
                "{lost}"
            );
        }
    }
}

#[test]
fn a_picture_with_a_known_length_does_not_wait_for_the_next_one() {
    let Some(Clip { bytes, .. }) = clip(Format::MpegTs) else {
        return;
    };
    // The clip is written with -omit_video_pes_length 0.
    let (mut parser, mut out) = (Ts::default(), Vec::new());
    let mut late = 0;
    for packet in bytes.as_chunks::<188>().0 {
        let before = out.iter().filter(is_picture).count();
        parser.push(packet, 0, &mut out);
        let has_come = out.iter().filter(is_picture).count() > before;
        // A payload unit begins in this packet.
        late += usize::from(has_come && packet[1] & 0x40 != 0 && packet[3] & 0x20 == 0);
    }
    assert_eq!((out.iter().filter(is_picture).count(), late), (60, 0));
}

#[test]
fn rtp_has_whole_pictures_or_none() {
    let Some(packets) = clips::rtp("h264") else {
        return;
    };
    let take = |packets: &mut dyn Iterator<Item = &Vec<u8>>| {
        let (mut parser, mut out) = (Rtp::h264(), Vec::new());
        packets.for_each(|packet| parser.push(packet, 0, &mut out));
        parser.end(&mut out);
        out
    };
    let whole = take(&mut packets.iter());
    assert_eq!((whole.len(), keys(&whole)), (60, vec![0, 30]));
    let pictures = times(&whole, is_picture);
    let even = |(n, time): (usize, &u64)| time.abs_diff(n as u64 * 100_000 / 3) < 20;
    assert!(pictures.iter().enumerate().all(even), "{pictures:?}");
    let mut swapped = packets.clone();
    swapped
        .as_chunks_mut::<2>()
        .0
        .iter_mut()
        .skip(1)
        .for_each(|pair| pair.swap(0, 1));
    assert_eq!(take(&mut swapped.iter()).len(), 60);
    for lost in (1..packets.len()).step_by(5) {
        let some = packets.iter().enumerate().filter(|(n, _)| *n != lost);
        let all = take(&mut some.map(|(_, packet)| packet));
        let pictures = all.iter().filter(is_picture).count();
        assert!(pictures < 60, "{lost}");
        for unit in all.iter().filter(is_picture) {
            assert!(whole.iter().any(|good| good.data == unit.data), "{lost}");
        }
    }
}

#[test]
fn rtp_has_sound() {
    let Some(packets) = clips::rtp("opus") else {
        return;
    };
    let (mut parser, mut out) = (Rtp::opus(), Vec::new());
    for packet in &packets {
        parser.push(packet, 0, &mut out);
    }
    let sound = times(&out, |_| true);
    let even = |(n, time): (usize, &u64)| time.abs_diff(n as u64 * 20_000) < 20;
    assert!(
        sound.len() > 90 && sound.iter().enumerate().all(even),
        "{sound:?}"
    );
}

#[test]
fn a_lost_packet_of_sound_is_soon_given_up() {
    let (mut parser, mut out) = (Rtp::opus(), Vec::new());
    let mut counts = Vec::new();
    for number in (0..10_u8).filter(|number| *number != 3) {
        // 20 ms each.
        let stamp = u32::from(number) * 960;
        let head = [&[0x80, 111, 0, number][..], &stamp.to_be_bytes(), &[7; 4]];
        let packet = [&head.concat()[..], &[0xf8, 1, 2]].concat();
        parser.push(&packet, u64::from(number) * 20_000, &mut out);
        counts.push(out.len());
    }
    assert_eq!(counts, [1, 2, 3, 3, 3, 3, 7, 8, 9]);
}

#[test]
fn av1_is_cut_into_its_temporal_units() {
    for format in [Format::Ivf, Format::Obu] {
        let Some(Clip { bytes, decoded }) = clip(format) else {
            return;
        };
        for piece in [1, 1000, bytes.len()] {
            let all = units(&mut Detect::new(None), &bytes, piece);
            assert_eq!((all.len(), keys(&all)), (20, vec![0, 10]), "{format}");
            assert_eq!(codecs(&all), BTreeSet::from(["av01.0.00M.08".to_owned()]));
            if format == Format::Ivf {
                let even: Vec<u64> = (0..20).map(|n| n * 100_000).collect();
                assert_eq!(times(&all, |_| true), even);
            }
        }
        let all = units(&mut Detect::new(None), &bytes, 1000);
        // Temporal delimiters are left out: with them it is a stream again.
        let again = all
            .iter()
            .flat_map(|unit| [&[0x12, 0], &unit.data[..]].concat());
        assert_eq!(
            clips::decoded(Format::Obu, &again.collect::<Vec<_>>()),
            decoded
        );
    }
}

#[test]
fn what_is_no_stream_is_told_once() {
    let mut parser = Detect::new(None);
    assert!(units(&mut parser, b"GET / HTTP/1.1\r\n", 3).is_empty());
    assert!(parser.trouble().unwrap().contains("--format"));
    assert_eq!(parser.trouble(), None);
}

#[test]
fn a_stray_datagram_does_not_end_the_stream() {
    let Some(Clip { bytes, .. }) = clip(Format::MpegTs) else {
        return;
    };
    let (mut parser, mut out) = (Detect::new(None), Vec::new());
    parser.push(b"is there anybody?", 0, &mut out);
    assert!(parser.trouble().is_some());
    out.extend(units(&mut parser, &bytes, 1316));
    assert_eq!(out.iter().filter(is_picture).count(), 60);
    assert_eq!(parser.trouble(), None);
}
