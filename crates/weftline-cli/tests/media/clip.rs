//! A film that is the same each time.

use std::ops::Range;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// Frames a second.
pub(super) const RATE: usize = 25;

/// H.264 in MPEG-TS: 640x360 at 2 Mbit/s, an intra picture each second, B pictures between.
pub(super) struct Clip {
    pub(super) file: PathBuf,
    /// A sum of each picture as it should be seen, in order.
    pub(super) pictures: Vec<String>,
    /// Those of them that are counted. A receiver begins with what comes first, whatever was lost
    /// before it; and the last ones push those before them out of the decoder.
    pub(super) counted: Range<usize>,
    _folder: TempDir,
}

impl Clip {
    /// ffmpeg's test picture, for this many seconds and two that are not counted.
    pub(super) fn make(seconds: usize) -> Self {
        let counted = RATE..RATE + seconds * RATE;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("clip.ts");
        let (rate, length) = (RATE, seconds + 2);
        let source = format!("testsrc2=size=640x360:rate={rate}:duration={length}");
        // One thread: more would make it depend on the machine.
        let options = "-c:v libx264 -preset veryfast -threads 1 -g 25 -bf 2 \
                       -b:v 2M -maxrate 2M -bufsize 1M -f mpegts";
        let mut command = Command::new("ffmpeg");
        command.args(["-v", "error", "-y", "-f", "lavfi", "-i", &source]);
        command.args(options.split_whitespace()).arg(&file);
        assert!(command.stdin(Stdio::null()).status().unwrap().success());

        let mut command = Command::new("ffmpeg");
        command.args(["-v", "error", "-i"]).arg(&file);
        command.args("-map 0:v -f framehash -hash crc32 -".split(' '));
        let output = command.stdin(Stdio::null()).output().unwrap();
        let frames = frames(&String::from_utf8(output.stdout).unwrap());
        let pictures: Vec<_> = frames.into_iter().map(|(_, sum)| sum).collect();
        assert_eq!(pictures.len(), counted.end + RATE);
        Self {
            file,
            pictures,
            counted,
            _folder: folder,
        }
    }
}

/// Times, in frames, and sums of the pictures in what ffmpeg's `framehash` wrote. A last line
/// that was not written to its end is left out.
pub(super) fn frames(text: &str) -> Vec<(i64, String)> {
    let lines = text
        .split_inclusive('\n')
        .filter(|line| line.ends_with('\n'));
    let mut unit = 1.0;
    let mut frames = Vec::new();
    for line in lines {
        if let Some(base) = line.strip_prefix("#tb 0: ") {
            let (part, whole) = base.trim().split_once('/').unwrap();
            let seconds = part.parse::<f64>().unwrap() / whole.parse::<f64>().unwrap();
            unit = seconds * RATE as f64;
        }
        if line.starts_with('#') {
            continue;
        }
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        let time: f64 = fields[2].parse().unwrap();
        frames.push(((time * unit).round() as i64, fields[5].to_owned()));
    }
    frames
}
