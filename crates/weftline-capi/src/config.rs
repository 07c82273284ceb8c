//! The configuration of a session: a scheme as text, and options by number.

use std::ffi::c_char;
use std::time::Duration;

use weftline_proto as proto;
use weftline_proto::RateControl;

use crate::guard::{free, given, guard, make};
use crate::raw;
use crate::status::{Failure, Status};

/// The configuration of a session. It can be used for any number of sessions.
#[derive(Clone, Debug, Default)]
pub struct Config(pub(crate) proto::Config);

/// What `weftline_config_set` sets. Times are nanoseconds, sizes are bytes.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigOption {
    /// The longest payload of a source symbol.
    SymbolSize = 1,
    /// What the carrier, UDP and IP add to each datagram. Only rate control uses it.
    DatagramOverhead = 2,
    /// Sends at this rate, in bits per second with the overhead, and does not search for one. 0:
    /// no fixed rate.
    FixedRate = 3,
    /// Keeps at most this many bytes in flight, and does not search for a window. 0: no fixed window.
    FixedWindow = 4,
    /// 1: the carrier controls the rate, and the session sends whenever it is asked. 0: it does not.
    CarrierRate = 5,
    /// What the session accepts from the application before it is sent: on each stream, and in messages.
    SendBuffer = 6,
    /// The session ends when nothing arrives for this long.
    IdleTimeout = 7,
    /// Sends a probe when nothing was sent for this long. 0: sends none.
    KeepAlive = 8,
    /// The round-trip time that is assumed until one is measured.
    InitialRtt = 9,
    /// 1: delivers messages after their deadline too. 0: drops them.
    DeliverLateMessages = 10,
    /// The longest payload of a source symbol that this end accepts.
    LimitSymbolSize = 32,
    /// Source symbols that the peer may send beyond the oldest one that is missing here.
    LimitSymbols = 33,
    /// Source symbols that one repair symbol may cover.
    LimitWindow = 34,
    /// Symbols that may be missing at once before further repair symbols are refused.
    LimitUnknowns = 35,
    /// Stream data in the whole session that the application has not read.
    LimitSessionData = 36,
    /// Data of one stream that the application has not read.
    LimitStreamData = 37,
    /// Streams that the peer may have open at once.
    LimitStreams = 38,
    /// The longest message that this end accepts.
    LimitMessageSize = 39,
    /// Messages that are incomplete or that the application has not received.
    LimitMessageData = 40,
}

impl ConfigOption {
    const ALL: [ConfigOption; 19] = [
        ConfigOption::SymbolSize,
        ConfigOption::DatagramOverhead,
        ConfigOption::FixedRate,
        ConfigOption::FixedWindow,
        ConfigOption::CarrierRate,
        ConfigOption::SendBuffer,
        ConfigOption::IdleTimeout,
        ConfigOption::KeepAlive,
        ConfigOption::InitialRtt,
        ConfigOption::DeliverLateMessages,
        ConfigOption::LimitSymbolSize,
        ConfigOption::LimitSymbols,
        ConfigOption::LimitWindow,
        ConfigOption::LimitUnknowns,
        ConfigOption::LimitSessionData,
        ConfigOption::LimitStreamData,
        ConfigOption::LimitStreams,
        ConfigOption::LimitMessageSize,
        ConfigOption::LimitMessageData,
    ];

    /// The option that C names by its number.
    fn from_number(number: u32) -> Result<Self, Failure> {
        let found = Self::ALL
            .into_iter()
            .find(|option| *option as u32 == number);
        found.ok_or_else(|| {
            Failure::argument(format!(
                "there is no option {number}: use one of WEFTLINE_CONFIG_OPTION_..."
            ))
        })
    }

