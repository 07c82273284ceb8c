//! The writer of session descriptions.

use core::fmt::Write;
use std::net::IpAddr;

use super::{Endpoint, Ffci};

pub(super) fn sdp(ffci: &Ffci) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = write(ffci, &mut text);
    text
}

fn write(ffci: &Ffci, out: &mut String) -> core::fmt::Result {
    let repair = &ffci.repair;
    let origin = repair.endpoint.sender;
    let origin = origin.unwrap_or(match repair.endpoint.address.ip() {
        IpAddr::V4(_) => IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED),
        IpAddr::V6(_) => IpAddr::V6(std::net::Ipv6Addr::UNSPECIFIED),
    });
    write!(out, "v=0\r\no=- 0 0 {} {origin}\r\n", family(origin))?;
    write!(out, "s={}\r\nt=0 0\r\n", clean(&ffci.name))?;
    // RFC 5956: these media are one FECFRAME instance.
    write!(out, "a=group:FEC-FR")?;
    for flow in &ffci.sources {
        write!(out, " S{}", flow.id)?;
    }
    write!(out, " R\r\n")?;
    for flow in &ffci.sources {
        let port = flow.endpoint.address.port();
        let (media, protocol) = (clean(&flow.media), clean(&flow.protocol));
        // RFC 6364, section 4.1: the prefix announces the trailer.
        write!(
            out,
            "m={media} {port} FEC/{protocol} {}\r\n",
            clean(&flow.format)
        )?;
        endpoint(&flow.endpoint, out)?;
        for attribute in &flow.attributes {
            write!(out, "a={}\r\n", clean(attribute))?;
        }
        let tag = repair.encoding_id.tag_length();
        write!(out, "a=fec-source-flow: id={}; tag-len={tag}\r\n", flow.id)?;
        write!(out, "a=mid:S{}\r\n", flow.id)?;
    }
    write!(
        out,
        "m=application {} UDP/FEC *\r\n",
        repair.endpoint.address.port()
    )?;
    endpoint(&repair.endpoint, out)?;
    let id = repair.encoding_id.number();
    write!(
        out,
        "a=fec-repair-flow: encoding-id={id}; fssi={}\r\n",
        repair.fssi
    )?;
    if let Some(window) = repair.window {
        let micros = crate::time::micros(window);
        if micros.is_multiple_of(1000) {
            write!(out, "a=repair-window:{}ms\r\n", micros / 1000)?;
        } else {
            write!(out, "a=repair-window:{micros}us\r\n")?;
        }
    }
    write!(out, "a=mid:R\r\n")
}

fn endpoint(endpoint: &Endpoint, out: &mut String) -> core::fmt::Result {
    let ip = endpoint.address.ip();
    write!(out, "c={} {ip}", family(ip))?;
    if let (IpAddr::V4(_), Some(ttl)) = (ip, endpoint.ttl) {
        write!(out, "/{ttl}")?;
    }
    write!(out, "\r\n")?;
    if let Some(sender) = endpoint.sender {
        write!(
            out,
            "a=source-filter: incl {} {ip} {sender}\r\n",
            family(ip)
        )?;
    }
    Ok(())
}

fn family(ip: IpAddr) -> &'static str {
    match ip {
        IpAddr::V4(_) => "IN IP4",
        IpAddr::V6(_) => "IN IP6",
    }
}

/// Replaces control characters, so that a text stays on its line.
fn clean(text: &str) -> String {
    let clean = |c: char| if c.is_control() { ' ' } else { c };
    text.chars().map(clean).collect()
}
