// SPDX-License-Identifier: GPL-2.0-or-later
//! Finds rules of other tables that act on each packet: limits, quotas, marks, header changes,
//! queues, and everything not known to be harmless. Flows with packets that reach such a rule stay
//! on the slow path.

use config::sort::Collect;
use std::collections::{BTreeMap, BTreeSet};

use model::{Condition, NatStage, Outcome, PacketChain, Step, Test};
use serde_json::Value;

use crate::nft::{NftCommand, NftError};
use crate::rules::{FLOWTABLE_PRIORITY, OFFLOAD_PRIORITY};

mod matches;
mod values;
mod walk;

use matches::{Elements, SetInfo};
use values::is_harmless_of_elements;
use walk::{Draft, Found, Walk};

/// Limit of steps per chain; a longer chain excludes all of its flows.
const MAX_STEPS: usize = 128;
// Limits of named sets to read, and of elements per set. Conditions on other sets are omitted.
const MAX_SETS: usize = 16;
const MAX_ELEMENTS: usize = 256;

/// Family, table and name of a chain or set.
type Name = (String, String, String);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    /// A hook of IP. `stage` determines the addresses there; `None` if the chain order decides.
    /// `tracked` chains run after conntrack, `behind` chains after the chain that offloads.
    Ip {
        stage: Option<NatStage>,
        prerouting: bool,
        tracked: bool,
        behind: bool,
    },
    /// Ingress or egress of devices. `early` chains run before the flowtable's hook.
    Devices {
        names: Vec<String>,
        leaving: bool,
        early: bool,
    },
    Bridge {
        leaving: bool,
    },
}

impl Place {
    fn is_prerouting(&self) -> bool {
        matches!(self, Self::Ip { prerouting: true, .. })
    }

    /// Reports whether the chain runs after packets are recorded as passed and add their flow.
    fn is_behind(&self) -> bool {
        match self {
            Self::Ip { behind, .. } => *behind,
            Self::Devices { leaving, .. } | Self::Bridge { leaving } => *leaving,
        }
    }
}

/// Condition under which a rule acts on packets that would be offloaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Acts {
    Always,
    /// Sets marks: acts only with queueing disciplines, because offloaded flows keep their routes.
    WithQueues,
    /// Queues packets: acts unless `slow_packets` covers the packets that the program reads.
    UnlessFirstPackets,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Chain {
    place: Place,
    steps: Vec<(Step, Acts)>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ForeignRules {
    chains: Vec<Chain>,
    sets: BTreeSet<Name>,
}

/// State of the machine that decides whether rules act on offloaded packets.
#[expect(missing_debug_implementations, reason = "it borrows a function")]
pub struct Surroundings<'a> {
    /// Returns the layer 3 devices above a device.
    pub above: &'a dyn Fn(&str) -> BTreeSet<String>,
    /// Layer 3 devices over bridges.
    pub bridged: BTreeSet<String>,
    /// Devices of a software flowtable. Its packets still pass the early ingress chains and the
    /// egress chains of these devices; packets offloaded in hardware skip them.
    pub flowtable: &'a BTreeSet<String>,
    /// Another program has configured queueing disciplines, which may depend on marks.
    pub queues: bool,
    /// `slow_packets` is set, which covers the packets that programs read from queues.
    pub first_packets: bool,
}

impl ForeignRules {
    /// Reads the kernel's rules and the sets that they look up.
    pub async fn read(nft: &NftCommand) -> Result<Self, NftError> {
        let mut listing = nft.ruleset().await?;
        let rules = Self::parse(&listing);
        let mut found = BTreeMap::new();
        for name in rules.sets.iter().take(MAX_SETS) {
            // A set removed meanwhile is reported as a change.
            if let Ok(set) = nft.set(&name.0, &name.1, &name.2).await {
                found.insert(name.clone(), set);
            }
        }
        if found.is_empty() {
            return Ok(rules);
        }
        let objects = listing.get_mut("nftables").and_then(Value::as_array_mut);
        for set in objects.into_iter().flatten().filter_map(|object| object.get_mut("set")) {
            if let Some(elements) = found.remove(&name_of(set, "name")) {
                set["elem"] = elements;
            }
        }
        Ok(Self::parse(&listing))
    }

    /// Reports whether a change of set elements may change the result.
    #[must_use]
    pub fn look_up_sets(&self) -> bool {
        !self.sets.is_empty()
    }

