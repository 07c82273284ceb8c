//! What a viewer got to see.

use std::collections::HashMap;

use super::clip::{Clip, RATE, frames};

/// Counts of one run, or of several.
#[derive(Debug, Default)]
pub(super) struct Watched {
    /// Pictures of the film, and those of them that were seen as they should be.
    pub(super) film: usize,
    pub(super) intact: usize,
    /// Pictures that were seen and are not those of the film.
    pub(super) damaged: usize,
    /// Pictures in whose place the one before them stood still, and the most in a row.
    pub(super) frozen: usize,
    pub(super) longest: usize,
    /// Errors that the decoder and the demultiplexer told.
    pub(super) errors: usize,
    /// Packets that the path lost, and bytes that were sent into it.
    pub(super) losses: u64,
    pub(super) bytes: u64,
    /// Packets that reached the player's host, and found no room in the player's buffer.
    pub(super) overflow: u64,
    /// Why the path's figures are not to be trusted.
    pub(super) problems: Vec<String>,
    /// What the programs that carried it have printed.
    pub(super) said: Vec<String>,
}

impl Watched {
    /// From what the decoder wrote: a line for each picture, and its log.
    pub(super) fn new(clip: &Clip, decoded: &str, log: &str) -> Self {
        let places = clip.pictures.iter().enumerate();
        let places: HashMap<&str, i64> = places.map(|(n, sum)| (&sum[..], n as i64)).collect();
        let counted = clip.counted.start as i64..clip.counted.end as i64;
        // Between the player's clock and the film's; pictures that are known tell it.
        let mut offset = None;
        let (mut intact, mut seen) = (0, Vec::new());
        for (time, sum) in frames(decoded) {
            let known = places.get(&sum[..]);
            offset = known.map(|place| time - place).or(offset);
            let place = time - offset.unwrap_or(time);
            if counted.contains(&place) {
                intact += usize::from(known.is_some());
                seen.push(place);
            }
        }
        let gaps = seen.windows(2).map(|pair| pair[1] - pair[0] - 1);
        let longest = gaps.max().unwrap_or(0).max(0) as usize;
        Self {
            film: clip.counted.len(),
            intact,
            damaged: seen.len() - intact,
            frozen: clip.counted.len().saturating_sub(seen.len()),
            longest,
            errors: errors(log),
            ..Self::default()
        }
    }

    /// Adds another run.
    pub(super) fn add(&mut self, other: &Watched) {
        self.film += other.film;
        self.intact += other.intact;
        self.damaged += other.damaged;
        self.frozen += other.frozen;
        self.longest = self.longest.max(other.longest);
        self.errors += other.errors;
        self.losses += other.losses;
        self.bytes += other.bytes;
        self.overflow += other.overflow;
        self.problems.extend(other.problems.iter().cloned());
    }

    /// Cells of the table; `bare` is what was sent without us.
    pub(super) fn row(&self, bare: u64) -> String {
        let mark = match (self.overflow, self.problems.is_empty()) {
            (0, true) => String::new(),
            (lost, true) => format!(" (the player let {lost} packets overflow)"),
            (_, false) => " (not valid)".to_owned(),
        };
        format!(
            "{:.2} % | {} | {}, {:.2} s | {} | {:.2}{mark}",
            100.0 * self.intact as f64 / self.film as f64,
            self.damaged,
            self.frozen,
            self.longest as f64 / RATE as f64,
            self.errors,
            self.bytes as f64 / bare as f64
        )
    }
}

/// Lines of ffmpeg's log that tell of something wrong with the stream, once it has found where
/// pictures begin.
fn errors(log: &str) -> usize {
    let blind = log.rfind("non-existing PPS").unwrap_or(0);
    let begun = blind + log[blind..].find("no frame!").map_or(0, |at| at + 9);
    let is_error = |line: &&str| {
        let wrong = ["[error]", "corrupt", "missed"];
        // As it says about its own end.
        let is_end = line.contains("Immediate exit requested");
        !is_end && wrong.iter().any(|word| line.contains(word))
    };
    log[begun..].lines().filter(is_error).count()
}
