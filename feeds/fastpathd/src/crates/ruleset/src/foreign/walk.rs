// SPDX-License-Identifier: GPL-2.0-or-later
//! Walks a base chain like packets of an established TCP or UDP connection: follows jumps and
//! verdicts, and collects statements that act on each packet. Statements act unless listed as
//! harmless.

use std::collections::{BTreeMap, BTreeSet};

use model::{Condition, Outcome, RuleName, Step, Test};
use serde_json::Value;

use super::matches::{Match, Scope, SetInfo, Steadiness, implied};
use super::values::{has_statement, is_catch_all};
use super::{Acts, Name, Place, text};

/// nft's limit of nested jumps.
const MAX_JUMPS: usize = 16;
/// Limit of rules per base chain, including its jumps; beyond it, all of its flows stay slow.
const MAX_RULES: usize = 5_000;

/// A step, or an accept that becomes a step if a later rule drops packets of the flow.
pub(super) struct Draft {
    conditions: Vec<Condition>,
    outcome: DraftOutcome,
}

enum DraftOutcome {
    Leaves,
    Reaches(RuleName, Acts),
    /// The chain accepts only some packets of a flow here.
    SomeLeave(RuleName),
}

impl Draft {
    pub(super) fn settled(self) -> Option<(Step, Acts)> {
        let (outcome, acts) = match self.outcome {
            DraftOutcome::Leaves => (Outcome::Leaves, Acts::Always),
            DraftOutcome::Reaches(rule, acts) => (Outcome::Reaches(rule), acts),
            DraftOutcome::SomeLeave(_) => return None,
        };
        Some((Step { conditions: self.conditions, outcome }, acts))
    }
}

pub(super) struct Found {
    pub(super) drafts: Vec<Draft>,
    pub(super) looked_up: BTreeSet<Name>,
}

#[derive(Clone)]
struct Path {
    conditions: Vec<Condition>,
    /// All flows that meet the conditions get here.
    exact: bool,
    /// First rule that passes only some packets of a flow.
    varies: Option<RuleName>,
    /// Only the first packets get here, or packets until set elements expire.
    expires: bool,
    /// `return` ends the base chain.
    base: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum After {
    Continues,
    /// The next rule follows, but some flows may have returned to the caller.
    MayReturn,
    /// The caller's next rule follows.
    Returned,
    /// All flows have left the base chain.
    Ended,
}

pub(super) struct Walk<'a> {
    rules: &'a BTreeMap<Name, Vec<&'a Value>>,
    scope: Scope<'a>,
    name: &'a Name,
    drafts: Vec<Draft>,
    drops_by_policy: bool,
    left: usize,
}

impl<'a> Walk<'a> {
    pub(super) fn new(
        rules: &'a BTreeMap<Name, Vec<&'a Value>>,
        sets: &'a BTreeMap<Name, SetInfo>,
        name: &'a Name,
        place: &'a Place,
    ) -> Self {
        let (family, table) = (&*name.0, &*name.1);
        let scope = Scope { sets, family, table, place, looked_up: BTreeSet::new() };
        let (drafts, drops_by_policy, left) = (Vec::new(), false, MAX_RULES);
        Self { rules, scope, name, drafts, drops_by_policy, left }
    }

    pub(super) fn base(mut self, drops_by_policy: bool) -> Found {
        self.drops_by_policy = drops_by_policy;
        let family = match &*self.name.0 {
            "ip" => Some(false),
            "ip6" => Some(true),
            _ => None,
        };
        let conditions =
            family.map(|ipv6| Condition { test: Test::Ipv6, holds: ipv6 }).into_iter().collect();
        let exact = matches!(self.scope.place, Place::Ip { .. });
        let path = Path { conditions, exact, varies: None, expires: false, base: true };
        let chain = self.name.2.clone();
        let (family, table, chain_name) = self.name.clone();
        let rule = RuleName { family, table, chain: chain_name, ..RuleName::default() };
        if self.visit(&chain, &path, 0) != After::Ended && drops_by_policy {
            self.drops(&path, &rule);
        }
        if self.left == 0 {
            self.drafts.clear();
            self.reaches(&path, rule, Acts::Always);
        }
        Found { drafts: self.drafts, looked_up: self.scope.looked_up }
    }

