//! The TUN device.

use std::io;

use weftline_apps::tun::Device;

use super::system::Up;

impl Device for Up {
    async fn recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.device.recv(buffer).await
    }

    fn try_recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.device.try_recv(buffer)
    }

    fn try_send(&self, packet: &[u8]) -> io::Result<()> {
        self.device.try_send(packet).map(drop)
    }
}
