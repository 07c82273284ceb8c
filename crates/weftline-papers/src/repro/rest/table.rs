//! Table III.

use super::super::picture::{Dot, Line, Plot, Source};
use super::runs::{Both, ENGINE_END, ENGINE_WINDOW, Loss, Options, engine, model, points};
use super::{Check, Figure, Paper, Scale, Shown};

/// R, then duration, mean delay and standard deviation of delays, s.
pub(super) const TABLE: [(f64, [f64; 3]); 4] = [
    (0.0, [21.96, 2.00, 4.91]),
    (0.15, [21.96, 0.89, 2.12]),
    (0.2, [22.53, 0.23, 0.32]),
    (0.3, [25.01, 0.16, 0.06]),
];
const KEYS: [(&str, &str); 3] = [
    ("duration_s", "duration"),
    ("mean_delay_s", "mean delay"),
    ("std_delay_s", "standard deviation of delays"),
];

/// The streams of the table, and of Fig. 3.
pub(super) fn streams(scale: Scale) -> Vec<Both> {
    options().map(|options| options.both(scale)).collect()
}

fn options() -> impl Iterator<Item = Options> {
    TABLE.iter().map(|(r, _)| Options {
        redundancy: Some(*r),
        loss: Loss::Uniform,
        ..Options::BURSTY
    })
}

pub(super) fn figure(scale: Scale) -> Figure {
    let all = streams(scale);
    let runs = scale.pick(8, 20);
    let free: Vec<_> = options()
        .map(|options| options.unpaced(runs, scale.seed))
        .collect();
    let narrow = options().map(|options| {
        let options = Options {
            window: Some(ENGINE_WINDOW),
            ..options
        };
        options
            .model(scale.pick(5, 100), scale.seed)
            .about_secs(scale.pick(0.6, 11.0))
    });
    let narrow: Vec<_> = narrow.collect();
    let mut points = points(&all);
    points.extend(narrow.iter().cloned());
    points.extend(free.iter().cloned());
    Figure {
        id: "rest-table-3",
        paper: Paper::Rest,
        title: "duration, mean and deviation of the packet delay for four redundancies",
        shows: "2^20 bytes in packets of 450 bytes, one each 8 ms; RTT 300 ms, 15 % of packets lost \
                independently, an acknowledgement each 0.2 s. The paper shows one run; here are \
                means, compared by the spread of one run. A delay is that of a packet, from its \
                first sending until it is received or decoded.",
        points,
        show: Box::new(move |values| {
            let mut checks = Vec::new();
            let mut plots = Vec::new();
            for (column, (key, name)) in KEYS.into_iter().enumerate() {
                let (mut ours, mut theirs, mut paper) = (Vec::new(), Vec::new(), Vec::new());
                let mut unpaced = Vec::new();
                let mut windowed = Vec::new();
                for (place, ((r, row), both)) in TABLE.iter().zip(&all).enumerate() {
                    unpaced.push(engine(values, &free[place], key)?.at(*r));
                    let bound = model(values, &narrow[place], key)?;
                    windowed.push(bound.at(*r));
                    let spread = values.number(&both.model, &format!("{key}/spread"))?;
                    let (slots, run) = (
                        model(values, &both.model, key)?,
                        engine(values, &both.engine, key)?,
                    );
                    let differs = format!(
                        "{ENGINE_END} The model with W = 1024 gives {:.3} ± {:.3}.",
                        bound.mean, bound.stderr
                    );
                    checks.push(
                        Check::of(format!("R {r}: {name}, s (spread of one run {spread:.3})"))
                            .one_run(row[column], 0.01, spread)
                            .both(slots, run)
                            .explained(&differs, &differs),
                    );
                    ours.push(slots.at(*r));
                    theirs.push(run.at(*r));
                    paper.push(Dot::new(*r, row[column]));
                }
                let plot = Plot::new(
                    format!("Table III: {name} over the redundancy."),
                    "R, repairs for each data packet",
                    format!("{name}, s"),
                )
                .with([
                    Line::new("slot model", Source::Simulation, 0, ours),
                    Line::new("slot model, W 1024", Source::Simulation, 4, windowed),
                    Line::new("engine, a packet each 8 ms", Source::Engine, 2, theirs),
                    Line::new("engine, repairs between data", Source::Engine, 3, unpaced),
                    Line::new("the paper's run", Source::Paper, 1, paper),
                ]);
                plots.push(if column > 0 { plot.log_y() } else { plot });
            }
            // The order of the table: by R, then by column.
            checks = (0..TABLE.len())
                .flat_map(|row| (0..KEYS.len()).map(move |column| column * TABLE.len() + row))
                .filter_map(|place| checks.get(place).cloned())
                .collect();
            Ok(Shown {
                pictures: plots.into_iter().map(Into::into).collect(),
                checks,
                notes: Vec::new(),
            })
        }),
    }
}
