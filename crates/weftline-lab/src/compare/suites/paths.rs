//! Several paths at once.

use crate::load::Mode;
use crate::recordings::{BACK, MESSAGE, Recording};
use crate::sim::paths::{Order, PROFILES, Profile};

use super::super::suite::{Case, LinkText, Scale, Suite, View};
use super::{case, seconds};

/// The name on the command line and in results.
pub const NAME: &str = "M";

/// Ours over both links, over each alone, and what else takes both.
const BULK: &str = "weftline/paths=lab0+lab1,weftline/paths=lab0,weftline/paths=lab1,\
                    tcp/bbr,paths=all,tcp/cubic,paths=all";
/// RIST has no congestion control, so it carries streams only.
const STREAM: &str = "weftline/paths=lab0+lab1,weftline/paths=lab0,weftline/paths=lab1,\
                      tcp/bbr,paths=all,tcp/cubic,paths=all,rist";
const QUICK: &str = "weftline/paths=lab0+lab1,weftline/paths=lab0,tcp/bbr,paths=all";

/// Pairs of the short form.
const QUICK_PAIRS: [&str; 2] = ["loss_2", "dual_lte"];
/// Pairs one of whose links fails.
const CUT_PAIRS: [&str; 4] = ["baseline", "rtt_120", "dual_lte", "lte_starlink"];
/// How it fails, in words: without notice, or with its interface; from when to when.
pub(crate) const SILENT: &str = "cut";
pub(crate) const NOTICED: &str = "interface down";
const DOWN_SECS: [u32; 2] = [4, 9];

/// The stream's rate in Mbit/s, and the share of what two recorded links carry on average.
const RATE: &str = "10";
const LOAD: f64 = 0.6;

/// The suite; pairs of these recordings carry a stream, too.
pub fn paths(recordings: &[Recording], scale: Scale) -> Suite {
    let mut cases = Vec::new();
    let is_chosen = |name: &str| !scale.quick || QUICK_PAIRS.contains(&name);
    for profile in PROFILES.iter().filter(|profile| is_chosen(profile.name)) {
        for order in [Order::Kept, Order::Lost] {
            if order == Order::Kept || (profile.has_jitter() && !scale.quick) {
                cases.extend(both_workloads(profile, order, scale));
            }
        }
    }
    let cut_pairs = CUT_PAIRS.iter().filter(|name| is_chosen(name));
    for name in cut_pairs {
        let (profile, order) = Profile::find(name).expect("one of the pairs");
        cases.push(cut(profile, order, scale, false));
        if !scale.quick {
            cases.push(cut(profile, order, scale, true));
        }
    }
    for (index, a) in recordings.iter().enumerate() {
        let others = &recordings[index + 1..];
        cases.extend(others.iter().map(|b| recorded(a, b, scale)));
    }
    Suite {
        name: NAME,
        title: "several paths",
        about: "Two links between the ends, as on a host with two modems: the sixteen published pairs of \
                `sim paths`, where jitter keeps the order of packets and where it does not; delay, jitter \
                and loss are the same in both directions, queues hold 100 ms. Bulk for 10 s from the first \
                byte, as a share of rate x (1 - loss) x payload over both links; a stream of 10 Mbit/s in \
                messages of 1200 bytes. Then the first link fails under the stream from 4 s to 9 s, without \
                notice or with its interface. With --traces, pairs of recorded links carry a stream at 60 % \
                of what both carry on average. `weftline/paths=lab0` is the first link alone, \
                `tcp/bbr,paths=all` the kernel's multipath TCP, `rist` RIST's load sharing. Delays include \
                the path's.",
        view: View::Paths,
        seeds: 1,
        cases,
    }
}

fn both_workloads(profile: &Profile, order: Order, scale: Scale) -> [Case; 2] {
    let (bulk, stream) = (seconds(scale, 10.0, 4.0), seconds(scale, 8.0, 3.0));
    let name = match order {
        Order::Kept => profile.name.to_owned(),
        Order::Lost => format!("{},reorder", profile.name),
    };
    let over = |what: &str, mode, peers: &str| {
        let peers = if scale.quick { QUICK } else { peers };
        let [a, b] = profile.texts(order);
        Case {
            group: name.clone(),
            back: Some(a.clone()),
            more: vec![LinkText {
                back: Some(b.clone()),
                link: b,
            }],
            ..case(&format!("{name}, {what}"), &a, mode, peers)
        }
    };
    [
        Case {
            settings: vec![format!("secs={bulk}"), "skip=0".to_owned()],
            about_secs: bulk + 2.0,
            ..over("bulk", Mode::Bulk, BULK)
        },
        Case {
            settings: stream_settings(RATE, stream),
            about_secs: stream + 2.5,
            ..over("stream", Mode::Stream, STREAM)
        },
    ]
}

