//! `send` and `recv`, as people and scripts run them: real processes on loopback.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::time::Duration;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use serde_json::Value;
use weftline_testkit::until;

use crate::running::{Home, Running, code, json, stderr};

/// What Ctrl-C does.
#[cfg(unix)]
fn interrupt(running: &Running) {
    running.signal("-INT");
}

fn random(len: usize, seed: u64) -> Vec<u8> {
    let mut bytes = vec![0; len];
    Xoshiro256PlusPlus::seed_from_u64(seed).fill_bytes(&mut bytes);
    bytes
}

/// The first datagram of any client on plain UDP: a session's number and a HELLO (docs/protocol.md).
fn hello(session: u64) -> Vec<u8> {
    let mut datagram = session.to_be_bytes().to_vec();
    datagram.extend([5, 1, 0]);
    datagram.extend([
        1, 2, 0x45, 0xdc, 2, 2, 0x60, 0, 3, 2, 0x44, 0, 4, 2, 0x44, 0,
    ]);
    datagram.extend([5, 4, 0x81, 0x80, 0, 0, 6, 4, 0x81, 0, 0, 0, 7, 2, 0x41, 0]);
    datagram.extend([
        8, 4, 0x80, 0x10, 0, 0, 9, 4, 0x80, 0x80, 0, 0, 10, 2, 0x40, 0xfa,
    ]);
    datagram
}

#[test]
fn a_directory_is_sent_with_the_command_that_recv_prints() {
    let (from, to) = (Home::new(), Home::new());
    let tree = from.path().join("tree/deep");
    fs::create_dir_all(&tree).unwrap();
    let big = random(2_000_000, 1);
    fs::write(tree.join("big"), &big).unwrap();
    fs::write(from.path().join("tree/script"), "#!/bin/sh").unwrap();
    #[cfg(unix)]
    fs::set_permissions(
        from.path().join("tree/script"),
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .unwrap();

    let (recv, address, peer) = to.receive(&["inbox", "--json", "--peer", &from.fingerprint()]);
    let sent = from.run(&["send", "tree", &address, "--peer", &peer, "--json"]);
    assert_eq!(code(&sent), 0, "{}", stderr(&sent));
    let (received, out, errors) = recv.end_with_output();
    assert_eq!(received, 0, "{errors}");

    assert!(fs::read(to.path().join("inbox/tree/deep/big")).unwrap() == big);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(to.path().join("inbox/tree/script"))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o100, 0o100);
    }
    for (side, result) in [("send", json(&sent.stdout)), ("recv", json(&out))] {
        assert_eq!(result["command"], side);
        assert_eq!(
            (&result["ok"], &result["complete"], &result["bytes"]),
            (&true.into(), &4.into(), &2_000_009.into())
        );
    }
}

#[test]
fn standard_input_arrives_on_standard_output() {
    let (from, to) = (Home::new(), Home::new());
    let (recv, address, peer) = to.receive(&["-", "--peer", &from.fingerprint()]);
    let mut send = from.command(&["send", "-", &address, "--peer", &peer]);
    let mut send = send
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let data = random(500_000, 2);
    send.stdin.take().unwrap().write_all(&data).unwrap();
    let (received, out, errors) = recv.end_with_output();
    assert_eq!(received, 0, "{errors}");
    assert!(out == data);
    assert!(send.wait().unwrap().success());
}

