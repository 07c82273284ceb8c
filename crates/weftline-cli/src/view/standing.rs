//! The counters of a server of viewers, for people and for programs.

use std::time::Duration;

use serde_json::Value;
use weftline_apps::view::Counts;

use crate::ui::progress::{megabits, size};
use crate::ui::report::Standing;

impl Standing for Counts {
    fn bytes(&self) -> u64 {
        self.sent_bytes
    }

    fn has_served(&self) -> bool {
        self.frames > 0 || self.sessions > 0
    }

    fn line(&self, since: &Self, time: Duration) -> String {
        let frames = (self.frames - since.frames) as f64 / time.as_secs_f64().max(1e-6);
        let bytes = self.frame_bytes + self.sound_bytes - since.frame_bytes - since.sound_bytes;
        format!(
            "{frames:.0} frames/s {:.1} Mbit/s, {} viewers, sent {:.1} Mbit/s, {} frames dropped",
            megabits(bytes, time),
            self.viewers,
            megabits(self.sent_bytes - since.sent_bytes, time),
            self.dropped_frames
        )
    }

    fn sentence(&self, time: Duration) -> String {
        let mut text = format!(
            "{} frames ({}) in {:.0} s, {} sessions of viewers; sent {}, {} frames dropped",
            self.frames,
            size(self.frame_bytes + self.sound_bytes),
            time.as_secs_f64(),
            self.sessions,
            size(self.sent_bytes),
            self.dropped_frames
        );
        for (count, what) in [
            (self.refused_tokens, "requests without a valid link"),
            (self.refused_viewers, "viewers without a place"),
            (self.source_gaps, "gaps in the source"),
            (self.too_long_frames, "frames too long for a page"),
        ] {
            if count > 0 {
                text += &format!("; {count} {what}");
            }
        }
        text
    }

    fn json(&self) -> Value {
        // Numbers and names always have a JSON form.
        serde_json::to_value(self).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sentence_names_what_went_wrong() {
        let mut counts = Counts::default();
        assert!(
            counts
                .sentence(Duration::ZERO)
                .ends_with("0 frames dropped")
        );
        (counts.source_gaps, counts.frames) = (2, 60);
        let text = counts.sentence(Duration::from_secs(2));
        assert!(
            text.starts_with("60 frames") && text.ends_with("; 2 gaps in the source"),
            "{text}"
        );
        assert_eq!(counts.json()["source_gaps"], 2);
    }
}
