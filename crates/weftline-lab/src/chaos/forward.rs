//! A round that forwards TCP connections.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread::JoinHandle;
use std::time::Duration;

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
    let (target, local) = (echo.to_string(), listen.to_string());
    stage.start(
        &[
            "forward", "--listen", &local, "--to", &target, "--via", "WIRE", "--peer", "PEER",
        ],
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
fn carry(to: SocketAddr, bytes: Vec<u8>) -> Result<Ended, Fault> {
    let Ok(mut reader) = TcpStream::connect_timeout(&to, Duration::from_secs(5)) else {
        std::thread::sleep(Duration::from_millis(100));
        return Ok(Ended::Broken);
    };
    reader.set_read_timeout(Some(SILENCE))?;
    reader.set_write_timeout(Some(SILENCE))?;
    let mut writer = reader.try_clone()?;
    let sent = bytes.clone();
    let writing = std::thread::spawn(move || {
        for piece in sent.chunks(PIECE) {
            writer.write_all(piece)?;
            std::thread::sleep(PACE);
        }
        writer.shutdown(Shutdown::Write)
    });
    let (mut got, mut buffer) = (0, vec![0; 1 << 16]);
    let ended = loop {
        match reader.read(&mut buffer) {
            Ok(0) if got == bytes.len() => break Ok(Ended::Complete),
            Ok(0) => {
                let what = format!(
                    "a connection ended as if complete, {got} of {} bytes",
                    bytes.len()
                );
                break Err(Fault::Wrong(what));
            }
            Ok(len) if bytes.get(got..got + len) != Some(&buffer[..len]) => {
                break Err(Fault::Wrong(format!(
                    "other bytes after {got} of a connection"
                )));
            }
            Ok(len) => got += len,
            Err(error) if is_silence(&error) => {
                let what = format!("a connection was silent for {} s", SILENCE.as_secs());
                break Err(Fault::Hang(what));
            }
            Err(_) => break Ok(Ended::Broken),
        }
    };
    // A writer that waits is let go.
    let _ = reader.shutdown(Shutdown::Both);
    let _ = writing.join();
    ended
}

fn is_silence(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{TimedOut, WouldBlock};
    matches!(error.kind(), TimedOut | WouldBlock)
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
