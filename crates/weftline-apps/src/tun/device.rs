//! What the tunnel needs of the system: a device for IP packets, set up for what the server grants.

use std::io;
use std::net::IpAddr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

/// A device that this host's IP packets come from and go to, such as a TUN device.
pub trait Device: Send + Sync + 'static {
    /// Reads one IP packet that the system sends through the device, and returns its length.
    ///
    /// Cancel safe: a packet that was not returned is returned by the next call.
    fn recv(&self, buffer: &mut [u8]) -> impl Future<Output = io::Result<usize>> + Send;

    /// As [`Device::recv`], for a packet that is there now; without one the error is
    /// [`io::ErrorKind::WouldBlock`].
    ///
    /// # Errors
    /// There is no packet now, or the device is gone.
    fn try_recv(&self, buffer: &mut [u8]) -> io::Result<usize>;

    /// Hands an IP packet to the system, without waiting for room.
    ///
    /// # Errors
    /// The system does not take it; it is dropped.
    fn try_send(&self, packet: &[u8]) -> io::Result<()>;
}

/// Opens the client's device.
pub trait System: Send + Sync + 'static {
    /// The device.
    type Device: Device;

    /// Opens a device with this lease. The client calls it when the server has answered for the first
    /// time, and again if a later answer has another lease; it has dropped the earlier device then.
    fn open(&self, lease: &Lease) -> impl Future<Output = io::Result<Self::Device>> + Send;
}

/// What the server grants a client, and what it suggests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// The client's own addresses, at most one of each IP version, with the lengths of the server's
    /// prefixes.
    pub addresses: Vec<IpNet>,
    /// The server's own addresses in the tunnel.
    pub server: Vec<IpAddr>,
    /// The device's MTU in bytes.
    pub mtu: u16,
    /// Routes into the tunnel that the server suggests.
    pub routes: Vec<IpNet>,
    /// DNS servers that the server suggests.
    pub dns: Vec<IpAddr>,
}
