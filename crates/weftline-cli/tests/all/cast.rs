//! `weftline cast` as people and scripts run it: real processes on loopback, with a lossy hop
//! between them.

mod hop;

use std::collections::BTreeSet;
use std::fmt::Display;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{JoinHandle, sleep};
use std::time::Duration;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use serde_json::Value;

use crate::running::Running;
use hop::{Fate, Hop, bind};
use weftline_testkit::until;

/// Long enough that a busy machine alone makes nothing late.
const LATENCY: &str = "1s";
/// Datagrams that are not checked because a receiver begins with the first that comes.
const BEFORE: u32 = 20;
/// Datagrams in all; what is behind the checked ones carries repair for them.
const ALL: u32 = 480;
const CHECKED: std::ops::Range<u32> = BEFORE..ALL - 60;

/// Starts `weftline cast` with these words.
fn start(folder: &Path, words: &str) -> Running {
    let words: Vec<&str> = words.split_whitespace().collect();
    crate::running::start(folder, &[&["cast"], &words[..], &["--json"]].concat())
}

/// A sender that takes datagrams, sends to this address, and describes what it sends.
fn send(folder: &Path, to: impl Display, more: &str) -> Running {
    start(
        folder,
        &format!("send --in udp://:0 --to {to} --sdp sender.sdp {more}"),
    )
}

/// A receiver of what is described, which gives it to this address.
fn receive(folder: &Path, out: &str, more: &str) -> Running {
    start(
        folder,
        &format!("recv --sdp receiver.sdp --out {out} {more}"),
    )
}

/// Sends SIGTERM, unless it ends by itself; returns the exit code and the last line of JSON.
fn end(program: Running, is_signalled: bool) -> (i32, Value) {
    if is_signalled {
        program.signal("-TERM");
    }
    let (code, mut lines) = program.end();
    (code, lines.pop().unwrap_or(Value::Null))
}

/// A port of 127.0.0.1 that is free, and so are those behind it that a cast uses. They are below
/// those that the system gives to a program that asks for any.
fn ports() -> u16 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    loop {
        let place = u64::from(std::process::id()) * 8 + NEXT.fetch_add(1, Ordering::Relaxed);
        let port = 20_000 + (place % 700) as u16 * 16;
        let is_free = |port| UdpSocket::bind(("127.0.0.1", port)).is_ok();
        if (port..port + 16).all(is_free) {
            return port;
        }
    }
}

/// A program that takes datagrams and notes their numbers.
struct Player {
    at: SocketAddr,
    stopping: Arc<AtomicBool>,
    thread: JoinHandle<Vec<u32>>,
}

impl Player {
    fn start() -> Self {
        let socket = bind(([127, 0, 0, 1], 0));
        let at = socket.local_addr().unwrap();
        let stopping = Arc::new(AtomicBool::new(false));
        let stop = stopping.clone();
        let thread = std::thread::spawn(move || {
            let (mut numbers, mut buffer) = (Vec::new(), [0; 2000]);
            while !stop.load(Ordering::Relaxed) {
                if let Ok(length) = socket.recv(&mut buffer) {
                    let number = u32::from_be_bytes(buffer[..4].try_into().unwrap());
                    assert_eq!(buffer[..length], datagram(number));
                    numbers.push(number);
                }
            }
            numbers
        });
        Player {
            at,
            stopping,
            thread,
        }
    }

    fn url(&self) -> String {
        format!("udp://{}", self.at)
    }

