//! The sets of experiments that make up the study.

use weftline_fecframe::{CodeRate, CodeRateError, Elimination};
use weftline_netem::LossModel;

use super::{Code, Experiment, WindowCode};

/// Losses of the paper's figures, with the two of its Table II that are missing there.
const LOSSES: [f64; 11] = [
    0.0, 0.01, 0.05, 0.10, 0.15, 0.20, 0.24, 0.25, 0.30, 0.33, 0.35,
];
/// The paper's longer windows, and its shorter ones.
const LONG: (u16, u32) = (83, 167);
const SHORT: (u16, u32) = (19, 38);

/// The paper's set: RLC with ew 83, dw 167, and ls from 167 to 800, with the decoder that discards
/// equations and the one that keeps them; Reed-Solomon with k 167; RLC with ew 19, dw 38, ls 200,
/// and Reed-Solomon with k 38; code rate 2/3, independent losses of 0 to 35 %.
///
/// # Errors
/// None: 2/3 is a code rate.
pub fn paper(symbols: u64, symbol_size: u16) -> Result<Vec<Experiment>, CodeRateError> {
    let code_rate = CodeRate::new(2, 3)?;
    let mut all = Vec::new();
    let mut add = |code, decoding_window| {
        all.extend(LOSSES.map(|p| Experiment {
            code,
            code_rate,
            decoding_window,
            loss: LossModel::iid(p),
            symbols,
            symbol_size,
        }));
    };
    for (ew, dw, systems) in [
        (LONG.0, LONG.1, &[167, 200, 400, 800][..]),
        (SHORT.0, SHORT.1, &[200]),
    ] {
        let wide = |linear_system, elimination| {
            Code::Window(WindowCode {
                linear_system,
                elimination,
                ..WindowCode::new(ew, dw)
            })
        };
        systems
            .iter()
            .for_each(|ls| add(wide(*ls, Elimination::Keeping), dw));
        systems
            .iter()
            .for_each(|ls| add(wide(*ls, Elimination::Discarding), dw));
        add(Code::Block(dw as u16), dw);
    }
    Ok(all)
}

/// Experiments in addition to the paper's, with its dw and code rate: losses in bursts, GF(2),
/// sparse coding vectors, and windows that are another share of dw than half.
///
/// # Errors
/// None: 2/3 is a code rate.
pub fn beyond(symbols: u64, symbol_size: u16) -> Result<Vec<Experiment>, CodeRateError> {
    let code_rate = CodeRate::new(2, 3)?;
    let mut all = Vec::new();
    let (ew, dw) = LONG;
    let usual = WindowCode::new(ew, dw);
    let mut add = |code: Code, losses: &[LossModel]| {
        all.extend(losses.iter().map(|loss| Experiment {
            code,
            code_rate,
            decoding_window: dw,
            loss: loss.clone(),
            symbols,
            symbol_size,
        }));
    };
    let losses = losses();
    add(Code::Window(usual), &losses);
    add(Code::Block(dw as u16), &losses);
    add(Code::Window(usual.binary()), &losses);
    for density_threshold in [0, 1, 3, 7] {
        let dense = WindowCode {
            density_threshold,
            ..usual
        };
        add(Code::Window(dense), &losses);
    }
    for density_threshold in [0, 1, 3, 15] {
        let dense = WindowCode {
            density_threshold,
            ..usual.binary()
        };
        add(Code::Window(dense), &losses);
    }
    for window in [21, 42, 125, 167] {
        add(Code::Window(WindowCode::new(window, dw)), &losses);
    }
    Ok(all)
}

/// The experiments of the paper's Table II, with Reed-Solomon and GF(2) in addition.
///
/// # Errors
/// None: 2/3 is a code rate.
pub fn speeds(symbols: u64, symbol_size: u16) -> Result<Vec<Experiment>, CodeRateError> {
    let code_rate = CodeRate::new(2, 3)?;
    let window = WindowCode {
        linear_system: 200,
        ..WindowCode::new(LONG.0, LONG.1)
    };
    let codes = [
        Code::Window(window),
        Code::Block(LONG.1 as u16),
        Code::Window(window.binary()),
    ];
    let all = codes.into_iter().flat_map(|code| {
        [0.01, 0.05, 0.24].map(|p| Experiment {
            code,
            code_rate,
            decoding_window: LONG.1,
            loss: LossModel::iid(p),
            symbols,
            symbol_size,
        })
    });
    Ok(all.collect())
}

/// Independent losses, and the same loss rates in runs of 4, 10 and 30.
fn losses() -> Vec<LossModel> {
    let mut all: Vec<LossModel> = [0.10, 0.20, 0.25, 0.30].map(LossModel::iid).into();
    for (loss, burst) in [
        (0.05, 4.0),
        (0.10, 4.0),
        (0.20, 4.0),
        (0.05, 10.0),
        (0.10, 10.0),
        (0.20, 10.0),
        (0.05, 30.0),
        (0.10, 30.0),
    ] {
        all.extend(LossModel::bursts(loss, burst));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_experiment_of_the_study_is_valid_and_unique() {
        let all = [paper(1000, 64), beyond(1000, 64), speeds(1000, 64)].map(Result::unwrap);
        for set in all {
            set.iter().for_each(|e| e.check().unwrap());
            for (i, one) in set.iter().enumerate() {
                assert!(!set[..i].contains(one), "{}", one.name());
                assert!(!set[..i].iter().any(|other| other.name() == one.name()));
            }
        }
    }
}
