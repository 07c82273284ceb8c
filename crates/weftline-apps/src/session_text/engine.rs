//! The engine's options by name.

mod random;

use std::time::Duration;

use weftline::proto::{
    Code, Compared, EncodingWindow, Feedback, Ingredients, RateControl, Redundancy, TopUp,
};
use weftline::{Config, Congestion, EndpointConfig, Preset};

use super::{LoadError, Settings};

/// What takes the datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Carrier {
    /// QUIC DATAGRAM.
    Quic,
    /// Plain UDP.
    Udp,
}

/// Takes the options; what is not given is the preset's, or the library's default.
pub(super) fn take(settings: &mut Settings) -> Result<(EndpointConfig, Carrier), LoadError> {
    let presets = Preset::ALL.map(|preset| (preset.name(), preset));
    let preset = settings.choice("preset", &presets)?.unwrap_or(Preset::Auto);
    let carriers = [("quic", Carrier::Quic), ("udp", Carrier::Udp)];
    let carrier = settings
        .choice("carrier", &carriers)?
        .unwrap_or(Carrier::Quic);

    let session = session(preset, settings)?;
    let mut config = EndpointConfig::new(session);
    let controllers = [
        ("cubic", Congestion::Cubic),
        ("bbr", Congestion::Bbr),
        ("newreno", Congestion::NewReno),
        ("engine", Congestion::Engine),
    ];
    config.congestion = settings.choice("cc", &controllers)?;
    if carrier == Carrier::Udp && config.congestion.is_some() {
        let message = "cc= chooses QUIC's congestion control: leave it out with carrier=udp";
        return Err(LoadError::Contradiction(message.to_owned()));
    }
    config.early_data = settings.switch("0rtt")?.unwrap_or(false);
    if carrier == Carrier::Udp && config.early_data {
        let message = "0rtt= is a matter of QUIC: leave it out with carrier=udp";
        return Err(LoadError::Contradiction(message.to_owned()));
    }
    config.segmentation_offload = settings.switch("gso")?.unwrap_or(false);
    Ok((config, carrier))
}

/// The engine's options alone, for an engine without a carrier.
pub(super) fn take_session(settings: &mut Settings) -> Result<Config, LoadError> {
    let preset = preset(settings)?;
    session(preset, settings)
}

fn preset(settings: &mut Settings) -> Result<Preset, LoadError> {
    let presets = Preset::ALL.map(|preset| (preset.name(), preset));
    Ok(settings.choice("preset", &presets)?.unwrap_or(Preset::Auto))
}

fn session(preset: Preset, settings: &mut Settings) -> Result<Config, LoadError> {
    let mut session = Config::preset(preset);
    policies(settings, &mut session)?;
    auto(settings, &mut session)?;
    measured(settings, &mut session)?;
    random::take(settings, &mut session)?;
    compared(settings, &mut session)?;
    limits(settings, &mut session)?;
    rate(settings, &mut session)?;
    random::control(settings, &mut session)?;
    Ok(session)
}

/// What only preset `auto` has.
fn auto(settings: &mut Settings, session: &mut Config) -> Result<(), LoadError> {
    let delay = settings.number("delay", "milliseconds to aim at", 0.1..=60_000.0)?;
    let deadline = settings.number("deadline", "milliseconds until it is read", 1.0..=60_000.0)?;
    let deadline = deadline.map(|millis: f64| Duration::from_secs_f64(millis / 1000.0));
    let without = settings.take("without", "parts of the rule, joined by +", |value| {
        let mut ingredients = Ingredients::default();
        for part in value.split('+') {
            let switch = match part {
                "reports" => &mut ingredients.reports,
                "tail" => &mut ingredients.tail,
                "bursts" => &mut ingredients.bursts,
                "backlog" => &mut ingredients.backlog,
                "retransmit" => &mut ingredients.retransmit,
                _ => return None,
            };
            *switch = false;
        }
        Some(ingredients)
    })?;
    if delay.is_none() && deadline.is_none() && without.is_none() {
        return Ok(());
    }
    if let (Redundancy::Compared(Compared::FlecMessage { deadline: its }), Some(deadline)) =
        (&mut session.policies.redundancy, deadline)
    {
        *its = deadline;
        if delay.is_none() && without.is_none() {
            return Ok(());
        }
    }
    let Redundancy::Auto(auto) = &mut session.policies.redundancy else {
        let message = "delay=, deadline= and without= tell preset=auto what to aim at: leave them out, or choose it (deadline= goes with flec-message too)";
        return Err(LoadError::Contradiction(message.to_owned()));
    };
    auto.deadline = deadline;
    auto.delay = delay.map(|millis: f64| Duration::from_secs_f64(millis / 1000.0));
    auto.ingredients = without.unwrap_or_default();
    Ok(())
}

