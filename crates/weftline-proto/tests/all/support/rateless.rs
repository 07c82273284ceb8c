//! Blocks with endless repair symbols: how many of them the engine's decoder needs.

use std::time::Duration;

use weftline_netem::LinkConfig;
use weftline_proto::wire::Datagram;
use weftline_proto::{Config, RateControl, Rateless, Role, Scheme, Session, Time};

use super::pair::{Pair, events, transmit_all};
use super::{Outcome, Peer, Script, run};

/// The options of a configuration with scheme `rateless`.
pub(crate) fn code(config: &mut Config) -> &mut Rateless {
    match &mut config.scheme {
        Scheme::Rateless(options) => options,
        other => panic!("{other:?} has no blocks"),
    }
}

pub(crate) fn link(text: &str) -> LinkConfig {
    text.parse().expect("well-formed")
}

/// Sends one stream of `bytes`, and compares every byte.
pub(crate) fn transfer(
    config: &Config,
    bytes: u64,
    forward: &str,
    back: &str,
    seed: u64,
) -> Outcome {
    let [writer, reader] = Script::transfer(bytes);
    let outcome = run(
        Peer::new(Role::Client, config.clone(), seed, writer),
        Peer::new(Role::Server, config.clone(), seed + 1, reader),
        link(forward),
        link(back),
        seed,
        Duration::from_secs(120),
    );
    let stats = outcome.client.session.stats();
    assert!(
        outcome.done && outcome.server.wrong == 0,
        "{forward} / {back}, {:?}: {stats:#?}",
        config.scheme
    );
    outcome
}

/// The symbols of one block, and the number of repair symbols that the receiver needs if no source
/// symbol arrives. It also checks that the receiver reads only what was written.
pub(crate) fn symbols_needed(config: &Config, bytes: usize, seed: u64) -> (usize, usize) {
    let now = Time::from_micros(1_000_000);
    let mut pair = Pair::new(config.clone(), config.clone(), now);
    // Neighbouring seeds would draw nearly the same vectors.
    pair.client =
        Session::new(Role::Client, config.clone(), seed * 5003, now).expect("it is possible");
    pair.exchange();
    let stream = pair.client.open_stream().expect("one may be opened");
    let data: Vec<u8> = (0..bytes).map(|n| super::byte(seed, n as u64)).collect();
    let taken = pair.client.write(stream, &data);
    assert_eq!(taken, Ok(bytes));
    pair.client.finish(stream).expect("it is open");
    let (mut now, mut needed) = (now, 0);
    for _ in 0..4000 {
        for datagram in transmit_all(&mut pair.client, now) {
            let Ok(Datagram::FieldRepair { nss, .. }) = Datagram::parse(&datagram) else {
                continue;
            };
            needed += 1;
            pair.server.handle_datagram(now, &datagram);
            events(&mut pair.server);
            let stats = pair.server.stats();
            if stats.received.recovered_symbols == u64::from(nss) {
                let id = pair.server.accept_stream().expect("it was opened");
                let mut got = vec![0; bytes];
                let mut read = 0;
                while let Ok(n @ 1..) = pair.server.read(id, &mut got[read..]) {
                    read += n;
                }
                assert!(read > 0 && got[..read] == data[..read], "seed {seed}");
                return (nss.into(), needed);
            }
            assert_eq!(stats.dropped, Default::default(), "an honest peer");
        }
        now = pair.client.poll_timeout().map_or(now, |t| t.max(now));
        pair.client.handle_timeout(now);
    }
    panic!("never decoded")
}

/// A configuration for [`symbols_needed`]: small symbols, and no limit that interferes.
pub(crate) fn counted(mut config: Config, k: u16, bits: u8) -> Config {
    config.rate = RateControl::Carrier;
    config.symbol_size = 200;
    code(&mut config).k = k;
    code(&mut config).bits = bits;
    config
}
