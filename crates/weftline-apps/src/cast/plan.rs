//! A sender's configuration, derived from its options.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use weftline_fecframe::ffci::{Ffci, RepairFlow, SourceFlow};
use weftline_fecframe::sizing::{self, Rate, SizingError};
use weftline_fecframe::{CodeRate, ConfigError, EncodingId, Fssi, SenderConfig};

use super::joined::{ONE_SYMBOL, SEALED};

/// The share of the maximum latency, in 255ths, that a symbol stays in the encoding window: three
/// quarters, as in RFC 8681's appendix C. Half of it, the paper's best for independent losses near
/// the code's limit, leaves up to twenty times the residual loss elsewhere
/// (docs/results/fecframe-study.md).
const RATIO: u8 = 191;
/// The longest window: the most that Weftline's receiver accepts.
const LONGEST_WINDOW: u16 = 1024;
/// With blocks, this share of the latency, in 255ths, is for the block; the rest is for its repair
/// packets.
const BLOCK_RATIO: u8 = 191;
/// Reed-Solomon codes are over GF(2^8).
const M: u8 = 8;
/// Octets of overhead in a coded ADU: flow and length.
const PREFIX: u16 = 3;

/// The options of a sender contradict each other.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// Rate, latency and symbol size give no valid window.
    #[error("rate, maximum latency and symbol size: {0}")]
    Window(SizingError),
    /// Reed-Solomon blocks need a rate: their length follows from it.
    #[error("Reed-Solomon needs the flows' bit rate: the length of a block follows from it")]
    RateNeeded,
    /// There are fewer ports after this one than flows.
    #[error("there are too few ports after {0}: choose a lower one")]
    PortsEnd(SocketAddr),
    /// Repair would share a port with a flow, or a port is 0.
    #[error("repair packets to {repair} and source packets to {to} need different ports, not 0")]
    SamePort {
        /// The destination of repair packets.
        repair: SocketAddr,
        /// The destination of the first flow.
        to: SocketAddr,
    },
    /// The flows and the repair packets have destinations of different address families.
    #[error("flows and repair must go to addresses of the same kind, IPv4 or IPv6")]
    TwoFamilies,
    /// The system gives no random numbers.
    #[error("the system gives no random numbers")]
    NoRandom,
    /// The configuration of the FECFRAME sender is invalid.
    #[error(transparent)]
    Config(#[from] ConfigError),
}

/// The options that matter.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    pub(super) flows: usize,
    pub(super) to: SocketAddr,
    pub(super) repair_to: Option<SocketAddr>,
    pub(super) max_latency: Duration,
    pub(super) code_rate: CodeRate,
    pub(super) encoding_id: EncodingId,
    pub(super) symbol_size: u16,
    pub(super) long_adus: bool,
    /// Bit/s of all flows together; unknown or varying if not given.
    pub(super) rate: Option<u64>,
    pub(super) ttl: Option<u8>,
    pub(super) is_sealed: bool,
    /// The source address of the packets, if known.
    pub(super) source: Option<IpAddr>,
}

/// A sender's configuration.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) config: SenderConfig,
    pub(super) ffci: Ffci,
}

impl Plan {
    /// # Errors
    /// The options contradict each other.
    pub(super) fn new(wanted: &Wanted) -> Result<Plan, PlanError> {
        let fssi = match wanted.encoding_id {
            EncodingId::ReedSolomon => Fssi::ReedSolomon {
                symbol_size: wanted.symbol_size,
                strict: false,
                m: M,
            },
            _ => Fssi::Rlc {
                symbol_size: wanted.symbol_size,
                window_size_ratio: RATIO,
            },
        };
        let (window, validity) = wanted.window()?;
        let mut config = SenderConfig::new(wanted.encoding_id, fssi, wanted.code_rate, window);
        config.validity = Some(validity);
        config.one_symbol_adus = !wanted.long_adus;
        config.flows = (0..wanted.flows).map(|flow| flow as u8).collect();

        let (sources, repair) = wanted.addresses()?;
        let mut flows = Vec::new();
        for (id, address) in sources.into_iter().enumerate() {
            let mut flow = SourceFlow::new(id as u8, address);
            wanted.endpoint(&mut flow.endpoint);
            if config.one_symbol_adus {
                flow.attributes.push(ONE_SYMBOL.to_owned());
            }
            if wanted.is_sealed {
                flow.attributes.push(SEALED.to_owned());
            }
            flows.push(flow);
        }
        let mut repair = RepairFlow::new(wanted.encoding_id, fssi, repair);
        wanted.endpoint(&mut repair.endpoint);
        repair.window = Some(wanted.max_latency);
        // A sender that has restarted should start far from its earlier numbers.
        let mut first = [0; 4];
        aws_lc_rs::rand::fill(&mut first).map_err(|_| PlanError::NoRandom)?;
        config.first = match wanted.encoding_id {
            EncodingId::ReedSolomon => u32::from_be_bytes(first) >> M,
            _ => u32::from_be_bytes(first),
        };
        weftline_fecframe::Sender::new(config.clone())?;
        Ok(Plan {
            config,
            ffci: Ffci::new(flows, repair),
        })
    }

    /// The longest ADU that it protects, in octets.
    pub(super) fn longest_adu(&self) -> usize {
        usize::from(self.config.fssi.symbol_size().saturating_sub(PREFIX))
    }
}