    /// Parses `nft -j list ruleset`.
    #[must_use]
    pub fn parse(listing: &Value) -> Self {
        let list = listing.get("nftables").and_then(Value::as_array);
        let objects = || list.into_iter().flatten();
        let mut rules: BTreeMap<Name, Vec<&Value>> = BTreeMap::new();
        for rule in objects().filter_map(|object| object.get("rule")) {
            rules.entry(name_of(rule, "chain")).or_default().push(rule);
        }
        let filled = filled(rules.values().flatten().copied());
        let all = objects().filter_map(|object| object.get("set").or_else(|| object.get("map")));
        let sets = all.map(|set| (name_of(set, "name"), set_info(set, &filled))).into_map();
        let mut read = Self::default();
        for chain in objects().filter_map(|object| object.get("chain")) {
            let name = name_of(chain, "name");
            if (&*name.0, &*name.1) == ("inet", "fastpath") {
                continue;
            }
            let Some(place) = place(chain) else { continue };
            let walk = Walk::new(&rules, &sets, &name, &place);
            let Found { drafts, looked_up } = walk.base(text(chain, "policy") == "drop");
            if let Some(steps) = steps(drafts) {
                read.chains.push(Chain { place, steps });
                read.sets.extend(looked_up);
            }
        }
        read
    }

    /// Returns the chains with rules that keep flows on the slow path.
    #[must_use]
    pub fn packet_chains(&self, around: &Surroundings<'_>) -> Vec<PacketChain> {
        self.chains.iter().filter_map(|chain| chain.resolve(around)).collect()
    }
}

impl Chain {
    fn resolve(&self, around: &Surroundings<'_>) -> Option<PacketChain> {
        let device = |leaving, names: BTreeSet<String>| {
            let names: Vec<String> = names.into_iter().collect();
            (!names.is_empty())
                .then_some(Condition { test: Test::Device { leaving, names }, holds: true })
        };
        let (stage, entry) = match &self.place {
            // If the stage is unknown, the walk has omitted conditions on addresses.
            Place::Ip { stage, .. } => (stage.unwrap_or(NatStage::Between), None),
            // The devices of a wildcard are unknown, so the chain applies to all.
            Place::Devices { names, leaving, .. } if names.iter().any(|n| n.contains('*')) => {
                (if *leaving { NatStage::After } else { NatStage::Before }, None)
            }
            Place::Devices { names, leaving, early } => {
                let kept = |name: &&String| {
                    (*early || *leaving) && around.flowtable.contains(name.as_str())
                };
                let above = names
                    .iter()
                    .filter(|name| !kept(name))
                    .flat_map(|name| (around.above)(name).into_iter().chain([name.clone()]));
                let stage = if *leaving { NatStage::After } else { NatStage::Before };
                (stage, Some(device(*leaving, above.filter(|n| writable(n)).collect())?))
            }
            Place::Bridge { leaving } => {
                let stage = if *leaving { NatStage::After } else { NatStage::Before };
                (stage, Some(device(*leaving, around.bridged.clone())?))
            }
        };
        let acts = |acts: Acts| match acts {
            Acts::Always => true,
            Acts::WithQueues => around.queues,
            Acts::UnlessFirstPackets => !around.first_packets,
        };
        let mut steps: Vec<Step> = self
            .steps
            .iter()
            .filter(|(_, when)| acts(*when))
            .map(|(step, _)| {
                let conditions = entry.iter().chain(&step.conditions).cloned().collect();
                Step { conditions, outcome: step.outcome.clone() }
            })
            .collect();
        trim(&mut steps, |step| &step.outcome);
        (!steps.is_empty()).then_some(PacketChain { stage, steps })
    }
}

fn writable(name: &str) -> bool {
    config::is_device_name(name)
}

/// Removes the steps after the last one that reaches a rule.
fn trim<T>(steps: &mut Vec<T>, outcome: impl Fn(&T) -> &Outcome) {
    let last = steps.iter().rposition(|step| matches!(outcome(step), Outcome::Reaches(_)));
    steps.truncate(last.map_or(0, |at| at + 1));
}

fn steps(drafts: Vec<Draft>) -> Option<Vec<(Step, Acts)>> {
    let mut steps: Vec<(Step, Acts)> = Vec::new();
    for draft in drafts {
        let Some((step, acts)) = draft.settled() else { continue };
        let same =
            |(have, when): &(Step, Acts)| have.conditions == step.conditions && *when == acts;
        if !steps.iter().any(same) {
            steps.push((step, acts));
        }
    }
    trim(&mut steps, |(step, _)| &step.outcome);
    if steps.len() > MAX_STEPS {
        let reached = steps.into_iter().find(|(step, _)| step.outcome != Outcome::Leaves)?;
        let step = Step { conditions: Vec::new(), outcome: reached.0.outcome };
        return Some(vec![(step, Acts::Always)]);
    }
    (!steps.is_empty()).then_some(steps)
}