    fn end(self) -> Vec<u32> {
        self.stopping.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

/// Datagrams of changing lengths, told apart by their beginning.
fn datagram(number: u32) -> Vec<u8> {
    let mut data = number.to_be_bytes().to_vec();
    data.resize(800 + number as usize % 500, number as u8);
    data
}

/// Time for what is under way at the end.
const REST: Duration = Duration::from_millis(600);

/// Sends `numbers` to the sender's local port, one each millisecond or slower.
fn play(sender: &mut Running, numbers: impl Iterator<Item = u32>) {
    let line = sender.line(" -> ");
    let to = line.split_whitespace().next().unwrap();
    let to: SocketAddr = to.strip_prefix("udp://").unwrap().parse().unwrap();
    sender.line("repair -> ");
    let socket = bind(([127, 0, 0, 1], 0));
    for number in numbers {
        socket.send_to(&datagram(number), to).unwrap();
        sleep(Duration::from_millis(1));
    }
}

/// Waits until the sender has written its description, and writes it again with other ports.
fn description(folder: &Path, ports: &[(u16, u16)]) {
    let written = folder.join("sender.sdp");
    let mut text = until("the description", || {
        let text = std::fs::read_to_string(&written).ok()?;
        text.ends_with("a=mid:R\r\n").then_some(text)
    });
    for (from, to) in ports {
        text = text.replace(
            &format!("application {from} "),
            &format!("application {to} "),
        );
    }
    std::fs::write(folder.join("receiver.sdp"), text).unwrap();
}

/// Whether the numbers ascend. A system may swap a few datagrams of a socket on the loopback
/// interface, when the program that sends them moves to another core.
fn is_ascending(numbers: &[u32]) -> bool {
    let descents = numbers.windows(2).filter(|pair| pair[0] >= pair[1]);
    descents.count() <= 2
}

fn missing(numbers: &[u32]) -> Vec<u32> {
    let came: BTreeSet<_> = numbers.iter().collect();
    CHECKED.filter(|n| !came.contains(n)).collect()
}

/// Plays a flow over a unicast path that `fate` rules. Returns what came and both ends' reports.
fn unicast(
    folder: &Path,
    sending: &str,
    receiving: &str,
    fate: impl FnMut() -> Fate + Send + 'static,
) -> (Vec<u32>, Value, Value, u64) {
    let port = ports();
    let pair = |from: u16| {
        let to = SocketAddr::from(([127, 0, 0, 1], from + 6));
        (bind(([127, 0, 0, 1], from)), to)
    };
    let hop = Hop::start(vec![pair(port), pair(port + 2)], fate);
    let to = format!("127.0.0.1:{port}");
    let mut sender = send(folder, to, &format!("--max-latency {LATENCY} {sending}"));
    description(folder, &[(port, port + 6), (port + 2, port + 8)]);
    let player = Player::start();
    let mut receiver = receive(folder, &player.url(), receiving);
    receiver.line(" -> udp://");
    play(&mut sender, 0..ALL);
    sleep(REST);
    let (code, sent) = end(sender, true);
    assert_eq!(code, 143, "{sent}");
    let (code, received) = end(receiver, true);
    assert_eq!(code, 143, "{received}");
    assert_eq!(
        (&received["ok"], &received["event"]),
        (&true.into(), &"end".into())
    );
    (player.end(), sent, received, hop.end())
}

/// Whether a count is that of the packets sent, but for some that a busy system has lost.
fn most(count: &Value, sent: &Value) -> bool {
    let (count, wire) = (
        count.as_u64().unwrap(),
        sent["wire"]["datagrams"].as_u64().unwrap(),
    );
    (wire * 3 / 4..=wire).contains(&count)
}

fn one_of_twenty() -> impl FnMut() -> Fate + Send + 'static {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(11);
    move || match random.next_u64() % 20 {
        0 => Fate::Drop,
        _ => Fate::Forward,
    }
}

#[test]
fn each_scheme_recovers_all_that_one_loss_in_twenty_takes() {
    for id in ["10", "9", "8"] {
        let folder = tempfile::tempdir().unwrap();
        let options = format!("--encoding-id {id} --symbol-size 1303 --rate 2mbit");
        let (numbers, sent, received, dropped) =
            unicast(folder.path(), &options, "", one_of_twenty());
        assert_eq!(missing(&numbers), [0; 0], "{id}: {sent} {received}");
        assert!(is_ascending(&numbers), "{id}");
        assert!(dropped > 10, "{id}: {dropped}");
        assert!(
            received["recovered"].as_u64().unwrap() > 5,
            "{id}: {received}"
        );
        assert_eq!(sent["source"]["datagrams"], ALL, "{id}");
        let delivered = received["delivered"]["datagrams"].as_u64().unwrap();
        assert_eq!(delivered, numbers.len() as u64, "{id}: {received}");
    }
}

#[test]
fn a_hangup_ends_neither_end_of_a_cast_that_is_a_service() {
    let folder = tempfile::tempdir().unwrap();
    let sender = send(folder.path(), format!("127.0.0.1:{}", ports()), "");
    description(folder.path(), &[]);
    let receiver = receive(folder.path(), "udp://:9", "");
    for mut program in [sender, receiver] {
        program.line(" -> ");
        program.signal("-HUP");
        program.line("SIGHUP: going on");
        program.signal("-HUP");
        program.line("SIGHUP: going on");
        let (code, report) = end(program, true);
        assert_eq!((code, &report["event"]), (143, &"end".into()));
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_hangup_ends_a_cast_that_was_started_on_a_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let on_terminal = |words: &str| {
        let words: Vec<&str> = words.split_whitespace().collect();
        let words = [&["cast"], &words[..], &["--json"]].concat();
        let mut command = crate::running::command(folder.path(), &words);
        command.env("XDG_RUNTIME_DIR", folder.path());
        Running::on_terminal(command)
    };
    let to = format!("127.0.0.1:{}", ports());
    let sender = on_terminal(&format!("send --in udp://:0 --to {to} --sdp sender.sdp"));
    description(folder.path(), &[]);
    let receiver = on_terminal("recv --sdp receiver.sdp --out udp://:9");
    for mut program in [sender, receiver] {
        program.line(" -> ");
        program.signal("-HUP");
        program.line("SIGHUP: stopping with the terminal");
        let (code, report) = end(program, false);
        assert_eq!((code, &report["event"]), (143, &"end".into()));
    }
}

/// Writes a group key that nobody else can read.
fn secret(path: &Path, octet: &str) {
    std::fs::write(path, octet.repeat(32)).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o600)).unwrap();
    }
}