    /// The field of `config` that the option names.
    fn field(self, config: &mut proto::Config) -> Field<'_> {
        let limits = &mut config.limits;
        match self {
            ConfigOption::SymbolSize => Field::Short(&mut config.symbol_size),
            ConfigOption::DatagramOverhead => Field::Short(&mut config.datagram_overhead),
            ConfigOption::FixedRate => Field::FixedRate(&mut config.rate),
            ConfigOption::FixedWindow => Field::FixedWindow(&mut config.rate),
            ConfigOption::CarrierRate => Field::CarrierRate(&mut config.rate),
            ConfigOption::SendBuffer => Field::Size(&mut config.send_buffer),
            ConfigOption::IdleTimeout => Field::Time(&mut config.idle_timeout),
            ConfigOption::KeepAlive => Field::MaybeTime(&mut config.keep_alive),
            ConfigOption::InitialRtt => Field::Time(&mut config.initial_rtt),
            ConfigOption::DeliverLateMessages => Field::Flag(&mut config.deliver_late_messages),
            ConfigOption::LimitSymbolSize => Field::Short(&mut limits.symbol_size),
            ConfigOption::LimitSymbols => Field::Int(&mut limits.symbols),
            ConfigOption::LimitWindow => Field::Short(&mut limits.window),
            ConfigOption::LimitUnknowns => Field::Short(&mut limits.unknowns),
            ConfigOption::LimitSessionData => Field::Long(&mut limits.session_data),
            ConfigOption::LimitStreamData => Field::Long(&mut limits.stream_data),
            ConfigOption::LimitStreams => Field::Int(&mut limits.streams),
            ConfigOption::LimitMessageSize => Field::Int(&mut limits.message_size),
            ConfigOption::LimitMessageData => Field::Long(&mut limits.message_data),
        }
    }
}

