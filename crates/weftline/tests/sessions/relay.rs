//! A UDP relay between a client and a server that can lose packets, or everything.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use tokio::net::UdpSocket;
use tokio::task::AbortHandle;

/// Forwards between one client and `server` until dropped.
pub(crate) struct Relay {
    pub(crate) addr: SocketAddr,
    lost_per_mille: Arc<AtomicU32>,
    task: AbortHandle,
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
        let lost_per_mille = Arc::new(AtomicU32::new(0));
        let task = tokio::spawn(forward(front, back, server, lost_per_mille.clone()));
        Relay {
            addr,
            lost_per_mille,
            task: task.abort_handle(),
        }
    }

    /// Loses this share of the packets, both ways; 1000 cuts the path.
    pub(crate) fn lose(&self, per_mille: u32) {
        self.lost_per_mille.store(per_mille, Ordering::SeqCst);
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn forward(front: UdpSocket, back: UdpSocket, server: SocketAddr, lost: Arc<AtomicU32>) {
    let (mut up, mut down) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    let mut client = None;
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    loop {
        let (packet, socket, to) = tokio::select! {
            received = front.recv_from(&mut up) => {
                let Ok((len, from)) = received else { continue };
                client = Some(from);
                (&up[..len], &back, server)
            }
            received = back.recv_from(&mut down) => {
                let (Ok((len, _)), Some(client)) = (received, client) else { continue };
                (&down[..len], &front, client)
            }
        };
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        if (random >> 32) % 1000 >= u64::from(lost.load(Ordering::SeqCst)) {
            socket.send_to(packet, to).await.ok();
        }
    }
}
