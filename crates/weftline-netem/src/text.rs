//! The text form of a link and of its parts.

use core::fmt;
use core::str::FromStr;

use crate::config::{LinkConfig, Queue, Reorder};
use crate::delays::Delays;
use crate::loss::{GilbertElliott, LossModel};
use crate::trace::{Trace, TraceError};
use crate::units::{
    ValueError, decimal, duration, malformed, parse_duration, parse_probability, parse_rate,
    parse_size, percent, rate, size,
};

const PARTS: &str = "rate=, delay=, steps=, jitter=, bunch=, police=, queue=, ecn=, loss=, down=, reorder=, duplicate=, mtu= (separated by blanks)";
const QUEUE: &str =
    "a queue such as 60ms, 100pkt, 64kB, several of them as in 60ms,100pkt, or unlimited";
const LOSS: &str = "a loss model: none, iid:10%, ge:10%,4 (mean loss, mean burst), \
                    ge4:p,r,1-h,1-k, burst:1%,20 (chance, longest), periodic:20, sine:0%,20%,10s, trace:0010 (1 is a loss) or trace:FILE";
const REORDER: &str = "a reordering such as 1%:5ms (share:extra delay)";
const PERFECT: &str = "perfect";

/// A link's text form that cannot be read.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseLinkError {
    /// A part that is not known, or one without `=`.
    #[error("`{part}` is not a part of a link; accepted: {PARTS}")]
    UnknownPart {
        /// The part, shortened.
        part: String,
    },
    /// A part given more than once.
    #[error("{part}= is given twice; keep one")]
    Twice {
        /// Its name.
        part: &'static str,
    },
    /// A part whose value cannot be read.
    #[error("{part}=: {source}")]
    Value {
        /// Its name.
        part: &'static str,
        /// What is wrong with its value.
        source: ValueError,
    },
    /// A file that the text names cannot be read.
    #[error("{part}=: cannot read {name}: {problem}")]
    File {
        /// The part that names it.
        part: &'static str,
        /// Its name.
        name: String,
        /// Why.
        problem: String,
    },
    /// The trace in a file is wrong.
    #[error("{0}")]
    Trace(#[from] TraceError),
    /// A link follows one trace.
    #[error(
        "a link follows one trace: give rate= and loss= in one file, or only one of them as a trace"
    )]
    Traces,
}

impl FromStr for LinkConfig {
    type Err = ParseLinkError;

    fn from_str(text: &str) -> Result<Self, ParseLinkError> {
        Self::parse_with(text, &mut |_| Err("files are not read here".to_owned()))
    }
}

impl LinkConfig {
    /// Reads the text form, with traces in files: `read` takes the name of a file and
    /// returns its content, or why it cannot be read.
    ///
    /// # Errors
    /// When the text, or a file it names, cannot be read.
    pub fn parse_with(
        text: &str,
        read: &mut dyn FnMut(&str) -> Result<String, String>,
    ) -> Result<Self, ParseLinkError> {
        let mut link = Self::default();
        if text.trim() == PERFECT {
            return Ok(link);
        }
        let mut seen = Vec::new();
        for part in text.split_whitespace() {
            let name = link.set_part(part, read)?;
            if seen.contains(&name) {
                return Err(ParseLinkError::Twice { part: name });
            }
            seen.push(name);
        }
        Ok(link)
    }

    fn follow(&mut self, trace: Trace) -> Result<(), ParseLinkError> {
        match self.trace.replace(trace) {
            None => Ok(()),
            Some(_) => Err(ParseLinkError::Traces),
        }
    }

