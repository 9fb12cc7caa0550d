// SPDX-License-Identifier: GPL-2.0-or-later
//! Requests `flows` and `top`, with defaults and limits.

use std::net::IpAddr;

use serde::Serialize;
use serde_json::Value;

use crate::inspection::InspectionStatus;
use crate::parse::{QueryError, Request};
use crate::path::{Path, Reason};

const LIMIT: usize = 100;
/// Maximum rows of a page, because a ubus reply has at most 1 MiB.
const MAX_LIMIT: usize = 500;
const TOP_LIMIT: usize = 10;
const MAX_TOP_LIMIT: usize = 100;
const MAX_TEXT: usize = 200;

#[derive(Debug, Clone, PartialEq)]
pub struct FlowsQuery {
    pub filter: Filter,
    pub sort: Sort,
    pub desc: bool,
    pub group: Group,
    pub offset: usize,
    /// 1 to 500 rows.
    pub limit: usize,
}

impl Default for FlowsQuery {
    fn default() -> Self {
        Self {
            filter: Filter::default(),
            sort: Sort::Bps,
            desc: true,
            group: Group::None,
            offset: 0,
            limit: LIMIT,
        }
    }
}

impl FlowsQuery {
    /// Parses an object or null.
    ///
    /// # Errors
    /// Names the field that is unknown, has the wrong type or is out of range.
    pub fn parse(request: &Value) -> Result<Self, QueryError> {
        let object = Request::new("", request)?;
        object.only(&["filter", "sort", "desc", "group", "offset", "limit"])?;
        let default = Self::default();
        let group =
            object.word("group", Group::from_name, "host, service, vlan, path or traffic")?;
        Ok(Self {
            filter: object.value("filter").map_or(Ok(Filter::default()), Filter::parse)?,
            sort: object.word("sort", Sort::from_name, "a column")?.unwrap_or(default.sort),
            desc: object.bool("desc")?.unwrap_or(default.desc),
            group: group.unwrap_or_default(),
            offset: object.integer("offset", 0, usize::MAX)?.unwrap_or(0),
            limit: object.integer("limit", 1, MAX_LIMIT)?.unwrap_or(LIMIT),
        })
    }
}

/// Conditions on a flow, which must all hold; an empty condition always holds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Filter {
    /// Search terms. Each term must occur in an address, port, name, device, zone or protocol.
    pub text: String,
    pub paths: Vec<Path>,
    /// Reasons; `None` matches flows without a reason.
    pub reasons: Vec<Option<Reason>>,
    pub inspections: Vec<InspectionStatus>,
    pub protos: Vec<u8>,
    pub vlan: Option<u16>,
    pub zone: Option<String>,
    /// Layer 3 device of either side.
    pub device: Option<String>,
    /// One of them is any of the four addresses of the flow.
    pub hosts: Vec<IpAddr>,
    /// True for IPv6, false for IPv4.
    pub ipv6: Option<bool>,
    /// True for forwarded flows, false for local flows ([`Reason::local`]).
    pub forwarded: Option<bool>,
    /// Start of a period in which the flow had traffic, Unix ms.
    pub from_ms: Option<u64>,
    /// End of the period, before which the flow began.
    pub to_ms: Option<u64>,
}

impl Filter {
    fn parse(request: &Value) -> Result<Self, QueryError> {
        let object = Request::new("filter", request)?;
        object.only(&[
            "text",
            "path",
            "reason",
            "inspection",
            "proto",
            "vlan",
            "zone",
            "device",
            "host",
            "family",
            "forwarded",
            "from_ms",
            "to_ms",
        ])?;
        Ok(Self {
            text: object.text("text", MAX_TEXT)?.unwrap_or_default().to_lowercase(),
            paths: object.words("path", Path::from_name, "a path")?,
            reasons: object.words("reason", reason, "a reason")?,
            inspections: object.words("inspection", InspectionStatus::from_name, "a standing")?,
            protos: object.words("proto", crate::proto::number, "a protocol")?,
            vlan: object.integer("vlan", 0, 4095)?,
            zone: object.text("zone", MAX_TEXT)?.map(str::to_owned),
            device: object.text("device", MAX_TEXT)?.map(str::to_owned),
            hosts: object.word("host", addresses, "an address")?.unwrap_or_default(),
            ipv6: object.integer::<u8>("family", 4, 6)?.map_or(
                Ok(None),
                |family| match family {
                    4 => Ok(Some(false)),
                    6 => Ok(Some(true)),
                    _ => Err(object.bad("family", "4 or 6")),
                },
            )?,
            forwarded: object.bool("forwarded")?,
            from_ms: object.integer("from_ms", 0, u64::MAX)?,
            to_ms: object.integer("to_ms", 0, u64::MAX)?,
        })
    }
}

