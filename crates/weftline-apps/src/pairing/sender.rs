//! The sender's end of pairing, over a connection.

use std::time::Duration;

use tokio::time::timeout;
use weftline::{
    Allowed, ConnectError, Connection, Endpoint, EndpointConfig, Fingerprint, Identity, Stream,
};

use super::exchange::{SenderNext, Sending};
use super::wire::Message;
use super::{
    Code, EXCHANGE, Name, PROTOCOL, Paired, PairingError, binding, read, write, write_last,
};
use crate::address::any_like;
use crate::close;
use crate::session::{farewell, race};
use crate::{Address, SessionError};

/// How long the receiver may take to acknowledge the last message.
const LAST_WORD: Duration = Duration::from_secs(2);

/// Meets the receiver at `address` that shows this code, and tells it `name`. The host that
/// answers there is unknown until it has proved that it has the code too.
///
/// # Errors
/// Nobody answers, the code is wrong, or the receiver does not have it.
pub async fn pair(
    address: &Address,
    code: &Code,
    identity: &Identity,
    name: Option<Name>,
    config: &EndpointConfig,
) -> Result<Paired, PairingError> {
    let mut config = config.clone();
    config.application_protocols = Vec::new();
    config.early_data = false;
    let (endpoint, connection) = race(address, config.connect_timeout, |addr| {
        let (identity, config) = (identity.clone(), config.clone());
        async move {
            let endpoint = Endpoint::bind(any_like(addr), identity, Allowed::nobody(), config)?;
            let connection = endpoint.connect_stranger(addr, PROTOCOL).await?;
            Ok((endpoint.into(), connection))
        }
    })
    .await
    .map_err(|error| match error {
        SessionError::Connect(ConnectError::ApplicationProtocol { addr }) => {
            PairingError::NoCode(addr)
        }
        error => error.into(),
    })?;
    let exchange = exchange(&connection, code, identity.fingerprint(), name);
    let result = timeout(EXCHANGE, exchange).await;
    let result = result.unwrap_or(Err(PairingError::Silent));
    let result = match result {
        Ok((paired, last)) => {
            // The receiver has let this end in already: the rest is for its list.
            let _ = timeout(LAST_WORD, tell(&connection, last)).await;
            Ok(paired)
        }
        Err(error) => Err(error),
    };
    farewell(&endpoint, close::DONE, "").await;
    result
}

/// Writes the last message, and waits until it has arrived.
async fn tell(connection: &Connection, (mut stream, message): (Stream, Message)) {
    if write_last(&mut stream, &message).await.is_ok() {
        let _ = connection.flushed().await;
    }
}

/// Ends with the receiver's proof; the last message is still to be sent.
async fn exchange(
    connection: &Connection,
    code: &Code,
    ours: Fingerprint,
    name: Option<Name>,
) -> Result<(Paired, (Stream, Message)), PairingError> {
    let (binding, peer) = binding(connection, ours, true)?;
    let mut stream = connection
        .open_stream()
        .await
        .map_err(SessionError::Closed)?;
    let (mut sending, first) = Sending::new(code, binding, name);
    write(&mut stream, &first).await?;
    loop {
        match sending.handle(read(&mut stream).await?)? {
            SenderNext::Send(message) => write(&mut stream, &message).await?,
            SenderNext::Paired(last, name) => {
                let addr = connection.remote_addr();
                return Ok((Paired { peer, name, addr }, (stream, last)));
            }
        }
    }
}
