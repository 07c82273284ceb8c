//! A round that sends files.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::plan::End;
use super::stage::Stage;
use super::{Done, Draws, Fault};

/// Most times that the sender is started.
const MOST_STARTS: u32 = 40;

/// Sends a folder, starting whichever end fails again, until the sender says that all is there.
pub(super) fn run(stage: &mut Stage, draws: &mut Draws) -> Result<Done, Fault> {
    let sent = files(&stage.folder.join("data"), draws)?;
    let inbox = stage.folder.join("inbox");
    fs::create_dir_all(&inbox)?;
    let (data, into) = (
        stage.folder.join("data").display().to_string(),
        inbox.display().to_string(),
    );
    let rate = format!("{}mbit", draws.between(10, 40));
    stage.start(
        &[
            "send", &data, "WIRE", "--peer", "PEER", "--rate", &rate, "--json",
        ],
        &[
            "recv", &into, "--listen", "SERVER", "--peer", "PEER", "--keep",
        ],
    )?;
    loop {
        stage.tick()?;
        stage.revive(End::Far, true)?;
        if stage.near.is_up()
            && let Some(status) = stage.near.ended()?
        {
            check(&inbox.join("data"), &sent)?;
            if status.success() {
                break;
            }
            let words = stage.near.words();
            let is_explained = status.code().is_some() && words.contains("rror");
            if !is_explained || words.contains("panicked") {
                return Err(Fault::Unexplained(format!(
                    "the sender ended with {status}: {words}"
                )));
            }
            if stage.near.starts >= MOST_STARTS {
                return Err(Fault::Hang(format!(
                    "the sender failed {MOST_STARTS} times: {words}"
                )));
            }
            stage.near.start()?;
        }
    }
    for (path, bytes) in &sent {
        let there = fs::read(inbox.join("data").join(path));
        if there.as_deref().ok() != Some(bytes) {
            let what = format!(
                "the sender said that {} is there: {there:.0?}",
                path.display()
            );
            return Err(Fault::Wrong(what.chars().take(200).collect()));
        }
    }
    Ok(Done {
        starts: stage.starts(),
        recovery: stage.recovery(),
    })
}

/// Files of some sizes, empty ones too, in two folders.
fn files(folder: &Path, draws: &mut Draws) -> io::Result<BTreeMap<PathBuf, Vec<u8>>> {
    let mut all = BTreeMap::new();
    fs::create_dir_all(folder.join("inner"))?;
    for index in 0..draws.between(1, 6) {
        let most = [0, 2_000, 200_000, 2_000_000][draws.between(0, 3) as usize];
        let len = draws.between(0, most) as usize;
        let parent = ["", "inner"][draws.between(0, 1) as usize];
        let path = Path::new(parent).join(format!("file {index}"));
        let bytes = draws.bytes(len);
        fs::write(folder.join(&path), &bytes)?;
        all.insert(path, bytes);
    }
    // One that takes long enough for something to happen.
    let bytes = draws.bytes(3_000_000);
    fs::write(folder.join("long"), &bytes)?;
    all.insert("long".into(), bytes);
    Ok(all)
}

/// No file has its own name before it is complete and right.
fn check(folder: &Path, sent: &BTreeMap<PathBuf, Vec<u8>>) -> Result<(), Fault> {
    for (path, bytes) in sent {
        match fs::read(folder.join(path)) {
            Ok(there) if there != *bytes => {
                let what = format!("{} has other bytes than were sent", path.display());
                return Err(Fault::Wrong(what));
            }
            _ => {}
        }
    }
    Ok(())
}
