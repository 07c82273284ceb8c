//! `weftline forward serve --hand-over`: the service manager keeps open connections from a stop to the next start. The
//! test is the manager.

use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixDatagram;
use std::process::{Command, Stdio};

use rustix::io::{FdFlags, fcntl_setfd};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, recvmsg};

use crate::forward::{answered, connect, echo};
use crate::running::{PATIENCE, Running, command};

/// The next message for the manager, and what came with it.
fn told(socket: &UnixDatagram) -> (String, Option<OwnedFd>) {
    let mut text = [0; 256];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let into = &mut [IoSliceMut::new(&mut text)];
    let got = recvmsg(socket, into, &mut control, RecvFlags::CMSG_CLOEXEC).unwrap();
    assert!(!got.flags.contains(ReturnFlags::CTRUNC));
    let fd = control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut fds) => fds.next(),
        _ => None,
    });
    let text = String::from_utf8(text[..got.bytes].to_vec()).unwrap();
    (text, fd)
}

/// What the manager keeps when the server has stopped: the connection, and the file.
fn kept(socket: &UnixDatagram) -> [OwnedFd; 2] {
    ["weftline-connections", "weftline-connection"].map(|name| {
        let (text, fd) = told(socket);
        assert!(
            text.contains("FDSTORE=1\n") && text.contains("FDPOLL=0\n"),
            "{text}"
        );
        assert!(text.contains(&format!("FDNAME={name}\n")), "{text}");
        fd.expect("something to keep")
    })
}

#[test]
fn an_open_connection_goes_on_with_the_next_start_of_its_server() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let at = echo();
    let words = [
        "forward",
        "serve",
        "--allow",
        &at,
        "--hand-over",
        "--listen",
    ];
    let mut first = command(home.path(), &[&words[..], &["127.0.0.1:0"]].concat());
    first.env("NOTIFY_SOCKET", &path);
    let mut server = Running::new(first);
    let (peer, address) = server.listening();
    assert_eq!(told(&socket).0, "READY=1\n");
    let (mut client, mut program) = connect(&home, &address, &peer, &at, &[]);
    answered(&mut program, b"first");

    for round in 0..2 {
        server.signal("-TERM");
        server.line("1 connections wait for the next start");
        let [file, connection] = kept(&socket);
        assert_eq!(server.end_with_output().0, 143);
        // Written while there is no server.
        let meanwhile = format!("meanwhile {round}");
        std::io::Write::write_all(&mut program, meanwhile.as_bytes()).unwrap();
        // As the manager starts it: descriptors from 3 on. The connection comes as standard input.
        fcntl_setfd(&file, FdFlags::empty()).unwrap();
        let shell = format!(
            "exec 3<&0 4</proc/self/fd/{} 0</dev/null; export LISTEN_PID=$$ LISTEN_FDS=2 \
             LISTEN_FDNAMES=weftline-connection:weftline-connections; exec \"$@\"",
            file.as_raw_fd()
        );
        let program_of = command(home.path(), &[&words[..], &[&address]].concat());
        let mut next = Command::new("sh");
        next.args(["-c", &shell, "sh"]);
        next.arg(program_of.get_program())
            .args(program_of.get_args());
        next.current_dir(home.path()).env("HOME", home.path());
        next.env_remove("XDG_CONFIG_HOME")
            .env("NOTIFY_SOCKET", &path);
        next.stdin(Stdio::from(connection));
        server = Running::new(next);
        server.listening();
        drop(file);
        // The manager is to keep neither any longer.
        for name in ["weftline-connection", "weftline-connections"] {
            assert_eq!(told(&socket).0, format!("FDSTOREREMOVE=1\nFDNAME={name}\n"));
        }
        assert_eq!(told(&socket).0, "READY=1\n");
        let mut back = vec![0; meanwhile.len()];
        std::io::Read::read_exact(&mut program, &mut back).unwrap();
        assert_eq!(back, meanwhile.as_bytes());
        answered(&mut program, b"and on");
    }
    client.line("connected to");
    program.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(std::io::Read::read(&mut program, &mut [0]).unwrap(), 0);
}

#[test]
fn without_a_service_manager_connections_finish_as_ever() {
    let home = tempfile::tempdir().unwrap();
    let at = echo();
    let words = ["forward", "serve", "--allow", &at, "--hand-over"];
    let listen = ["--listen", "127.0.0.1:0", "--drain-timeout", "30s"];
    let mut server = command(home.path(), &[&words[..], &listen].concat());
    server.env_remove("NOTIFY_SOCKET");
    let mut server = Running::new(server);
    server.line("--hand-over is for services of systemd");
    let (peer, address) = server.listening();
    let (_client, mut program) = connect(&home, &address, &peer, &at, &[]);
    answered(&mut program, b"before");
    server.signal("-TERM");
    server.line("stopping: waiting up to");
    answered(&mut program, b"meanwhile");
    drop(program);
    assert_eq!(server.end_with_output().0, 143);
}