#[test]
fn a_group_key_lets_the_flow_pass_and_its_replay_not() {
    let folder = tempfile::tempdir().unwrap();
    secret(&folder.path().join("key"), "0f");
    let mut count = 0;
    let every_tenth_twice = move || {
        count += 1;
        match count % 10 {
            0 => Fate::Repeat,
            5 if count % 20 == 5 => Fate::Drop,
            _ => Fate::Forward,
        }
    };
    let key = "--group-key key";
    let (numbers, sent, received, _) = unicast(folder.path(), key, key, every_tenth_twice);
    assert_eq!(missing(&numbers), [0; 0], "{sent} {received}");
    assert!(is_ascending(&numbers));
    assert!(received["replayed"].as_u64().unwrap() > 40, "{received}");
    assert_eq!(received["forged"], 0);
}

#[test]
fn with_a_wrong_key_nothing_comes_through_and_all_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    secret(&folder.path().join("key"), "0f");
    secret(&folder.path().join("wrong"), "f0");
    let (sending, receiving) = ("--group-key key", "--group-key wrong");
    let (numbers, sent, received, _) = unicast(folder.path(), sending, receiving, || Fate::Forward);
    assert_eq!(numbers, [0; 0]);
    assert!(most(&received["forged"], &sent), "{received}");
    assert_eq!(received["source_packets"], 0);

    // The first packet that does not open is news.
    let sdp = std::fs::read_to_string(folder.path().join("receiver.sdp")).unwrap();
    let port = sdp.split("m=").nth(1).unwrap().split(' ').nth(1).unwrap();
    let mut wrong = receive(folder.path(), "udp://:9", receiving);
    wrong.line(" -> udp://");
    let stranger = bind(([127, 0, 0, 1], 0));
    let at = format!("127.0.0.1:{port}");
    stranger.send_to(&[7; 100], at).unwrap();
    wrong.line("this group key does not open");

    let mut keyless = receive(folder.path(), "udp://:9", "");
    keyless.line("--group-key");
    assert_eq!(end(keyless, false).0, 3);
}

