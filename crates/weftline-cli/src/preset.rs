//! `--preset NAME[,OPTION=VALUE...]`: a preset with its own options.

use std::fmt;
use std::str::FromStr;

use weftline::{Config, Preset};

/// A preset, with further options of the engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PresetChoice {
    /// The preset.
    pub preset: Preset,
    options: Vec<String>,
}

impl PresetChoice {
    /// The session that it configures.
    ///
    /// # Errors
    /// An option is unknown, or contradicts another one or the preset.
    pub(crate) fn config(&self) -> Result<Config, String> {
        let config: Result<Config, _> = self.to_string().parse();
        config.map_err(|e| e.to_string())
    }

    /// Reads presets separated by commas, each followed by its options. Duplicates are dropped.
    ///
    /// # Errors
    /// An entry is not a preset, or a preset occurs twice with different options.
    pub(crate) fn list(text: &str) -> Result<Vec<PresetChoice>, String> {
        let mut texts: Vec<String> = Vec::new();
        for piece in text.split(',') {
            match texts.last_mut().filter(|_| piece.contains('=')) {
                Some(last) => {
                    last.push(',');
                    last.push_str(piece);
                }
                None => texts.push(piece.to_owned()),
            }
        }
        let mut list: Vec<PresetChoice> = Vec::new();
        for text in texts {
            let choice: PresetChoice = text.parse()?;
            match list.iter().find(|known| known.preset == choice.preset) {
                None => list.push(choice),
                Some(known) if *known == choice => {}
                Some(known) => {
                    return Err(format!(
                        "`{known}` and `{choice}` are the same preset: give one of them"
                    ));
                }
            }
        }
        Ok(list)
    }
}

impl FromStr for PresetChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut pieces = text.split(',').map(str::trim);
        let preset = pieces.next().unwrap_or_default();
        let preset = preset.parse::<Preset>().map_err(|e| e.to_string())?;
        let options = pieces.map(str::to_owned).collect();
        let choice = PresetChoice { preset, options };
        choice.config()?;
        Ok(choice)
    }
}

impl fmt::Display for PresetChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.preset.name())?;
        self.options.iter().try_for_each(|o| write!(f, ",{o}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preset_has_its_options_behind_it() {
        let choice: PresetChoice = "rlc-block,k=128,field=2".parse().unwrap();
        let scheme = choice.config().unwrap().scheme;
        assert_eq!(scheme, Config::rlc_block().k(128).field(1).into());
        assert_eq!(choice.to_string(), "rlc-block,k=128,field=2");
        let plain: PresetChoice = "auto".parse().unwrap();
        assert_eq!(plain.config().unwrap(), Config::default());
    }

    #[test]
    fn in_a_list_options_belong_to_the_preset_before_them() {
        let list = PresetChoice::list("arq,udp-rc,field=256,extra=2,auto,arq").unwrap();
        let texts: Vec<_> = list.iter().map(PresetChoice::to_string).collect();
        assert_eq!(texts, ["arq", "udp-rc,field=256,extra=2", "auto"]);
    }

    #[test]
    fn what_is_no_preset_or_no_option_of_it_is_refused() {
        for bad in [
            "",
            "luck",
            "auto,k",
            "auto,field=2",
            "udp-rc,field=3",
            "k=3",
        ] {
            assert!(bad.parse::<PresetChoice>().is_err(), "{bad}");
            assert!(PresetChoice::list(bad).is_err(), "{bad}");
        }
        let twice = PresetChoice::list("udp-rc,udp-rc,field=256").unwrap_err();
        assert!(twice.contains("give one of them"), "{twice}");
    }
}
