//! Saturation throughput of IEEE 802.11b's DCF (Bianchi, "Performance Analysis of the IEEE 802.11
//! Distributed Coordination Function", JSAC 2000), and Garrido et al.'s goodput over it.

use super::rlnc::Rlnc;
use super::{TheoryError, within};

/// A cell of stations that always have a frame to send.
///
/// The defaults are IEEE 802.11b at 11 Mbit/s with the long preamble and basic access.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Cell {
    /// Stations that contend.
    pub stations: u32,
    /// Bytes of the IP packet in each frame.
    pub payload: u32,
    /// Rate of the frame's body, Mbit/s.
    pub rate_mbit: f64,
    /// Rate of acknowledgements, Mbit/s.
    pub basic_rate_mbit: f64,
    /// PLCP preamble and header: 192 us long, 96 us short.
    pub preamble_us: f64,
    /// Bytes of MAC header, frame check sequence and LLC/SNAP around the packet.
    pub mac_overhead: u32,
    /// Bytes of an acknowledgement.
    pub ack: u32,
    /// Slot time.
    pub slot_us: f64,
    /// Short interframe space.
    pub sifs_us: f64,
    /// Distributed interframe space.
    pub difs_us: f64,
    /// Propagation.
    pub propagation_us: f64,
    /// Slots of the first contention window (CWmin + 1).
    pub window: u32,
    /// Number of times the window doubles.
    pub stages: u32,
    /// Most transmissions of a frame; `None` is Bianchi's model: until it arrives.
    pub transmissions: Option<u32>,
    /// Frame error rate of the channel.
    pub fer: f64,
}

impl Default for Cell {
    fn default() -> Self {
        Self {
            stations: 1,
            payload: 1500,
            rate_mbit: 11.0,
            basic_rate_mbit: 1.0,
            preamble_us: 192.0,
            mac_overhead: 24 + 4 + 8,
            ack: 14,
            slot_us: 20.0,
            sifs_us: 10.0,
            difs_us: 50.0,
            propagation_us: 1.0,
            window: 32,
            stages: 5,
            transmissions: None,
            fer: 0.0,
        }
    }
}

/// The throughput of a cell.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Saturation {
    /// Probability that a station sends in a slot (Bianchi's tau, equation 7).
    pub transmission_probability: f64,
    /// Probability that a frame collides (p, equation 9).
    pub collision_probability: f64,
    /// Bits of IP packets delivered, all stations together, Mbit/s (S, equation 13).
    pub throughput_mbit: f64,
    /// Microseconds for which a frame that arrives occupies the channel (T_s).
    pub success_us: f64,
    /// The same for a collision (T_c); a frame with an error takes as long as one that arrives,
    /// since its sender waits for the answer.
    pub collision_us: f64,
    /// Share of packets given up after the last transmission.
    pub dropped: f64,
}

impl Cell {
    /// Microseconds of a frame's preamble and body.
    fn frame_us(&self) -> f64 {
        let bytes = f64::from(self.payload) + f64::from(self.mac_overhead);
        self.preamble_us + 8.0 * bytes / self.rate_mbit
    }

    fn ack_us(&self) -> f64 {
        self.preamble_us + 8.0 * f64::from(self.ack) / self.basic_rate_mbit
    }

    /// Probability that a station sends in a slot if each transmission fails with probability
    /// `failure`: transmissions of a packet over slots of its life. Without a limit this is
    /// Bianchi's equation 7 (Wu et al. 2002 have the limit).
    fn attempts(&self, failure: f64) -> f64 {
        let limit = self.transmissions.unwrap_or(u32::MAX);
        let slots = |stage: u32| {
            let doubled = 2_f64.powi(stage.min(self.stages) as i32);
            (f64::from(self.window) * doubled + 1.0) / 2.0
        };
        let (mut sent, mut lived, mut chance) = (0.0, 0.0, 1.0);
        let explicit = self.stages.min(limit);
        for stage in 0..explicit {
            sent += chance;
            lived += chance * slots(stage);
            chance *= failure;
        }
        // All stages from here on are equal: a geometric series, truncated at the limit.
        let left = match self.transmissions {
            None => 1.0 / (1.0 - failure),
            Some(limit) => {
                let rest = limit - explicit;
                let powers = (1.0 - failure.powi(rest.min(1_000_000) as i32)) / (1.0 - failure);
                if failure < 1.0 {
                    powers
                } else {
                    f64::from(rest)
                }
            }
        };
        sent += chance * left;
        lived += chance * left * slots(self.stages);
        sent / lived
    }