/// Standard input keeps the session open until both paths are.
#[test]
fn a_file_goes_over_two_paths_and_each_is_reported() {
    let (ours, theirs) = (Home::new(), Home::new());
    let (receiver, address, peer) = theirs.receive(&["-", "--peer", &ours.fingerprint()]);
    let mut sender = ours.command(&[
        "send",
        "-",
        &address,
        "--peer",
        &peer,
        "--json",
        "--path",
        "127.0.0.2",
        "--path",
        "127.0.0.3,cost=1",
    ]);
    let mut sender = sender
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut notes = BufReader::new(sender.stderr.take().unwrap()).lines();
    let opened = notes.find(|line| line.as_ref().unwrap() == "path 127.0.0.3,cost=1 is open");
    assert!(opened.is_some());
    let data = random(300_000, 3);
    let mut input = sender.stdin.take().unwrap();
    input.write_all(&data).unwrap();
    drop(input);
    let (status, received, _) = receiver.end_with_output();
    assert!(status == 0 && received == data);
    let output = sender.wait_with_output().unwrap();
    assert_eq!(code(&output), 0);
    let paths = &json(&output.stdout)["session"]["paths"];
    assert_eq!(paths[0]["path"], "127.0.0.2");
    assert_eq!(
        (&paths[1]["path"], &paths[1]["cost"]),
        (&"127.0.0.3,cost=1".into(), &1.into())
    );
    assert!(paths[0]["sent_bytes"].as_u64().unwrap() > 0);
}

#[test]
fn an_unknown_peer_is_refused_and_both_sides_say_how_to_allow_it() {
    let (from, to) = (Home::new(), Home::new());
    fs::write(from.path().join("f"), "x").unwrap();
    let ours = from.fingerprint();
    let (mut recv, address, peer) = to.receive(&["in box"]);
    let sent = from.run(&["send", "f", &address, "--peer", &peer]);
    assert_eq!(code(&sent), 3, "{}", stderr(&sent));
    assert!(
        stderr(&sent).contains(&format!("weftline recv --peer {ours}")),
        "{}",
        stderr(&sent)
    );
    // The list comes first at both ends: it counts without a restart.
    let list = ".config/weftline/allowed-files";
    let says = format!("add that to ~/{list}, which counts at once");
    assert!(stderr(&sent).contains(&says), "{}", stderr(&sent));
    let line = recv.line("refused ");
    let list = to.path().join(list);
    let hint = format!("weftline recv --listen 127.0.0.1:0 'in box' --peer {ours}");
    let remedy = format!(
        "add its fingerprint to {}, which counts at once; or start again with: {hint}",
        list.display()
    );
    assert_eq!(line, format!("refused {ours}: to allow it, {remedy}"));
    assert_eq!(fs::read_dir(to.path().join("in box")).unwrap().count(), 0);
}

#[test]
fn the_wrong_fingerprint_is_noticed_before_anything_is_sent() {
    let (from, to) = (Home::new(), Home::new());
    fs::write(from.path().join("f"), "x").unwrap();
    let (_recv, address, peer) = to.receive(&["--peer-anyone"]);
    let wrong = from.fingerprint();
    let sent = from.run(&["send", "f", &address, "--peer", &wrong, "--json"]);
    assert_eq!(code(&sent), 3, "{}", stderr(&sent));
    let error = json(&sent.stdout)["error"].as_str().unwrap().to_owned();
    assert!(
        error.contains(&format!("expected {wrong}")) && error.contains(&format!("got {peer}")),
        "{error}"
    );
}

#[test]
fn an_interrupted_transfer_goes_on_where_it_stopped() {
    let (from, to) = (Home::new(), Home::new());
    let big = random(3_000_000, 3);
    fs::write(from.path().join("big"), &big).unwrap();
    let (recv, address, peer) = to.receive(&[
        ".",
        "--timeout",
        "2s",
        "--json",
        "--peer",
        &from.fingerprint(),
    ]);
    fs::write(from.path().join("small"), "x").unwrap();
    let words = [
        "send", "small", "big", &address, "--peer", &peer, "--rate", "8mbit",
    ];
    let mut send = from.start(&words);
    let name = from.fingerprint().replace('-', "");
    let part = to.path().join(format!(".big.{name}.weftline-part"));
    until("500,000 bytes", || {
        let len = fs::metadata(&part).ok()?.len();
        (len >= 500_000).then_some(())
    });
    send.kill();
    let (received, out, errors) = recv.end_with_output();
    assert_eq!(received, 4, "{errors}");
    assert!(errors.contains("run the same command again"), "{errors}");
    // What it has done until then is told.
    let result = json(&out);
    assert_eq!(result["complete"], 1, "{result}");
    assert!(result["bytes"].as_u64() >= Some(500_000), "{result}");
    assert!(result["folder"].is_string(), "{result}");
    assert!(!to.path().join("big").exists());

    let (recv, address, peer) = to.receive(&[".", "--peer", &from.fingerprint(), "--json"]);
    let sent = from.run(&["send", "big", &address, "--peer", &peer]);
    assert_eq!(code(&sent), 0, "{}", stderr(&sent));
    let result = json(&recv.end_with_output().1);
    assert!(
        result["resumed_bytes"].as_u64().unwrap() >= 500_000,
        "{result}"
    );
    assert!(fs::read(to.path().join("big")).unwrap() == big);
    assert!(!part.exists());
}

