//! `weftline cast` and `weftline relay` between two hosts of their own: IPv6 groups, groups of
//! one source, and what an outage leaves. Needs Linux, root and a TUN device; elsewhere each
//! test says what is missing.

use std::net::{SocketAddr, UdpSocket};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::inside::{Running, path, receive};
use serde_json::Value;
use weftline_emulator::{Lab, Side};
use weftline_testkit::can_emulate_paths;

/// Longest wait for any event, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// A cast from side A to side B.
struct Cast {
    sender: Running,
    receiver: Running,
    player: UdpSocket,
}

/// Long enough that a busy machine alone makes nothing late.
const LATENCY: &str = "1s";
/// Datagrams of a cast; a receiver begins with the first that comes, and the last ones carry
/// repair for those before them.
const ALL: u32 = 400;
const CHECKED: std::ops::Range<u32> = 20..ALL - 60;

/// The option; the system chooses if none is named.
fn interface(name: &str) -> String {
    match name {
        "" => String::new(),
        name => format!("--interface {name}"),
    }
}

fn cast(lab: &Lab, folder: &Path, group: &str, near: &str, far: &str) -> Cast {
    let sending = format!(
        "cast send --in udp://:5004 --to {group} {} --symbol-size 203 \
         --max-latency {LATENCY} --sdp cast.sdp",
        interface(near)
    );
    let sender = Running::weftline(lab, Side::A, folder, "send", &sending);
    sender.says("wrote cast.sdp");
    let receiving = format!(
        "cast recv --sdp cast.sdp --out udp://:5006 {}",
        interface(far)
    );
    let receiver = Running::weftline(lab, Side::B, folder, "recv", &receiving);
    receiver.says(" -> udp://");
    let player = receiver.socket("127.0.0.1:5006");
    Cast {
        sender,
        receiver,
        player,
    }
}

impl Cast {
    /// Sends all datagrams, one each 2 ms, and `meanwhile` before each of them; returns those
    /// missing at the far end and the receiver's report.
    fn play(self, mut meanwhile: impl FnMut(u32)) -> (Vec<u32>, Value) {
        let program = self.sender.socket("127.0.0.1:0");
        let player = self.player;
        let listening = std::thread::spawn(move || {
            let (mut numbers, mut buffer) = (Vec::new(), [0; 300]);
            // Until the time of silence that the socket allows.
            while let Ok((length, _)) = receive(&player, &mut buffer) {
                assert_eq!(length, 200);
                numbers.push(u32::from_be_bytes(buffer[..4].try_into().unwrap()));
            }
            numbers
        });
        for number in 0..ALL {
            meanwhile(number);
            let mut datagram = [7; 200];
            datagram[..4].copy_from_slice(&number.to_be_bytes());
            program.send_to(&datagram, "127.0.0.1:5004").unwrap();
            sleep(Duration::from_millis(2));
        }
        let numbers = listening.join().unwrap();
        drop(self.sender);
        let missing = CHECKED.filter(|n| !numbers.contains(n)).collect();
        (missing, self.receiver.report())
    }
}

#[test]
fn a_cast_to_an_ipv6_group_makes_up_for_what_the_path_loses() {
    if !can_emulate_paths() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let lab = path("delay=10ms loss=iid:5%", None, 1);
    let cast = cast(&lab, folder.path(), "[ff15::77]:6000", "fd77::1", "fd77::2");
    let sdp = std::fs::read_to_string(folder.path().join("cast.sdp")).unwrap();
    assert!(sdp.contains("c=IN IP6 ff15::77\r\n"), "{sdp}");
    let (missing, report) = cast.play(|_| {});
    assert_eq!(missing, [0; 0], "{report}");
    assert!(report["recovered"].as_u64().unwrap() > 5, "{report}");
}