/// Returns where packets of forwarded connections pass the chain. `None` if only first packets or
/// no packets pass it.
fn place(chain: &Value) -> Option<Place> {
    const DESTINATION_NAT: i64 = -100;
    const SOURCE_NAT: i64 = 100;
    const CONNTRACK: i64 = -200;
    let (family, hook) = (text(chain, "family"), text(chain, "hook"));
    if hook.is_empty() || text(chain, "type") == "nat" {
        return None;
    }
    let priority = chain.get("prio").and_then(Value::as_i64);
    let stage = |before, after, nat: i64| match priority?.cmp(&nat) {
        std::cmp::Ordering::Less => Some(before),
        std::cmp::Ordering::Greater => Some(after),
        std::cmp::Ordering::Equal => None,
    };
    let prerouting = hook == "prerouting";
    let tracked = !prerouting || priority > Some(CONNTRACK);
    let behind = match hook {
        "forward" => priority.is_none_or(|priority| priority >= OFFLOAD_PRIORITY),
        _ => hook == "postrouting",
    };
    let ip = |stage| Some(Place::Ip { stage, prerouting, tracked, behind });
    let devices = |leaving| {
        let names = match chain.get("dev") {
            Some(Value::String(one)) => vec![one.clone()],
            Some(Value::Array(many)) => {
                many.iter().filter_map(Value::as_str).map(str::to_owned).collect()
            }
            _ => Vec::new(),
        };
        let early = priority.is_some_and(|priority| priority < FLOWTABLE_PRIORITY);
        Some(Place::Devices { names, leaving, early })
    };
    match (family, hook) {
        ("arp", _) | ("ip" | "ip6" | "inet", "input" | "output") | ("bridge", "forward") => None,
        (_, "ingress") => devices(false),
        (_, "egress") => devices(true),
        ("bridge", "prerouting" | "input") => Some(Place::Bridge { leaving: false }),
        ("bridge", _) => Some(Place::Bridge { leaving: true }),
        (_, "prerouting") => ip(stage(NatStage::Before, NatStage::Between, DESTINATION_NAT)),
        (_, "postrouting") => ip(stage(NatStage::Between, NatStage::After, SOURCE_NAT)),
        _ => ip(Some(NatStage::Between)),
    }
}

/// Returns the sets with elements that rules add. nft 1.1 does not print their flag as JSON.
fn filled<'a>(rules: impl Iterator<Item = &'a Value>) -> BTreeSet<Name> {
    let mut filled = BTreeSet::new();
    for rule in rules {
        let expressions = rule.get("expr").and_then(Value::as_array);
        for statement in expressions.into_iter().flatten() {
            let of = ["set", "map"].into_iter().filter_map(|kind| statement.get(kind));
            filled.extend(of.map(|of| {
                let name = text(of, "set").to_owned() + text(of, "map");
                let (family, table, _) = name_of(rule, "chain");
                (family, table, name.trim_start_matches('@').to_owned())
            }));
        }
    }
    filled
}

fn set_info(set: &Value, filled: &BTreeSet<Name>) -> SetInfo {
    let flags: Vec<&str> = match set.get("flags") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(many)) => many.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let elements = match set.get("elem") {
        Some(Value::Array(list)) if list.len() <= MAX_ELEMENTS => Elements::Known(list.clone()),
        _ => Elements::Unknown,
    };
    let dynamic = flags.contains(&"dynamic") || filled.contains(&name_of(set, "name"));
    let statements = set.get("stmt").and_then(Value::as_array);
    let mut kinds = statements.into_iter().flatten().filter_map(Value::as_object).flatten();
    let decides = kinds.any(|(kind, _)| !is_harmless_of_elements(kind));
    SetInfo { elements, dynamic, expires: flags.contains(&"timeout"), decides }
}

fn name_of(object: &Value, key: &str) -> Name {
    let text = |key| text(object, key).to_owned();
    (text("family"), text("table"), text(key))
}

fn text<'a>(object: &'a Value, key: &str) -> &'a str {
    object.get(key).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests;
