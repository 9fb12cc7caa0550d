// SPDX-License-Identifier: GPL-2.0-or-later
//! Builds the netlink requests of this crate: dump the table, reset counters, look up, delete, mark
//! or update one entry.

use std::net::IpAddr;

use netlink_bindings::conntrack::{
    NfCtTcpFlagsMask, Nfgenmsg, OpGetDo, OpGetDump, PushConntrackAttrs, PushTupleAttrs,
};
use netlink_bindings::utils::Pusher;

use netlink::{ACK, DUMP, REQUEST, begin, finish};

use crate::decode::{CT_DELETE, CT_GET, CT_GET_ZERO, CT_NEW};
use crate::entry::{TcpState, Tuple};

const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;
const ICMP: u8 = 1;
const ICMPV6: u8 = 58;
const TCP: u8 = 6;

/// `IP_CT_TCP_FLAG_BE_LIBERAL`.
const BE_LIBERAL: u8 = 0x08;
/// `IP_CT_TCP_FLAG_MAXACK_SET`: a RST must have exactly the last acknowledged number.
const MAXACK_SET: u8 = 0x20;

/// `TCP_CONNTRACK_ESTABLISHED`.
const ESTABLISHED: u8 = TcpState::Established as u8;

/// Bits of a connection mark, selected by `mask`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MarkBits {
    /// Values of the bits; bits outside `mask` are ignored.
    pub value: u32,
    /// Bits to set or to compare.
    pub mask: u32,
}

/// Changes to the entry of an offloaded connection, which conntrack sees no packets of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntryUpdate {
    pub zone: u16,
    /// Tuple of the original direction.
    pub orig: Tuple,
    /// Seconds until the entry expires; `None` leaves the timeout unchanged.
    pub timeout_s: Option<u32>,
    /// TCP: stop checking sequence numbers against the window in both directions, because they have
    /// advanced unseen, and a RST against the last acknowledgement until the next one is seen.
    pub disable_window_tracking: bool,
    /// TCP: set the state to established, whatever FIN or RST conntrack has seen.
    pub established: bool,
}

/// Requests all entries of both families.
pub(crate) fn dump(seq: u32) -> Vec<u8> {
    let mut message = begin();
    drop(OpGetDump::encode_request(&mut message, &family(0)));
    finish(message, CT_GET, REQUEST | DUMP, seq)
}

/// Requests all entries, or entries with a mark that matches `only`, and resets their counters as
/// they are dumped. The kernel can only compare `mark & mask == value`.
pub(crate) fn zero(seq: u32, only: Option<MarkBits>) -> Vec<u8> {
    let mut message = begin();
    let attrs = OpGetDo::encode_request(&mut message, &family(0));
    drop(match only {
        Some(bits) => push_mark(attrs, bits),
        None => attrs,
    });
    finish(message, CT_GET_ZERO, REQUEST | DUMP, seq)
}

/// Requests the entry with original direction `orig` in `zone`.
pub(crate) fn get(seq: u32, zone: u16, orig: &Tuple) -> Vec<u8> {
    let mut message = begin();
    drop(push_key(&mut message, zone, orig));
    finish(message, CT_GET, REQUEST, seq)
}

/// Changes mark bits of one entry. Without `NLM_F_CREATE`, a missing entry is not created. `ack`
/// requests an answer to success, too; failures are always answered.
pub(crate) fn mark(seq: u32, zone: u16, orig: &Tuple, bits: MarkBits, ack: bool) -> Vec<u8> {
    let mut message = begin();
    drop(push_mark(push_key(&mut message, zone, orig), bits));
    finish(message, CT_NEW, acknowledged(ack), seq)
}

/// Sets timeout and TCP state of one entry, and disables TCP window tracking.
pub(crate) fn update(seq: u32, update: &EntryUpdate, ack: bool) -> Vec<u8> {
    let mut message = begin();
    let mut attrs = push_key(&mut message, update.zone, &update.orig);
    if let Some(seconds) = update.timeout_s {
        attrs = attrs.push_timeout(seconds);
    }
    if (update.disable_window_tracking || update.established) && update.orig.proto == TCP {
        let liberal = || {
            let mut flags = NfCtTcpFlagsMask::new();
            (flags.flags, flags.mask) = (BE_LIBERAL, BE_LIBERAL | MAXACK_SET);
            flags
        };
        let mut tcp = attrs.nested_protoinfo().nested_protoinfo_tcp();
        if update.established {
            tcp = tcp.push_tcp_state(ESTABLISHED);
        }
        attrs = tcp
            .push_tcp_flags_original(liberal())
            .push_tcp_flags_reply(liberal())
            .end_nested()
            .end_nested();
    }
    drop(attrs);
    finish(message, CT_NEW, acknowledged(ack), seq)
}

pub(crate) fn delete(seq: u32, zone: u16, orig: &Tuple, ack: bool) -> Vec<u8> {
    let mut message = begin();
    drop(push_key(&mut message, zone, orig));
    finish(message, CT_DELETE, acknowledged(ack), seq)
}

fn acknowledged(ack: bool) -> u16 {
    if ack { REQUEST | ACK } else { REQUEST }
}

fn family(af: u8) -> Nfgenmsg {
    let mut message = Nfgenmsg::new();
    message.nfgen_family = af;
    message
}