    /// Applies one `name=value` and returns the name.
    fn set_part(
        &mut self,
        text: &str,
        read: &mut dyn FnMut(&str) -> Result<String, String>,
    ) -> Result<&'static str, ParseLinkError> {
        let unknown = || ParseLinkError::UnknownPart {
            part: text.chars().take(40).collect(),
        };
        let (name, value) = text.split_once('=').ok_or_else(unknown)?;
        if let Some(file) = value.strip_prefix("trace:")
            && let Some(part) = ["rate", "delay", "loss"]
                .into_iter()
                .find(|part| *part == name)
            && (part != "loss" || is_file(file))
        {
            let text = read(file).map_err(|problem| ParseLinkError::File {
                part,
                name: file.to_owned(),
                problem,
            })?;
            match part {
                "delay" => self.delays = Some(Delays::parse(file, &text)?),
                _ => self.follow(Trace::parse(file, &text)?)?,
            }
            return Ok(part);
        }
        if name == "loss" && value.starts_with(SINE) {
            let steps = sine(value).map_err(|source| ParseLinkError::Value {
                part: "loss",
                source,
            })?;
            self.follow(Trace::parse(value, &steps)?)?;
            return Ok("loss");
        }
        let (part, result) = match name {
            "rate" => ("rate", parse_rate(value).map(|rate| self.rate = Some(rate))),
            "delay" => (
                "delay",
                parse_duration(value).map(|delay| self.delay = delay),
            ),
            "steps" => ("steps", value.parse().map(|steps| self.steps = Some(steps))),
            "jitter" => ("jitter", value.parse().map(|jitter| self.jitter = jitter)),
            "bunch" => ("bunch", value.parse().map(|bunch| self.bunch = Some(bunch))),
            "police" => (
                "police",
                value.parse().map(|policer| self.police = Some(policer)),
            ),
            "queue" => ("queue", value.parse().map(|queue| self.queue = queue)),
            "ecn" => ("ecn", value.parse().map(|queue| self.ecn = Some(queue))),
            "loss" => ("loss", value.parse().map(|loss| self.loss = loss)),
            "down" => ("down", value.parse().map(|down| self.down = down)),
            "reorder" => (
                "reorder",
                value.parse().map(|reorder| self.reorder = Some(reorder)),
            ),
            "duplicate" => (
                "duplicate",
                parse_probability(value).map(|p| self.duplicate = p),
            ),
            "mtu" => ("mtu", parse_size(value).map(|mtu| self.mtu = Some(mtu))),
            _ => return Err(unknown()),
        };
        match result {
            Ok(()) => Ok(part),
            Err(source) => Err(ParseLinkError::Value { part, source }),
        }
    }
}

/// Begins a loss that swings.
const SINE: &str = "sine:";
/// Steps of a wave.
const WAVE: u32 = 100;

/// The lines of a trace whose loss swings between two values, from their mean upwards.
fn sine(text: &str) -> Result<String, ValueError> {
    let wrong = || malformed(text, LOSS);
    let parts: Vec<&str> = text[SINE.len()..].split(',').collect();
    let [low, high, period] = parts[..] else {
        return Err(wrong());
    };
    let (low, high) = (parse_probability(low)?, parse_probability(high)?);
    let step = parse_duration(period)? / WAVE;
    if step < std::time::Duration::from_millis(1) {
        return Err(wrong());
    }
    let mut lines = String::new();
    for n in 0..WAVE {
        let wave = (std::f64::consts::TAU * (f64::from(n) + 0.5) / f64::from(WAVE)).sin();
        let p = low + (high - low) * (1.0 + wave) / 2.0;
        lines += &format!("{} loss=iid:{}\n", duration(step * n), percent(round(p)));
    }
    Ok(lines + &format!("{} repeat", duration(step * WAVE)))
}

/// A pattern of zeros and ones is not the name of a file; `./0101` is.
fn is_file(name: &str) -> bool {
    name.bytes().any(|b| b != b'0' && b != b'1')
}

impl fmt::Display for LinkConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let perfect = Self::default();
        let mut parts = Vec::new();
        // A trace without losses was given as a rate, one with losses as a loss.
        let (rates, losses) = match &self.trace {
            Some(trace) if trace.has_loss() => (None, Some(trace)),
            trace => (trace.as_ref(), None),
        };
        match (rates, self.rate) {
            (Some(trace), _) => parts.push(format!("rate=trace:{}", trace.name())),
            (None, Some(bits)) => parts.push(format!("rate={}", rate(bits))),
            (None, None) => {}
        }
        match &self.delays {
            Some(delays) => parts.push(format!("delay=trace:{}", delays.name())),
            None if self.delay != perfect.delay => {
                parts.push(format!("delay={}", duration(self.delay)));
            }
            None => {}
        }
        if let Some(steps) = self.steps {
            parts.push(format!("steps={steps}"));
        }
        if self.jitter != perfect.jitter {
            parts.push(format!("jitter={}", self.jitter));
        }
        if let Some(bunch) = self.bunch {
            parts.push(format!("bunch={bunch}"));
        }
        if let Some(policer) = self.police {
            parts.push(format!("police={policer}"));
        }
        if self.queue != perfect.queue {
            parts.push(format!("queue={}", self.queue));
        }
        if let Some(ecn) = self.ecn {
            parts.push(format!("ecn={ecn}"));
        }
        if let Some(trace) = losses {
            let written = trace.name().starts_with(SINE);
            let prefix = if written { "" } else { "trace:" };
            parts.push(format!("loss={prefix}{}", trace.name()));
        } else if self.loss != perfect.loss {
            parts.push(format!("loss={}", self.loss));
        }
        if self.down != perfect.down {
            parts.push(format!("down={}", self.down));
        }
        if let Some(reorder) = self.reorder {
            parts.push(format!("reorder={reorder}"));
        }
        if self.duplicate != perfect.duplicate {
            parts.push(format!("duplicate={}", percent(self.duplicate)));
        }
        if let Some(mtu) = self.mtu {
            parts.push(format!("mtu={mtu}"));
        }
        if parts.is_empty() {
            parts.push(PERFECT.to_owned());
        }
        f.write_str(&parts.join(" "))
    }
}

