//! `weftline-lab` with real processes. Needs Linux, root and a TUN device; elsewhere each test
//! says what is missing.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

use std::fs;
use std::net::UdpSocket;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

/// What this test program does when it runs inside a lab: see [`inside`].
const TASK: &str = "LAB_TEST_TASK";

/// One lab test at a time: they measure time, and one leaves things behind on purpose.
fn alone() -> Option<MutexGuard<'static, ()>> {
    static ONE: Mutex<()> = Mutex::new(());
    weftline_testkit::can_emulate_paths()
        .then(|| ONE.lock().unwrap_or_else(PoisonError::into_inner))
}

fn lab(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weftline-lab"));
    command.args(["run"]).args(arguments);
    command
}

/// Runs a lab to its end.
fn run(arguments: &[&str]) -> Output {
    lab(arguments).stdin(Stdio::null()).output().unwrap()
}

/// A shell command that does `task` inside a lab.
fn task(task: &str) -> String {
    let program = std::env::current_exe().unwrap();
    format!(
        "{TASK}='{task}' exec '{}' --exact inside --nocapture",
        program.display()
    )
}

/// Runs `a` on side a while `b` runs on side b, both as tasks. Returns what they
/// printed as results, a's first, and the counters.
fn run_tasks(link: &[&str], a: &str, b: &str) -> (Vec<String>, Vec<String>, Value) {
    let (a, b) = (task(a), task(b));
    let output = run(&[link, &["--json", "--b", &b, "--", "sh", "-c", &a]].concat());
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{out}\n{err}");
    let results = |text: &str| -> Vec<String> {
        let lines = text.lines().filter_map(|l| l.split_once("RESULT "));
        lines.map(|(_, result)| result.to_owned()).collect()
    };
    let counters = out
        .lines()
        .find(|l| l.starts_with('{'))
        .expect("counters on standard output");
    (
        results(&out),
        results(&err),
        serde_json::from_str(counters).unwrap(),
    )
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Namespaces and directories of the lab that process `pid` made.
fn remains(pid: u32) -> Vec<String> {
    let prefix = format!("weftline-{pid}-");
    let names = ["/run/netns", "/etc/netns"].into_iter().flat_map(|dir| {
        let entries = fs::read_dir(dir).into_iter().flatten().flatten();
        entries
            .map(|e| e.path().display().to_string())
            .collect::<Vec<_>>()
    });
    names.filter(|name| name.contains(&prefix)).collect()
}

/// Processes that sleep for this many seconds.
fn sleepers(seconds: &str) -> usize {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|e| fs::read(e.path().join("cmdline")).ok());
    let sleep = format!("sleep\0{seconds}\0");
    lines.filter(|line| text(line) == sleep).count()
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(10);
    while !holds() {
        assert!(Instant::now() < end, "waited in vain: {what}");
        sleep(Duration::from_millis(5));
    }
}

/// A lab with long sleeps on both sides, in a background process on side b too; they
/// sleep for `seconds`, by which they are recognised. The main one on side b can be
/// `stubborn` and not listen to SIGTERM.
fn start_sleepers(seconds: &str, stubborn: bool) -> Running {
    let trap = if stubborn { "trap '' TERM;" } else { "" };
    let b = format!("sleep {seconds} & {trap} sleep {seconds}");
    let arguments = [
        "--link", "perfect", "--ready", "0s", "--b", &b, "--", "sleep", seconds,
    ];
    let child = lab(&arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let child = Running(child);
    until("three sleeping processes", || sleepers(seconds) == 3);
    assert_eq!(remains(child.0.id()).len(), 4);
    child
}

/// A lab that is ended with the test, should that fail.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        if matches!(self.0.try_wait(), Ok(None)) {
            signal(self, "-TERM");
            let _ = self.0.wait();
        }
    }
}

fn signal(child: &Running, name: &str) {
    weftline_testkit::signal(child.0.id(), name);
}

/// Not a test by itself: what runs inside a lab.
#[test]
fn inside() {
    let Ok(task) = std::env::var(TASK) else {
        return;
    };
    let words: Vec<&str> = task.split(' ').collect();
    match words[..] {
        ["echo"] => echo(),
        ["round-trips", ref peers @ ..] => peers.iter().for_each(|peer| round_trips(peer)),
        ["count"] => count(),
        ["send", number] => send(number.parse().unwrap()),
        _ => panic!("no such task: {task}"),
    }
}