/// What only preset `rest` has.
fn measured(settings: &mut Settings, session: &mut Config) -> Result<(), LoadError> {
    let interval = settings.number("ewma", "seconds of an interval", 0.01..=3600.0)?;
    let weight = settings.number("weight", "of the newest interval", 0.0..=1.0)?;
    let most_apart = settings.number("apart", "source symbols between repairs", 1..=1000u16)?;
    if interval.is_none() && weight.is_none() && most_apart.is_none() {
        return Ok(());
    }
    let Redundancy::Measured(measured) = &mut session.policies.redundancy else {
        let message = "ewma=, weight= and apart= tell preset=rest how to follow the losses: choose it, and no share=";
        return Err(LoadError::Contradiction(message.to_owned()));
    };
    if let Some(secs) = interval {
        measured.interval = Duration::from_secs_f64(secs);
    }
    measured.weight = weight.unwrap_or(measured.weight);
    measured.most_apart = most_apart.unwrap_or(measured.most_apart);
    Ok(())
}

/// What only the presets to compare with have.
fn compared(settings: &mut Settings, session: &mut Config) -> Result<(), LoadError> {
    let th = settings.number("th", "missing over added equations, less 1", -1.0..=10.0)?;
    let rule = &mut session.policies.redundancy;
    match (th, rule) {
        (None, _) => Ok(()),
        (Some(th), Redundancy::Compared(Compared::AcRlnc { threshold })) => {
            *threshold = th;
            Ok(())
        }
        _ => {
            let message = "th= is the threshold of preset=ac-rlnc: choose it";
            Err(LoadError::Contradiction(message.to_owned()))
        }
    }
}

fn policies(settings: &mut Settings, session: &mut Config) -> Result<(), LoadError> {
    let policies = &mut session.policies;
    let share = settings.number("share", "repairs for each source symbol", 0.0..=4.0)?;
    let shared = share.is_some();
    if let Some(share) = share {
        if policies.code == Code::None {
            let message = "share= has no meaning with preset=arq, which sends no repairs";
            return Err(LoadError::Contradiction(message.to_owned()));
        }
        if let Code::Random(_) = policies.code {
            let message = "share= has no meaning with preset=udp-rc and preset=rlc-block, whose repairs go on until they are enough: see extra= and pace=";
            return Err(LoadError::Contradiction(message.to_owned()));
        }
        match &mut policies.redundancy {
            Redundancy::Auto(auto) => auto.limit = Some(share),
            Redundancy::Compared(_) => {
                let message =
                    "share= has no meaning with another system's rule, which decides itself";
                return Err(LoadError::Contradiction(message.to_owned()));
            }
            redundancy => *redundancy = Redundancy::Share(share),
        }
    }
    if let Some(spacing) = settings.number("l", "packets for each repair", 2..=1000u16)? {
        let is_fixed = matches!(policies.redundancy, Redundancy::Share(_));
        if policies.code != Code::SlidingWindow || !is_fixed || shared {
            let message = "l= is the spacing of preset=streaming, one repair after l-1 source symbols: give that preset, and no share=";
            return Err(LoadError::Contradiction(message.to_owned()));
        }
        policies.redundancy = Redundancy::Share(1.0 / f64::from(spacing - 1));
    }
    if let Some(size) = settings.number("k", "source symbols in a block", 1..=1024u16)? {
        match &mut policies.code {
            Code::Block { k } => *k = size,
            Code::Random(code) => code.k = size,
            _ => {
                let message =
                    "k= is the size of a block: give preset=block, udp-rc or rlc-block too";
                return Err(LoadError::Contradiction(message.to_owned()));
            }
        }
    }
    let window = settings.take("encoding", "elastic:N, fixed:N or mobile:N", |value| {
        let (kind, size) = value.split_once(':')?;
        let size = size.parse().ok().filter(|size| (1..=1024).contains(size))?;
        match kind {
            "elastic" => Some(EncodingWindow::Elastic { max: size }),
            "fixed" => Some(EncodingWindow::Fixed { size }),
            "mobile" => Some(EncodingWindow::Mobile { size }),
            _ => None,
        }
    })?;
    policies.window = window.unwrap_or(policies.window);
    let feedback = settings.take(
        "feedback",
        "datagram:MS, periodic:MS, block:MS or adaptive:MS",
        |value| {
            let (kind, millis) = value.split_once(':')?;
            let millis: f64 = millis
                .parse()
                .ok()
                .filter(|m| (0.0..=10_000.0).contains(m))?;
            let time = Duration::from_secs_f64(millis / 1000.0);
            match kind {
                "datagram" => Some(Feedback::EveryDatagram { min_interval: time }),
                "adaptive" if !time.is_zero() => Some(Feedback::Adaptive { target: time }),
                "periodic" if !time.is_zero() => Some(Feedback::Periodic { interval: time }),
                "block" if !time.is_zero() => Some(Feedback::Block { interval: time }),
                _ => None,
            }
        },
    )?;
    policies.feedback = feedback.unwrap_or(policies.feedback);
    let kinds = [
        ("none", TopUp::None),
        ("retransmit", TopUp::Retransmit),
        ("deficit", TopUp::Deficit),
        ("atend", TopUp::AtEnd),
    ];
    policies.top_up = settings.choice("topup", &kinds)?.unwrap_or(policies.top_up);
    Ok(())
}

