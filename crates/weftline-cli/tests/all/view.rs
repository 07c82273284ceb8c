//! `weftline view`: the real process, without a browser. `crates/weftline-web/tests/browser` has one.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;

use crate::running::{PATIENCE, Running, start};
use weftline_testkit::has_command;

/// Two seconds of a test picture with sound; false: this machine cannot make them, and says so.
fn clip(file: &Path) -> bool {
    let options = "-v error -y -f lavfi -i testsrc2=size=320x240:rate=30:duration=2 -f lavfi -i sine=duration=2 \
                   -c:v libx264 -preset ultrafast -tune zerolatency -g 30 -c:a libopus -f mpegts";
    has_command("ffmpeg", "-version", "ffmpeg") && {
        let mut command = Command::new("ffmpeg");
        command.args(options.split_whitespace()).arg(file);
        assert!(command.status().unwrap().success());
        true
    }
}

/// Address and token of a printed link.
fn link(line: &str) -> (String, String) {
    let (_, rest) = line.split_once("http://").unwrap();
    let (address, token) = rest.trim().split_once("/#").unwrap();
    (address.to_owned(), token.to_owned())
}

fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn admitted(address: &str, token: &str) -> bool {
    get(address, &format!("/certificate?token={token}")).contains("\"admitted\":true")
}

#[test]
fn it_prints_links_that_admit_and_a_further_one_when_asked() {
    let home = tempfile::tempdir().unwrap();
    let (clip_file, page) = (home.path().join("clip.ts"), home.path().join("page"));
    if !clip(&clip_file) {
        return;
    }
    std::fs::create_dir(&page).unwrap();
    std::fs::write(page.join("index.html"), "my own page").unwrap();
    let options =
        "view --from clip.ts --repeat --http --listen 127.0.0.1:0 --once --page page --json";
    let mut view = start(home.path(), &options.split(' ').collect::<Vec<_>>());
    let (address, token) = link(&view.line("  http://"));
    assert_eq!(token.len(), 32);
    assert!(admitted(&address, &token) && !admitted(&address, &token[1..]));
    assert!(get(&address, "/").ends_with("my own page"));
    view.signal("-HUP");
    let (again, further) = link(&view.line("a further link: "));
    assert!(again == address && further != token && admitted(&address, &further));
    view.signal("-INT");
    let (code, lines) = view.end();
    assert_eq!((code, lines.len()), (130, 2));
    assert_eq!(lines[0]["links"][0], format!("http://{address}/#{token}"));
    assert_eq!(lines[1]["event"], "end");
}

#[test]
fn it_ends_with_its_source_and_counts_what_came() {
    let home = tempfile::tempdir().unwrap();
    if !clip(&home.path().join("clip.ts")) {
        return;
    }
    let options =
        "view --from clip.ts --http --listen 127.0.0.1:0 --json --token-life 5m --tokens 3";
    let mut view: Running = start(home.path(), &options.split(' ').collect::<Vec<_>>());
    view.line("the stream has ended");
    let (code, lines) = view.end();
    assert_eq!(code, 0, "{lines:?}");
    assert_eq!(lines[0]["links"].as_array().unwrap().len(), 3);
    let end = &lines[1];
    assert_eq!(
        (&end["frames"], &end["key_frames"]),
        (&60.into(), &2.into())
    );
    assert!(end["sound_packets"].as_u64().unwrap() > 90, "{end}");
}

#[test]
fn what_cannot_work_is_refused_at_the_start() {
    let home = tempfile::tempdir().unwrap();
    for (options, code) in [
        ("view --http --listen 0.0.0.0:0", 1),
        ("view --from missing.ts --http --listen 127.0.0.1:0", 1),
        ("view --page missing --listen 127.0.0.1:0", 1),
        ("view --cert a.pem --listen 127.0.0.1:0", 2),
        ("view --from gopher://:1", 2),
        ("view --delay 49ms", 2),
    ] {
        let (got, _) = start(home.path(), &options.split(' ').collect::<Vec<_>>()).end();
        assert_eq!(got, code, "{options}");
    }
}
