//! Video that ffmpeg makes and ffmpeg decodes, over a path that loses packets: bare, through
//! `weftline cast` and through `weftline relay`. Needs Linux, root, a TUN device and ffmpeg;
//! elsewhere each test says what is missing.
//!
//! ```sh
//! cargo test --release -p weftline-cli --test media -- --ignored --nocapture
//! ```
//!
//! prints the table of docs/results/media.md.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

mod carriage;
mod clip;
#[path = "../inside/mod.rs"]
mod inside;
mod watched;

use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use carriage::{Way, play};
use clip::Clip;
use watched::Watched;
use weftline_testkit::{can_emulate_paths, has_command, unable};

/// What a viewer gets by each way over this link. The ways have a path each, with the same
/// fate for its n-th packet, and run at once.
fn watch(clip: &Clip, link: &str, seed: u64, ways: &[Way]) -> Vec<Watched> {
    std::thread::scope(|scope| {
        let runs = ways
            .iter()
            .map(|way| scope.spawn(|| watch_one(clip, *way, link, seed)));
        let runs: Vec<_> = runs.collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    })
}

/// What a viewer gets by one way. A player that did not get a processor in time, and let packets
/// overflow, tells nothing of the way: then it is tried again.
fn watch_one(clip: &Clip, way: Way, link: &str, seed: u64) -> Watched {
    let mut watched = play(clip, way, link, seed);
    for _ in 0..2 {
        if watched.overflow == 0 {
            break;
        }
        watched = play(clip, way, link, seed);
    }
    watched
}

/// One test at a time, if they can run at all.
fn alone() -> Option<MutexGuard<'static, ()>> {
    static ONE: Mutex<()> = Mutex::new(());
    if !can_emulate_paths() || !has_command("ffmpeg", "-version", "ffmpeg") {
        return None;
    }
    let mut ffmpeg = Command::new("ffmpeg");
    let encoders = ffmpeg.arg("-encoders").stdin(Stdio::null()).output();
    if !String::from_utf8_lossy(&encoders.unwrap().stdout).contains("libx264") {
        unable("ffmpeg", "this ffmpeg has no libx264");
        return None;
    }
    Some(ONE.lock().unwrap_or_else(PoisonError::into_inner))
}

#[test]
fn a_path_that_loses_nothing_gives_every_frame_by_each_way() {
    let Some(_alone) = alone() else { return };
    let clip = Clip::make(4);
    let all = watch(&clip, "rate=25mbit delay=20ms", 1, &Way::ALL);
    for (way, watched) in Way::ALL.iter().zip(all) {
        assert_eq!(watched.intact, clip.counted.len(), "{way:?}: {watched:#?}");
        assert_eq!(
            (watched.damaged, watched.frozen),
            (0, 0),
            "{way:?}: {watched:#?}"
        );
        assert_eq!(watched.errors, 0, "{way:?}: {watched:#?}");
    }
}

#[test]
fn losses_that_break_the_picture_of_a_bare_stream_do_not_reach_the_viewer() {
    let Some(_alone) = alone() else { return };
    let clip = Clip::make(6);
    // How many frames may be spoilt: what a loss breaks lasts until the next intra picture, a
    // second at most, and a burst may be longer than the repair of its time.
    for (loss, most) in [("iid:5%", 25), ("ge:5%,3", 40)] {
        let link = format!("rate=25mbit delay=20ms loss={loss}");
        let all = watch(&clip, &link, 1, &Way::ALL);
        let [bare, ours @ ..] = &all[..] else {
            unreachable!()
        };
        assert!(bare.errors > 60, "{link}: {bare:#?}");
        assert!(bare.intact < clip.counted.len() / 2, "{link}: {bare:#?}");
        for (way, watched) in Way::ALL[1..].iter().zip(ours) {
            let spoilt = clip.counted.len() - watched.intact;
            assert!(watched.losses > 20, "{link} {way:?}: {watched:#?}");
            assert!(spoilt <= most, "{link} {way:?}: {watched:#?}");
            assert!(
                watched.errors * 4 <= bare.errors,
                "{link} {way:?}: {watched:#?}"
            );
        }
    }
}

/// The table of docs/results/media.md.
#[test]
#[ignore = "takes minutes; prints the table of docs/results/media.md"]
fn the_whole_table() {
    let Some(_alone) = alone() else { return };
    let clip = Clip::make(20);
    println!("| loss | | intact | damaged | frozen, longest | errors | bytes |");
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    for loss in ["none", "iid:5%", "iid:10%", "ge:5%,4", "ge:10%,8"] {
        let mut sums = Way::ALL.map(|_| Watched::default());
        for seed in 1..=3 {
            let link = format!("rate=25mbit delay=20ms loss={loss}");
            for (sum, watched) in sums.iter_mut().zip(watch(&clip, &link, seed, &Way::ALL)) {
                sum.add(&watched);
            }
        }
        let bare = sums[0].bytes;
        for (way, sum) in Way::ALL.iter().zip(&sums) {
            println!("| {loss} | {} | {} |", way.name(), sum.row(bare));
        }
    }
}
