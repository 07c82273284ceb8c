//! A UDP relay between a client and a server that can delay packets, and lose some or all.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::net::UdpSocket;
use tokio::task::AbortHandle;

/// Forwards between one client and `server` until dropped.
pub(crate) struct Relay {
    pub(crate) addr: SocketAddr,
    shared: Arc<Shared>,
    task: AbortHandle,
}

#[derive(Default)]
struct Shared {
    lost_per_mille: AtomicU32,
    delay_ms: AtomicU32,
    /// Packets of the client.
    from_client: AtomicU32,
    /// The longest packet that passes, unless it is 0, and how many longer ones there were.
    longest: AtomicUsize,
    too_long: AtomicUsize,
}

impl Relay {
    pub(crate) fn new(server: SocketAddr) -> Relay {
        let bind = || {
            let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
            socket.set_nonblocking(true).unwrap();
            UdpSocket::from_std(socket).unwrap()
        };
        let (front, back) = (bind(), bind());
        let addr = front.local_addr().unwrap();
        let shared = Arc::new(Shared::default());
        let task = tokio::spawn(forward(front.into(), back.into(), server, shared.clone()));
        Relay {
            addr,
            shared,
            task: task.abort_handle(),
        }
    }

    /// Loses this share of the packets, both ways; 1000 cuts the path.
    pub(crate) fn lose(&self, per_mille: u32) {
        self.shared
            .lost_per_mille
            .store(per_mille, Ordering::SeqCst);
    }

    /// From now on, delays the packets by `ms` milliseconds, both ways.
    pub(crate) fn delay(&self, ms: u32) {
        self.shared.delay_ms.store(ms, Ordering::SeqCst);
    }

    /// Packets that the client has sent.
    pub(crate) fn client_packets(&self) -> u32 {
        self.shared.from_client.load(Ordering::SeqCst)
    }

    /// Drops packets of more bytes than this.
    pub(crate) fn drop_longer_than(&self, bytes: usize) {
        self.shared.longest.store(bytes, Ordering::SeqCst);
    }

    /// How many were too long.
    pub(crate) fn dropped(&self) -> usize {
        self.shared.too_long.load(Ordering::SeqCst)
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn forward(
    front: Arc<UdpSocket>,
    back: Arc<UdpSocket>,
    server: SocketAddr,
    shared: Arc<Shared>,
) {
    let (mut up, mut down) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    let mut client = None;
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    loop {
        let (packet, socket, to) = tokio::select! {
            received = front.recv_from(&mut up) => {
                let Ok((len, from)) = received else { continue };
                client = Some(from);
                shared.from_client.fetch_add(1, Ordering::SeqCst);
                (&up[..len], &back, server)
            }
            received = back.recv_from(&mut down) => {
                let (Ok((len, _)), Some(client)) = (received, client) else { continue };
                (&down[..len], &front, client)
            }
        };
        let longest = shared.longest.load(Ordering::SeqCst);
        if longest > 0 && packet.len() > longest {
            shared.too_long.fetch_add(1, Ordering::SeqCst);
            continue;
        }
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        if (random >> 32) % 1000 < u64::from(shared.lost_per_mille.load(Ordering::SeqCst)) {
            continue;
        }
        match shared.delay_ms.load(Ordering::SeqCst) {
            0 => drop(socket.send_to(packet, to).await),
            ms => {
                let (packet, socket) = (packet.to_vec(), socket.clone());
                tokio::spawn(async move {
                    tokio::time::sleep(Duration::from_millis(ms.into())).await;
                    socket.send_to(&packet, to).await.ok();
                });
            }
        }
    }
}
