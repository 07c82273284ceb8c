//! A host with two modems, one of which is unplugged and plugged in again during a transfer. Needs Linux,
//! root and a TUN device; elsewhere the test says what is missing.

use std::collections::BTreeSet;
use std::process::Command;

use crate::inside::Running;
use serde_json::Value;
use weftline_emulator::{Lab, Links, PathConfig, Side};
use weftline_testkit::can_emulate_paths;

/// Over 20 Mbit/s and 10 Mbit/s some 3 s.
const FILE: usize = 10_000_000;

#[test]
fn a_file_arrives_although_its_first_interface_goes_down_and_comes_back() {
    if !can_emulate_paths() {
        return;
    }
    let link = |text: &str| Links::parse(text, None).unwrap();
    let mut config = PathConfig::new(link("rate=20mbit delay=10ms loss=iid:2%"));
    config
        .links
        .push(link("rate=10mbit delay=25ms loss=iid:2%"));
    let lab = Lab::open(&config).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let data: Vec<u8> = (0..FILE).map(|i| (i * 7 + i / 251) as u8).collect();
    std::fs::write(folder.path().join("movie"), &data).unwrap();
    // Both ends have the folder as their home, and so one identity.
    let key = Running::weftline(&lab, Side::A, folder.path(), "key", "key --quiet");
    key.succeeds();
    let key = std::fs::read_to_string(folder.path().join("key.log")).unwrap();
    let key: Value = serde_json::from_str(key.trim()).unwrap();
    let key = key["fingerprint"].as_str().unwrap();
    let receiving = format!("recv inbox --peer {key} --metrics 9339");
    let receiving = Running::weftline(&lab, Side::B, folder.path(), "recv", &receiving);
    receiving.sees_port(9338);

    let sending = format!("send movie b --peer {key} --path all --timeout 20s");
    let sending = Running::weftline(&lab, Side::A, folder.path(), "send", &sending);
    sending.says("path lab1 is open");
    let set = |state: &str| {
        let mut ip = lab.command(Side::A);
        ip.args(["ip", "link", "set", "dev", "lab0", state]);
        succeed(&mut ip);
        // The system forgets the route with the interface; a network manager gives it again.
        if state == "up" {
            let mut route = lab.command(Side::A);
            route.args([
                "ip", "route", "add", "default", "dev", "lab0", "metric", "100",
            ]);
            succeed(&mut route);
        }
    };
    let carried = |link: usize| {
        let report = lab.report().unwrap();
        match link {
            0 => report.a_to_b.delivered_bytes,
            more => report.more[more - 1].a_to_b.delivered_bytes,
        }
    };
    sending.until("data over the first link", || carried(0) > 1_000_000);
    // Its peer did not name the paths: their numbers tell them apart.
    receiving.until("data on both paths in the metrics", || {
        let text = receiving.http("127.0.0.1:9339", "/metrics");
        let values = text.lines().filter(|line| !line.starts_with('#'));
        let series = values.filter_map(|line| line.rsplit_once(' '));
        let series: Vec<(&str, &str)> = series.collect();
        let names: BTreeSet<&str> = series.iter().map(|(name, _)| *name).collect();
        assert_eq!(names.len(), series.len(), "{text}");
        let received = |(name, value): &&(&str, &str)| {
            name.starts_with("weftline_path_datagrams_received_total") && *value != "0"
        };
        series.iter().filter(received).count() == 2
    });
    set("down");
    let (before, other) = (carried(0), carried(1));
    sending.until("data over the other link alone", || {
        carried(1) > other + 500_000
    });
    assert!(carried(0) < before + 100_000, "its interface is down");
    set("up");
    sending.until("data over the first link again", || {
        carried(0) > before + 500_000
    });
    sending.succeeds();
    receiving.succeeds();
    assert!(std::fs::read(folder.path().join("inbox/movie")).unwrap() == data);
}

fn succeed(command: &mut Command) {
    assert!(command.status().unwrap().success());
}
