// SPDX-License-Identifier: GPL-2.0-or-later
//! Requests `flows` and `top`: filter, grouping and sort column, with defaults and limits.

use std::net::IpAddr;

use serde::Serialize;
use serde_json::Value;

use crate::inspection::InspectionStatus;
use crate::parse::{QueryError, Request};
use crate::path::{Path, Reason};

/// Default number of rows of a page.
const LIMIT: usize = 100;
/// Maximum rows of a page, because a ubus reply has at most 1 MiB.
const MAX_LIMIT: usize = 500;
const TOP_LIMIT: usize = 10;
const MAX_TOP_LIMIT: usize = 100;
const MAX_TEXT: usize = 200;

/// Request of `flows`.
#[derive(Debug, Clone, PartialEq)]
pub struct FlowsQuery {
    /// Conditions that all must hold.
    pub filter: Filter,
    pub sort: Sort,
    /// Largest first.
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
    /// Parses the request of `flows`, an object or null.
    ///
    /// # Errors
    /// Names the field that is unknown, of the wrong type or out of range, and its value.
    pub fn parse(request: &Value) -> Result<Self, QueryError> {
        let object = Request::new("", request)?;
        object.only(&["filter", "sort", "desc", "group", "offset", "limit"])?;
        let default = Self::default();
        let group = object.word("group", Group::from_name, "host, service, vlan or path")?;
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

/// Conditions on a flow; an empty condition holds for every flow.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Filter {
    /// Search terms that must all occur in addresses, ports, names, devices, zones or protocol.
    pub text: String,
    /// One of these paths.
    pub paths: Vec<Path>,
    /// One of these reasons; `None` for flows that are not slow.
    pub reasons: Vec<Option<Reason>>,
    /// One of these inspection states.
    pub inspections: Vec<InspectionStatus>,
    /// One of these protocol numbers.
    pub protos: Vec<u8>,
    /// VLAN of either side.
    pub vlan: Option<u16>,
    /// Zone of either side.
    pub zone: Option<String>,
    /// Any of the flow's four addresses.
    pub host: Option<IpAddr>,
    /// True for IPv6, false for IPv4.
    pub ipv6: Option<bool>,
    /// True for forwarded flows, false for local flows ([`Reason::local`]).
    pub forwarded: Option<bool>,
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
            "host",
            "family",
            "forwarded",
        ])?;
        Ok(Self {
            text: object.text("text", MAX_TEXT)?.unwrap_or_default().to_lowercase(),
            paths: object.words("path", Path::from_name, "a path")?,
            reasons: object.words("reason", reason, "a reason")?,
            inspections: object.words("inspection", InspectionStatus::from_name, "a standing")?,
            protos: object.words("proto", crate::proto::number, "a protocol")?,
            vlan: object.integer("vlan", 0, 4095)?,
            zone: object.text("zone", MAX_TEXT)?.map(str::to_owned),
            host: object.word("host", address, "an address")?,
            ipv6: object.integer::<u8>("family", 4, 6)?.map_or(
                Ok(None),
                |family| match family {
                    4 => Ok(Some(false)),
                    6 => Ok(Some(true)),
                    _ => Err(object.bad("family", "4 or 6")),
                },
            )?,
            forwarded: object.bool("forwarded")?,
        })
    }
}

/// Parses an address; an IPv4-mapped IPv6 address becomes IPv4.
fn address(word: &str) -> Option<IpAddr> {
    word.parse().ok().map(|address: IpAddr| address.to_canonical())
}

#[expect(clippy::option_option, reason = "the inner None is a flow that is not slow")]
fn reason(word: &str) -> Option<Option<Reason>> {
    if word.is_empty() { Some(None) } else { Reason::from_name(word).map(Some) }
}

config::named! {
    /// Objects that rows stand for.
    #[derive(Default, Serialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Group {
        /// One flow, without grouping.
        #[default]
        #[serde(rename = "")]
        None = "",
        /// One host behind the router.
        Host = "host",
        /// One protocol and responder's port.
        Service = "service",
        Vlan = "vlan",
        Path = "path",
    }
}

config::named! {
    /// Column that orders the rows.
    pub enum Sort {
        /// Rate of both directions.
        Bps = "bps",
        /// Bytes of both directions.
        Bytes = "bytes",
        Id = "id",
        Proto = "proto",
        Family = "family",
        /// Address of the initiator.
        Src = "src",
        /// Port of the initiator.
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
        /// Device of the initiator.
        InDev = "in_dev",
        /// VLAN of the initiator.
        InVlan = "in_vlan",
        /// Zone of the initiator.
        InZone = "in_zone",
        /// Device of the responder.
        OutDev = "out_dev",
        /// VLAN of the responder.
        OutVlan = "out_vlan",
        /// Zone of the responder.
        OutZone = "out_zone",
        Path = "path",
        Reason = "reason",
        /// TCP state.
        State = "state",
        /// Bytes from the initiator.
        UpBytes = "up_bytes",
        /// Bytes to the initiator.
        DownBytes = "down_bytes",
        /// Packets from the initiator.
        UpPackets = "up_packets",
        /// Packets to the initiator.
        DownPackets = "down_packets",
        /// Rate from the initiator.
        UpBps = "up_bps",
        /// Rate to the initiator.
        DownBps = "down_bps",
        Age = "age_s",
        /// Time without packets.
        Idle = "idle_s",
        /// Name of the initiator.
        SrcName = "src_name",
        /// Name of the responder.
        DstName = "dst_name",
        Inspection = "inspection",
        /// Key of a group.
        Key = "key",
        /// Name of a group.
        Name = "name",
        /// Number of flows of a group.
        Flows = "flows",
        /// Number of offloaded flows of a group.
        Offloaded = "offloaded",
        /// Share of offloaded bytes of a group.
        Ratio = "ratio",
    }
}

/// Request of `top`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TopQuery {
    /// Never [`Group::None`].
    pub by: Group,
    /// 1 to 100 rows.
    pub limit: usize,
}

impl TopQuery {
    /// Parses the request of `top`, an object or null.
    ///
    /// # Errors
    /// See [`FlowsQuery::parse`].
    pub fn parse(request: &Value) -> Result<Self, QueryError> {
        let object = Request::new("", request)?;
        object.only(&["by", "limit"])?;
        let by = |word: &str| Group::from_name(word).filter(|group| *group != Group::None);
        Ok(Self {
            by: object.word("by", by, "host, service, vlan or path")?.unwrap_or(Group::Host),
            limit: object.integer("limit", 1, MAX_TOP_LIMIT)?.unwrap_or(TOP_LIMIT),
        })
    }
}
