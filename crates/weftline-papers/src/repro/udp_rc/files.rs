//! Files of 100 KB, one after the other.

use super::super::picture::{Dot, Line, Plot, Source};
use super::super::{Missing, Point, Scale, Values};
use super::path::{Path, Rate};
use super::peers::Peer;
use super::transfers::{Lab, Transfers};

/// Bytes of a file.
pub(super) const FILE: u32 = 100_000;
/// Files of the paper.
const FILES: u32 = 600;

/// The points of the files on a path.
pub(super) struct Files {
    path: Path,
    model: Point,
    engine: [Point; 2],
    lab: Option<Point>,
}

impl Files {
    /// The engine sends as many files as the paper, the lab `few` of them in about `secs` for all
    /// peers.
    pub(super) fn new(path: Path, few: u32, secs: f64, scale: Scale) -> Self {
        let runs = scale.pick(60, FILES);
        let ids: Vec<String> = Peer::ALL.iter().map(|peer| peer.id(&path)).collect();
        let load = format!("xfer n={few} size={FILE}");
        Self {
            path,
            model: path.model(FILE, scale),
            engine: Rate::BOTH.map(|rate| path.engine(FILE, rate, runs, scale)),
            lab: (!scale.quick).then(|| path.lab(&load, &ids, 1, secs)),
        }
    }

    pub(super) fn points(&self) -> Vec<Point> {
        let sure = [self.model.clone()].into_iter().chain(self.engine.clone());
        sure.chain(self.lab.clone()).collect()
    }

    /// The slot model's throughput in the unit of `bits` bits/s, and its error.
    pub(super) fn model(&self, values: &Values, bits: f64) -> Result<(f64, f64), Missing> {
        let time = values.number(&self.model, "transfer_s/mean")?;
        let stderr = values.number(&self.model, "transfer_s/stderr")?;
        let throughput = 8.0 * f64::from(FILE) / bits / time;
        Ok((throughput, throughput * stderr / time))
    }

    pub(super) fn engine(&self, values: &Values, rate: Rate) -> Result<Transfers, Missing> {
        Transfers::engine(values, &self.engine[usize::from(rate == Rate::Own)])
    }

    pub(super) fn lab(&self, values: &Values) -> Option<Lab> {
        Lab::of(values, self.lab.as_ref())
    }

    pub(super) fn peer(&self, values: &Values, peer: Peer) -> Option<Transfers> {
        self.lab(values)?.transfers(&peer.id(&self.path))
    }

    /// Throughput of each file over time, in the unit of `bits` bits/s: the lines of the engine and
    /// those of the lab, each with the values that the paper prints. The lab's are empty where it was
    /// not run.
    pub(super) fn lines(
        &self,
        values: &Values,
        bits: f64,
        printed: &[(&str, usize, f64)],
    ) -> Result<[Vec<Line>; 2], Missing> {
        let answer = self.path.delay / 1e3;
        let (mut engine, mut measured) = (Vec::new(), Vec::new());
        for rate in Rate::BOTH {
            let dots = self.engine(values, rate)?.over_time(FILE, bits, answer);
            engine
                .push(Line::new(rate.engine_name(), Source::Engine, rate.colour(), dots).smooth());
        }
        if let Some(lab) = self.lab(values) {
            for peer in Peer::ALL {
                if let Some(times) = lab.transfers(&peer.id(&self.path)) {
                    let dots = times.over_time(FILE, bits, answer);
                    let name = peer.name(lab.kernel());
                    measured.push(Line::new(name, Source::Measured, peer.colour(), dots).smooth());
                }
            }
        }
        for lines in [&mut engine, &mut measured] {
            // What the paper prints has no time: it stands over the whole picture.
            let ends = lines.iter().filter_map(|line| line.dots.last());
            let Some(end) = ends.map(|dot| dot.x).reduce(f64::max) else {
                continue;
            };
            for (name, colour, value) in printed {
                let dots = (0..=4).map(|n| Dot::new(end * f64::from(n) / 4.0, *value));
                lines.push(Line::new(*name, Source::Paper, *colour, dots.collect()));
            }
        }
        Ok([engine, measured])
    }

    /// The same in pictures.
    pub(super) fn plots(caption: &str, unit: &str, engine: Vec<Line>, lab: Vec<Line>) -> Vec<Plot> {
        let y = format!("throughput of a file, {unit}");
        let plot = |place: &str, lines| {
            Plot::new(format!("{caption}: {place}."), "time, s", y.clone()).with(lines)
        };
        let mut plots = vec![plot("the preset in virtual time", engine)];
        if !lab.is_empty() {
            plots.push(plot("in the lab", lab));
        }
        plots
    }
}
