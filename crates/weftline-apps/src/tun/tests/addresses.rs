//! Addresses of clients.

use std::collections::HashSet;
use std::net::IpAddr;

use weftline::Fingerprint;

use crate::quota::Who;
use crate::tun::clients::{Clients, Full};
use crate::tun::device::Lease;
use crate::tun::pool::{Pool, pools};
use crate::tun::wire::Answer;
use crate::tun::{BadOptions, IpNet, ServerOptions};

fn net(text: &str) -> IpNet {
    text.parse().unwrap()
}

fn client(number: u8) -> Who {
    Who::Key(Fingerprint::from([number; 20]))
}

fn clients(networks: &[&str], each: u32) -> Clients {
    let pools = networks.iter().map(|text| Pool::new(net(text)).unwrap());
    Clients::new(pools.collect(), each, 1320)
}

fn addresses(clients: &mut Clients, who: Who, name: &str) -> Vec<String> {
    let tunnel = clients.tunnel(who, name).unwrap();
    tunnel.addresses.iter().map(IpNet::to_string).collect()
}

#[test]
fn a_client_has_the_same_addresses_whenever_the_server_starts() {
    let networks = ["10.77.0.0/24", "fd77::/64"];
    let mut first = clients(&networks, 4);
    let before = addresses(&mut first, client(1), "wl0");
    assert_eq!(before.len(), 2);
    assert!(before[0].starts_with("10.77.0.") && before[0].ends_with("/24"));
    assert!(before[1].starts_with("fd77::") && before[1].ends_with("/64"));
    assert_eq!(addresses(&mut first, client(1), "wl0"), before);
    assert_ne!(addresses(&mut first, client(1), "wl1"), before);
    assert_ne!(addresses(&mut first, client(2), "wl0"), before);
    // Others may come first.
    let mut second = clients(&networks, 4);
    addresses(&mut second, client(2), "wl0");
    assert_eq!(addresses(&mut second, client(1), "wl0"), before);
}

/// They follow from the client's names alone: SHA-256 of each name after its length in 8 bytes, the first 16
/// bytes of which are divided by the number of addresses.
#[test]
fn a_client_keeps_its_addresses_when_the_server_is_updated() {
    for (network, address) in [
        ("10.77.0.0/24", "10.77.0.194/24"),
        ("fd77::/64", "fd77::8c9a:ba17:f34d:5c74/64"),
    ] {
        let pool = Pool::new(net(network)).unwrap();
        let found = pool.find(&[b"client", b"wl0"], |_| false);
        assert_eq!(found, Some(net(address)));
    }
}

#[test]
fn every_address_of_a_pool_is_given_once_but_not_its_ends() {
    let mut clients = clients(&["10.77.0.5/28"], 4);
    let mut given = HashSet::new();
    for number in 0..13 {
        let address = addresses(&mut clients, client(number), "wl0").remove(0);
        assert!(given.insert(address));
    }
    let missing = ["10.77.0.0/28", "10.77.0.1/28", "10.77.0.15/28"];
    assert!(
        missing.iter().all(|text| !given.contains(*text)),
        "{given:?}"
    );
    // The next one takes the place of the one that has been without a session for longest.
    let next = addresses(&mut clients, client(200), "wl0").remove(0);
    assert!(given.contains(&next));
    assert_eq!(clients.all().len(), 13);
    let held = clients.all();
    assert_eq!(clients.tunnel(client(201), "wl0").err(), Some(Full::Pools));
    drop(held);
    assert!(clients.tunnel(client(201), "wl0").is_ok());
}

#[test]
fn a_client_has_as_many_tunnels_as_it_may() {
    let mut clients = clients(&["10.77.0.0/24"], 2);
    let first = clients.tunnel(client(1), "wl0").unwrap();
    let second = clients.tunnel(client(1), "wl1").unwrap();
    let error = clients.tunnel(client(1), "wl2").unwrap_err();
    assert!(
        error.to_string().contains("2 tunnels (--tunnels"),
        "{error}"
    );
    assert!(clients.tunnel(client(2), "wl0").is_ok());
    drop(second);
    let third = clients.tunnel(client(1), "wl2").unwrap();
    let address = |tunnel: &crate::tun::clients::Tunnel| tunnel.addresses[0].addr();
    let of = |clients: &Clients, address: IpAddr| clients.of_address(address).is_some();
    assert!(of(&clients, address(&first)) && of(&clients, address(&third)));
}

