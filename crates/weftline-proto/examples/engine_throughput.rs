//! How fast two sessions move bytes inside one process, with nothing between them but the loss
//! of every n-th datagram: `cargo run --release -p weftline-proto --example engine_throughput -- 256 20`
//! sends 256 MiB and loses each 20th datagram. A third argument names the only preset.

use std::time::Instant;

use weftline_proto::{Config, Event, Preset, ReadError, Role, Session, Time, WriteError};

fn main() {
    let arg = |n: usize, default: u64| {
        std::env::args()
            .nth(n)
            .map_or(default, |a| a.parse().expect("a number"))
    };
    let (mib, lose) = (arg(1, 256), arg(2, 0));
    let only = std::env::args().nth(3);
    for preset in Preset::ALL {
        if only
            .as_ref()
            .is_some_and(|only| *only != preset.to_string())
        {
            continue;
        }
        run(preset, mib << 20, lose);
    }
}

#[allow(clippy::disallowed_methods, reason = "a driver has a clock")]
fn run(preset: Preset, bytes: u64, lose: u64) {
    let started = Instant::now();
    let clock = || Time::from_micros(started.elapsed().as_micros() as u64);
    let mut client = Session::new(Role::Client, Config::preset(preset), 1, clock())
        .expect("a preset is possible");
    let mut server = Session::new(Role::Server, Config::preset(preset), 2, clock())
        .expect("a preset is possible");
    let stream = client.open_stream().expect("a first stream may be opened");
    let chunk = vec![0x5a; 64 << 10];
    let mut buf = vec![0; 64 << 10];
    let (mut written, mut read, mut incoming, mut end) = (0, 0, None, false);
    let (mut out, mut count) = (Vec::new(), 0u64);
    while !end {
        let now = clock();
        for session in [&mut client, &mut server] {
            if session.poll_timeout().is_some_and(|t| t <= now) {
                session.handle_timeout(now);
            }
        }
        while written < bytes {
            let n = chunk.len().min((bytes - written) as usize);
            match client.write(stream, &chunk[..n]) {
                Ok(taken) => written += taken as u64,
                Err(WriteError::Blocked) => break,
                Err(error) => panic!("{error}"),
            }
            if written == bytes {
                client.finish(stream).expect("it is open");
            }
        }
        // A batch each way, as a driver would hand over.
        for _ in 0..32 {
            if !client.poll_transmit(now, &mut out) {
                break;
            }
            count += 1;
            if lose == 0 || count % lose != 0 {
                server.handle_datagram(now, &out);
            }
        }
        while let Some(event) = server.poll_event() {
            if event == Event::StreamOpened {
                incoming = server.accept_stream();
            }
        }
        if let Some(id) = incoming {
            loop {
                match server.read(id, &mut buf) {
                    Ok(0) => {
                        end = true;
                        break;
                    }
                    Ok(n) => read += n as u64,
                    Err(ReadError::Blocked) => break,
                    Err(error) => panic!("{error}"),
                }
            }
        }
        while server.poll_transmit(now, &mut out) {
            client.handle_datagram(now, &out);
        }
        while client.poll_event().is_some() {}
    }
    assert_eq!(read, bytes);
    let seconds = started.elapsed().as_secs_f64();
    let stats = client.stats();
    println!(
        "{preset:9} {:7.0} Mbit/s  {:5.2} us/datagram  source {} again {} repair {}",
        bytes as f64 * 8e-6 / seconds,
        seconds * 1e6 / stats.sent.datagrams as f64,
        stats.sent.source_symbols,
        stats.sent.retransmissions,
        stats.sent.repair_symbols,
    );
}
