//! Sends a message that is worth nothing after 200 ms.
//!
//! `cargo run --example message -- 127.0.0.1:4433` waits for one and prints what to run elsewhere:
//! `cargo run --example message -- 127.0.0.1:4433 FINGERPRINT 'Mind the gap'`.

use std::error::Error;
use std::time::Duration;

use weftline::{Allowed, Endpoint, EndpointConfig, Identity};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<_> = std::env::args().collect();
    match &args[..] {
        [_, addr] => receive(addr).await,
        [_, addr, peer, text] => send(addr, peer, text).await,
        _ => Err("usage: message ADDR [FINGERPRINT TEXT]".into()),
    }
}

async fn receive(addr: &str) -> Result<(), Box<dyn Error>> {
    let (identity, config) = (Identity::generate(), EndpointConfig::default());
    println!("message {addr} {} TEXT", identity.fingerprint());
    let endpoint = Endpoint::bind(addr.parse()?, identity, Allowed::anyone(), config)?;
    let connection = endpoint.accept().await.ok_or("closed")?;
    let message = connection.recv_message().await?;
    println!("{}", String::from_utf8_lossy(&message.data));
    connection.closed().await;
    Ok(())
}

async fn send(addr: &str, peer: &str, text: &str) -> Result<(), Box<dyn Error>> {
    let (identity, config) = (Identity::generate(), EndpointConfig::default());
    let endpoint = Endpoint::bind("0.0.0.0:0".parse()?, identity, Allowed::nobody(), config)?;
    let connection = endpoint.connect(addr.parse()?, &peer.parse()?).await?;
    connection
        .send_message(text, Some(Duration::from_millis(200)))
        .await?;
    connection.flushed().await?;
    connection.close(0, "done");
    endpoint.wait_idle().await;
    Ok(())
}
