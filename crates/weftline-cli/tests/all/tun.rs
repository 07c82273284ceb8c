//! `weftline tun` between two hosts of their own, over paths that lose packets. Needs Linux, root and a
//! TUN device; elsewhere each test says what is missing.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use crate::inside::{Running, path};
use serde_json::Value;
use weftline_emulator::{Lab, Links, PathConfig, Side};
use weftline_testkit::{can_emulate_paths, has_command};

/// The server's addresses in the tunnel.
const V4: &str = "10.99.0.1";
const V6: &str = "fd99::1";

/// A tunnel whose client is on side A.
struct Tunnel {
    serving: Running,
    client: Running,
}

impl Tunnel {
    /// `options` are the client's.
    fn new(lab: &Lab, folder: &Path, options: &str) -> Self {
        // Both ends have the folder as their home, and so one identity.
        let key = Running::weftline(lab, Side::A, folder, "key", "key --quiet");
        key.succeeds();
        let key = std::fs::read_to_string(folder.join("key.log")).unwrap();
        let key: Value = serde_json::from_str(key.trim()).unwrap();
        let key = key["fingerprint"].as_str().unwrap();
        let serving = "tun serve --pool 10.99.0.0/24 --pool fd99::/64 --timeout 2s";
        let serving = Running::weftline(lab, Side::B, folder, "serve", serving);
        serving.says("weftline tun ");
        let client = format!("tun 10.77.0.2 --peer {key} --timeout 2s {options}");
        let client = Running::weftline(lab, Side::A, folder, "client", &client);
        client.says("connected to");
        Tunnel { serving, client }
    }

    /// A TCP connection through the tunnel; its end at the client, and that at the server.
    fn connection(&self, to: &str) -> (TcpStream, TcpStream) {
        let listener = self.serving.there(|| TcpListener::bind((to, 0)).unwrap());
        let at = listener.local_addr().unwrap();
        let near = self.client.there(|| TcpStream::connect(at).unwrap());
        (near, listener.accept().unwrap().0)
    }

    /// Words from the client and back, over a TCP connection inside; `before` is called before each.
    fn talk(&self, words: u32, before: impl Fn(u32)) {
        let (mut near, mut far) = self.connection(V4);
        let mut buffer = [0; 4];
        for number in 0..words {
            before(number);
            near.write_all(&number.to_be_bytes()).unwrap();
            far.read_exact(&mut buffer).unwrap();
            far.write_all(&buffer).unwrap();
            near.read_exact(&mut buffer).unwrap();
            assert_eq!(buffer, number.to_be_bytes());
            sleep(Duration::from_millis(5));
        }
    }

    /// The last reports of client and server.
    fn reports(self) -> (Value, Value) {
        (self.client.report(), self.serving.report())
    }
}

/// Bytes to send, and to compare with what comes.
fn data(length: usize) -> Vec<u8> {
    (0..length).map(|i| (i * 7 + i / 251) as u8).collect()
}

/// Sends all of it one way; it must come unchanged.
fn carry(mut from: TcpStream, mut to: TcpStream, data: &[u8]) {
    std::thread::scope(|scope| {
        scope.spawn(move || {
            from.write_all(data).unwrap();
            // Closed, so that the other end sees the end.
            drop(from);
        });
        let mut came = Vec::new();
        to.read_to_end(&mut came).unwrap();
        assert!(came == data, "{} of {} bytes", came.len(), data.len());
    });
}