fn limits(settings: &mut Settings, session: &mut Config) -> Result<(), LoadError> {
    let limits = &mut session.limits;
    let symbols = settings.number("symbols", "source symbols", 64..=1_000_000)?;
    limits.symbols = symbols.unwrap_or(limits.symbols);
    let window = settings.number("window", "source symbols in a repair", 1..=16_384)?;
    limits.window = window.unwrap_or(limits.window);
    let unknowns = settings.number("unknowns", "missing source symbols", 1..=16_384)?;
    limits.unknowns = unknowns.unwrap_or(limits.unknowns);
    let unread = settings.number("unread", "bytes", 65_536..=1 << 30)?;
    if let Some(bytes) = unread {
        limits.stream_data = bytes;
        limits.session_data = bytes + bytes / 2;
    }
    let buffer = settings.number("send_buffer", "bytes", 4096..=1 << 30)?;
    session.send_buffer = buffer.unwrap_or(session.send_buffer);
    let symbol = settings.number("symbol", "bytes", 64..=1400)?;
    session.symbol_size = symbol.unwrap_or(session.symbol_size);
    if let Some(millis) = settings.number("initial_rtt", "milliseconds", 1..=10_000)? {
        session.initial_rtt = Duration::from_millis(millis);
    }
    if let Some(seconds) = settings.number("idle", "seconds", 1..=3600)? {
        session.idle_timeout = Duration::from_secs(seconds);
        session.keep_alive = Some(session.idle_timeout / 4);
    }
    Ok(())
}

