//! Recorded links.

use crate::load::Mode;
use crate::recordings::{App, BACK, LOSSES, MESSAGE, Recording};

use super::super::suite::{Case, Scale, Suite, View};
use super::{case, seconds};

/// The name on the command line and in results.
pub const NAME: &str = "R";

/// Recordings of the short form.
const QUICK: usize = 2;

/// The suite over these recordings.
pub fn recorded(recordings: &[Recording], scale: Scale) -> Suite {
    let secs = seconds(scale, 60.0, 4.0);
    let skip = (secs / 4.0).min(2.0);
    let (recordings, losses) = match scale.quick {
        true => (
            &recordings[..recordings.len().min(QUICK)],
            &[LOSSES[0], LOSSES[2]][..],
        ),
        false => (recordings, &LOSSES[..]),
    };
    let mut cases = Vec::new();
    for recording in recordings {
        for app in App::ALL {
            for loss in losses {
                let mut settings = vec![format!("secs={secs}"), format!("skip={skip}")];
                let mut mode = Mode::Bulk;
                if let Some(rate) = app.rate(recording) {
                    mode = Mode::Stream;
                    // What waits in an outage still arrives.
                    settings.extend([
                        format!("rate={}", rate as f64 / 1e6),
                        format!("size={MESSAGE}"),
                        "drain=10".to_owned(),
                    ]);
                }
                if app == App::Video {
                    settings.push("video=1".to_owned());
                }
                let name = format!("{}, {app}, {}", recording.name, named(loss));
                cases.push(Case {
                    group: recording.name.clone(),
                    back: Some(BACK.to_owned()),
                    settings,
                    about_secs: secs + 2.0,
                    ..case(&name, &recording.link(loss), mode, peers(app, scale))
                });
            }
        }
    }
    Suite {
        name: NAME,
        title: "recorded links",
        about: "What radio links could carry in a recorded minute, over and over: the trace forwards \
                with 20 ms or the delays recorded with it, a queue of 500 ms, 48 Mbit/s and 20 ms \
                back; no further losses, 1 %, and 1 % in bursts of 4. Bulk; a stream of 1200-byte \
                messages at 40 % of the mean capacity; a video of 30 frames/s with that mean rate, at \
                most 8 Mbit/s. The share of the capacity is goodput over what the link could have \
                carried in the same seconds, so headers count against it. Delays include the path's.",
        view: View::Recorded,
        seeds: 1,
        cases,
    }
}

fn peers(app: App, scale: Scale) -> &'static str {
    match (scale.quick, app) {
        (true, _) => "weftline,weftline/arq,tcp/bbr",
        (false, App::Bulk) => {
            "weftline,weftline/arq,tcp/bbr,tcp/cubic,quinn/bbr,kcptun/window=256,srt"
        }
        (false, _) => "weftline,weftline/arq,tcp/bbr,tcp/cubic,quinn/bbr,kcptun,srt",
    }
}

/// Losses in words.
fn named(loss: &str) -> &'static str {
    match loss {
        "none" => "no loss",
        "iid:1%" => "1 %",
        _ => "1 % in bursts",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::load::{Request, Side};
    use crate::recordings;

    #[test]
    fn every_recording_has_every_traffic_and_loss() {
        let folder = tempfile::tempdir().unwrap();
        recordings::generate::write(folder.path()).unwrap();
        let all = recordings::open(folder.path()).unwrap();
        let suite = recorded(&all, Scale::default());
        assert_eq!(suite.cases.len(), all.len() * 9);
        let names: BTreeSet<&String> = suite.cases.iter().map(|case| &case.name).collect();
        assert_eq!(names.len(), suite.cases.len());
        for case in &suite.cases {
            weftline_emulator::Links::parse(&case.link, case.back.as_deref()).unwrap();
            for peer in case
                .peers
                .iter()
                .filter(|peer| peer.transport == "weftline")
            {
                let settings = [&case.settings[..], &peer.settings].concat();
                let request =
                    Request::new(Side::Send, "weftline", case.mode, "127.0.0.1", 9, &settings);
                assert!(request.is_ok(), "{}: {:?}", case.name, request.err());
            }
        }
        let quick = Scale {
            quick: true,
            secs: None,
        };
        let quick = recorded(&all, quick);
        let minutes = quick.about_secs(quick.seeds) / 60.0;
        assert!(quick.cases.len() == 12 && minutes < 4.0, "{minutes}");
        assert!(recorded(&[], Scale::default()).cases.is_empty());
    }
}
