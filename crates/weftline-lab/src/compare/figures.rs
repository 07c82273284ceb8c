//! Charts of the results.

use weftline_plot::{Axis, Bar, Marks, STYLES, Series, bars, chart, figure};

use super::measures::{Measure, measures};
use super::peer::Peer;
use super::results::{CaseResults, Row, SuiteResults};
use super::suite::View;

/// Redundancy settings over which curves are drawn.
const REDUNDANCY: [&str; 2] = ["l", "share"];

/// The charts of a suite, as HTML.
pub(super) fn figures(suite: &SuiteResults) -> String {
    let peers = suite.peers();
    let mut html = String::new();
    match suite.view {
        View::Goodput => {
            for case in &suite.cases {
                html += &bar_chart(
                    &peers,
                    case,
                    suite.view,
                    "goodput",
                    "Further right is better.",
                );
            }
        }
        View::Times => {
            for case in &suite.cases {
                html += &bar_chart(
                    &peers,
                    case,
                    suite.view,
                    "mean",
                    "Mean over the transfers of a run. Further left is better.",
                );
            }
        }
        View::Sharing => {
            for case in &suite.cases {
                html += &bar_chart(
                    &peers,
                    case,
                    suite.view,
                    "share",
                    "The newcomer's share: 1 is as much as the flows have on average.",
                );
            }
            for case in &suite.cases {
                for key in ["jain", "utilisation", "queue"] {
                    html += &bar_chart(&peers, case, suite.view, key, "");
                }
            }
        }
        View::Delay => {
            for case in &suite.cases {
                for key in ["mean", "p99"] {
                    html += &scatter(
                        &peers,
                        case,
                        suite.view,
                        "wire",
                        key,
                        "Further down and left is better. A preset's points over its redundancy are joined.",
                    );
                }
                html += &distributions(&peers, case);
            }
        }
        View::Recorded => {
            for case in &suite.cases {
                let (x, y, words) = match case.mode.as_str() {
                    "bulk" => ("share", "queue95", "Further down and right is better."),
                    _ => ("wire", "p99", "Further down and left is better."),
                };
                html += &scatter(&peers, case, suite.view, x, y, words);
            }
        }
        View::Paths => {
            for case in &suite.cases {
                html += &match case.mode.as_str() {
                    "bulk" => bar_chart(
                        &peers,
                        case,
                        suite.view,
                        "goodput",
                        "Further right is better.",
                    ),
                    _ => scatter(
                        &peers,
                        case,
                        suite.view,
                        "wire",
                        "p99",
                        "Further down and left is better.",
                    ),
                };
            }
        }
        View::Window => {
            for case in &suite.cases {
                html += &block_sizes(case);
                for key in ["mean", "p99"] {
                    html += &scatter(
                        &peers,
                        case,
                        suite.view,
                        "packets",
                        key,
                        "Further down and left is better.",
                    );
                }
                html += &distributions(&peers, case);
            }
        }
    }
    html
}

/// The number that selects the colour of a peer or a curve of peers.
fn style(peers: &[&str], peer: &str) -> usize {
    let families = families(peers);
    let base = base(peer);
    families
        .iter()
        .position(|family| *family == base)
        .unwrap_or(0)
        % STYLES
}

/// A peer without its redundancy setting.
fn base(peer: &str) -> String {
    let parsed: Result<Peer, _> = peer.parse();
    let Ok(parsed) = parsed else {
        return peer.to_owned();
    };
    let base = REDUNDANCY
        .iter()
        .fold(parsed, |peer, name| peer.without(name));
    base.to_string()
}

fn families(peers: &[&str]) -> Vec<String> {
    let mut families: Vec<String> = Vec::new();
    for peer in peers {
        let base = base(peer);
        if !families.contains(&base) {
            families.push(base);
        }
    }
    families
}

fn measure(view: View, key: &str) -> Option<Measure> {
    measures(view).into_iter().find(|m| m.key == key)
}

