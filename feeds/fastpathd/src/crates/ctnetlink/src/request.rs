// SPDX-License-Identifier: GPL-2.0-or-later
//! Builds the conntrack requests of this crate.

use std::net::IpAddr;

use netlink::{ACK, DUMP, REQUEST, begin, finish, push_attribute, push_nested};

use crate::cta;
use crate::decode::{CT_DELETE, CT_GET, CT_GET_ZERO, CT_NEW};
use crate::entry::{TcpState, Tuple};

const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;
const ICMP: u8 = 1;
const ICMPV6: u8 = 58;
const TCP: u8 = 6;

/// `IP_CT_TCP_FLAG_BE_LIBERAL`: sequence numbers outside the window are accepted.
const BE_LIBERAL: u8 = 0x08;
/// `IP_CT_TCP_FLAG_MAXACK_SET`: a RST must match the last acknowledgement.
const MAXACK_SET: u8 = 0x20;

/// `TCP_CONNTRACK_ESTABLISHED`.
const ESTABLISHED: u8 = TcpState::Established as u8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MarkBits {
    /// Values of the bits in `mask`.
    pub value: u32,
    /// Bits to set or to compare.
    pub mask: u32,
}

/// Changes to the entry of an offloaded connection, whose packets conntrack does not see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntryUpdate {
    pub zone: u16,
    /// Tuple of the original direction.
    pub orig: Tuple,
    /// Seconds until the entry expires; `None` leaves the timeout unchanged.
    pub timeout_s: Option<u32>,
    /// TCP: disable window tracking in both directions, because sequence numbers have advanced
    /// unseen. RSTs are not checked until conntrack sees the next acknowledgement.
    pub disable_window_tracking: bool,
    /// TCP: set the state to established, even if conntrack has seen a FIN or RST.
    pub established: bool,
}

pub(crate) fn dump(seq: u32) -> Vec<u8> {
    finish(family(0), CT_GET, REQUEST | DUMP, seq)
}

/// Requests all entries, or only entries with a matching mark, and resets their counters.
pub(crate) fn zero(seq: u32, only: Option<MarkBits>) -> Vec<u8> {
    let mut message = family(0);
    if let Some(bits) = only {
        push_mark(&mut message, bits);
    }
    finish(message, CT_GET_ZERO, REQUEST | DUMP, seq)
}

pub(crate) fn get(seq: u32, zone: u16, orig: &Tuple) -> Vec<u8> {
    finish(key(zone, orig), CT_GET, REQUEST, seq)
}

/// Changes mark bits of one entry. Without `NLM_F_CREATE`, a missing entry is not created. The
/// kernel always answers failures, and success only with `ack`.
pub(crate) fn mark(seq: u32, zone: u16, orig: &Tuple, bits: MarkBits, ack: bool) -> Vec<u8> {
    let mut message = key(zone, orig);
    push_mark(&mut message, bits);
    finish(message, CT_NEW, acknowledged(ack), seq)
}

pub(crate) fn update(seq: u32, update: &EntryUpdate, ack: bool) -> Vec<u8> {
    /// `struct nf_ct_tcp_flags`: flags, mask.
    const LIBERAL: [u8; 2] = [BE_LIBERAL, BE_LIBERAL | MAXACK_SET];
    let mut message = key(update.zone, &update.orig);
    if let Some(seconds) = update.timeout_s {
        push_attribute(&mut message, cta::TIMEOUT, &seconds.to_be_bytes());
    }
    if (update.disable_window_tracking || update.established) && update.orig.proto == TCP {
        push_nested(&mut message, cta::PROTOINFO, |info| {
            push_nested(info, cta::PROTOINFO_TCP, |tcp| {
                if update.established {
                    push_attribute(tcp, cta::PROTOINFO_TCP_STATE, &[ESTABLISHED]);
                }
                push_attribute(tcp, cta::PROTOINFO_TCP_FLAGS_ORIGINAL, &LIBERAL);
                push_attribute(tcp, cta::PROTOINFO_TCP_FLAGS_REPLY, &LIBERAL);
            });
        });
    }
    finish(message, CT_NEW, acknowledged(ack), seq)
}

