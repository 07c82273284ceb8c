//! `weftline-lab why`: logs of simulations, whose links are known, and of real sessions.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;
use weftline::{EndpointConfig, EventLogs, InsecureEndpoint};
use weftline_lab::why::{Cause, Explanation, Logs};

use crate::program::lab;

fn why(arguments: &[&str]) -> Value {
    let output = lab(&[&["why", "--json"], arguments].concat());
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The explanation of a simulation, compared with its links.
fn simulate(settings: &str, arguments: &[&str]) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("log.sqlog");
    let file = file.to_str().unwrap();
    let engine = ["sim", "engine", "--secs", "5", "--events", file];
    let settings: Vec<&str> = settings.split(' ').collect();
    let ran = lab(&[&engine[..], &settings, arguments].concat());
    assert!(ran.status.success(), "{settings:?} {arguments:?}: {ran:?}");
    why(&[file, "--check"])
}

/// Late symbols of these causes.
fn late(explanation: &Value, causes: &[&str]) -> u64 {
    let sums = explanation["directions"][0]["causes"].as_array().unwrap();
    let sums = sums
        .iter()
        .filter(|sum| causes.contains(&sum["cause"].as_str().unwrap()));
    sums.map(|sum| sum["count"].as_u64().unwrap()).sum()
}

#[test]
fn causes_agree_with_what_the_links_did() {
    // A link, the traffic, and the causes that it makes.
    let random = "rate=25mbit delay=30ms queue=60ms loss=iid:5%";
    let bursts = "rate=25mbit delay=30ms queue=60ms loss=ge:5%,4";
    let narrow = "rate=12mbit delay=30ms queue=60ms loss=iid:2%";
    let jitter = "rate=25mbit delay=30ms jitter=15ms";
    let overtaking = "rate=25mbit delay=30ms reorder=2%:25ms";
    let whole = "rate=25mbit delay=30ms queue=60ms";
    let down = "rate=25mbit delay=30ms queue=60ms down=3s..3.4s";
    let lost = &["repaired", "sent_again"][..];
    let stream = "cbr:8mbit,1200";
    let cases = [
        ("preset=auto", random, stream, lost),
        ("preset=auto", bursts, stream, lost),
        ("preset=streaming", random, stream, lost),
        ("preset=arq", random, stream, &["sent_again"]),
        ("preset=block", random, stream, lost),
        ("preset=rest", bursts, stream, lost),
        (
            "preset=udp-rc systematic=0",
            random,
            "cbr:4mbit,1200",
            &["decoding"],
        ),
        ("preset=auto", jitter, stream, &["queue"]),
        ("preset=arq", overtaking, stream, &["reordered"]),
        ("preset=arq fixed_window=20000", whole, stream, &["window"]),
        ("preset=arq", down, stream, &["outage"]),
        (
            "preset=auto",
            narrow,
            "video:10mbit,1200",
            &["rate", "window", "queue"],
        ),
        (
            "preset=arq fixed_rate=9",
            narrow,
            "video:8mbit,1200",
            &["rate"],
        ),
    ];
    for (settings, link, traffic, causes) in cases {
        let explanation = simulate(settings, &["--link", link, "--app", traffic]);
        let check = &explanation["check"];
        let [all, right] = ["late", "right"].map(|key| check[key].as_u64().unwrap());
        let text = format!(
            "{settings} {link} {traffic}: {}",
            explanation["directions"][0]["causes"]
        );
        assert!(
            all >= 20 && right as f64 >= 0.99 * all as f64,
            "{right} of {all}: {text}"
        );
        assert!(late(&explanation, causes) >= 10, "{text}");
    }
}

#[test]
fn a_wrong_cause_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("log.sqlog");
    let engine = ["sim", "engine", "--secs", "3", "--events"];
    let ran = lab(&[&engine[..], &[file.to_str().unwrap()]].concat());
    assert!(ran.status.success(), "{ran:?}");
    let logs = Logs::read(&[file]).unwrap();
    let mut explanation = logs.explain(10_000).unwrap();
    let right = |explanation: &Explanation| explanation.check(&logs).unwrap().share();
    assert!(right(&explanation) >= 0.99);
    for late in &mut explanation.directions[0].late {
        late.cause = match late.cause {
            Cause::Repaired => Cause::SentAgain,
            _ => Cause::Repaired,
        };
    }
    assert!(right(&explanation) <= 0.01);
}

#[test]
fn what_two_paths_did_is_told_apart() {
    let slow = [
        "--link",
        "rate=6mbit delay=20ms queue=60ms loss=iid:3%",
        "--link",
        "rate=20mbit delay=70ms loss=iid:3%",
    ];
    let explanation = simulate(
        "preset=auto",
        &[&slow[..], &["--app", "cbr:10mbit,1200"]].concat(),
    );
    assert!(
        late(&explanation, &["slower_path"]) > 100,
        "{}",
        explanation["directions"][0]["causes"]
    );
}

