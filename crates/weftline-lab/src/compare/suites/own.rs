//! A path and a workload of the user's own.

use crate::load::Mode;
use weftline_netem::LinkConfig;

use super::super::peer::Peer;
use super::super::suite::{Case, LinkText, Suite, View, number};

/// The name on the command line.
pub const NAME: &str = "own";
/// The names in results, by workload.
pub(super) const NAMES: [&str; 3] = ["own-bulk", "own-stream", "own-xfer"];
/// The peers unless others are given.
const PEERS: &str = "weftline,tcp/cubic,tcp/bbr,udt";

/// The same over several links.
const PEERS_OF_LINKS: &str = "weftline/paths=all,tcp/cubic,paths=all,tcp/bbr,paths=all";

/// The text does not describe a workload.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is not a workload ({problem}): write for example 'xfer n=10 size=100000' (weftline-lab load --help)"
)]
pub struct NotAWorkload {
    text: String,
    problem: String,
}

/// The suite of a workload, in the form `MODE [NAME=VALUE...]` of `load`, over these links.
///
/// # Errors
/// The workload has no known mode, or there is no link.
pub fn own(links: &[LinkText], load: &str) -> Result<Suite, NotAWorkload> {
    let mut words = load.split_whitespace();
    let mode: Mode = words
        .next()
        .unwrap_or_default()
        .parse()
        .map_err(|error| NotAWorkload {
            text: load.to_owned(),
            problem: format!("{error}"),
        })?;
    let settings: Vec<String> = words.map(str::to_owned).collect();
    let Some((first, more)) = links.split_first() else {
        return Err(NotAWorkload {
            text: load.to_owned(),
            problem: "there is no link for it".to_owned(),
        });
    };
    let about_secs = about_secs(mode, &settings, &first.link);
    let names: Vec<&str> = links.iter().map(|link| link.link.as_str()).collect();
    let case = Case {
        name: format!("{load} over {}", names.join(" and ")),
        group: String::new(),
        link: first.link.clone(),
        back: first.back.clone(),
        more: more.to_vec(),
        events: Vec::new(),
        mode,
        settings,
        engine: Vec::new(),
        others: Vec::new(),
        head_start: 0.0,
        peers: Peer::list(if more.is_empty() {
            PEERS
        } else {
            PEERS_OF_LINKS
        })
        .expect("these are peers"),
        about_secs,
    };
    Ok(Suite {
        cases: vec![case],
        ..empty(mode)
    })
}

/// The suite of this name in results, without its case.
pub(super) fn by_name(name: &str) -> Option<Suite> {
    let mut modes = Mode::ALL.into_iter().zip(NAMES);
    let (mode, _) = modes.find(|(_, known)| *known == name)?;
    Some(empty(mode))
}

fn empty(mode: Mode) -> Suite {
    let (name, title, view) = match mode {
        Mode::Bulk => ("own-bulk", "bulk on a path of your own", View::Goodput),
        Mode::Stream => ("own-stream", "a stream on a path of your own", View::Delay),
        Mode::Xfer => ("own-xfer", "transfers on a path of your own", View::Times),
    };
    Suite {
        name,
        title,
        about: "Path and workload are those of the command line.",
        view,
        seeds: 3,
        cases: Vec::new(),
    }
}

/// Estimated duration of a run, in seconds.
fn about_secs(mode: Mode, settings: &[String], link: &str) -> f64 {
    let get = |name: &str, default: f64| number(settings, name).unwrap_or(default);
    let link: Option<LinkConfig> = link.parse().ok();
    match mode {
        Mode::Bulk | Mode::Stream => get("secs", 10.0) + 1.5,
        Mode::Xfer => {
            let delay = link.as_ref().map_or(0.0, |link| link.delay.as_secs_f64());
            let rate = link.and_then(|link| link.rate).unwrap_or(1_000_000_000);
            let each = get("size", 1e5) * 8.0 / rate.max(1) as f64 * 1.3 + 6.0 * delay;
            get("n", 10.0) * (each + get("gap", 0.0)) + 1.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workload_and_a_path_make_a_suite_of_one_case() {
        let path = |link: &str, back: Option<&str>| LinkText {
            link: link.to_owned(),
            back: back.map(str::to_owned),
        };
        let links = [
            path("rate=1mbit delay=25ms", Some("rate=4mbit")),
            path("delay=1ms", None),
        ];
        let suite = own(&links, "xfer n=2 size=500000").unwrap();
        assert_eq!((suite.name, suite.view), ("own-xfer", View::Times));
        let [case] = &suite.cases[..] else {
            panic!("one case")
        };
        assert_eq!(case.settings, ["n=2", "size=500000"]);
        assert_eq!(case.back.as_deref(), Some("rate=4mbit"));
        assert_eq!(case.more, links[1..]);
        // Two times 4 s and more, and round trips.
        assert!((10.0..14.0).contains(&case.about_secs), "{case:?}");
        for (load, name) in [("bulk", NAMES[0]), ("stream rate=1", NAMES[1])] {
            let suite = own(&[path("rate=1mbit", None)], load).unwrap();
            assert_eq!(suite.name, name);
            assert_eq!(by_name(name).unwrap().view, suite.view);
        }
    }

    #[test]
    fn what_is_not_a_workload_is_refused_with_an_example() {
        for bad in ["", "files n=2", "n=2"] {
            let link = LinkText {
                link: "rate=1mbit".to_owned(),
                back: None,
            };
            let error = own(&[link], bad).unwrap_err().to_string();
            assert!(error.contains("xfer n=10"), "{error}");
        }
    }
}