#[test]
fn packets_of_another_source_are_refused_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let receiving = "--source 127.0.0.2 --as-decoded";
    let (numbers, sent, received, _) = unicast(folder.path(), "", receiving, || Fate::Forward);
    assert_eq!(numbers, [0; 0]);
    assert!(most(&received["foreign"], &sent), "{received}");
}

#[test]
fn two_flows_keep_apart_and_share_their_repair() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let port = ports();
    let pair = |from: u16| {
        let to = SocketAddr::from(([127, 0, 0, 1], from + 6));
        (bind(([127, 0, 0, 1], from)), to)
    };
    let hop = Hop::lossy((port..port + 3).map(pair).collect());
    let to = format!("127.0.0.1:{port}");
    let more = format!("--in udp://:0 --max-latency {LATENCY}");
    let mut sender = send(folder, to, &more);
    description(
        folder,
        &[(port, port + 6), (port + 1, port + 7), (port + 2, port + 8)],
    );
    let players = [Player::start(), Player::start()];
    let urls = players.each_ref().map(Player::url);
    let mut receiver = receive(folder, &urls[0], &format!("--out {}", urls[1]));
    for _ in 0..2 {
        receiver.line(" -> udp://");
    }
    let inputs = [0, 1].map(|_| {
        let line = sender.line(" -> ");
        let to = line.split_whitespace().next().unwrap().to_owned();
        to.strip_prefix("udp://")
            .unwrap()
            .parse::<SocketAddr>()
            .unwrap()
    });
    let program = bind(([127, 0, 0, 1], 0));
    for number in 0..ALL {
        program
            .send_to(&datagram(number), inputs[number as usize % 2])
            .unwrap();
        sleep(Duration::from_millis(1));
    }
    sleep(REST);
    end(sender, true);
    let (_, received) = end(receiver, true);
    let [even, odd] = players.map(Player::end);
    hop.end();
    assert!(even.iter().all(|n| n % 2 == 0) && odd.iter().all(|n| n % 2 == 1));
    assert!(is_ascending(&even) && is_ascending(&odd));
    assert_eq!(missing(&[even, odd].concat()), [0; 0], "{received}");
    assert!(received["recovered"].as_u64().unwrap() > 0, "{received}");
}

/// A socket in a group on the loopback interface, if this host allows that.
fn member(group: SocketAddr) -> std::io::Result<UdpSocket> {
    let socket = UdpSocket::bind(group)?;
    let SocketAddr::V4(group) = group else {
        return Err(std::io::ErrorKind::Unsupported.into());
    };
    socket.join_multicast_v4(group.ip(), &Ipv4Addr::LOCALHOST)?;
    socket.set_read_timeout(Some(Duration::from_millis(50)))?;
    Ok(socket)
}

/// Whether packets to a group come back on the loopback interface.
fn has_multicast(group: SocketAddr) -> Result<(), String> {
    let socket = member(group).map_err(|e| format!("cannot join a group on 127.0.0.1: {e}"))?;
    let program = bind(([127, 0, 0, 1], 0));
    let probe = socket2::SockRef::from(&program);
    probe
        .set_multicast_if_v4(&Ipv4Addr::LOCALHOST)
        .map_err(|e| e.to_string())?;
    program
        .send_to(b"probe", group)
        .map_err(|e| e.to_string())?;
    let mut buffer = [0; 10];
    let came = socket.recv(&mut buffer);
    came.map(|_| ())
        .map_err(|_| "packets to a group do not come back on 127.0.0.1".to_owned())
}

