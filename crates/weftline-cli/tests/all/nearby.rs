//! A receiver that is found by its code alone, over a network between two hosts. Needs Linux, root, `ip` and a TUN
//! device; elsewhere the test says what is missing.

use std::fs::{self, read};
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use socket2::{Domain, Protocol, Socket, Type};
use tempfile::TempDir;
use weftline_emulator::{Lab, Side};
use weftline_testkit::{can_emulate_paths, until};

use crate::inside::{self, Running};

const HERE: Ipv4Addr = Ipv4Addr::new(10, 99, 0, 1);
const THERE: Ipv4Addr = Ipv4Addr::new(10, 99, 0, 2);

/// A process on this side that does nothing.
fn rest(lab: &Lab, side: Side, home: &Path, name: &str) -> Running {
    let waiting = ["sh", "-c", "echo here; exec sleep 600"];
    let resting = Running::start(lab, side, home, name, &waiting);
    resting.says("here");
    resting
}

/// Two hosts in one private network.
struct Network {
    lab: Lab,
    homes: [TempDir; 2],
    /// Keeps the far host.
    anchor: Running,
}

impl Network {
    fn new() -> Self {
        let lab = inside::path("rate=100mbit delay=1ms", None, 1);
        let homes = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let anchor = rest(&lab, Side::B, homes[1].path(), "anchor");
        let network = Network { lab, homes, anchor };
        let far = network.anchor.id();
        network.ip(
            Side::A,
            &format!("link add lan0 type veth peer name lan1 netns {far}"),
        );
        for (side, device, address) in [(Side::A, "lan0", HERE), (Side::B, "lan1", THERE)] {
            network.ip(side, &format!("addr add {address}/24 dev {device}"));
            network.ip(side, &format!("link set {device} up"));
            network.ip(side, "link set lo up");
        }
        for (side, device) in [(Side::A, "lan0"), (Side::B, "lan1")] {
            // The kernel takes its time.
            until("the device", || network.is_up(side, device).then_some(()));
        }
        fs::write(network.home(Side::A).join("f"), "from here").unwrap();
        network
    }

    fn ip(&self, side: Side, words: &str) {
        let mut ip = self.lab.command(side);
        let status = ip.arg("ip").args(words.split(' ')).status().unwrap();
        assert!(status.success(), "ip {words}");
    }

    fn is_up(&self, side: Side, device: &str) -> bool {
        let mut ip = self.lab.command(side);
        let shown = ip
            .args(["ip", "link", "show", "dev", device])
            .output()
            .unwrap();
        String::from_utf8_lossy(&shown.stdout).contains("state UP")
    }

    fn home(&self, side: Side) -> &Path {
        self.homes[usize::from(side == Side::B)].path()
    }

    fn start(&self, side: Side, name: &str, words: &str) -> Running {
        Running::weftline(&self.lab, side, self.home(side), name, words)
    }

    /// A receiver on the far host, and its code.
    fn receive(&self, name: &str, words: &str) -> (Running, String) {
        let receiving = self.start(Side::B, name, &format!("recv {words} --code"));
        receiving.says("\"event\":\"code\"");
        let printed = receiving.printed();
        let event = printed
            .lines()
            .find(|line| line.contains("\"event\":\"code\""));
        let event: Value = serde_json::from_str(event.unwrap()).unwrap();
        let announced = !words.contains("--no-announce");
        assert_eq!(event["announced"], announced, "{printed}");
        (receiving, event["code"].as_str().unwrap().to_owned())
    }

    /// What a sender says that fails with exit code 4.
    fn fails(&self, words: &str) -> String {
        let mut sending = self.start(Side::A, "failing", words);
        assert_eq!(sending.exit(), 4, "{}", sending.printed());
        sending.printed()
    }
}

/// Hears what is told to the network on this host.
fn ear() -> UdpSocket {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP)).unwrap();
    socket.set_reuse_address(true).unwrap();
    socket.set_reuse_port(true).unwrap();
    let group = Ipv4Addr::new(224, 0, 0, 251);
    socket.bind(&SocketAddrV4::new(group, 5353).into()).unwrap();
    socket.join_multicast_v4(&group, &HERE).unwrap();
    let socket = UdpSocket::from(socket);
    let wait = Duration::from_millis(500);
    socket.set_read_timeout(Some(wait)).unwrap();
    socket
}

#[test]
fn in_one_network_the_code_is_enough() {
    if !can_emulate_paths() {
        return;
    }
    let network = Network::new();
    let near = rest(&network.lab, Side::A, network.home(Side::A), "ear");
    let ear = near.there(ear);
    let (receiving, code) = network.receive("recv", "inbox");

    // From another host, and nothing but where it is has been told.
    let sending = network.start(Side::A, "send", &format!("send f {code}"));
    sending.succeeds();
    receiving.succeeds();
    let received = read(network.home(Side::B).join("inbox/f")).unwrap();
    assert_eq!(received, b"from here");
    let host = rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned();
    let mut secrets: Vec<&str> = code.split('-').skip(1).collect();
    // Whatever it is called, unless that is in each announcement.
    secrets.extend(Some(&host[..]).filter(|host| !"_weftline._udp.local".contains(host)));
    let (mut buffer, mut heard) = (vec![0; 9000], 0);
    while let Ok((length, from)) = inside::receive(&ear, &mut buffer) {
        let text = String::from_utf8_lossy(&buffer[..length]);
        for secret in &secrets {
            assert!(!text.contains(secret), "{secret} in {text}");
        }
        heard += usize::from(from.ip() == THERE && text.contains("_weftline"));
    }
    assert!(heard > 0, "the far host has announced nothing");

    // On the same host.
    let (receiving, code) = network.receive("recv-2", "inbox-2");
    let sending = format!("send f {code}");
    let user = network.home(Side::A);
    Running::weftline(&network.lab, Side::B, user, "send-2", &sending).succeeds();
    receiving.succeeds();
    let received = read(network.home(Side::B).join("inbox-2/f")).unwrap();
    assert_eq!(received, b"from here");

    // A receiver that is not announced is not found, one that is known by its address needs no code.
    let (_hidden, code) = network.receive("recv-3", "inbox-3 --listen 7003 --no-announce");
    let told = network.fails(&format!("send f {code}"));
    assert!(told.contains(&format!("HOST --code {code}")), "{told}");

    // Several must be told apart.
    let (_first, _) = network.receive("recv-4", "inbox-4 --listen 7004");
    let (_second, code) = network.receive("recv-5", "inbox-5 --listen 7005");
    let told = network.fails(&format!("send f {code}"));
    for address in [format!("{THERE}:7004"), format!("{THERE}:7005")] {
        assert!(told.contains(&address), "{told}");
    }
    let sending = format!("send f {THERE}:7005 --code {code}");
    network.start(Side::A, "send-5", &sending).succeeds();
}
