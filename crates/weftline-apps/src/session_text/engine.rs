//! The engine's options by name.

use std::time::Duration;

use weftline::{Config, Preset};
use weftline_proto::{
    Code, Compared, EncodingWindow, Feedback, Ingredients, RateControl, Redundancy, TopUp,
};

use super::random;
use super::settings::{SettingError, Settings};

/// The engine's options alone, for an engine without a carrier.
pub(super) fn take(settings: &mut Settings) -> Result<Config, SettingError> {
    let preset = preset(settings)?;
    session(preset, settings)
}

/// Takes the name of the preset.
///
/// # Errors
/// There is no such preset.
pub fn preset(settings: &mut Settings) -> Result<Preset, SettingError> {
    let presets = Preset::ALL.map(|preset| (preset.name(), preset));
    Ok(settings.choice("preset", &presets)?.unwrap_or(Preset::Auto))
}

/// Takes what the engine is told besides.
///
/// # Errors
/// An option is unknown, or contradicts another one or the preset.
pub fn session(preset: Preset, settings: &mut Settings) -> Result<Config, SettingError> {
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
fn auto(settings: &mut Settings, session: &mut Config) -> Result<(), SettingError> {
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
        return Err(SettingError::Contradiction(message.to_owned()));
    };
    auto.deadline = deadline;
    auto.delay = delay.map(|millis: f64| Duration::from_secs_f64(millis / 1000.0));
    auto.ingredients = without.unwrap_or_default();
    Ok(())
}

/// What only preset `rest` has.
fn measured(settings: &mut Settings, session: &mut Config) -> Result<(), SettingError> {
    let interval = settings.number("ewma", "seconds of an interval", 0.01..=3600.0)?;
    let weight = settings.number("weight", "of the newest interval", 0.0..=1.0)?;
    let most_apart = settings.number("apart", "source symbols between repairs", 1..=1000u16)?;
    if interval.is_none() && weight.is_none() && most_apart.is_none() {
        return Ok(());
    }
    let Redundancy::Measured(measured) = &mut session.policies.redundancy else {
        let message = "ewma=, weight= and apart= tell preset=rest how to follow the losses: choose it, and no share=";
        return Err(SettingError::Contradiction(message.to_owned()));
    };
    if let Some(secs) = interval {
        measured.interval = Duration::from_secs_f64(secs);
    }
    measured.weight = weight.unwrap_or(measured.weight);
    measured.most_apart = most_apart.unwrap_or(measured.most_apart);
    Ok(())
}

/// What only the presets to compare with have.
fn compared(settings: &mut Settings, session: &mut Config) -> Result<(), SettingError> {
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
            Err(SettingError::Contradiction(message.to_owned()))
        }
    }
}

fn policies(settings: &mut Settings, session: &mut Config) -> Result<(), SettingError> {
    let policies = &mut session.policies;
    let share = settings.number("share", "repairs for each source symbol", 0.0..=4.0)?;
    let shared = share.is_some();
    if let Some(share) = share {
        if policies.code == Code::None {
            let message = "share= has no meaning with preset=arq, which sends no repairs";
            return Err(SettingError::Contradiction(message.to_owned()));
        }
        if let Code::Random(_) = policies.code {
            let message = "share= has no meaning with preset=udp-rc and preset=rlc-block, whose repairs go on until they are enough: see extra= and pace=";
            return Err(SettingError::Contradiction(message.to_owned()));
        }
        match &mut policies.redundancy {
            Redundancy::Auto(auto) => auto.limit = Some(share),
            Redundancy::Compared(_) => {
                let message =
                    "share= has no meaning with another system's rule, which decides itself";
                return Err(SettingError::Contradiction(message.to_owned()));
            }
            redundancy => *redundancy = Redundancy::Share(share),
        }
    }
    if let Some(spacing) = settings.number("l", "packets for each repair", 2..=1000u16)? {
        let is_fixed = matches!(policies.redundancy, Redundancy::Share(_));
        if policies.code != Code::SlidingWindow || !is_fixed || shared {
            let message = "l= is the spacing of preset=streaming, one repair after l-1 source symbols: give that preset, and no share=";
            return Err(SettingError::Contradiction(message.to_owned()));
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
                return Err(SettingError::Contradiction(message.to_owned()));
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

fn limits(settings: &mut Settings, session: &mut Config) -> Result<(), SettingError> {
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

fn rate(settings: &mut Settings, session: &mut Config) -> Result<(), SettingError> {
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