#[cfg(unix)]
#[test]
fn a_sender_that_tries_again_goes_on_after_a_restart_of_the_receiver() {
    let (from, to) = (Home::new(), Home::new());
    let big = random(3_000_000, 7);
    fs::write(from.path().join("big"), &big).unwrap();
    let ours = from.fingerprint();
    let keep = [".", "--keep", "--peer", &ours];
    let (recv, address, peer) = to.receive(&keep);
    let words = ["send", "big", &address, "--peer", &peer, "--json"];
    let more = ["--retry", "30s", "--rate", "4mbit"];
    let mut send = from.start(&[&words[..], &more].concat());
    let name = ours.replace('-', "");
    let part = to.path().join(format!(".big.{name}.weftline-part"));
    until("500,000 bytes", || {
        let len = fs::metadata(&part).ok()?.len();
        (len >= 500_000).then_some(())
    });
    interrupt(&recv);
    assert_eq!(recv.end_with_output().0, 130);
    let said = send.line("trying again");
    assert_eq!(said, "the peer was stopped; trying again in 0.5 s");
    let _recv = to.start(&[&["recv"], &keep[..], &["--listen", &address]].concat());
    let (code, out, errors) = send.end_with_output();
    assert_eq!(code, 0, "{errors}");
    assert!(json(&out)["resumed_bytes"].as_u64() >= Some(500_000));
    assert!(fs::read(to.path().join("big")).unwrap() == big);
}

#[cfg(unix)]
#[test]
fn ctrl_c_stops_both_ends_with_a_word() {
    let (from, to) = (Home::new(), Home::new());
    fs::write(from.path().join("big"), random(3_000_000, 4)).unwrap();
    let (mut recv, address, peer) = to.receive(&["--peer", &from.fingerprint()]);
    let send = from.start(&["send", "big", &address, "--peer", &peer, "--rate", "2mbit"]);
    recv.line("connection from");
    std::thread::sleep(Duration::from_millis(300));
    interrupt(&send);
    let (sent, _, errors) = send.end_with_output();
    assert_eq!(sent, 130, "{errors}");
    assert!(
        errors.contains("stopped; run the same command again"),
        "{errors}"
    );
    let (received, _, errors) = recv.end_with_output();
    assert_eq!(received, 4, "{errors}");
    assert!(errors.contains("the peer was stopped"), "{errors}");
}

#[cfg(unix)]
#[test]
fn a_receiver_that_is_stopped_tells_the_sender() {
    let (from, to) = (Home::new(), Home::new());
    fs::write(from.path().join("big"), random(3_000_000, 4)).unwrap();
    let (mut recv, address, peer) = to.receive(&["--peer", &from.fingerprint()]);
    let send = from.start(&["send", "big", &address, "--peer", &peer, "--rate", "2mbit"]);
    recv.line("connection from");
    interrupt(&recv);
    let (received, _, errors) = recv.end_with_output();
    assert_eq!(received, 130, "{errors}");
    let (sent, _, errors) = send.end_with_output();
    assert_eq!(sent, 4, "{errors}");
    assert!(errors.contains("the peer was stopped"), "{errors}");
}

