//! Who may begin a handshake.
//!
//! An unfinished handshake costs a server memory and a signature, and anybody can begin one. So
//! handshakes are bounded in all, and each address and each network has an allowance of its own:
//! one that is finished by a peer that may come in gives back what it took, and what strangers take
//! comes back slowly. Once it is crowded, an address must have more and more of its allowance left: a newcomer
//! goes before one that has places already. When all places are taken, the oldest unfinished handshake goes:
//! an honest client needs a round trip or two.
//!
//! Only an address that its client has proved (RFC 9000, section 8.1.2) is counted: one that was
//! forged takes nothing from its owner.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::time::{Duration, Instant};

use tokio::task::AbortHandle;

/// From the first number of unfinished handshakes on an address must have more of its allowance left than one,
/// from the second on all of it: after the first of each, a thousand addresses begin some 50 handshakes a second,
/// which leave a processor the time for others.
const CROWDED: [usize; 2] = [64, 256];
/// A port with few places is crowded once a 24th of them is taken, and fully crowded once a sixth is.
const CROWDED_PARTS: [usize; 2] = [24, 6];
/// Unfinished handshakes from which on a client must first prove its address.
const PROVE_FROM: usize = 16;
/// Addresses and networks that are remembered, each. Beyond that, further ones share the places alone.
const REMEMBERED: usize = 16_384;

/// Those that have their whole allowance again are forgotten at most this often.
const FORGET: Duration = Duration::from_secs(1);

/// What one address may take: the number of handshakes at once, and the time after which one of
/// them comes back. That is several times as long as one may last: a thousand addresses that came together
/// must not come together again and again.
const ADDRESS: Allowance = Allowance {
    most: 8.0,
    back: Duration::from_secs(30),
};
/// What the addresses of one network may take together.
const NETWORK: Allowance = Allowance {
    most: 64.0,
    back: Duration::from_millis(125),
};

#[derive(Clone, Copy)]
struct Allowance {
    most: f64,
    back: Duration,
}

/// What may be done with a client that knocks.
#[derive(Debug)]
pub(super) enum Entry {
    /// Its handshake takes this place; leave it with [`Crowd::leave`].
    Place(Place),
    /// It must prove its address first.
    Prove,
    /// It has too many unfinished handshakes already, or its network has.
    TooMany,
}

/// The place of an unfinished handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    number: u64,
    /// The address is counted.
    counted: Option<IpAddr>,
}

/// The unfinished handshakes of a port.
pub(super) struct Crowd {
    next: u64,
    /// Unfinished handshakes at a time.
    most: usize,
    /// Handshakes that lost their place since this was looked at.
    pub(super) given_up: u32,
    /// By number, hence by age; the handle ends the handshake.
    places: BTreeMap<u64, Option<AbortHandle>>,
    addresses: Ledger,
    networks: Ledger,
}

impl Crowd {
    pub(super) fn new(most: usize) -> Self {
        Crowd {
            next: 0,
            most,
            given_up: 0,
            places: BTreeMap::new(),
            addresses: Ledger::new(ADDRESS),
            networks: Ledger::new(NETWORK),
        }
    }

    /// A client knocks from this address, and has proved that it is its own or has not.
    pub(super) fn enter(&mut self, addr: IpAddr, proved: bool, now: Instant) -> Entry {
        if !proved && self.places.len() >= PROVE_FROM {
            return Entry::Prove;
        }
        let addr = addr.to_canonical();
        let counted = proved.then_some(addr);
        if let Some(addr) = counted {
            let (host, network) = (host(addr), network(addr));
            let pressure = self.pressure();
            if !self.addresses.may_take(host, pressure, now)
                || !self.networks.may_take(network, pressure, now)
            {
                return Entry::TooMany;
            }
            self.addresses.take(host);
            self.networks.take(network);
        }
        while self.places.len() >= self.most {
            if let Some((_, Some(oldest))) = self.places.pop_first() {
                oldest.abort();
                self.given_up += 1;
            }
        }
        let number = self.next;
        self.next += 1;
        self.places.insert(number, None);
        Entry::Place(Place { number, counted })
    }

    /// How crowded it is, from 0 to 1.
    fn pressure(&self) -> f64 {
        let [some, many] = [0, 1].map(|at| CROWDED[at].min(self.most / CROWDED_PARTS[at]) as f64);
        ((self.places.len() as f64 - some) / (many - some)).clamp(0.0, 1.0)
    }