    /// Its throughput when all stations always have a frame to send.
    ///
    /// # Errors
    /// A parameter is out of its range.
    pub fn saturation(&self) -> Result<Saturation, TheoryError> {
        self.check()?;
        let others = f64::from(self.stations - 1);
        let collision = |tau: f64| 1.0 - (others * (-tau).ln_1p()).exp();
        let failure = |tau: f64| 1.0 - (1.0 - collision(tau)) * (1.0 - self.fer);
        // tau falls as failures grow, and failures grow with tau: the one crossing is found by
        // bisection.
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..200 {
            let middle = 0.5 * (low + high);
            let failing = failure(middle).min(1.0 - 1e-15);
            if self.attempts(failing) > middle {
                low = middle;
            } else {
                high = middle;
            }
        }
        let tau = 0.5 * (low + high);
        let stations = f64::from(self.stations);
        let idle = (stations * (-tau).ln_1p()).exp();
        let single = stations * tau * (others * (-tau).ln_1p()).exp();
        let good = single * (1.0 - self.fer);
        let success_us = self.difs_us
            + self.frame_us()
            + self.sifs_us
            + self.ack_us()
            + 2.0 * self.propagation_us;
        // Bianchi's equation 14.
        let collision_us = self.difs_us + self.frame_us() + self.propagation_us;
        let collided = 1.0 - idle - single;
        let mean_us = idle * self.slot_us + single * success_us + collided * collision_us;
        let failing = failure(tau);
        Ok(Saturation {
            transmission_probability: tau,
            collision_probability: collision(tau),
            throughput_mbit: good * 8.0 * f64::from(self.payload) / mean_us,
            success_us,
            collision_us,
            dropped: match self.transmissions {
                Some(limit) => failing.powi(limit.min(1_000_000) as i32),
                None => 0.0,
            },
        })
    }

    /// Milliseconds from one packet of `bytes` to the next, if a single station sends each once and
    /// none is lost.
    ///
    /// # Errors
    /// A parameter is out of its range.
    pub fn packet_ms(&self, bytes: u32) -> Result<f64, TheoryError> {
        let alone = Cell {
            stations: 1,
            payload: bytes,
            fer: 0.0,
            transmissions: Some(1),
            ..*self
        };
        Ok(8e-3 * f64::from(bytes) / alone.saturation()?.throughput_mbit)
    }

    fn check(&self) -> Result<(), TheoryError> {
        let whole = |name, got: u32, most: u32, expected| {
            within(name, got, (1..=most).contains(&got), expected).map(drop)
        };
        whole("stations", self.stations, 10_000, "from 1 to 10000")?;
        whole("payload", self.payload, 65_535, "from 1 to 65535 bytes")?;
        whole("window", self.window, 1 << 16, "from 1 to 65536 slots")?;
        within("stages", self.stages, self.stages <= 16, "at most 16")?;
        within(
            "mac overhead",
            self.mac_overhead,
            self.mac_overhead <= 65_535,
            "at most 65535 bytes",
        )?;
        within("ack", self.ack, self.ack <= 65_535, "at most 65535 bytes")?;
        if let Some(limit) = self.transmissions {
            within("transmissions", limit, limit > 0, "at least 1")?;
        }
        within(
            "FER",
            self.fer,
            (0.0..1.0).contains(&self.fer),
            "at least 0 and below 1",
        )?;
        let positive = |name, got: f64| {
            let fits = got > 0.0 && got.is_finite();
            within(name, got, fits, "a number above 0").map(drop)
        };
        positive("rate", self.rate_mbit)?;
        positive("basic rate", self.basic_rate_mbit)?;
        positive("slot", self.slot_us)?;
        for (name, got) in [
            ("preamble", self.preamble_us),
            ("SIFS", self.sifs_us),
            ("DIFS", self.difs_us),
            ("propagation", self.propagation_us),
        ] {
            within(
                name,
                got,
                got >= 0.0 && got.is_finite(),
                "a number, 0 or more",
            )?;
        }
        Ok(())
    }
}

