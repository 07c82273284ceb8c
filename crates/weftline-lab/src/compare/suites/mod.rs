//! The existing suites: paths, workloads and peers as data.
//!
//! Paths and workloads are those of the project's evaluation plan. If they follow a paper, the
//! suite's text names its figures or tables and the values that the paper does not give.

mod own;
mod papers;
pub(super) mod paths;
mod recorded;

use crate::load::Mode;

use super::peer::Peer;
use super::suite::{Case, Scale, Suite, View};

/// The names of the suites that need nothing from the user and take no longer than half an hour.
pub const NAMES: [&str; 6] = ["A", "B", "C", "D", "karzand", "udp-rc"];

pub use own::{NAME as OWN, NotAWorkload, own};
pub use paths::{NAME as PATHS, paths};
pub use recorded::{NAME as RECORDED, recorded};

/// The names of all suites in results, those of [`own()`], [`paths()`] and [`recorded()`] included.
pub(super) fn in_results() -> impl Iterator<Item = &'static str> {
    let more = [PATHS, RECORDED].into_iter().chain(own::NAMES);
    NAMES.into_iter().chain(more)
}

/// The rate, delay and queue of suites A, B and D: RTT 60 ms.
const COMMON: &str = "rate=25mbit delay=30ms queue=60ms,100pkt";

/// The suite of this name (in upper or lower case) in this form; `None` if there is none.
pub fn by_name(name: &str, scale: Scale) -> Option<Suite> {
    let suite = match name.to_ascii_lowercase().as_str() {
        "a" => bulk(scale),
        "b" => stream(scale),
        "c" => transfers(scale),
        "d" => sharing(scale),
        "karzand" => papers::karzand(scale),
        "udp-rc" => papers::udp_rc(scale),
        // Its recordings are the user's.
        "r" => recorded(&[], scale),
        "m" => paths(&[], scale),
        name => return own::by_name(name),
    };
    Some(suite)
}

fn bulk(scale: Scale) -> Suite {
    let peers = match scale.quick {
        true => "weftline,tcp/bbr,tcp/cubic,quinn/bbr,udt,kcptun/window=256",
        false => {
            "weftline,weftline/arq,tcp/bbr,tcp/cubic,quinn/bbr,quinn/cubic,kcp/window=256,srt,udt,kcptun/window=256"
        }
    };
    let losses: &[f64] = match scale.quick {
        true => &[1.0, 10.0],
        false => &[0.0, 1.0, 5.0, 10.0, 20.0],
    };
    let secs = seconds(scale, 8.0, 4.0);
    let skip = if scale.quick { 1.0 } else { 2.0 };
    let cases = losses.iter().map(|&loss| Case {
        settings: vec![format!("secs={secs}"), format!("skip={skip}")],
        about_secs: secs + 1.5,
        ..case(&format!("{loss} %"), &lossy(loss), Mode::Bulk, peers)
    });
    Suite {
        name: "A",
        title: "bulk",
        about: "Goodput of a sender that always has data to send: 25 Mbit/s, RTT 60 ms, a queue of \
                60 ms and 100 packets, losses on the forward path. Goodput is the rate at which \
                the application reads, after the first seconds.",
        view: View::Goodput,
        seeds: seeds(scale),
        cases: cases.collect(),
    }
}

fn stream(scale: Scale) -> Suite {
    let peers = match scale.quick {
        true => "weftline,weftline/arq,tcp/bbr,quinn/bbr,kcp,srt,kcptun",
        false => "weftline,weftline/arq,tcp/bbr,tcp/cubic,quinn/bbr,kcp,srt,kcptun",
    };
    // Karzand et al.'s spacing l makes a curve; the preset's own is l = 7.
    let curve = "weftline/streaming,l=4,weftline/streaming,l=5,weftline/streaming,l=7,\
                 weftline/streaming,l=11,weftline/streaming,l=20,\
                 weftline/block,k=32,share=0.1,weftline/block,k=32,share=0.3";
    let secs = seconds(scale, 6.0, 3.0);
    let skip = if scale.quick { 0.5 } else { 1.0 };
    let case = |name: &str, link: &str, peers: &str| Case {
        settings: ["rate=10", "size=1200"]
            .map(str::to_owned)
            .into_iter()
            .chain([format!("secs={secs}"), format!("skip={skip}")])
            .collect(),
        about_secs: secs + 1.5,
        ..case(name, link, Mode::Stream, peers)
    };
    let with_curve = format!("{peers},{curve}");
    let burst = format!("{COMMON} loss=ge:10%,4");
    let cases = match scale.quick {
        true => vec![
            case("5 %", &lossy(5.0), peers),
            case("10 %", &lossy(10.0), peers),
        ],
        false => vec![
            case("0 %", &lossy(0.0), peers),
            case("1 %", &lossy(1.0), peers),
            case("5 %", &lossy(5.0), &with_curve),
            case("10 %", &lossy(10.0), &with_curve),
            case("20 %", &lossy(20.0), peers),
            case("bursts of 4, 10 %", &burst, &with_curve),
        ],
    };
    Suite {
        name: "B",
        title: "stream",
        about: "Delay of messages: 1200 bytes each, 10 Mbit/s, over 25 Mbit/s with RTT 60 ms, a \
                queue of 60 ms and 100 packets, losses on the forward path. A delay is the time \
                from when a message was due to when it was read in order, minus the path's own 30 \
                ms; a missing message counts with the time it was waited for. The presets \
                `streaming` and `block` are drawn as curves over their redundancy.",
        view: View::Delay,
        seeds: seeds(scale),
        cases,
    }
}

