//! How much of a stream may wait for the application, and how fast that lets it be.

use std::time::Duration;

use crate::support::{Peer, Script};
use weftline_netem::Simulation;
use weftline_proto::{Config, Role};

/// Bytes of a stream that arrive in 4 s over 100 Mbit/s and 40 ms at 5 % loss, with these limits of the receiver.
fn arrived(first: u64, most: u32) -> u64 {
    let mut config = Config::default();
    config.limits.stream_data = first;
    config.limits.stream_data_most = most;
    let [script, reader] = Script::transfer(1 << 32);
    let peer = |role, seed, script| Peer::new(role, config.clone(), seed, script);
    let (sender, receiver) = (peer(Role::Client, 1, script), peer(Role::Server, 2, reader));
    let link = |loss: &str| {
        let text = format!("rate=100mbit delay=20ms queue=60ms{loss}");
        text.parse().expect("well-formed")
    };
    let (link, back) = (link(" loss=iid:5%"), link(""));
    let mut sim = Simulation::new(sender, receiver, link, back, 1);
    sim.per_datagram_overhead = 63;
    sim.run_until(Duration::from_secs(4));
    sim.b.read.values().map(|(bytes, _)| bytes).sum()
}

#[test]
fn a_small_window_grows_to_what_the_path_holds() {
    let (small, roomy) = (arrived(256 << 10, 0), arrived(16 << 20, 0));
    let grown = arrived(256 << 10, 4 << 20);
    assert!(small * 5 < roomy * 3, "{small} of {roomy}");
    assert!(grown * 20 > roomy * 19, "{grown} of {roomy}");
}