/// Garrido et al., equation 6, as interpreted here: a block code's goodput is the part of a cell's
/// throughput that is left after headers, excess receptions and the wait for each block's
/// acknowledgement,
///
/// S (1-FER) (L - `header`) / L  x  K / E N  x  (1 - [ack penalty](Rlnc::ack_penalty)),
///
/// where S is the throughput without errors. `ack_packets` is the length of the wait in packets.
///
/// # Errors
/// Those of [`Cell::saturation`], or headers as long as the packet.
pub fn goodput(
    cell: &Cell,
    code: &Rlnc,
    header: u32,
    ack_packets: f64,
) -> Result<f64, TheoryError> {
    let (header, payload) = (f64::from(header), f64::from(cell.payload));
    within(
        "header",
        header,
        header < payload,
        "shorter than the packet",
    )?;
    check_wait(ack_packets)?;
    let clean = Cell { fer: 0.0, ..*cell }.saturation()?.throughput_mbit;
    let carried = clean * (1.0 - cell.fer) * (payload - header) / payload;
    Ok(carried * (1.0 - code.excess_ratio()) * (1.0 - code.ack_penalty(ack_packets)))
}

/// Milliseconds from one decoded block to the next: E N packets at the rate at which the cell
/// delivers them, with its errors and its MAC's repetitions, and an acknowledgement that takes as
/// long as `ack_packets` packets and is not lost. Without errors this is the time of [`goodput`];
/// with errors equation 6 multiplies the acknowledgement's time too.
///
/// # Errors
/// Those of [`Cell::saturation`], or a wait below 0.
pub fn block_ms(cell: &Cell, code: &Rlnc, ack_packets: f64) -> Result<f64, TheoryError> {
    check_wait(ack_packets)?;
    let delivered = 8e-3 * f64::from(cell.payload) / cell.saturation()?.throughput_mbit;
    Ok(code.mean_receptions() * delivered + ack_packets * cell.packet_ms(cell.payload)?)
}

/// The wait for an acknowledgement, in packets; refuses what is no time.
fn check_wait(ack_packets: f64) -> Result<f64, TheoryError> {
    let fits = ack_packets >= 0.0 && ack_packets.is_finite();
    within(
        "the wait for the ack",
        ack_packets,
        fits,
        "0 or more packets",
    )
}

#[cfg(test)]
mod tests {
    use super::super::rlnc::Vectors;
    use super::*;

    #[test]
    fn attempts_without_limit_are_bianchis_equation_7() {
        let cell = Cell::default();
        let (w, m) = (32.0, 5);
        for p in [0.0_f64, 0.1, 0.3, 0.49, 0.7] {
            let doubled: f64 = (0..m).map(|i| (2.0 * p).powi(i)).sum();
            let expected = 2.0 / (1.0 + w + p * w * doubled);
            let got = cell.attempts(p);
            assert!(
                (got / expected - 1.0).abs() < 1e-12,
                "{p}: {got} {expected}"
            );
        }
    }

    #[test]
    fn a_single_station_waits_half_a_window_before_each_frame() {
        let alone = Cell::default().saturation().unwrap();
        // By hand: 50 + 192 + 8*1536/11 + 10 + 192 + 112 + 2 us, and 15.5 slots of 20 us.
        let success = 558.0 + 8.0 * 1536.0 / 11.0;
        assert!((alone.success_us - success).abs() < 1e-9);
        let expected = 12_000.0 / (success + 15.5 * 20.0);
        assert!(
            (alone.throughput_mbit / expected - 1.0).abs() < 1e-9,
            "{}",
            alone.throughput_mbit
        );
        assert_eq!(alone.collision_probability, 0.0);
        // One transmission each: the window never doubles, and errors cost only their share.
        let lossy = Cell {
            fer: 0.3,
            transmissions: Some(1),
            ..Cell::default()
        };
        let lossy = lossy.saturation().unwrap();
        assert!((lossy.throughput_mbit / (0.7 * expected) - 1.0).abs() < 1e-9);
        assert!((lossy.dropped - 0.3).abs() < 1e-12);
    }

