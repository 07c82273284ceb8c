//! `--metrics`, `weftline status` and `weftline top`: real processes.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use crate::running::{PATIENCE, Running, command, start};
use weftline_testkit::until;

/// The whole answer to these bytes.
fn ask(address: &str, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    // A server that lets a client go may reset the connection, while it still asks too.
    let _ = stream.write_all(request);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

fn get(address: &str, path: &str) -> String {
    ask(
        address,
        format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n").as_bytes(),
    )
}

/// The sum of all values of a metric.
fn metric(text: &str, name: &str) -> f64 {
    let mut lines = text.lines().peekable();
    let values = std::iter::from_fn(|| {
        lines.find_map(|line| {
            let (series, value) = line.rsplit_once(' ')?;
            let its = series.split('{').next() == Some(name);
            its.then(|| value.parse::<f64>().unwrap())
        })
    });
    let values: Vec<f64> = values.collect();
    assert!(!values.is_empty(), "no {name} in {text}");
    values.iter().sum()
}

/// Every histogram ends with the bucket `+Inf`, which counts all that was measured.
fn has_complete_histograms(text: &str) {
    let counts = text.lines().filter_map(|line| {
        let (series, count) = line.rsplit_once(' ')?;
        let (name, labels) = series.split_once('{')?;
        Some((name.strip_suffix("_count")?, labels, count))
    });
    let counts: Vec<_> = counts.collect();
    assert!(counts.len() >= 3, "{text}");
    for (name, labels, count) in counts {
        let all = format!("{name}_bucket{{le=\"+Inf\",{labels} {count}");
        assert!(text.lines().any(|line| line == all), "no {all} in {text}");
    }
}

/// A relay of two programs that can be watched, after a datagram each way.
struct Relay {
    home: TempDir,
    server: Running,
    client: Running,
    metrics: [String; 2],
}

fn relay() -> Relay {
    let home = tempfile::tempdir().unwrap();
    let target = UdpSocket::bind("127.0.0.1:0").unwrap();
    target.set_read_timeout(Some(PATIENCE)).unwrap();
    let at = target.local_addr().unwrap().to_string();
    let watched = ["--metrics", "0", "--log-dir", "logs"];
    let serve = ["relay", "serve", "--listen", "127.0.0.1:0", "--allow", &at];
    let mut server = start(home.path(), &[&serve[..], &watched].concat());
    let hint = server.line("  weftline relay connect ");
    let words: Vec<&str> = hint.split_whitespace().collect();
    let rule = format!("0={at}");
    let connect = ["relay", "connect", words[3], "--peer", words[5]];
    let mut client = start(
        home.path(),
        &[&connect[..], &["--udp", &rule], &watched].concat(),
    );
    let address = |running: &mut Running| {
        let line = running.line("metrics at http://");
        let (_, address) = line.split_once("http://").unwrap();
        address.trim_end_matches('/').to_owned()
    };
    let metrics = [address(&mut server), address(&mut client)];
    let line = client.line(" -> ");
    let near = line.split_whitespace().next().unwrap();
    crate::relay::ask(near, &target);
    Relay {
        home,
        server,
        client,
        metrics,
    }
}

/// What a command that ends at once prints.
fn run(home: &TempDir, arguments: &[&str]) -> String {
    let mut command = command(home.path(), arguments);
    command.env("XDG_RUNTIME_DIR", home.path());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn metrics_count_what_the_programs_carry() {
    let relay = relay();
    let [server, client] = relay.metrics.each_ref().map(|at| get(at, "/metrics"));
    for text in [&server, &client] {
        assert!(text.starts_with("HTTP/1.1 200 OK\r\n"), "{text}");
        assert!(text.contains("content-type: application/openmetrics-text"));
        assert!(text.ends_with("# EOF\n"), "{text}");
        has_complete_histograms(text);
        assert_eq!(metric(text, "weftline_relay_sent_datagrams_total"), 1.0);
        assert_eq!(
            metric(text, "weftline_relay_delivered_datagrams_total"),
            1.0
        );
        // There is one flow.
        for way in ["sent", "delivered"] {
            for what in ["datagrams", "bytes"] {
                let of_flow = metric(text, &format!("weftline_relay_flow_{way}_{what}_total"));
                let all = metric(text, &format!("weftline_relay_{way}_{what}_total"));
                assert_eq!(of_flow, all, "{way} {what}");
            }
        }
        assert_eq!(metric(text, "weftline_connections_open"), 1.0);
        // There is one connection, so its counters are those of all.
        for name in ["packets_sent", "data_bytes_sent", "repair_symbols_sent"] {
            let all = metric(text, &format!("weftline_{name}_total"));
            assert_eq!(
                metric(text, &format!("weftline_connection_{name}_total")),
                all
            );
        }
        assert!(metric(text, "weftline_path_rtt_seconds") > 0.0);
        assert!(metric(text, "weftline_path_round_trip_seconds_count") > 0.0);
        assert!(metric(text, "weftline_connection_repair_budget_ratio") >= 0.0);
        assert_eq!(metric(text, "weftline_connection_stall_seconds_count"), 0.0);
        assert_eq!(metric(text, "weftline_stall_seconds_count"), 0.0);
    }
    let sent = metric(&client, "weftline_packet_bytes_sent_total");
    assert!(sent > 1200.0, "a handshake alone sends more: {sent}");
    let json = get(&relay.metrics[0], "/status.json");
    let (_, body) = json.split_once("\r\n\r\n").unwrap();
    let json: Value = serde_json::from_str(body).unwrap();
    assert_eq!(json["counters"]["sent"]["datagrams"], 1);
    assert_eq!(json["counters"]["busiest"][0]["delivered_datagrams"], 1);
    assert_eq!(json["open"].as_array().unwrap().len(), 1);
    assert!(get(&relay.metrics[0], "/").contains("<!doctype html>"));
}

#[test]
fn each_program_leaves_a_log_of_the_whole_session() {
    let relay = relay();
    // The client first, so that it is the one that closes.
    for program in [relay.client, relay.server] {
        program.signal("-TERM");
        program.end();
    }
    let logs = std::fs::read_dir(relay.home.path().join("logs")).unwrap();
    let mut ends = BTreeSet::new();
    for log in logs {
        let text = std::fs::read_to_string(log.unwrap().path()).unwrap();
        let records = text
            .lines()
            .map(|line| line.strip_prefix('\u{1e}').unwrap());
        let mut records = records.map(|record| serde_json::from_str::<Value>(record).unwrap());
        let head = records.next().unwrap();
        assert_eq!(head["qlog_version"], "0.3");
        let about = &head["trace"]["configuration"]["weftline"];
        assert!(about["peer"].is_string() && about["remote"].is_string());
        let names: Vec<Value> = records.map(|record| record["name"].clone()).collect();
        // A datagram each way, and the end.
        for name in ["written", "source_sent", "source_received", "closed"] {
            let count = names.iter().filter(|n| **n == format!("weftline:{name}"));
            assert!(count.count() >= 1, "{name}: {names:?}");
        }
        ends.insert(head["trace"]["vantage_point"]["type"].to_string());
    }
    assert_eq!(ends.len(), 2, "{ends:?}");
}

#[test]
fn nothing_that_is_asked_of_metrics_ends_the_service() {
    let relay = relay();
    let at = relay.metrics[0].as_str();
    assert!(get(at, "/etc/passwd").starts_with("HTTP/1.1 404"));
    for (host, status) in [("rebound.example", 403), ("relay-host:9339", 200)] {
        let request = format!("GET /status.json HTTP/1.1\r\nHost: {host}\r\n\r\n");
        let answer = ask(at, request.as_bytes());
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status}")),
            "{answer}"
        );
    }
    let post = b"POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n";
    assert!(ask(at, post).starts_with("HTTP/1.1 405"));
    let long = [b"GET /metrics HTTP/1.1\r\nX: ".as_slice(), &[b'a'; 1 << 20]].concat();
    assert!(!ask(at, &long).starts_with("HTTP/1.1 200"));
    assert!(!ask(at, &[0xff; 500]).starts_with("HTTP/1.1 200"));
    // Those that say nothing take all places, but none of `weftline status`, and leave them when they go.
    let idle: Vec<TcpStream> = (0..40).map(|_| TcpStream::connect(at).unwrap()).collect();
    // The last one found none, so the others have theirs.
    let mut last = idle.last().unwrap();
    last.set_read_timeout(Some(PATIENCE)).unwrap();
    assert_eq!(last.read(&mut [0]).unwrap(), 0);
    let there = shown(&relay.home, relay.server.id());
    assert_eq!(there.unwrap()["command"], "relay");
    drop(idle);
    until("an answer", || {
        get(at, "/metrics").contains("# EOF").then_some(())
    });
    relay.server.signal("-TERM");
    assert_eq!(relay.server.end().0, 143);
}

