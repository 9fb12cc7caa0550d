// SPDX-License-Identifier: GPL-2.0-or-later
//! Flow table: merges conntrack dumps and events, computes rates, decides path and reason, and
//! answers queries. Performs no I/O; clock and network are parameters.

mod accounts;
mod ends;
mod engine;
mod flow;
mod flow_route;
mod groups;
mod handshake;
mod history;
mod hosts;
mod inspection;
mod intern;
mod ladder;
mod matcher;
mod network;
mod order;
#[cfg(test)]
mod order_tests;
mod page;
mod parse;
mod path;
mod proto;
mod query;
mod report;
mod rows;
mod stack;
mod table;
mod text;
#[cfg(test)]
mod text_tests;
mod time;
mod totals;
mod traffic;

pub use engine::EngineState;
pub use handshake::{OffloadRequest, OffloadState, ReadingStart, RulesVersion};
pub use history::{History, HistoryQuery, Series};
pub use hosts::HostTraffic;
pub use inspection::{InspectionState, InspectionStatus};
pub use ladder::{Facts, Verdict, climb};
pub use network::{Network, Side};
pub use page::{FlowDetail, FlowPage, GroupRow, HostMove, MoveKind, OpenHost, Rows, Top, TopRow};
pub use parse::{QueryError, Request};
pub use path::{Path, Reason};
pub use query::{Filter, FlowsQuery, Group, Sort, TopQuery, addresses};
pub use report::{FlowEndReason, FlowRecord, RecordSide, RecordTimeouts};
pub use rows::FlowEvent;
pub use stack::{Seen, StackCount};
pub use table::FlowTable;
pub use table::hardware::CpuSample;
pub use time::Now;
pub use totals::{PathTotals, Paths, Ratio, Totals};
pub use traffic::{HostBytes, HostGrowth, ZoneTraffic};