/// A field of a configuration, by how it is written as a number.
enum Field<'a> {
    Short(&'a mut u16),
    Int(&'a mut u32),
    Long(&'a mut u64),
    Size(&'a mut usize),
    Flag(&'a mut bool),
    Time(&'a mut Duration),
    MaybeTime(&'a mut Option<Duration>),
    FixedRate(&'a mut RateControl),
    FixedWindow(&'a mut RateControl),
    CarrierRate(&'a mut RateControl),
}

impl Field<'_> {
    /// The largest number that the field holds.
    fn largest(&self) -> u64 {
        match self {
            Field::Short(_) => u64::from(u16::MAX),
            Field::Int(_) => u64::from(u32::MAX),
            Field::Size(_) => usize::MAX as u64,
            Field::Flag(_) | Field::CarrierRate(_) => 1,
            _ => u64::MAX,
        }
    }

    /// Sets the field to `value`, which is at most [`Self::largest`].
    fn set(self, value: u64) {
        let some = (value != 0).then_some(value);
        match self {
            Field::Short(field) => *field = value as u16,
            Field::Int(field) => *field = value as u32,
            Field::Long(field) => *field = value,
            Field::Size(field) => *field = value as usize,
            Field::Flag(field) => *field = value != 0,
            Field::Time(field) => *field = Duration::from_nanos(value),
            Field::MaybeTime(field) => *field = some.map(Duration::from_nanos),
            Field::FixedRate(field) => *field = fixed(field, some, window(field)),
            Field::FixedWindow(field) => *field = fixed(field, rate(field), some),
            Field::CarrierRate(field) if value != 0 => *field = RateControl::Carrier,
            Field::CarrierRate(field) if *field == RateControl::Carrier => {
                *field = RateControl::Adaptive;
            }
            Field::CarrierRate(_) => {}
        }
    }

    fn get(self) -> u64 {
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        match self {
            Field::Short(field) => u64::from(*field),
            Field::Int(field) => u64::from(*field),
            Field::Long(field) => *field,
            Field::Size(field) => *field as u64,
            Field::Flag(field) => u64::from(*field),
            Field::Time(field) => nanos(*field),
            Field::MaybeTime(field) => field.map_or(0, nanos),
            Field::FixedRate(field) => rate(field).unwrap_or(0),
            Field::FixedWindow(field) => window(field).unwrap_or(0),
            Field::CarrierRate(field) => u64::from(*field == RateControl::Carrier),
        }
    }
}

fn fixed(before: &RateControl, rate: Option<u64>, window: Option<u64>) -> RateControl {
    match (rate, window) {
        (None, None) if *before == RateControl::Carrier => RateControl::Carrier,
        (None, None) => RateControl::Adaptive,
        (rate, window) => RateControl::Fixed { rate, window },
    }
}

fn rate(control: &RateControl) -> Option<u64> {
    match control {
        RateControl::Fixed { rate, .. } => *rate,
        _ => None,
    }
}

fn window(control: &RateControl) -> Option<u64> {
    match control {
        RateControl::Fixed { window, .. } => *window,
        _ => None,
    }
}

/// The engine's text form of a configuration.
fn parse(text: &str) -> Result<proto::Config, Failure> {
    text.parse().map_err(Failure::argument)
}

/// Makes a configuration from a preset and its options as text: "auto", "streaming,l=5",
/// "udp-rc,field=256,feedback=periodic:20" (docs/reference/presets.md lists them). What the text does
/// not mention has its default. Returns NULL for a text that makes no sense; `weftline_last_error`
/// then says what is wrong with it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weftline_config_parse(text: *const c_char) -> Option<Box<Config>> {
    make(|| {
        // SAFETY: the caller's pointers are valid or NULL, as the crate's documentation asks.
        let text = unsafe { raw::text(text) }?;
        Ok(Config(parse(text)?))
    })
}

/// Frees a configuration. Sessions made from it stay as they are.
#[unsafe(no_mangle)]
pub extern "C" fn weftline_config_free(config: Option<Box<Config>>) {
    free(config);
}

/// Sets an option, one of `WEFTLINE_CONFIG_OPTION_...`. A value that the option cannot hold is
/// refused here; a value that makes no sense for a session is refused by `weftline_session_new`.
#[unsafe(no_mangle)]
pub extern "C" fn weftline_config_set(
    config: Option<&mut Config>,
    option: u32,
    value: u64,
) -> Status {
    guard(|| {
        let config = given(config)?;
        let option = ConfigOption::from_number(option)?;
        let field = option.field(&mut config.0);
        let largest = field.largest();
        if value > largest {
            let reason = format!("{option:?} {value} is too large: use 0 to {largest}");
            return Err(Failure::argument(reason));
        }
        field.set(value);
        Ok(())
    })
}

/// Writes the value of an option, one of `WEFTLINE_CONFIG_OPTION_...`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weftline_config_get(
    config: Option<&Config>,
    option: u32,
    value: *mut u64,
) -> Status {
    guard(|| {
        // SAFETY: the caller's pointers are valid or NULL, as the crate's documentation asks.
        let value = unsafe { raw::place(value) };
        let (config, value) = (given(config)?, given(value)?);
        let option = ConfigOption::from_number(option)?;
        value.write(option.field(&mut config.0.clone()).get());
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_holds_what_it_was_set_to() {
        for option in ConfigOption::ALL {
            let mut config = proto::Config::default();
            for value in [1, 0, 1] {
                option.field(&mut config).set(value);
                let got = option.field(&mut config).get();
                assert_eq!(got, value, "{option:?}");
            }
            let largest = option.field(&mut config).largest();
            option.field(&mut config).set(largest);
            assert_eq!(option.field(&mut config).get(), largest, "{option:?}");
        }
    }

    #[test]
    fn a_fixed_rate_and_a_fixed_window_go_together() {
        let mut config = proto::Config::default();
        ConfigOption::FixedRate.field(&mut config).set(5);
        ConfigOption::FixedWindow.field(&mut config).set(6);
        let (rate, window) = (Some(5), Some(6));
        assert_eq!(config.rate, RateControl::Fixed { rate, window });
        ConfigOption::CarrierRate.field(&mut config).set(0);
        assert_eq!(config.rate, RateControl::Fixed { rate, window });
        ConfigOption::FixedRate.field(&mut config).set(0);
        ConfigOption::FixedWindow.field(&mut config).set(0);
        assert_eq!(config.rate, RateControl::Adaptive);
        ConfigOption::CarrierRate.field(&mut config).set(1);
        ConfigOption::FixedRate.field(&mut config).set(0);
        assert_eq!(config.rate, RateControl::Carrier);
    }
}
