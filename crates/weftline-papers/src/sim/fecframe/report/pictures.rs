//! Charts of outcomes.

use super::super::paper::{BLOCK_LATENCY, ON_TIME_AT_30_PERCENT, RLC_SPEED};
use super::super::{Code, Outcome, WindowCode};
use super::set::{Codes, Set, independent, line};
use weftline_plot::{Axis, CHART_STYLE, Marks, Series, chart};

/// A chart of the study.
#[derive(Clone, Debug)]
pub struct Picture {
    /// A file name.
    pub name: &'static str,
    /// Its caption.
    pub caption: String,
    /// An `svg` element, for pages with the style sheet of charts.
    pub svg: String,
}

impl Picture {
    /// The chart as a separate file.
    pub fn file(&self) -> String {
        let head = "<svg xmlns=\"http://www.w3.org/2000/svg\" ";
        let svg = self.svg.replacen("<svg ", head, 1);
        let style = "<style>svg { background: var(--ground); }";
        let body = svg.strip_suffix("</svg>").unwrap_or(&svg);
        format!("{body}{style}{CHART_STYLE}</style></svg>")
    }
}

/// The charts that the outcomes allow.
pub fn pictures(outcomes: &[Outcome]) -> Vec<Picture> {
    let set = Set(outcomes);
    let all = [
        set.on_time(),
        set.residual("residual-long", "dw 167", &Set::long()),
        set.residual("residual-short", "dw 38", &Set::short()),
        set.latency(),
        set.distribution("cdf-5", 0.05, true),
        set.distribution("cdf-25", 0.25, true),
        set.distribution("histogram-25", 0.25, false),
        set.speed(),
        set.density(),
        set.windows(),
    ];
    all.into_iter().flatten().collect()
}