fn transfers(scale: Scale) -> Suite {
    let others = match scale.quick {
        true => "tcp/bbr,tcp/cubic,quinn/cubic,udt",
        false => "weftline/arq,tcp/bbr,tcp/cubic,quinn/bbr,quinn/cubic,udt",
    };
    let paths: &[(&str, &str, f64)] = &[
        (
            "100 Mbit/s, RTT 200 ms, 0.013 %",
            "rate=100mbit delay=100ms queue=100ms loss=iid:0.013%",
            100.0,
        ),
        (
            "100 Mbit/s, RTT 200 ms, 1 %",
            "rate=100mbit delay=100ms queue=100ms loss=iid:1%",
            100.0,
        ),
        (
            "2 Mbit/s, RTT 20 ms, 1.06 %",
            "rate=2mbit delay=10ms queue=100ms loss=iid:1.06%",
            2.0,
        ),
    ];
    // Bytes, and how many transfers of them: on the fast paths and on the slow one.
    let sizes: &[(u64, [u32; 2])] = match scale.quick {
        true => &[(10_000, [4, 4]), (100_000, [3, 3]), (1_000_000, [2, 1])],
        false => &[
            (10_000, [5, 10]),
            (100_000, [4, 4]),
            (1_000_000, [3, 1]),
            (2_000_000, [2, 1]),
        ],
    };
    let paths = if scale.quick { &paths[1..] } else { paths };
    let mut cases = Vec::new();
    for (group, link, mbit) in paths {
        for (size, [fast, slow]) in sizes {
            let n = if *mbit > 50.0 { fast } else { slow };
            for (reuse, how) in [(0, "new connections"), (1, "one connection")] {
                if scale.quick && reuse == 1 {
                    continue;
                }
                // An open connection has no handshake to save.
                let peers = match reuse {
                    0 => format!("weftline,weftline/0rtt=1,{others}"),
                    _ => format!("weftline,{others}"),
                };
                let rtt = if *mbit > 50.0 { 0.2 } else { 0.02 };
                let each = *size as f64 * 8e-6 / mbit * 1.3 + 3.0 * rtt;
                cases.push(Case {
                    group: (*group).to_owned(),
                    settings: vec![
                        format!("n={n}"),
                        format!("size={size}"),
                        format!("reuse={reuse}"),
                        "timeout=20".to_owned(),
                    ],
                    about_secs: f64::from(*n) * each + 1.0,
                    ..case(
                        &format!("{group}, {}, {how}", bytes(*size)),
                        link,
                        Mode::Xfer,
                        &peers,
                    )
                });
            }
        }
    }
    Suite {
        name: "C",
        title: "short transfers",
        about: "Time of short transfers, one after the other: each on a new connection, from \
                before connecting (with 0rtt=1 to a known peer), or all on one, from before the \
                write; until the receiver has the last byte.",
        view: View::Times,
        // Many cases with several transfers each.
        seeds: if scale.quick { 1 } else { 2 },
        cases,
    }
}

fn sharing(scale: Scale) -> Suite {
    // TCP with either controller as the newcomer gives the reference.
    let peers = match scale.quick {
        true => "weftline,tcp/cubic",
        false => "weftline,tcp/cubic,tcp/bbr",
    };
    let cubic = Some("tcp/cubic");
    let bbr = Some("tcp/bbr");
    let others: &[(&str, Option<&str>, usize, f64)] = match scale.quick {
        true => &[("1 TCP CUBIC", cubic, 1, 0.0), ("itself", None, 1, 0.0)],
        false => &[
            ("1 TCP CUBIC", cubic, 1, 0.0),
            ("4 TCP CUBIC", cubic, 4, 0.0),
            ("1 TCP BBR", bbr, 1, 0.0),
            ("4 TCP BBR", bbr, 4, 0.0),
            ("itself", None, 1, 0.0),
            ("4 of itself", None, 4, 0.0),
            ("1 TCP CUBIC, 1 % loss", cubic, 1, 1.0),
            ("1 TCP BBR, 1 % loss", bbr, 1, 1.0),
            ("itself, 1 % loss", None, 1, 1.0),
        ],
    };
    // A flow that joins a full queue needs some time to detect the competing traffic.
    let secs = seconds(scale, 16.0, 5.0);
    let skip = if scale.quick { 1.0 } else { 4.0 };
    let head_start = if scale.quick { 1.0 } else { 3.0 };
    let cases = others.iter().map(|(name, other, count, loss)| {
        let other = other.map(|text| text.parse().expect("the suites' peers are peers"));
        Case {
            settings: vec![
                format!("secs={secs}"),
                format!("skip={skip}"),
                "series=0.25".to_owned(),
            ],
            others: vec![other; *count],
            head_start,
            about_secs: head_start + secs + 2.5,
            ..case(
                &format!("beside {name}"),
                &lossy(*loss),
                Mode::Bulk,
                if *loss > 0.0 {
                    "weftline,tcp/bbr"
                } else {
                    peers
                },
            )
        }
    });
    Suite {
        name: "D",
        title: "sharing",
        about: "Sharing of a queue: endless flows on 25 Mbit/s, RTT 60 ms, a queue of 60 ms and \
                100 packets, without random losses and with 1 %. The other flows start 3 s \
                earlier. All are measured in the same seconds, without the newcomer's first four.",
        view: View::Sharing,
        seeds: seeds(scale),
        cases: cases.collect(),
    }
}