/// Sends back what comes, until ended.
fn echo() {
    let socket = UdpSocket::bind("[::]:7000").unwrap();
    let mut buffer = [0; 2000];
    loop {
        let (length, from) = socket.recv_from(&mut buffer).unwrap();
        socket.send_to(&buffer[..length], from).unwrap();
    }
}

/// Says the shortest of 15 round trips in us: the others depend on when this program and
/// its peer get a processor.
fn round_trips(peer: &str) {
    let socket = UdpSocket::bind("[::]:0").unwrap();
    // A dual-stack socket wants IPv4 addresses in their IPv6 form.
    let address = match peer {
        "b4" => "[::ffff:10.77.0.2]:7000".to_owned(),
        "b.lab1-4" => "[::ffff:10.77.1.2]:7000".to_owned(),
        "b.lab1-6" => "[fd77:0:0:1::2]:7000".to_owned(),
        name => format!("{name}:7000"),
    };
    socket
        .set_read_timeout(Some(Duration::from_secs(5)))
        .unwrap();
    let times = (0..15u8).map(|n| {
        let start = Instant::now();
        socket.send_to(&[n; 100], &address).unwrap();
        let mut buffer = [0; 2000];
        let length = socket.recv(&mut buffer).unwrap();
        assert_eq!(buffer[..length], [n; 100]);
        start.elapsed().as_micros()
    });
    println!("RESULT {}", times.min().unwrap());
}

/// Says how many datagrams came until 400 ms passed without any.
fn count() {
    let socket = UdpSocket::bind("[::]:7000").unwrap();
    let mut buffer = [0; 2000];
    socket.recv(&mut buffer).unwrap();
    socket
        .set_read_timeout(Some(Duration::from_millis(400)))
        .unwrap();
    let mut count = 1;
    while socket.recv(&mut buffer).is_ok() {
        count += 1;
    }
    eprintln!("RESULT {count}");
}

/// Sends this many datagrams, in little groups.
fn send(number: usize) {
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    for n in 0..number {
        socket.send_to(&[0; 500], "b4:7000").unwrap();
        if n % 10 == 9 {
            sleep(Duration::from_millis(1));
        }
    }
}

#[test]
fn a_round_trip_takes_twice_the_delay_in_both_families() {
    let Some(_alone) = alone() else { return };
    let (rtts, _, counters) = run_tasks(&["--link", "delay=15ms"], "round-trips b4 b6", "echo");
    assert_eq!(rtts.len(), 2);
    for rtt in rtts {
        let rtt: u64 = rtt.parse().unwrap();
        assert!((30_000..31_000).contains(&rtt), "{rtt} us, {counters}");
    }
    assert_eq!(counters["a_to_b"]["packets"], 30);
    assert_eq!(counters["b_to_a"]["link"], "delay=15ms");
}

#[test]
fn two_links_are_two_ways_with_their_own_delay_and_addresses() {
    let Some(_alone) = alone() else { return };
    let links = ["--link", "delay=5ms", "--link", "delay=20ms"];
    let peers = "round-trips b4 b.lab1-4 b6 b.lab1-6";
    let (rtts, _, counters) = run_tasks(&links, peers, "echo");
    let rtts: Vec<u64> = rtts.iter().map(|rtt| rtt.parse().unwrap()).collect();
    for (rtt, delay) in rtts.iter().zip([5, 20, 5, 20]) {
        assert!(
            (2000 * delay..2000 * delay + 1000).contains(rtt),
            "{rtts:?} us"
        );
    }
    assert_eq!(counters["a_to_b"]["packets"], 30);
    assert_eq!(counters["more"][0]["a_to_b"]["packets"], 30);
    assert_eq!(counters["more"][0]["b_to_a"]["link"], "delay=20ms");
    // A named pair is the same; a host's names and default routes are there.
    let script = "getent ahostsv4 b.lab1; ip route";
    let output = run(&["--paths", "lte_geo", "--", "sh", "-c", script]);
    let (out, told) = (text(&output.stdout), text(&output.stderr));
    for part in [
        "10.77.1.2",
        "default dev lab0 scope link metric 100",
        "default dev lab1 scope link metric 200",
    ] {
        assert!(out.contains(part), "{out}");
    }
    assert!(told.contains("lab1 a -> b: "), "{told}");
    let many = ["--link", "perfect"].repeat(5);
    let output = run(&[&many[..], &["--", "true"]].concat());
    assert_eq!(output.status.code(), Some(125));
    assert!(text(&output.stderr).contains("give 1 to 4"));
}