#[test]
fn the_page_and_the_dashboard_name_what_there_is() {
    let relay = relay();
    let text = get(&relay.metrics[0], "/metrics");
    let named = |text: &str| -> BTreeSet<String> {
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        words.map(str::to_owned).collect()
    };
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/operate/");
    let read = |name| std::fs::read_to_string(format!("{docs}{name}")).unwrap();
    let page = named(&read("monitoring.md"));
    let there = named(&text);
    for line in text
        .lines()
        .filter_map(|l| l.strip_prefix("# TYPE weftline_"))
    {
        let (name, kind) = line.split_once(' ').unwrap();
        let suffix = if kind == "counter" { "_total" } else { "" };
        let each = name.strip_prefix("connection_").unwrap_or(name);
        let is_there = [name, each].map(|n| page.contains(&format!("{n}{suffix}")));
        let own = name.starts_with("relay_");
        assert!(
            own || is_there.contains(&true),
            "monitoring.md lacks {name}"
        );
    }
    let dashboard = named(&read("grafana.json"));
    let used: Vec<_> = dashboard
        .iter()
        .filter(|n| n.starts_with("weftline_"))
        .collect();
    assert!(used.len() > 10);
    for name in used {
        assert!(there.contains(name), "the dashboard asks for {name}");
    }
}

