// SPDX-License-Identifier: GPL-2.0-or-later
//! Applies the filter of a query to flows. Strings are compared once per query, and flows are
//! matched by the numbers of their strings.

use std::net::IpAddr;

use crate::flow::Flow;
use crate::handshake::Rules;
use crate::intern::{Interner, Number};
use crate::network::Side;
use crate::path::Reason;
use crate::proto;
use crate::query::Filter;
use crate::table::FlowTable;
use crate::text::Numbers;
use crate::time::{Millis, Now};

/// One boolean per interned value; false for number 0.
#[derive(Debug)]
struct Marks(Vec<bool>);

impl Marks {
    fn new<T: Clone + Eq + std::hash::Hash>(
        interner: &Interner<T>,
        holds: impl Fn(&T) -> bool,
    ) -> Self {
        Self(std::iter::once(false).chain(interner.values().iter().map(holds)).collect())
    }

    fn has(&self, number: Number) -> bool {
        usize::try_from(number).is_ok_and(|at| self.0.get(at).copied().unwrap_or(false))
    }
}

/// 64 bits: one for each reason and one for `None`.
const _: () = assert!(crate::Reason::ALL.len() < 64);

#[derive(Debug)]
pub(crate) struct Matcher {
    paths: Option<u64>,
    reasons: Option<u64>,
    inspections: Option<u64>,
    protos: Option<[bool; 256]>,
    sides: Option<Marks>,
    hosts: Vec<IpAddr>,
    ipv6: Option<bool>,
    forwarded: Option<bool>,
    /// Monotonic times of a period: the flow had traffic since its start and began before its end.
    period: (Millis, Millis),
    words: Vec<Word>,
    rules: Rules,
}

#[derive(Debug)]
struct Word {
    numbers: Option<Numbers>,
    protos: [bool; 256],
    sides: Marks,
    names: Marks,
}

impl Matcher {
    pub(crate) fn new(filter: &Filter, table: &FlowTable, now: Now) -> Self {
        let bits = |bits: Vec<u32>| {
            let any = !bits.is_empty();
            any.then(|| bits.into_iter().fold(0, |all, bit| all | 1_u64 << bit))
        };
        let words = filter.text.split_whitespace().map(|word| Word::new(word, table));
        // Check terms first that cannot match an address or port, because they are cheap.
        let (mut words, expensive): (Vec<Word>, Vec<Word>) =
            words.partition(|word| word.numbers.is_none());
        words.extend(expensive);
        let reason = |reason: &Option<crate::Reason>| reason.map_or(0, |r| r as u32 + 1);
        Self {
            paths: bits(filter.paths.iter().map(|path| *path as u32).collect()),
            reasons: bits(filter.reasons.iter().map(reason).collect()),
            inspections: bits(filter.inspections.iter().map(|standing| *standing as u32).collect()),
            protos: (!filter.protos.is_empty())
                .then(|| each_proto(|number| filter.protos.contains(&number))),
            sides: sides(filter, table),
            hosts: filter.hosts.clone(),
            ipv6: filter.ipv6,
            forwarded: filter.forwarded,
            period: (
                filter.from_ms.map_or(Millis::MIN, |ms| now.millis_of(ms)),
                filter.to_ms.map_or(Millis::MAX, |ms| now.millis_of(ms)),
            ),
            words,
            rules: *table.rules_in_force(),
        }
    }

    pub(crate) fn matches(&self, flow: &Flow) -> bool {
        let bit = |mask: Option<u64>, bit: u32| mask.is_none_or(|mask| mask >> bit & 1 == 1);
        let (path, reason) = flow.shown(&self.rules);
        bit(self.paths, path as u32)
            && bit(self.reasons, reason.map_or(0, |reason| reason as u32 + 1))
            && bit(self.inspections, flow.inspection as u32)
            && self.protos.is_none_or(|protos| protos[usize::from(flow.orig.proto)])
            && self.ipv6.is_none_or(|ipv6| ipv6 == flow.orig.src.is_ipv6())
            && self.forwarded.is_none_or(|it| it != reason.is_some_and(Reason::local))
            && flow.active >= self.period.0
            && flow.born < self.period.1
            && self.sides.as_ref().is_none_or(|s| s.has(flow.initiator) || s.has(flow.responder))
            && (self.hosts.is_empty()
                || flow.addresses().iter().any(|each| self.hosts.contains(each)))
            && self.words.iter().all(|word| word.found(flow))
    }
}

/// Returns the sides that match VLAN, zone and device of the filter.
fn sides(filter: &Filter, table: &FlowTable) -> Option<Marks> {
    let wanted = filter.vlan.is_some() || filter.zone.is_some() || filter.device.is_some();
    let holds = |side: &Side| {
        filter.vlan.is_none_or(|vlan| vlan == side.vlan)
            && filter.zone.as_deref().is_none_or(|zone| zone == &*side.zone)
            && filter.device.as_deref().is_none_or(|device| device == &*side.device)
    };
    wanted.then(|| Marks::new(table.sides(), holds))
}

fn each_proto(holds: impl Fn(u8) -> bool) -> [bool; 256] {
    let mut marks = [false; 256];
    for number in 0..=u8::MAX {
        marks[usize::from(number)] = holds(number);
    }
    marks
}

impl Word {
    fn new(word: &str, table: &FlowTable) -> Self {
        let within = |text: &str| text.to_lowercase().contains(word);
        let side = |side: &Side| within(&side.device) || within(&side.zone) || within(&side.port);
        let numbers = Numbers::new(word);
        Self {
            numbers: (!numbers.none()).then_some(numbers),
            protos: each_proto(|number| proto::word(number).is_some_and(within)),
            sides: Marks::new(table.sides(), side),
            names: Marks::new(table.names(), |name| within(name)),
        }
    }

    fn found(&self, flow: &Flow) -> bool {
        self.protos[usize::from(flow.orig.proto)]
            || self.sides.has(flow.initiator)
            || self.sides.has(flow.responder)
            || self.names.has(flow.src_name)
            || self.names.has(flow.dst_name)
            || self.numbers.as_ref().is_some_and(|numbers| found(numbers, flow))
    }
}

fn found(numbers: &Numbers, flow: &Flow) -> bool {
    let near = flow.near();
    let far = flow.far();
    let translated = far != near;
    let in_end = |end: &crate::flow::Ends| {
        numbers.in_address(end.src)
            || numbers.in_address(end.dst)
            || numbers.in_port(end.sport)
            || numbers.in_port(end.dport)
    };
    in_end(&near) || (translated && in_end(&far))
}