fn push_key<'m>(
    message: &'m mut Vec<u8>,
    zone: u16,
    orig: &Tuple,
) -> PushConntrackAttrs<&'m mut Vec<u8>> {
    let af = if orig.src.is_ipv4() { AF_INET } else { AF_INET6 };
    let attrs = OpGetDo::encode_request(message, &family(af));
    let attrs = push_tuple(attrs.nested_tuple_orig(), orig).end_nested();
    if zone == 0 { attrs } else { attrs.push_zone(zone) }
}

fn push_mark<P: Pusher>(push: PushConntrackAttrs<P>, bits: MarkBits) -> PushConntrackAttrs<P> {
    push.push_mark(bits.value & bits.mask).push_mark_mask(bits.mask)
}

fn push_tuple<P: Pusher>(push: PushTupleAttrs<P>, tuple: &Tuple) -> PushTupleAttrs<P> {
    let ip = push.nested_tuple_ip();
    let push = match (tuple.src, tuple.dst) {
        (IpAddr::V4(src), IpAddr::V4(dst)) => ip.push_ip_v4_src(src).push_ip_v4_dst(dst),
        (src, dst) => ip.push_ip_v6_src(v6(src)).push_ip_v6_dst(v6(dst)),
    }
    .end_nested();
    let proto = push.nested_tuple_proto().push_proto_num(tuple.proto);
    let [kind, code] = tuple.dport.to_be_bytes();
    match tuple.proto {
        ICMP => proto
            .push_proto_icmp_id(tuple.sport)
            .push_proto_icmp_type(kind)
            .push_proto_icmp_code(code),
        ICMPV6 => proto
            .push_proto_icmpv6_id(tuple.sport)
            .push_proto_icmpv6_type(kind)
            .push_proto_icmpv6_code(code),
        _ => proto.push_proto_src_port(tuple.sport).push_proto_dst_port(tuple.dport),
    }
    .end_nested()
}

fn v6(address: IpAddr) -> std::net::Ipv6Addr {
    match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped(),
        IpAddr::V6(v6) => v6,
    }
}

#[cfg(test)]
mod tests {
    use netlink_bindings::conntrack::ConntrackAttrs;

    use super::*;
    use netlink::{Message, messages};

    const ORIG: Tuple = Tuple {
        src: IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2)),
        dst: IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 80)),
        proto: 6,
        sport: 1234,
        dport: 80,
    };
    const BITS: MarkBits = MarkBits { value: 0x2000_0000, mask: 0x6000_0000 };

    /// Returns the mark, its mask and the zone.
    fn attributes(frame: &Message<'_>) -> (Option<u32>, Option<u32>, Option<u16>) {
        let mut found = (None, None, None);
        for attr in ConntrackAttrs::new(&frame.payload[4..]).flatten() {
            match attr {
                ConntrackAttrs::Mark(mark) => found.0 = Some(mark),
                ConntrackAttrs::MarkMask(mask) => found.1 = Some(mask),
                ConntrackAttrs::Zone(zone) => found.2 = Some(zone),
                _ => {}
            }
        }
        found
    }

    #[test]
    fn disables_window_tracking_only_for_tcp() {
        for (proto, disable_window_tracking, established, wanted) in [
            (6, true, false, true),
            (6, false, true, true),
            (6, false, false, false),
            (17, true, true, false),
        ] {
            let orig = Tuple { proto, ..ORIG };
            let entry = EntryUpdate {
                zone: 3,
                orig,
                timeout_s: Some(7440),
                disable_window_tracking,
                established,
            };
            let message = update(1, &entry, true);
            let frame = messages(&message).next().unwrap();
            let attrs = ConntrackAttrs::new(&frame.payload[4..]);
            assert_eq!(attrs.get_timeout().unwrap(), 7440);
            let tcp = attrs.get_protoinfo().and_then(|info| info.get_protoinfo_tcp());
            assert_eq!(tcp.is_ok(), wanted);
            if let Ok(tcp) = tcp {
                assert_eq!(tcp.get_tcp_state().ok(), established.then_some(3));
                for flags in [tcp.get_tcp_flags_original(), tcp.get_tcp_flags_reply()] {
                    let flags = flags.unwrap();
                    assert_eq!((flags.flags, flags.mask), (8, 0x28));
                }
            }
        }
    }

    #[test]
    fn several_messages_fit_into_one_datagram() {
        let mut datagram = mark(7, 9, &ORIG, BITS, false);
        datagram.extend(delete(8, 9, &ORIG, true));
        datagram.extend(zero(9, Some(BITS)));
        datagram.extend(zero(10, None));
        let frames: Vec<Message<'_>> = messages(&datagram).collect();
        let heads: Vec<_> = frames.iter().map(|f| (f.kind, f.flags, f.seq)).collect();
        // REQUEST 1, NLM_F_ACK 4, DUMP 0x300; never NLM_F_CREATE 0x400.
        let heads_wanted = [(0x100, 1, 7), (0x102, 5, 8), (0x103, 0x301, 9), (0x103, 0x301, 10)];
        assert_eq!(heads, heads_wanted);
        let bits = (Some(BITS.value), Some(BITS.mask));
        assert_eq!(attributes(&frames[0]), (bits.0, bits.1, Some(9)));
        assert_eq!(attributes(&frames[1]), (None, None, Some(9)));
        assert_eq!(attributes(&frames[2]), (bits.0, bits.1, None));
        assert_eq!(attributes(&frames[3]), (None, None, None));
    }
}