#[cfg(unix)]
#[test]
fn an_idle_receiver_that_is_stopped_says_only_that() {
    let to = Home::new();
    for (name, expected) in [("-INT", 130), ("-TERM", 143)] {
        let (recv, _, _) = to.receive(&[]);
        recv.signal(name);
        let (received, _, errors) = recv.end_with_output();
        assert_eq!((received, errors.as_str()), (expected, "stopped"));
    }
}

#[test]
fn a_receiver_named_with_peer_is_remembered_with_its_first_address() {
    let (from, to) = (Home::new(), Home::new());
    fs::write(from.path().join("f"), "x").unwrap();
    let us = from.fingerprint();
    let (_recv, address, peer) = to.receive(&["--keep", "--peer", &us]);
    // A key that is not there is not remembered.
    let sent = from.run(&["send", "f", &address, "--peer", &us]);
    assert_eq!(code(&sent), 3, "{}", stderr(&sent));
    let sent = from.run(&["send", "f", &address]);
    assert!(stderr(&sent).contains("nobody is known at"));
    let sent = from.run(&["send", "f", &address, "--peer", &peer]);
    assert_eq!(code(&sent), 0, "{}", stderr(&sent));
    assert!(stderr(&sent).contains("needs no --peer from now on"));
    let sent = from.run(&["send", "f", &address]);
    assert_eq!(code(&sent), 0, "{}", stderr(&sent));
    let (_recv, other, _) = to.receive(&["other", "--keep", "--peer", &us]);
    let sent = from.run(&["send", "f", &other, "--peer", &peer]);
    assert_eq!(code(&sent), 0, "{}", stderr(&sent));
    let known = fs::read_to_string(from.path().join(".config/weftline/peers")).unwrap();
    assert_eq!(known.lines().count(), 1, "{known}");
    assert!(known.contains(&format!("{peer} {address}")), "{known}");
}

#[test]
fn a_wrong_address_of_send_is_told_in_one_line() {
    let home = Home::new();
    for (words, why) in [
        (&["send", "f"][..], "after them the address"),
        (&["send", "f", "b c"], "`b c` is not an address: give HOST"),
    ] {
        let output = home.run(words);
        let error = stderr(&output);
        assert_eq!((code(&output), error.lines().count()), (2, 1), "{error}");
        assert!(
            error.starts_with("error: ") && error.contains(why),
            "{error}"
        );
    }
}