#[test]
fn a_log_of_one_end_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("log.sqlog");
    let head = r#"{"qlog_version":"0.3","trace":{"vantage_point":{"type":"client"},"configuration":{"weftline":{"version":1}}}}"#;
    std::fs::write(&file, format!("\u{1e}{head}\n")).unwrap();
    let file = file.to_str().unwrap();
    for (arguments, says) in [
        (&[file][..], "give that of the other end too"),
        (&[file, file], "not of one session"),
        (&["/dev/null"], "is not an event log"),
    ] {
        let output = lab(&[&["why"], arguments].concat());
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(says), "{said}");
    }
}

/// How long a packet is on its way.
const DELAY: Duration = Duration::from_millis(20);

/// A path to `to` that delays packets and loses one of ten of those that go there.
fn path(to: SocketAddr, done: Arc<AtomicBool>) -> SocketAddr {
    let near = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let far = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    far.connect(to).unwrap();
    let at = near.local_addr().unwrap();
    for socket in [&near, &far] {
        socket.set_nonblocking(true).unwrap();
    }
    std::thread::spawn(move || {
        let mut client = None;
        let mut ways = [Vec::new(), Vec::new()];
        let mut buffer = [0; 2048];
        let mut number = 0;
        while !done.load(Ordering::Relaxed) {
            let now = Instant::now();
            while let Ok((len, from)) = near.recv_from(&mut buffer) {
                client = Some(from);
                number += 1;
                if number % 10 != 0 {
                    ways[0].push((now + DELAY, buffer[..len].to_vec()));
                }
            }
            while let Ok(len) = far.recv(&mut buffer) {
                ways[1].push((now + DELAY, buffer[..len].to_vec()));
            }
            for (way, queue) in ways.iter_mut().enumerate() {
                let due = queue.iter().take_while(|(at, _)| *at <= now).count();
                for (_, packet) in queue.drain(..due) {
                    // A socket that is gone refuses it.
                    let _ = match (way, client) {
                        (0, _) => far.send(&packet),
                        (_, Some(client)) => near.send_to(&packet, client),
                        (_, None) => unreachable!("only answers come back"),
                    };
                }
            }
            std::thread::sleep(Duration::from_micros(200));
        }
    });
    at
}

/// A session over the path that sends messages, and leaves logs in two folders.
async fn session(folders: [&Path; 2]) -> [PathBuf; 2] {
    let [client, server] = folders.map(|folder| {
        let logs = EventLogs::new(folder, 8 << 20);
        let mut config = EndpointConfig::default();
        config.event_logs = Some(logs.clone());
        let local = (Ipv4Addr::LOCALHOST, 0).into();
        (InsecureEndpoint::bind(local, config).unwrap(), logs)
    });
    let done = Arc::new(AtomicBool::new(false));
    let at = path(server.0.local_addr().unwrap(), done.clone());
    let connection = client.0.connect(at).await.unwrap();
    let accepted = server.0.accept().await.unwrap();
    // The clocks of the two logs begin at different times.
    let mut receipts = Vec::new();
    for _ in 0..300 {
        receipts.push(connection.send_message(vec![7; 1000], None).await.unwrap());
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    for receipt in receipts {
        receipt.await.unwrap();
        accepted.recv_message().await.unwrap();
    }
    connection.close(0, "");
    accepted.closed().await;
    drop((connection, accepted));
    client.0.wait_idle().await;
    server.0.wait_idle().await;
    done.store(true, Ordering::Relaxed);
    [client.1, server.1].map(|logs| {
        logs.flush();
        let mut files = std::fs::read_dir(logs.folder()).unwrap();
        files.next().unwrap().unwrap().path()
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn losses_between_real_programs_are_found_in_their_two_logs() {
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let logs = session(folders.each_ref().map(tempfile::TempDir::path)).await;
    let [client, server] = logs.each_ref().map(|path| path.to_str().unwrap());
    // Repairs may be quick: what waits for one waits for the next datagram at least.
    let explanation = why(&["--late", "1ms", client, server]);
    let direction = &explanation["directions"][0];
    assert_eq!(
        (&direction["from"], &direction["to"]),
        (&"client".into(), &"server".into())
    );
    assert_eq!(
        (&direction["never"], &explanation["missing"]),
        (&0.into(), &0.into())
    );
    // Nothing arrives sooner, and both ways take as long.
    let smallest = direction["smallest_us"].as_i64().unwrap();
    assert!((20_000..40_000).contains(&smallest), "{smallest}");
    let error = explanation["clocks"]["error_us"].as_i64().unwrap();
    assert!((20_000..40_000).contains(&error), "{error}");
    // One datagram of ten is lost.
    let lost = late(&explanation, &["repaired", "sent_again"]);
    assert!((10..=60).contains(&lost), "{}", direction["causes"]);
    // The other order of the two files tells the same.
    let swapped = why(&["--late", "1ms", server, client]);
    assert_eq!(swapped["directions"][0]["causes"], direction["causes"]);
}
