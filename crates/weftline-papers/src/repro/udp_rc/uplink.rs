//! Fig. 2.

use super::super::{Check, Figure, Paper, Point, Scale, Shown, Values, quotient};
use super::path::{HOME, Path};
use super::peers::Peer;
use super::sizes::Sizes;
use super::transfers::{Lab, Transfers};

/// The transports of the figure; NewReno beside today's CUBIC.
const PEERS: [Peer; 4] = [Peer::ByHand, Peer::Own, Peer::Cubic, Peer::Reno];
/// The loss in % that the lab tries to explain a difference: five times that of the microwave link.
const LOSSES: [f64; 1] = [5.0];
const TRIED: u32 = 500_000;

/// Fig. 2.
pub(super) fn figure(scale: Scale) -> Figure {
    let sizes = [
        (500_000, (2, 40.0)),
        (1_000_000, (2, 75.0)),
        (2_000_000, (1, 73.0)),
    ];
    let sizes = Sizes::new(HOME, &sizes, &PEERS, scale);
    let lossy: Vec<(Path, Point)> = LOSSES
        .iter()
        .filter(|_| !scale.quick)
        .map(|loss| {
            let path = Path {
                loss: *loss,
                ..HOME
            };
            let ids = [Peer::ByHand, Peer::Cubic, Peer::Reno].map(|peer| peer.id(&path));
            let load = format!("xfer n=2 size={TRIED} timeout=120");
            (path, path.lab(&load, &ids, 1, 32.0))
        })
        .collect();
    let runs = scale.pick(10, 50);
    let tried_in_engine: Vec<[Point; 2]> = sizes
        .all
        .iter()
        .map(|size| {
            [
                HOME.engine_in_full_packets(size.bytes, runs, scale),
                HOME.engine_without_extra(size.bytes, runs, scale),
            ]
        })
        .collect();
    let mut points = [sizes.points(), tried_in_engine.concat()].concat();
    points.extend(lossy.iter().map(|(_, point)| point.clone()));
    Figure {
        id: "udp-rc-2",
        paper: Paper::UdpRc,
        title: "average transfer time over 1 Mbit/s up, 4 down",
        shows: "The paper: average transfer time of 500 KB, 1 MB and 2 MB with TCP and UDP-RC; UDP-RC \
                takes almost half of TCP's time at every size. Here: the preset udp-rc in the lab, at \
                the link's rate as in the paper and with its rate control, beside the kernel's TCP \
                in the same run; the preset in virtual time; the paper's code in slots.",
        points,
        show: Box::new(move |values| {
            let mut checks = Vec::new();
            let tried = tried(&lossy, values);
            for peer in [Peer::Cubic, Peer::Reno] {
                checks.extend(share(&sizes, values, peer).map(|check| check.because(format!(
                    "at 1 Mbit/s these messages take 4, 8 and 16 s whatever carries them, so half of TCP's \
                     time needs a TCP that leaves half of the link unused. The paper prints neither loss nor \
                     round trip. {tried}"
                ))));
            }
            let mut why = Vec::new();
            for [full, bare] in &tried_in_engine {
                let mean = |point: &Point| Ok(Transfers::engine(values, point)?.mean().0);
                why.push(format!(
                    "the engine's HELLO goes first, its last packet is not full, and where a block of 1024 symbols \
                     is not the last, 10 combinations go before the next. Tried: in full packets {:.3} s, without \
                     these combinations (extra=0) {:.3} s",
                    mean(full)?,
                    mean(bare)?
                ));
            }
            checks.extend(sizes.engine_beside_model(values, &why)?);
            let mut notes = vec![
                "The paper prints no loss and no round trip for this line: 0.013 %, as on the other wired \
                 path, and 50 ms are our choice, made before measuring."
                    .to_owned(),
            ];
            notes.extend(sizes.qualities(values));
            let plot = sizes.plot(
                values,
                "Average transfer time over 1 Mbit/s up, 4 Mbit/s down.",
                &PEERS,
            )?;
            Ok(Shown {
                pictures: vec![plot.into()],
                checks,
                notes,
            })
        }),
    }
}

/// UDP-RC's time as a share of a TCP's, at the size where it is farthest from a half.
fn share(sizes: &Sizes, values: &Values, peer: Peer) -> Option<Check> {
    let mut worst: Option<(f64, f64)> = None;
    for index in 0..sizes.all.len() {
        let own = sizes.peer(values, index, Peer::ByHand)?.mean();
        let share = quotient(own, sizes.peer(values, index, peer)?.mean());
        let far = |share: f64| (share / 0.5).ln().abs();
        if worst.is_none_or(|worst| far(share.0) > far(worst.0)) {
            worst = Some(share);
        }
    }
    let (share, stderr) = worst?;
    let kernel = sizes.lab(values, 0)?.kernel().to_owned();
    let what = format!(
        "UDP-RC's time over that of {}, the worst of three sizes",
        peer.name(&kernel)
    );
    Some(Check::of(what).about(0.5).lab(share, stderr))
}

/// The same share at other losses, in words.
fn tried(lossy: &[(Path, Point)], values: &Values) -> String {
    let mut told = Vec::new();
    for (path, point) in lossy {
        let Some(lab) = Lab::of(values, Some(point)) else {
            continue;
        };
        let mean = |peer: Peer| lab.transfers(&peer.id(path)).map(|times| times.mean());
        let (Some(own), Some(cubic), Some(reno)) =
            (mean(Peer::ByHand), mean(Peer::Cubic), mean(Peer::Reno))
        else {
            continue;
        };
        told.push(format!(
            "at {} % loss 500 KB take {:.2} of CUBIC's time and {:.2} of NewReno's",
            path.loss,
            quotient(own, cubic).0,
            quotient(own, reno).0
        ));
    }
    match told.is_empty() {
        true => String::new(),
        false => format!("Tried in the lab: {}", told.join("; ")),
    }
}
