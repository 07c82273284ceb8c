//! Viewers over loopback, and what each gets in virtual time.

mod outbox;
mod page;
mod viewers;

use std::sync::Arc;

use bytes::Bytes;

use super::media::{Kind, Unit};
use super::wire::{Frame, Track};

/// A frame with the key frame it depends on.
fn frame(number: u32, key: u32) -> Arc<Frame> {
    let track = match number == key {
        true => Track::Key {
            codec: "avc1".into(),
        },
        false => Track::Delta { key },
    };
    Arc::new(Frame::new(track, number, 0, 0, 0, &[7; 100]))
}

fn sound(number: u32) -> Arc<Frame> {
    Arc::new(Frame::new(
        Track::Sound { channels: 2 },
        number,
        0,
        0,
        0,
        &[9; 50],
    ))
}

/// A picture as it comes from the source.
fn unit(is_key: bool, bytes: usize) -> Unit {
    let kind = match is_key {
        true => Kind::Key("avc1".into()),
        false => Kind::Delta,
    };
    let data = Bytes::from(vec![7; bytes]);
    Unit {
        kind,
        pts: None,
        came: 0,
        data,
    }
}
