//! A chat: lines over a stream, "is typing" as a message with a deadline, reconnecting, statistics.
//!
//! `cargo run -p weftline --example chat -- serve 127.0.0.1:4433 identity.pem` serves any number of guests and
//! prints their command: `cargo run -p weftline --example chat -- join 127.0.0.1:4433 FINGERPRINT NAME`.
//! The server may be stopped and started again: guests come back.

use std::error::Error;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWriteExt, BufReader, Lines, stdin};
use tokio::sync::broadcast;
use tokio::time::sleep;
use weftline::{Allowed, Config, Connection, Endpoint, EndpointConfig, Fingerprint, Identity};

type Failure = Box<dyn Error + Send + Sync>;

/// News that somebody is typing is worth nothing later than this.
const TYPING: Duration = Duration::from_millis(300);
const SHORTEST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// How both ends protect what they send, and what they speak.
fn config() -> EndpointConfig {
    let mut config = EndpointConfig::new(Config::auto().delay(Duration::from_millis(20)));
    config.session.idle_timeout = Duration::from_secs(5);
    config.session.keep_alive = Some(Duration::from_secs(1));
    config.application_protocols = vec!["chat/1".to_owned()];
    config
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let args: Vec<_> = std::env::args().skip(1).collect();
    let args: Vec<_> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["serve", addr, identity] => {
            serve(addr.parse()?, Identity::load_or_create(identity)?).await
        }
        ["join", addr, server, name] => join(addr.parse()?, server.parse()?, name).await,
        _ => Err("usage: chat serve ADDR IDENTITY_FILE | chat join ADDR FINGERPRINT NAME".into()),
    }
}

async fn serve(addr: SocketAddr, identity: Identity) -> Result<(), Failure> {
    let endpoint = Endpoint::bind(addr, identity, Allowed::anyone(), config())?;
    println!(
        "cargo run -p weftline --example chat -- join {} {} NAME",
        endpoint.local_addr()?,
        endpoint.fingerprint()
    );
    let room = broadcast::Sender::new(100);
    while let Some(guest) = endpoint.accept().await {
        let room = room.clone();
        tokio::spawn(async move {
            println!("{} came", guest.remote_addr());
            let ended = host(&guest, &room).await;
            let stats = guest.stats();
            println!(
                "{} left ({}); round trip {:?}, {:.1} % lost, {} of {} symbols recovered",
                guest.remote_addr(),
                ended.err().map_or("end of input".into(), |e| e.to_string()),
                guest.rtt(),
                100.0 * stats.path.loss,
                stats.received.recovered_symbols,
                stats.received.source_symbols,
            );
        });
    }
    Ok(())
}

/// Hands what this guest says to the room, and what the room says to this guest.
async fn host(guest: &Connection, room: &broadcast::Sender<String>) -> Result<(), Failure> {
    let (read, mut write) = guest.accept_stream().await?.into_split();
    let (mut lines, mut said) = (BufReader::new(read).lines(), room.subscribe());
    loop {
        tokio::select! {
            line = lines.next_line() => match line? {
                Some(line) => drop(room.send(line)),
                None => return Ok(()),
            },
            line = said.recv() => write.write_all(format!("{}\n", line?).as_bytes()).await?,
            typing = guest.recv_message() => {
                let name = String::from_utf8_lossy(&typing?.data).into_owned();
                room.send(format!("({name} is typing)")).ok();
            }
        }
    }
}

/// Talks until the input ends; connects again when the connection is lost.
async fn join(addr: SocketAddr, server: Fingerprint, name: &str) -> Result<(), Failure> {
    let endpoint = Endpoint::bind(
        "0.0.0.0:0".parse()?,
        Identity::generate(),
        Allowed::nobody(),
        config(),
    )?;
    let mut input = BufReader::new(stdin()).lines();
    let mut pause = SHORTEST_PAUSE;
    loop {
        match endpoint.connect(addr, server).await {
            Ok(connection) => {
                println!("[connected]");
                pause = SHORTEST_PAUSE;
                match talk(&connection, name, &mut input).await {
                    Ok(()) => {
                        connection.close(0, "bye");
                        break;
                    }
                    Err(error) => println!("[{error}; connecting again]"),
                }
            }
            Err(error) if error.is_retryable() => println!("[{error}; trying again]"),
            Err(error) => return Err(error.into()),
        }
        sleep(pause).await;
        pause = (2 * pause).min(LONGEST_PAUSE);
    }
    endpoint.wait_idle().await;
    Ok(())
}

/// One connection's talk; `Ok` when the input ends.
async fn talk<R: AsyncRead + Unpin>(
    connection: &Connection,
    name: &str,
    input: &mut Lines<BufReader<R>>,
) -> Result<(), Failure> {
    let (read, mut write) = connection.open_stream().await?.into_split();
    write
        .write_all(format!("{name} is here\n").as_bytes())
        .await?;
    let mut heard = BufReader::new(read).lines();
    loop {
        tokio::select! {
            line = heard.next_line() => match line? {
                Some(line) => println!("{line}"),
                None => return Err("the server ended the stream".into()),
            },
            line = input.next_line() => {
                let Some(line) = line? else {
                    write.finish()?;
                    return Ok(write.finished().await?);
                };
                // Whether this arrives does not matter: the receipt is dropped.
                drop(connection.send_message(name.to_owned(), Some(TYPING)).await?);
                write.write_all(format!("{name}: {line}\n").as_bytes()).await?;
            }
        }
    }
}