#[test]
fn ping_and_tcp_pass_a_tunnel_over_a_path_that_loses_packets() {
    if !can_emulate_paths() || !has_command("ping", "-V", "iputils-ping") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let link = "rate=30mbit delay=10ms loss=iid:5%";
    let lab = path(link, Some(link), 1);
    let tunnel = Tunnel::new(&lab, folder.path(), "");
    for (name, to) in [("ping4", V4), ("ping6", V6)] {
        let words = ["ping", "-c", "40", "-i", "0.05", "-W", "2", to];
        let ping = Running::start(&lab, Side::A, folder.path(), name, &words);
        ping.until("the end", || ping.printed().contains("packets transmitted"));
        let printed = ping.printed();
        assert!(printed.contains(" 0% packet loss"), "{printed}");
    }
    let data = data(2_000_000);
    let (near, far) = tunnel.connection(V4);
    carry(near, far, &data);
    let (near, far) = tunnel.connection(V6);
    carry(far, near, &data);
    let (near, far) = tunnel.reports();
    // What the server sends when the client has left already is not delivered.
    assert_eq!(near["sent"], far["delivered"]);
    for report in [&near, &far] {
        assert_eq!(report["ok"], true, "{report}");
        assert_eq!(report["dropped"]["late"], 0, "{report}");
        assert!(report["reordered"].as_u64() > Some(0), "{report}");
        assert_eq!(report["skipped"], 0, "{report}");
    }
    let lost = lab.report().unwrap().a_to_b.losses;
    assert!(lost > 50, "{lost}");
}

#[test]
fn a_tcp_connection_survives_an_outage_that_ends_the_session() {
    if !can_emulate_paths() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("outage.txt");
    let outage = "0s loss=iid:3%\n500ms loss=iid:100%\n4s loss=iid:3%\n";
    std::fs::write(&trace, outage).unwrap();
    let link = format!("delay=10ms loss=trace:{}", trace.display());
    let lab = path(&link, Some(&link), 1);
    let tunnel = Tunnel::new(&lab, folder.path(), "");
    // 300 words there and back; those of the outage take their time.
    tunnel.talk(300, |number| {
        if number == 0 {
            lab.begin_traces();
        }
    });
    let (near, far) = tunnel.reports();
    assert!(near["sessions"].as_u64() >= Some(2), "{near}");
    assert!(far["sessions"].as_u64() >= Some(2), "{far}");
    assert_eq!(near["dropped"]["not_taken"], 0, "{near}");
}

fn ip(lab: &Lab, words: &str) {
    let mut ip = lab.command(Side::A);
    let status = ip.arg("ip").args(words.split(' ')).status().unwrap();
    assert!(status.success(), "ip {words}");
}

#[test]
fn a_tcp_connection_goes_on_from_another_address_in_the_same_session() {
    if !can_emulate_paths() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let link = "rate=30mbit delay=10ms loss=iid:3%";
    let lab = path(link, Some(link), 1);
    let tunnel = Tunnel::new(&lab, folder.path(), "");
    tunnel.talk(100, |number| {
        if number == 50 {
            ip(&lab, "addr del 10.77.0.1/24 dev lab0");
            ip(&lab, "addr add 10.77.0.9/24 dev lab0");
        }
    });
    let (near, far) = tunnel.reports();
    assert_eq!(
        (&near["sessions"], &far["sessions"]),
        (&1.into(), &1.into()),
        "{near} {far}"
    );
}

#[test]
fn a_tcp_connection_goes_on_over_the_other_path_in_the_same_session() {
    if !can_emulate_paths() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let link = |text: &str| Links::parse(text, None).unwrap();
    let mut config = PathConfig::new(link("rate=20mbit delay=10ms loss=iid:3%"));
    let other = "rate=10mbit delay=25ms loss=iid:3%";
    config.links.push(link(other));
    let lab = Lab::open(&config).unwrap();
    let tunnel = Tunnel::new(&lab, folder.path(), "--path all");
    tunnel.client.says("path lab1 is open");
    let carried = || lab.report().unwrap().more[0].a_to_b.delivered_bytes;
    let before = std::cell::Cell::new(0);
    tunnel.talk(200, |number| match number {
        50 => {
            before.set(carried());
            ip(&lab, "link set dev lab0 down");
        }
        150 => {
            ip(&lab, "link set dev lab0 up");
            // The system forgets the route with the interface; a network manager gives it again.
            ip(&lab, "route add default dev lab0 metric 100");
        }
        _ => {}
    });
    // 100 words of 4 bytes, and what carries them.
    assert!(
        carried() > before.get() + 10_000,
        "{}",
        carried() - before.get()
    );
    let (near, far) = tunnel.reports();
    assert_eq!(
        (&near["sessions"], &far["sessions"]),
        (&1.into(), &1.into()),
        "{near} {far}"
    );
}
