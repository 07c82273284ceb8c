//! quinn's ends, without Weftline.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{ClientConfig, Connection, Endpoint, ServerConfig, TransportConfig};

use crate::child::Listening;
use crate::endpoint;
use crate::options::Crowd;
use crate::tls;
use crate::traffic::{self, Arrivals};

/// As Weftline's sessions do.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

pub(crate) fn serve(arrivals: &Arc<Arrivals>) -> Result<Listening> {
    let crypto = QuicServerConfig::try_from(tls::server()?)?;
    let mut config = ServerConfig::with_crypto(Arc::new(crypto));
    config.transport_config(transport());
    let endpoint = endpoint::bind(Some(config))?;
    let listening = Listening {
        addr: endpoint.local_addr()?,
        key: String::new(),
    };
    let arrivals = arrivals.clone();
    tokio::spawn(async move {
        while let Some(incoming) = endpoint.accept().await {
            let arrivals = arrivals.clone();
            tokio::spawn(async move {
                let Ok(connection) = incoming.await else {
                    return;
                };
                while let Ok(datagram) = connection.read_datagram().await {
                    arrivals.count(&datagram);
                }
            });
        }
    });
    Ok(listening)
}

pub(crate) struct Client {
    endpoint: Endpoint,
    addr: SocketAddr,
}

impl Client {
    pub(crate) fn new(to: &Listening) -> Result<Self> {
        let crypto = QuicClientConfig::try_from(tls::client()?)?;
        let mut config = ClientConfig::new(Arc::new(crypto));
        config.transport_config(transport());
        let mut endpoint = endpoint::bind(None)?;
        endpoint.set_default_client_config(config);
        Ok(Client {
            endpoint,
            addr: to.addr,
        })
    }

    pub(crate) async fn connect(&self) -> Result<Connection> {
        Ok(self.endpoint.connect(self.addr, "bare")?.await?)
    }
}

pub(crate) async fn send(connection: Connection, crowd: Crowd, number: usize) -> Result<u64> {
    let give = |message| {
        let connection = connection.clone();
        async move { Ok(connection.send_datagram_wait(message).await?) }
    };
    traffic::send(crowd, number, give).await
}

fn transport() -> Arc<TransportConfig> {
    let mut transport = TransportConfig::default();
    transport.keep_alive_interval(Some(KEEP_ALIVE));
    Arc::new(transport)
}