#[test]
fn records_without_a_transfer_agree() {
    let home = Home::new();
    for words in [&["recv"][..], &["relay", "serve", "--allow", "*:*"]] {
        let checked = home.run(&[words, &["--check", "--json"]].concat());
        let record = json(&checked.stdout);
        let said = (&record["event"], &record["ok"], &record["error"]);
        assert_eq!(said, (&"end".into(), &true.into(), &Value::Null));
    }
    // Nobody answers, for a second.
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap().to_string();
    fs::write(home.path().join("f"), "x").unwrap();
    let peer = home.fingerprint();
    let words = ["send", "f", &address, "--peer", &peer, "--timeout", "1s"];
    let sent = home.run(&[&words[..], &["--json"]].concat());
    let record = json(&sent.stdout);
    assert_eq!(record["exit"], 4, "{record}");
    assert!(record["seconds"].as_f64() >= Some(0.9), "{record}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_hangup_ends_a_transfer_with_its_terminal_alone_and_with_a_record() {
    let (from, to) = (Home::new(), Home::new());
    let us = from.fingerprint();
    let words = ["recv", "--listen", "127.0.0.1:0", "--json", "--peer", &us];
    let mut recv = Running::on_terminal(to.command(&words));
    let hint = recv.line("  weftline send FILE... ");
    let words: Vec<&str> = hint.split_whitespace().collect();
    let (address, peer) = (words[3], words[5]);
    // A transfer that goes on: standard input is open.
    let (input, _output) = std::io::pipe().unwrap();
    let mut send = from.command(&["send", "-", address, "--json", "--peer", peer]);
    send.stdin(input);
    let mut send = Running::new(send);
    recv.line("connection from");
    send.signal("-HUP");
    send.line("SIGHUP: going on");
    recv.signal("-HUP");
    recv.line("SIGHUP: stopping with the terminal");
    let (code, records) = recv.end();
    assert_eq!((code, &records[0]["event"]), (143, &"end".into()));
    let (code, records) = send.end();
    assert_eq!((code, &records[0]["event"]), (4, &"end".into()));
}

#[cfg(unix)]
#[test]
fn a_second_sender_is_told_that_the_receiver_is_busy_and_the_first_goes_on() {
    let (from, to) = (Home::new(), Home::new());
    fs::write(from.path().join("big"), random(1_000_000, 8)).unwrap();
    fs::write(from.path().join("f"), "x").unwrap();
    let (mut recv, address, peer) = to.receive(&["--peer", &from.fingerprint()]);
    let first = from.start(&["send", "big", &address, "--peer", &peer, "--rate", "4mbit"]);
    recv.line("connection from");
    let second = from.run(&["send", "f", &address, "--peer", &peer]);
    assert_eq!(code(&second), 4, "{}", stderr(&second));
    assert!(
        stderr(&second).contains("busy with another sender"),
        "{}",
        stderr(&second)
    );
    assert_eq!(first.end_with_output().0, 0);
    assert_eq!(recv.end_with_output().0, 0);
}

#[test]
fn a_terminal_that_takes_nothing_does_not_stop_the_transfer() {
    let (from, to) = (Home::new(), Home::new());
    let data = random(1_000_000, 9);
    fs::write(from.path().join("f"), &data).unwrap();
    let (recv, address, peer) = to.receive(&["--peer", &from.fingerprint()]);
    // Its log fills the pipe many times over, and nobody reads it.
    let mut send = from
        .command(&["send", "-vvv", "f", &address, "--peer", &peer])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (received, _, errors) = recv.end_with_output();
    send.kill().unwrap();
    send.wait().unwrap();
    assert_eq!(received, 0, "{errors}");
    assert!(fs::read(to.path().join("received/f")).unwrap() == data);
}

#[test]
fn a_receiver_that_vanishes_is_noticed() {
    let (from, to) = (Home::new(), Home::new());
    fs::write(from.path().join("big"), random(3_000_000, 5)).unwrap();
    let (mut recv, address, peer) = to.receive(&["--peer", &from.fingerprint()]);
    let arguments = [
        "send",
        "big",
        &address,
        "--peer",
        &peer,
        "--rate",
        "2mbit",
        "--timeout",
        "2s",
    ];
    let send = from.start(&arguments);
    recv.line("connection from");
    recv.kill();
    let (sent, _, errors) = send.end_with_output();
    assert_eq!(sent, 4, "{errors}");
    assert!(errors.contains("connection lost"), "{errors}");
}

#[test]
fn nobody_there_is_said_so() {
    let from = Home::new();
    fs::write(from.path().join("f"), "x").unwrap();
    // Bound, so that nobody else answers; never read.
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap().to_string();
    let peer = from.fingerprint();
    let sent = from.run(&["send", "f", &address, "--peer", &peer, "--timeout", "1s"]);
    assert_eq!(code(&sent), 4, "{}", stderr(&sent));
    assert!(
        stderr(&sent).contains("no answer from"),
        "{}",
        stderr(&sent)
    );
}

#[test]
fn datagrams_of_strangers_do_not_end_a_waiting_receiver() {
    let (from, to) = (Home::new(), Home::new());
    fs::write(from.path().join("f"), "hello").unwrap();
    let (mut recv, address, _) = to.receive(&["--insecure-udp", "--timeout", "1s"]);
    let stranger = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    // As many as a second lets in; most of them are told of as a number.
    for session in 0..25 {
        stranger.send_to(&hello(session), &address).unwrap();
    }
    recv.line("offered nothing");
    let sent = from.run(&["send", "f", &address, "--insecure-udp", "--rate", "50mbit"]);
    assert_eq!(code(&sent), 0, "{}", stderr(&sent));
    let (code, _, rest) = recv.end_with_output();
    assert_eq!(code, 0, "{rest}");
    assert!(rest.matches("offered nothing").count() < 8, "{rest}");
}

#[test]
fn plain_udp_works_and_warns() {
    let (from, to) = (Home::new(), Home::new());
    fs::write(from.path().join("f"), random(200_000, 6)).unwrap();
    let (recv, address, _) = to.receive(&["--insecure-udp"]);
    let sent = from.run(&["send", "f", &address, "--insecure-udp", "--rate", "50mbit"]);
    assert_eq!(code(&sent), 0, "{}", stderr(&sent));
    assert!(stderr(&sent).contains("nothing is encrypted"));
    assert_eq!(recv.end_with_output().0, 0);
    assert!(fs::read(to.path().join("received/f")).unwrap() == random(200_000, 6));
}

#[test]
fn presets_with_options_carry_a_file() {
    let data = random(300_000, 7);
    for (preset, carrier) in [
        ("rest", ""),
        ("udp-rc", "--insecure-udp"),
        ("udp-rc,field=256,control=off", ""),
        ("rlc-block,k=128,field=16,header=vector", "--insecure-udp"),
        ("rlc-block,systematic=1,extra=4", ""),
    ] {
        let (from, to) = (Home::new(), Home::new());
        fs::write(from.path().join("f"), &data).unwrap();
        let plain = [carrier];
        let allow = ["--peer", &from.fingerprint()];
        let (recv, address, peer) = match carrier {
            "" => to.receive(&allow),
            _ => to.receive(&plain),
        };
        let peer = ["--peer", &peer];
        let how = if carrier.is_empty() {
            &peer[..]
        } else {
            &plain
        };
        let sent = from.run(&[&["send", "f", &address, "--preset", preset], how].concat());
        assert_eq!(code(&sent), 0, "{preset}: {}", stderr(&sent));
        assert_eq!(recv.end_with_output().0, 0, "{preset}");
        assert!(
            fs::read(to.path().join("received/f")).unwrap() == data,
            "{preset}"
        );
    }
}

#[test]
fn existing_files_are_kept_and_equal_ones_count_as_done() {
    let (from, to) = (Home::new(), Home::new());
    for (name, here) in [("same", "1"), ("other", "1")] {
        fs::write(from.path().join(name), here).unwrap();
    }
    fs::write(to.path().join("other"), "2").unwrap();
    let (recv, address, peer) = to.receive(&[".", "--keep", "--peer", &from.fingerprint()]);
    let first = from.run(&["send", "same", &address, "--peer", &peer]);
    assert_eq!(code(&first), 0, "{}", stderr(&first));
    let same = from.run(&["send", "-v", "same", &address, "--peer", &peer]);
    assert_eq!(code(&same), 0, "{}", stderr(&same));
    assert!(stderr(&same).contains("same: already complete"));
    assert!(!stderr(&same).contains('\u{1b}'), "{}", stderr(&same));
    let other = from.run(&["send", "other", &address, "--peer", &peer]);
    assert_eq!(code(&other), 1);
    assert!(stderr(&other).contains("--overwrite"), "{}", stderr(&other));
    assert_eq!(fs::read_to_string(to.path().join("other")).unwrap(), "2");
    drop(recv);
}

#[test]
fn files_arrive_in_a_new_folder_and_are_listed() {
    let (from, to) = (Home::new(), Home::new());
    fs::create_dir_all(from.path().join("tree/.git")).unwrap();
    for name in ["tree/a", "tree/.git/config", "allowed-files"] {
        fs::write(from.path().join(name), "content").unwrap();
    }
    let ours = from.fingerprint();
    let (recv, address, peer) = to.receive(&["--json", "--peer", &ours]);
    let sent = from.run(&["send", "tree", &address, "--peer", &peer]);
    assert_eq!(code(&sent), 1, "{}", stderr(&sent));
    let (received, out, errors) = recv.end_with_output();
    assert_eq!(received, 1, "{errors}");
    assert!(errors.contains("\n  tree/\n  tree/a (7 B)"), "{errors}");
    assert!(errors.contains("--hidden"), "{errors}");
    let result = json(&out);
    assert_eq!(result["folder"], "received");
    let listed = serde_json::json!([{"name": "tree/"}, {"name": "tree/a", "bytes": 7}]);
    assert_eq!(result["received"], listed);
    assert!(!to.path().join("received/tree/.git").exists());
    // It was not complete: the same folder again. What is complete stays, and the next is new.
    let (recv, address, peer) = to.receive(&["--hidden", "--peer", &ours]);
    let sent = from.run(&["send", "tree", &address, "--peer", &peer]);
    assert_eq!(code(&sent), 0, "{}", stderr(&sent));
    assert_eq!(recv.end_with_output().0, 0);
    assert!(to.path().join("received/tree/.git/config").exists());
    let (mut recv, address, peer) = to.receive(&["--peer", &ours]);
    let sent = from.run(&["send", "allowed-files", &address, "--peer", &peer]);
    assert_eq!(code(&sent), 0, "{}", stderr(&sent));
    recv.line("received 1 entry");
    assert!(to.path().join("received-2/allowed-files").exists());
}

#[test]
fn no_sender_can_allow_itself_more() {
    let (from, to) = (Home::new(), Home::new());
    let list = from.path().join(".config/weftline/allowed-forward");
    let ours = from.fingerprint();
    fs::write(&list, &ours).unwrap();
    let (recv, address, peer) = to.receive(&[".", "--hidden", "--overwrite", "--peer", &ours]);
    let sent = from.run(&["send", ".config", &address, "--peer", &peer]);
    assert_eq!(code(&sent), 1, "{}", stderr(&sent));
    let (received, _, errors) = recv.end_with_output();
    assert_eq!(received, 1, "{errors}");
    assert!(!to.path().join(".config/weftline/allowed-forward").exists());
    assert!(to.path().join(".config/weftline/identity.pem").exists());
}

#[test]
fn no_sender_replaces_the_options_of_a_receiver() {
    let (from, to) = (Home::new(), Home::new());
    let ours = from.fingerprint();
    let options = "overwrite = true\n";
    fs::write(from.path().join("recv.toml"), "peer-anyone = true\n").unwrap();
    fs::write(to.path().join("recv.toml"), options).unwrap();
    let (recv, address, peer) = to.receive(&[".", "--config", "recv.toml", "--peer", &ours]);
    let sent = from.run(&["send", "recv.toml", &address, "--peer", &peer]);
    assert_eq!(code(&sent), 1, "{}", stderr(&sent));
    assert_eq!(recv.end_with_output().0, 1);
    let kept = fs::read_to_string(to.path().join("recv.toml")).unwrap();
    assert_eq!(kept, options);
}

#[test]
fn the_list_of_earlier_versions_allows_nothing_and_says_so() {
    let (from, to) = (Home::new(), Home::new());
    fs::write(from.path().join("f"), "x").unwrap();
    to.fingerprint();
    let list = |name| to.path().join(".config/weftline").join(name);
    let (old, new) = (list("allowed"), list("allowed-files"));
    fs::write(&old, from.fingerprint()).unwrap();
    let mut recv = to.start(&["recv", "--listen", "127.0.0.1:0"]);
    assert!(recv.line("warning: ").contains("allowed-files (recv)"));
    let hint = recv.line("  weftline send FILE... ");
    let address = hint.split_whitespace().nth(3).unwrap();
    let peer = to.fingerprint();
    let sent = from.run(&["send", "f", address, "--peer", &peer]);
    assert_eq!(code(&sent), 3, "{}", stderr(&sent));
    drop(recv);
    fs::rename(&old, &new).unwrap();
    let (recv, address, peer) = to.receive(&[]);
    let sent = from.run(&["send", "f", &address, "--peer", &peer]);
    assert_eq!(code(&sent), 0, "{}", stderr(&sent));
    assert_eq!(recv.end_with_output().0, 0);
}