/// Maximum number of addresses in a filter: those of one device.
const MAX_ADDRESSES: usize = 16;

/// Parses addresses separated by commas; IPv4-mapped IPv6 addresses become IPv4.
#[must_use]
pub fn addresses(words: &str) -> Option<Vec<IpAddr>> {
    let parse = |word: &str| word.parse().ok().map(|address: IpAddr| address.to_canonical());
    let all = words.split(',').map(parse).collect::<Option<Vec<_>>>()?;
    (all.len() <= MAX_ADDRESSES).then_some(all)
}

#[expect(clippy::option_option, reason = "the inner None is a flow that is not slow")]
fn reason(word: &str) -> Option<Option<Reason>> {
    if word.is_empty() { Some(None) } else { Reason::from_name(word).map(Some) }
}

config::named! {
    /// Object of a row.
    #[derive(Default, Serialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Group {
        #[default]
        #[serde(rename = "")]
        None = "",
        Host = "host",
        /// Protocol and port of the responder.
        Service = "service",
        Vlan = "vlan",
        Path = "path",
        /// A flow may have several traffic types.
        Traffic = "traffic",
    }
}

config::named! {
    pub enum Sort {
        Bps = "bps",
        Bytes = "bytes",
        Id = "id",
        Proto = "proto",
        Family = "family",
        Src = "src",
        Sport = "sport",
        /// Destination address before NAT.
        Dst = "dst",
        /// Destination port before NAT.
        Dport = "dport",
        /// Address of the initiator after NAT.
        NatSrc = "nat_src",
        /// Port of the initiator after NAT.
        NatSport = "nat_sport",
        /// Address of the responder.
        NatDst = "nat_dst",
        /// Port of the responder.
        NatDport = "nat_dport",
        InDev = "in_dev",
        InVlan = "in_vlan",
        InZone = "in_zone",
        OutDev = "out_dev",
        OutVlan = "out_vlan",
        OutZone = "out_zone",
        Path = "path",
        Reason = "reason",
        State = "state",
        UpBytes = "up_bytes",
        DownBytes = "down_bytes",
        UpPackets = "up_packets",
        DownPackets = "down_packets",
        UpBps = "up_bps",
        DownBps = "down_bps",
        Age = "age_s",
        /// Time without packets.
        Idle = "idle_s",
        SrcName = "src_name",
        DstName = "dst_name",
        Inspection = "inspection",
        Key = "key",
        Name = "name",
        Flows = "flows",
        Offloaded = "offloaded",
        Ratio = "ratio",
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TopQuery {
    /// Never [`Group::None`].
    pub by: Group,
    /// 1 to 100 rows.
    pub limit: usize,
}

impl TopQuery {
    /// Parses an object or null.
    pub fn parse(request: &Value) -> Result<Self, QueryError> {
        let object = Request::new("", request)?;
        object.only(&["by", "limit"])?;
        let by = |word: &str| Group::from_name(word).filter(|group| *group != Group::None);
        Ok(Self {
            by: object
                .word("by", by, "host, service, vlan, path or traffic")?
                .unwrap_or(Group::Host),
            limit: object.integer("limit", 1, MAX_TOP_LIMIT)?.unwrap_or(TOP_LIMIT),
        })
    }
}
