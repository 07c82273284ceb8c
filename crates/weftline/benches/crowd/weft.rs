//! Weftline's ends.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use anyhow::Result;
use weftline::{Allowed, Config, Connection, Endpoint, EndpointConfig, Fingerprint, Identity};

use crate::child::Listening;
use crate::options::Crowd;
use crate::traffic::{self, Arrivals};

fn bind(crowd: &Crowd, allowed: Allowed) -> Result<Endpoint> {
    let mut config = EndpointConfig::new(Config::default());
    config.max_sessions = crowd.sessions + 1;
    let local = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    Ok(Endpoint::bind(
        local,
        Identity::generate(),
        allowed,
        config,
    )?)
}

pub(crate) fn serve(crowd: &Crowd, arrivals: &Arc<Arrivals>) -> Result<Listening> {
    let endpoint = bind(crowd, Allowed::anyone())?;
    let listening = Listening {
        addr: endpoint.local_addr()?,
        key: endpoint.fingerprint().to_string(),
    };
    let arrivals = arrivals.clone();
    tokio::spawn(async move {
        while let Some(connection) = endpoint.accept().await {
            let arrivals = arrivals.clone();
            tokio::spawn(async move {
                while let Ok(message) = connection.recv_message().await {
                    arrivals.count(&message.data);
                }
            });
        }
    });
    Ok(listening)
}

pub(crate) struct Client {
    endpoint: Endpoint,
    addr: SocketAddr,
    peer: Fingerprint,
}

impl Client {
    pub(crate) fn new(crowd: &Crowd, to: &Listening) -> Result<Self> {
        Ok(Client {
            endpoint: bind(crowd, Allowed::nobody())?,
            addr: to.addr,
            peer: to.key.parse()?,
        })
    }

    pub(crate) async fn connect(&self) -> Result<Connection> {
        Ok(self.endpoint.connect(self.addr, self.peer).await?)
    }
}

pub(crate) async fn send(connection: Connection, crowd: Crowd, number: usize) -> Result<u64> {
    let give = |message| {
        let connection = connection.clone();
        async move {
            connection.send_message(message, None).await?;
            Ok(())
        }
    };
    traffic::send(crowd, number, give).await
}
