// SPDX-License-Identifier: GPL-2.0-or-later
//! Decodes conntrack messages into [`Entry`] values. Never panics, whatever the input.

use std::net::IpAddr;

use netlink::{attribute, attributes, messages, number};

use crate::cta;
use crate::entry::{Counters, Entry, Status, TcpState, Tuple};

/// `NFNL_SUBSYS_CTNETLINK << 8 | IPCTNL_MSG_CT_NEW`.
pub(crate) const CT_NEW: u16 = 1 << 8;
/// `NFNL_SUBSYS_CTNETLINK << 8 | IPCTNL_MSG_CT_GET`.
pub(crate) const CT_GET: u16 = 1 << 8 | 1;
/// `NFNL_SUBSYS_CTNETLINK << 8 | IPCTNL_MSG_CT_DELETE`.
pub(crate) const CT_DELETE: u16 = 1 << 8 | 2;
/// `NFNL_SUBSYS_CTNETLINK << 8 | IPCTNL_MSG_CT_GET_CTRZERO`.
pub(crate) const CT_GET_ZERO: u16 = 1 << 8 | 3;
/// Size of `struct nfgenmsg`, which follows the netlink header.
const NFGEN_HEADER: usize = 4;

/// Appends the entries in `bytes` to `out`; skips other messages.
pub fn entries(bytes: &[u8], out: &mut Vec<Entry>) {
    let new = messages(bytes).filter(|message| message.kind == CT_NEW);
    out.extend(new.filter_map(|message| entry(message.payload)));
}

/// Decodes the payload of a conntrack message. Returns `None` if a tuple or the ID is missing.
/// Skips unknown and malformed attributes, which newer kernels may send.
#[must_use]
pub fn entry(payload: &[u8]) -> Option<Entry> {
    let mut found = Found::default();
    for (kind, value) in attributes(payload.get(NFGEN_HEADER..)?) {
        let _ = found.store(kind, value);
    }
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
    /// Stores an attribute. Returns `None` if its value is too short.
    fn store(&mut self, kind: u16, value: &[u8]) -> Option<()> {
        let word = || number(value, u32::from_be_bytes);
        match kind {
            cta::ID => self.id = Some(word()?),
            cta::TUPLE_ORIG => self.orig = tuple(value),
            cta::TUPLE_REPLY => self.reply = tuple(value),
            cta::ZONE => self.zone = number(value, u16::from_be_bytes)?,
            cta::STATUS => self.status = Status(word()?),
            cta::TIMEOUT => self.timeout_s = Some(word()?),
            cta::MARK => self.mark = word()?,
            cta::PROTOINFO => self.tcp_state = tcp_state(value),
            cta::HELP => self.helper = true,
            cta::SEQ_ADJ_ORIG | cta::SEQ_ADJ_REPLY => self.seq_adjust = true,
            cta::COUNTERS_ORIG => self.orig_counters = counters(value),
            cta::COUNTERS_REPLY => self.reply_counters = counters(value),
            cta::TIMESTAMP => {
                self.start_ns = number(attribute(value, cta::TIMESTAMP_START)?, u64::from_be_bytes);
            }
            _ => {}
        }
        Some(())
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

fn tuple(attrs: &[u8]) -> Option<Tuple> {
    let (src, dst) = addresses(attribute(attrs, cta::TUPLE_IP)?)?;
    let (proto, sport, dport) = protocol(attribute(attrs, cta::TUPLE_PROTO)?);
    Some(Tuple { src, dst, proto, sport, dport })
}

fn addresses(attrs: &[u8]) -> Option<(IpAddr, IpAddr)> {
    let (mut src, mut dst) = (None, None);
    for (kind, value) in attributes(attrs) {
        let v4 = || number::<4, IpAddr>(value, IpAddr::from);
        let v6 = || number::<16, IpAddr>(value, IpAddr::from);
        match kind {
            cta::IP_V4_SRC => src = src.or_else(v4),
            cta::IP_V4_DST => dst = dst.or_else(v4),
            cta::IP_V6_SRC => src = src.or_else(v6),
            cta::IP_V6_DST => dst = dst.or_else(v6),
            _ => {}
        }
    }
    let (src, dst) = (src?, dst?);
    (src.is_ipv4() == dst.is_ipv4()).then_some((src, dst))
}

/// Returns the protocol number and the two ports, or the ICMP fields of [`Tuple`].
fn protocol(attrs: &[u8]) -> (u8, u16, u16) {
    let (mut proto, mut sport, mut dport) = (None, None, None);
    let (mut icmp_type, mut icmp_code) = (None, None);
    for (kind, value) in attributes(attrs) {
        let byte = || value.first().copied();
        let word = || number(value, u16::from_be_bytes);
        match kind {
            cta::PROTO_NUM => proto = proto.or_else(byte),
            cta::PROTO_SRC_PORT | cta::PROTO_ICMP_ID | cta::PROTO_ICMPV6_ID => {
                sport = sport.or_else(word);
            }
            cta::PROTO_DST_PORT => dport = dport.or_else(word),
            cta::PROTO_ICMP_TYPE | cta::PROTO_ICMPV6_TYPE => icmp_type = icmp_type.or_else(byte),
            cta::PROTO_ICMP_CODE | cta::PROTO_ICMPV6_CODE => icmp_code = icmp_code.or_else(byte),
            _ => {}
        }
    }
    let icmp = icmp_type.zip(icmp_code).map(|(kind, code)| u16::from_be_bytes([kind, code]));
    (proto.unwrap_or(0), sport.unwrap_or(0), dport.or(icmp).unwrap_or(0))
}

fn tcp_state(attrs: &[u8]) -> Option<TcpState> {
    let state = attribute(attribute(attrs, cta::PROTOINFO_TCP)?, cta::PROTOINFO_TCP_STATE)?;
    TcpState::from_kernel(*state.first()?)
}

fn counters(attrs: &[u8]) -> Option<Counters> {
    let count = |kind| number(attribute(attrs, kind)?, u64::from_be_bytes);
    Some(Counters { packets: count(cta::COUNTERS_PACKETS)?, bytes: count(cta::COUNTERS_BYTES)? })
}
