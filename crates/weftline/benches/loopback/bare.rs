//! quinn's ends, without Weftline.

use std::any::Any;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use bytes::{Bytes, BytesMut};
use data_encoding::HEXLOWER;
use quinn::congestion::{BbrConfig, Controller, ControllerFactory};
use quinn::{AckFrequencyConfig, ClientConfig, Connection, ServerConfig, TransportConfig, VarInt};
use rustls::RootCertStore;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::io::AsyncReadExt;

use crate::endpoint;
use crate::engine::{DATAGRAM, Engine, IDLE_TIMEOUT, Kind, WINDOW};
use crate::ping::{self, Messages};
use crate::process;
use crate::side::{self, BUFFER, Ended, Listening, Meter, Task};

const NAME: &str = "localhost";
const RECEIVE_BUFFER: usize = 4 << 20;
const SEND_BUFFER: usize = 8 << 10;
const ACK_EVERY: u32 = 30;

pub(crate) async fn server(task: &Task) -> Result<Ended> {
    let certificate = rcgen::generate_simple_self_signed([NAME.to_owned()])?;
    let secret = PrivatePkcs8KeyDer::from(certificate.signing_key.serialize_der());
    let certificate = CertificateDer::from(certificate.cert);
    let key = HEXLOWER.encode(&certificate);
    let mut config =
        ServerConfig::with_single_cert(vec![certificate], PrivateKeyDer::from(secret))?;
    config.transport_config(transport(task.engine)?);
    let endpoint = endpoint::bind(Some(config))?;
    process::say(&Listening {
        addr: endpoint.local_addr()?,
        key,
    })?;
    let connection = endpoint
        .accept()
        .await
        .context("the endpoint ended")?
        .await?;
    let meter = Meter::start();
    if task.ping.is_some() {
        ping::answer(&connection).await;
        Ok(meter.stop(0))
    } else if task.engine.is_reliable() {
        let (mut write, mut read) = connection.accept_bi().await?;
        let bytes = side::receive_file(task, &mut read, &mut write).await?;
        let ended = meter.stop(bytes);
        connection.closed().await;
        Ok(ended)
    } else {
        Ok(count(&connection, &meter).await)
    }
}

pub(crate) async fn client(task: &Task, addr: SocketAddr, key: &str) -> Result<Ended> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(HEXLOWER.decode(key.as_bytes())?))?;
    let mut config = ClientConfig::with_root_certificates(Arc::new(roots))?;
    config.transport_config(transport(task.engine)?);
    let mut endpoint = endpoint::bind(None)?;
    endpoint.set_default_client_config(config);
    let connection = endpoint.connect(addr, NAME)?.await?;
    let meter = Meter::start();
    let mut trips = None;
    if let Some(count) = task.ping {
        trips = Some(ping::ask(&connection, count).await?);
    } else if task.engine.is_reliable() {
        let (mut write, mut read) = connection.open_bi().await?;
        side::send_file(task, &mut write, &mut read).await?;
    } else {
        let limit = Duration::from_secs(task.limit);
        if let Ok(result) = tokio::time::timeout(limit, scatter(task, &connection)).await {
            result?;
        }
    }
    let ended = Ended {
        trips,
        ..meter.stop(0)
    };
    connection.close(VarInt::from_u32(0), b"done");
    endpoint.wait_idle().await;
    Ok(ended)
}

impl Messages for Connection {
    async fn send(&self, data: Bytes) -> Result<()> {
        Ok(self.send_datagram_wait(data).await?)
    }

    async fn recv(&self) -> Result<Bytes> {
        Ok(self.read_datagram().await?)
    }
}

/// Sends the file in datagrams, once.
async fn scatter(task: &Task, connection: &Connection) -> Result<()> {
    let mut file = tokio::fs::File::open(&task.source).await?;
    let mut buffer = BytesMut::new();
    loop {
        buffer.reserve(BUFFER);
        let end = file.read_buf(&mut buffer).await? == 0;
        while buffer.len() >= DATAGRAM || (end && !buffer.is_empty()) {
            let datagram = buffer.split_to(buffer.len().min(DATAGRAM)).freeze();
            connection.send_datagram_wait(datagram).await?;
        }
        if end {
            break;
        }
    }
    // What is queued or on its way would be lost with the connection.
    tokio::time::sleep(Duration::from_millis(100)).await;
    Ok(())
}

/// Counts what arrives until the connection ends; the time is that from the first to the last.
async fn count(connection: &Connection, meter: &Meter) -> Ended {
    let mut bytes = 0;
    let mut times = None;
    while let Ok(datagram) = connection.read_datagram().await {
        bytes += datagram.len() as u64;
        let now = Instant::now();
        times = Some((times.map_or(now, |(first, _)| first), now));
    }
    let seconds = times.map_or(0.0, |(first, last)| (last - first).as_secs_f64());
    Ended {
        seconds,
        ..meter.stop(bytes)
    }
}

fn transport(engine: Engine) -> Result<Arc<TransportConfig>> {
    let mut transport = TransportConfig::default();
    transport
        .enable_segmentation_offload(engine.gso)
        .max_idle_timeout(Some(IDLE_TIMEOUT.try_into()?));
    match engine.kind {
        Kind::Stream { bbr: true } => {
            transport.congestion_controller_factory(Arc::new(BbrConfig::default()));
        }
        Kind::Datagrams => {
            let mut acks = AckFrequencyConfig::default();
            acks.ack_eliciting_threshold(VarInt::from_u32(ACK_EVERY))
                .reordering_threshold(VarInt::from_u32(0));
            transport
                .ack_frequency_config(Some(acks))
                .datagram_receive_buffer_size(Some(RECEIVE_BUFFER))
                .datagram_send_buffer_size(SEND_BUFFER)
                .congestion_controller_factory(Arc::new(Fixed));
        }
        _ => {}
    }
    Ok(Arc::new(transport))
}

/// [`WINDOW`] bytes in flight, whatever happens.
struct Fixed;

impl ControllerFactory for Fixed {
    fn build(self: Arc<Self>, _: Instant, _: u16) -> Box<dyn Controller> {
        Box::new(Fixed)
    }
}

impl Controller for Fixed {
    fn on_congestion_event(&mut self, _: Instant, _: Instant, _: bool, _: u64) {}

    fn on_mtu_update(&mut self, _: u16) {}

    fn window(&self) -> u64 {
        WINDOW
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Fixed)
    }

    fn initial_window(&self) -> u64 {
        WINDOW
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