    fn visit(&mut self, chain: &str, path: &Path, depth: usize) -> After {
        let (family, table, _) = self.name;
        let rules = self.rules.get(&(family.clone(), table.clone(), chain.to_owned()));
        let mut path = path.clone();
        if depth > MAX_JUMPS {
            self.left = 0;
        }
        for rule in rules.into_iter().flatten() {
            if self.left == 0 {
                return After::Continues;
            }
            self.left -= 1;
            match self.rule(rule, &path, depth) {
                After::Continues => {}
                After::MayReturn => path.exact = false,
                after @ (After::Returned | After::Ended) => return after,
            }
        }
        After::Continues
    }

    fn rule(&mut self, rule: &Value, path: &Path, depth: usize) -> After {
        let name = rule_name(rule);
        let mut here = Here { path: path.clone(), certain: true, name };
        for expression in rule.get("expr").and_then(Value::as_array).into_iter().flatten() {
            let Some((kind, value)) = expression.as_object().and_then(|one| one.iter().next())
            else {
                return After::Continues;
            };
            match kind.as_str() {
                "match" => {
                    let found = self.scope.evaluate(value);
                    let header = value.get("left").map_or(Match::Always, implied);
                    if !here.narrow(header) || !here.narrow(found) {
                        return After::Continues;
                    }
                    if value.get("right").is_some_and(|set| self.scope.decides(set)) {
                        here.vary();
                    }
                }
                "limit" | "quota" | "ct count" => here.vary(),
                "xt" => {
                    if let Some(after) = self.xt(value, &mut here, depth) {
                        return after;
                    }
                }
                "vmap" => return self.verdict_map(value, &here, depth),
                "accept" | "drop" | "reject" | "return" | "continue" | "jump" | "goto" => {
                    return self.verdict(kind, value, &here, depth);
                }
                _ => {
                    if !here.narrow(value.get("key").map_or(Match::Always, implied)) {
                        return After::Continues;
                    }
                    if let Some(acts) = self.statement(kind, value, &here) {
                        self.reaches(&here.path, here.name.clone(), acts);
                    }
                }
            }
        }
        After::Continues
    }

    /// Returns when a statement acts on offloadable packets; `None` if it is harmless.
    fn statement(&self, kind: &str, value: &Value, here: &Here) -> Option<Acts> {
        match kind {
            "counter" | "log" | "last" | "ct helper" | "ct timeout" | "ct expectation" | "flow" => {
                None
            }
            "queue" => Some(Acts::UnlessFirstPackets),
            "mangle" => self.mangle(value, here.path.varies.is_some()),
            _ => Some(Acts::Always),
        }
    }

    fn mangle(&self, value: &Value, varies: bool) -> Option<Acts> {
        let Some(key) = value.get("key") else { return Some(Acts::Always) };
        let of = |kind: &str| key.get(kind).map(|found| text(found, "key"));
        if of("meta") == Some("nftrace") || key.get("tcp option").is_some_and(is_mss) {
            return None;
        }
        match (of("meta"), of("ct")) {
            (Some("mark"), _) if self.scope.place.is_prerouting() && !varies => {
                Some(Acts::WithQueues)
            }
            // The first packets of the connection have set these values.
            (_, Some("zone" | "label" | "event")) if !varies => None,
            (_, Some("mark")) if !varies && value.get("value").is_some_and(of_marks) => None,
            _ => Some(Acts::Always),
        }
    }

    /// Handles matches and targets of xtables, of which nft prints only the name.
    fn xt(&mut self, value: &Value, here: &mut Here, depth: usize) -> Option<After> {
        let name = text(value, "name");
        if text(value, "type") == "match" {
            match name {
                "comment" => {}
                "addrtype" | "connmark" | "conntrack" | "helper" | "iprange" | "mac" | "mark"
                | "multiport" | "owner" | "physdev" | "policy" | "set" | "socket" | "state"
                | "tcp" | "udp" => {
                    here.narrow(Match::Unknown(Steadiness::Fixed));
                }
                _ => here.vary(),
            }
            return None;
        }
        let acts = match name {
            "TCPMSS" | "LOG" | "NFLOG" | "CT" | "TRACE" => return None,
            "REJECT" => return Some(self.verdict("reject", value, here, depth)),
            "MARK" | "CONNMARK"
                if self.scope.place.is_prerouting() && here.path.varies.is_none() =>
            {
                Acts::WithQueues
            }
            _ => Acts::Always,
        };
        self.reaches(&here.path, here.name.clone(), acts);
        Some(After::Continues)
    }

