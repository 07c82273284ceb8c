//! Weftline's ends.

use std::net::{Ipv4Addr, SocketAddr};

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use weftline::{
    Allowed, Config, Connection, Endpoint, EndpointConfig, Identity, InsecureEndpoint, Port,
    Preset, RateControl,
};

use crate::engine::{self, Carrier, Engine, IDLE_TIMEOUT, Kind, WINDOW};
use crate::ping::{self, Messages};
use crate::process;
use crate::side::{self, Ended, Listening, Meter, Task};

pub(crate) async fn server(task: &Task) -> Result<Ended> {
    let local = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let config = config(task.engine)?;
    let endpoint: Port = match task.engine.kind {
        Kind::Weftline { carrier, .. } if carrier.is_udp() => {
            InsecureEndpoint::bind(local, config)?.into()
        }
        _ => Endpoint::bind(local, Identity::generate(), Allowed::anyone(), config)?.into(),
    };
    let key = endpoint.fingerprint().map(|key| key.to_string());
    process::say(&Listening {
        addr: endpoint.local_addr()?,
        key: key.unwrap_or_default(),
    })?;
    let connection = endpoint.accept().await.context("the endpoint ended")?;
    let meter = Meter::start();
    if task.ping.is_some() {
        ping::answer(&connection).await;
        return Ok(meter.stop(0));
    }
    let (mut read, mut write) = connection.accept_stream().await?.into_split();
    let bytes = side::receive_file(task, &mut read, &mut write).await?;
    let ended = meter.stop(bytes);
    connection.closed().await;
    endpoint.wait_idle().await;
    Ok(ended)
}

pub(crate) async fn client(task: &Task, addr: SocketAddr, key: &str) -> Result<Ended> {
    let local = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let config = config(task.engine)?;
    let (endpoint, connecting) = match key {
        "" => {
            let endpoint = InsecureEndpoint::bind(local, config)?;
            let connecting = endpoint.connect(addr);
            (Port::from(endpoint), connecting)
        }
        key => {
            let nobody = Allowed::nobody();
            let endpoint = Endpoint::bind(local, Identity::generate(), nobody, config)?;
            let connecting = endpoint.connect(addr, key.parse()?);
            (Port::from(endpoint), connecting)
        }
    };
    let connection = connecting.await?;
    let meter = Meter::start();
    if let Some(count) = task.ping {
        let trips = Some(ping::ask(&connection, count).await?);
        connection.close(0, "done");
        endpoint.wait_idle().await;
        return Ok(Ended {
            trips,
            ..meter.stop(0)
        });
    }
    let (mut read, mut write) = connection.open_stream().await?.into_split();
    side::send_file(task, &mut write, &mut read).await?;
    let ended = meter.stop(0);
    connection.close(0, "done");
    endpoint.wait_idle().await;
    Ok(ended)
}

impl Messages for Connection {
    async fn send(&self, data: Bytes) -> Result<()> {
        self.send_message(data, None).await?;
        Ok(())
    }

    async fn recv(&self) -> Result<Bytes> {
        Ok(self.recv_message().await?.data)
    }
}

fn config(engine: Engine) -> Result<EndpointConfig> {
    let Kind::Weftline { preset, carrier } = engine.kind else {
        bail!("{} is not Weftline", engine.name());
    };
    let preset = match preset {
        engine::Preset::Auto => Preset::Auto,
        engine::Preset::Streaming => Preset::Streaming,
        engine::Preset::Arq => Preset::Arq,
    };
    let mut config = EndpointConfig::new(Config::preset(preset));
    config.segmentation_offload = engine.gso;
    config.session.idle_timeout = IDLE_TIMEOUT;
    config.session.keep_alive = Some(IDLE_TIMEOUT / 4);
    match carrier {
        Carrier::QuicAdaptive | Carrier::UdpAdaptive => {}
        Carrier::QuicWindow | Carrier::UdpWindow => {
            config.session.rate = RateControl::Fixed {
                rate: None,
                window: Some(WINDOW),
            };
        }
    }
    Ok(config)
}