    /// This task does the handshake of that place.
    pub(super) fn occupy(&mut self, place: Place, task: AbortHandle) {
        if let Some(handle) = self.places.get_mut(&place.number) {
            *handle = Some(task);
        }
    }

    /// The handshake has ended. `welcome`: its peer may come in, and its address gets back what it took.
    pub(super) fn leave(&mut self, place: Place, welcome: bool) {
        self.places.remove(&place.number);
        if let Some(addr) = place.counted.filter(|_| welcome) {
            self.addresses.give_back(host(addr));
            self.networks.give_back(network(addr));
        }
    }
}

/// What addresses, or networks, may still take.
struct Ledger {
    allowance: Allowance,
    buckets: HashMap<IpAddr, Bucket>,
    forgot: Option<Instant>,
}

struct Bucket {
    left: f64,
    filled: Instant,
}

impl Bucket {
    fn refill(&mut self, allowance: Allowance, now: Instant) -> f64 {
        let time = now.saturating_duration_since(self.filled);
        let back = time.as_secs_f64() / allowance.back.as_secs_f64();
        self.left = (self.left + back).min(allowance.most);
        self.filled = now;
        self.left
    }
}

impl Ledger {
    fn new(allowance: Allowance) -> Self {
        Ledger {
            allowance,
            buckets: HashMap::new(),
            forgot: None,
        }
    }

    /// Whether this one may take another. Under full pressure, 1, it must have its whole allowance.
    /// An unknown one beyond those that can be remembered may.
    fn may_take(&mut self, of: IpAddr, pressure: f64, now: Instant) -> bool {
        let allowance = self.allowance;
        if let Some(bucket) = self.buckets.get_mut(&of) {
            return bucket.refill(allowance, now) >= 1.0 + pressure * (allowance.most - 1.0);
        }
        if self.buckets.len() >= REMEMBERED {
            self.forget(now);
        }
        if self.buckets.len() < REMEMBERED {
            let left = allowance.most;
            self.buckets.insert(of, Bucket { left, filled: now });
        }
        true
    }

    /// Those with their whole allowance are as good as forgotten.
    fn forget(&mut self, now: Instant) {
        let allowance = self.allowance;
        if self.forgot.is_none_or(|forgot| now >= forgot + FORGET) {
            self.forgot = Some(now);
            let buckets = &mut self.buckets;
            buckets.retain(|_, bucket| bucket.refill(allowance, now) < allowance.most);
        }
    }

    fn take(&mut self, of: IpAddr) {
        if let Some(bucket) = self.buckets.get_mut(&of) {
            bucket.left -= 1.0;
        }
    }

    fn give_back(&mut self, of: IpAddr) {
        if let Some(bucket) = self.buckets.get_mut(&of) {
            bucket.left = (bucket.left + 1.0).min(self.allowance.most);
        }
    }
}

/// What counts as one host: an IPv4 address, or the 64 bits of an IPv6 address that a host does not choose.
fn host(addr: IpAddr) -> IpAddr {
    match addr {
        IpAddr::V4(_) => addr,
        IpAddr::V6(v6) => IpAddr::V6((v6.to_bits() >> 64 << 64).into()),
    }
}

