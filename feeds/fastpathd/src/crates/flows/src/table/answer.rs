// SPDX-License-Identifier: GPL-2.0-or-later
//! Answers `flows`, `flow` and `top`.

use std::cmp::Ordering;

use crate::flow::Flow;
use crate::groups::{self, Line, Sums};
use crate::matcher::Matcher;
use crate::order::{Keys, SPARE, Window};
use crate::page::{FlowDetail, FlowPage, OpenHost, Rows, Top, TopRow};
use crate::parse::QueryError;
use crate::path::{Path, Reason};
use crate::query::{FlowsQuery, Group, Sort, TopQuery};
use crate::rows::{self, FlowRow};
use crate::table::FlowTable;
use crate::time::Now;

impl FlowTable {
    /// Returns one page of flows or groups.
    ///
    /// # Errors
    /// Fails if the sort column does not fit the grouping.
    pub fn query(&self, query: &FlowsQuery, now: Now) -> Result<FlowPage<'_>, QueryError> {
        if query.group == Group::None { self.page(query, now) } else { self.groups(query, now) }
    }

    fn page(&self, query: &FlowsQuery, now: Now) -> Result<FlowPage<'_>, QueryError> {
        let keys = Keys::new(query.sort, self, now).ok_or_else(|| conflict(query))?;
        let filter = Matcher::new(&query.filter, self, now);
        let turn = if query.desc { u128::MAX } else { 0 };
        let mut window = Window::new(query.offset, query.limit, SPARE);
        for (position, flow) in (0_u32..).zip(&self.flows) {
            if filter.matches(flow) {
                window.push((keys.key(flow) ^ turn, flow.kernel_id(), position));
            }
        }
        let rows = window
            .page()
            .iter()
            .map(|(_, _, position)| self.row(&self.flows[*position as usize], now))
            .collect();
        Ok(self.reply(now, window.matched(), rows::COLS, Rows::Flows(rows)))
    }

    fn groups(&self, query: &FlowsQuery, now: Now) -> Result<FlowPage<'_>, QueryError> {
        let compare = groups::comparison(query.sort).ok_or_else(|| conflict(query))?;
        let filter = Matcher::new(&query.filter, self, now);
        let mut sums = Sums::new(self, query.group);
        self.flows.iter().filter(|flow| filter.matches(flow)).for_each(|flow| sums.add(flow));
        let mut list = sums.into_list();
        let matched = list.len();
        config::sort::by(&mut list, |a, b| {
            let order = compare(self, a, b);
            (if query.desc { order.reverse() } else { order }).then(a.0.cmp(&b.0))
        });
        let page = list.iter().skip(query.offset).take(query.limit);
        let row = |line| {
            let TopRow { key, name, flows, offloaded, bytes, up_bps, down_bps, ratio, .. } =
                groups::top_row(self, line);
            (key, name, flows, offloaded, bytes, up_bps, down_bps, ratio)
        };
        Ok(self.reply(now, matched, groups::COLS, Rows::Groups(page.map(row).collect())))
    }

    fn row<'a>(&'a self, flow: &'a Flow, now: Now) -> FlowRow<'a> {
        FlowRow { flow, table: self, now }
    }

    fn reply<'a>(
        &self,
        now: Now,
        matched: usize,
        cols: &'static [&'static str],
        rows: Rows<'a>,
    ) -> FlowPage<'a> {
        let (total, epoch, now_ms) = (self.len(), self.epoch(), now.unix_ms);
        FlowPage { total, matched, epoch, now_ms, cols, rows }
    }

    /// Returns one flow with the steps of its life; `None` if the id is unknown.
    #[must_use]
    pub fn flow(&self, id: u64, now: Now) -> Option<FlowDetail<'_>> {
        let flow = self.by_id(id)?;
        let port = |number| self.side(number).map_or("", |side| &*side.port);
        let mut life = flow.life.clone();
        life.extend(flow.revoked(&self.rules, self.revoked_at));
        Some(FlowDetail {
            flow: self.row(flow, now),
            offloaded_bytes: flow.offloaded_bytes,
            hardware: flow.hardware(self.engine.engine),
            ports: [port(flow.initiator), port(flow.responder)],
            events: life.iter().map(|step| rows::event(step, now)).collect(),
            moves: Vec::new(),
            rule: match flow.reason {
                Some(Reason::RulePerPacket) => self.rule_reached(flow),
                _ => None,
            }
            .map(ToString::to_string)
            .unwrap_or_default(),
            began_ms: now.unix_ms_of(flow.born),
        })
    }

    /// Returns the busiest hosts, services, VLANs, paths or traffic types. Excludes local and ended
    /// flows.
    #[must_use]
    pub fn top(&self, query: &TopQuery) -> Top<'_> {
        let mut list = self.open(query.by);
        let busiest = groups::comparison(Sort::Bps);
        config::sort::by(&mut list, |a, b| {
            let order = busiest.map_or(Ordering::Equal, |compare| compare(self, b, a));
            order.then(a.0.cmp(&b.0))
        });
        let page = list.iter().take(query.limit);
        let rows = page.map(|line| groups::top_row(self, line)).collect();
        Top { by: query.by, rows }
    }

    #[must_use]
    pub fn open_hosts(&self) -> Vec<OpenHost> {
        self.open(Group::Host).iter().filter_map(groups::open_host).collect()
    }

    fn open(&self, by: Group) -> Vec<Line> {
        let mut sums = Sums::new(self, by);
        let open = |flow: &&Flow| flow.forwarded() && flow.path != Path::Ended;
        self.flows.iter().filter(open).for_each(|flow| sums.add(flow));
        sums.into_list()
    }

    fn by_id(&self, id: u64) -> Option<&Flow> {
        self.position(id).map(|position| &self.flows[position])
    }
}

fn conflict(query: &FlowsQuery) -> QueryError {
    let group = query.group;
    let single = group == Group::None;
    let other = if single { "single flows".to_owned() } else { format!("group {group}") };
    QueryError::Conflict {
        field: "sort".into(),
        value: format!("\"{}\"", query.sort.name()),
        other,
    }
}