#[test]
fn two_receivers_of_a_group_on_one_host_both_get_all() {
    let port = ports();
    let group = |port: u16| SocketAddr::from(([239, 255, 76, 5], port));
    if let Err(reason) = has_multicast(group(port)) {
        return weftline_testkit::unable("multicast", &reason);
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let pair = |from: u16| (member(group(from)).unwrap(), group(from + 6));
    let hop = Hop::lossy(vec![pair(port), pair(port + 2)]);
    let more = format!("--max-latency {LATENCY} --interface 127.0.0.1 --ttl 2");
    let mut sender = send(folder, group(port), &more);
    description(folder, &[(port, port + 6), (port + 2, port + 8)]);
    let sdp = std::fs::read_to_string(folder.join("sender.sdp")).unwrap();
    assert!(sdp.contains("c=IN IP4 239.255.76.5/2\r\n"), "{sdp}");
    let players = [Player::start(), Player::start()];
    let receivers = players.each_ref().map(|player| {
        // Each has settings of its own: the second takes the packets of the hop by name.
        let more = match player.at == players[0].at {
            true => "--interface 127.0.0.1 --ls 4000",
            false => "--interface 127.0.0.1 --source 127.0.0.1",
        };
        let mut receiver = receive(folder, &player.url(), more);
        receiver.line(" -> udp://");
        receiver
    });
    play(&mut sender, 0..ALL);
    sleep(REST);
    end(sender, true);
    let reports = receivers.map(|receiver| end(receiver, true).1);
    assert!(hop.end() > 10);
    for (player, report) in players.into_iter().zip(reports) {
        let numbers = player.end();
        assert_eq!(missing(&numbers), [0; 0], "{report}");
        assert!(is_ascending(&numbers));
        assert!(report["recovered"].as_u64().unwrap() > 5, "{report}");
    }
}

#[test]
fn a_linear_system_is_for_windows_and_never_shorter_than_theirs() {
    let folder = tempfile::tempdir().unwrap();
    // 200 ms of 2 Mbit/s are 38 symbols of 1303 bytes: the decoding window.
    let sending = "--rate 2mbit --symbol-size 1303";
    let (numbers, sent, received, _) = unicast(folder.path(), sending, "--ls 5", one_of_twenty());
    assert_eq!(missing(&numbers), [0; 0], "{sent} {received}");
    assert!(received["recovered"].as_u64().unwrap() > 5, "{received}");

    let blocks = tempfile::tempdir().unwrap();
    let to = format!("127.0.0.1:{}", ports());
    let sender = send(blocks.path(), to, "--encoding-id 8 --rate 2mbit");
    description(blocks.path(), &[]);
    let mut receiver = receive(blocks.path(), "udp://:9", "--ls 400");
    receiver.line("sliding windows");
    assert_eq!(end(receiver, false).0, 2);
    end(sender, true);
}

#[test]
fn ipv6_carries_it_too() {
    if UdpSocket::bind("[::1]:0").is_err() {
        return weftline_testkit::unable("ipv6", "nothing can be bound to [::1]");
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let to = format!("[::1]:{}", ports());
    let mut sender = send(folder, to, "");
    description(folder, &[]);
    let player = Player::start();
    let mut receiver = receive(folder, &player.url(), "");
    receiver.line(" -> udp://");
    play(&mut sender, 0..ALL);
    sleep(REST);
    end(sender, true);
    let (_, report) = end(receiver, true);
    assert_eq!(missing(&player.end()), [0; 0], "{report}");
}

#[test]
fn what_does_not_go_together_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    for (more, needle, code) in [
        ("--encoding-id 8", "--rate", 2),
        ("--interface lo", "multicast", 2),
        ("--code-rate 1/4", "1/2", 2),
        ("--repair-to 127.0.0.1:6000", "--repair-to", 2),
        ("--group-key none", "none", 3),
    ] {
        let words = format!("send --in udp://:0 --to 127.0.0.1:6000 {more}");
        let mut sender = start(folder.path(), &words);
        sender.line(needle);
        let (got, report) = end(sender, false);
        assert_eq!((got, &report["ok"]), (code, &false.into()), "{more:?}");
    }
}
