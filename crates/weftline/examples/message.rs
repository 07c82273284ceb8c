//! Sends a message that is worth nothing after 200 ms, and tells what became of it.
//!
//! `cargo run -p weftline --example message -- 127.0.0.1:4433` waits for one and prints the other command:
//! `cargo run -p weftline --example message -- 127.0.0.1:4433 FINGERPRINT 'Mind the gap'`.

use std::error::Error;
use std::time::Duration;

use weftline::{Allowed, Config, Endpoint, Identity};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<_> = std::env::args().collect();
    match &args[..] {
        [_, addr] => receive(addr).await,
        [_, addr, server, text] => send(addr, server, text.clone()).await,
        _ => Err("usage: message ADDR [FINGERPRINT TEXT]".into()),
    }
}

async fn receive(addr: &str) -> Result<(), Box<dyn Error>> {
    let config = Config::auto().delay(Duration::from_millis(20));
    let identity = Identity::generate();
    let endpoint = Endpoint::bind(addr.parse()?, identity, Allowed::anyone(), config)?;
    println!(
        "cargo run -p weftline --example message -- {} {} TEXT",
        endpoint.local_addr()?,
        endpoint.fingerprint()
    );
    let connection = endpoint.accept().await.ok_or("closed")?;
    let message = connection.recv_message().await?;
    println!("{}", String::from_utf8_lossy(&message.data));
    connection.closed().await;
    Ok(())
}

async fn send(addr: &str, server: &str, text: String) -> Result<(), Box<dyn Error>> {
    let config = Config::auto().delay(Duration::from_millis(20));
    let identity = Identity::generate();
    let endpoint = Endpoint::bind("0.0.0.0:0".parse()?, identity, Allowed::nobody(), config)?;
    let connection = endpoint.connect(addr.parse()?, server.parse()?).await?;

    let deadline = Duration::from_millis(200);
    let receipt = connection.send_message(text, Some(deadline)).await?;
    match receipt.await {
        Ok(()) => println!("the peer has it"),
        Err(reason) => println!("{reason}"),
    }
    connection.close(0, "done");
    endpoint.wait_idle().await;
    Ok(())
}