pub(crate) fn delete(seq: u32, zone: u16, orig: &Tuple, ack: bool) -> Vec<u8> {
    finish(key(zone, orig), CT_DELETE, acknowledged(ack), seq)
}

fn acknowledged(ack: bool) -> u16 {
    if ack { REQUEST | ACK } else { REQUEST }
}

fn family(af: u8) -> Vec<u8> {
    let mut message = begin();
    message.extend([af, 0, 0, 0]);
    message
}

fn key(zone: u16, orig: &Tuple) -> Vec<u8> {
    let mut message = family(if orig.src.is_ipv4() { AF_INET } else { AF_INET6 });
    push_nested(&mut message, cta::TUPLE_ORIG, |attrs| push_tuple(attrs, orig));
    if zone != 0 {
        push_attribute(&mut message, cta::ZONE, &zone.to_be_bytes());
    }
    message
}

fn push_mark(message: &mut Vec<u8>, bits: MarkBits) {
    push_attribute(message, cta::MARK, &(bits.value & bits.mask).to_be_bytes());
    push_attribute(message, cta::MARK_MASK, &bits.mask.to_be_bytes());
}

fn push_tuple(attrs: &mut Vec<u8>, tuple: &Tuple) {
    push_nested(attrs, cta::TUPLE_IP, |ip| match (tuple.src, tuple.dst) {
        (IpAddr::V4(src), IpAddr::V4(dst)) => {
            push_attribute(ip, cta::IP_V4_SRC, &src.octets());
            push_attribute(ip, cta::IP_V4_DST, &dst.octets());
        }
        (src, dst) => {
            push_attribute(ip, cta::IP_V6_SRC, &v6(src).octets());
            push_attribute(ip, cta::IP_V6_DST, &v6(dst).octets());
        }
    });
    push_nested(attrs, cta::TUPLE_PROTO, |proto| {
        let (sport, dport) = (tuple.sport.to_be_bytes(), tuple.dport.to_be_bytes());
        push_attribute(proto, cta::PROTO_NUM, &[tuple.proto]);
        match tuple.proto {
            ICMP => {
                push_attribute(proto, cta::PROTO_ICMP_ID, &sport);
                push_attribute(proto, cta::PROTO_ICMP_TYPE, &dport[..1]);
                push_attribute(proto, cta::PROTO_ICMP_CODE, &dport[1..]);
            }
            ICMPV6 => {
                push_attribute(proto, cta::PROTO_ICMPV6_ID, &sport);
                push_attribute(proto, cta::PROTO_ICMPV6_TYPE, &dport[..1]);
                push_attribute(proto, cta::PROTO_ICMPV6_CODE, &dport[1..]);
            }
            _ => {
                push_attribute(proto, cta::PROTO_SRC_PORT, &sport);
                push_attribute(proto, cta::PROTO_DST_PORT, &dport);
            }
        }
    });
}

