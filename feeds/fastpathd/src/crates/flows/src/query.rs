// SPDX-License-Identifier: GPL-2.0-or-later
//! Requests `flows` and `top`: defaults and limits (100 rows, at most 500; `top` 10, at most 100;
//! 200 characters of text), filter fields, groupings, sort columns.

use std::net::IpAddr;

use serde::Serialize;
use serde_json::Value;

use crate::inspection::InspectionStatus;
use crate::parse::{QueryError, Request};
use crate::path::{Path, Reason};

/// Rows of a page when the request does not say.
const LIMIT: usize = 100;
/// Rows of a page at most: a ubus reply is at most 1 MiB.
const LIMIT_MOST: usize = 500;
const TOP_LIMIT: usize = 10;
const TOP_LIMIT_MOST: usize = 100;
const TEXT_MOST: usize = 200;

/// The request of `flows`.
#[derive(Debug, Clone, PartialEq)]
pub struct FlowsQuery {
    /// Conditions that all must hold.
    pub filter: Filter,
    /// Order of the rows.
    pub sort: Sort,
    /// Largest first.
    pub desc: bool,
    /// The objects that rows stand for.
    pub group: Group,
    /// Rows to skip.
    pub offset: usize,
    /// Rows to return, 1 to 500.
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
    /// Reads the request of `flows`: an object or null.
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
            limit: object.integer("limit", 1, LIMIT_MOST)?.unwrap_or(LIMIT),
        })
    }
}

/// Conditions on a flow; empty ones hold for every flow.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Filter {
    /// Search terms that must all occur in addresses, ports, names, devices, zones or protocol.
    pub text: String,
    /// One of these paths.
    pub paths: Vec<Path>,
    /// One of these reasons; `None`: not on the slow path.
    pub reasons: Vec<Option<Reason>>,
    /// Has one of these inspection states.
    pub inspections: Vec<InspectionStatus>,
    /// One of these protocol numbers.
    pub protos: Vec<u8>,
    /// VLAN of either side.
    pub vlan: Option<u16>,
    /// Zone of either side.
    pub zone: Option<String>,
    /// Any of the four addresses.
    pub host: Option<IpAddr>,
    /// IPv6 or not.
    pub ipv6: Option<bool>,
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
        ])?;
        Ok(Self {
            text: object.text("text", TEXT_MOST)?.unwrap_or_default().to_lowercase(),
            paths: object.words("path", Path::from_name, "a path")?,
            reasons: object.words("reason", reason, "a reason")?,
            inspections: object.words("inspection", InspectionStatus::from_name, "a standing")?,
            protos: object.words("proto", crate::proto::number, "a protocol")?,
            vlan: object.integer("vlan", 0, 4095)?,
            zone: object.text("zone", TEXT_MOST)?.map(str::to_owned),
            host: object.word("host", |word| word.parse().ok(), "an address")?,
            ipv6: object.integer::<u8>("family", 4, 6)?.map_or(
                Ok(None),
                |family| match family {
                    4 => Ok(Some(false)),
                    6 => Ok(Some(true)),
                    _ => Err(object.bad("family", "4 or 6")),
                },
            )?,
        })
    }
}

#[expect(clippy::option_option, reason = "the inner None is a flow that is not slow")]
fn reason(word: &str) -> Option<Option<Reason>> {
    if word.is_empty() { Some(None) } else { Reason::from_name(word).map(Some) }
}

config::named! {
    /// The objects that rows stand for.
    #[derive(Default, Serialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Group {
        /// One flow.
        #[default]
        #[serde(rename = "")]
        None = "",
        /// One host behind the router.
        Host = "host",
        /// One protocol and responder's port.
        Service = "service",
        /// One VLAN.
        Vlan = "vlan",
        /// One path.
        Path = "path",
    }
}

macro_rules! sorts {
    ($($name:ident $word:literal $doc:literal,)+) => {
        /// The column that orders the rows.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Sort {
            $(#[doc = $doc] $name,)+
        }

        impl Sort {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name,)+];

            /// The name in the API.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $word,)+ }
            }
        }
    };
}

sorts! {
    Bps "bps" "Rate, both directions.",
    Bytes "bytes" "Bytes, both directions.",
    Id "id" "Flow id.",
    Proto "proto" "Protocol.",
    Family "family" "Address family.",
    Src "src" "Initiator.",
    Sport "sport" "Initiator's port.",
    Dst "dst" "Destination as the initiator sent it.",
    Dport "dport" "Destination port as the initiator sent it.",
    NatSrc "nat_src" "Initiator as the other side sees it.",
    NatSport "nat_sport" "Its port.",
    NatDst "nat_dst" "Responder.",
    NatDport "nat_dport" "Its port.",
    InDev "in_dev" "Device of the initiator.",
    InVlan "in_vlan" "VLAN of the initiator.",
    InZone "in_zone" "Zone of the initiator.",
    OutDev "out_dev" "Device of the responder.",
    OutVlan "out_vlan" "VLAN of the responder.",
    OutZone "out_zone" "Zone of the responder.",
    Path "path" "Path.",
    Reason "reason" "Reason.",
    State "state" "TCP state.",
    UpBytes "up_bytes" "Bytes from the initiator.",
    DownBytes "down_bytes" "Bytes to the initiator.",
    UpPackets "up_packets" "Packets from the initiator.",
    DownPackets "down_packets" "Packets to the initiator.",
    UpBps "up_bps" "Rate from the initiator.",
    DownBps "down_bps" "Rate to the initiator.",
    Age "age_s" "Age.",
    Idle "idle_s" "Time without packets.",
    SrcName "src_name" "Name of the initiator.",
    DstName "dst_name" "Name of the responder.",
    Inspection "inspection" "State of inspection.",
    Key "key" "Groups: the key.",
    Name "name" "Groups: the name.",
    Flows "flows" "Groups: number of flows.",
    Offloaded "offloaded" "Groups: number of offloaded flows.",
    Ratio "ratio" "Groups: share of offloaded bytes.",
}

impl Sort {
    fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|sort| sort.name() == name)
    }
}

/// The request of `top`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TopQuery {
    /// The kind of the rows; never [`Group::None`].
    pub by: Group,
    /// Rows to return, 1 to 100.
    pub limit: usize,
}

impl TopQuery {
    /// Reads the request of `top`: an object or null.
    ///
    /// # Errors
    /// As [`FlowsQuery::parse`].
    pub fn parse(request: &Value) -> Result<Self, QueryError> {
        let object = Request::new("", request)?;
        object.only(&["by", "limit"])?;
        let by = |word: &str| Group::from_name(word).filter(|group| *group != Group::None);
        Ok(Self {
            by: object.word("by", by, "host, service, vlan or path")?.unwrap_or(Group::Host),
            limit: object.integer("limit", 1, TOP_LIMIT_MOST)?.unwrap_or(TOP_LIMIT),
        })
    }
}
