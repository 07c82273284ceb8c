//! Recorded links, and the cases that are run on each of them.
//!
//! A recording is a file `NAME.trace` in mahimahi's format, with the one-way delays of the same
//! minute in `NAME.delay` if they were recorded. [`generate`] makes some where there are none.

pub mod generate;
mod verdict;

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use weftline_netem::{LinkConfig, Trace};

pub use verdict::{Numbers, Worse, never_worse};

/// The word that stands for generated recordings in place of a folder.
pub const GENERATED: &str = "generated";
/// Bytes of a message.
pub const MESSAGE: usize = 1200;
/// Share of the mean capacity that streams and videos take.
const LOAD: f64 = 0.4;
/// The most that a video takes, in bit/s.
const MOST_VIDEO: f64 = 8e6;
/// The return path.
pub const BACK: &str = "rate=48mbit delay=20ms queue=500ms";
/// The losses on the forward path.
pub const LOSSES: [&str; 3] = ["none", "iid:1%", "ge:1%,4"];

/// A recorded link.
#[derive(Clone, Debug, PartialEq)]
pub struct Recording {
    /// The file's name without its ending.
    pub name: String,
    /// What it could carry on average, in bit/s.
    pub mean: f64,
    file: PathBuf,
    delays: Option<PathBuf>,
}

/// The traffic on a recorded link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum App {
    /// As much data as the link carries.
    Bulk,
    /// Messages at a constant rate, 40 % of the mean capacity.
    Stream,
    /// A video of the same mean rate, 8 Mbit/s at most: [`Pace::Video`](weftline_sim::Pace::Video).
    Video,
}

/// Why there are no recordings.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NoRecordings {
    /// A file or the folder cannot be read or written.
    #[error("{}: {cause}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// The error.
        cause: std::io::Error,
    },
    /// No file of the folder is a trace.
    #[error(
        "{}: no file ends in .trace: give a folder with traces in mahimahi's format (a line is the ms at \
         which 1500 bytes can leave), or the word `generated`",
        .0.display()
    )]
    None(PathBuf),
    /// A trace that cannot be used.
    #[error("{0}")]
    Trace(String),
}

/// The recordings in a folder, by name.
///
/// # Errors
/// The folder has none, or one cannot be read.
pub fn open(folder: &Path) -> Result<Vec<Recording>, NoRecordings> {
    let wrong = |cause| NoRecordings::File {
        path: folder.to_owned(),
        cause,
    };
    // A link's text has the path, whatever the folder that it is run in.
    let folder = folder.canonicalize().map_err(wrong)?;
    let mut files = Vec::new();
    for entry in std::fs::read_dir(&folder).map_err(wrong)? {
        let file = entry.map_err(wrong)?.path();
        if file.extension().is_some_and(|ending| ending == "trace") {
            files.push(file);
        }
    }
    files.sort();
    match files.is_empty() {
        true => Err(NoRecordings::None(folder)),
        false => files.into_iter().map(Recording::open).collect(),
    }
}

impl Recording {
    fn open(file: PathBuf) -> Result<Self, NoRecordings> {
        let shown = file.display().to_string();
        if shown.contains(char::is_whitespace) {
            let message =
                format!("{shown}: the path of a trace must not contain spaces: rename it");
            return Err(NoRecordings::Trace(message));
        }
        let read = std::fs::read_to_string(&file);
        let text = read.map_err(|cause| NoRecordings::File {
            path: file.clone(),
            cause,
        })?;
        let trace = Trace::parse(&shown, &text);
        let trace = trace.map_err(|error| NoRecordings::Trace(error.to_string()))?;
        let period = trace.period().unwrap_or_default();
        let bits = LinkConfig::default()
            .with_trace(trace)
            .capacity(Default::default(), period);
        let mean = bits.map_or(0.0, |bits| bits as f64 / period.as_secs_f64().max(1e-9));
        if mean < 1000.0 {
            let message = format!(
                "{shown}: not a recorded link: it must repeat, have a rate all the time, and carry something"
            );
            return Err(NoRecordings::Trace(message));
        }
        let delays = file.with_extension("delay");
        Ok(Recording {
            name: file
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
            mean,
            delays: delays.is_file().then_some(delays),
            file,
        })
    }

