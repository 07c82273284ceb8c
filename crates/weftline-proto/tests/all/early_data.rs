//! When the carrier reports that it dropped everything, the data leaves again at once.

use crate::support::pair::{Pair, transmit_all};
use weftline_proto::{Config, Preset, RateControl, Time};

#[test]
fn data_that_the_carrier_dropped_arrives_once_and_without_a_timer() {
    for preset in Preset::ALL {
        let mut config = Config::preset(preset);
        config.rate = RateControl::Carrier;
        let mut pair = Pair::new(config.clone(), config, Time::ZERO);
        let data: Vec<u8> = (0..8000u32).map(|i| ((i * i) >> 3) as u8).collect();
        let id = pair.client.open_stream().expect("allowed");
        pair.client.write(id, &data).expect("room");
        pair.client.finish(id).expect("open");
        pair.client
            .send_message(pair.now, &b"early"[..], None)
            .expect("room");
        assert!(
            transmit_all(&mut pair.client, pair.now).len() > 7,
            "{preset}"
        );

        pair.now = Time::from_micros(1000);
        transmit_all(&mut pair.client, pair.now);
        pair.client.carrier_dropped_all(pair.now);
        assert_eq!(pair.client.stats().path.in_flight, 0);
        for us in (1000..20_000).step_by(500) {
            pair.at(us).exchange();
        }
        assert_eq!(pair.client.stats().sent.timeouts, 0, "{preset}");
        assert_eq!(pair.client.stats().path.loss, 0.0, "{preset}");
        assert_eq!(pair.server.accept_stream(), Some(id));
        let mut got = vec![0; 10_000];
        assert_eq!(pair.server.read(id, &mut got), Ok(data.len()), "{preset}");
        assert_eq!(got[..data.len()], data);
        assert_eq!(pair.server.read(id, &mut got), Ok(0), "{preset}");
        let message = pair.server.recv_message().expect("it is there");
        assert_eq!(message.data, &b"early"[..]);
        assert!(pair.server.recv_message().is_none());
        // Some presets report only from time to time.
        for ms in 20..1000 {
            pair.at(ms * 1000).exchange();
        }
        assert!(pair.client.all_acknowledged(), "{preset}");
    }
}
