//! `weftline tun` as the network of its host: what leaves through the tunnel, what leaves past it, and
//! what is left behind. Needs Linux, root and a TUN device; elsewhere each test says what is missing.

use std::fs;
use std::net::UdpSocket;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::inside::{Running, path};
use serde_json::Value;
use tempfile::TempDir;
use weftline_emulator::{Lab, Side};
use weftline_testkit::{can_emulate_paths, has_command};

/// Addresses of the far host that the near one reaches by its default route only.
const FAR: [&str; 2] = ["198.51.100.7", "2001:db8:7::7"];
/// The far host's address on the path.
const BESIDE: &str = "10.77.0.2:9";
/// Where packets seem to come from: past the tunnel, and through it.
const PAST: [&str; 2] = ["10.77.0.1", "fd77::1"];
const TUNNEL: [&str; 2] = ["10.99.", "fd99:"];
/// Runs the words behind it as nobody, who may change the network and nothing else. `tun` is a device that
/// all may open, as it is on most machines.
const AS_NOBODY: &str = "mount --bind tun /dev/net/tun && exec setpriv --reuid 65534 --regid 65534 \
     --clear-groups --no-new-privs --inh-caps -all,+net_admin --ambient-caps +net_admin \
     --bounding-set -all,+net_admin";

/// Two hosts, of which the far one serves.
struct Hosts {
    folder: TempDir,
    lab: Lab,
    /// The fingerprint of both.
    key: String,
    /// Something that is on the near host all the time.
    near: Running,
    /// Packets to any address of the far host.
    far: UdpSocket,
    _serving: Running,
}

impl Hosts {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let lab = path("delay=5ms", Some("delay=5ms"), 1);
        ip(&lab, Side::A, "route add default dev lab0");
        ip(&lab, Side::A, "-6 route add default dev lab0");
        ip(&lab, Side::B, "addr add 198.51.100.7/32 dev lo");
        ip(&lab, Side::B, "addr add 2001:db8:7::7/128 dev lo");
        let mut made = Command::new("mknod");
        made.args(["-m", "666", "tun", "c", "10", "200"]);
        assert!(made.current_dir(&folder).status().unwrap().success());
        // The key is nobody's; root, who serves, may read it too.
        as_nobody(&lab, folder.path(), "key", AS_NOBODY, "key --quiet").succeeds();
        let key = fs::read_to_string(folder.path().join("key.log")).unwrap();
        let key: Value = serde_json::from_str(key.trim()).unwrap();
        let key = key["fingerprint"].as_str().unwrap().to_owned();
        let words = ["sh", "-c", "echo here; exec sleep 1000"];
        let near = Running::start(&lab, Side::A, folder.path(), "near", &words);
        near.says("here");
        let serving =
            "tun serve --pool 10.99.0.0/24 --pool fd99::/64 --push-dns 10.99.0.1 --timeout 2s";
        let serving = Running::weftline(&lab, Side::B, folder.path(), "serve", serving);
        serving.says("weftline tun ");
        let far = serving.socket("[::]:9");
        Hosts {
            folder,
            lab,
            key,
            near,
            far,
            _serving: serving,
        }
    }

    /// Starts our program on the near host as nobody.
    fn weftline(&self, name: &str, words: &str) -> Running {
        as_nobody(&self.lab, self.folder.path(), name, AS_NOBODY, words)
    }

    /// A client that is connected, as nobody.
    fn client(&self, name: &str, more: &str) -> Running {
        let key = &self.key;
        let client = self.weftline(
            name,
            &format!("tun 10.77.0.2 --peer {key} --timeout 2s {more}"),
        );
        client.says("connected to");
        client
    }

    /// Where packets to these addresses seem to come from, if they arrive.
    fn seen(&self) -> [Option<String>; 2] {
        let socket = self.near.socket("[::]:0");
        FAR.map(|to| {
            let to = match to.contains(':') {
                true => format!("[{to}]:9"),
                false => format!("[::ffff:{to}]:9"),
            };
            for _ in 0..3 {
                let _ = socket.send_to(b"to whom it may concern", &to);
            }
            self.near
                .socket("0.0.0.0:0")
                .send_to(b"the end of it", BESIDE)
                .unwrap();
            let (mut buffer, mut seen) = ([0; 100], None);
            // The one past the tunnel may overtake those inside.
            let mut is_over = false;
            while let Ok((length, from)) = crate::inside::receive(&self.far, &mut buffer) {
                match &buffer[..length] {
                    b"the end of it" => is_over = true,
                    _ => seen = Some(from.ip().to_canonical().to_string()),
                }
            }
            assert!(is_over);
            seen
        })
    }

    #[track_caller]
    fn all_seen_from(&self, expected: [&str; 2]) {
        let seen = self.seen();
        for (seen, expected) in seen.iter().zip(expected) {
            let is_so = seen.as_ref().is_some_and(|seen| seen.starts_with(expected));
            assert!(is_so, "{seen:?}, {expected}");
        }
    }

    /// All that `ip` shows of the near host's routes and rules.
    fn network(&self) -> String {
        let show = |words: &str| ip(&self.lab, Side::A, words);
        let words = [
            "-4 rule",
            "-6 rule",
            "-4 route show table all",
            "-6 route show table all",
        ];
        words.map(show).concat()
    }
}

