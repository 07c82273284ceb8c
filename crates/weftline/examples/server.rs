//! Sends every stream back to where it came from.
//!
//! `cargo run -p weftline --example server -- 127.0.0.1:4433 [FINGERPRINT]...` accepts the clients with these
//! fingerprints; without any, it accepts everyone.

use std::error::Error;
use std::time::Duration;

use weftline::{Allowed, Config, Connection, Endpoint, Identity};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let addr = args.next().ok_or("usage: server ADDR [FINGERPRINT]...")?;
    let peers = args.map(|arg| arg.parse()).collect::<Result<Vec<_>, _>>()?;
    let allowed = match peers.is_empty() {
        true => Allowed::anyone(),
        false => Allowed::only(peers),
    };
    let config = Config::auto().delay(Duration::from_millis(20));
    let identity = Identity::generate();
    let endpoint = Endpoint::bind(addr.parse()?, identity, allowed, config)?;
    println!(
        "cargo run -p weftline --example client -- {} {}",
        endpoint.local_addr()?,
        endpoint.fingerprint()
    );
    while let Some(connection) = endpoint.accept().await {
        tokio::spawn(async move {
            match echo(&connection).await {
                Ok(()) => println!("{}: done", connection.remote_addr()),
                Err(error) => println!("{}: {error}", connection.remote_addr()),
            }
        });
    }
    Ok(())
}

async fn echo(connection: &Connection) -> Result<(), Box<dyn Error + Send + Sync>> {
    let (mut read, mut write) = connection.accept_stream().await?.into_split();
    tokio::io::copy(&mut read, &mut write).await?;
    write.finish()?;
    connection.closed().await;
    Ok(())
}