impl Set<'_> {
    fn on_time(&self) -> Option<Picture> {
        let mut series = self.by_loss(&Self::long(), |o| 100.0 * o.on_time.mean);
        if series.is_empty() {
            return None;
        }
        series.push(Series {
            name: "the paper, ls 167, 400, largest".into(),
            style: 6,
            points: ON_TIME_AT_30_PERCENT
                .map(|(_, share)| (30.0, 100.0 * share))
                .into(),
            marks: Marks::Points,
        });
        Some(Picture {
            name: "on-time",
            caption:
                "Symbols received or decoded within 167 ticks. A decoder that discards equations \
                      needs a linear system much larger than dw; one that keeps the equations \
                      does not."
                    .into(),
            svg: chart(
                "Symbols on time",
                &plain("independent loss, %", 36.0),
                &Axis {
                    label: "symbols on time, %".into(),
                    log: false,
                    range: (60.0, 101.0),
                },
                &series,
            ),
        })
    }

    fn residual(&self, name: &'static str, what: &str, codes: &Codes) -> Option<Picture> {
        let mut series = self.by_loss(codes, |o| 100.0 * o.residual_loss);
        // A logarithmic axis has no point for 0.
        for line in &mut series {
            line.points.retain(|(_, left)| *left > 0.0);
        }
        series.retain(|line| !line.points.is_empty());
        (!series.is_empty()).then(|| Picture {
            name,
            caption: format!(
                "Residual loss with {what}, code rate 2/3, by independent loss. To the left of a line, \
                 no loss was left."
            ),
            svg: chart(
                "Residual loss",
                &plain("independent loss, %", 36.0),
                &Axis {
                    label: "residual loss, %".into(),
                    log: true,
                    range: (0.0005, 50.0),
                },
                &series,
            ),
        })
    }

    fn latency(&self) -> Option<Picture> {
        let codes = Self::both();
        let mut series = self.by_loss(&codes, |o| o.latency.mean);
        let largest = self.by_loss(&codes, |o| f64::from(o.latency_quantiles[5]));
        for mut line in largest {
            line.name += ", largest";
            line.marks = Marks::Points;
            series.push(line);
        }
        // A logarithmic axis has no point for 0.
        for line in &mut series {
            line.points.retain(|(_, ticks)| *ticks > 0.0);
        }
        series.retain(|line| !line.points.is_empty());
        if series.is_empty() {
            return None;
        }
        series.push(line(
            "the paper's RS",
            6,
            vec![(0.0, BLOCK_LATENCY), (36.0, BLOCK_LATENCY)],
        ));
        Some(Picture {
            name: "latency",
            caption:
                "Added latency of in-order delivery: mean (lines) and largest (dots). The smallest \
                      is 0 everywhere."
                    .into(),
            svg: chart(
                "Added latency",
                &plain("independent loss, %", 36.0),
                &Axis {
                    label: "added latency, ticks".into(),
                    log: true,
                    range: (0.001, 300.0),
                },
                &series,
            ),
        })
    }

    /// The distribution of latencies at one loss, cumulative or not.
    fn distribution(&self, name: &'static str, loss: f64, cumulative: bool) -> Option<Picture> {
        let mut series = Vec::new();
        for (style, (name, code)) in Self::both().into_iter().enumerate() {
            let at = |o: &&Outcome| independent(o) == Some(loss) && o.experiment.code == code;
            let Some(outcome) = self.0.iter().find(at) else {
                continue;
            };
            let all = &outcome.histogram;
            let total = all.total().max(1) as f64;
            let points = match cumulative {
                true => all
                    .cdf()
                    .into_iter()
                    .map(|(ticks, share)| (f64::from(ticks), 100.0 * share))
                    .collect(),
                false => (0u32..)
                    .zip(all.counts())
                    .map(|(ticks, count)| (f64::from(ticks), 100.0 * *count as f64 / total))
                    .filter(|(_, share)| *share > 0.0)
                    .collect(),
            };
            series.push(line(&name, style, points));
        }
        let label = if cumulative {
            "symbols delivered by then, %"
        } else {
            "symbols, %"
        };
        (!series.is_empty()).then(|| Picture {
            name,
            caption: format!(
                "Added latency at {:.0} % loss{}.",
                100.0 * loss,
                if cumulative {
                    ", cumulative"
                } else {
                    ": the share of symbols with each latency"
                }
            ),
            svg: chart(
                "Distribution of added latency",
                &Axis {
                    label: "added latency, ticks".into(),
                    log: false,
                    range: (0.0, 170.0),
                },
                &Axis {
                    label: label.into(),
                    log: !cumulative,
                    range: if cumulative {
                        (0.0, 101.0)
                    } else {
                        (0.001, 100.0)
                    },
                },
                &series,
            ),
        })
    }

    fn speed(&self) -> Option<Picture> {
        let rlc = WindowCode {
            linear_system: 200,
            ..WindowCode::new(83, 167)
        };
        let codes = vec![
            ("RLC, keeping, ls 200".to_owned(), Code::Window(rlc)),
            ("RS, k 167".to_owned(), Code::Block(167)),
        ];
        let mut series = self.by_loss(&codes, |o| o.speed.decode_mbit);
        let size = self.0.first()?.experiment.symbol_size;
        if series.is_empty() {
            return None;
        }
        series.push(Series {
            name: "the paper's RLC, its machine".into(),
            style: 6,
            points: RLC_SPEED.map(|(loss, speed)| (100.0 * loss, speed)).into(),
            marks: Marks::Points,
        });
        Some(Picture {
            name: "speed",
            caption: format!(
                "Source bits for each second of processor time of the receiver: packets in, ADUs out. \
                 Symbols of {size} octets (the paper's: 256). The machines differ: only the shapes \
                 are comparable."
            ),
            svg: chart(
                "Receiver's speed",
                &plain("independent loss, %", 36.0),
                &Axis {
                    label: "Mbit/s".into(),
                    log: true,
                    range: (50.0, 20_000.0),
                },
                &series,
            ),
        })
    }

    fn density(&self) -> Option<Picture> {
        let number = |code: &WindowCode| {
            let usual = WindowCode::new(83, 167);
            let kind = if code.binary { "GF(2) " } else { "" };
            let same = (code.encoding_window, code.linear_system, code.elimination)
                == (
                    usual.encoding_window,
                    usual.linear_system,
                    usual.elimination,
                );
            same.then(|| (kind, f64::from(code.density_threshold)))
        };
        let series = self.by_number(number);
        (!series.is_empty()).then(|| Picture {
            name: "density",
            caption: "Residual loss by density threshold: of 83 symbols a repair has (DT + 1) / 16. GF(2^8) \
                      unless named. 0.0001 stands for no loss."
                .into(),
            svg: chart("Density", &plain("density threshold", 15.5), &left(), &series),
        })
    }

    fn windows(&self) -> Option<Picture> {
        let number = |code: &WindowCode| {
            let usual = WindowCode::new(code.encoding_window, 167);
            (*code == usual).then(|| ("", f64::from(code.encoding_window)))
        };
        let series = self.by_number(number);
        (!series.is_empty()).then(|| Picture {
            name: "windows",
            caption: "Residual loss by encoding window, dw 167. 0.0001 stands for no loss.".into(),
            svg: chart("Windows", &plain("ew, symbols", 170.0), &left(), &series),
        })
    }
}

fn plain(label: &str, most: f64) -> Axis {
    Axis {
        label: label.to_owned(),
        log: false,
        range: (0.0, most),
    }
}

fn left() -> Axis {
    Axis {
        label: "residual loss, %".into(),
        log: true,
        range: (0.0001, 50.0),
    }
}
