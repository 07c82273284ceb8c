//! Configurations as text: `streaming,l=5`.

use core::str::FromStr;
use core::time::Duration;

use crate::config::{Config, RateControl};
use crate::feedback::Feedback;
use crate::preset::Preset;
use crate::settings::{Settings, TextError};

impl FromStr for Config {
    type Err = TextError;

    /// Reads a preset and its options, separated by commas: `streaming,l=5,feedback=periodic:20`.
    /// `docs/reference/presets.md` lists them.
    fn from_str(text: &str) -> Result<Self, TextError> {
        let mut words = text.split(',').map(str::trim);
        let name = words.next().unwrap_or_default();
        let preset = name.parse::<Preset>()?;
        let mut settings = Settings::parse(&words.collect::<Vec<_>>())?;
        let config = Config::read(preset, &mut settings)?;
        settings.finish(name)?;
        Ok(config)
    }
}

impl Config {
    /// The configuration of `preset`, changed by the settings. Settings for other readers may be
    /// left.
    ///
    /// # Errors
    /// A value is not allowed, or settings contradict each other.
    pub fn read(preset: Preset, settings: &mut Settings) -> Result<Self, TextError> {
        let mut config = Config::preset(preset);
        config.scheme.read(settings)?;
        config.read_common(settings)?;
        Ok(config)
    }

    /// Reads the settings that all schemes share; values that are not given stay as they are.
    ///
    /// # Errors
    /// As for [`Config::read`].
    pub fn read_common(&mut self, settings: &mut Settings) -> Result<(), TextError> {
        self.read_feedback(settings)?;
        self.read_limits(settings)?;
        self.read_rate(settings)
    }

    fn read_feedback(&mut self, settings: &mut Settings) -> Result<(), TextError> {
        let expected = "datagram:MS, periodic:MS, block:MS or adaptive:MS";
        let feedback = settings.take("feedback", expected, |value| {
            let (kind, millis) = value.split_once(':')?;
            let millis: f64 = millis.parse().ok()?;
            let bounded = Some(millis).filter(|m| (0.0..=10_000.0).contains(m))?;
            let time = Duration::from_secs_f64(bounded / 1000.0);
            let feedback = match kind {
                "datagram" => Feedback::EveryDatagram { min_interval: time },
                "adaptive" => Feedback::Adaptive { target: time },
                "periodic" => Feedback::Periodic { interval: time },
                "block" => Feedback::Block { interval: time },
                _ => return None,
            };
            feedback.check().ok().map(|()| feedback)
        })?;
        self.feedback = feedback.unwrap_or(self.feedback);
        match (self.feedback, self.scheme.has_blocks_to_report()) {
            (Feedback::Block { .. }, false) => Err(TextError::Contradiction(
                "feedback=block: is for presets udp-rc and rlc-block: choose another feedback",
            )),
            _ => Ok(()),
        }
    }

    fn read_limits(&mut self, settings: &mut Settings) -> Result<(), TextError> {
        let limits = &mut self.limits;
        let symbols = settings.number("symbols", "source symbols", 256..=16_384)?;
        limits.symbols = symbols.unwrap_or(limits.symbols);
        let window = settings.number("window", "source symbols in a repair", 64..=16_384)?;
        limits.window = window.unwrap_or(limits.window);
        let unknowns = settings.number("unknowns", "missing source symbols", 128..=16_384)?;
        limits.unknowns = unknowns.unwrap_or(limits.unknowns);
        if let Some(bytes) = settings.number("unread", "bytes", 262_144..=1 << 30)? {
            limits.stream_data = bytes;
            limits.session_data = bytes + bytes / 2;
        }
        let buffer = settings.number("send_buffer", "bytes", 4096..=1 << 30)?;
        self.send_buffer = buffer.unwrap_or(self.send_buffer);
        let symbol = settings.number("symbol", "bytes", 128..=1400)?;
        if let Some(bytes) = symbol {
            self.symbol_size = bytes;
            self.long_symbol_size = bytes;
        }
        if let Some(millis) = settings.number("initial_rtt", "milliseconds", 1..=10_000)? {
            self.initial_rtt = Duration::from_millis(millis);
        }
        if let Some(seconds) = settings.number("idle", "seconds", 1..=3600)? {
            self.idle_timeout = Duration::from_secs(seconds);
            self.keep_alive = Some(self.idle_timeout / 4);
        }
        Ok(())
    }

