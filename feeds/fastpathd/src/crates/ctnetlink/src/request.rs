// SPDX-License-Identifier: GPL-2.0-or-later
//! The two requests this crate makes: dump the table, get one entry.

use std::net::IpAddr;

use netlink_bindings::conntrack::{Nfgenmsg, OpGetDo, OpGetDump, PushTupleAttrs};
use netlink_bindings::consts::{NLM_F_DUMP, NLM_F_REQUEST};
use netlink_bindings::utils::Pusher;

use crate::decode::{CT_GET, NLMSG_HEADER};
use crate::entry::Tuple;

const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;
const ICMP: u8 = 1;
const ICMPV6: u8 = 58;

/// A request for every entry of both families.
pub(crate) fn dump(seq: u32) -> Vec<u8> {
    let mut message = header();
    drop(OpGetDump::encode_request(&mut message, &family(0)));
    finish(message, NLM_F_REQUEST | NLM_F_DUMP, seq)
}

/// A request for the one entry whose original direction is `orig` in `zone`.
pub(crate) fn get(seq: u32, zone: u16, orig: &Tuple) -> Vec<u8> {
    let mut message = header();
    let af = if orig.src.is_ipv4() { AF_INET } else { AF_INET6 };
    let attrs = OpGetDo::encode_request(&mut message, &family(af));
    let attrs = push_tuple(attrs.nested_tuple_orig(), orig).end_nested();
    drop(if zone == 0 { attrs } else { attrs.push_zone(zone) });
    finish(message, NLM_F_REQUEST, seq)
}

fn header() -> Vec<u8> {
    vec![0; NLMSG_HEADER]
}

fn family(af: u8) -> Nfgenmsg {
    let mut message = Nfgenmsg::new();
    message.nfgen_family = af;
    message
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

/// Fills in the message header: the length is known only now.
fn finish(mut message: Vec<u8>, flags: i32, seq: u32) -> Vec<u8> {
    let len = u32::try_from(message.len()).unwrap_or(u32::MAX);
    message[0..4].copy_from_slice(&len.to_ne_bytes());
    message[4..6].copy_from_slice(&CT_GET.to_ne_bytes());
    let flags = u16::try_from(flags).unwrap_or(0);
    message[6..8].copy_from_slice(&flags.to_ne_bytes());
    message[8..12].copy_from_slice(&seq.to_ne_bytes());
    message
}