#[test]
fn metrics_count_who_was_turned_away_and_show_the_limits() {
    let [home, other] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let words = [
        "relay",
        "serve",
        "--allow",
        "*:*",
        "--listen",
        "127.0.0.1:0",
    ];
    let more = [
        "--metrics",
        "0",
        "--client-sessions",
        "1",
        "--handshakes",
        "32",
    ];
    let mut serving = start(home.path(), &[&words[..], &more].concat());
    let (peer, address) = serving.listening();
    let shown = serving.line("metrics at http://");
    let shown = shown
        .trim_start_matches("metrics at http://")
        .trim_end_matches('/');
    let client = [
        "relay",
        "connect",
        &address,
        "--udp",
        "0=127.0.0.1:9",
        "--peer",
        &peer,
    ];
    assert_eq!(start(other.path(), &client).end().0, 3);
    let mut first = start(home.path(), &client);
    first.line("connected to ");
    let mut second = start(home.path(), &client);
    second.line("--client-sessions of the server");
    let text = get(shown, "/metrics");
    let of = |reason: &str| {
        let its = format!("reason=\"{reason}\"");
        let line = text
            .lines()
            .find(|line| line.starts_with("weftline_refused_total") && line.contains(&its));
        line.unwrap_or_else(|| panic!("{text}"))
            .rsplit(' ')
            .next()
            .unwrap()
            .to_owned()
    };
    assert_eq!(
        (of("unknown_peer"), of("crowded")),
        ("1".to_owned(), "0".to_owned())
    );
    let limit = |name: &str| metric(&text, &format!("weftline_relay_limits_{name}"));
    assert_eq!((limit("client_sessions"), limit("sessions")), (1.0, 1.0));
    assert_eq!(limit("handshakes"), 32.0);
    assert!(limit("turned_away_total") >= 1.0);
    // A gauge, and no counter.
    assert_eq!(limit("client_flows"), 500.0);
    assert!(text.contains("# TYPE weftline_relay_limits_client_flows gauge"));
    assert!(text.contains("# TYPE weftline_relay_limits_sessions gauge"));
    assert_eq!(metric(&text, "weftline_handshakes_open"), 0.0);
    assert!(limit("memory_taken") >= 1e6);
}

