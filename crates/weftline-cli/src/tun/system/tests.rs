//! Tunnels without a session, between two hosts: each test has network namespaces of its own.
//!
//! The near host has the tunnel, and a default route to the far one, which takes packets to any address.
//! What arrives there went past the tunnel.

use std::fs::{File, read_link};
use std::mem::ManuallyDrop;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use tokio::runtime::{Builder, Runtime};
use weftline_testkit::{can_emulate_paths, has_command, until};

use super::*;
use crate::system::NFT;

/// Addresses far away, one of each IP version.
const FAR: [&str; 2] = ["198.51.100.7:9", "[2001:db8:7::7]:9"];
/// The devices' hardware addresses; nobody has to ask for them.
const NEAR_MAC: &str = "02:00:00:00:00:02";
const FAR_MAC: &str = "02:00:00:00:00:01";
/// A server there.
const SERVER: &str = "203.0.113.1:9338";
/// Packets of a test, and the last one.
const PACKETS: usize = 5;
const PROBE: &[u8] = b"to whom it may concern";
const END: &[u8] = b"the end of it";
/// Packets that arrived past the tunnel, and in it.
const PAST: (usize, usize) = (PACKETS, 0);
const TUNNEL: (usize, usize) = (0, PACKETS);
const NOWHERE: (usize, usize) = (0, 0);

/// A network namespace that lasts as long as this.
struct Space(Child);

impl Space {
    fn new() -> Self {
        let mut holder = Command::new("unshare");
        holder.args(["--net", "sleep", "1000"]).stdin(Stdio::null());
        let space = Space(holder.spawn().unwrap());
        // It starts in ours.
        while read_link(space.path()).unwrap() == read_link("/proc/self/ns/net").unwrap() {
            thread::yield_now();
        }
        space
    }

    fn path(&self) -> String {
        format!("/proc/{}/ns/net", self.0.id())
    }

    /// Runs this inside, on a thread that does not come back.
    fn run<T: Send + 'static>(&self, inside: impl FnOnce() -> T + Send + 'static) -> T {
        let space = File::open(self.path()).unwrap();
        let inside = move || {
            move_into_link_name_space(space.as_fd(), Some(LinkNameSpaceType::Network)).unwrap();
            inside()
        };
        thread::spawn(inside).join().unwrap()
    }
}

impl Drop for Space {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The near host, as its programs see it.
struct Host {
    /// Sockets of the far host: one for all its addresses, one of a server there.
    far: UdpSocket,
    server: UdpSocket,
    runtime: Runtime,
}

/// Runs a test in the near host.
fn between_two_hosts(test: fn(&Host)) {
    if !can_emulate_paths() {
        return;
    }
    let (near, far) = (Space::new(), Space::new());
    let id = far.0.id();
    near.run(move || {
        ip(&format!(
            "link add out0 address {NEAR_MAC} type veth peer name out1 address {FAR_MAC} netns {id}\n\
             link set lo up\n\
             link set out0 addrgenmode none\n\
             addr add 192.0.2.2/24 dev out0\n\
             addr add 2001:db8::2/64 dev out0 nodad\n\
             link set out0 up\n\
             neigh add 192.0.2.1 lladdr {FAR_MAC} dev out0\n\
             neigh add 2001:db8::1 lladdr {FAR_MAC} dev out0\n\
             route add default via 192.0.2.1\n\
             route add default via 2001:db8::1\n"
        ));
    });
    let [all, server] = far.run(|| {
        ip(&format!(
            "link set lo up\n\
            link set out1 addrgenmode none\n\
            addr add 192.0.2.1/24 dev out1\n\
            addr add 2001:db8::1/64 dev out1 nodad\n\
            addr add 203.0.113.1/32 dev lo\n\
            link set out1 up\n\
            neigh add 192.0.2.2 lladdr {NEAR_MAC} dev out1\n\
            route add local 0.0.0.0/0 dev lo table main\n\
            route add local ::/0 dev lo table main\n"
        ));
        ["[::]:9", SERVER].map(|at| {
            let socket = UdpSocket::bind(at).unwrap();
            socket
                .set_read_timeout(Some(Duration::from_secs(20)))
                .unwrap();
            socket
        })
    });
    near.run(move || {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        // A busy kernel tells the routes late that the far end is up.
        until("the link", || {
            (!network().contains("linkdown")).then_some(())
        });
        test(&Host {
            far: all,
            server,
            runtime,
        });
    });
}

impl Host {
    fn up(&self, setup: &Setup) -> Up {
        let _entered = self.runtime.enter();
        setup.prepare().unwrap();
        setup.up().unwrap()
    }

