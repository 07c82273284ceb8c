//! What is compared.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Bytes in flight where neither QUIC's congestion control nor a rate bounds them; about a third
/// of what a receiving socket of 4 MiB holds in packets of this size.
pub(crate) const WINDOW: u64 = 1 << 20;

/// Bytes of a bare datagram: those of a repair symbol of Weftline.
pub(crate) const DATAGRAM: usize = 1141;

/// A close may be lost, and then the other end should not wait for long.
pub(crate) const IDLE_TIMEOUT: Duration = Duration::from_secs(5);

/// What lies between the ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Wire {
    /// Bytes of the longest packet.
    pub(crate) mtu: u32,
    /// Percent of the packets, each way.
    pub(crate) loss: u32,
}

/// One way to bring the file across.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Engine {
    pub(crate) kind: Kind,
    pub(crate) gso: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Kind {
    Weftline {
        preset: Preset,
        carrier: Carrier,
    },
    /// A quinn stream with quinn's defaults, but for the socket's buffers.
    Stream {
        bbr: bool,
    },
    /// quinn datagrams, not resent; the same window and acknowledgements as Weftline's.
    Datagrams,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Preset {
    Auto,
    Streaming,
    Arq,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Carrier {
    /// QUIC with [`WINDOW`] bytes in flight.
    QuicWindow,
    /// QUIC with Weftline's default congestion control.
    QuicAdaptive,
    /// Plain UDP with Weftline's rate control.
    UdpAdaptive,
    /// Plain UDP with [`WINDOW`] bytes in flight.
    UdpWindow,
}

impl Carrier {
    pub(crate) fn is_udp(self) -> bool {
        matches!(self, Carrier::UdpAdaptive | Carrier::UdpWindow)
    }
}

impl Engine {
    /// All engines, in the order in which they take turns; `gso` adds those that it changes.
    pub(crate) fn all(gso: bool) -> Vec<Engine> {
        let weftline = |preset, carrier| Kind::Weftline { preset, carrier };
        let mut all = Vec::new();
        for kind in [
            weftline(Preset::Auto, Carrier::QuicAdaptive),
            weftline(Preset::Auto, Carrier::QuicWindow),
            weftline(Preset::Streaming, Carrier::QuicWindow),
            weftline(Preset::Arq, Carrier::QuicWindow),
            weftline(Preset::Streaming, Carrier::QuicAdaptive),
            weftline(Preset::Auto, Carrier::UdpAdaptive),
            weftline(Preset::Streaming, Carrier::UdpWindow),
            Kind::Stream { bbr: false },
            Kind::Stream { bbr: true },
            Kind::Datagrams,
        ] {
            all.push(Engine { kind, gso: false });
            if gso {
                all.push(Engine { kind, gso });
            }
        }
        all
    }

    pub(crate) fn name(self) -> String {
        let name = match self.kind {
            Kind::Weftline { preset, carrier } => {
                let preset = match preset {
                    Preset::Auto => "auto",
                    Preset::Streaming => "streaming",
                    Preset::Arq => "arq",
                };
                let carrier = match carrier {
                    Carrier::QuicWindow => "quic-window",
                    Carrier::QuicAdaptive => "quic-adaptive",
                    Carrier::UdpAdaptive => "udp-adaptive",
                    Carrier::UdpWindow => "udp-window",
                };
                format!("weftline-{preset}-{carrier}")
            }
            Kind::Stream { bbr: false } => "quinn-stream-cubic".to_owned(),
            Kind::Stream { bbr: true } => "quinn-stream-bbr".to_owned(),
            Kind::Datagrams => "quinn-datagrams-window".to_owned(),
        };
        name + if self.gso { "-gso" } else { "" }
    }

    /// Does it carry messages?
    pub(crate) fn has_messages(self) -> bool {
        !matches!(self.kind, Kind::Stream { .. })
    }

    /// Does all of the file arrive, given time?
    pub(crate) fn is_reliable(self) -> bool {
        self.kind != Kind::Datagrams
    }
}