#[test]
fn no_name_says_twice_that_it_is_a_total() {
    let home = tempfile::tempdir().unwrap();
    let words = [
        "forward",
        "serve",
        "--allow",
        "*:*",
        "--listen",
        "127.0.0.1:0",
        "--metrics",
        "0",
    ];
    let mut serving = start(home.path(), &words);
    serving.listening();
    let shown = serving.line("metrics at http://");
    let shown = shown
        .trim_start_matches("metrics at http://")
        .trim_end_matches('/');
    let text = get(shown, "/metrics");
    assert_eq!(metric(&text, "weftline_forward_connections_total"), 0.0);
    assert!(!text.contains("_total_total"), "{text}");
}

/// What `weftline status` shows of the command with this process number.
fn shown(home: &TempDir, process: u32) -> Option<Value> {
    let json = run(home, &["status", "--json"]);
    let mut all = json
        .lines()
        .map(|l| serde_json::from_str::<Value>(l).unwrap());
    all.find(|one| one["pid"] == process)
}

#[test]
fn status_shows_a_command_that_stays_for_as_long_as_it_runs() {
    let home = tempfile::tempdir().unwrap();
    let words = ["recv", "inbox", "--keep", "--listen", "127.0.0.1:0"];
    let mut command = command(home.path(), &words);
    let mut child = command.env("XDG_RUNTIME_DIR", home.path()).spawn().unwrap();
    let one = until("the command in status", || shown(&home, child.id()));
    let summary = one["summary"].as_str().unwrap();
    assert!(summary.starts_with("received 0 entries"), "{summary}");
    assert_eq!((&one["command"], &one["end"]), (&"recv".into(), &"".into()));
    let text = run(&home, &["status"]);
    assert!(text.contains(&format!("weftline recv (process {})", child.id())));
    // One that was killed leaves its socket behind; nobody sees it, and it is removed.
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(shown(&home, child.id()), None);
    let left = std::fs::read_dir(home.path().join("weftline")).unwrap();
    assert_eq!(left.count(), 0);
}

/// Compares the counters of an end with what the path has `counted`: the packets that this end sent, those of
/// them that arrived, the packets that the peer sent, and those of them that arrived. The peer `heard` this
/// number of its reports.
#[cfg(target_os = "linux")]
fn agree(text: &str, counted: [u64; 4], heard: u64) {
    let one = |name: &str| metric(text, &format!("weftline_{name}_total")) as u64;
    let sent = one("datagrams_sent");
    assert_eq!([sent, one("datagrams_received")], [counted[0], counted[3]]);
    let symbols = one("source_symbols_sent") + one("retransmissions_sent");
    let symbols = symbols + one("repair_symbols_sent") - one("riding_symbols_sent");
    let hello = sent - symbols - one("probes_sent") - one("reports_sent");
    assert!((1..10).contains(&hello), "{text}");
    // All that was lost is known, but for what is not acknowledged: reports and HELLO.
    let lost = one("datagrams_lost") - one("losses_spurious") + one("reports_sent") - heard;
    let all = counted[0] - counted[1];
    assert!((all - hello..=all).contains(&lost), "{lost} of {all}");
    let stalls = metric(text, "weftline_stall_seconds_count");
    assert_eq!(
        metric(text, "weftline_connection_stall_seconds_count"),
        stalls
    );
    for name in [
        "datagrams_sent",
        "datagrams_received",
        "source_symbols_sent",
        "retransmissions_sent",
        "repair_symbols_sent",
        "datagrams_lost",
        "losses_spurious",
    ] {
        let of_paths = metric(text, &format!("weftline_path_{name}_total"));
        assert_eq!(of_paths as u64, one(name), "{name}");
    }
}

