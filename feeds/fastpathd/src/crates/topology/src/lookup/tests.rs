// SPDX-License-Identifier: GPL-2.0-or-later

use netlink::{attributes, messages};

use super::*;

const LAYER4: Layer4 = Layer4 { proto: 6, sport: 40_000, dport: 443 };

fn attr(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    push_attribute(&mut bytes, kind, value);
    bytes
}

fn query(layer4: Option<Layer4>) -> RouteQuery {
    let [from, to] = ["10.10.10.2", "203.0.113.1"].map(|text| text.parse().unwrap());
    RouteQuery { from, to, iif: 5, mark: 0x200, layer4 }
}

#[test]
fn a_request_contains_all_fields_that_rules_match() {
    let asked = |query: &RouteQuery| {
        let bytes = request(query, 7);
        let message = messages(&bytes).next().unwrap();
        assert_eq!((message.kind, message.flags, message.seq), (libc::RTM_GETROUTE, REQUEST, 7));
        let (header, attrs) = message.payload.split_at(HEADER);
        assert_eq!(header[..3], [2, 32, 32, 0][..3]);
        assert_eq!(header[8..], 0x2000_u32.to_ne_bytes());
        let attrs = attributes(attrs).map(|(kind, value)| (kind, value.to_vec()));
        attrs.collect::<Vec<_>>()
    };
    let mut expected = vec![
        (libc::RTA_DST, vec![203, 0, 113, 1]),
        (libc::RTA_SRC, vec![10, 10, 10, 2]),
        (libc::RTA_IIF, 5_u32.to_ne_bytes().to_vec()),
        (libc::RTA_MARK, 0x200_u32.to_ne_bytes().to_vec()),
    ];
    assert_eq!(asked(&query(None)), expected);
    // Ports are in network byte order.
    expected.extend([(27, vec![6]), (28, vec![0x9c, 0x40]), (29, vec![0x01, 0xbb])]);
    assert_eq!(asked(&query(Some(LAYER4))), expected);
}

#[test]
fn decodes_the_next_hop_of_supported_routes_only() {
    let route = |kind: u8, tos: u8, attrs: &[Vec<u8>]| {
        let header = vec![2, 0, 0, tos, 2, 3, 0, kind, 0, 0, 0, 0];
        let bytes = message(libc::RTM_NEWROUTE, 0, 7, &[header, attrs.concat()].concat());
        answer(&messages(&bytes).next().unwrap())
    };
    let device = attr(libc::RTA_OIF, &9_u32.to_ne_bytes());
    let gateway = attr(libc::RTA_GATEWAY, &[198, 51, 100, 1]);
    let six = "fe80::1".parse::<std::net::Ipv6Addr>().unwrap().octets();
    let via =
        attr(RTA_VIA, &[&u16::try_from(libc::AF_INET6).unwrap().to_ne_bytes()[..], &six].concat());
    let hop = |gateway: Option<&str>| {
        RouteAnswer::Hop(NextHop { device: 9, gateway: gateway.map(|text| text.parse().unwrap()) })
    };
    let with = |more: Vec<u8>| route(1, 0, &[device.clone(), more]);
    assert_eq!(route(1, 0, std::slice::from_ref(&device)), hop(None));
    assert_eq!(with(gateway.clone()), hop(Some("198.51.100.1")));
    assert_eq!(with(via), hop(Some("fe80::1")));
    let metric = |kind| attr(libc::RTA_METRICS, &attr(kind, &1300_u32.to_ne_bytes()));
    assert_eq!(with(metric(5)), hop(None), "RTAX_ADVMSS does not matter");
    for other in [metric(2), attr(libc::RTA_MULTIPATH, &[0; 8]), attr(RTA_ENCAP, &[0; 4])] {
        assert_eq!(with(other.clone()), RouteAnswer::Other, "{other:?}");
    }
    assert_eq!(route(1, 0, std::slice::from_ref(&gateway)), RouteAnswer::Other, "no device");
    assert_eq!(route(1, 8, std::slice::from_ref(&device)), RouteAnswer::Other, "a type of service");
    // `RTN_LOCAL`, `RTN_BLACKHOLE`, `RTN_UNREACHABLE`, `RTN_PROHIBIT`.
    for kind in [2, 6, 7, 8] {
        assert_eq!(route(kind, 0, std::slice::from_ref(&device)), RouteAnswer::Other, "{kind}");
    }
}

#[test]
fn a_refused_look_up_has_no_next_hop() {
    for errno in [libc::ENETUNREACH, libc::EINVAL, libc::EACCES, libc::ENODEV] {
        let bytes = message(2, 0, 7, &[&(-errno).to_ne_bytes()[..], &[0; 16]].concat());
        assert_eq!(answer(&messages(&bytes).next().unwrap()), RouteAnswer::Other);
    }
}