#[test]
fn pools_that_are_none_are_refused() {
    for text in [
        "10.0.0.0/7",
        "10.0.0.0/31",
        "0.0.0.0/8",
        "224.0.0.0/8",
        "127.0.0.0/8",
        "fe80::/64",
        "ff00::/32",
        "fd77::/127",
        "2000::/31",
    ] {
        let refused = BadOptions::Pool(net(text));
        assert_eq!(Pool::new(net(text)), Err(refused), "{text}");
    }
    for (networks, error) in [
        (&[][..], BadOptions::Pools),
        (&["10.1.0.0/24", "10.2.0.0/24"], BadOptions::Pools),
    ] {
        let options = ServerOptions::new(networks.iter().map(|text| net(text)).collect());
        assert_eq!(pools(&options), Err(error));
    }
    let mut options = ServerOptions::new(vec![net("10.1.0.0/24")]);
    options.mtu = 1279;
    assert_eq!(pools(&options), Err(BadOptions::Mtu(1279)));
    options.mtu = 1280;
    assert!(pools(&options).is_ok());
    options.routes = vec![net("10.0.0.0/8"); 256];
    options.dns = vec![net("10.1.0.1/32").addr(); 256];
    assert!(pools(&options).is_ok());
    options.dns.push(net("10.1.0.1/32").addr());
    assert_eq!(pools(&options), Err(BadOptions::Suggested(256)));
    // The least and the largest.
    for text in ["10.0.0.0/30", "10.0.0.0/8", "fd77::/126", "fd77::/32"] {
        let pool = Pool::new(net(text)).unwrap();
        let found = pool.find(&[b"x"], |_| false).unwrap();
        assert!(
            net(text).contains(&found.addr()) && found != pool.own(),
            "{text}"
        );
    }
}

/// The line of `docs/reference/tun-protocol.md`.
#[test]
fn an_answer_is_the_documented_line() {
    let line = r#"{"weftline_tun":1,"addresses":["10.77.0.9/24","fd77::9/64"],"server":["10.77.0.1","fd77::1"],"mtu":1320,"routes":["10.0.0.0/8"],"dns":["10.77.0.1"]}"#;
    let answer: Answer = serde_json::from_str(line).unwrap();
    assert_eq!(serde_json::to_string(&answer).unwrap(), line);
    let lease = answer.lease().unwrap();
    assert_eq!(lease.addresses, ["10.77.0.9/24", "fd77::9/64"].map(net));
    assert_eq!(lease.routes, [net("10.0.0.0/8")]);
}

#[test]
fn a_server_cannot_take_what_the_client_did_not_ask_for() {
    let granted = |addresses: &[&str]| {
        let lease = Lease {
            addresses: addresses.iter().map(|text| net(text)).collect(),
            mtu: 1320,
            ..Lease::default()
        };
        Answer::new(lease).lease().map(|lease| lease.addresses)
    };
    let private = ["10.77.0.2/24", "fd77::2/64"];
    assert_eq!(granted(&private), Ok(private.map(net).to_vec()));
    // Of a public network the address alone: the rest of it stays where it is.
    let public = granted(&["8.8.8.8/8", "2001:db8::2/64"]);
    assert_eq!(
        public,
        Ok(["8.8.8.8/32", "2001:db8::2/128"].map(net).to_vec())
    );
    for bad in [
        "200.0.0.1/1",
        "10.0.0.1/7",
        "10.0.0.1/32",
        "2000::1/3",
        "127.0.0.1/8",
    ] {
        assert!(granted(&[bad]).is_err(), "{bad}");
    }
}

#[test]
fn a_server_suggests_no_more_than_a_client_looks_at() {
    let is_taken = |routes: usize, dns: usize| {
        let lease = Lease {
            addresses: vec![net("10.77.0.2/24")],
            mtu: 1320,
            routes: vec![net("10.0.0.0/8"); routes],
            dns: vec![net("10.77.0.1/32").addr(); dns],
            ..Lease::default()
        };
        Answer::new(lease).lease().is_ok()
    };
    assert!(is_taken(256, 256));
    assert!(!is_taken(257, 0) && !is_taken(0, 257));
}
