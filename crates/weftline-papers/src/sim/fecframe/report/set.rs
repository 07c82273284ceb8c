//! The outcomes of a chart, and their lines.

use weftline_fecframe::Elimination;
use weftline_netem::LossModel;

use super::super::{Code, Outcome, WindowCode};
use weftline_plot::{Marks, STYLES, Series};

/// A value of an outcome.
pub(super) type Value = fn(&Outcome) -> f64;

/// Codes that are compared with each other, by their names in legends.
pub(super) type Codes = Vec<(String, Code)>;

/// Outcomes to choose from.
pub(super) struct Set<'a>(pub(super) &'a [Outcome]);

impl Set<'_> {
    /// The paper's longer windows and blocks.
    pub(super) fn long() -> Codes {
        let wide = |linear_system, elimination| {
            Code::Window(WindowCode {
                linear_system,
                elimination,
                ..WindowCode::new(83, 167)
            })
        };
        let mut codes = vec![(
            "RLC, keeping, ls 167".to_owned(),
            wide(167, Elimination::Keeping),
        )];
        for ls in [167, 200, 400, 800] {
            let code = wide(ls, Elimination::Discarding);
            codes.push((format!("RLC, discarding, ls {ls}"), code));
        }
        codes.push(("RS, k 167".to_owned(), Code::Block(167)));
        codes
    }

    /// The paper's shorter windows and blocks.
    pub(super) fn short() -> Codes {
        let code = |elimination| {
            Code::Window(WindowCode {
                linear_system: 200,
                elimination,
                ..WindowCode::new(19, 38)
            })
        };
        vec![
            ("RLC, keeping, ls 200".into(), code(Elimination::Keeping)),
            (
                "RLC, discarding, ls 200".into(),
                code(Elimination::Discarding),
            ),
            ("RS, k 38".into(), Code::Block(38)),
        ]
    }

    /// One of each window and of each block.
    pub(super) fn both() -> Codes {
        let long = WindowCode {
            linear_system: 400,
            ..WindowCode::new(83, 167)
        };
        let short = WindowCode {
            linear_system: 200,
            ..WindowCode::new(19, 38)
        };
        vec![
            ("RLC, dw 167".into(), Code::Window(long)),
            ("RS, k 167".into(), Code::Block(167)),
            ("RLC, dw 38".into(), Code::Window(short)),
            ("RS, k 38".into(), Code::Block(38)),
        ]
    }

    /// A value by independent loss in percent.
    pub(super) fn by_loss(&self, codes: &Codes, value: Value) -> Vec<Series> {
        let lines = codes.iter().enumerate().map(|(style, (name, code))| {
            let points = self.0.iter().filter(|o| o.experiment.code == *code);
            let points = points.filter_map(|o| Some((100.0 * independent(o)?, value(o))));
            let mut points: Vec<(f64, f64)> = points.collect();
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            line(name, style, points)
        });
        lines.filter(|line| line.points.len() > 1).collect()
    }

    /// Residual loss by a number of a code, with a line for each loss and kind of code.
    pub(super) fn by_number(
        &self,
        number: impl Fn(&WindowCode) -> Option<(&'static str, f64)>,
    ) -> Vec<Series> {
        let mut series: Vec<Series> = Vec::new();
        for outcome in self.0 {
            let Code::Window(code) = outcome.experiment.code else {
                continue;
            };
            let Some((kind, x)) = number(&code) else {
                continue;
            };
            let loss = &outcome.experiment.loss;
            let shown = ["iid:25%", "iid:30%", "ge:10%,4", "ge:20%,4", "ge:10%,10"];
            let loss = loss.to_string();
            if !shown.contains(&loss.as_str()) {
                continue;
            }
            let name = format!("{kind}{loss}");
            let point = (x, 100.0 * outcome.residual_loss.max(1e-6));
            match series.iter_mut().find(|line| line.name == name) {
                Some(line) => line.points.push(point),
                None => series.push(line(&name, series.len(), vec![point])),
            }
        }
        for line in &mut series {
            line.points.sort_by(|a, b| a.0.total_cmp(&b.0));
            line.marks = Marks::Both;
        }
        series.retain(|line| line.points.len() > 1);
        series
    }
}

/// The probability of independent losses.
pub(super) fn independent(outcome: &Outcome) -> Option<f64> {
    match outcome.experiment.loss {
        LossModel::None => Some(0.0),
        LossModel::Iid { p } => Some(p),
        _ => None,
    }
}

pub(super) fn line(name: &str, style: usize, points: Vec<(f64, f64)>) -> Series {
    Series {
        name: name.to_owned(),
        style: style % STYLES,
        points,
        marks: Marks::Line,
    }
}
