//! Two configurations on recorded links, in virtual time: with coding and without.

use std::time::Duration;

use serde::Serialize;
use weftline_emulator::Links;
use weftline_proto::Config;

use super::parallel::in_parallel;
use crate::recordings::{App, BACK, MESSAGE, Numbers, Recording, Worse, never_worse};
use weftline_sim::engine::{Application, Experiment, Outcome, Path};

/// What is run.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The two configurations: what is judged, and by what.
    pub configs: [Config; 2],
    /// The links.
    pub recordings: Vec<Recording>,
    /// The traffic.
    pub apps: Vec<App>,
    /// The losses, in the form of a link's `loss=`.
    pub losses: Vec<String>,
    /// Duration of the traffic.
    pub duration: Duration,
    /// Each case runs once with each of this number of seeds; the results are medians.
    pub seeds: u64,
    /// Cases that run at a time.
    pub threads: usize,
}

/// A case with its results.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Compared {
    /// The recording.
    pub trace: String,
    /// The traffic.
    pub app: &'static str,
    /// The losses.
    pub loss: String,
    /// What was offered in Mbit/s, for messages.
    pub offered: Option<f64>,
    /// Of both configurations.
    pub results: [Measured; 2],
    /// What is worse than it may be.
    pub worse: Vec<Worse>,
}

/// Medians over the seeds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Measured {
    /// What both are judged by.
    #[serde(flatten)]
    pub numbers: Numbers,
    /// Goodput as a share of the capacity, for bulk.
    pub share: Option<f64>,
    /// Median and 95th percentile of message delays, in ms.
    pub p50: Option<f64>,
    /// The same.
    pub p95: Option<f64>,
    /// Share of messages that were never read.
    pub missing: f64,
    /// Repairs for each source symbol.
    pub repairs: f64,
    /// Packets that found the queue full.
    pub drops: f64,
    /// Median and 95th percentile of the wait in the queue, in ms.
    pub queue50: f64,
    /// The same.
    pub queue95: f64,
}

/// Not counted at the start.
const SKIP: Duration = Duration::from_secs(1);

impl Comparison {
    /// Runs all cases.
    ///
    /// # Errors
    /// A link cannot be read; the message says why.
    pub fn run(&self) -> Result<Vec<Compared>, String> {
        let mut cases = Vec::new();
        for recording in &self.recordings {
            for app in &self.apps {
                for loss in &self.losses {
                    let links = Links::parse(&recording.link(loss), Some(BACK));
                    let links = links.map_err(|error| error.to_string())?;
                    cases.push((recording, *app, loss, links));
                }
            }
        }
        Ok(in_parallel(self.threads, &cases, |case| {
            let (recording, app, loss, links) = case;
            self.case(recording, *app, loss, links)
        }))
    }

    fn case(&self, recording: &Recording, app: App, loss: &str, links: &Links) -> Compared {
        let rate = app.rate(recording);
        let (rate_or_none, size) = (rate.unwrap_or_default(), MESSAGE);
        let application = match app {
            App::Bulk => Application::Bulk,
            App::Stream => Application::Cbr {
                rate: rate_or_none,
                size,
            },
            App::Video => Application::Video {
                rate: rate_or_none,
                size,
            },
        };
        let results = self.configs.each_ref().map(|config| {
            let outcomes = (1..=self.seeds).map(|seed| {
                let experiment = Experiment {
                    config: config.clone(),
                    paths: vec![Path {
                        forward: links.forward.clone(),
                        back: links.back.clone(),
                    }],
                    application,
                    duration: self.duration,
                    skip: SKIP,
                    within: None,
                    distribution: false,
                    seed,
                    close: false,
                };
                experiment.run()
            });
            Measured::of(&outcomes.collect::<Vec<_>>(), app)
        });
        let [coded, none] = results.each_ref().map(|measured| &measured.numbers);
        Compared {
            trace: recording.name.clone(),
            app: app.name(),
            loss: loss.to_owned(),
            offered: rate.map(|rate| rate as f64 / 1e6),
            worse: never_worse(coded, none, loss == "none"),
            results,
        }
    }
}

impl Measured {
    fn of(outcomes: &[Outcome], app: App) -> Self {
        let median = |value: &dyn Fn(&Outcome) -> Option<f64>| {
            let mut values: Vec<f64> = outcomes.iter().filter_map(value).collect();
            values.sort_by(f64::total_cmp);
            values.get(values.len() / 2).copied()
        };
        let known = |value: &dyn Fn(&Outcome) -> f64| median(&|o| Some(value(o))).unwrap_or(0.0);
        Measured {
            numbers: Numbers {
                goodput: known(&|o| o.goodput_mbit),
                p99: median(&|o| o.delay.p99),
                wire: known(&|o| o.wire_per_byte),
            },
            share: median(&|o| o.capacity_share.filter(|_| app == App::Bulk)),
            p50: median(&|o| o.delay.p50),
            p95: median(&|o| o.delay.p95),
            missing: known(&|o| 1.0 - o.got as f64 / o.sent.max(1) as f64)
                * f64::from(app != App::Bulk),
            repairs: known(&|o| o.repair_share),
            drops: known(&|o| o.queue_drops as f64),
            queue50: known(&|o| o.queue_ms[0]),
            queue95: known(&|o| o.queue_p95_ms),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recordings;

    #[test]
    fn cases_are_in_order_and_what_is_as_good_is_not_worse() {
        let folder = tempfile::tempdir().unwrap();
        recordings::generate::write(folder.path()).unwrap();
        let mut recordings = recordings::open(folder.path()).unwrap();
        recordings.retain(|recording| recording.name == "gaps");
        let config: Config = "arq".parse().unwrap();
        let comparison = Comparison {
            configs: [config.clone(), config],
            recordings,
            apps: App::ALL.to_vec(),
            losses: ["none", "iid:1%"].map(str::to_owned).to_vec(),
            duration: Duration::from_secs(3),
            seeds: 1,
            threads: 2,
        };
        let cases = comparison.run().unwrap();
        let names: Vec<_> = cases.iter().map(|c| (c.app, c.loss.as_str())).collect();
        let pairs = |app| [(app, "none"), (app, "iid:1%")];
        assert_eq!(names, ["bulk", "stream", "video"].map(pairs).concat());
        for case in &cases {
            assert!(case.worse.is_empty(), "{case:?}");
            let [one, other] = case.results;
            assert_eq!(one, other);
            assert!(one.numbers.goodput > 0.0 && one.missing == 0.0, "{case:?}");
            assert_eq!(
                case.app == "bulk",
                one.share.is_some() && one.numbers.p99.is_none()
            );
        }
    }
}