/// What counts as one network: 24 bits of an IPv4 address, 48 of an IPv6 address.
fn network(addr: IpAddr) -> IpAddr {
    match addr {
        IpAddr::V4(v4) => IpAddr::V4((v4.to_bits() >> 8 << 8).into()),
        IpAddr::V6(v6) => IpAddr::V6((v6.to_bits() >> 80 << 80).into()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    const PLACES: usize = 1536;

    fn v4(number: u32) -> IpAddr {
        IpAddr::V4(number.into())
    }

    fn place(entry: Entry) -> Option<Place> {
        match entry {
            Entry::Place(place) => Some(place),
            _ => None,
        }
    }

    #[test]
    fn one_address_cannot_take_the_places_of_others() {
        let (mut crowd, now) = (Crowd::new(PLACES), Instant::now());
        let taken = (0..10_000)
            .filter(|_| place(crowd.enter(v4(7), true, now)).is_some())
            .count();
        assert_eq!(taken, ADDRESS.most as usize);
        assert!(place(crowd.enter(v4(1 << 16), true, now)).is_some());
        let later = now + ADDRESS.back;
        assert!(place(crowd.enter(v4(7), true, later)).is_some());
        assert!(place(crowd.enter(v4(7), true, later)).is_none());
    }

    #[test]
    fn nor_can_one_network() {
        let (mut crowd, now) = (Crowd::new(PLACES), Instant::now());
        let taken = (0..256 * 100)
            .filter(|n| place(crowd.enter(v4(n % 256), true, now)).is_some())
            .count();
        assert_eq!(taken, NETWORK.most as usize);
        assert!(place(crowd.enter(v4(256), true, now)).is_some());
        let v6 = |text: &str| text.parse::<IpAddr>().unwrap();
        assert_eq!(host(v6("2001:db8:1:2:3::4")), v6("2001:db8:1:2::"));
        assert_eq!(network(v6("2001:db8:1:2:3::4")), v6("2001:db8:1::"));
    }

    /// Each millisecond ten handshakes begin, from a thousand networks in turn, and none is finished.
    #[test]
    fn nor_can_a_thousand_networks() {
        let (mut crowd, began) = (Crowd::new(PLACES), Instant::now());
        let (mut waiting, mut strangers) = (VecDeque::new(), 0);
        for milli in 0..10_000_u32 {
            let now = began + Duration::from_millis(milli.into());
            for n in 0..10 {
                let addr = v4(((milli * 10 + n) % 1000) << 8);
                strangers += u32::from(place(crowd.enter(addr, true, now)).is_some());
            }
            if milli % 10 == 0 {
                let newcomer = v4((1 << 31) | (milli << 8));
                let place = place(crowd.enter(newcomer, true, now)).expect("a place");
                waiting.push_back((now, place));
            }
            // Several round trips of a bad path.
            while let Some((_, place)) =
                waiting.pop_front_if(|(from, _)| now >= *from + Duration::from_secs(1))
            {
                assert!(crowd.places.contains_key(&place.number), "at {milli} ms");
                crowd.leave(place, true);
            }
        }
        // Each costs the server a signature: after the first of each address few are left.
        assert!((1000..2000).contains(&strangers), "{strangers}");
    }

    #[test]
    fn a_forged_address_takes_nothing_from_its_owner() {
        let (mut crowd, now) = (Crowd::new(PLACES), Instant::now());
        let mut taken = 0;
        while place(crowd.enter(v4(7), false, now)).is_some() {
            taken += 1;
        }
        assert_eq!(taken, PROVE_FROM);
        assert!(matches!(crowd.enter(v4(7), false, now), Entry::Prove));
        assert!(place(crowd.enter(v4(7), true, now)).is_some());
    }

    #[test]
    fn peers_that_may_come_in_are_not_limited() {
        let (mut crowd, now) = (Crowd::new(PLACES), Instant::now());
        for _ in 0..10_000 {
            let place = place(crowd.enter(v4(7), true, now)).expect("a place");
            crowd.leave(place, true);
        }
        assert!(crowd.places.is_empty());
    }

    #[tokio::test]
    async fn the_oldest_unfinished_handshake_goes_when_all_places_are_taken() {
        let (mut crowd, now) = (Crowd::new(PLACES), Instant::now());
        let mut first = None;
        for number in 0..PLACES as u32 {
            let place = place(crowd.enter(v4(number << 8), true, now)).expect("a place");
            let task = tokio::spawn(std::future::pending::<()>());
            crowd.occupy(place, task.abort_handle());
            first.get_or_insert(task);
        }
        assert!(place(crowd.enter(v4(u32::MAX), true, now)).is_some());
        assert_eq!((crowd.places.len(), crowd.given_up), (PLACES, 1));
        assert!(first.unwrap().await.unwrap_err().is_cancelled());
    }

    #[test]
    fn a_port_of_few_places_is_crowded_earlier() {
        for (places, full) in [(48, 8), (PLACES, 256), (100_000, 256)] {
            let (mut crowd, now) = (Crowd::new(places), Instant::now());
            for number in 0..full as u32 {
                assert!(crowd.pressure() < 1.0, "{places} places, {number} taken");
                place(crowd.enter(v4(number << 8), true, now)).expect("a place");
            }
            assert_eq!(crowd.pressure(), 1.0, "{places} places");
        }
    }

    #[test]
    fn memory_is_bounded_whatever_comes() {
        let (mut crowd, now) = (Crowd::new(PLACES), Instant::now());
        for number in 0..100_000 {
            crowd.enter(v4(number << 8), true, now);
        }
        assert_eq!(crowd.addresses.buckets.len(), REMEMBERED);
        assert_eq!(crowd.networks.buckets.len(), REMEMBERED);
        assert_eq!(crowd.places.len(), PLACES);
        // Those that have their allowance again make room.
        let later = now + Duration::from_secs(60);
        crowd.enter(v4(u32::MAX), true, later);
        assert_eq!(crowd.addresses.buckets.len(), 1);
    }
}
