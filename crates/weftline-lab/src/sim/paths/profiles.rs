//! Pairs of paths that others have published results for.

use weftline_netem::LinkConfig;

use weftline_sim::engine::Path;

/// One side of a pair, the same in both directions: delay and jitter one way in ms, loss in percent,
/// rate of IP packets in Mbit/s.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Side {
    delay: u64,
    jitter: u64,
    loss: f64,
    rate: u64,
}

const fn side(delay: u64, jitter: u64, loss: f64, rate: u64) -> Side {
    Side {
        delay,
        jitter,
        loss,
        rate,
    }
}

/// Two paths with a name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Profile {
    /// The name.
    pub name: &'static str,
    sides: [Side; 2],
}

const fn profile(name: &'static str, a: Side, b: Side) -> Profile {
    Profile {
        name,
        sides: [a, b],
    }
}

/// A round trip of 40 ms at 50 Mbit/s, without loss.
const PLAIN: Side = side(20, 0, 0.0, 50);

/// The pairs of the published tests of mqvpn.
pub const PROFILES: [Profile; 16] = [
    profile("baseline", PLAIN, PLAIN),
    profile("rtt_40", PLAIN, side(40, 0, 0.0, 50)),
    profile("rtt_70", PLAIN, side(70, 0, 0.0, 50)),
    profile("rtt_120", PLAIN, side(120, 0, 0.0, 50)),
    profile("rtt_320", PLAIN, side(320, 0, 0.0, 50)),
    profile("jit_5", side(20, 5, 0.0, 50), side(20, 5, 0.0, 50)),
    profile("jit_20", side(20, 20, 0.0, 50), side(20, 20, 0.0, 50)),
    profile("loss_05", side(20, 0, 0.5, 50), side(20, 0, 0.5, 50)),
    profile("loss_2", side(20, 0, 2.0, 50), side(20, 0, 2.0, 50)),
    profile("bw_4to1", PLAIN, side(20, 0, 0.0, 12)),
    profile("bw_10to1", side(20, 0, 0.0, 100), side(20, 0, 0.0, 10)),
    profile("dual_lte", side(30, 5, 0.5, 40), side(45, 8, 0.5, 25)),
    profile("fiber_lte", side(8, 0, 0.0, 300), side(40, 8, 0.5, 30)),
    profile("lte_starlink", side(35, 8, 0.0, 40), side(50, 25, 1.0, 100)),
    profile("lte_geo", side(35, 0, 0.0, 40), side(320, 20, 0.5, 20)),
    profile("congested", side(50, 20, 2.0, 20), side(60, 25, 2.0, 15)),
];

/// Whether packets with different jitter overtake each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Jitter keeps the order.
    Kept,
    /// Each packet has its own draw.
    Lost,
}

/// No pair has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{name}` is not a pair of paths; there are {}; with `,reorder` jitter reorders packets",
    names()
)]
pub struct UnknownPair {
    name: String,
}

fn names() -> String {
    PROFILES.map(|profile| profile.name).join(", ")
}

impl Profile {
    /// The pair with this name, in order or, as `NAME,reorder`, not.
    ///
    /// # Errors
    /// There is none; the message has all names.
    pub fn find(text: &str) -> Result<(&'static Profile, Order), UnknownPair> {
        let (name, order) = match text.strip_suffix(",reorder") {
            Some(name) => (name, Order::Lost),
            None => (text, Order::Kept),
        };
        let found = PROFILES.iter().find(|profile| profile.name == name);
        let found = found.map(|profile| (profile, order));
        found.ok_or_else(|| UnknownPair {
            name: text.chars().take(40).collect(),
        })
    }

    /// Whether the order of packets makes a difference.
    pub fn has_jitter(&self) -> bool {
        self.sides.iter().any(|side| side.jitter > 0)
    }

    /// Whether both paths lose packets.
    pub fn loses_on_both(&self) -> bool {
        self.sides.iter().all(|side| side.loss > 0.0)
    }

    /// What both paths can carry, headers included, without what they lose, in Mbit/s.
    pub fn ceiling_mbit(&self) -> f64 {
        let sides = self.sides.iter();
        sides.map(|s| s.rate as f64 * (1.0 - s.loss / 100.0)).sum()
    }

    /// Delay of each path in ms, without jitter.
    pub fn delays_ms(&self) -> [f64; 2] {
        self.sides.map(|side| side.delay as f64)
    }

    /// The text forms of the two links, each the same in both directions. Queues hold 100 ms.
    pub fn texts(&self, order: Order) -> [String; 2] {
        self.sides.map(|side| side.text(order))
    }

    /// The two paths.
    pub fn paths(&self, order: Order) -> [Path; 2] {
        self.texts(order).map(|text| {
            let link: LinkConfig = text.parse().expect("the numbers are constants");
            Path {
                forward: link.clone(),
                back: link,
            }
        })
    }
}

impl Side {
    fn text(self, order: Order) -> String {
        let Side {
            delay,
            jitter,
            loss,
            rate,
        } = self;
        let mut text = format!("rate={rate}mbit delay={delay}ms queue=100ms");
        if jitter > 0 {
            let reorder = if order == Order::Lost { ",reorder" } else { "" };
            text += &format!(" jitter={jitter}ms,normal{reorder}");
        }
        if loss > 0.0 {
            text += &format!(" loss=iid:{loss}%");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_is_found_by_its_name_and_has_its_links() {
        let (profile, order) = Profile::find("dual_lte,reorder").unwrap();
        let [a, b] = profile.paths(order);
        assert_eq!(a.forward, a.back);
        assert_eq!(
            b.forward.to_string(),
            "rate=25mbit delay=45ms jitter=8ms,normal,reorder queue=100ms loss=iid:0.5%"
        );
        assert!((profile.ceiling_mbit() - 65.0 * 0.995).abs() < 1e-9);
        let (_, order) = Profile::find("dual_lte").unwrap();
        assert!(!profile.paths(order)[0].forward.jitter.reorders);
        let error = Profile::find("dual").unwrap_err().to_string();
        assert!(
            error.contains("`dual`") && error.contains("dual_lte"),
            "{error}"
        );
    }
}
