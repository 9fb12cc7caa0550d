// SPDX-License-Identifier: GPL-2.0-or-later
//! Attribute types `CTA_*` of the kernel's `nfnetlink_conntrack.h`.

pub(crate) const TUPLE_ORIG: u16 = 1;
pub(crate) const TUPLE_REPLY: u16 = 2;
pub(crate) const STATUS: u16 = 3;
pub(crate) const PROTOINFO: u16 = 4;
pub(crate) const HELP: u16 = 5;
pub(crate) const TIMEOUT: u16 = 7;
pub(crate) const MARK: u16 = 8;
pub(crate) const COUNTERS_ORIG: u16 = 9;
pub(crate) const COUNTERS_REPLY: u16 = 10;
pub(crate) const ID: u16 = 12;
pub(crate) const SEQ_ADJ_ORIG: u16 = 15;
pub(crate) const SEQ_ADJ_REPLY: u16 = 16;
pub(crate) const ZONE: u16 = 18;
pub(crate) const TIMESTAMP: u16 = 20;
pub(crate) const MARK_MASK: u16 = 21;

pub(crate) const TUPLE_IP: u16 = 1;
pub(crate) const TUPLE_PROTO: u16 = 2;

pub(crate) const IP_V4_SRC: u16 = 1;
pub(crate) const IP_V4_DST: u16 = 2;
pub(crate) const IP_V6_SRC: u16 = 3;
pub(crate) const IP_V6_DST: u16 = 4;

pub(crate) const PROTO_NUM: u16 = 1;
pub(crate) const PROTO_SRC_PORT: u16 = 2;
pub(crate) const PROTO_DST_PORT: u16 = 3;
pub(crate) const PROTO_ICMP_ID: u16 = 4;
pub(crate) const PROTO_ICMP_TYPE: u16 = 5;
pub(crate) const PROTO_ICMP_CODE: u16 = 6;
pub(crate) const PROTO_ICMPV6_ID: u16 = 7;
pub(crate) const PROTO_ICMPV6_TYPE: u16 = 8;
pub(crate) const PROTO_ICMPV6_CODE: u16 = 9;

pub(crate) const PROTOINFO_TCP: u16 = 1;
pub(crate) const PROTOINFO_TCP_STATE: u16 = 1;
pub(crate) const PROTOINFO_TCP_FLAGS_ORIGINAL: u16 = 4;
pub(crate) const PROTOINFO_TCP_FLAGS_REPLY: u16 = 5;

pub(crate) const COUNTERS_PACKETS: u16 = 1;
pub(crate) const COUNTERS_BYTES: u16 = 2;

pub(crate) const TIMESTAMP_START: u16 = 1;