impl FromStr for Queue {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        if text == "unlimited" {
            return Ok(Self::UNLIMITED);
        }
        let mut queue = Self::UNLIMITED;
        for limit in text.split(',') {
            let read = if let Some(packets) = limit.strip_suffix("pkt") {
                let plain = packets.bytes().all(|b| b.is_ascii_digit());
                let packets = packets.parse().ok().filter(|_| plain);
                packets.map(|n| queue.packets.replace(n).is_none())
            } else if limit.ends_with('B') {
                parse_size(limit)
                    .ok()
                    .map(|n| queue.bytes.replace(n).is_none())
            } else {
                let time = parse_duration(limit).ok();
                time.map(|t| queue.time.replace(t).is_none())
            };
            // One limit of each kind.
            if read != Some(true) {
                return Err(malformed(text, QUEUE));
            }
        }
        Ok(queue)
    }
}

impl fmt::Display for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limits: Vec<String> = [
            self.time.map(|time| duration(time).to_string()),
            self.packets.map(|packets| format!("{packets}pkt")),
            self.bytes.map(|bytes| size(bytes).to_string()),
        ]
        .into_iter()
        .flatten()
        .collect();
        if limits.is_empty() {
            return write!(f, "unlimited");
        }
        f.write_str(&limits.join(","))
    }
}

impl FromStr for Reorder {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let (share, extra) = text
            .split_once(':')
            .ok_or_else(|| malformed(text, REORDER))?;
        Ok(Self {
            probability: parse_probability(share)?,
            extra: parse_duration(extra)?,
        })
    }
}

impl fmt::Display for Reorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", percent(self.probability), duration(self.extra))
    }
}

impl FromStr for LossModel {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        if text == "none" {
            return Ok(Self::None);
        }
        let wrong = || malformed(text, LOSS);
        let (kind, value) = text.split_once(':').ok_or_else(wrong)?;
        match kind {
            "iid" => Ok(Self::Iid {
                p: parse_probability(value)?,
            }),
            "ge" => {
                let (loss, burst) = value.split_once(',').ok_or_else(wrong)?;
                let burst = decimal(burst)
                    .and_then(|()| burst.parse().ok())
                    .ok_or_else(wrong)?;
                Ok(Self::bursts(parse_probability(loss)?, burst)?)
            }
            "ge4" => {
                let four = value
                    .split(',')
                    .map(parse_probability)
                    .collect::<Result<Vec<_>, _>>()?;
                let [p, r, loss_bad, loss_good] = four[..] else {
                    return Err(wrong());
                };
                Ok(Self::GilbertElliott(GilbertElliott {
                    p,
                    r,
                    loss_good,
                    loss_bad,
                }))
            }
            "burst" => {
                let (chance, longest) = value.split_once(',').ok_or_else(wrong)?;
                let longest = longest.parse().ok().filter(|n| *n > 0).ok_or_else(wrong)?;
                Ok(Self::UniformBursts {
                    chance: parse_probability(chance)?,
                    longest,
                })
            }
            "periodic" => {
                let n = value.parse().ok().filter(|n| *n > 0).ok_or_else(wrong)?;
                Ok(Self::Periodic { n })
            }
            "trace" => {
                let lost = value.bytes().map(|b| match b {
                    b'0' => Some(false),
                    b'1' => Some(true),
                    _ => None,
                });
                let lost: Vec<bool> = lost.collect::<Option<_>>().ok_or_else(wrong)?;
                if lost.is_empty() {
                    Err(wrong())
                } else {
                    Ok(Self::trace(lost))
                }
            }
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for LossModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None | Self::Periodic { n: 0 } => write!(f, "none"),
            Self::Iid { p } => write!(f, "iid:{}", percent(*p)),
            Self::GilbertElliott(ge) => write!(f, "{ge}"),
            Self::UniformBursts { chance, longest } => {
                write!(f, "burst:{},{longest}", percent(*chance))
            }
            Self::Periodic { n } => write!(f, "periodic:{n}"),
            Self::Trace(lost) if lost.is_empty() => write!(f, "none"),
            Self::Trace(lost) => {
                let digits: String = lost.iter().map(|l| if *l { '1' } else { '0' }).collect();
                write!(f, "trace:{digits}")
            }
        }
    }
}

