// SPDX-License-Identifier: GPL-2.0-or-later
//! Decodes netlink messages of conntrack into [`Entry`] values. Does not panic on any input.

use std::net::{IpAddr, Ipv4Addr};

use netlink::messages;
use netlink_bindings::conntrack::{
    ConntrackAttrs, CounterAttrs, IterableCounterAttrs, IterableProtoinfoAttrs, IterableTupleAttrs,
    IterableTupleIpAttrs, IterableTupleProtoAttrs, ProtoinfoAttrs, ProtoinfoTcpAttrs, TupleAttrs,
    TupleIpAttrs, TupleProtoAttrs,
};
use netlink_bindings::utils::{find_attr, parse_be_u64};

use crate::entry::{Counters, Entry, Status, TcpState, Tuple};

/// `NFNL_SUBSYS_CTNETLINK << 8 | IPCTNL_MSG_CT_NEW`.
pub(crate) const CT_NEW: u16 = 1 << 8;
/// `NFNL_SUBSYS_CTNETLINK << 8 | IPCTNL_MSG_CT_GET`.
pub(crate) const CT_GET: u16 = 1 << 8 | 1;
/// `NFNL_SUBSYS_CTNETLINK << 8 | IPCTNL_MSG_CT_DELETE`.
pub(crate) const CT_DELETE: u16 = 1 << 8 | 2;
/// `NFNL_SUBSYS_CTNETLINK << 8 | IPCTNL_MSG_CT_GET_CTRZERO`.
pub(crate) const CT_GET_ZERO: u16 = 1 << 8 | 3;
/// Size of `struct nfgenmsg`, the header after the netlink header.
const NFGEN_HEADER: usize = 4;

const CTA_TIMESTAMP: u16 = 20;
const CTA_TIMESTAMP_START: u16 = 1;

/// Appends the entries of a recorded or received dump to `out`, and skips other messages.
pub fn entries(bytes: &[u8], out: &mut Vec<Entry>) {
    let new = messages(bytes).filter(|message| message.kind == CT_NEW);
    out.extend(new.filter_map(|message| entry(message.payload)));
}

/// Decodes the payload of a conntrack message; `None` if a tuple or the ID is missing. Unknown or
/// malformed attributes are skipped, because a newer kernel may send them.
#[must_use]
pub fn entry(payload: &[u8]) -> Option<Entry> {
    let attrs = ConntrackAttrs::new(payload.get(NFGEN_HEADER..)?);
    let mut found = Found::default();
    for attr in attrs.flatten() {
        found.take(&attr);
    }
    // The specification calls CTA_TIMESTAMP a number, but the kernel sends nested attributes.
    found.start_ns = find_attr(attrs.get_buf(), CTA_TIMESTAMP)
        .and_then(|nest| find_attr(nest, CTA_TIMESTAMP_START))
        .and_then(parse_be_u64);
    found.entry()
}

#[derive(Default)]
struct Found {
    id: Option<u32>,
    orig: Option<Tuple>,
    reply: Option<Tuple>,
    zone: u16,
    status: Status,
    timeout_s: Option<u32>,
    mark: u32,
    tcp_state: Option<TcpState>,
    helper: bool,
    seq_adjust: bool,
    orig_counters: Option<Counters>,
    reply_counters: Option<Counters>,
    start_ns: Option<u64>,
}

impl Found {
    fn take(&mut self, attr: &ConntrackAttrs<'_>) {
        match *attr {
            ConntrackAttrs::Id(id) => self.id = Some(id),
            ConntrackAttrs::TupleOrig(attrs) => self.orig = tuple(attrs),
            ConntrackAttrs::TupleReply(attrs) => self.reply = tuple(attrs),
            ConntrackAttrs::Zone(zone) => self.zone = zone,
            ConntrackAttrs::Status(bits) => self.status = Status(bits),
            ConntrackAttrs::Timeout(seconds) => self.timeout_s = Some(seconds),
            ConntrackAttrs::Mark(mark) => self.mark = mark,
            ConntrackAttrs::Protoinfo(attrs) => self.tcp_state = tcp_state(attrs),
            ConntrackAttrs::Help(_) => self.helper = true,
            ConntrackAttrs::SeqAdjOrig(_) | ConntrackAttrs::SeqAdjReply(_) => {
                self.seq_adjust = true;
            }
            ConntrackAttrs::CountersOrig(attrs) => self.orig_counters = counters(attrs),
            ConntrackAttrs::CountersReply(attrs) => self.reply_counters = counters(attrs),
            _ => {}
        }
    }