/// Runs `load` over two links of 10 Mbit/s. Returns the receiver's result and the counters.
fn load_over_two_links(transport: &str, workload: &str, more: &[&str]) -> (Value, Value) {
    let program = env!("CARGO_BIN_EXE_weftline-lab");
    let (transport, paths) = transport.split_once('/').unwrap();
    let (mode, settings) = workload.split_once(' ').unwrap();
    let end = |end: &str| {
        format!("exec {program} load {end} {transport} {mode} b 5000 {paths} {settings}")
    };
    let (send, recv) = (end("send"), end("recv"));
    let link = "rate=10mbit delay=10ms";
    let links = ["--json", "--linger", "5s", "--link", link, "--link", link];
    let command = ["--b", &recv, "--", "sh", "-c", &send];
    let output = run(&[&links[..], more, &command].concat());
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{out}\n{err}");
    let last = |text: &str| -> Value {
        let line = text.lines().rfind(|line| line.starts_with('{'));
        serde_json::from_str(line.unwrap()).unwrap()
    };
    (last(&err), last(&out))
}

#[test]
fn transports_take_both_links_or_the_one_that_is_named() {
    let Some(_alone) = alone() else { return };
    let has_mptcp = fs::read_to_string("/proc/sys/net/mptcp/enabled");
    let has_mptcp = has_mptcp.is_ok_and(|on| on.trim() == "1");
    if !has_mptcp {
        weftline_testkit::unable("mptcp", "this kernel has no multipath TCP");
    }
    let mut cases = vec![
        ("weftline/paths=lab0+lab1", [true, true]),
        ("weftline/paths=lab1", [false, true]),
        ("weftline/paths=all", [true, true]),
        ("tcp/paths=lab1", [false, true]),
    ];
    if has_mptcp {
        cases.push(("tcp/paths=all", [true, true]));
    }
    for (transport, used) in cases {
        let (received, counters) = load_over_two_links(transport, "bulk secs=2", &[]);
        let bytes = [&counters["a_to_b"], &counters["more"][0]["a_to_b"]];
        let bytes = bytes.map(|link| link["delivered_bytes"].as_u64().unwrap());
        // A link carries 2.5 MB in that time.
        let is_used = bytes.map(|bytes| bytes > 600_000);
        assert_eq!(is_used, used, "{transport}: {bytes:?}, {received}");
    }
}

#[test]
fn an_interface_goes_down_and_comes_back_at_the_times_given() {
    let Some(_alone) = alone() else { return };
    let events = [
        "--at",
        "1s ip link set lab0 down",
        "--at",
        "1500ms ! ip link show lab0 | grep -q ,UP",
        "--at",
        "2s ip link set lab0 up",
        "--at",
        "2500ms ip link show lab0 | grep -q ,UP",
    ];
    let workload = "stream secs=3.5 rate=4 size=1000";
    let (received, counters) = load_over_two_links("weftline/paths=lab0+lab1", workload, &events);
    assert_eq!(received["missing"], 0, "{received}");
    let problems = counters["problems"].to_string();
    assert!(!problems.contains("by a device"), "{problems}");
    let other = &counters["more"][0]["a_to_b"]["delivered_bytes"];
    assert!(other.as_u64() > Some(400_000), "{counters}");
    // The command that fails is told, and decides the exit code.
    let output = run(&[
        "--link",
        "perfect",
        "--at",
        "10ms exit 9",
        "--",
        "sleep",
        "0.3",
    ]);
    assert_eq!(output.status.code(), Some(9));
    assert!(text(&output.stderr).contains("a command of --at failed: exit status: 9"));
}