fn stream_settings(rate: &str, secs: f64) -> Vec<String> {
    vec![
        format!("rate={rate}"),
        format!("size={MESSAGE}"),
        format!("secs={secs}"),
        "skip=1".to_owned(),
    ]
}

/// The first link fails under a stream.
fn cut(profile: &Profile, order: Order, scale: Scale, is_noticed: bool) -> Case {
    let [_, mut whole] = both_workloads(profile, order, scale);
    let [from, to] = DOWN_SECS;
    if is_noticed {
        whole.events = vec![
            format!("{from}s ip link set dev lab0 down"),
            format!("{to}s ip link set dev lab0 up"),
        ];
    } else {
        whole.link += &format!(" down={from}s..{to}s");
        whole.back = Some(whole.link.clone());
    }
    let secs = f64::from(to) + 4.0;
    Case {
        name: format!(
            "{}, {}",
            profile.name,
            if is_noticed { NOTICED } else { SILENT }
        ),
        settings: stream_settings(RATE, secs),
        about_secs: secs + 2.5,
        ..whole
    }
}

fn recorded(a: &Recording, b: &Recording, scale: Scale) -> Case {
    let secs = seconds(scale, 60.0, 6.0);
    let rate = LOAD * (a.mean + b.mean) / 1e6;
    let name = format!("{} + {}", a.name, b.name);
    let peers = if scale.quick { QUICK } else { STREAM };
    let mut settings = stream_settings(&format!("{rate:.3}"), secs);
    // What waits in an outage still arrives.
    settings.push("drain=10".to_owned());
    Case {
        group: name.clone(),
        back: Some(BACK.to_owned()),
        more: vec![LinkText {
            link: b.link("none"),
            back: Some(BACK.to_owned()),
        }],
        settings,
        about_secs: secs + 3.0,
        ..case(
            &format!("{name}, stream"),
            &a.link("none"),
            Mode::Stream,
            peers,
        )
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::recordings;

    #[test]
    fn every_pair_carries_both_workloads_and_every_text_can_be_read() {
        let folder = tempfile::tempdir().unwrap();
        recordings::generate::write(folder.path()).unwrap();
        let all = recordings::open(folder.path()).unwrap();
        let suite = paths(&all, Scale::default());
        // 16 pairs, 7 of them with jitter; 4 fail in two ways; 3 recordings make 3 pairs.
        assert_eq!(suite.cases.len(), 2 * (16 + 7) + 2 * 4 + 3);
        let names: BTreeSet<&String> = suite.cases.iter().map(|case| &case.name).collect();
        assert_eq!(names.len(), suite.cases.len());
        for case in &suite.cases {
            assert_eq!(case.more.len(), 1, "{}", case.name);
            let more = case.more.iter().map(|m| (&m.link, &m.back));
            for (link, back) in [(&case.link, &case.back)].into_iter().chain(more) {
                weftline_emulator::Links::parse(link, back.as_deref()).unwrap();
            }
            for event in &case.events {
                event.parse::<weftline_emulator::Event>().unwrap();
            }
        }
        let quick = Scale {
            quick: true,
            secs: None,
        };
        let quick = paths(&[], quick);
        let minutes = quick.about_secs(quick.seeds) / 60.0;
        assert!(quick.cases.len() == 5 && minutes < 2.0, "{minutes}");
    }

    #[test]
    fn a_link_fails_with_and_without_notice() {
        let suite = paths(&[], Scale::default());
        let of = |name: &str| suite.cases.iter().find(|case| case.name == name).unwrap();
        let silent = of("dual_lte, cut");
        assert!(silent.link.ends_with(" down=4s..9s") && silent.events.is_empty());
        assert_eq!(silent.back.as_ref(), Some(&silent.link));
        let noticed = of("dual_lte, interface down");
        assert_eq!(noticed.link, of("dual_lte, stream").link);
        assert_eq!(noticed.events[0], "4s ip link set dev lab0 down");
    }
}
