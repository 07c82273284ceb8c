//! A round that forwards TCP connections.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::plan::End;
use super::stage::Stage;
use super::{Done, Draws, Fault};

/// The echo service's port, and the one that is forwarded to it.
const ECHO: u16 = 7000;
const LISTEN: u16 = 8000;
/// Bytes of a piece, and the time between two of them.
const PIECE: usize = 32 << 10;
const PACE: Duration = Duration::from_millis(20);
/// How long a connection may be silent: longer than all pauses and the programs' own timeouts.
const SILENCE: Duration = Duration::from_secs(60);

/// How a connection ended.
#[derive(Debug, PartialEq)]
enum Ended {
    Complete,
    /// Refused or reset: a program knows that something is missing.
    Broken,
}

/// Connections go through while things happen; the last one begins when nothing is in the way any
/// more, and must be complete.
pub(super) fn run(stage: &mut Stage, draws: &mut Draws) -> Result<Done, Fault> {
    let echo = SocketAddr::from((stage.host, ECHO));
    serve(TcpListener::bind(echo)?);
    let listen = SocketAddr::from((stage.host, LISTEN));
    let (target, rule) = (echo.to_string(), format!("{listen}:{echo}"));
    stage.start(
        &["forward", "-L", &rule, "WIRE", "--peer", "PEER"],
        &[
            "forward", "serve", "--allow", &target, "--listen", "SERVER", "--peer", "PEER",
        ],
    )?;
    let mut open: Vec<JoinHandle<Result<Ended, Fault>>> = Vec::new();
    let begin = |draws: &mut Draws| {
        let len = draws.between(1, 1_500_000) as usize;
        let bytes = draws.bytes(len);
        std::thread::spawn(move || carry(listen, bytes))
    };
    for _ in 0..3 {
        open.push(begin(draws));
        for _ in 0..30 {
            stage.tick()?;
            watch(stage)?;
        }
    }
    while stage.free_since.is_none() {
        stage.tick()?;
        watch(stage)?;
    }
    // From now on nothing is in the way.
    loop {
        let last = begin(draws);
        while !last.is_finished() {
            stage.tick()?;
            watch(stage)?;
        }
        if result(last)? == Ended::Complete {
            break;
        }
    }
    let recovery = stage.recovery();
    for connection in open {
        while !connection.is_finished() {
            stage.tick()?;
            watch(stage)?;
        }
        result(connection)?;
    }
    Ok(Done {
        starts: stage.starts(),
        recovery,
    })
}

/// Neither end may end by itself.
fn watch(stage: &mut Stage) -> Result<(), Fault> {
    stage.revive(End::Near, false)?;
    stage.revive(End::Far, false)
}

fn result(connection: JoinHandle<Result<Ended, Fault>>) -> Result<Ended, Fault> {
    connection
        .join()
        .unwrap_or_else(|_| Err(Fault::Lab("a connection's thread failed".to_owned())))
}

/// Sends bytes, and checks that they come back: all of them, or a reset.
///
/// One thread both reads and writes: whichever call comes first is told of a reset, and the other
/// one then reads an end.
fn carry(to: SocketAddr, bytes: Vec<u8>) -> Result<Ended, Fault> {
    let Ok(mut tcp) = TcpStream::connect_timeout(&to, Duration::from_secs(5)) else {
        std::thread::sleep(Duration::from_millis(100));
        return Ok(Ended::Broken);
    };
    tcp.set_nonblocking(true)?;
    let started = Instant::now();
    let (mut sent, mut got, mut moved, mut is_open) = (0, 0, started, true);
    let mut buffer = vec![0; 1 << 16];
    loop {
        let due = PIECE * (1 + (started.elapsed().as_nanos() / PACE.as_nanos()) as usize);
        let due = due.min(bytes.len());
        if sent < due {
            match tcp.write(&bytes[sent..due]) {
                Ok(len) => sent += len,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(_) => return Ok(Ended::Broken),
            }
        } else if sent == bytes.len() && is_open {
            is_open = false;
            if tcp.shutdown(Shutdown::Write).is_err() {
                return Ok(Ended::Broken);
            }
        }
        match tcp.read(&mut buffer) {
            Ok(0) if got == bytes.len() => return Ok(Ended::Complete),
            Ok(0) => {
                let what = format!(
                    "a connection ended as if complete, {got} of {} bytes",
                    bytes.len()
                );
                return Err(Fault::Wrong(what));
            }
            Ok(len) if bytes.get(got..got + len) != Some(&buffer[..len]) => {
                return Err(Fault::Wrong(format!(
                    "other bytes after {got} of a connection"
                )));
            }
            Ok(len) => (got, moved) = (got + len, Instant::now()),
            Err(error) if error.kind() != ErrorKind::WouldBlock => return Ok(Ended::Broken),
            Err(_) if moved.elapsed() > SILENCE => {
                let what = format!("a connection was silent for {} s", SILENCE.as_secs());
                return Err(Fault::Hang(what));
            }
            Err(_) => std::thread::sleep(Duration::from_millis(2)),
        }
    }
}

/// Echoes on every connection, until the process ends.
fn serve(listener: TcpListener) {
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || {
                let Ok(mut back) = stream.try_clone() else {
                    return;
                };
                let mut from = stream;
                // A connection that breaks is not passed on as its end.
                match std::io::copy(&mut from, &mut back) {
                    Ok(_) => drop(back.shutdown(Shutdown::Write)),
                    Err(_) => {
                        let socket = socket2::SockRef::from(&back);
                        let _ = socket.set_linger(Some(Duration::ZERO));
                    }
                }
            });
        }
    });
}
