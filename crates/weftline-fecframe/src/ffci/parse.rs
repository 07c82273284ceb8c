//! The parser of session descriptions.

use core::time::Duration;
use std::net::{IpAddr, SocketAddr};

use super::{Endpoint, Ffci, RepairFlow, SourceFlow};
use crate::{EncodingId, Fssi, FssiError};

/// The longest description that is accepted, in bytes: enough for all 256 flows.
const LONGEST: usize = 1 << 20;

/// Why a session description does not describe an instance.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SdpError {
    /// It is too long.
    #[error("the session description has {got} bytes; at most {LONGEST} are accepted")]
    TooLong {
        /// Its bytes.
        got: usize,
    },
    /// A line is not valid.
    #[error("line {line} of the session description is {text:?}; expected {expected}")]
    Line {
        /// Its number, from 1.
        line: usize,
        /// The line, cut if long.
        text: String,
        /// The expected form.
        expected: &'static str,
    },
    /// The scheme-specific information is wrong.
    #[error("line {line} of the session description: {error}")]
    Fssi {
        /// Its number, from 1.
        line: usize,
        /// The reason.
        error: FssiError,
    },
    /// Something is missing.
    #[error("the session description has no {what}")]
    Missing {
        /// Its name.
        what: &'static str,
    },
    /// Something is given twice.
    #[error("the session description has more than one {what}")]
    Twice {
        /// Its name.
        what: &'static str,
    },
    /// Source packets have a different trailer than the scheme.
    #[error("flow {flow} has a tag of {got} octets, but the scheme has {expected}")]
    Tag {
        /// The flow.
        flow: u8,
        /// Octets of its tag.
        got: usize,
        /// Octets of the scheme's trailer.
        expected: usize,
    },
}

/// A medium that is being parsed.
#[derive(Default)]
struct Medium {
    media: String,
    protocol: String,
    format: String,
    port: u16,
    address: Option<(IpAddr, Option<u8>)>,
    sender: Option<IpAddr>,
    attributes: Vec<String>,
    source: Option<(u8, usize)>,
    repair: Option<(EncodingId, Fssi)>,
    window: Option<Duration>,
}

pub(super) fn sdp(text: &str) -> Result<Ffci, SdpError> {
    if text.len() > LONGEST {
        return Err(SdpError::TooLong { got: text.len() });
    }
    let mut session = Medium::default();
    let mut name = None;
    let mut media: Vec<Medium> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let error = |expected| SdpError::Line {
            line: index + 1,
            text: line.chars().take(80).collect(),
            expected,
        };
        let Some((kind, value)) = line.trim_end().split_once('=') else {
            if line.trim().is_empty() {
                continue;
            }
            return Err(error("a letter, = and a value"));
        };
        let current = media.last_mut().unwrap_or(&mut session);
        match kind {
            "s" => name = Some(value.to_owned()),
            "m" => {
                let medium = medium(value).ok_or_else(|| error("m=MEDIA PORT PROTOCOL FORMAT"))?;
                media.push(medium);
            }
            "c" => {
                let address = connection(value);
                current.address =
                    Some(address.ok_or_else(|| error("c=IN IP4 ADDRESS/TTL or c=IN IP6 ADDRESS"))?);
            }
            "a" => attribute(value, current, index + 1)?.map_err(error)?,
            _ => {}
        }
    }
    assemble(name, session, media)
}

fn assemble(name: Option<String>, session: Medium, media: Vec<Medium>) -> Result<Ffci, SdpError> {
    let mut repair = None;
    let mut sources: Vec<SourceFlow> = Vec::new();
    let mut tags = Vec::new();
    for medium in media {
        let endpoint = |what| {
            let (ip, ttl) = medium
                .address
                .or(session.address)
                .ok_or(SdpError::Missing { what })?;
            Ok(Endpoint {
                address: SocketAddr::new(ip, medium.port),
                ttl,
                sender: medium.sender.or(session.sender),
            })
        };
        if let Some((encoding_id, fssi)) = medium.repair {
            let flow = RepairFlow {
                encoding_id,
                fssi,
                endpoint: endpoint("address of the repair flow")?,
                window: medium.window.or(session.window),
            };
            if repair.replace(flow).is_some() {
                return Err(SdpError::Twice {
                    what: "repair flow",
                });
            }
        } else if let Some((id, tag)) = medium.source {
            let endpoint = endpoint("address of a source flow")?;
            if sources.iter().any(|flow| flow.id == id) {
                let what = "source flow with one identifier";
                return Err(SdpError::Twice { what });
            }
            tags.push((id, tag));
            sources.push(SourceFlow {
                id,
                endpoint,
                media: medium.media,
                protocol: medium.protocol,
                format: medium.format,
                attributes: medium.attributes,
            });
        }
    }
    let what = "repair flow with an encoding-id of 8, 9 or 10 (a=fec-repair-flow)";
    let repair = repair.ok_or(SdpError::Missing { what })?;
    if sources.is_empty() {
        let what = "source flow (a=fec-source-flow)";
        return Err(SdpError::Missing { what });
    }
    let expected = repair.encoding_id.tag_length();
    if let Some((flow, got)) = tags.into_iter().find(|(_, tag)| *tag != expected) {
        return Err(SdpError::Tag {
            flow,
            got,
            expected,
        });
    }
    Ok(Ffci {
        name: name.unwrap_or_else(|| "-".to_owned()),
        sources,
        repair,
    })
}