fn v6(address: IpAddr) -> std::net::Ipv6Addr {
    match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped(),
        IpAddr::V6(v6) => v6,
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use super::*;
    use netlink::{Message, messages};

    const ORIG: Tuple = Tuple {
        src: IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)),
        dst: IpAddr::V4(Ipv4Addr::new(192, 0, 2, 80)),
        proto: TCP,
        sport: 1234,
        dport: 80,
    };
    /// [`ORIG`] as formatted by [`text`].
    const TUPLE: &str = "1{1{1=0a000002 2=c0000250} 2{1=06 2=04d2 3=0050}}";
    const BITS: MarkBits = MarkBits { value: 0x2000_0000, mask: 0x6000_0000 };

    /// Formats attributes as `type=hex` or, if nested, `type{…}`.
    fn text(mut bytes: &[u8]) -> String {
        let mut found = Vec::new();
        while let Some(&[l0, l1, k0, k1]) = bytes.first_chunk() {
            let length = usize::from(u16::from_ne_bytes([l0, l1]));
            let (kind, value) = (u16::from_ne_bytes([k0, k1]), &bytes[4..length]);
            found.push(match kind.checked_sub(1 << 15) {
                Some(nest) => format!("{nest}{{{}}}", text(value)),
                None => {
                    value.iter().fold(format!("{kind}="), |all, byte| format!("{all}{byte:02x}"))
                }
            });
            bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        }
        found.join(" ")
    }

    fn content(request: &[u8]) -> (u8, String) {
        let all: Vec<Message<'_>> = messages(request).collect();
        let [message] = &all[..] else { panic!("{} messages", all.len()) };
        assert_eq!(message.payload[1..4], [0; 3], "version and resource");
        (message.payload[0], text(&message.payload[4..]))
    }

    #[test]
    fn requests_identify_an_entry_by_original_tuple_and_zone() {
        assert_eq!(content(&get(1, 0, &ORIG)), (2, TUPLE.to_owned()));
        assert_eq!(content(&get(1, 7, &ORIG)), (2, format!("{TUPLE} 18=0007")));
        let ping = Tuple { proto: ICMP, sport: 0x1234, dport: 0x0803, ..ORIG };
        let wanted = "1{1{1=0a000002 2=c0000250} 2{1=01 4=1234 5=08 6=03}}";
        assert_eq!(content(&get(1, 0, &ping)), (2, wanted.to_owned()));
        let [src, dst] = [1, 2].map(|last| Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, last).into());
        let ping = Tuple { src, dst, proto: ICMPV6, dport: 0x8000, ..ping };
        let [one, two] = [1, 2].map(|last| format!("fd00{}{last:02x}", "00".repeat(13)));
        let wanted = format!("1{{1{{3={one} 4={two}}} 2{{1=3a 7=1234 8=80 9=00}}}}");
        assert_eq!(content(&get(1, 0, &ping)), (10, wanted));
    }

    #[test]
    fn disables_window_tracking_only_for_tcp() {
        for (proto, disable_window_tracking, established, tcp) in [
            (TCP, true, false, " 4{1{4=0828 5=0828}}"),
            (TCP, false, true, " 4{1{1=03 4=0828 5=0828}}"),
            (TCP, false, false, ""),
            (17, true, true, ""),
        ] {
            let orig = Tuple { proto, ..ORIG };
            let timeout_s = Some(7440);
            let entry =
                EntryUpdate { zone: 3, orig, timeout_s, disable_window_tracking, established };
            let tuple = TUPLE.replace("1=06", &format!("1={proto:02x}"));
            let wanted = format!("{tuple} 18=0003 7=00001d10{tcp}");
            assert_eq!(content(&update(1, &entry, true)), (2, wanted));
        }
    }

    #[test]
    fn several_messages_fit_into_one_datagram() {
        let mut datagram = mark(7, 9, &ORIG, BITS, false);
        datagram.extend(delete(8, 9, &ORIG, true));
        datagram.extend(zero(9, Some(BITS)));
        datagram.extend(zero(10, None));
        datagram.extend(dump(11));
        let key = format!("{TUPLE} 18=0009");
        let marked = format!("{key} 8=20000000 21=60000000");
        // REQUEST 1, NLM_F_ACK 4, DUMP 0x300; never NLM_F_CREATE 0x400.
        let wanted = [
            (0x100, 1, 7, &*marked),
            (0x102, 5, 8, &key),
            (0x103, 0x301, 9, "8=20000000 21=60000000"),
            (0x103, 0x301, 10, ""),
            (0x101, 0x301, 11, ""),
        ];
        let found = messages(&datagram).map(|m| (m.kind, m.flags, m.seq, text(&m.payload[4..])));
        assert!(found.eq(wanted.map(|(kind, flags, seq, text)| (
            kind,
            flags,
            seq,
            text.to_owned()
        ))));
    }
}
