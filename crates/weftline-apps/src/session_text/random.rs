//! The options of presets `udp-rc` and `rlc-block`.

use weftline::Config;
use weftline_proto::{Code, RandomCode, RateControl, Rateless, Redundancy, VectorHeader};

use super::settings::{SettingError, Settings};

/// Takes them; `k=` is taken by whoever takes that of preset `block`.
pub(super) fn take(settings: &mut Settings, session: &mut Config) -> Result<(), SettingError> {
    let fields = (1..=8).map(|bits| (1u32 << bits).to_string());
    let fields = fields.collect::<Vec<_>>();
    let bits = settings.take("field", &format!("one of {}", fields.join(", ")), |value| {
        let place = fields.iter().position(|field| field == value)?;
        Some(place as u8 + 1)
    })?;
    let header = settings.choice(
        "header",
        &[
            ("seed", VectorHeader::Seed),
            ("vector", VectorHeader::Explicit),
        ],
    )?;
    let systematic = settings.switch("systematic")?;
    let extra = settings.take(
        "extra",
        "symbols beyond k, 0 to 60000, or ack",
        |value| match value {
            "ack" => Some(Rateless::ENDLESS),
            _ => value.parse().ok().filter(|extra| *extra <= 60_000),
        },
    )?;
    let pace = settings.number("pace", "share of full speed", 0.001..=1.0)?;
    let given = bits.is_some()
        || header.is_some()
        || systematic.is_some()
        || extra.is_some()
        || pace.is_some();
    if !given {
        return Ok(());
    }
    let policies = &mut session.policies;
    let (Code::Random(code), Redundancy::Rateless(rateless)) =
        (&mut policies.code, &mut policies.redundancy)
    else {
        let message = "field=, header=, systematic=, extra= and pace= are for blocks that are \
                       repaired until they are acknowledged: give preset=udp-rc or \
                       preset=rlc-block, and no share=";
        return Err(SettingError::Contradiction(message.to_owned()));
    };
    if let Some(bits) = bits {
        code.bits = bits;
        // Of the paper's field there are 10 more; another one needs fewer.
        if rateless.extra != Rateless::ENDLESS {
            rateless.extra = RandomCode::usual_extra(bits);
        }
    }
    code.header = header.unwrap_or(code.header);
    code.systematic = systematic.unwrap_or(code.systematic);
    rateless.extra = extra.unwrap_or(rateless.extra);
    rateless.pace = pace.unwrap_or(rateless.pace);
    Ok(())
}

/// `control=off`: the session has no rate control of its own.
pub(super) fn control(settings: &mut Settings, session: &mut Config) -> Result<(), SettingError> {
    let controls = [("on", RateControl::Adaptive), ("off", RateControl::Carrier)];
    if let Some(rate) = settings.choice("control", &controls)? {
        if session.rate != RateControl::Adaptive {
            let message =
                "control= and fixed_rate= or fixed_window= contradict each other: give one of them";
            return Err(SettingError::Contradiction(message.to_owned()));
        }
        session.rate = rate;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::engine;
    use super::*;

    fn config(arguments: &[&str]) -> Result<Config, SettingError> {
        let arguments: Vec<String> = arguments.iter().map(|a| (*a).to_owned()).collect();
        let mut settings = Settings::parse(&arguments)?;
        let config = engine::take(&mut settings)?;
        settings.finish("the engine")?;
        Ok(config)
    }

    fn code(config: &Config) -> (RandomCode, Rateless) {
        match (config.policies.code, config.policies.redundancy) {
            (Code::Random(code), Redundancy::Rateless(rateless)) => (code, rateless),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_options_of_both_presets_reach_the_engine() {
        let (udp_rc, rateless) = code(&config(&["preset=udp-rc"]).unwrap());
        assert!((udp_rc.bits, rateless.extra) == (1, 10) && udp_rc.systematic);
        let (udp_rc, rateless) = code(&config(&["preset=udp-rc", "field=256"]).unwrap());
        assert_eq!((udp_rc.bits, rateless.extra), (8, 1));
        let more = config(&[
            "preset=udp-rc",
            "field=256",
            "extra=20",
            "pace=0.1",
            "k=100",
        ])
        .unwrap();
        let (udp_rc, rateless) = code(&more);
        assert_eq!((udp_rc.k, rateless.extra, rateless.pace), (100, 20, 0.1));
        let options = [
            "preset=rlc-block",
            "k=256",
            "field=16",
            "header=vector",
            "systematic=1",
        ];
        let (block, rateless) = code(&config(&options).unwrap());
        assert_eq!((block.k, block.bits), (256, 4));
        assert!(block.systematic && block.header == VectorHeader::Explicit);
        assert_eq!(rateless.extra, Rateless::ENDLESS);
        let config = config(&["preset=udp-rc", "control=off"]).unwrap();
        assert_eq!(config.rate, RateControl::Carrier);
    }

    #[test]
    fn what_has_no_such_blocks_refuses_their_options() {
        for wrong in [
            ["preset=block", "field=2"],
            ["preset=streaming", "header=seed"],
            ["preset=udp-rc", "field=3"],
            ["preset=udp-rc", "extra=ackk"],
            ["preset=rlc-block", "share=0.2"],
            ["control=off", "fixed_rate=3"],
        ] {
            assert!(config(&wrong).is_err(), "{wrong:?}");
        }
    }
}