impl Wanted {
    /// The encoding window or block in symbols, and how long an ADU stays in it.
    fn window(&self) -> Result<(u16, Duration), PlanError> {
        let is_block = self.encoding_id == EncodingId::ReedSolomon;
        let ratio = if is_block { BLOCK_RATIO } else { RATIO };
        let window = match self.rate {
            Some(rate) => {
                let rate = Rate::ConstantInput(rate);
                let sizes = sizing::sizes(self.max_latency, rate, self.symbol_size, ratio);
                sizes.map_err(PlanError::Window)?.encoding_window
            }
            None if is_block => return Err(PlanError::RateNeeded),
            // Time alone decides the length.
            None => LONGEST_WINDOW,
        };
        match is_block {
            true => {
                let most = sizing::longest_block(M, self.code_rate);
                Ok((window.min(most).max(1), self.max_latency))
            }
            false => Ok((
                window.min(LONGEST_WINDOW),
                sizing::validity(self.max_latency, ratio),
            )),
        }
    }

    /// Destinations of the flows and the repair flow. Flows use consecutive ports, so that RTP and
    /// its RTCP stay neighbours. Repair uses the first port after them of the same parity that is
    /// at least 2 after the first one, because programs use the port after RTP's for RTCP.
    fn addresses(&self) -> Result<(Vec<SocketAddr>, SocketAddr), PlanError> {
        let flows = self.flows.max(1) as u16;
        let port = |more: u16| {
            let port = self.to.port().checked_add(more);
            let at = |port| SocketAddr::new(self.to.ip(), port);
            port.map(at).ok_or(PlanError::PortsEnd(self.to))
        };
        let sources = (0..flows).map(port).collect::<Result<Vec<_>, _>>()?;
        let repair = match self.repair_to {
            Some(repair) => repair,
            None => port(flows.next_multiple_of(2))?,
        };
        if self.to.port() == 0 || repair.port() == 0 || sources.contains(&repair) {
            return Err(PlanError::SamePort {
                repair,
                to: self.to,
            });
        }
        if self.to.is_ipv4() != repair.is_ipv4() {
            return Err(PlanError::TwoFamilies);
        }
        Ok((sources, repair))
    }

    fn endpoint(&self, endpoint: &mut weftline_fecframe::ffci::Endpoint) {
        if endpoint.address.ip().is_multicast() {
            endpoint.ttl = Some(self.ttl.unwrap_or(1));
            if is_source_specific(endpoint.address.ip()) {
                endpoint.sender = self.source;
            }
        }
    }
}

/// Whether only a named source may send to the group (RFC 4607).
fn is_source_specific(group: IpAddr) -> bool {
    match group {
        IpAddr::V4(group) => group.octets()[0] == 232,
        IpAddr::V6(group) => group.segments()[0] & 0xFFF0 == 0xFF30,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted() -> Wanted {
        Wanted {
            flows: 1,
            to: "239.1.2.3:6000".parse().unwrap(),
            repair_to: None,
            max_latency: Duration::from_millis(200),
            code_rate: CodeRate::new(2, 3).unwrap(),
            encoding_id: EncodingId::RlcGf256,
            symbol_size: 1400,
            long_adus: false,
            rate: None,
            ttl: None,
            is_sealed: false,
            source: Some("192.0.2.1".parse().unwrap()),
        }
    }

    fn repair_port(flows: usize) -> u16 {
        let plan = Plan::new(&Wanted { flows, ..wanted() }).unwrap();
        plan.ffci.repair.endpoint.address.port()
    }

    fn refused(wanted: &Wanted) -> PlanError {
        Plan::new(wanted).unwrap_err()
    }

    #[test]
    fn repair_has_its_own_port_after_all_flows() {
        assert_eq!([1, 2, 3, 4].map(repair_port), [6002, 6002, 6004, 6004]);
        let mut clash = wanted();
        clash.repair_to = Some(clash.to);
        assert!(matches!(refused(&clash), PlanError::SamePort { .. }));
        let mut high = wanted();
        high.to.set_port(65_535);
        assert_eq!(refused(&high), PlanError::PortsEnd(high.to));
    }

    #[test]
    fn windows_follow_from_rate_and_latency() {
        let window = |wanted: &Wanted| Plan::new(wanted).unwrap().config.window;
        let mut wanted = wanted();
        assert_eq!(window(&wanted), LONGEST_WINDOW);
        // 200 ms of 5 Mbit/s are 89 symbols; three quarters of them are in the window or the
        // block.
        wanted.rate = Some(5_000_000);
        assert_eq!(window(&wanted), 66);
        wanted.encoding_id = EncodingId::ReedSolomon;
        assert_eq!(window(&wanted), 66);
        wanted.rate = Some(100_000_000);
        assert_eq!(window(&wanted), 170);
        wanted.rate = None;
        assert_eq!(refused(&wanted), PlanError::RateNeeded);
        wanted.rate = Some(1000);
        assert!(matches!(refused(&wanted), PlanError::Window(_)));
    }

    #[test]
    fn the_description_has_everything_that_a_receiver_needs() {
        let mut wanted = wanted();
        (wanted.flows, wanted.is_sealed, wanted.ttl) = (2, true, Some(9));
        wanted.to.set_ip("232.1.2.3".parse().unwrap());
        let sdp = Plan::new(&wanted).unwrap().ffci.to_sdp();
        for line in [
            "m=application 6001 FEC/UDP *",
            "c=IN IP4 232.1.2.3/9",
            "a=source-filter: incl IN IP4 232.1.2.3 192.0.2.1",
            "a=fec-repair-flow: encoding-id=10; fssi=E:1400,WSR:191",
            "a=repair-window:200ms",
            "a=x-weftline-sealed:chacha20-poly1305",
            "a=x-weftline-adus:one-symbol",
        ] {
            assert!(sdp.lines().any(|l| l == line), "{line} is not in\n{sdp}");
        }
    }

    #[test]
    fn too_much_repair_is_refused() {
        let mut wanted = wanted();
        wanted.code_rate = CodeRate::new(1, 3).unwrap();
        assert!(refused(&wanted).to_string().contains("1/2"));
    }
}
