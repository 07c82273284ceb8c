//! A stream over loopback from a server to its client: over WebTransport, beside QUIC without it.
//!
//! `cargo bench -p weftline --features web --bench web -- 512 5` sends 512 MiB, five times over each in turns,
//! and prints medians. Server and client have a thread each, whose processor time the system tells. The
//! page is the one of the tests, in place of a browser: its own time says little.

#[path = "../common/arguments.rs"]
mod arguments;
#[path = "../common/measure.rs"]
#[allow(dead_code, reason = "other benches use more of it")]
mod measure;
#[path = "../../tests/web/page.rs"]
#[allow(dead_code, clippy::unwrap_used, reason = "it is made for tests")]
mod page;

use std::net::SocketAddr;
use std::sync::mpsc;
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use weftline::{
    Allowed, Config, Endpoint, EndpointConfig, Fingerprint, Identity, Port, WebAllowed,
    WebCertificate, WebEndpoint,
};
use weftline_proto::ReadError;

use arguments::{Form, number};
use page::Page;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Quic,
    Web,
}

/// How the client finds its server.
#[derive(Clone, Copy)]
enum Server {
    Quic(SocketAddr, Fingerprint),
    Web(SocketAddr, [u8; 32]),
}

/// What one run has taken.
#[derive(Clone, Copy)]
struct Run {
    seconds: f64,
    server: f64,
    client: f64,
    packets: f64,
}

fn main() -> Result<()> {
    let (form, arguments) = Form::read(std::env::args().skip(1));
    let (mib, rounds) = match (form, &arguments[..]) {
        (Form::Full, [mib, rounds]) => (number(mib, 1, 65_536)?, number(rounds, 1, 100)?),
        (Form::Full, _) => anyhow::bail!("expected MIB ROUNDS, got {arguments:?}"),
        (Form::Short, _) => (128, 3),
        (Form::Smoke, _) => (1, 1),
    };
    let mut runs = [(Kind::Quic, Vec::new()), (Kind::Web, Vec::new())];
    for _ in 0..rounds {
        for (kind, runs) in &mut runs {
            runs.push(run(*kind, mib << 20)?);
        }
    }
    println!("carrier  Mbit/s (range)  server s/GiB (range)  client s/GiB  bytes/packet");
    for (kind, runs) in &runs {
        let gib = mib as f64 / 1024.0;
        let speed = |run: &Run| gib * 8.0 * 1.073_741_824 * 1000.0 / run.seconds;
        println!(
            "{kind:?}  {}  {}  {}  {}",
            spread(runs, speed, 0),
            spread(runs, |run| run.server / gib, 2),
            spread(runs, |run| run.client / gib, 2),
            spread(runs, |run| (mib << 20) as f64 / run.packets, 0),
        );
    }
    Ok(())
}

/// Median and range.
fn spread(runs: &[Run], value: impl Fn(&Run) -> f64, digits: usize) -> String {
    let mut values: Vec<f64> = runs.iter().map(value).collect();
    values.sort_by(f64::total_cmp);
    let median = measure::median(&values).unwrap_or_default();
    let (least, most) = (values[0], values[values.len() - 1]);
    format!("{median:.digits$} ({least:.digits$}-{most:.digits$})")
}

fn run(kind: Kind, bytes: usize) -> Result<Run> {
    let (tell, told) = mpsc::channel();
    let server = thread::spawn(move || {
        let packets = on_a_runtime(serve(kind, bytes, tell))?;
        anyhow::Ok((packets, cpu_seconds()?))
    });
    let at = told.recv().context("the server did not begin")?;
    let client = thread::spawn(move || {
        let seconds = on_a_runtime(receive(at, bytes))?;
        anyhow::Ok((seconds, cpu_seconds()?))
    });
    let (seconds, client) = client.join().expect("no panic")?;
    let (packets, server) = server.join().expect("no panic")?;
    Ok(Run {
        seconds,
        server,
        client,
        packets,
    })
}

fn on_a_runtime<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(work)
}

/// Sends the bytes to the first client; how many packets that took.
async fn serve(kind: Kind, bytes: usize, tell: mpsc::Sender<Server>) -> Result<f64> {
    let any = "127.0.0.1:0".parse()?;
    let config = EndpointConfig::default();
    let monitor = config.monitor.clone();
    let port: Port = match kind {
        Kind::Quic => {
            let identity = Identity::generate();
            let peer = identity.fingerprint();
            let port = Endpoint::bind(any, identity, Allowed::anyone(), config)?;
            tell.send(Server::Quic(port.local_addr()?, peer))?;
            port.into()
        }
        Kind::Web => {
            let certificate = WebCertificate::generate(&[])?;
            let hash = certificate.hash();
            let port = WebEndpoint::bind(any, certificate, WebAllowed::from_fn(|_| true), config)?;
            tell.send(Server::Web(port.local_addr()?, hash))?;
            port.into()
        }
    };
    let connection = port.accept().await.context("no client")?;
    let mut stream = connection.open_stream().await?;
    let chunk = vec![7; 1 << 18];
    let mut left = bytes;
    while left > 0 {
        let now = left.min(chunk.len());
        stream.write_all(&chunk[..now]).await?;
        left -= now;
    }
    stream.finish()?;
    stream.finished().await?;
    let packets = monitor
        .overview()
        .open
        .iter()
        .map(|c| c.packets.sent as f64)
        .sum();
    connection.close(0, "");
    port.wait_idle().await;
    Ok(packets)
}

/// Receives them; how many seconds that took.
async fn receive(server: Server, bytes: usize) -> Result<f64> {
    let any = "127.0.0.1:0".parse()?;
    let mut buf = vec![0; 1 << 18];
    let began;
    let mut got = 0;
    match server {
        Server::Quic(addr, peer) => {
            let config = EndpointConfig::default();
            let port = Endpoint::bind(any, Identity::generate(), Allowed::nobody(), config)?;
            let connection = port.connect(addr, peer).await?;
            let mut stream = connection.accept_stream().await?;
            began = Instant::now();
            while let count @ 1.. = stream.read(&mut buf).await? {
                got += count;
            }
            connection.closed().await;
        }
        Server::Web(addr, hash) => {
            let page = Page::open(addr, hash, "https://localhost/", Config::default()).await?;
            let id = page.until(|session, _| session.accept_stream()).await;
            began = Instant::now();
            let read = |session: &mut weftline_proto::Session, _| loop {
                match session.read(id, &mut buf) {
                    Ok(0) => return Some(Ok(())),
                    Ok(count) => got += count,
                    Err(ReadError::Blocked) => return None,
                    Err(error) => return Some(Err(error)),
                }
            };
            page.until(read).await?;
            page.ended().await;
        }
    }
    let seconds = began.elapsed().as_secs_f64();
    anyhow::ensure!(got == bytes, "{got} of {bytes} bytes");
    Ok(seconds)
}

/// Processor time of this thread.
fn cpu_seconds() -> Result<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanoseconds: f64 = text.split(' ').next().context("no time")?.parse()?;
    Ok(nanoseconds / 1e9)
}
