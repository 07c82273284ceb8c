//! A round that relays datagrams.

use std::collections::BTreeMap;
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use super::plan::End;
use super::stage::Stage;
use super::{Done, Draws, Fault};

/// The echo service's port, and the one that is relayed to it.
const ECHO: u16 = 7001;
const LISTEN: u16 = 8001;
/// Time between two datagrams.
const PACE: Duration = Duration::from_millis(10);
/// Answers that show that it works again.
const ENOUGH: u32 = 50;

/// Datagrams go back and forth while things happen; afterwards they must be answered again.
pub(super) fn run(stage: &mut Stage, draws: &mut Draws) -> Result<Done, Fault> {
    let echo = SocketAddr::from((stage.host, ECHO));
    serve(UdpSocket::bind(echo)?);
    let listen = SocketAddr::from((stage.host, LISTEN));
    let delivery = ["", ",in-order", ",deadline=200ms"][draws.between(0, 2) as usize];
    let rule = format!("{listen}={echo}{delivery}");
    let target = echo.to_string();
    stage.start(
        &["relay", "connect", "WIRE", "--peer", "PEER", "--udp", &rule],
        &[
            "relay", "serve", "--allow", &target, "--listen", "SERVER", "--peer", "PEER",
        ],
    )?;
    let socket = UdpSocket::bind((stage.host, 0))?;
    socket.set_nonblocking(true)?;
    let mut sent: BTreeMap<u64, Vec<u8>> = BTreeMap::new();
    let (mut number, mut due, mut answers, mut free_from) = (0_u64, Instant::now(), 0, None);
    let mut buffer = vec![0; 1 << 16];
    while answers < ENOUGH {
        stage.tick()?;
        stage.revive(End::Near, false)?;
        stage.revive(End::Far, false)?;
        if stage.free_since.is_some() && free_from.is_none() {
            free_from = Some(number);
        }
        while due <= Instant::now() {
            due += PACE;
            let mut bytes = number.to_be_bytes().to_vec();
            let len = draws.between(0, 900) as usize;
            bytes.extend(draws.bytes(len));
            // Refused while the near end is down.
            let _ = socket.send_to(&bytes, listen);
            sent.insert(number, bytes);
            number += 1;
        }
        // Late reports of a closed port are errors, too.
        while let Some(len) = receive(&socket, &mut buffer) {
            let bytes = &buffer[..len];
            let number = bytes.first_chunk().map(|first| u64::from_be_bytes(*first));
            let is_right = number
                .and_then(|number| sent.get(&number))
                .is_some_and(|sent| sent == bytes);
            if !is_right {
                return Err(Fault::Wrong(format!(
                    "a datagram of {len} bytes that was not sent"
                )));
            }
            if free_from.is_some_and(|from| number >= Some(from)) {
                answers += 1;
            }
        }
    }
    Ok(Done {
        starts: stage.starts(),
        recovery: stage.recovery(),
    })
}

fn receive(socket: &UdpSocket, buffer: &mut [u8]) -> Option<usize> {
    loop {
        match socket.recv(buffer) {
            Ok(len) => return Some(len),
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {}
            Err(_) => return None,
        }
    }
}

/// Answers each datagram, until the process ends.
fn serve(socket: UdpSocket) {
    std::thread::spawn(move || {
        let mut buffer = vec![0; 1 << 16];
        loop {
            // An error is a late report that a socket of the far end is gone.
            if let Ok((len, from)) = socket.recv_from(&mut buffer) {
                let _ = socket.send_to(&buffer[..len], from);
            }
        }
    });
}