impl fmt::Display for GilbertElliott {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The two-number form where its rounded numbers give back this very chain.
        let loss = round(self.mean_loss());
        let burst = round(1.0 / self.r);
        if Self::from_mean(loss, burst).as_ref() == Ok(self) {
            return write!(f, "ge:{},{burst}", percent(loss));
        }
        let four = [self.p, self.r, self.loss_bad, self.loss_good].map(|p| percent(p).to_string());
        write!(f, "ge4:{}", four.join(","))
    }
}

/// To twelve significant places, where people stop typing.
fn round(x: f64) -> f64 {
    format!("{x:.11e}").parse().unwrap_or(x)
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::time::Duration;

    #[test]
    fn every_part_is_read() {
        let text = "rate=25mbit delay=30ms jitter=1ms queue=60ms,100pkt,64kB ecn=20ms \
                    loss=iid:10% reorder=1%:5ms duplicate=0.5% mtu=1500";
        let link: LinkConfig = text.parse().unwrap();
        let built = LinkConfig::default()
            .with_rate(25_000_000)
            .with_delay(Duration::from_millis(30))
            .with_jitter(Duration::from_millis(1))
            .with_queue(
                Queue::time(Duration::from_millis(60))
                    .and(Queue::packets(100))
                    .and(Queue::bytes(64_000)),
            )
            .with_ecn(Queue::time(Duration::from_millis(20)))
            .with_loss(LossModel::iid(0.1))
            .with_reorder(0.01, Duration::from_millis(5))
            .with_duplicate(0.005)
            .with_mtu(1500);
        assert_eq!(link, built);
        assert_eq!(link.to_string(), text);
    }

    #[test]
    fn a_loss_that_swings_is_a_trace_with_a_text_of_its_own() {
        let text = "rate=10mbit loss=sine:0%,20%,10s";
        let link: LinkConfig = text.parse().unwrap();
        assert_eq!(link.to_string(), text);
        let trace = link.trace.unwrap();
        let loss = |secs: f64| {
            let step = trace.at(Duration::from_secs_f64(secs)).step;
            trace.loss(step).map_or(0.0, LossModel::mean_loss)
        };
        assert!((loss(0.05) - 0.1).abs() < 0.01 && (loss(5.05) - 0.1).abs() < 0.01);
        assert!((loss(2.5) - 0.2).abs() < 1e-3 && loss(7.5) < 1e-3);
        assert!((loss(12.5) - 0.2).abs() < 1e-3, "it begins again");
    }

    #[test]
    fn a_perfect_link_has_a_name() {
        assert_eq!("".parse(), Ok(LinkConfig::default()));
        assert_eq!("perfect".parse(), Ok(LinkConfig::default()));
        assert_eq!(LinkConfig::default().to_string(), "perfect");
    }

    #[test]
    fn errors_name_the_part_and_what_is_accepted() {
        let message = |text: &str| text.parse::<LinkConfig>().unwrap_err().to_string();
        let says = |text: &str, words: &[&str]| {
            let message = message(text);
            for word in words {
                assert!(message.contains(word), "`{word}` is not in: {message}");
            }
        };
        says("rate=fast", &["rate=", "`fast`", "25mbit", "gbit"]);
        says("delay=30", &["delay=", "`30`", "30ms"]);
        says("delay=1ms delay=2ms", &["delay=", "twice"]);
        says("dleay=1ms", &["`dleay=1ms`", "delay=", "mtu="]);
        says("lossy", &["`lossy`", "loss="]);
        says("queue=60", &["queue=", "`60`", "100pkt"]);
        says("queue=-1pkt", &["queue=", "64kB"]);
        says("queue=+1pkt", &["queue=", "64kB"]);
        says("queue=1pkt,2pkt", &["queue=", "60ms,100pkt"]);
        says("queue=1pkt,", &["queue=", "60ms,100pkt"]);
        says("ecn=5", &["ecn=", "60ms"]);
        says("loss=trace:f.txt", &["loss=", "f.txt", "not read here"]);
        says("loss=10%", &["loss=", "iid:10%"]);
        says("loss=iid:110%", &["loss=", "`110%`", "100%"]);
        says("loss=ge:10%", &["loss=", "ge:10%,4"]);
        says("loss=ge:80%,2", &["loss=", "at least 4.000"]);
        says("loss=ge:10%,inf", &["loss=", "mean burst"]);
        says("loss=ge4:1%,2%,3%", &["loss=", "1-h"]);
        says("loss=periodic:0", &["loss=", "periodic:20"]);
        says("loss=burst:1%", &["loss=", "burst:1%,20"]);
        says("loss=burst:1%,0", &["loss=", "burst:1%,20"]);
        says("loss=sine:0%,20%", &["loss=", "sine:0%,20%,10s"]);
        says("loss=sine:0%,20%,10ms", &["loss=", "sine:0%,20%,10s"]);
        says("loss=trace:", &["loss=", "trace:0010"]);
        says("reorder=1%", &["reorder=", "1%:5ms"]);
        says("duplicate=2", &["duplicate=", "10%"]);
        says("mtu=1.5", &["mtu=", "1500"]);
    }

    #[test]
    fn delay_that_moves_reads_and_prints_as_written() {
        for typed in [
            "delay=30ms steps=30ms,15s jitter=5ms,normal,reorder",
            "jitter=5ms,normal bunch=2ms,30ms police=10mbit,64kB",
            "jitter=30ms",
        ] {
            let link: LinkConfig = typed.parse().unwrap();
            assert_eq!(link.to_string(), typed);
        }
        for wrong in [
            "jitter=5ms,square",
            "jitter=5ms,normal,normal",
            "bunch=30ms,2ms",
            "bunch=0,0",
            "steps=30ms",
            "steps=1ms,1us",
            "police=0bit,1kB",
            "police=1mbit",
        ] {
            let part = wrong.split('=').next().unwrap_or_default();
            let message = wrong.parse::<LinkConfig>().unwrap_err().to_string();
            assert!(message.starts_with(part), "{message}");
        }
    }

    #[test]
    fn recorded_links_are_read_for_their_rate_and_delay() {
        let mut read = |name: &str| match name {
            "rate" => Ok("1\n2\n2\n".to_owned()),
            "delay" => Ok("12\n13\n".to_owned()),
            _ => Err("no such file".to_owned()),
        };
        let text = "rate=trace:rate delay=trace:delay loss=iid:1%";
        let link = LinkConfig::parse_with(text, &mut read).unwrap();
        assert_eq!(link.to_string(), text);
        let mut error = |text| {
            LinkConfig::parse_with(text, &mut read)
                .unwrap_err()
                .to_string()
        };
        assert!(error("delay=trace:none").starts_with("delay=: cannot read none"));
        assert!(error("rate=trace:rate loss=sine:0%,20%,10s").contains("one trace"));
        assert!(error("rate=trace:delay rate=trace:rate").contains("one trace"));
    }

    #[test]
    fn a_trace_in_a_file_is_read_through_the_caller() {
        let mut asked = Vec::new();
        let mut read = |name: &str| {
            asked.push(name.to_owned());
            Ok("0s rate=1mbit\n1s rate=oops".to_owned())
        };
        let error = LinkConfig::parse_with("delay=1ms loss=trace:dir/f", &mut read);
        let message = error.unwrap_err().to_string();
        assert!(message.contains("dir/f, line 2") && message.contains("`oops`"));
        assert_eq!(asked, ["dir/f"]);
        let mut read = |_: &str| Ok("0s rate=1mbit loss=iid:1%".to_owned());
        let link = LinkConfig::parse_with("delay=1ms loss=trace:f", &mut read).unwrap();
        assert_eq!(link.to_string(), "delay=1ms loss=trace:f");
        // Zeros and ones are a pattern, not a file.
        assert!("loss=trace:0110".parse::<LinkConfig>().is_ok());
    }

    #[test]
    fn gilbert_is_shown_as_it_was_typed() {
        for typed in [
            "ge:10%,4",
            "ge:0.1%,3",
            "ge:7.5%,2.25",
            "ge:30%,20",
            "ge4:1%,25%,90%,0.1%",
            "burst:1%,20",
        ] {
            assert_eq!(typed.parse::<LossModel>().unwrap().to_string(), typed);
        }
    }
}