fn bar_chart(peers: &[&str], case: &CaseResults, view: View, key: &str, words: &str) -> String {
    let Some(measure) = measure(view, key) else {
        return String::new();
    };
    let bar = |row: &Row| {
        let spread = row.values.get(key)?;
        Some(Bar {
            name: row.peer.clone(),
            style: style(peers, &row.peer),
            value: spread.median,
            range: (spread.min, spread.max),
        })
    };
    let list: Vec<Bar> = case.rows.iter().filter_map(bar).collect();
    if list.is_empty() {
        return String::new();
    }
    let title = format!("{}: {}", case.name, measure.title);
    let caption = format!("{title}; median and range over seeds. {words}");
    figure(&bars(&title, measure.title, &list), caption.trim())
}

/// Two measures against each other: a point for each peer, and a line through peers that differ in
/// redundancy only.
fn scatter(
    peers: &[&str],
    case: &CaseResults,
    view: View,
    x: &str,
    y: &str,
    words: &str,
) -> String {
    let (Some(mx), Some(my)) = (measure(view, x), measure(view, y)) else {
        return String::new();
    };
    let mut list: Vec<Series> = Vec::new();
    let names: Vec<&str> = case.rows.iter().map(|row| row.peer.as_str()).collect();
    for family in families(&names) {
        let members = case.rows.iter().filter(|row| base(&row.peer) == family);
        let points = members
            .clone()
            .filter_map(|row| Some((row.median(x)?, row.median(y)?)));
        let mut points: Vec<(f64, f64)> = points.collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (name, marks) = match (members.clone().count(), members.map(|row| &row.peer).next()) {
            (1, Some(peer)) => (peer.clone(), Marks::Points),
            _ => (format!("{family}, ..."), Marks::Both),
        };
        if !points.is_empty() {
            list.push(Series {
                name,
                style: style(peers, &family),
                points,
                marks,
            });
        }
    }
    let all = || list.iter().flat_map(|series| series.points.iter().copied());
    if all().next().is_none() {
        return String::new();
    }
    let (low, high) = all().fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), (x, _)| {
        (low.min(x), high.max(x))
    });
    let margin = ((high - low) * 0.06).max(0.02);
    let axis_x = Axis {
        label: mx.title.to_owned(),
        log: false,
        range: (low - margin, high + margin),
    };
    let unit = if my.title.ends_with("ms") { "" } else { ", ms" };
    let delay = format!("delay: {}{unit}", my.title);
    let axis_y = Axis::fitting(&delay, all().map(|(_, y)| y));
    let title = format!("{}: {delay} against {}", case.name, mx.title);
    figure(
        &chart(&title, &axis_x, &axis_y, &list),
        &format!("{title}; medians. {words}"),
    )
}

/// Share of messages that were delivered within a delay.
fn distributions(peers: &[&str], case: &CaseResults) -> String {
    let has_curve: Vec<&Row> = case.rows.iter().filter(|row| !row.cdf.is_empty()).collect();
    // One peer of each family: the middle one.
    let mut list: Vec<Series> = Vec::new();
    for family in families(
        &has_curve
            .iter()
            .map(|row| row.peer.as_str())
            .collect::<Vec<_>>(),
    ) {
        let members: Vec<&&Row> = has_curve
            .iter()
            .filter(|row| base(&row.peer) == family)
            .collect();
        let Some(row) = members.get(members.len() / 2) else {
            continue;
        };
        list.push(Series {
            name: row.peer.clone(),
            style: style(peers, &row.peer),
            points: row
                .cdf
                .iter()
                .map(|(share, ms)| (*ms, share * 100.0))
                .collect(),
            marks: Marks::Line,
        });
    }
    if list.is_empty() {
        return String::new();
    }
    let (mut low, mut high) = (f64::INFINITY, 1.0f64);
    for (ms, share) in list.iter().flat_map(|series| &series.points) {
        if *share == 50.0 {
            low = low.min(*ms);
        }
        high = high.max(*ms);
    }
    let low = low.clamp(0.1, high / 10.0);
    let axis_x = Axis {
        label: "delay, ms".to_owned(),
        log: true,
        range: (low, high),
    };
    let axis_y = Axis {
        label: "share of messages, %".to_owned(),
        log: false,
        range: (0.0, 100.0),
    };
    let title = format!("{}: distribution of delays", case.name);
    let caption =
        format!("{title}; medians over seeds, one of each curve. Further left is better.");
    figure(&chart(&title, &axis_x, &axis_y, &list), &caption)
}

