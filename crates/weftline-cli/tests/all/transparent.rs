//! `-T` of `weftline forward` and `weftline tun`: connections of programs that know nothing of it. Needs Linux, root, `nft` and a TUN
//! device; elsewhere the test says what is missing.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::inside::{Running, path};
use serde_json::Value;
use weftline_emulator::{Lab, Side};
use weftline_testkit::{can_emulate_paths, has_command};

/// A service of the far host, of each IP version, and one that the far end does not allow.
const FAR: [&str; 2] = ["198.51.100.7:7007", "[2001:db8:7::7]:7007"];
const NOT_ALLOWED: &str = "198.51.100.7:7008";
/// Where connections come from that are not redirected.
const PAST: [&str; 2] = ["10.77.0.1", "fd77::1"];

#[test]
fn programs_reach_a_network_through_the_session_and_a_kill_leaves_nothing_behind() {
    if !can_emulate_paths() || !has_command("nft", "--version", "nftables") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let lab = path("delay=5ms loss=iid:5%", Some("delay=5ms"), 1);
    ip(&lab, Side::A, "route add default dev lab0");
    ip(&lab, Side::A, "-6 route add default dev lab0");
    ip(&lab, Side::B, "addr add 198.51.100.7/32 dev lo");
    ip(&lab, Side::B, "addr add 2001:db8:7::7/128 dev lo");
    let key = key(&lab, folder.path());
    let near = idle(&lab, folder.path());
    let serving = "forward serve --allow 198.51.100.0/24:7007 --allow [2001:db8:7::/64]:7007";
    let serving = Running::weftline(&lab, Side::B, folder.path(), "serve", serving);
    serving.sees_port(9338);
    for at in FAR {
        let listener = serving.there(|| TcpListener::bind(at).unwrap());
        thread::spawn(move || answer(&listener));
    }
    let come_from = |addresses: [&str; 2]| {
        let wanted = addresses.map(|at| at.parse::<IpAddr>().unwrap());
        FAR.map(|at| near.there(|| ask(at))) == wanted
    };
    assert!(come_from(PAST), "the path itself is open");

    let with = format!("forward 10.77.0.2 --peer {key} -T 198.51.100.0/24 -T 2001:db8:7::/64");
    let forward = Running::weftline(&lab, Side::A, folder.path(), "forward", &with);
    forward.says("connected to");
    // The far host connects to itself.
    assert!(come_from(FAR.map(host)), "through the session");
    let refused =
        near.there(|| TcpStream::connect(NOT_ALLOWED).and_then(|mut tcp| tcp.read(&mut [0])));
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::ConnectionReset);
    forward.says("is not allowed");
    let tables = || tables(&lab);
    assert!(tables().contains("inet weftline-forward-"), "{}", tables());

    // Killed.
    drop(forward);
    near.until("nothing left behind", || tables().is_empty());
    assert!(come_from(PAST));
    let again = Running::weftline(&lab, Side::A, folder.path(), "again", &with);
    again.says("connected to");
    assert!(come_from(FAR.map(host)));
    let printed = again.end();
    assert!(printed.contains("\"exit\":143"), "{printed}");
    assert_eq!(tables(), "");
}

/// A tunnel has a lane for TCP: connections to its own networks too.
#[test]
fn a_tunnel_carries_connections_of_programs_as_streams_if_it_is_asked_to() {
    if !can_emulate_paths() || !has_command("nft", "--version", "nftables") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let lab = path("delay=5ms loss=iid:5%", Some("delay=5ms"), 1);
    let key = key(&lab, folder.path());
    let near = idle(&lab, folder.path());
    let serving = "tun serve --pool 10.99.0.0/24 --allow 10.99.0.1:7007";
    let serving = Running::weftline(&lab, Side::B, folder.path(), "serve", serving);
    serving.says("weftline tun ");
    let inside = "10.99.0.1:7007";
    let listener = serving.there(|| TcpListener::bind(inside).unwrap());
    thread::spawn(move || answer(&listener));
    let tunnel = format!("tun 10.77.0.2 --peer {key}");
    let plain = Running::weftline(&lab, Side::A, folder.path(), "plain", &tunnel);
    plain.says("connected to");
    // The client's own address in the tunnel.
    let from = near.there(|| ask(inside));
    assert_ne!(from, IpAddr::from([10, 99, 0, 1]), "inside the tunnel");
    plain.end();

    let with = format!("{tunnel} -T 10.99.0.0/24");
    let lane = Running::weftline(&lab, Side::A, folder.path(), "lane", &with);
    lane.says("connected to");
    // The server connects to itself.
    assert_eq!(near.there(|| ask(inside)), IpAddr::from([10, 99, 0, 1]));
    let refused = "10.99.0.1:7008";
    let refused = near.there(|| TcpStream::connect(refused).and_then(|mut tcp| tcp.read(&mut [0])));
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::ConnectionReset);
    lane.says("is not allowed");
    let report = lane.report();
    let connections = &report["lane"]["connections"];
    assert_eq!(
        (&connections["done"], &connections["refused"]),
        (&1.into(), &1.into())
    );
    assert_eq!(tables(&lab), "");
}

/// The fingerprint of both ends: they have the folder as their home, and so one identity.
fn key(lab: &Lab, folder: &Path) -> String {
    Running::weftline(lab, Side::A, folder, "key", "key --quiet").succeeds();
    let key = fs::read_to_string(folder.join("key.log")).unwrap();
    let key: Value = serde_json::from_str(key.trim()).unwrap();
    key["fingerprint"].as_str().unwrap().to_owned()
}

/// A program that does nothing on the near host.
fn idle(lab: &Lab, folder: &Path) -> Running {
    let words = ["sh", "-c", "echo here; exec sleep 1000"];
    let near = Running::start(lab, Side::A, folder, "near", &words);
    near.says("here");
    near
}

fn tables(lab: &Lab) -> String {
    let list = lab
        .command(Side::A)
        .args(["nft", "list", "tables"])
        .output();
    String::from_utf8(list.unwrap().stdout).unwrap()
}

fn host(address: &'static str) -> &'static str {
    let (host, _) = address.rsplit_once(':').unwrap();
    host.trim_matches(['[', ']'])
}

/// Tells each client where it comes from.
fn answer(listener: &TcpListener) {
    while let Ok((mut tcp, from)) = listener.accept() {
        let _ = write!(tcp, "{}", from.ip());
    }
}

/// Where the service at `at` says that we come from.
fn ask(at: &str) -> IpAddr {
    let at: SocketAddr = at.parse().unwrap();
    let mut tcp = TcpStream::connect(at).unwrap();
    tcp.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut said = String::new();
    tcp.read_to_string(&mut said).unwrap();
    said.parse().unwrap()
}

fn ip(lab: &Lab, side: Side, words: &str) {
    let mut command: Command = lab.command(side);
    command.arg("ip").args(words.split_whitespace());
    assert!(command.status().unwrap().success(), "ip {words}");
}
