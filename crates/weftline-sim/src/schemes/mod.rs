//! Schemes of other systems, for comparison with `auto`. They are not meant for use.
//!
//! They use the same interface as any scheme outside of the engine: a
//! [`Rule`](weftline_proto::scheme::Rule) in a [`Custom`].

mod ac_rlnc;
mod flec;
mod uncoded;
mod windowed;

use std::time::Duration;

use weftline_proto::scheme::Custom;
use weftline_proto::{Config, Preset, Settings, TextError};

use ac_rlnc::AcRlnc;
use flec::{FlecBulk, FlecMessage};
use uncoded::Uncoded;
use windowed::Windowed;

/// A scheme by its name: a preset of Weftline, or one for comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Name {
    /// A preset of Weftline.
    Preset(Preset),
    /// AC-RLNC (Cohen et al.).
    AcRlnc,
    /// FlEC's rule for bulk transfers (Michel et al.).
    FlecBulk,
    /// FlEC's rule for messages (Michel et al.).
    FlecMessage,
    /// Evenly spaced repairs, and lost symbols retransmitted instead of coded (CRLNC-FB, Gabriel et
    /// al.).
    Uncoded,
}

/// The names that only the laboratory has.
pub const COMPARED: [(&str, Name); 4] = [
    ("ac-rlnc", Name::AcRlnc),
    ("flec-bulk", Name::FlecBulk),
    ("flec-message", Name::FlecMessage),
    ("uncoded", Name::Uncoded),
];

/// The session that settings describe: `preset=`, `auto` without one, and its options.
///
/// # Errors
/// A name is unknown, a value is invalid, or settings contradict each other.
pub fn config(settings: &mut Settings) -> Result<Config, TextError> {
    let presets = Preset::ALL.map(|preset| (preset.name(), Name::Preset(preset)));
    let names = [&presets[..], &COMPARED].concat();
    let name = settings.choice("preset", &names)?;
    let custom = match name.unwrap_or(Name::Preset(Preset::Auto)) {
        Name::Preset(preset) => return Config::read(preset, settings),
        Name::AcRlnc => {
            let what = "missing over added equations, less 1";
            let threshold = settings.number("th", what, -1.0..=10.0)?.unwrap_or(0.0);
            Custom::new("ac-rlnc", move |now| {
                Windowed::new(AcRlnc::new(threshold, now))
            })
        }
        Name::FlecBulk => Custom::new("flec-bulk", |now| Windowed::new(FlecBulk::new(now))),
        Name::FlecMessage => {
            let what = "milliseconds until it is read";
            let millis = settings.number("deadline", what, 1.0..=60_000.0)?;
            let deadline = Duration::from_secs_f64(millis.unwrap_or(100.0) / 1000.0);
            Custom::new("flec-message", move |now| {
                Windowed::new(FlecMessage::new(deadline, now))
            })
        }
        Name::Uncoded => Custom::new("uncoded", |_| Uncoded::default()),
    };
    let mut config = Config::new(custom);
    config.read_common(settings)?;
    Ok(config)
}

/// The session that words of the form `NAME=VALUE` describe, and nothing else.
///
/// # Errors
/// As for [`config`]; or a setting is not one of a session.
pub fn read<S: AsRef<str>>(words: &[S]) -> Result<Config, TextError> {
    let mut settings = Settings::parse(words)?;
    let config = config(&mut settings)?;
    settings.finish("the engine")?;
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_both_kinds_are_found() {
        assert_eq!(read::<&str>(&[]).unwrap(), Config::default());
        let streaming = read(&["preset=streaming", "l=5"]).unwrap();
        assert_eq!(streaming, "streaming,l=5".parse().unwrap());
        for (name, _) in COMPARED {
            let preset = format!("preset={name}");
            let config = read(&[preset.as_str(), "symbol=450"]).unwrap();
            assert_eq!((config.scheme.name(), config.symbol_size), (name, 450));
        }
    }

    #[test]
    fn options_of_others_are_refused() {
        for words in [
            ["preset=streaming", "th=0.2"],
            ["preset=ac-rlnc", "share=0.2"],
            ["preset=flec-bulk", "deadline=80"],
            ["preset=flec-message", "deadline=0"],
        ] {
            assert!(read(&words).is_err(), "{words:?}");
        }
        read(&["preset=ac-rlnc", "th=0.2"]).unwrap();
        read(&["preset=flec-message", "deadline=80"]).unwrap();
    }
}
