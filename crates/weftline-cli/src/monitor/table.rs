//! What running commands show, for people.

use std::fmt::Write;

use serde_json::Value;
use weftline_apps::printable;

use crate::ui::progress::size;

/// A part for each command, a line for each connection, and one for each path if there are several.
/// Rates are those since `before`, else of the whole time. Without a command it says so.
pub(super) fn table(now: &[Value], before: &[Value]) -> String {
    if now.is_empty() {
        return "no command that stays is running here, or none of this user\n".to_owned();
    }
    let mut text = String::new();
    for one in now {
        let same = |other: &&Value| other["pid"] == one["pid"] && other["end"] == one["end"];
        command(&mut text, one, before.iter().find(same));
    }
    text
}

fn command(text: &mut String, one: &Value, before: Option<&Value>) {
    let words = [&one["command"], &one["end"]].map(|word| word.as_str().unwrap_or("?"));
    let open = one["open"].as_array().map_or(&[][..], Vec::as_slice);
    // Writing to a string cannot fail.
    let _ = write!(
        text,
        "weftline {} (process {}): {}",
        printable(words.join(" ").trim_end()),
        one["pid"],
        time(number(&one["seconds"])),
    );
    // `cast` never has one.
    if one["connections"] != 0 {
        let _ = write!(
            text,
            ", {} open of {}, sent {}, received {}",
            one["open_connections"],
            one["connections"],
            size(one["totals"]["packet_bytes_sent"].as_u64().unwrap_or(0)),
            size(one["totals"]["packet_bytes_received"].as_u64().unwrap_or(0)),
        );
    }
    text.push('\n');
    for line in one["summary"].as_str().unwrap_or_default().lines() {
        let _ = writeln!(text, "  {}", printable(line));
    }
    if !open.is_empty() {
        let _ = writeln!(
            text,
            "  {:<44} {:>9} {:>9} {:>8} {:>7} {:>8} {:>9} {:>9}",
            "peer", "out", "in", "RTT", "loss", "repairs", "recovered", "stall p99"
        );
    }
    for connection in open {
        let old = before.and_then(|before| {
            let all = before["open"].as_array()?;
            all.iter().find(|old| old["number"] == connection["number"])
        });
        line(text, connection, old);
    }
}

fn line(text: &mut String, connection: &Value, before: Option<&Value>) {
    let peer = connection["peer"].as_str().unwrap_or("unknown");
    let remote = connection["remote"].as_str().unwrap_or("?");
    let seconds = number(&connection["seconds"]) - before.map_or(0.0, |b| number(&b["seconds"]));
    let rate = |key: &str| {
        let now = number(&connection["counted"][key]);
        let then = before.map_or(0.0, |before| number(&before["counted"][key]));
        format!("{:.2} M", (now - then).max(0.0) * 8e-6 / seconds.max(1e-3))
    };
    let counted = &connection["counted"];
    let sources = number(&counted["source_symbols_sent"]).max(1.0);
    let repairs = 100.0 * number(&counted["repair_symbols_sent"]) / sources;
    let stall = match counted["stall_p99_ms"].as_f64() {
        Some(ms) => format!("<= {ms:.0} ms"),
        None => "-".to_owned(),
    };
    // The first group of a fingerprint tells peers apart.
    let short = peer.split('-').next().unwrap_or(peer);
    let _ = writeln!(
        text,
        "  {:<44} {:>9} {:>9} {:>8} {:>7} {:>8} {:>9} {:>9}",
        printable(&format!("{short}... {remote}")),
        rate("packet_bytes_sent"),
        rate("packet_bytes_received"),
        format!("{:.0} ms", number(&connection["rtt_ms"])),
        format!("{:.1} %", 100.0 * number(&connection["loss"])),
        format!("{repairs:.0} %"),
        number(&counted["symbols_recovered"]),
        stall,
    );
    let paths = connection["paths"].as_array().filter(|all| all.len() > 1);
    for path in paths.into_iter().flatten() {
        let state = match (path["open"].as_bool(), path["silent"].as_bool()) {
            (Some(false), _) => "closed",
            (_, Some(true)) => "silent",
            _ => "open",
        };
        // Where nobody asked for a certain one, the number tells it from others.
        let name = match path["path"].as_str() {
            None | Some("default") => path["number"].to_string(),
            Some(name) => name.to_owned(),
        };
        let sources = number(&path["source_symbols"]).max(1.0);
        let repairs = 100.0 * number(&path["repair_symbols"]) / sources;
        let _ = writeln!(
            text,
            "    {:<42} {:>9} {:>9} {:>8} {:>7} {:>8} {:>9}",
            printable(&format!("path {name}, {state}")),
            size(path["sent_bytes"].as_u64().unwrap_or(0)),
            size(path["received_bytes"].as_u64().unwrap_or(0)),
            format!("{:.0} ms", number(&path["rtt_ms"])),
            format!("{:.1} %", 100.0 * number(&path["loss"])),
            format!("{repairs:.0} %"),
            number(&path["recovered_symbols"]),
        );
    }
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(0.0)
}