#[test]
fn ping_sees_the_delay_of_both_ways() {
    let Some(_alone) = alone() else { return };
    if !weftline_testkit::has_command("ping", "-V", "iputils-ping") {
        return;
    }
    let ping = ["--", "ping", "-n", "-c", "10", "-i", "0.05", "b"];
    let output = run(&[&["--link", "delay=10ms", "--back", "delay=30ms"][..], &ping].concat());
    let out = text(&output.stdout);
    let times = out
        .lines()
        .filter_map(|l| l.split_once("time=")?.1.split(' ').next());
    let mut times: Vec<f64> = times.map(|t| t.parse().unwrap()).collect();
    times.sort_by(f64::total_cmp);
    assert_eq!(times.len(), 10, "{out}");
    assert!((40.0..41.0).contains(&times[0]), "{out}");
}

#[test]
fn the_receiver_misses_the_share_that_was_asked_for_and_no_more() {
    let Some(_alone) = alone() else { return };
    let sent = 4000;
    let link = ["--link", "delay=5ms loss=iid:10%", "--seed", "3"];
    let (_, got, counters) = run_tasks(&link, &format!("send {sent}"), "count");
    let got: u64 = got[0].parse().unwrap();
    let lost = sent - got;
    // Four standard deviations of a binomial are 76.
    assert!(lost.abs_diff(400) < 76, "{lost} of {sent}, seed 3");
    assert_eq!(counters["a_to_b"]["losses"], lost);
    assert_eq!(counters["a_to_b"]["packets"], sent);
    // Runs of chance: 1/(1-p) = 1.11 packets.
    let run = counters["a_to_b"]["mean_loss_run"].as_f64().unwrap();
    assert!((1.0..1.3).contains(&run), "{run}");
}

#[test]
fn the_exit_code_is_that_of_the_command() {
    let Some(_alone) = alone() else { return };
    let code = |command: &str| run(&["--link", "perfect", "-q", "--", "sh", "-c", command]);
    assert_eq!(code("exit 7").status.code(), Some(7));
    assert_eq!(code("kill -9 $$").status.code(), Some(128 + 9));
    let silent = code("echo out");
    assert_eq!(
        (text(&silent.stdout), text(&silent.stderr)),
        ("out\n".into(), String::new())
    );
    let send = task("send 1");
    let told = run(&["--link", "loss=trace:1", "--", "sh", "-c", &send]);
    let told = text(&told.stderr);
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(lines.len(), 2, "{told}");
    assert!(
        lines[0].starts_with("a -> b: 1 packets (") && lines[0].contains(", 1 lost (100.0 %)"),
        "{told}"
    );
    assert!(lines[1].starts_with("b -> a: 0 packets ("), "{told}");
    let missing = run(&["--link", "perfect", "--", "no-such-command-here"]);
    assert_eq!(missing.status.code(), Some(127));
    let wrong = run(&["--link", "delay=30", "--", "true"]);
    assert_eq!(wrong.status.code(), Some(125));
    assert!(text(&wrong.stderr).contains("30ms"));
}

#[test]
fn a_failure_on_side_b_is_told_and_passed_on() {
    let Some(_alone) = alone() else { return };
    let of_b = |b: &str, a: &str| {
        let ended = run(&[
            "--link", "perfect", "--ready", "0s", "--b", b, "--", "sh", "-c", a,
        ]);
        let told = text(&ended.stderr).contains("the command on side b failed: exit status: 3");
        (ended.status.code(), told)
    };
    assert_eq!(of_b("exit 3", "sleep 0.2"), (Some(3), true));
    assert_eq!(of_b("exit 3", "sleep 0.2; exit 7"), (Some(7), true));
    // Those that go on until they are ended have not failed.
    assert_eq!(of_b("sleep 7004", "true"), (Some(0), false));
}

#[test]
fn nothing_remains_after_the_end() {
    let Some(_alone) = alone() else { return };
    let b = "sleep 7001 & sleep 7001";
    let arguments = [
        "--link", "perfect", "--ready", "0s", "--linger", "0s", "--b", b,
    ];
    let mut child = lab(&[&arguments[..], &["--", "true"]].concat())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(remains(child.id()), Vec::<String>::new());
    assert_eq!(sleepers("7001"), 0);
}

