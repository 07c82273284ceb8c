//! The network interfaces through which this host reaches the Internet.

use crate::PathRequest;

/// A path through each interface that has a default route; none where the system does not tell.
pub(crate) fn requests(v6: bool) -> Vec<PathRequest> {
    let (file, interface_of): (_, fn(&str) -> Option<&str>) = match v6 {
        false => ("/proc/net/route", of_ipv4),
        true => ("/proc/net/ipv6_route", of_ipv6),
    };
    let table = std::fs::read_to_string(file).unwrap_or_default();
    let mut requests: Vec<PathRequest> = Vec::new();
    for name in table.lines().filter_map(interface_of) {
        let request = PathRequest {
            interface: Some(name.to_owned()),
            ..PathRequest::default()
        };
        if !requests.contains(&request) {
            requests.push(request);
        }
    }
    requests
}

/// The interface of a line of Linux's table, if the line is a default route.
fn of_ipv4(line: &str) -> Option<&str> {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let (name, to, mask) = (*fields.first()?, *fields.get(1)?, *fields.get(7)?);
    (to == "00000000" && mask == "00000000").then_some(name)
}

fn of_ipv6(line: &str) -> Option<&str> {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let (to, length, name) = (*fields.first()?, *fields.get(1)?, *fields.get(9)?);
    let is_default = length == "00" && to.bytes().all(|digit| digit == b'0');
    // Where there is no route, the system rejects packets by one through the loopback device.
    (is_default && name != "lo").then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_routes_are_found_in_the_systems_tables() {
        let ipv4 = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n\
            eth0\t00000000\t0101A8C0\t0003\t0\t0\t100\t00000000\t0\t0\t0\n\
            wwan0\t00000000\t010010AC\t0003\t0\t0\t700\t00000000\t0\t0\t0\n\
            eth0\t0001A8C0\t00000000\t0001\t0\t0\t100\t00FFFFFF\t0\t0\t0\n\
            tun0\t00000000\t00000000\t0001\t0\t0\t0\t00000080\t0\t0\t0\n";
        let found: Vec<&str> = ipv4.lines().filter_map(of_ipv4).collect();
        assert_eq!(found, ["eth0", "wwan0"]);
        let zeros = "0".repeat(32);
        let ipv6 = format!(
            "{zeros} 00 {zeros} 00 fe800000000000000000000000000001 00000400 1 0 00000003 wlan0\n\
             fe800000000000000000000000000000 40 {zeros} 00 {zeros} 00000100 1 0 00000001 wlan0\n\
             {zeros} 00 {zeros} 00 {zeros} ffffffff 1 0 00200200 lo\n"
        );
        let found: Vec<&str> = ipv6.lines().filter_map(of_ipv6).collect();
        assert_eq!(found, ["wlan0"]);
    }
}