    fn read_rate(&mut self, settings: &mut Settings) -> Result<(), TextError> {
        let rate = settings.number("fixed_rate", "Mbit/s on the wire", 0.01..=100_000.0)?;
        let window = settings.number("fixed_window", "bytes in flight", 3000..=1 << 32)?;
        let controls = [("on", RateControl::Adaptive), ("off", RateControl::Carrier)];
        let control = settings.choice("control", &controls)?;
        let fixed = rate.is_some() || window.is_some();
        if fixed && control.is_some() {
            return Err(TextError::Contradiction(
                "control= and fixed_rate= or fixed_window= contradict each other: give one of them",
            ));
        }
        if fixed {
            self.rate = RateControl::Fixed {
                rate: rate.map(|mbit: f64| (mbit * 1e6).round() as u64),
                window,
            };
        }
        self.rate = control.unwrap_or(self.rate);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sender::EncodingWindow;
    use crate::sender::scheme::{
        Auto, Block, Measured, Rateless, Rest, RestShare, Scheme, Streaming, VectorHeader,
    };

    fn config(text: &str) -> Config {
        let config: Config = text.parse().unwrap_or_else(|e| panic!("{text}: {e}"));
        assert_eq!(config.check(), Ok(()), "{text}");
        config
    }

    #[test]
    fn a_preset_alone_is_the_preset() {
        for preset in Preset::ALL {
            assert_eq!(config(preset.name()), Config::preset(preset));
        }
    }

    #[test]
    fn options_reach_the_scheme() {
        let mut block = Block::new().k(64).share(0.25);
        block.top_up = false;
        let mut rest = Rest::new().share(0.2);
        (rest.at_end, rest.top_up) = (false, false);
        let mut paper = Rest::new();
        paper.top_up = false;
        let mobile = EncodingWindow::Mobile { size: 100 };
        let millis = Duration::from_millis;
        let measured = Measured {
            interval: Duration::from_secs(1),
            weight: 0.5,
            most_apart: 50,
        };
        let cases: [(&str, Scheme); 12] = [
            ("block,k=64,share=0.25,topup=none", block.into()),
            ("streaming,l=5", Streaming::new().share(0.25).into()),
            (
                "streaming,share=0.2,encoding=mobile:100",
                Streaming::new().share(0.2).window(mobile).into(),
            ),
            ("rest,share=0.2,topup=none", rest.into()),
            ("rest,topup=atend", paper.into()),
            (
                "rest,ewma=1,weight=0.5,apart=50",
                Rest::new().measured(measured).into(),
            ),
            ("udp-rc,field=256", Rateless::udp_rc().field(8).into()),
            (
                "udp-rc,field=256,extra=20,pace=0.1,k=100",
                Rateless::udp_rc()
                    .field(8)
                    .extra(20)
                    .pace(0.1)
                    .k(100)
                    .into(),
            ),
            (
                "rlc-block,k=256,field=16,header=vector,systematic=1",
                Rateless::rlc_block()
                    .k(256)
                    .field(4)
                    .header(VectorHeader::Explicit)
                    .systematic(true)
                    .into(),
            ),
            (
                "auto,share=0.4,delay=25",
                Auto::new().overhead(0.4).delay(millis(25)).into(),
            ),
            ("auto, deadline=80", Auto::new().deadline(millis(80)).into()),
            ("arq", Scheme::Arq(Config::arq())),
        ];
        for (text, scheme) in cases {
            assert_eq!(config(text).scheme, scheme, "{text}");
        }
        let Scheme::Auto(auto) = config("auto,without=tail+bursts").scheme else {
            panic!("not auto")
        };
        let ingredients = auto.ingredients;
        assert!(!ingredients.tail && !ingredients.bursts && ingredients.reports);
        let Scheme::Rest(rest) = config("rest,apart=7").scheme else {
            panic!("not rest")
        };
        assert!(matches!(rest.share, RestShare::Measured(m) if m.most_apart == 7));
    }

    #[test]
    fn settings_shared_by_all_schemes_are_read_too() {
        let text = "auto,feedback=adaptive:5,fixed_rate=25,fixed_window=187500,symbol=450,idle=8";
        let config = config(text);
        let target = Duration::from_millis(5);
        assert_eq!(config.feedback, Feedback::Adaptive { target });
        let fixed = RateControl::Fixed {
            rate: Some(25_000_000),
            window: Some(187_500),
        };
        assert_eq!(config.rate, fixed);
        assert_eq!(
            (config.symbol_size, config.idle_timeout.as_secs()),
            (450, 8)
        );
    }

    #[test]
    fn invalid_text_is_refused_with_what_is_allowed() {
        for (text, answer) in [
            ("", "unknown preset ``: use one of arq, block"),
            ("luck", "use one of arq, block"),
            ("auto,k", "`k` is not a setting"),
            ("k=3", "unknown preset"),
            (
                "auto,field=2",
                "unknown setting `field`: auto takes share, delay",
            ),
            (
                "arq,share=0.1",
                "unknown setting `share`: arq takes feedback",
            ),
            ("streaming,k=8", "unknown setting `k`"),
            ("streaming,delay=20", "unknown setting `delay`"),
            ("streaming,l=1", "2 to 1000"),
            ("streaming,l=5,share=0.1", "give one"),
            ("streaming,share=5", "0 to 4"),
            ("streaming,feedback=block:20", "udp-rc and rlc-block"),
            ("streaming,encoding=elastic:0", "elastic:N"),
            ("auto,feedback=periodic:0", "periodic:MS"),
            ("auto,feedback=adaptive:0", "adaptive:MS"),
            ("auto,deadline=0", "1 to 60000"),
            ("auto,delay=20,deadline=80", "two aims"),
            ("auto,without=luck", "parts of the rule"),
            ("rest,share=0.2,ewma=1", "one or the other"),
            ("udp-rc,field=3", "one of 2, 4, 8"),
            ("udp-rc,extra=ackk", "or ack"),
            ("rlc-block,share=0.2", "unknown setting `share`"),
            ("udp-rc,control=off,fixed_rate=3", "contradict"),
            ("auto,symbols=1000000", "256 to 16384"),
            ("auto,share=0.1,share=0.2", "given twice"),
        ] {
            let error = text.parse::<Config>().unwrap_err().to_string();
            assert!(error.contains(answer), "{text}: {error}");
        }
    }
}