    #[test]
    fn the_fixed_point_holds_and_more_stations_collide_more() {
        let mut last = 0.0;
        for stations in [2, 5, 10, 50] {
            let cell = Cell {
                stations,
                ..Cell::default()
            };
            let found = cell.saturation().unwrap();
            let (tau, p) = (found.transmission_probability, found.collision_probability);
            assert!((tau / cell.attempts(p) - 1.0).abs() < 1e-9);
            assert!((p - (1.0 - (1.0 - tau).powi(stations as i32 - 1))).abs() < 1e-12);
            assert!(p > last);
            last = p;
        }
    }

    /// Bianchi's own Table II (FHSS, 1 Mbit/s, 8184 bits, W 32, m 3), whose limit for many stations
    /// and known maximum for basic access is 0.8 of the channel.
    #[test]
    fn bianchis_system_has_the_throughput_of_his_paper() {
        let cell = Cell {
            stations: 10,
            payload: 1023,
            rate_mbit: 1.0,
            preamble_us: 128.0,
            mac_overhead: 34,
            slot_us: 50.0,
            sifs_us: 28.0,
            difs_us: 128.0,
            window: 32,
            stages: 3,
            ..Cell::default()
        };
        let share = cell.saturation().unwrap().throughput_mbit;
        assert!((0.75..0.84).contains(&share), "{share}");
    }

    #[test]
    fn a_short_header_is_worth_a_sixth_at_long_blocks() {
        let cell = Cell {
            transmissions: Some(1),
            ..Cell::default()
        };
        let code = Rlnc::new(8, 256, Vectors::NonZero).unwrap();
        let short = goodput(&cell, &code, code.seed_header(), 1.0).unwrap();
        let long = goodput(&cell, &code, code.vector_header(), 1.0).unwrap();
        assert!((1.17..1.22).contains(&(short / long)), "{}", short / long);
        let lossy = Cell { fer: 0.4, ..cell };
        let got = goodput(&lossy, &code, code.seed_header(), 1.0).unwrap();
        assert!((got / short - 0.6).abs() < 1e-12);
    }

    #[test]
    fn a_block_takes_its_packets_and_its_acknowledgement() {
        let cell = Cell {
            transmissions: Some(1),
            ..Cell::default()
        };
        let code = Rlnc::new(1, 64, Vectors::NonZero).unwrap();
        let packet = cell.packet_ms(1500).unwrap();
        let clean = block_ms(&cell, &code, 0.5).unwrap();
        assert!((clean / packet - 66.106_695_152_415_28).abs() < 1e-9);
        // Equation 6 without errors.
        let payload = 8e-3 * 64.0 * 1459.0 / clean;
        let expected = goodput(&cell, &code, 41, 0.5).unwrap();
        assert!((payload / expected - 1.0).abs() < 1e-9);
        // Errors lengthen the packets' part alone.
        let lossy = Cell { fer: 0.5, ..cell };
        let lossy = block_ms(&lossy, &code, 0.5).unwrap();
        assert!((lossy - clean - 65.606_695_152_415_28 * packet).abs() < 1e-6);
    }

    #[test]
    fn invalid_parameters_are_refused() {
        let broken = [
            Cell {
                stations: 0,
                ..Cell::default()
            },
            Cell {
                fer: 1.0,
                ..Cell::default()
            },
            Cell {
                rate_mbit: f64::NAN,
                ..Cell::default()
            },
            Cell {
                transmissions: Some(0),
                ..Cell::default()
            },
        ];
        assert!(broken.iter().all(|cell| cell.saturation().is_err()));
    }
}