    /// The forward path with these losses, in the form of `weftline-lab run --link`.
    pub fn link(&self, loss: &str) -> String {
        let delay = match &self.delays {
            Some(file) => format!("trace:{}", file.display()),
            None => "20ms".to_owned(),
        };
        let file = self.file.display();
        let loss = match loss {
            "none" => String::new(),
            loss => format!(" loss={loss}"),
        };
        format!("rate=trace:{file} delay={delay} queue=500ms{loss}")
    }
}

impl App {
    /// All of them.
    pub const ALL: [App; 3] = [App::Bulk, App::Stream, App::Video];

    /// As on the command line.
    pub fn name(self) -> &'static str {
        match self {
            App::Bulk => "bulk",
            App::Stream => "stream",
            App::Video => "video",
        }
    }

    /// The rate of its messages on this link in bit/s, whole kbit/s; `None` for bulk.
    pub fn rate(self, recording: &Recording) -> Option<u64> {
        let rate = match self {
            App::Bulk => return None,
            App::Stream => LOAD * recording.mean,
            App::Video => (LOAD * recording.mean).min(MOST_VIDEO),
        };
        Some((rate / 1000.0).round().max(1.0) as u64 * 1000)
    }
}

impl fmt::Display for App {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for App {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let app = App::ALL.into_iter().find(|app| app.name() == text);
        app.ok_or_else(|| format!("unknown traffic `{text}`: use bulk, stream or video"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_its_traces_with_their_delays_and_means() {
        let folder = tempfile::tempdir().unwrap();
        let write =
            |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        let error = open(folder.path()).unwrap_err().to_string();
        assert!(
            error.contains("mahimahi") && error.contains("`generated`"),
            "{error}"
        );
        // 1500 bytes each ms, and each third ms.
        write(
            "b.trace",
            &(1..=3000).map(|ms| format!("{ms}\n")).collect::<String>(),
        );
        write("b.delay", "20\n30\n");
        write(
            "a.trace",
            &(1..=1000)
                .map(|n| format!("{}\n", 3 * n))
                .collect::<String>(),
        );
        write("README", "what they are");
        let all = open(folder.path()).unwrap();
        let names: Vec<&str> = all
            .iter()
            .map(|recording| recording.name.as_str())
            .collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!([all[0].mean, all[1].mean], [4e6, 12e6]);
        assert_eq!(App::Stream.rate(&all[1]), Some(4_800_000));
        let (a, b) = (all[0].link("none"), all[1].link("ge:1%,4"));
        assert!(a.ends_with("a.trace delay=20ms queue=500ms"), "{a}");
        assert!(b.contains("b.delay queue=500ms loss=ge:1%,4"), "{b}");
        weftline_emulator::Links::parse(&b, Some(BACK)).unwrap();
    }

    #[test]
    fn what_is_no_recording_is_named() {
        let folder = tempfile::tempdir().unwrap();
        for (text, part) in [
            ("1\n0\n", "line 2"),
            ("0s rate=1mbit", "not a recorded link"),
        ] {
            std::fs::write(folder.path().join("x.trace"), text).unwrap();
            let error = open(folder.path()).unwrap_err().to_string();
            assert!(error.contains("x.trace") && error.contains(part), "{error}");
        }
        assert!(open(&folder.path().join("none")).is_err());
    }

    #[test]
    fn a_video_has_a_limit() {
        let recording = Recording {
            name: "fast".into(),
            mean: 50e6,
            file: "fast.trace".into(),
            delays: None,
        };
        assert_eq!(App::Stream.rate(&recording), Some(20_000_000));
        assert_eq!(App::Video.rate(&recording), Some(8_000_000));
        assert_eq!(App::Bulk.rate(&recording), None);
        assert!("films".parse::<App>().unwrap_err().contains("video"));
    }
}