fn rate(settings: &mut Settings, session: &mut Config) -> Result<(), LoadError> {
    let rate = settings.number("fixed_rate", "Mbit/s on the wire", 0.01..=100_000.0)?;
    let window = settings.number("fixed_window", "bytes in flight", 3000..=1 << 32)?;
    if rate.is_some() || window.is_some() {
        session.rate = RateControl::Fixed {
            rate: rate.map(|mbit: f64| (mbit * 1e6).round() as u64),
            window,
        };
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn engine(arguments: &[&str]) -> Result<(EndpointConfig, Carrier), LoadError> {
        let arguments: Vec<String> = arguments.iter().map(|a| (*a).to_owned()).collect();
        let mut settings = Settings::parse(&arguments)?;
        let engine = take(&mut settings)?;
        settings.finish("weftline")?;
        Ok(engine)
    }

    #[test]
    fn options_reach_the_engine() {
        let (config, carrier) = engine(&[
            "preset=block",
            "k=64",
            "share=0.25",
            "feedback=periodic:25",
            "topup=none",
            "fixed_rate=25",
            "fixed_window=187500",
            "carrier=udp",
        ])
        .unwrap();
        assert_eq!(carrier, Carrier::Udp);
        let policies = config.session.policies;
        assert_eq!(policies.code, Code::Block { k: 64 });
        assert_eq!(policies.redundancy, Redundancy::Share(0.25));
        assert_eq!(policies.top_up, TopUp::None);
        let interval = Duration::from_millis(25);
        assert_eq!(policies.feedback, Feedback::Periodic { interval });
        assert_eq!(
            config.session.rate,
            RateControl::Fixed {
                rate: Some(25_000_000),
                window: Some(187_500)
            }
        );
    }

    #[test]
    fn auto_is_told_what_to_aim_at() {
        let (config, _) = engine(&["share=0.4", "delay=25", "without=tail+bursts"]).unwrap();
        let Redundancy::Auto(auto) = config.session.policies.redundancy else {
            panic!("auto is the default")
        };
        assert_eq!(auto.delay, Some(Duration::from_millis(25)));
        assert_eq!(auto.limit, Some(0.4));
        assert!(!auto.ingredients.tail && !auto.ingredients.bursts && auto.ingredients.reports);
    }

    #[test]
    fn rules_to_compare_with_have_their_own_options() {
        let (config, _) = engine(&["preset=ac-rlnc", "th=0.2"]).unwrap();
        let rule = Redundancy::Compared(Compared::AcRlnc { threshold: 0.2 });
        assert_eq!(config.session.policies.redundancy, rule);
        let (config, _) = engine(&["preset=flec-message", "deadline=80"]).unwrap();
        let deadline = Duration::from_millis(80);
        let rule = Redundancy::Compared(Compared::FlecMessage { deadline });
        assert_eq!(config.session.policies.redundancy, rule);
        let (config, _) = engine(&["deadline=80", "feedback=adaptive:5"]).unwrap();
        let Redundancy::Auto(auto) = config.session.policies.redundancy else {
            panic!("auto is the default")
        };
        assert_eq!(auto.deadline, Some(deadline));
        let target = Duration::from_millis(5);
        assert_eq!(
            config.session.policies.feedback,
            Feedback::Adaptive { target }
        );
    }

    #[test]
    fn a_spacing_is_a_share_by_another_name() {
        let (config, _) = engine(&["preset=streaming", "l=5"]).unwrap();
        let redundancy = config.session.policies.redundancy;
        assert_eq!(redundancy, Redundancy::Share(0.25));
    }

    #[test]
    fn rest_follows_the_losses_or_keeps_a_fixed_share() {
        let (config, _) = engine(&["preset=rest", "ewma=1", "weight=0.5", "apart=50"]).unwrap();
        let Redundancy::Measured(measured) = config.session.policies.redundancy else {
            panic!("rest measures")
        };
        assert_eq!(measured.interval, Duration::from_secs(1));
        assert_eq!((measured.weight, measured.most_apart), (0.5, 50));
        let (config, _) = engine(&["preset=rest", "share=0.2", "topup=none"]).unwrap();
        let policies = config.session.policies;
        assert_eq!(policies.redundancy, Redundancy::Share(0.2));
        assert_eq!(policies.top_up, TopUp::None);
    }

    #[test]
    fn without_options_it_is_the_library_but_for_segmentation_offload() {
        let (config, carrier) = engine(&[]).unwrap();
        assert_eq!(carrier, Carrier::Quic);
        assert_eq!(config.session, Config::default());
        assert!(!config.segmentation_offload);
    }

    #[test]
    fn what_does_not_go_together_is_refused() {
        for bad in [
            ["preset=arq", "share=0.1"],
            ["preset=streaming", "k=8"],
            ["carrier=udp", "cc=cubic"],
            ["encoding=elastic:0", "gso=0"],
            ["feedback=periodic:0", "gso=0"],
            ["delay=20", "preset=streaming"],
            ["ewma=1", "preset=streaming"],
            ["th=0.2", "preset=streaming"],
            ["share=0.2", "preset=ac-rlnc"],
            ["deadline=50", "preset=streaming"],
            ["deadline=0", "gso=0"],
            ["feedback=adaptive:0", "gso=0"],
            ["apart=50", "gso=0"],
            ["without=luck", "gso=0"],
            ["l=5", "gso=0"],
            ["l=5", "preset=arq"],
            ["l=1", "preset=streaming"],
        ] {
            assert!(engine(&bad).is_err(), "{bad:?}");
        }
    }
}