#[test]
fn a_cast_finds_the_way_to_a_group_or_says_what_to_give() {
    if !can_emulate_paths() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let lab = path("delay=10ms", None, 1);
    let (missing, report) = cast(&lab, folder.path(), "239.1.2.3:6000", "", "").play(|_| {});
    assert_eq!(missing, [0; 0], "{report}");
    for side in [Side::A, Side::B] {
        let words = ["ip", "route", "del", "224.0.0.0/4"];
        Running::start(&lab, side, folder.path(), "route", &words).succeeds();
    }
    for (side, words) in [
        (Side::A, "cast send --in udp://:5004 --to 239.1.2.3:6000"),
        (Side::B, "cast recv --sdp cast.sdp --out udp://:5006"),
    ] {
        let lost = Running::weftline(&lab, side, folder.path(), "lost", words);
        lost.says("no route to the group 239.1.2.3: give --interface");
        lost.says(r#""exit":2"#);
    }
    let words = "cast send --in udp://:5004 --to 198.51.100.1:6000";
    let unsent = Running::weftline(&lab, Side::A, folder.path(), "unsent", words);
    unsent.says("repair -> ");
    let program = unsent.socket("127.0.0.1:0");
    program.send_to(&[7; 200], "127.0.0.1:5004").unwrap();
    unsent.says("cannot send to 198.51.100.1:6000");
    let report = unsent.report();
    assert_eq!(report["exit"], 4, "{report}");
}

/// Packets that another host of side A sends to the group, 40 of them; they look like those of
/// the sender.
fn intrude(cast: &Cast, from: &str, group: &str) -> impl FnMut(u32) + use<> {
    let intruder = cast.sender.socket(from);
    let group: SocketAddr = group.parse().unwrap();
    move |number| {
        if number % 10 == 5 {
            let forged = [&[9; 200][..], &number.to_be_bytes()].concat();
            intruder.send_to(&forged, group).unwrap();
        }
    }
}

/// Gives side A one more address.
fn add_address(lab: &Lab, address: &str) {
    let mut ip = lab.command(Side::A);
    ip.args(["ip", "addr", "add", address, "dev", "lab0"]);
    if address.contains("::") {
        ip.arg("nodad");
    }
    assert!(ip.status().unwrap().success());
}

#[test]
fn a_group_of_one_source_takes_nothing_from_another() {
    if !can_emulate_paths() {
        return;
    }
    // What of it the system keeps out, and what the receiver has to.
    for (group, near, far, other, foreign) in [
        ("232.1.2.3:6000", "10.77.0.1", "10.77.0.2", "10.77.0.9", 0),
        ("[ff35::77]:6000", "fd77::1", "fd77::2", "fd77::9", 40),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let lab = path("delay=10ms", None, 1);
        let (prefix, from) = match group.starts_with('[') {
            true => ("64", format!("[{other}]:0")),
            false => ("24", format!("{other}:0")),
        };
        add_address(&lab, &format!("{other}/{prefix}"));
        let cast = cast(&lab, folder.path(), group, near, far);
        let sdp = std::fs::read_to_string(folder.path().join("cast.sdp")).unwrap();
        assert!(sdp.contains("a=source-filter: incl"), "{sdp}");
        let intrude = intrude(&cast, &from, group);
        let (missing, report) = cast.play(intrude);
        assert_eq!(missing, [0; 0], "{report}");
        assert_eq!(report["foreign"], foreign, "{report}");
        assert_eq!(report["source_packets"], ALL, "{report}");
        let crossed = lab.report().unwrap().a_to_b.delivered_packets;
        assert!(crossed >= u64::from(ALL) + 40, "{crossed}");
    }
}

#[test]
fn a_group_of_any_source_takes_them() {
    if !can_emulate_paths() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let lab = path("delay=10ms", None, 1);
    add_address(&lab, "10.77.0.9/24");
    let group = "239.1.2.3:6000";
    let cast = cast(&lab, folder.path(), group, "10.77.0.1", "10.77.0.2");
    let intrude = intrude(&cast, "10.77.0.9:0", group);
    let (_, report) = cast.play(intrude);
    assert_eq!(report["source_packets"], ALL + 40, "{report}");
}

/// A relay from port 5004 of side A to port 5006 of side B, both of this local address.
fn relay(lab: &Lab, folder: &Path, local: &str, server: &str) -> (Running, Running) {
    // Both ends have the folder as their home, and so one identity.
    let key = Running::weftline(lab, Side::A, folder, "key", "key --quiet");
    key.succeeds();
    let key = std::fs::read_to_string(folder.join("key.log")).unwrap();
    let key: Value = serde_json::from_str(key.trim()).unwrap();
    let key = key["fingerprint"].as_str().unwrap();
    let serving = format!("relay serve --allow {local}:5006 --peer {key} --timeout 2s");
    let serving = Running::weftline(lab, Side::B, folder, "serve", &serving);
    serving.says("weftline relay connect");
    let connecting = format!(
        "relay connect {server} --peer {key} --udp {local}:5004={local}:5006,in-order --timeout 2s"
    );
    let connecting = Running::weftline(lab, Side::A, folder, "connect", &connecting);
    connecting.says("connected to");
    (serving, connecting)
}

#[test]
fn a_relay_carries_ipv6_over_ipv6() {
    if !can_emulate_paths() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let lab = path("delay=10ms loss=iid:5%", Some("delay=10ms loss=iid:5%"), 1);
    let (serving, connecting) = relay(&lab, folder.path(), "[::1]", "[fd77::2]:9338");
    let target = serving.socket("[::1]:5006");
    let program = connecting.socket("[::1]:0");
    let mut buffer = [0; 100];
    for number in 0..100u8 {
        program.send_to(&[number; 50], "[::1]:5004").unwrap();
        let (length, from) = receive(&target, &mut buffer).unwrap();
        assert_eq!(buffer[..length], [number; 50]);
        target.send_to(&[number; 60], from).unwrap();
        let (length, _) = receive(&program, &mut buffer).unwrap();
        assert_eq!(buffer[..length], [number; 60]);
    }
}

#[test]
fn a_session_that_an_outage_ended_is_replaced_over_a_path_that_loses_packets() {
    if !can_emulate_paths() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("outage.txt");
    let outage = "0s loss=iid:10%\n500ms loss=iid:100%\n3500ms loss=iid:10%\n";
    std::fs::write(&trace, outage).unwrap();
    let link = format!("delay=10ms loss=trace:{}", trace.display());
    let lab = path(&link, Some(&link), 1);
    let (serving, connecting) = relay(&lab, folder.path(), "127.0.0.1", "10.77.0.2:9338");
    let target = serving.socket("127.0.0.1:5006");
    let program = connecting.socket("127.0.0.1:0");

    lab.begin_traces();
    let begun = Instant::now();
    let enough = Arc::new(AtomicBool::new(false));
    let stop = enough.clone();
    let sending = std::thread::spawn(move || {
        for number in 0.. {
            let datagram = u32::to_be_bytes(number);
            program.send_to(&datagram, "127.0.0.1:5004").unwrap();
            if stop.load(Ordering::Relaxed) {
                return number;
            }
            sleep(Duration::from_millis(10));
        }
        0
    });
    let (mut numbers, mut senders, mut buffer) = (Vec::<u32>::new(), Vec::new(), [0; 100]);
    let mut last = None;
    let mut sending = Some(sending);
    while numbers.last().copied() != last || last.is_none() {
        assert!(begun.elapsed() < PATIENCE, "{}", connecting.printed());
        if let Ok((4, from)) = receive(&target, &mut buffer) {
            numbers.push(u32::from_be_bytes(buffer[..4].try_into().unwrap()));
            senders.push(from);
        }
        // A second's worth after the outage is enough.
        let after = numbers.windows(2).rposition(|pair| pair[1] != pair[0] + 1);
        if after.is_some_and(|gap| numbers.len() > gap + 100) {
            enough.store(true, Ordering::Relaxed);
            last = last.or_else(|| sending.take().map(|thread| thread.join().unwrap()));
        }
    }
    let (near, far) = (connecting.report(), serving.report());
    assert!(numbers.is_sorted() && numbers[0] == 0, "{numbers:?}");
    // What was under way at the outage, and until there was a session again, is lost; nothing else.
    let gaps = numbers.windows(2).filter(|pair| pair[1] != pair[0] + 1);
    assert_eq!(gaps.count(), 1, "{near} {far} {numbers:?}");
    senders.dedup();
    assert_eq!(senders.len(), 1, "the target sees one flow: {senders:?}");
    assert!(near["sessions"].as_u64() >= Some(2), "{near}");
    assert_eq!(far["flows"], 1, "{far}");
}