    fn entry(self) -> Option<Entry> {
        Some(Entry {
            id: self.id?,
            zone: self.zone,
            orig: self.orig?,
            reply: self.reply?,
            status: self.status,
            timeout_s: self.timeout_s,
            mark: self.mark,
            tcp_state: self.tcp_state,
            helper: self.helper,
            seq_adjust: self.seq_adjust || self.status.has(Status::SEQ_ADJUST),
            orig_counters: self.orig_counters,
            reply_counters: self.reply_counters,
            start_ns: self.start_ns,
        })
    }
}

fn tuple(attrs: IterableTupleAttrs<'_>) -> Option<Tuple> {
    let mut ends = None;
    let mut layer4 = None;
    for attr in attrs.flatten() {
        match attr {
            TupleAttrs::TupleIp(attrs) => ends = addresses(attrs),
            TupleAttrs::TupleProto(attrs) => layer4 = Some(protocol(attrs)),
            TupleAttrs::TupleZone(_) => {}
        }
    }
    let (src, dst) = ends?;
    let (proto, sport, dport) = layer4?;
    Some(Tuple { src, dst, proto, sport, dport })
}

fn addresses(attrs: IterableTupleIpAttrs<'_>) -> Option<(IpAddr, IpAddr)> {
    let unset = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
    let (mut src, mut dst) = (unset, unset);
    let mut seen = 0;
    for attr in attrs.flatten() {
        seen += 1;
        match attr {
            TupleIpAttrs::IpV4Src(address) => src = IpAddr::V4(address),
            TupleIpAttrs::IpV4Dst(address) => dst = IpAddr::V4(address),
            TupleIpAttrs::IpV6Src(address) => src = IpAddr::V6(address),
            TupleIpAttrs::IpV6Dst(address) => dst = IpAddr::V6(address),
        }
    }
    (seen == 2 && src.is_ipv4() == dst.is_ipv4()).then_some((src, dst))
}

/// Returns the protocol number and the two port fields (see [`Tuple`] for ICMP).
fn protocol(attrs: IterableTupleProtoAttrs<'_>) -> (u8, u16, u16) {
    let (mut proto, mut sport, mut dport) = (0, 0, 0);
    for attr in attrs.flatten() {
        match attr {
            TupleProtoAttrs::ProtoNum(number) => proto = number,
            TupleProtoAttrs::ProtoSrcPort(id)
            | TupleProtoAttrs::ProtoIcmpId(id)
            | TupleProtoAttrs::ProtoIcmpv6Id(id) => sport = id,
            TupleProtoAttrs::ProtoDstPort(port) => dport = port,
            TupleProtoAttrs::ProtoIcmpType(kind) | TupleProtoAttrs::ProtoIcmpv6Type(kind) => {
                dport = dport & 0x00ff | u16::from(kind) << 8;
            }
            TupleProtoAttrs::ProtoIcmpCode(code) | TupleProtoAttrs::ProtoIcmpv6Code(code) => {
                dport = dport & 0xff00 | u16::from(code);
            }
        }
    }
    (proto, sport, dport)
}

fn tcp_state(attrs: IterableProtoinfoAttrs<'_>) -> Option<TcpState> {
    attrs.flatten().find_map(|attr| {
        let ProtoinfoAttrs::ProtoinfoTcp(tcp) = attr else { return None };
        tcp.flatten().find_map(|attr| match attr {
            ProtoinfoTcpAttrs::TcpState(state) => TcpState::from_kernel(state),
            _ => None,
        })
    })
}

fn counters(attrs: IterableCounterAttrs<'_>) -> Option<Counters> {
    let (mut packets, mut bytes) = (None, None);
    for attr in attrs.flatten() {
        match attr {
            CounterAttrs::Packets(count) => packets = Some(count),
            CounterAttrs::Bytes(count) => bytes = Some(count),
            _ => {}
        }
    }
    Some(Counters { packets: packets?, bytes: bytes? })
}
