//! Sends its input to the echo server and prints what comes back.
//!
//! `echo hello | cargo run -p weftline --example client -- 127.0.0.1:4433 FINGERPRINT`, as the server says.

use std::error::Error;
use std::time::Duration;

use tokio::io::{copy, stdin, stdout};
use weftline::{Allowed, Config, Endpoint, Identity};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<_> = std::env::args().collect();
    let [_, addr, server] = &args[..] else {
        return Err("usage: client ADDR FINGERPRINT".into());
    };
    let config = Config::auto().delay(Duration::from_millis(20));
    let identity = Identity::generate();
    let endpoint = Endpoint::bind("0.0.0.0:0".parse()?, identity, Allowed::nobody(), config)?;

    let connection = endpoint.connect(addr.parse()?, server.parse()?).await?;
    let (mut read, mut write) = connection.open_stream().await?.into_split();
    let send = async {
        copy(&mut stdin(), &mut write).await?;
        Ok(write.finish()?)
    };
    let mut output = stdout();
    tokio::try_join!(send, copy(&mut read, &mut output))?;
    connection.close(0, "done");
    endpoint.wait_idle().await;
    Ok(())
}
