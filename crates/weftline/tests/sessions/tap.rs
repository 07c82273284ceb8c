//! An attacker between a client and a server: it reads along, holds back, sends again.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use tokio::net::UdpSocket;
use tokio::sync::Notify;
use tokio::task::AbortHandle;

/// Forwards between one client and `server` until dropped.
pub(crate) struct Tap {
    pub(crate) addr: SocketAddr,
    server: SocketAddr,
    shared: Arc<Shared>,
    task: AbortHandle,
}

#[derive(Default)]
struct Shared {
    there_closed: AtomicBool,
    back_closed: AtomicBool,
    recorded: Mutex<Vec<Vec<u8>>>,
    passed: Mutex<Vec<Vec<u8>>>,
    pass: Notify,
}

impl Tap {
    pub(crate) fn new(server: SocketAddr) -> Tap {
        let (front, back) = (socket(), socket());
        let addr = front.local_addr().unwrap();
        let shared = Arc::new(Shared::default());
        let task = tokio::spawn(forward(front, back, server, shared.clone()));
        Tap {
            addr,
            server,
            shared,
            task: task.abort_handle(),
        }
    }

    /// Holds back what goes to the server; it is recorded all the same.
    pub(crate) fn close_there(&self, closed: bool) {
        self.shared.there_closed.store(closed, Ordering::SeqCst);
    }

    /// Holds back what comes from the server.
    pub(crate) fn close_back(&self, closed: bool) {
        self.shared.back_closed.store(closed, Ordering::SeqCst);
    }

    /// Forgets what was recorded, and begins anew.
    pub(crate) fn record(&self) {
        self.shared.recorded.lock().unwrap().clear();
    }

    /// Packets that the client sent since.
    pub(crate) fn recorded(&self) -> Vec<Vec<u8>> {
        self.shared.recorded.lock().unwrap().clone()
    }

    /// Sends the server these packets that were held back.
    pub(crate) fn pass(&self, packets: &[Vec<u8>]) {
        self.shared
            .passed
            .lock()
            .unwrap()
            .extend_from_slice(packets);
        self.shared.pass.notify_one();
    }

    /// Sends the server these packets, from another address.
    pub(crate) async fn replay(&self, packets: &[Vec<u8>]) {
        let thief = socket();
        for packet in packets {
            thief.send_to(packet, self.server).await.unwrap();
        }
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn socket() -> UdpSocket {
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_nonblocking(true).unwrap();
    UdpSocket::from_std(socket).unwrap()
}

async fn forward(front: UdpSocket, back: UdpSocket, server: SocketAddr, shared: Arc<Shared>) {
    let (mut up, mut down) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    let mut client = None;
    loop {
        tokio::select! {
            received = front.recv_from(&mut up) => {
                let Ok((len, from)) = received else { continue };
                client = Some(from);
                shared.recorded.lock().unwrap().push(up[..len].to_vec());
                if !shared.there_closed.load(Ordering::SeqCst) {
                    back.send_to(&up[..len], server).await.ok();
                }
            }
            () = shared.pass.notified() => {
                let packets = std::mem::take(&mut *shared.passed.lock().unwrap());
                for packet in packets {
                    back.send_to(&packet, server).await.ok();
                }
            }
            received = back.recv_from(&mut down) => {
                let (Ok((len, _)), Some(client)) = (received, client) else { continue };
                if !shared.back_closed.load(Ordering::SeqCst) {
                    front.send_to(&down[..len], client).await.ok();
                }
            }
        }
    }
}
