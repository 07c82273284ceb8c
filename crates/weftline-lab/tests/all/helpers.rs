//! The programs that measure SRT, UDT and kcptun, on loopback. Each test says what is
//! missing where something is not installed.

use std::io::{BufRead, BufReader, Read};
use std::net::{TcpListener, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use serde_json::Value;
use weftline_sim::Pace;

fn ext() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("ext")
}

/// The helper of this name, built for these tests; or why there is none.
fn helper(name: &str) -> Result<PathBuf, String> {
    static BUILT: OnceLock<Result<String, String>> = OnceLock::new();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ext");
    let built = BUILT.get_or_init(|| {
        let mut make = Command::new("make");
        make.arg("-C")
            .arg(ext())
            .arg(format!("OUT={}", folder.display()));
        let output = make.output().map_err(|e| format!("make: {e}"))?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            output.status.success(),
            "{said}{}",
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(said)
    });
    let said = built.as_ref().map_err(String::clone)?;
    let program = folder.join(format!("weftline-load-{name}"));
    let not_built = said
        .lines()
        .find(|line| line.starts_with(&format!("{name}: not built")));
    match not_built {
        Some(line) => Err(line.to_owned()),
        None => Ok(program),
    }
}

fn kcptun() -> Result<PathBuf, String> {
    for program in ["kcptun-server", "kcptun-client"] {
        let found = Command::new(program).arg("--version").output();
        found.map_err(|e| format!("{program}: {e} (Debian: kcptun)"))?;
    }
    Ok(ext().join("kcptun.sh"))
}

/// A port that is free for UDP and TCP, and so are the two after it.
fn port() -> u16 {
    loop {
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let port = udp.local_addr().unwrap().port();
        let is_free = |port| {
            TcpListener::bind(("127.0.0.1", port)).is_ok()
                && UdpSocket::bind(("127.0.0.1", port)).is_ok()
        };
        drop(udp);
        if port < 65_000 && (port..port + 3).all(is_free) {
            return port;
        }
    }
}

/// A receiver that is ended with the test, should that fail.
struct Receiver(Child);

impl Drop for Receiver {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Both ends' results.
fn measure(program: &Path, mode: &str, settings: &[&str]) -> (Value, Value) {
    let port = port().to_string();
    let command = |side: &str| {
        let mut command = Command::new(program);
        command
            .args([side, mode, "127.0.0.1", &port])
            .args(settings);
        command.env("WEFTLINE", env!("CARGO_BIN_EXE_weftline-lab"));
        command
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .stdout(Stdio::piped());
        command
    };
    let mut receiver = Receiver(command("recv").spawn().unwrap());
    let mut lines = BufReader::new(receiver.0.stdout.take().unwrap());
    let mut first = String::new();
    lines.read_line(&mut first).unwrap();
    assert_eq!(first.trim(), r#"{"listening":true}"#, "{mode}");
    let sent = command("send").output().unwrap();
    let mut received = String::new();
    lines.read_to_string(&mut received).unwrap();
    let json = |text: &str| serde_json::from_str(text.lines().last().unwrap()).unwrap();
    let (received, sent) = (
        json(&received),
        json(&String::from_utf8_lossy(&sent.stdout)),
    );
    assert!(receiver.0.wait().unwrap().success(), "{mode}: {received}");
    (received, sent)
}

/// Keeps to the contract of docs/reference/load.md in every mode.
fn keeps_the_contract(program: &Path) {
    let settings = ["secs=0.5", "rate=4", "cdf=1"];
    let (received, sent) = measure(program, "stream", &settings);
    // 4 Mbit/s of 9600 bits each for half a second.
    assert_eq!(
        (&received["sent"], &received["got"]),
        (&209.into(), &209.into()),
        "{received}"
    );
    assert_eq!(received["missing"], 0);
    for name in ["mean", "p50", "p95", "p99", "p999", "max"] {
        assert!(received[name].as_f64().unwrap() > 0.0, "{name}: {received}");
    }
    assert!(
        sent["late"]["p99"].is_number() && sent["blocked"].is_number(),
        "{sent}"
    );
    let curve = received["cdf"].as_array().unwrap();
    let points: Vec<(f64, f64)> = curve
        .iter()
        .map(|p| (p[0].as_f64().unwrap(), p[1].as_f64().unwrap()))
        .collect();
    assert!(
        points.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1),
        "{received}"
    );
    let (share, longest) = *points.last().unwrap();
    assert!(share == 1.0 && (longest - received["max"].as_f64().unwrap()).abs() < 0.01);

    let (received, _) = measure(program, "stream", &["secs=0.5", "rate=4", "video=1"]);
    let frames = Pace::Video.before(4_000_000, 1200, Duration::from_millis(500));
    assert_eq!(
        (&received["sent"], &received["got"]),
        (&frames.into(), &frames.into()),
        "{received}"
    );

    let (received, _) = measure(program, "bulk", &["secs=2", "skip=0.2"]);
    let number = |name: &str| received[name].as_f64().unwrap();
    assert!(
        number("goodput") >= 0.0 && number("total") > 0.0,
        "{received}"
    );
    assert!(number("total") >= number("bytes"), "{received}");

    let (received, sent) = measure(program, "xfer", &["n=2", "size=20000"]);
    assert_eq!(
        (&received["got"], &received["bytes"]),
        (&2.into(), &40_000.into())
    );
    assert_eq!(sent["failed"], 0, "{sent}");
    let times = sent["times"].as_array().unwrap();
    assert!(
        times.len() == 2 && times.iter().all(|t| t.as_f64().unwrap() > 0.0),
        "{sent}"
    );
}

/// The helpers and kcptun, each with its short name for `.ci/unable`.
const PROGRAMS: [&str; 3] = ["srt", "udt", "kcptun"];

fn program(name: &str) -> Option<PathBuf> {
    let program = match name {
        "kcptun" => kcptun(),
        _ => helper(name),
    };
    program
        .inspect_err(|why| weftline_testkit::unable(name, why))
        .ok()
}

fn checked(name: &str) {
    if let Some(program) = program(name) {
        keeps_the_contract(&program);
    }
}

#[test]
fn srt_keeps_to_the_contract() {
    checked("srt");
}

#[test]
fn udt_keeps_to_the_contract() {
    checked("udt");
}

#[test]
fn kcptun_keeps_to_the_contract() {
    checked("kcptun");
}

#[test]
fn an_unknown_setting_is_refused_by_name() {
    for program in PROGRAMS.into_iter().filter_map(program) {
        let mut command = Command::new(&program);
        command.args([
            "recv",
            "stream",
            "127.0.0.1",
            &port().to_string(),
            "colour=red",
        ]);
        command.env("WEFTLINE", env!("CARGO_BIN_EXE_weftline-lab"));
        let output = command.stderr(Stdio::null()).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", program.display());
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let error: Value = serde_json::from_str(said.lines().last().unwrap()).unwrap();
        assert!(
            error["error"].as_str().unwrap().contains("colour"),
            "{error}"
        );
    }
}