fn time(seconds: f64) -> String {
    let seconds = seconds as u64;
    match (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60) {
        (0, 0, 0) => format!("for {seconds} s"),
        (0, 0, minutes) => format!("for {minutes} min {} s", seconds % 60),
        (0, hours, minutes) => format!("for {hours} h {minutes} min"),
        (days, hours, _) => format!("for {days} d {hours} h"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn view(seconds: f64, bytes: u64) -> Value {
        json!({
            "summary": "relayed 7 datagrams", "command": "relay", "end": "serve", "pid": 7, "seconds": seconds, "connections": 3, "open_connections": 1,
            "totals": {"packet_bytes_sent": bytes, "packet_bytes_received": 0},
            "open": [{
                "number": 2, "peer": "abcd-efgh", "remote": "192.0.2.1:9", "seconds": seconds,
                "rtt_ms": 60.4, "loss": 0.05,
                "paths": [{"path": "eth0", "open": true, "silent": false},
                          {"path": "wwan0", "open": true, "silent": true},
                          {"path": "default", "number": 3, "open": false, "silent": true,
                           "source_symbols": 50, "repair_symbols": 20}],
                "counted": {"packet_bytes_sent": bytes, "packet_bytes_received": 0,
                    "source_symbols_sent": 100, "repair_symbols_sent": 12,
                    "symbols_recovered": 4, "stall_p99_ms": 20.0},
            }],
        })
    }

    #[test]
    fn rates_are_those_since_the_last_look() {
        let table = table(&[view(11.0, 3_000_000)], &[view(10.0, 2_000_000)]);
        assert!(table.contains("weftline relay serve (process 7): for 11 s, 1 open of 3"));
        assert!(table.contains("abcd... 192.0.2.1:9"), "{table}");
        for word in [
            "\n  relayed 7 datagrams\n",
            "8.00 M",
            "60 ms",
            "5.0 %",
            "12 %",
            "<= 20 ms",
            "path wwan0, silent",
            "path 3, closed",
            "40 %",
        ] {
            assert!(table.contains(word), "{word}: {table}");
        }
    }

    #[test]
    fn a_command_without_connections_has_its_summary() {
        let cast = json!({"command": "cast", "end": "recv", "pid": 7, "seconds": 5, "connections": 0,
            "open_connections": 0, "totals": {}, "open": [], "summary": "delivered 3 datagrams"});
        let text = table(&[cast], &[]);
        assert_eq!(
            text,
            "weftline cast recv (process 7): for 5 s\n  delivered 3 datagrams\n"
        );
    }

    #[test]
    fn what_is_missing_is_no_panic() {
        assert!(table(&[json!({"open": [{}]})], &[]).contains("unknown"));
    }

    #[test]
    fn long_times_have_fitting_units() {
        let all = [5.0, 65.0, 3700.0, 90_000.0].map(time);
        assert_eq!(
            all,
            ["for 5 s", "for 1 min 5 s", "for 1 h 1 min", "for 1 d 1 h"]
        );
    }
}
