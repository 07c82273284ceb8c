//! Live video over plain WebTransport streams, to compare with: no coding, no deadlines, QUIC's own
//! retransmissions.
//!
//! ```text
//! SOURCE | streams-server ADDR one|frames cubic|bbr
//! ```
//!
//! Standard input has frames: length (4 bytes, big endian), 1 for a key frame (1 byte), the frame.
//! `one` sends all frames on one stream; `frames` opens a stream for each and sends older ones
//! first. A page that connects gets the stream from the next key frame on. The first line of output
//! is JSON with the hash of the certificate, for the page.

use std::io::{self, Read};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, bail, ensure};
use quinn::crypto::rustls::QuicServerConfig;
use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use sha2::{Digest, Sha256};
use tokio::sync::broadcast::{self, error::RecvError};
use web_transport_quinn::{Request, Session};

/// Frames that may wait for a page; behind that, it starts again with a key frame.
const WAITING: usize = 1024;
/// Longest frame, in bytes.
const LONGEST: u32 = 8 << 20;

/// A frame as it travels: length, 1 for a key frame, data.
#[derive(Clone)]
struct Frame {
    number: u32,
    is_key: bool,
    data: bytes::Bytes,
}

#[tokio::main]
async fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, streams, control] = arguments.as_slice() else {
        bail!("give ADDR one|frames cubic|bbr");
    };
    let address: SocketAddr = address.parse().context("ADDR")?;
    let one = match streams.as_str() {
        "one" => true,
        "frames" => false,
        other => bail!("`{other}` is not one or frames"),
    };
    let endpoint = listen(address, control)?;
    let (frames, _) = broadcast::channel(WAITING);
    let source = frames.clone();
    std::thread::spawn(move || read_frames(&source));
    while let Some(incoming) = endpoint.accept().await {
        let frames = frames.clone();
        tokio::spawn(async move {
            if let Err(error) = serve(incoming, &frames, one).await {
                eprintln!("a page has gone: {error:#}");
            }
        });
    }
    Ok(())
}

/// A server with a new certificate that browsers accept by its hash, which is printed.
fn listen(address: SocketAddr, control: &str) -> Result<quinn::Endpoint> {
    let key = KeyPair::generate()?;
    let mut certificate = CertificateParams::new([address.ip().to_string()])?;
    let now = SystemTime::now();
    certificate.not_before = (now - Duration::from_secs(3600)).into();
    certificate.not_after = (now + Duration::from_secs(10 * 24 * 3600)).into();
    let certificate = certificate.self_signed(&key)?;
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let hash = Sha256::digest(certificate.der());

    let provider = rustls::crypto::aws_lc_rs::default_provider();
    let mut tls = rustls::ServerConfig::builder_with_provider(provider.into())
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)?;
    tls.alpn_protocols = vec![web_transport_quinn::ALPN.as_bytes().to_vec()];
    let mut transport = quinn::TransportConfig::default();
    // As the lab's other measurements: every datagram is one packet on the path.
    transport.enable_segmentation_offload(false);
    match control {
        "cubic" => transport
            .congestion_controller_factory(Arc::new(quinn::congestion::CubicConfig::default())),
        "bbr" => transport
            .congestion_controller_factory(Arc::new(quinn::congestion::BbrConfig::default())),
        other => bail!("`{other}` is not cubic or bbr"),
    };
    let mut config = quinn::ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls)?));
    config.transport_config(transport.into());
    let endpoint = quinn::Endpoint::server(config, address)?;
    let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    println!("{}", serde_json::json!({ "listening": true, "hash": hash }));
    Ok(endpoint)
}

/// Passes the frames of standard input on until it ends, and then ends the program.
fn read_frames(frames: &broadcast::Sender<Frame>) {
    let mut input = io::stdin().lock();
    let mut next = || -> Result<(bool, Vec<u8>)> {
        let mut head = [0; 5];
        input.read_exact(&mut head)?;
        let length = u32::from_be_bytes([head[0], head[1], head[2], head[3]]);
        ensure!(length <= LONGEST, "a frame of {length} bytes");
        let mut data = vec![0; length as usize];
        input.read_exact(&mut data)?;
        Ok((head[4] == 1, data))
    };
    for number in 0.. {
        match next() {
            // Without pages nobody takes it.
            Ok((is_key, data)) => drop(frames.send(Frame {
                number,
                is_key,
                data: data.into(),
            })),
            Err(error) => {
                eprintln!("the source has ended: {error:#}");
                std::process::exit(0);
            }
        }
    }
}

async fn serve(
    incoming: quinn::Incoming,
    frames: &broadcast::Sender<Frame>,
    one: bool,
) -> Result<()> {
    let session = Request::accept(incoming.await?).await?.ok().await?;
    let mut frames = frames.subscribe();
    let mut all = match one {
        true => Some(session.open_uni().await?),
        false => None,
    };
    let mut started = false;
    loop {
        let frame = match frames.recv().await {
            Ok(frame) => frame,
            Err(RecvError::Closed) => return Ok(()),
            Err(RecvError::Lagged(_)) => {
                started = false;
                continue;
            }
        };
        started |= frame.is_key;
        if !started {
            continue;
        }
        if let Some(stream) = &mut all {
            stream.write_all(&head(&frame)).await?;
            stream.write_all(&frame.data).await?;
        } else {
            // Waiting for room on one stream must not hold up the frames after it.
            tokio::spawn(send_frame(session.clone(), frame));
        }
    }
}

async fn send_frame(session: Session, frame: Frame) -> Result<()> {
    let mut stream = session.open_uni().await?;
    // Older frames first.
    stream.set_priority(i32::try_from(u32::MAX / 2 - frame.number).unwrap_or(0))?;
    stream.write_all(&head(&frame)).await?;
    stream.write_all(&frame.data).await?;
    stream.finish()?;
    Ok(())
}

/// Number, length and kind, before each frame.
fn head(frame: &Frame) -> [u8; 9] {
    let mut head = [0; 9];
    head[..4].copy_from_slice(&frame.number.to_be_bytes());
    head[4..8].copy_from_slice(&(frame.data.len() as u32).to_be_bytes());
    head[8] = u8::from(frame.is_key);
    head
}
