//! Weftline's ends.

use std::net::{Ipv4Addr, SocketAddr};

use anyhow::{Context, Result, bail};
use weftline::{Allowed, Config, Endpoint, EndpointConfig, Identity, Preset, RateControl};

use crate::engine::{self, Carrier, Engine, IDLE_TIMEOUT, Kind, WINDOW};
use crate::side::{self, Ended, Listening, Meter, Task};

pub(crate) async fn server(task: &Task) -> Result<Ended> {
    let endpoint = bind(task.engine, Allowed::anyone())?;
    let key = endpoint.fingerprint().map(|key| key.to_string());
    side::say(&Listening {
        addr: endpoint.local_addr()?,
        key: key.unwrap_or_default(),
    })?;
    let connection = endpoint.accept().await.context("the endpoint ended")?;
    let meter = Meter::start();
    let (mut read, mut write) = connection.accept_stream().await?.into_split();
    let bytes = side::receive_file(task, &mut read, &mut write).await?;
    let ended = meter.stop(bytes);
    connection.closed().await;
    endpoint.wait_idle().await;
    Ok(ended)
}

pub(crate) async fn client(task: &Task, addr: SocketAddr, key: &str) -> Result<Ended> {
    let endpoint = bind(task.engine, Allowed::nobody())?;
    let connection = match key {
        "" => endpoint.connect_insecure(addr).await?,
        key => endpoint.connect(addr, &key.parse()?).await?,
    };
    let meter = Meter::start();
    let (mut read, mut write) = connection.open_stream().await?.into_split();
    side::send_file(task, &mut write, &mut read).await?;
    let ended = meter.stop(0);
    connection.close(0, "done");
    endpoint.wait_idle().await;
    Ok(ended)
}

fn bind(engine: Engine, allowed: Allowed) -> Result<Endpoint> {
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
    match carrier {
        Carrier::QuicAdaptive => {}
        Carrier::QuicWindow | Carrier::Udp => {
            config.session.rate = RateControl::Fixed {
                rate: None,
                window: Some(WINDOW),
            };
        }
    }
    let addr = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    Ok(match carrier {
        Carrier::Udp => Endpoint::bind_insecure_udp(addr, config)?,
        _ => Endpoint::bind(addr, Identity::generate(), allowed, config)?,
    })
}