fn medium(value: &str) -> Option<Medium> {
    let mut words = value.splitn(4, ' ');
    let (media, port) = (words.next()?, words.next()?.parse().ok()?);
    let (protocol, format) = (words.next()?, words.next()?);
    Some(Medium {
        media: media.to_owned(),
        protocol: protocol.strip_prefix("FEC/").unwrap_or(protocol).to_owned(),
        format: format.to_owned(),
        port,
        ..Medium::default()
    })
}

fn connection(value: &str) -> Option<(IpAddr, Option<u8>)> {
    let mut words = value.split_whitespace();
    let (net, family, address) = (words.next()?, words.next()?, words.next()?);
    let (address, ttl) = match address.split_once('/') {
        // A number after an IPv6 address counts addresses.
        Some((address, _)) if family == "IP6" => (address, None),
        Some((address, rest)) => {
            let ttl = rest.split('/').next()?;
            (address, Some(ttl.parse().ok()?))
        }
        None => (address, None),
    };
    let address = ip(family, address)?;
    (net == "IN").then_some((address, ttl))
}

fn ip(family: &str, address: &str) -> Option<IpAddr> {
    match family {
        "IP4" => address.parse().ok().map(IpAddr::V4),
        "IP6" => address.parse().ok().map(IpAddr::V6),
        _ => None,
    }
}

/// Adds an attribute to a medium; the inner error names the expected form.
fn attribute(
    value: &str,
    medium: &mut Medium,
    line: usize,
) -> Result<Result<(), &'static str>, SdpError> {
    let (name, rest) = value.split_once(':').unwrap_or((value, ""));
    match name {
        "fec-source-flow" => {
            const EXPECTED: &str = "a=fec-source-flow: id=0; tag-len=4";
            let Some(id) = parameter(rest, "id").and_then(|id| id.parse().ok()) else {
                return Ok(Err(EXPECTED));
            };
            let tag = parameter(rest, "tag-len").map_or(Ok(0), str::parse);
            let Ok(tag) = tag else {
                return Ok(Err(EXPECTED));
            };
            medium.source = Some((id, tag));
        }
        "fec-repair-flow" => {
            const EXPECTED: &str = "a=fec-repair-flow: encoding-id=10; fssi=E:1400,WSR:191, with an encoding-id of 8, 9 or 10";
            let id = parameter(rest, "encoding-id").and_then(|id| id.parse().ok());
            let id = id.and_then(EncodingId::from_number);
            let (Some(id), Some(fssi)) = (id, parameter(rest, "fssi")) else {
                return Ok(Err(EXPECTED));
            };
            let fssi = Fssi::parse(id, fssi).map_err(|error| SdpError::Fssi { line, error })?;
            medium.repair = Some((id, fssi));
        }
        "repair-window" => {
            let Some(window) = window(rest.trim()) else {
                return Ok(Err("a=repair-window:200ms or a=repair-window:1500us"));
            };
            medium.window = Some(window);
        }
        "source-filter" => {
            let words: Vec<&str> = rest.split_whitespace().collect();
            let sender = match words[..] {
                ["incl", "IN", family, _, sender] => ip(family, sender),
                _ => None,
            };
            if sender.is_none() {
                return Ok(Err(
                    "a=source-filter: incl IN IP4 GROUP SENDER, with one sender",
                ));
            }
            medium.sender = sender;
        }
        "mid" | "group" => {}
        _ => medium.attributes.push(value.to_owned()),
    }
    Ok(Ok(()))
}

fn parameter<'a>(list: &'a str, name: &str) -> Option<&'a str> {
    list.split(';').find_map(|parameter| {
        let (given, value) = parameter.trim().split_once('=')?;
        (given == name).then_some(value.trim())
    })
}

fn window(text: &str) -> Option<Duration> {
    if let Some(ms) = text.strip_suffix("ms") {
        return ms.trim().parse().ok().map(Duration::from_millis);
    }
    let us = text.strip_suffix("us")?;
    us.trim().parse().ok().map(Duration::from_micros)
}