/// Starts our program on the near host by means of `how`.
fn as_nobody(lab: &Lab, folder: &Path, name: &str, how: &str, words: &str) -> Running {
    let program = env!("CARGO_BIN_EXE_weftline");
    let words = format!("{how} {program} --json {words}");
    Running::start(lab, Side::A, folder, name, &["sh", "-c", &words])
}

fn ip(lab: &Lab, side: Side, words: &str) -> String {
    let mut command = lab.command(side);
    let output = command.arg("ip").args(words.split(' ')).output().unwrap();
    assert!(output.status.success(), "{words}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_killed_tunnel_with_a_kill_switch_lets_nothing_leave_until_it_is_lifted() {
    if !can_emulate_paths() {
        return;
    }
    let hosts = Hosts::new();
    let before = hosts.network();
    hosts.all_seen_from(PAST);
    let all = "--default-route --kill-switch";
    let client = hosts.client("client", all);
    hosts.all_seen_from(TUNNEL);
    // Its end is SIGKILL.
    drop(client);
    assert_eq!(hosts.seen(), [None, None]);
    // The switch does not keep the next one from connecting.
    let client = hosts.client("again", all);
    hosts.all_seen_from(TUNNEL);
    let printed = client.end();
    assert!(printed.contains("the kill switch stays on"), "{printed}");
    assert_eq!(hosts.seen(), [None, None]);
    hosts.weftline("down", "tun down").succeeds();
    hosts.all_seen_from(PAST);
    assert_eq!(hosts.network(), before);
}

#[test]
fn without_a_kill_switch_everything_is_as_before_when_it_ends_and_after_a_kill_when_it_starts() {
    if !can_emulate_paths() {
        return;
    }
    let hosts = Hosts::new();
    let before = hosts.network();
    let all = "--default-route --route 203.0.113.0/24";
    let client = hosts.client("client", all);
    hosts.all_seen_from(TUNNEL);
    let report = client.report();
    assert_eq!(report["exit"], 143, "{report}");
    assert_eq!(hosts.network(), before);
    hosts.all_seen_from(PAST);
    drop(hosts.client("killed", all));
    assert_ne!(hosts.network(), before);
    hosts.all_seen_from(PAST);
    let client = hosts.client("next", "");
    hosts.all_seen_from(PAST);
    client.end();
    assert_eq!(hosts.network(), before);
    // The server itself is in a network that goes into the tunnel.
    let client = hosts.client("inside", "--route 10.77.0.0/24 --route 198.51.100.0/24");
    hosts.all_seen_from([TUNNEL[0], PAST[1]]);
    client.end();
    assert_eq!(hosts.network(), before);
}

#[test]
fn what_may_not_change_the_network_says_how_it_may() {
    if !can_emulate_paths() {
        return;
    }
    let hosts = Hosts::new();
    let none = AS_NOBODY.replace(",+net_admin", "");
    let none = none.replace("--ambient-caps +net_admin", "");
    let words = format!("tun 10.77.0.2 --peer {}", hosts.key);
    let client = as_nobody(&hosts.lab, hosts.folder.path(), "client", &none, &words);
    for hint in ["CAP_NET_ADMIN", "sudo", "setcap", "AmbientCapabilities"] {
        client.says(hint);
    }
}

/// The near host's own `/etc/resolv.conf`: it is mounted over that of this machine.
fn resolv_conf(lab: &Lab) -> PathBuf {
    let command = lab.command(Side::A);
    let name = command.get_args().nth(2).unwrap();
    Path::new("/etc/netns").join(name).join("resolv.conf")
}

#[test]
fn names_are_asked_through_the_tunnel_as_long_as_it_lasts() {
    if !can_emulate_paths() {
        return;
    }
    let hosts = Hosts::new();
    let file = resolv_conf(&hosts.lab);
    let before = "nameserver 192.0.2.53\noptions ndots:2\n";
    fs::write(&file, before).unwrap();
    // The file of before is kept in this machine's folder: no other test may have the name.
    let name = format!("wd{}", std::process::id());
    let words = format!(
        "tun 10.77.0.2 --peer {} --dns server --name {name}",
        hosts.key
    );
    let start = |log| Running::weftline(&hosts.lab, Side::A, hosts.folder.path(), log, &words);
    let is_ours = || {
        let text = fs::read_to_string(&file).unwrap();
        text.contains("nameserver 10.99.0.1\noptions ndots:2\n") && !text.contains("192.0.2.53")
    };
    let client = start("client");
    client.says("connected to");
    assert!(is_ours());
    client.end();
    assert_eq!(fs::read_to_string(&file).unwrap(), before);
    let client = start("killed");
    client.says("connected to");
    drop(client);
    assert!(is_ours());
    let down = format!("tun down --name {name}");
    Running::weftline(&hosts.lab, Side::A, hosts.folder.path(), "down", &down).succeeds();
    assert_eq!(fs::read_to_string(&file).unwrap(), before);
    let kept = format!("/etc/resolv.conf.before-weftline-{name}");
    assert!(!Path::new(&kept).exists());
}

#[test]
fn a_server_that_is_stopped_gives_the_network_back() {
    if !can_emulate_paths() || !has_command("nft", "--version", "nftables") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let lab = path("delay=5ms", Some("delay=5ms"), 1);
    let tables = || {
        let mut command = lab.command(Side::B);
        let output = command.args(["nft", "list", "ruleset"]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let forwards = || {
        let mut command = lab.command(Side::B);
        let output = command.args(["sysctl", "-n", "net.ipv4.conf.lab0.forwarding"]);
        output.output().unwrap().stdout
    };
    let before = (tables(), forwards());
    let file = "listen = 9338\n[tun]\npool = '10.99.0.0/24'\nmasquerade = 'lab0'\n";
    fs::write(folder.path().join("serve.toml"), file).unwrap();
    for (name, words) in [
        ("alone", "tun serve --pool 10.99.0.0/24 --masquerade lab0"),
        ("of-several", "serve --config serve.toml"),
    ] {
        let serving = Running::weftline(&lab, Side::B, folder.path(), name, words);
        serving.says("weftline tun ");
        assert!(tables().contains("weftline"), "{name}");
        serving.end();
        assert_eq!((tables(), forwards()), before, "{name}");
    }
}