    fn verdict(&mut self, kind: &str, value: &Value, here: &Here, depth: usize) -> After {
        let policy = if self.drops_by_policy { "drop" } else { "accept" };
        match kind {
            "continue" => After::Continues,
            "return" if here.path.base => self.verdict(policy, value, here, depth),
            "return" => {
                if here.is_uneven() {
                    self.some_leave(here);
                }
                if here.certain && !here.is_uneven() { After::Returned } else { After::MayReturn }
            }
            "jump" | "goto" => {
                let goes = kind == "goto";
                let mut path = here.path.clone();
                path.base &= goes;
                let ended = self.visit(text(value, "target"), &path, depth + 1) == After::Ended;
                if ended && here.certain {
                    return After::Ended;
                }
                if goes { self.verdict("return", value, here, depth) } else { After::Continues }
            }
            "accept" if here.is_uneven() => {
                self.some_leave(here);
                After::Continues
            }
            "accept" => self.leaves(here),
            // `drop` or `reject`.
            _ if self.drops(&here.path, &here.name) => After::Continues,
            _ => self.leaves(here),
        }
    }

    /// Handles a verdict map: `{"key": …, "data": {"set": [[key, verdict], …]}}`.
    fn verdict_map(&mut self, value: &Value, here: &Here, depth: usize) -> After {
        let (Some(key), Some(data)) = (value.get("key"), value.get("data")) else {
            return After::Continues;
        };
        let Some(elements) = data.get("set").and_then(Value::as_array) else {
            let mut here = here.clone();
            if self.scope.decides(data) {
                here.vary();
            }
            return self.any_verdict(key, data, here, depth);
        };
        let mut after = After::Continues;
        for element in elements {
            let Some([of, verdict]) = element.as_array().map(Vec::as_slice) else { continue };
            let mut here = here.clone();
            if has_statement(of) {
                here.vary();
            }
            let of = of.get("elem").and_then(|elem| elem.get("val")).unwrap_or(of);
            let found = if is_catch_all(of) {
                self.scope.unknown(key, of)
            } else {
                self.scope.compare("==", key, of)
            };
            if !here.narrow(implied(key)) || !here.narrow(found) {
                continue;
            }
            let Some((kind, value)) = verdict.as_object().and_then(|one| one.iter().next()) else {
                continue;
            };
            match self.verdict(kind, value, &here, depth) {
                After::Continues => {}
                After::MayReturn => after = After::MayReturn,
                ends @ (After::Returned | After::Ended) => return ends,
            }
        }
        after
    }

    /// Handles a named verdict map: its elements are not read, so it may lead to any chain.
    fn any_verdict(&mut self, key: &Value, map: &Value, mut here: Here, depth: usize) -> After {
        let found = self.scope.unknown(key, map);
        if !here.narrow(implied(key)) || !here.narrow(found) {
            return After::Continues;
        }
        here.path.base = false;
        let (family, table, _) = self.name;
        let of_table = |name: &&Name| (&name.0, &name.1) == (family, table);
        let chains: Vec<Name> = self.rules.keys().filter(of_table).cloned().collect();
        if depth < MAX_JUMPS / 4 {
            for (_, _, chain) in chains {
                self.visit(&chain, &here.path, depth + MAX_JUMPS / 4);
            }
        }
        if here.is_uneven() {
            self.some_leave(&here);
        }
        self.drops(&here.path, &here.name);
        After::MayReturn
    }

    fn leaves(&mut self, here: &Here) -> After {
        let Path { conditions, exact, .. } = &here.path;
        if *exact && (!here.certain || !conditions.is_empty()) {
            let outcome = DraftOutcome::Leaves;
            self.drafts.push(Draft { conditions: conditions.clone(), outcome });
        }
        match (here.certain, exact) {
            (true, true) => After::Ended,
            (true, false) => After::Returned,
            (false, _) => After::Continues,
        }
    }

