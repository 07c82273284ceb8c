//! Transfer times over the size of a message.

use super::super::picture::{Dot, Line, Plot, Source};
use super::super::{Check, Missing, Point, Scale, Values};
use super::path::{Path, Rate};
use super::peers::Peer;
use super::transfers::{Lab, Transfers};

/// The points of one size.
pub(super) struct Size {
    pub(super) bytes: u32,
    model: Point,
    engine: [Point; 2],
    lab: Option<Point>,
}

/// The points of all sizes on a path.
pub(super) struct Sizes {
    path: Path,
    pub(super) all: Vec<Size>,
}

/// Messages of a size in the lab: how many, and about how long all peers take.
pub(super) type Few = (u32, f64);

/// A size, for people.
fn size(bytes: u32) -> String {
    match bytes {
        1_000_000.. => format!("{} MB", f64::from(bytes) / 1e6),
        _ => format!("{} KB", f64::from(bytes) / 1e3),
    }
}

impl Sizes {
    /// These sizes, each with its transfers in the lab, by these peers.
    pub(super) fn new(path: Path, sizes: &[(u32, Few)], peers: &[Peer], scale: Scale) -> Self {
        let runs = scale.pick(10, 50);
        let ids: Vec<String> = peers.iter().map(|peer| peer.id(&path)).collect();
        let one = |(bytes, (n, secs)): &(u32, Few)| Size {
            bytes: *bytes,
            model: path.model(*bytes, scale),
            engine: Rate::BOTH.map(|rate| path.engine(*bytes, rate, runs, scale)),
            lab: (!scale.quick).then(|| {
                let load = format!("xfer n={n} size={bytes} timeout=120");
                path.lab(&load, &ids, 1, *secs)
            }),
        };
        Self {
            path,
            all: sizes.iter().map(one).collect(),
        }
    }

    pub(super) fn points(&self) -> Vec<Point> {
        let of = |size: &Size| {
            let sure = [size.model.clone()].into_iter().chain(size.engine.clone());
            sure.chain(size.lab.clone()).collect::<Vec<_>>()
        };
        self.all.iter().flat_map(of).collect()
    }

    /// The slot model's mean time of size `index`, and its error.
    pub(super) fn model(&self, values: &Values, index: usize) -> Result<(f64, f64), Missing> {
        let point = &self.all[index].model;
        let number = |key: &str| values.number(point, key);
        Ok((number("transfer_s/mean")?, number("transfer_s/stderr")?))
    }

    /// The engine's times of size `index`.
    pub(super) fn engine(
        &self,
        values: &Values,
        index: usize,
        rate: Rate,
    ) -> Result<Transfers, Missing> {
        let point = &self.all[index].engine[usize::from(rate == Rate::Own)];
        Transfers::engine(values, point)
    }

    /// What the lab measured for size `index`.
    pub(super) fn lab(&self, values: &Values, index: usize) -> Option<Lab> {
        Lab::of(values, self.all[index].lab.as_ref())
    }

    /// A peer's times of size `index` in the lab.
    pub(super) fn peer(&self, values: &Values, index: usize, peer: Peer) -> Option<Transfers> {
        self.lab(values, index)?.transfers(&peer.id(&self.path))
    }

    /// Mean time over size, each with its standard deviation.
    pub(super) fn plot(
        &self,
        values: &Values,
        caption: &str,
        peers: &[Peer],
    ) -> Result<Plot, Missing> {
        let kb = |index: usize| f64::from(self.all[index].bytes) / 1e3;
        let dot = |index: usize, times: &Transfers| Dot {
            x: kb(index),
            y: times.mean().0,
            stderr: times.deviation().0,
        };
        let indices = 0..self.all.len();
        let model = indices
            .clone()
            .map(|index| Ok(Dot::new(kb(index), self.model(values, index)?.0)));
        let model = model.collect::<Result<Vec<_>, Missing>>()?;
        let mut lines =
            vec![Line::new("UDP-RC, rate known, slots", Source::Simulation, 9, model).smooth()];
        for rate in Rate::BOTH {
            let dots = indices
                .clone()
                .map(|index| Ok(dot(index, &self.engine(values, index, rate)?)));
            let dots = dots.collect::<Result<Vec<_>, Missing>>()?;
            lines.push(Line::new(
                rate.engine_name(),
                Source::Engine,
                rate.colour(),
                dots,
            ));
        }
        let kernel = indices
            .clone()
            .find_map(|index| Some(self.lab(values, index)?.kernel().to_owned()));
        for peer in peers {
            let dots = indices
                .clone()
                .filter_map(|index| Some(dot(index, &self.peer(values, index, *peer)?)));
            let dots: Vec<Dot> = dots.collect();
            if let (false, Some(kernel)) = (dots.is_empty(), &kernel) {
                lines.push(Line::new(
                    peer.name(kernel),
                    Source::Measured,
                    peer.colour(),
                    dots,
                ));
            }
        }
        let caption = format!(
            "{caption} Whiskers are one standard deviation of a transfer, not the error of the mean."
        );
        Ok(Plot::new(caption, "message, KB", "mean transfer time, s").with(lines))
    }

    /// The engine at the link's rate beside the slot model, for each size, with the reason why they
    /// differ.
    pub(super) fn engine_beside_model(
        &self,
        values: &Values,
        why: &[String],
    ) -> Result<Vec<Check>, Missing> {
        let check = |(index, why): (usize, &String)| {
            let (model, model_error) = self.model(values, index)?;
            let (engine, error) = self.engine(values, index, Rate::ByHand)?.mean();
            let size = size(self.all[index].bytes);
            let what = format!("{size} with UDP-RC at the link's rate, s");
            let check = Check::of(what).simulated(model, model_error);
            Ok(check.engine(engine, error).engine_because(why.clone()))
        };
        why.iter()
            .enumerate()
            .map(|(index, why)| check((index, why)))
            .collect()
    }

    /// One note on the lab's runs.
    pub(super) fn qualities(&self, values: &Values) -> Vec<String> {
        let of = |index: usize| {
            let size = size(self.all[index].bytes);
            Some(format!("{size}: {}.", self.lab(values, index)?.quality()))
        };
        (0..self.all.len()).filter_map(of).collect()
    }
}