/// A case without settings: the caller fills them in.
fn case(name: &str, link: &str, mode: Mode, peers: &str) -> Case {
    Case {
        name: name.to_owned(),
        group: String::new(),
        link: link.to_owned(),
        back: None,
        more: Vec::new(),
        events: Vec::new(),
        mode,
        settings: Vec::new(),
        engine: Vec::new(),
        others: Vec::new(),
        head_start: 0.0,
        peers: Peer::list(peers).expect("the suites' peers are peers"),
        about_secs: 1.0,
    }
}

fn lossy(percent: f64) -> String {
    match percent > 0.0 {
        true => format!("{COMMON} loss=iid:{percent}%"),
        false => COMMON.to_owned(),
    }
}

fn seeds(scale: Scale) -> u64 {
    if scale.quick { 1 } else { 3 }
}

fn seconds(scale: Scale, full: f64, quick: f64) -> f64 {
    scale.secs.unwrap_or(if scale.quick { quick } else { full })
}

/// A size with a unit, for people.
fn bytes(size: u64) -> String {
    match size {
        1_000_000.. => format!("{} MB", size as f64 / 1e6),
        1000.. => format!("{} KB", size as f64 / 1e3),
        _ => format!("{size} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const FULL: Scale = Scale {
        quick: false,
        secs: None,
    };
    const QUICK: Scale = Scale {
        quick: true,
        secs: None,
    };

    #[test]
    fn every_suite_is_found_by_its_name_and_its_cases_differ() {
        for name in NAMES {
            for scale in [FULL, QUICK] {
                let suite = by_name(&name.to_lowercase(), scale).unwrap();
                assert_eq!(suite.name, name);
                let names: BTreeSet<&String> = suite.cases.iter().map(|c| &c.name).collect();
                assert_eq!(names.len(), suite.cases.len(), "{name}");
                assert!(suite.cases.iter().all(|c| !c.peers.is_empty()), "{name}");
            }
        }
        assert_eq!(by_name("E", FULL), None);
    }

    #[test]
    fn cases_are_chosen_by_a_part_of_their_name() {
        let kept = |text: &str| {
            let suite = by_name("D", FULL).unwrap().keep_cases(&[text.to_owned()]);
            Vec::from_iter(suite.cases.into_iter().map(|case| case.name))
        };
        assert_eq!(kept("1 tcp bbr").len(), 2);
        assert_eq!(kept("4 of"), ["beside 4 of itself"]);
        assert!(kept("nothing like it").is_empty());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn every_link_and_every_setting_can_be_read() {
        use crate::load::{Request, Side};
        let mine = ["weftline", "quinn", "kcp"];
        for suite in NAMES
            .iter()
            .flat_map(|n| [by_name(n, FULL), by_name(n, QUICK)])
        {
            for case in suite.unwrap().cases {
                weftline_emulator::Links::parse(&case.link, case.back.as_deref()).unwrap();
                for peer in &case.peers {
                    // The available congestion controls depend on the kernel.
                    if !mine.contains(&peer.transport.as_str()) {
                        continue;
                    }
                    let settings = [&case.settings, case.engine_for(peer), &peer.settings].concat();
                    let request = Request::new(
                        Side::Send,
                        &peer.transport,
                        case.mode,
                        "127.0.0.1",
                        9,
                        &settings,
                    );
                    if let Err(error) = request {
                        panic!("{} {peer}: {error}", case.name);
                    }
                }
            }
        }
    }

    #[test]
    fn full_suites_take_about_25_minutes_and_quick_ones_2() {
        for name in NAMES {
            let full = by_name(name, FULL).unwrap();
            let minutes = full.about_secs(full.seeds) / 60.0;
            assert!(minutes <= 26.0, "{name}: {minutes:.1} min");
            let quick = by_name(name, QUICK).unwrap();
            let minutes = quick.about_secs(quick.seeds) / 60.0;
            assert!(minutes <= 2.0, "{name} quick: {minutes:.1} min");
        }
    }

    #[test]
    fn the_requested_seconds_reach_every_case_that_has_a_time() {
        let scale = Scale {
            quick: false,
            secs: Some(2.5),
        };
        for case in by_name("B", scale).unwrap().cases {
            assert_eq!(case.setting("secs"), Some(2.5));
        }
    }
}