    fn some_leave(&mut self, here: &Here) {
        let rule = here.path.varies.clone().unwrap_or_else(|| here.name.clone());
        let mut conditions = here.path.conditions.clone();
        conditions.retain(|one| !matches!(one.test, Test::FewerPackets(_)));
        self.drafts.push(Draft { conditions, outcome: DraftOutcome::SomeLeave(rule) });
    }

    fn reaches(&mut self, path: &Path, rule: RuleName, acts: Acts) {
        let (conditions, outcome) = (path.conditions.clone(), DraftOutcome::Reaches(rule, acts));
        self.drafts.push(Draft { conditions, outcome });
    }

    /// Records a drop. Returns true if it acts on packets of offloadable flows: on only some
    /// packets of a flow, or on packets already recorded as passed.
    fn drops(&mut self, path: &Path, rule: &RuleName) -> bool {
        self.settle_partial_accepts();
        let behind = self.scope.place.is_behind().then_some(rule);
        let Some(rule) = path.varies.as_ref().or(behind).cloned() else { return false };
        self.reaches(path, rule, Acts::Always);
        true
    }

    /// Turns accepts of only some packets into steps, because the others are dropped here.
    fn settle_partial_accepts(&mut self) {
        for draft in &mut self.drafts {
            if let DraftOutcome::SomeLeave(rule) = &mut draft.outcome {
                draft.outcome = DraftOutcome::Reaches(std::mem::take(rule), Acts::Always);
            }
        }
    }
}

#[derive(Clone)]
struct Here {
    path: Path,
    /// All packets that reach the rule get here.
    certain: bool,
    name: RuleName,
}

impl Here {
    /// Reports whether only some packets of a flow get here.
    fn is_uneven(&self) -> bool {
        self.path.varies.is_some() || self.path.expires
    }

    fn vary(&mut self) {
        self.certain = false;
        self.path.exact = false;
        let name = &self.name;
        self.path.varies.get_or_insert_with(|| name.clone());
    }

    /// Narrows the path by a match; returns false if no packet matches.
    fn narrow(&mut self, found: Match) -> bool {
        match found {
            Match::Never => return false,
            Match::Always => {}
            Match::When(conditions) => {
                for one in conditions {
                    if self.path.conditions.iter().any(|have| contradict(have, &one)) {
                        return false;
                    }
                    if !self.path.conditions.contains(&one) {
                        self.path.expires |= matches!(one.test, Test::FewerPackets(_));
                        self.certain = false;
                        self.path.conditions.push(one);
                    }
                }
            }
            Match::Unknown(Steadiness::Varies) => self.vary(),
            Match::Unknown(steadiness) => {
                self.certain = false;
                self.path.exact = false;
                self.path.expires |= steadiness == Steadiness::Expires;
            }
        }
        true
    }
}

fn contradict(a: &Condition, b: &Condition) -> bool {
    match (&a.test, &b.test) {
        (Test::Proto(one), Test::Proto(other)) if one != other => a.holds && b.holds,
        (one, other) => one == other && a.holds != b.holds,
    }
}

/// Reports whether the value consists of marks and constants, so that setting it again has no
/// effect.
fn of_marks(value: &Value) -> bool {
    match value {
        Value::Number(_) => true,
        Value::Object(fields) => fields.iter().all(|(kind, value)| match kind.as_str() {
            "meta" | "ct" => text(value, "key") == "mark",
            "&" | "|" => value.as_array().is_some_and(|parts| parts.iter().all(of_marks)),
            _ => false,
        }),
        _ => false,
    }
}

fn is_mss(option: &Value) -> bool {
    text(option, "name") == "maxseg"
}

fn rule_name(rule: &Value) -> RuleName {
    let text = |key| text(rule, key).to_owned();
    RuleName {
        family: text("family"),
        table: text("table"),
        chain: text("chain"),
        handle: rule.get("handle").and_then(Value::as_u64).unwrap_or(0),
        comment: text("comment"),
    }
}
