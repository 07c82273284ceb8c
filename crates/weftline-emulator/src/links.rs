//! Both directions of a path, and their text form.

use std::fs::File;
use std::io::Read;

use weftline_netem::{LinkConfig, NamedLink, Queue};

/// The default queue of a link with a rate.
const DEFAULT_QUEUE: Queue = Queue::time(std::time::Duration::from_millis(100));
/// Longest trace file that is read, in bytes.
const MAX_TRACE: u64 = 64 << 20;

/// A link's text that cannot be parsed; the message gives the accepted form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnreadableLink {
    /// That of the link from side A to side B.
    #[error("the link from a to b: {0}")]
    Forward(String),
    /// That of the link from side B to side A.
    #[error("the link from b to a: {0}")]
    Back(String),
}

/// Both directions of a path.
#[derive(Debug, Clone, PartialEq)]
pub struct Links {
    /// From side A to side B.
    pub forward: LinkConfig,
    /// From side B to side A.
    pub back: LinkConfig,
}

impl Links {
    /// Parses the text form of links.
    ///
    /// `link` is a link's text form or the name of a [`NamedLink`]. Without `back`, the return
    /// path is that of the named link, or has the same rate, delay, queue, outages and MTU and no loss. A
    /// link with a rate but no `queue=` holds packets for 100 ms. Traces are read from files.
    ///
    /// # Errors
    /// Names the part that cannot be parsed and the accepted form.
    pub fn parse(link: &str, back: Option<&str>) -> Result<Self, UnreadableLink> {
        let is_name =
            |text: &str| !text.contains('=') && text.trim() != "perfect" && !text.trim().is_empty();
        let read = |text: &str| {
            let mut config =
                LinkConfig::parse_with(text, &mut read_file).map_err(|e| e.to_string())?;
            let says_queue = text
                .split_whitespace()
                .any(|part| part.starts_with("queue="));
            if !says_queue && (config.rate.is_some() || config.trace.is_some()) {
                config.queue = DEFAULT_QUEUE;
            }
            Ok::<_, String>(config)
        };
        let named = |text: &str| NamedLink::find(text.trim()).map_err(|e| e.to_string());
        let (forward, mut other) = if is_name(link) {
            named(link).map_err(UnreadableLink::Forward)?.both()
        } else {
            let forward = read(link).map_err(UnreadableLink::Forward)?;
            let mut other = LinkConfig::default().with_delay(forward.delay);
            (other.rate, other.queue, other.mtu) = (forward.rate, forward.queue, forward.mtu);
            other.down = forward.down.clone();
            (forward, other)
        };
        if let Some(back) = back {
            let read = match is_name(back) {
                true => named(back).map(|link| link.back()),
                false => read(back),
            };
            other = read.map_err(UnreadableLink::Back)?;
        }
        Ok(Self {
            forward,
            back: other,
        })
    }
}

fn read_file(name: &str) -> Result<String, String> {
    let mut text = String::new();
    let file = File::open(name).map_err(|e| e.to_string())?;
    let read = file.take(MAX_TRACE + 1).read_to_string(&mut text);
    match read.map_err(|e| e.to_string())? as u64 {
        0..=MAX_TRACE => Ok(text),
        _ => Err(format!("the file is longer than {} MB", MAX_TRACE >> 20)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_default_return_path_is_as_fast_and_lossless() {
        let links = Links::parse(
            "rate=25mbit delay=30ms loss=iid:5% jitter=1ms mtu=1400",
            None,
        )
        .unwrap();
        assert_eq!(
            links.back.to_string(),
            "rate=25mbit delay=30ms queue=100ms mtu=1400"
        );
        let links = Links::parse("delay=1ms down=5s..6s", None).unwrap();
        assert_eq!(links.back.to_string(), "delay=1ms down=5s..6s");
        let links = Links::parse("rate=25mbit queue=9pkt", Some("delay=30ms")).unwrap();
        assert_eq!(links.forward.to_string(), "rate=25mbit queue=9pkt");
        assert_eq!(links.back.to_string(), "delay=30ms");
    }

    #[test]
    fn a_queue_is_bounded_by_default() {
        let queue = |text: &str| Links::parse(text, None).unwrap().forward.queue;
        assert_eq!(queue("rate=1mbit").time, Some(Duration::from_millis(100)));
        assert_eq!(queue("rate=1mbit queue=unlimited"), Queue::UNLIMITED);
        assert_eq!(queue("delay=1ms"), Queue::UNLIMITED);
    }

    #[test]
    fn a_named_link_has_its_own_return_path() {
        let links = Links::parse("lte", None).unwrap();
        let lte = NamedLink::find("lte").unwrap();
        assert_eq!((links.forward, links.back), lte.both());
        let links = Links::parse("delay=1ms", Some("lte")).unwrap();
        assert_eq!(links.back, lte.back());
    }

    #[test]
    fn errors_say_which_link_is_meant() {
        let says = |link: &str, back: Option<&str>, words: [&str; 2]| {
            let message = Links::parse(link, back).unwrap_err().to_string();
            assert!(words.iter().all(|w| message.contains(w)), "{message}");
        };
        says("delay=30", None, ["from a to b", "30ms"]);
        says("delay=30ms", Some("loss=5%"), ["from b to a", "iid:10%"]);
        says("wifl", None, ["from a to b", "wifi"]);
        says(
            "loss=trace:/does/not/exist",
            None,
            ["from a to b", "/does/not/exist"],
        );
    }
}