/// The counters of packets are exactly those of the path, losses included, and stay when a connection ends.
#[cfg(target_os = "linux")]
#[test]
fn metrics_agree_with_the_lab_packet_by_packet() {
    use weftline_emulator::Side;

    if !weftline_testkit::can_emulate_paths() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (there, back) = ("rate=20mbit delay=5ms loss=iid:5%", "delay=5ms loss=iid:2%");
    let lab = crate::inside::path(there, Some(back), 3);
    let serve = "relay serve --allow 127.0.0.1:7007 --insecure-udp --metrics 9339";
    let server = crate::inside::Running::weftline(&lab, Side::B, folder.path(), "serve", serve);
    server.says("metrics at");
    let all = |running: &crate::inside::Running, name: &str| {
        let text = running.http("127.0.0.1:9339", "/metrics");
        metric(&text, &format!("weftline_{name}")) as u64
    };
    let path = || {
        let report = lab.report().unwrap();
        let (there, back) = (report.a_to_b, report.b_to_a);
        let [there, back] = [there, back].map(|way| [way.packets, way.delivered_packets]);
        [there[0], there[1], back[0], back[1]]
    };
    for name in ["first", "second"] {
        let seen = |server| {
            let names = ["packets_received", "packets_sent", "reports_received"];
            names.map(|name| all(server, &format!("{name}_total")))
        };
        let (path_before, server_before) = (path(), seen(&server));
        let counted = || {
            let now = path();
            [0, 1, 2, 3].map(|n| now[n] - path_before[n])
        };
        let connect = "relay connect b4 --insecure-udp --udp 7007=127.0.0.1:7007 --metrics 9339";
        let client = crate::inside::Running::weftline(&lab, Side::A, folder.path(), name, connect);
        client.says(" -> ");
        let program = client.socket("127.0.0.1:0");
        for number in 0..500_u32 {
            let sent = program.send_to(&number.to_be_bytes(), "127.0.0.1:7007");
            sent.unwrap();
            std::thread::sleep(Duration::from_millis(1));
        }
        // A report about a later datagram tells that the last one was lost. Reports take longer than a round trip.
        client.until("known fates", || {
            program.send_to(b"more", "127.0.0.1:7007").unwrap();
            std::thread::sleep(Duration::from_millis(300));
            all(&client, "path_in_flight_bytes") == 0
        });
        // They differ while a packet is under way.
        let mut near = String::new();
        client.until("equal counters", || {
            near = client.http("127.0.0.1:9339", "/metrics");
            let far = seen(&server);
            let sent = metric(&near, "weftline_packets_sent_total") as u64;
            let received = metric(&near, "weftline_packets_received_total") as u64;
            let [arrived, answered] = [far[0] - server_before[0], far[1] - server_before[1]];
            counted() == [sent, arrived, answered, received]
        });
        let heard = all(&server, "reports_received_total") - server_before[2];
        agree(&near, counted(), heard);
        let recovered = all(&server, "symbols_recovered_total");
        assert!(recovered > 0, "5 % were lost");
        assert!(all(&server, "stall_seconds_count") > 0);
        client.end();
        // CLOSE comes more than once; the server counts the first.
        server.until("the end", || all(&server, "connections_open") == 0);
        assert!(all(&server, "symbols_recovered_total") >= recovered);
    }
    assert_eq!(all(&server, "connections_total"), 2);
}
