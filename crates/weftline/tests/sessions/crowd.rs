//! Strangers who begin handshakes and do not finish them.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::UdpSocket;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{sleep, timeout};
use weftline::{Allowed, Endpoint, Identity, Refusal};

use crate::{config, quic, soon};

/// More than a server has places for.
const STRANGERS: usize = 2500;

/// Long header, type Retry (RFC 9000, section 17.2.5).
fn is_retry(packet: &[u8]) -> bool {
    packet[0] & 0xf0 == 0xf0
}

/// Passes a client's packets to the server, and of the server's answers only those that ask the
/// client to prove its address: no handshake goes further.
struct Halfway {
    addr: SocketAddr,
    task: AbortHandle,
}

impl Halfway {
    async fn new(server: SocketAddr) -> Self {
        let front = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let back = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let addr = front.local_addr().unwrap();
        let task = tokio::spawn(async move {
            let (mut up, mut down) = (vec![0; 1 << 16], vec![0; 1 << 16]);
            let mut client = None;
            loop {
                tokio::select! {
                    Ok((len, from)) = front.recv_from(&mut up) => {
                        client = Some(from);
                        back.send_to(&up[..len], server).await.ok();
                    }
                    Ok((len, _)) = back.recv_from(&mut down) => {
                        if let Some(client) = client.filter(|_| is_retry(&down)) {
                            front.send_to(&down[..len], client).await.ok();
                        }
                    }
                }
            }
        });
        Halfway {
            addr,
            task: task.abort_handle(),
        }
    }
}

impl Drop for Halfway {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unfinished_handshakes_from_one_address_keep_nobody_out() {
    let friend = Identity::generate();
    let server = quic(Allowed::only([friend.fingerprint()]), config());
    let addr = server.local_addr().unwrap();
    let half = Halfway::new(addr).await;
    let stranger = quic(Allowed::nobody(), config());
    let mut strangers = JoinSet::new();
    for _ in 0..STRANGERS {
        strangers.spawn(stranger.connect(half.addr, server.fingerprint()));
    }
    // They are told of, some one by one and the rest as a number.
    let mut told = Vec::new();
    let crowded = timeout(Duration::from_secs(60), async {
        while let Some(refusal) = server.refused().await {
            let is_crowded = matches!(refusal, Refusal::Crowded { .. });
            told.push(refusal);
            if is_crowded {
                return;
            }
        }
    });
    crowded.await.expect("the strangers are noticed");
    let near = "127.0.0.2:0".parse().unwrap();
    let newcomer = Endpoint::bind(near, friend, Allowed::nobody(), config()).unwrap();
    for _ in 0..3 {
        let connect = newcomer.connect(addr, server.fingerprint());
        let (near, far) = soon(async { tokio::join!(connect, server.accept()) }).await;
        near.expect("one who may come in comes in");
        drop(far);
    }
    while let Ok(Some(refusal)) = timeout(Duration::from_millis(100), server.refused()).await {
        told.push(refusal);
    }
    assert!(told.len() <= 9, "{told:?}");
    strangers.abort_all();
}

/// The packets with which a client begins.
async fn beginning(client: &Endpoint) -> Vec<Vec<u8>> {
    let deaf = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let nobody = Identity::generate().fingerprint();
    let attempt = tokio::spawn(
        client
            .connect(deaf.local_addr().unwrap(), nobody)
            .into_future(),
    );
    let mut buffer = vec![0; 1 << 16];
    let len = deaf.recv(&mut buffer).await.unwrap();
    let mut packets = vec![buffer[..len].to_vec()];
    while let Ok(len) = deaf.try_recv(&mut buffer) {
        packets.push(buffer[..len].to_vec());
    }
    attempt.abort();
    packets
}

#[tokio::test(start_paused = true)]
async fn an_unfinished_handshake_has_its_place_for_five_seconds() {
    let config = config();
    let monitor = config.monitor.clone();
    let server = quic(Allowed::anyone(), config);
    let (addr, client) = (
        server.local_addr().unwrap(),
        quic(Allowed::nobody(), crate::config()),
    );
    let must_prove_its_address = async || {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        for packet in beginning(&client).await {
            socket.send_to(&packet, addr).await.unwrap();
        }
        let mut answer = vec![0; 1 << 16];
        soon(socket.recv(&mut answer)).await.unwrap();
        is_retry(&answer)
    };
    // From 16 unfinished handshakes on, all others must.
    for _ in 0..16 {
        assert!(!must_prove_its_address().await);
    }
    assert!(must_prove_its_address().await);
    assert_eq!(monitor.overview().handshakes, 16);
    sleep(Duration::from_millis(4500)).await;
    assert!(must_prove_its_address().await);
    sleep(Duration::from_millis(1000)).await;
    assert_eq!(monitor.overview().handshakes, 0);
    assert!(!must_prove_its_address().await);
}

#[tokio::test]
async fn a_client_asks_a_busy_server_again() {
    let mut small = config();
    small.max_sessions = 1;
    let server = quic(Allowed::anyone(), small);
    let addr = server.local_addr().unwrap();
    let client = quic(Allowed::nobody(), config());
    let first = soon(client.connect(addr, server.fingerprint()))
        .await
        .unwrap();
    let taken = soon(server.accept()).await.unwrap();
    let leave = async {
        sleep(Duration::from_millis(300)).await;
        first.close(0, "");
        taken.close(0, "");
    };
    let second = client.connect(addr, server.fingerprint());
    let (second, ()) = soon(async { tokio::join!(second, leave) }).await;
    second.expect("a place is free before the client gives up");
}
