// SPDX-License-Identifier: GPL-2.0-or-later
//! Numeric sort keys of flows, and partial sorting for a page.

use std::net::IpAddr;

use crate::flow::Flow;
use crate::network::Side;
use crate::proto;
use crate::query::Sort;
use crate::table::FlowTable;
use crate::time::Now;

/// Key of the column, kernel id for a stable order, position in the table.
pub(crate) type SortKey = (u128, u32, u32);

/// Keys beyond those of a page, so that a page of a million flows needs no memory for each of them.
pub(crate) const SPARE: usize = 8192;

/// Collects the keys of a page.
pub(crate) struct Window {
    keys: Vec<SortKey>,
    offset: usize,
    limit: usize,
    spare: usize,
    /// Last key that may be part of the page; `None` if any key may.
    last: Option<SortKey>,
    matched: usize,
}

impl Window {
    /// Drops other keys once there are `spare` of them.
    pub(crate) fn new(offset: usize, limit: usize, spare: usize) -> Self {
        Self { keys: Vec::new(), offset, limit, spare, last: None, matched: 0 }
    }

    pub(crate) fn push(&mut self, key: SortKey) {
        self.matched += 1;
        if self.last.is_some_and(|last| last < key) {
            return;
        }
        self.keys.push(key);
        let needed = self.offset.saturating_add(self.limit).max(1);
        // Selecting takes as long as pushing if half of the keys are dropped.
        if self.keys.len() >= needed.saturating_add(needed.max(self.spare)) {
            self.last = Some(*self.keys.select_nth_unstable(needed - 1).1);
            self.keys.truncate(needed);
        }
    }

    pub(crate) fn matched(&self) -> usize {
        self.matched
    }

    pub(crate) fn page(&mut self) -> &[SortKey] {
        window(&mut self.keys, self.offset, self.limit)
    }
}

/// Returns `keys[offset..offset + limit]` of the sorted order without sorting the rest.
fn window(keys: &mut [SortKey], offset: usize, limit: usize) -> &[SortKey] {
    let start = offset.min(keys.len());
    let len = limit.min(keys.len() - start);
    if len == 0 {
        return &[];
    }
    if start > 0 {
        keys.select_nth_unstable(start);
    }
    let tail = &mut keys[start..];
    if len < tail.len() {
        tail.select_nth_unstable(len - 1);
    }
    let page = &mut tail[..len];
    page.sort_unstable();
    page
}

pub(crate) struct Keys<'a> {
    sort: Sort,
    now: Now,
    table: &'a FlowTable,
    /// Alphabetical rank of a side, name or protocol by its number.
    ranks: Vec<u32>,
}

impl<'a> Keys<'a> {
    pub(crate) fn new(sort: Sort, table: &'a FlowTable, now: Now) -> Option<Self> {
        let sides = |text: fn(&Side) -> &str| ranks(table.sides().values().iter().map(text));
        let ranks = match sort {
            Sort::Key | Sort::Name | Sort::Flows | Sort::Offloaded | Sort::Ratio => return None,
            Sort::InDev | Sort::OutDev => sides(|side| &side.device),
            Sort::InZone | Sort::OutZone => sides(|side| &side.zone),
            Sort::SrcName | Sort::DstName => {
                ranks(table.names().values().iter().map(|name| &**name))
            }
            Sort::Proto => {
                let names: Vec<String> = (0..=u8::MAX).map(proto::name).collect();
                ranks(names.iter().map(String::as_str))
            }
            _ => Vec::new(),
        };
        Some(Self { sort, now, table, ranks })
    }

    pub(crate) fn key(&self, flow: &Flow) -> u128 {
        let rank = |number: u32| u128::from(self.ranks.get(number as usize).copied().unwrap_or(0));
        let vlan = |number| self.table.side(number).map_or(0, |side| u128::from(side.vlan));
        let rate = |bps: f32| u128::from(bps.to_bits());
        let since = |at| u128::from(self.now.millis().saturating_sub(at).max(0).unsigned_abs());
        match self.sort {
            Sort::Bps => rate(flow.bps()),
            Sort::Bytes => u128::from(flow.bytes()),
            Sort::Id => u128::from(flow.id),
            Sort::Proto => rank(u32::from(flow.orig.proto) + 1),
            Sort::Family => u128::from(flow.orig.src.is_ipv6()),
            Sort::Src => address(flow.orig.src),
            Sort::Sport => u128::from(flow.near().sport),
            Sort::Dst => address(flow.orig.dst),
            Sort::Dport => u128::from(flow.near().dport),
            Sort::NatSrc => address(flow.reply.dst),
            Sort::NatSport => u128::from(flow.far().sport),
            Sort::NatDst => address(flow.reply.src),
            Sort::NatDport => u128::from(flow.far().dport),
            Sort::InDev | Sort::InZone => rank(flow.initiator),
            Sort::OutDev | Sort::OutZone => rank(flow.responder),
            Sort::InVlan => vlan(flow.initiator),
            Sort::OutVlan => vlan(flow.responder),
            Sort::Path => self.table.shown(flow).0 as u128,
            Sort::Reason => self.table.shown(flow).1.map_or(0, |reason| reason as u128 + 1),
            Sort::State => flow.tcp_state.map_or(0, |state| state as u128 + 1),
            Sort::UpBytes => u128::from(flow.up.bytes),
            Sort::DownBytes => u128::from(flow.down.bytes),
            Sort::UpPackets => u128::from(flow.up.packets),
            Sort::DownPackets => u128::from(flow.down.packets),
            Sort::UpBps => rate(flow.up_bps),
            Sort::DownBps => rate(flow.down_bps),
            Sort::Age => since(flow.born),
            Sort::Idle => since(flow.active),
            Sort::SrcName => rank(flow.src_name),
            Sort::DstName => rank(flow.dst_name),
            Sort::Inspection => flow.inspection as u128,
            Sort::Key | Sort::Name | Sort::Flows | Sort::Offloaded | Sort::Ratio => 0,
        }
    }
}

/// Orders IPv4 before IPv6, except for IPv6 addresses below `::1:0:0`.
fn address(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => u128::from(v4.to_bits()),
        IpAddr::V6(v6) => v6.to_bits(),
    }
}

/// Returns the alphabetical rank of each text, indexed by its number from 1. Equal texts share a
/// rank. Number 0, no text, has rank 0.
pub(crate) fn ranks<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<u32> {
    let mut sorted: Vec<(&str, usize)> = texts.zip(1..).collect();
    config::sort::by(&mut sorted, |(a, _), (b, _)| a.cmp(b));
    let mut ranks = vec![0; sorted.len() + 1];
    let mut rank = 0;
    for (i, (text, number)) in sorted.iter().enumerate() {
        let new = i == 0 || sorted[i - 1].0 != *text;
        rank += u32::from(new && !text.is_empty());
        ranks[*number] = rank;
    }
    ranks
}
