// SPDX-License-Identifier: GPL-2.0-or-later
//! Names of layer 4 protocols and services.

pub(crate) const ICMP: u8 = 1;
pub(crate) const ICMPV6: u8 = 58;
pub(crate) const TCP: u8 = 6;
pub(crate) const UDP: u8 = 17;
const DCCP: u8 = 33;
const SCTP: u8 = 132;
const UDPLITE: u8 = 136;

/// Returns whether conntrack distinguishes connections of this protocol by ports.
pub(crate) fn has_ports(proto: u8) -> bool {
    matches!(proto, TCP | UDP | DCCP | SCTP | UDPLITE)
}

const NAMES: [(u8, &str); 12] = [
    (ICMP, "icmp"),
    (2, "igmp"),
    (4, "ipip"),
    (TCP, "tcp"),
    (UDP, "udp"),
    (DCCP, "dccp"),
    (41, "ipv6"),
    (47, "gre"),
    (50, "esp"),
    (51, "ah"),
    (ICMPV6, "icmpv6"),
    (SCTP, "sctp"),
];

pub(crate) fn word(proto: u8) -> Option<&'static str> {
    NAMES.iter().find(|(number, _)| *number == proto).map(|(_, word)| *word)
}

/// Returns the name of a protocol, or its number as text.
pub(crate) fn name(proto: u8) -> String {
    word(proto).map_or_else(|| proto.to_string(), str::to_owned)
}

/// Parses a protocol name (case-insensitive) or number.
pub(crate) fn number(name: &str) -> Option<u8> {
    let named =
        NAMES.iter().find(|(_, word)| word.eq_ignore_ascii_case(name)).map(|(number, _)| *number);
    named.or_else(|| name.parse().ok())
}

const SERVICES: [(u8, u16, &str); 24] = [
    (TCP, 21, "ftp"),
    (TCP, 22, "ssh"),
    (TCP, 25, "smtp"),
    (TCP, 53, "dns"),
    (UDP, 53, "dns"),
    (UDP, 67, "dhcp"),
    (TCP, 80, "http"),
    (UDP, 123, "ntp"),
    (TCP, 143, "imap"),
    (TCP, 443, "https"),
    (UDP, 443, "quic"),
    (TCP, 445, "smb"),
    (UDP, 500, "ike"),
    (TCP, 587, "submission"),
    (TCP, 853, "dns over tls"),
    (TCP, 993, "imaps"),
    (UDP, 1194, "openvpn"),
    (UDP, 3478, "stun"),
    (TCP, 3389, "rdp"),
    (UDP, 4500, "ipsec nat-t"),
    (UDP, 5060, "sip"),
    (TCP, 5201, "iperf3"),
    (UDP, 5201, "iperf3"),
    (UDP, 51820, "wireguard"),
];

/// Returns the name of a service; empty if unknown.
pub(crate) fn service(proto: u8, port: u16) -> &'static str {
    SERVICES.iter().find(|known| (known.0, known.1) == (proto, port)).map_or("", |known| known.2)
}
