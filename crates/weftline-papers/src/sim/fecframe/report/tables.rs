//! Outcomes as tables.

use weftline_fecframe::Elimination;
use weftline_netem::LossModel;

use super::super::paper::{ON_TIME_AT_30_PERCENT, RLC_SPEED};
use super::super::{Code, Outcome, WindowCode};

/// A table of texts: the first row is the head.
pub(super) type Rows = Vec<Vec<String>>;

/// All outcomes: a row each, under a head.
pub fn table(outcomes: &[Outcome]) -> Vec<Vec<String>> {
    let head = [
        "code",
        "dw",
        "loss",
        "on time %",
        "+-",
        "late %",
        "latency, mean",
        "+-",
        "p50",
        "p99",
        "max",
        "encode Mbit/s",
        "receive Mbit/s",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(outcomes.iter().map(|outcome| {
        let quantiles = outcome.latency_quantiles;
        vec![
            outcome.experiment.code.to_string(),
            outcome.experiment.decoding_window.to_string(),
            outcome.experiment.loss.to_string(),
            percent(outcome.on_time.mean),
            percent(outcome.on_time.stderr),
            percent(outcome.late),
            format!("{:.3}", outcome.latency.mean),
            format!("{:.3}", outcome.latency.stderr),
            quantiles[1].to_string(),
            quantiles[3].to_string(),
            quantiles[5].to_string(),
            format!("{:.0}", outcome.speed.encode_mbit),
            format!("{:.0}", outcome.speed.decode_mbit),
        ]
    }));
    rows
}

/// On-time shares at 30 % loss by ls, of both decoders, beside the paper's.
pub(super) fn on_time(outcomes: &[Outcome]) -> Option<Rows> {
    let share = |linear_system, elimination| {
        let code = Code::Window(WindowCode {
            linear_system,
            elimination,
            ..WindowCode::new(83, 167)
        });
        let outcome = find(outcomes, code, 0.30)?;
        Some(percent(outcome.on_time.mean))
    };
    let mut rows = vec![row(["ls", "discarding %", "keeping %", "the paper %"])];
    for ls in [167, 200, 400, 800] {
        let theirs = ON_TIME_AT_30_PERCENT.iter().find(|(of, _)| *of == ls);
        rows.push(vec![
            ls.to_string(),
            share(ls, Elimination::Discarding)?,
            share(ls, Elimination::Keeping)?,
            theirs.map_or_else(|| "-".into(), |(_, share)| percent(*share)),
        ]);
    }
    Some(rows)
}

/// Mean added latencies of blocks and windows by loss.
pub(super) fn latency(outcomes: &[Outcome]) -> Option<Rows> {
    let window = |ew, dw, linear_system| {
        Code::Window(WindowCode {
            linear_system,
            ..WindowCode::new(ew, dw)
        })
    };
    let codes = [
        Code::Block(167),
        window(83, 167, 400),
        Code::Block(38),
        window(19, 38, 200),
    ];
    let head = ["loss", "RS k 167", "RLC dw 167", "RS k 38", "RLC dw 38"];
    let mut rows = vec![row(head)];
    for loss in [0.01, 0.05, 0.10, 0.15, 0.20, 0.25, 0.30] {
        let mut cells = vec![format!("{:.0} %", 100.0 * loss)];
        for code in codes {
            let outcome = find(outcomes, code, loss)?;
            let [.., most] = outcome.latency_quantiles;
            let latency = outcome.latency;
            cells.push(format!(
                "{:.3} (+- {:.3}), at most {most}",
                latency.mean, latency.stderr
            ));
        }
        rows.push(cells);
    }
    Some(rows)
}

/// The receiver's speed at the losses of the paper's Table II.
pub(super) fn speed(outcomes: &[Outcome]) -> Option<Rows> {
    let rlc = Code::Window(WindowCode {
        linear_system: 200,
        ..WindowCode::new(83, 167)
    });
    let head = [
        "loss",
        "RLC ls 200, Mbit/s",
        "RS k 167, Mbit/s",
        "RLC / RS",
        "the paper's RLC, its machine",
    ];
    let mut rows = vec![row(head)];
    for (loss, theirs) in RLC_SPEED {
        let speed = |code| Some(find(outcomes, code, loss)?.speed.decode_mbit);
        let (window, block) = (speed(rlc)?, speed(Code::Block(167))?);
        rows.push(vec![
            format!("{:.0} %", 100.0 * loss),
            format!("{window:.0}"),
            format!("{block:.0}"),
            format!("{:.2}", window / block),
            format!("{theirs:.0}"),
        ]);
    }
    Some(rows)
}

/// Residual loss of each code at each loss that is not independent, and at the corresponding
/// independent losses.
pub(super) fn residual(outcomes: &[Outcome]) -> Option<Rows> {
    let bursty = |o: &&Outcome| matches!(o.experiment.loss, LossModel::GilbertElliott(_));
    let mut codes: Vec<Code> = Vec::new();
    let mut losses: Vec<LossModel> = Vec::new();
    for outcome in outcomes.iter().filter(bursty) {
        if !codes.contains(&outcome.experiment.code) {
            codes.push(outcome.experiment.code);
        }
    }
    let ours: Vec<&Outcome> = outcomes
        .iter()
        .filter(|o| codes.contains(&o.experiment.code))
        .collect();
    for outcome in &ours {
        if !losses.contains(&outcome.experiment.loss) {
            losses.push(outcome.experiment.loss.clone());
        }
    }
    let mut rows = vec![vec!["residual loss %".to_owned()]];
    rows[0].extend(losses.iter().map(LossModel::to_string));
    for code in codes {
        let mut cells = vec![code.to_string()];
        for loss in &losses {
            let of = |o: &&&Outcome| o.experiment.code == code && o.experiment.loss == *loss;
            let outcome = ours.iter().find(of);
            cells.push(outcome.map_or_else(String::new, |o| percent(o.residual_loss)));
        }
        rows.push(cells);
    }
    (rows.len() > 1).then_some(rows)
}

fn find(outcomes: &[Outcome], code: Code, loss: f64) -> Option<&Outcome> {
    let loss = LossModel::iid(loss);
    outcomes
        .iter()
        .find(|o| o.experiment.code == code && o.experiment.loss == loss)
}

fn row<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(str::to_owned).to_vec()
}

/// A share as percent, with its significant digits.
fn percent(share: f64) -> String {
    let value = 100.0 * share;
    match value {
        0.0 => "0".to_owned(),
        v if v < 0.1 => format!("{v:.4}"),
        v if v < 10.0 => format!("{v:.3}"),
        v => format!("{v:.2}"),
    }
}
