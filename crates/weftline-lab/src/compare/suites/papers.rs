//! Suites that follow two papers' measurements.

use crate::load::Mode;

use super::super::suite::{Case, Scale, Suite, View};
use super::{bytes, case, seeds};

/// Block sizes of Karzand et al.'s figures.
const BLOCKS: [u32; 7] = [4, 8, 16, 32, 64, 128, 256];

/// Karzand, Leith, Cloud, Medard, "Design of FEC for Low Delay in 5G".
pub(super) fn karzand(scale: Scale) -> Suite {
    let blocks: &[u32] = if scale.quick { &[16, 64] } else { &BLOCKS };
    let amount = if scale.quick { 4_000_000 } else { 25_000_000 };
    let sweep = |share: &str| {
        let peers = blocks
            .iter()
            .map(|k| format!("weftline/block,k={k},share={share}"));
        peers.collect::<Vec<_>>()
    };
    let by_share = |shares: &[&str], presets: &[&str]| {
        let peers = presets.iter().flat_map(|preset| {
            shares
                .iter()
                .map(move |s| format!("weftline/{preset},share={s}"))
        });
        peers.collect::<Vec<_>>()
    };
    // A quarter as many repairs as source symbols: the same share of all packets as the loss rate.
    let mut at_20 = vec!["weftline/arq".to_owned()];
    at_20.extend(sweep("0.25"));
    at_20.extend(by_share(&["0.25", "0.4"], &["streaming"]));
    // 15 % of all packets, or 3 in 17.
    let mut at_10 = vec!["weftline/arq".to_owned()];
    at_10.extend(sweep("0.17647"));
    at_10.extend(by_share(&["0.17647"], &["streaming"]));
    if !scale.quick {
        let shares = ["0.125", "0.25", "0.35", "0.5"];
        at_10.extend(by_share(
            &shares,
            &["streaming", "block,k=32", "block,k=64"],
        ));
    }
    // One bandwidth-delay product, feedback for each datagram, and a minimal send queue, so that
    // the delay is the network's.
    let engine = [
        "carrier=udp",
        "fixed_window=187500",
        "feedback=datagram:0",
        "send_buffer=4096",
    ];
    let cases = [("20 %", "20", at_20), ("10 %", "10", at_10)].map(|(name, loss, peers)| Case {
        settings: vec![
            format!("amount={amount}"),
            "stamp=1100".to_owned(),
            format!("secs={}", if scale.quick { 12 } else { 60 }),
        ],
        engine: engine.map(str::to_owned).to_vec(),
        about_secs: amount as f64 * 8.0 / 25e6 * 1.3 + 1.5,
        ..case(
            name,
            &format!("rate=25mbit delay=30ms queue=100ms loss=iid:{loss}%"),
            Mode::Bulk,
            &peers.join(","),
        )
    });
    Suite {
        name: "karzand",
        title: "the streaming code's testbed",
        about: "Karzand et al.: 25 MB over 25 Mbit/s with RTT 60 ms, one bandwidth-delay product \
                in flight (a fixed window, over plain UDP), feedback for each packet. A delay is \
                the time from when the transport accepted a piece of 1100 bytes to when it was \
                read in order, minus the path's own 30 ms. At 20 % loss, repairs are the same \
                share of all packets as those lost (Figs 1 and 2); at 10 %, repairs are 15 % of \
                all packets (Fig 9), or the delay is drawn over the packets sent for each \
                information packet (Fig 10). The queue of 100 ms is not from the paper.",
        view: View::Window,
        seeds: seeds(scale),
        cases: cases.into(),
    }
}

/// Chong et al., "UDP-RC".
pub(super) fn udp_rc(scale: Scale) -> Suite {
    // Rate in Mbit/s, and number of transfers of each size.
    let paths: &[(&str, &str, f64, [u32; 3])] = &[
        (
            "1 Mbit/s, RTT 50 ms, 1 %",
            "rate=1mbit delay=25ms queue=200ms loss=iid:1%",
            1.0,
            [1, 1, 1],
        ),
        (
            "100 Mbit/s, RTT 200 ms, 0.013 %",
            "rate=100mbit delay=100ms queue=100ms loss=iid:0.013%",
            100.0,
            [3, 3, 3],
        ),
        (
            "2 Mbit/s, RTT 20 ms, 1.06 %",
            "rate=2mbit delay=10ms queue=100ms loss=iid:1.06%",
            2.0,
            [1, 1, 1],
        ),
    ];
    let sizes: [u64; 3] = [500_000, 1_000_000, 2_000_000];
    let mut cases = Vec::new();
    let mut add = |group: &str, link: &str, mbit: f64, size: u64, n: u32, what: String| {
        // The paper finds the sending interval by hand for each path. Here the rate is the link's
        // plus 2 %, because the session counts headers that plain UDP does not have. Or the rate
        // control finds it.
        let by_hand = format!("weftline/udp-rc,carrier=udp,fixed_rate={}", mbit * 1.02);
        let peers = format!("{by_hand},weftline/udp-rc,carrier=udp,weftline,tcp/cubic,udt");
        let rtt = if mbit > 50.0 { 0.2 } else { 0.05 };
        cases.push(Case {
            group: group.to_owned(),
            settings: vec![
                format!("n={n}"),
                format!("size={size}"),
                "timeout=120".to_owned(),
            ],
            about_secs: f64::from(n) * (size as f64 * 8e-6 / mbit * 1.2 + 3.0 * rtt) + 1.0,
            ..case(&format!("{group}, {what}"), link, Mode::Xfer, &peers)
        });
    };
    for (index, (group, link, mbit, counts)) in paths.iter().enumerate() {
        if scale.quick {
            if index == 1 {
                add(group, link, *mbit, 500_000, 1, bytes(500_000));
                add(group, link, *mbit, 100_000, 5, "files of 100 KB".to_owned());
            }
            continue;
        }
        for (size, n) in sizes.iter().zip(counts) {
            add(group, link, *mbit, *size, *n, bytes(*size));
        }
        if index == 1 {
            add(
                group,
                link,
                *mbit,
                100_000,
                30,
                "files of 100 KB".to_owned(),
            );
        }
    }
    Suite {
        name: "udp-rc",
        title: "the short-message paper's transfers",
        about: "Chong et al.: the time of messages of 500 KB, 1 MB and 2 MB, and of files of 100 \
                KB, each on a new connection. The paper sends 600 files; here 30 follow each \
                other, and 20 times their mean is the time that 600 would take (the paper's \
                program encodes them beforehand). The loss and the RTT of the 1 Mbit/s uplink are \
                our choice. UDP-RC runs over plain UDP as in the paper, at the link's rate (an \
                interval found by hand) and with the session's rate control.",
        view: View::Times,
        seeds: seeds(scale),
        cases,
    }
}