/// Delay over block size, for the redundancy with the most block sizes; other presets of the same
/// redundancy are level lines.
fn block_sizes(case: &CaseResults) -> String {
    let parsed = |row: &Row| row.peer.parse::<Peer>().ok();
    let share = |peer: &Peer| peer.setting("share").map(str::to_owned);
    let block = |row: &&Row| {
        let peer = parsed(row)?;
        let k: f64 = peer.setting("k")?.parse().ok()?;
        (peer.setting("preset") == Some("block")).then_some((k, share(&peer)))
    };
    let mut shares: Vec<(Option<String>, usize)> = Vec::new();
    for (_, share) in case.rows.iter().filter_map(|row| block(&row)) {
        match shares.iter_mut().find(|(s, _)| *s == share) {
            Some((_, count)) => *count += 1,
            None => shares.push((share, 1)),
        }
    }
    let most = shares.into_iter().max_by_key(|(_, count)| *count);
    let Some((most, _)) = most.filter(|(_, count)| *count > 1) else {
        return String::new();
    };
    let mut list: Vec<Series> = Vec::new();
    let mut sizes: Vec<f64> = Vec::new();
    for (index, (key, what)) in [("mean", "mean"), ("p99", "99th percentile")]
        .iter()
        .enumerate()
    {
        let mut points: Vec<(f64, f64)> = Vec::new();
        for row in &case.rows {
            if let (Some((k, s)), Some(ms)) = (block(&row), row.median(key))
                && s == most
            {
                points.push((k, ms));
            }
        }
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        sizes.extend(points.iter().map(|(k, _)| *k));
        list.push(Series {
            name: format!("block, {what}"),
            style: index,
            points,
            marks: Marks::Both,
        });
    }
    let low = sizes.iter().copied().fold(f64::INFINITY, f64::min);
    let high = sizes.iter().copied().fold(1.0, f64::max);
    for row in &case.rows {
        let Some(peer) = parsed(row) else { continue };
        let is_level = match peer.setting("preset") {
            Some("streaming") => share(&peer) == most,
            Some("arq") => true,
            _ => false,
        };
        if let (true, Some(ms)) = (is_level, row.median("mean")) {
            list.push(Series {
                name: format!("{}, mean", peer.setting("preset").unwrap_or_default()),
                style: list.len(),
                points: vec![(low, ms), (high, ms)],
                marks: Marks::Line,
            });
        }
    }
    let axis_x = Axis {
        label: "block size, source symbols".to_owned(),
        log: true,
        range: (low, high.max(low * 1.1)),
    };
    let values: Vec<f64> = list
        .iter()
        .flat_map(|s| s.points.iter().map(|p| p.1))
        .collect();
    let axis_y = Axis::fitting("delay, ms", values.iter().copied());
    let title = format!("{}: delay over block size", case.name);
    let caption = match most {
        Some(share) => format!("{title}; {share} repairs for each source symbol."),
        None => title.clone(),
    };
    figure(&chart(&title, &axis_x, &axis_y, &list), &caption)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_that_differ_in_redundancy_only_are_one_family() {
        let peers = [
            "weftline",
            "weftline/streaming,l=3",
            "weftline/streaming,share=0.1",
            "weftline/block,k=32,share=0.1",
            "weftline/block,k=32,share=0.5",
            "weftline/block,k=64,share=0.5",
            "tcp/bbr",
        ];
        let names = [
            "weftline",
            "weftline/streaming",
            "weftline/block,k=32",
            "weftline/block,k=64",
        ];
        assert_eq!(families(&peers)[..4], names);
        assert_eq!(style(&peers, peers[1]), style(&peers, peers[2]));
        assert_ne!(style(&peers, peers[0]), style(&peers, peers[1]));
    }
}