    /// Sends packets there from a new socket with this mark. Returns how many arrived past the tunnel, and
    /// how many in it.
    fn sent(&self, up: Option<&Up>, to: &str, mark: Option<u32>) -> (usize, usize) {
        let socket = socket(to, mark);
        for _ in 0..PACKETS {
            let _ = socket.send_to(PROBE, to);
        }
        // The host's own network is reachable whatever there is.
        self::socket("192.0.2.1:9", None)
            .send_to(END, "192.0.2.1:9")
            .unwrap();
        let mut buffer = [0; 2000];
        let mut past = 0;
        loop {
            let length = self.far.recv(&mut buffer).unwrap();
            if &buffer[..length] == END {
                break;
            }
            past += 1;
        }
        let Some(up) = up else { return (past, 0) };
        // It goes into the tunnel whatever there is.
        let inner = up.setup.addresses[0].hosts().next_back().unwrap();
        let last = SocketAddr::new(inner, 9).to_string();
        self::socket(&last, None).send_to(END, last).unwrap();
        let receiving = async {
            let mut inside = 0;
            loop {
                let length = up.device.recv(&mut buffer).await.unwrap();
                match &buffer[..length] {
                    packet if packet.ends_with(END) => return inside,
                    packet => inside += usize::from(packet.ends_with(PROBE)),
                }
            }
        };
        (past, self.runtime.block_on(receiving))
    }
}

/// Takes it down. Its device is gone when no program that another test starts right now has it any more.
fn down(up: Up) {
    let name = up.setup.name.clone();
    drop(up);
    while exists(&name) {
        thread::yield_now();
    }
}

/// A socket that can send there.
fn socket(to: &str, mark: Option<u32>) -> UdpSocket {
    let any = if to.starts_with('[') {
        "[::]:0"
    } else {
        "0.0.0.0:0"
    };
    let socket = UdpSocket::bind(any).unwrap();
    if let Some(mark) = mark {
        socket2::SockRef::from(&socket).set_mark(mark).unwrap();
    }
    socket
}

/// Changes this host's network.
fn ip(batch: &str) {
    IP.run(&["-batch", "-"], batch).unwrap();
}

fn setup(routes: &[&str]) -> Setup {
    Setup {
        name: "wl0".to_owned(),
        addresses: ["10.66.0.2/24", "fd66::2/64"].map(net).to_vec(),
        mtu: 1320,
        routes: routes.iter().map(|route| net(route)).collect(),
        ..Setup::default()
    }
}

fn net(text: &str) -> IpNet {
    text.parse().unwrap()
}

/// Everything about routes and rules that `ip` shows.
fn network() -> String {
    let show = |version| {
        let rules = IP.run(&[version, "rule", "show"], "").unwrap();
        let words = [version, "route", "show", "table", "all"];
        rules + &IP.run(&words, "").unwrap()
    };
    show("-4") + &show("-6")
}

#[test]
fn the_default_route_takes_all_but_the_tunnels_own_packets_and_is_given_back() {
    between_two_hosts(|host| {
        let before = network();
        for far in FAR {
            assert_eq!(host.sent(None, far, None), PAST, "{far}");
        }
        let up = host.up(&setup(&["0.0.0.0/0", "::/0"]));
        for far in FAR {
            assert_eq!(host.sent(Some(&up), far, None), TUNNEL, "{far}");
            let marked = host.sent(Some(&up), far, Some(mark("wl0")));
            assert_eq!(marked, PAST, "{far}");
        }
        // The host's own network stays reachable.
        assert_eq!(host.sent(Some(&up), "192.0.2.1:9", None), PAST);
        down(up);
        for far in FAR {
            assert_eq!(host.sent(None, far, None), PAST, "{far}");
        }
        assert_eq!(network(), before);
    });
}

#[test]
fn a_panic_gives_everything_back() {
    between_two_hosts(|host| {
        let before = network();
        let up = host.up(&setup(&["0.0.0.0/0"]));
        let panicking = thread::scope(|scope| {
            let panicking = scope.spawn(move || {
                let _up = up;
                panic!("as expected");
            });
            panicking.join().is_err()
        });
        assert!(panicking);
        while exists("wl0") {
            thread::yield_now();
        }
        assert_eq!(network(), before);
    });
}

#[test]
fn of_all_routes_the_most_special_one_counts() {
    between_two_hosts(|host| {
        ip("route add 198.51.0.0/16 via 192.0.2.1\nroute add 203.0.113.128/25 via 192.0.2.1\n");
        let up = host.up(&setup(&["0.0.0.0/0", "198.51.100.0/24", "203.0.113.0/24"]));
        for (to, way) in [
            ("198.51.100.7:9", TUNNEL),
            ("198.51.1.7:9", PAST),
            ("203.0.113.7:9", TUNNEL),
            ("203.0.113.129:9", PAST),
            ("8.8.8.8:9", TUNNEL),
            ("[2001:db8:7::7]:9", PAST),
        ] {
            assert_eq!(host.sent(Some(&up), to, None), way, "{to}");
        }
    });
}

#[test]
fn a_default_route_without_an_address_of_its_version_is_closed() {
    between_two_hosts(|host| {
        let mut setup = setup(&["0.0.0.0/0", "::/0"]);
        setup.addresses.truncate(1);
        let up = host.up(&setup);
        assert_eq!(host.sent(Some(&up), FAR[0], None), TUNNEL);
        assert_eq!(host.sent(Some(&up), FAR[1], None), NOWHERE);
        down(up);
        assert_eq!(host.sent(None, FAR[1], None), PAST);
        setup.routes = vec![net("fd00::/8")];
        let error = setup.up().err().unwrap().to_string();
        assert!(error.contains("further --pool"), "{error}");
        assert!(!exists("wl0"));
    });
}

#[test]
fn the_kill_switch_closes_before_and_after_until_it_is_lifted() {
    between_two_hosts(|host| {
        let before = network();
        let mut setup = setup(&["0.0.0.0/0", "::/0"]);
        setup.kill_switch = true;
        // Before the server has granted anything.
        let addresses = std::mem::take(&mut setup.addresses);
        setup.prepare().unwrap();
        for far in FAR {
            assert_eq!(host.sent(None, far, None), NOWHERE, "{far}");
            let marked = host.sent(None, far, Some(mark("wl0")));
            assert_eq!(marked, PAST, "{far}");
        }
        setup.addresses = addresses;
        let up = host.up(&setup);
        for far in FAR {
            assert_eq!(host.sent(Some(&up), far, None), TUNNEL, "{far}");
        }
        let error = forget("wl0").unwrap_err().to_string();
        assert!(error.contains("end its program first"), "{error}");
        down(up);
        for to in FAR.into_iter().chain(["10.66.0.1:9", "[fd66::1]:9"]) {
            assert_eq!(host.sent(None, to, None), NOWHERE, "{to}");
        }
        // A further run with it leaves no gap.
        let up = host.up(&setup);
        assert_eq!(host.sent(Some(&up), FAR[0], None), TUNNEL);
        down(up);
        assert!(forget("wl0").unwrap());
        assert!(!forget("wl0").unwrap());
        assert_eq!(host.sent(None, FAR[0], None), PAST);
        assert_eq!(network(), before);
        // One without it lifts it.
        down(host.up(&setup));
        setup.kill_switch = false;
        down(host.up(&setup));
        assert_eq!(network(), before);
    });
}

#[test]
fn what_a_killed_run_left_behind_is_gone_after_the_next_one() {
    between_two_hosts(|host| {
        let before = network();
        let killed = host.up(&setup(&["0.0.0.0/0", "10.0.0.0/8"]));
        // The kernel removes the device, and nobody the rest.
        let _killed = ManuallyDrop::new(killed);
        ip("link del wl0\n");
        assert_ne!(network(), before);
        assert_eq!(host.sent(None, FAR[0], None), PAST);
        down(host.up(&setup(&["172.16.0.0/12"])));
        assert_eq!(network(), before);
    });
}

#[test]
fn tunnels_stand_side_by_side_and_share_no_name() {
    between_two_hosts(|host| {
        let before = network();
        let first = host.up(&setup(&["0.0.0.0/0"]));
        let mut second = setup(&["198.51.100.0/24"]);
        let error = second.prepare().unwrap_err().to_string();
        assert!(error.contains("choose another --name"), "{error}");
        second.name = "wl1".to_owned();
        second.addresses = vec![net("10.67.0.2/24")];
        let second = host.up(&second);
        assert_eq!(host.sent(Some(&second), FAR[0], None), TUNNEL);
        assert_eq!(host.sent(Some(&first), "8.8.8.8:9", None), TUNNEL);
        down(second);
        assert_eq!(host.sent(Some(&first), FAR[0], None), TUNNEL);
        down(first);
        assert_eq!(network(), before);
    });
}

#[test]
fn answers_of_the_server_pass_a_strict_reverse_path_filter() {
    between_two_hosts(|host| {
        for device in ["all", "out0"] {
            let file = format!("/proc/sys/net/ipv4/conf/{device}/rp_filter");
            std::fs::write(file, "1").unwrap();
        }
        let mut setup = setup(&["0.0.0.0/0"]);
        setup.kill_switch = true;
        setup.prepare().unwrap();
        let near = socket(FAR[0], Some(mark("wl0")));
        near.set_read_timeout(Some(Duration::from_millis(200)))
            .unwrap();
        let answers = || {
            near.send_to(PROBE, SERVER).unwrap();
            let mut buffer = [0; 100];
            let (_, from) = host.server.recv_from(&mut buffer).unwrap();
            host.server.send_to(PROBE, from).unwrap();
            near.recv(&mut buffer).is_ok()
        };
        assert!(!answers(), "the filter does not filter");
        setup.servers = vec![SERVER.parse().unwrap()];
        setup.prepare().unwrap();
        assert!(answers());
        let up = host.up(&setup);
        assert!(answers());
        // The rule for that is for nothing else.
        assert_eq!(host.sent(Some(&up), FAR[0], None), TUNNEL);
        assert_eq!(host.sent(Some(&up), "203.0.113.1:9", None), TUNNEL);
        down(up);
        assert_eq!(host.sent(None, FAR[0], None), NOWHERE);
    });
}

/// A UDP packet with [`PROBE`] between two addresses of one IP version.
fn packet(from: &str, to: &str) -> Vec<u8> {
    packet_to_port(from, to, 9)
}

fn packet_to_port(from: &str, to: &str, port: u16) -> Vec<u8> {
    let [from, to]: [IpAddr; 2] = [from, to].map(|ip| ip.parse().unwrap());
    let bytes = |ip| match ip {
        IpAddr::V4(ip) => Ipv4Addr::octets(&ip).to_vec(),
        IpAddr::V6(ip) => Ipv6Addr::octets(&ip).to_vec(),
    };
    let ends = [bytes(from), bytes(to)].concat();
    let length = 8 + PROBE.len() as u16;
    let mut udp = [4000, port, length, 0].map(u16::to_be_bytes).concat();
    udp.extend(PROBE);
    let pseudo = [&ends[..], &(17 + length).to_be_bytes()].concat();
    let sum = checksum(&[&pseudo[..], &udp].concat());
    udp[6..8].copy_from_slice(&sum.to_be_bytes());
    let mut head = match from {
        IpAddr::V4(_) => {
            let words = [0x4500, 20 + length, 0, 0, 0x4011, 0];
            words.map(u16::to_be_bytes).concat()
        }
        IpAddr::V6(_) => [0x6000, 0, length, 0x1140].map(u16::to_be_bytes).concat(),
    };
    head.extend(ends);
    if from.is_ipv4() {
        let sum = checksum(&head);
        head[10..12].copy_from_slice(&sum.to_be_bytes());
    }
    [head, udp].concat()
}

/// That of the Internet (RFC 1071).
fn checksum(bytes: &[u8]) -> u16 {
    let word = |pair: &[u8]| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
    let sum: u32 = bytes.chunks(2).map(word).sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    !((sum & 0xffff) + (sum >> 16)) as u16
}

/// The settings that matter for forwarding, and the tables of the filter.
fn forwarding() -> Vec<String> {
    let files = [
        "ipv4/conf/out0/forwarding",
        "ipv6/conf/all/forwarding",
        "ipv6/conf/out0/accept_ra",
    ];
    let read = |file| std::fs::read_to_string(format!("/proc/sys/net/{file}")).unwrap();
    let mut all: Vec<String> = files.map(read).to_vec();
    all.push(NFT.run(&["list", "tables"], "").unwrap());
    all
}

#[test]
fn packets_of_clients_leave_with_the_servers_address_as_long_as_it_serves() {
    if !has_command("nft", "-v", "nftables") {
        return;
    }
    between_two_hosts(|host| {
        let before = forwarding();
        let mut setup = setup(&[]);
        let packets = [
            ("10.66.0.7", "198.51.100.7", "192.0.2.2"),
            ("fd66::7", "2001:db8:7::7", "2001:db8::2"),
        ];
        let mut buffer = [0; 100];
        for interface in [None, Some("out0".to_owned())] {
            setup.masquerade = Some(interface);
            let up = host.up(&setup);
            for (from, to, seen) in packets {
                host.runtime
                    .block_on(up.device.send(&packet(from, to)))
                    .unwrap();
                let (_, came_from) = host.far.recv_from(&mut buffer).unwrap();
                assert_eq!(came_from.ip().to_canonical().to_string(), seen);
            }
            // The answer passes, though nobody outside may begin.
            let server: SocketAddr = SERVER.parse().unwrap();
            let question = packet_to_port("10.66.0.7", &server.ip().to_string(), server.port());
            host.runtime.block_on(up.device.send(&question)).unwrap();
            let (_, from) = host.server.recv_from(&mut buffer).unwrap();
            host.server.send_to(b"the answer", from).unwrap();
            let patience = Duration::from_secs(20);
            let answered = host.runtime.block_on(async {
                let answer = async {
                    let mut packet = [0; 2000];
                    loop {
                        let length = up.device.recv(&mut packet).await.unwrap();
                        if packet[..length].ends_with(b"the answer") {
                            return;
                        }
                    }
                };
                tokio::time::timeout(patience, answer).await
            });
            answered.expect("the answer comes back into the tunnel");
            let accepts = std::fs::read_to_string("/proc/sys/net/ipv6/conf/out0/accept_ra");
            assert_eq!(accepts.unwrap().trim(), "2");
            down(up);
            assert_eq!(forwarding(), before);
        }
        // Killed: what it changed is known from the filter's table.
        let _killed = ManuallyDrop::new(host.up(&setup));
        ip("link del wl0\n");
        assert_ne!(forwarding(), before);
        assert!(forget("wl0").unwrap());
        assert_eq!(forwarding(), before);
        setup.masquerade = Some(Some("out7".to_owned()));
        let _entered = host.runtime.enter();
        let error = setup.up().err().unwrap().to_string();
        assert!(error.contains("there is no interface out7"), "{error}");
        assert_eq!(forwarding(), before);
    });
}

#[test]
fn names_and_prefixes_that_cannot_work_are_refused_with_what_to_do() {
    for good in ["wl0", "a", "office-2_b", "abcdefghijklmno"] {
        assert_eq!(device_name(good), Ok(good.to_owned()));
    }
    for bad in [
        "",
        "0wl",
        "all",
        "lo",
        "a b",
        "a/b",
        "wl%d",
        "a.b",
        "abcdefghijklmnop",
        "é",
    ] {
        assert!(device_name(bad).unwrap_err().contains("wl0"), "{bad}");
    }
    for good in ["eth0", "br-lan", "eth0.7"] {
        assert_eq!(interface(good), Ok(good.to_owned()));
    }
    for bad in ["", "..", "eth0\"", "a b", "all"] {
        assert!(interface(bad).unwrap_err().contains("eth0"), "{bad}");
    }
}