#[test]
fn nothing_remains_after_a_signal() {
    let Some(_alone) = alone() else { return };
    for (name, code) in [("-TERM", 143), ("-INT", 130), ("-HUP", 143)] {
        let mut child = start_sleepers("7002", name == "-TERM");
        signal(&child, name);
        assert_eq!(child.0.wait().unwrap().code(), Some(code), "{name}");
        assert_eq!(remains(child.0.id()), Vec::<String>::new(), "{name}");
        assert_eq!(sleepers("7002"), 0, "{name}");
    }
}

#[test]
fn what_a_killed_lab_left_is_removed_by_the_next() {
    let Some(_alone) = alone() else { return };
    let mut child = start_sleepers("7003", true);
    signal(&child, "-KILL");
    child.0.wait().unwrap();
    assert!(!remains(child.0.id()).is_empty());
    let next = run(&["--link", "perfect", "--", "true"]);
    assert!(next.status.success());
    let told = text(&next.stderr);
    assert!(
        told.contains(&format!("weftline-{}-", child.0.id())),
        "{told}"
    );
    assert_eq!(remains(child.0.id()), Vec::<String>::new());
    assert_eq!(sleepers("7003"), 0);
}

#[test]
fn two_labs_at_once_do_not_touch_each_other() {
    let Some(_alone) = alone() else { return };
    let both = [10u64, 25].map(|delay| {
        std::thread::spawn(move || {
            let link = format!("delay={delay}ms");
            let (rtts, _, counters) = run_tasks(&["--link", &link], "round-trips b4", "echo");
            let rtt: u64 = rtts[0].parse().unwrap();
            assert!(
                (2000 * delay..2000 * delay + 1000).contains(&rtt),
                "{rtt} us"
            );
            assert_eq!(counters["a_to_b"]["packets"], 15);
        })
    });
    both.into_iter().for_each(|lab| lab.join().unwrap());
}

#[test]
fn a_script_reaches_both_sides() {
    let Some(_alone) = alone() else { return };
    let program = env!("CARGO_BIN_EXE_weftline-lab");
    let script = format!("{program} on b cat /sys/class/net/lab0/mtu /etc/hosts");
    let output = run(&[
        "--link", "mtu=1400", "--mtu", "1300", "--", "sh", "-c", &script,
    ]);
    let out = text(&output.stdout);
    assert!(
        out.starts_with("1300\n") && out.contains("10.77.0.2 b b4"),
        "{out}"
    );
}

#[test]
fn the_capture_holds_every_delivered_packet() {
    let Some(_alone) = alone() else { return };
    let dir = tempfile::tempdir().unwrap();
    let pcap = dir.path().join("path.pcap");
    let link = ["--link", "delay=3ms", "--pcap", pcap.to_str().unwrap()];
    run_tasks(&link, "round-trips b4", "echo");
    let records = records(&pcap);
    // 15 there and 15 back, each an IPv4 packet of 128 bytes, in the order of time.
    assert_eq!(records.len(), 30);
    assert!(
        records
            .iter()
            .all(|(_, packet)| packet.len() == 128 && packet[0] == 0x45)
    );
    assert!(records.is_sorted_by_key(|(time, _)| *time));
    // The quickest answer came out just after the link's delay.
    let answers = records.chunks(2).map(|pair| pair[1].0 - pair[0].0);
    let quickest = answers.min().unwrap();
    assert!((3_000_000..4_000_000).contains(&quickest), "{quickest} ns");
}

/// Time in ns and bytes of each packet of a capture file.
fn records(file: &Path) -> Vec<(u64, Vec<u8>)> {
    let bytes = fs::read(file).unwrap();
    let word = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap());
    assert_eq!((word(0), word(20)), (0xa1b2_3c4d, 101));
    let mut at = 24;
    let mut records = Vec::new();
    while at < bytes.len() {
        let time = u64::from(word(at)) * 1_000_000_000 + u64::from(word(at + 4));
        let length = word(at + 8) as usize;
        records.push((time, bytes[at + 16..at + 16 + length].to_vec()));
        at += 16 + length;
    }
    records
}
