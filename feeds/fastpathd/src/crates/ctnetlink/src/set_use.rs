// SPDX-License-Identifier: GPL-2.0-or-later
//! Finds the nftables sets that decide about packets of forwarded connections: such packets reach a
//! rule that looks up the set and does more than count or log. In doubt, a set decides.

use std::collections::{BTreeMap, BTreeSet};

use netlink::{DUMP, Dump, Message, Protocol, REQUEST, RequestError, attribute, attributes};

use crate::revision::{HEADER, SUBSYSTEM, text};

const GETCHAIN: u16 = SUBSYSTEM | 4;
const GETRULE: u16 = SUBSYSTEM | 7;

// Families: `NFPROTO_INET`, `_IPV4`, `_ARP`, `_IPV6`.
const INET: u8 = 1;
const IPV4: u8 = 2;
const ARP: u8 = 3;
const IPV6: u8 = 10;

// Hooks of IP: `NF_INET_LOCAL_IN`, `NF_INET_LOCAL_OUT`.
const INPUT: u32 = 1;
const OUTPUT: u32 = 3;

/// `NFT_CONTINUE`: evaluation continues with the next rule.
const CONTINUE: u32 = u32::MAX;
/// `NFT_OBJECT_COUNTER`.
const COUNTER: u32 = 1;

/// Expressions without effect on packets: they read, compare, log or update their own state.
const PURE: [&[u8]; 16] = [
    b"bitwise",
    b"byteorder",
    b"cmp",
    b"connlimit",
    b"counter",
    b"fib",
    b"hash",
    b"inner",
    b"last",
    b"limit",
    b"log",
    b"numgen",
    b"osf",
    b"quota",
    b"range",
    b"rt",
];
/// Expressions that load a value if they have attribute 1, the register, and otherwise change the
/// packet.
const LOADS: [&[u8]; 4] = [b"ct", b"exthdr", b"meta", b"payload"];

/// Family, table and name of a chain or set.
pub(crate) type Name = (u8, Vec<u8>, Vec<u8>);

/// The parts of a rule that matter for sets.
#[derive(Debug, Default, PartialEq, Eq)]
struct Rule {
    /// True if the rule does more than count or log.
    acts: bool,
    sets: Vec<Vec<u8>>,
    /// Targets of `jump` and `goto`.
    chains: Vec<Vec<u8>>,
    /// True if the rule has a verdict map.
    jumps_by_map: bool,
}

#[derive(Debug, Default)]
pub(crate) struct SetUse {
    /// Chains without a hook.
    regular: BTreeSet<Name>,
    /// Base chains that packets of established forwarded connections traverse.
    entered: Vec<Name>,
    rules: BTreeMap<Name, Vec<Rule>>,
}

impl SetUse {
    /// Returns the sets that decide; `None` if the rules changed during the dump.
    pub(crate) async fn deciding() -> Result<Option<BTreeSet<Name>>, RequestError> {
        let mut used = Self::default();
        let mut dump = Dump::open(Protocol::Netfilter)?;
        dump.start(|seq| netlink::message(GETCHAIN, REQUEST | DUMP, seq, &[0; HEADER]))?;
        while dump.next(|message| used.chain(message)).await? {}
        dump.start(|seq| netlink::message(GETRULE, REQUEST | DUMP, seq, &[0; HEADER]))?;
        while dump.next(|message| used.rule(message)).await? {}
        Ok((!dump.interrupted()).then(|| used.sets()))
    }

    fn chain(&mut self, message: Message<'_>) {
        const NAME: u16 = 3;
        const HOOK: u16 = 4;
        const TYPE: u16 = 7;
        const HOOK_NUMBER: u16 = 1;
        let Some((name, attributes)) = named(message.payload, NAME) else { return };
        let Some(hook) = attribute(attributes, HOOK) else {
            self.regular.insert(name);
            return;
        };
        let is_ip = matches!(name.0, INET | IPV4 | IPV6);
        let number = attribute(hook, HOOK_NUMBER).and_then(number);
        let local = is_ip && matches!(number, Some(INPUT | OUTPUT));
        // Only the first packet of a connection traverses NAT chains.
        let nat = attribute(attributes, TYPE).map(text) == Some(b"nat");
        if !(local || nat || name.0 == ARP) {
            self.entered.push(name);
        }
    }

    fn rule(&mut self, message: Message<'_>) {
        const CHAIN: u16 = 2;
        const EXPRESSIONS: u16 = 4;
        let Some((chain, found)) = named(message.payload, CHAIN) else { return };
        let mut rule = Rule::default();
        for (_, expression) in attributes(attribute(found, EXPRESSIONS).unwrap_or_default()) {
            rule.add(expression);
        }
        self.rules.entry(chain).or_default().push(rule);
    }

    /// Returns the sets of all acting rules that forwarded packets may reach.
    fn sets(&self) -> BTreeSet<Name> {
        let mut sets = BTreeSet::new();
        let (mut waiting, mut passed) = (self.entered.clone(), BTreeSet::new());
        while let Some(chain) = waiting.pop() {
            if !passed.insert(chain.clone()) {
                continue;
            }
            let (family, table, _) = &chain;
            let of_table = |name: &Vec<u8>| (*family, table.clone(), name.clone());
            for rule in self.rules.get(&chain).into_iter().flatten() {
                waiting.extend(rule.chains.iter().map(of_table));
                if rule.jumps_by_map {
                    let there = |to: &&Name| (to.0, &to.1) == (*family, table);
                    waiting.extend(self.regular.iter().filter(there).cloned());
                }
                if rule.acts {
                    sets.extend(rule.sets.iter().map(of_table));
                }
            }
        }
        sets
    }
}

impl Rule {
    fn add(&mut self, expression: &[u8]) {
        const NAME: u16 = 1;
        const DATA: u16 = 2;
        let name = attribute(expression, NAME).map(text).unwrap_or_default();
        let data = attribute(expression, DATA).unwrap_or_default();
        match name {
            b"lookup" => self.look_up(data),
            b"dynset" => self.update(data),
            b"objref" => self.refer(data),
            b"immediate" => self.decide(data),
            _ if PURE.contains(&name) => {}
            _ if LOADS.contains(&name) => self.acts |= attribute(data, 1).is_none(),
            _ => self.acts = true,
        }
    }

    fn look_up(&mut self, data: &[u8]) {
        const SET: u16 = 1;
        const TO_REGISTER: u16 = 3;
        /// `NFT_REG_VERDICT`.
        const VERDICT: u32 = 0;
        self.sets.extend(attribute(data, SET).map(|set| text(set).to_vec()));
        if attribute(data, TO_REGISTER).and_then(number) == Some(VERDICT) {
            self.acts = true;
            self.jumps_by_map = true;
        }
    }

    fn update(&mut self, data: &[u8]) {
        const SET: u16 = 1;
        self.sets.extend(attribute(data, SET).map(|set| text(set).to_vec()));
        // Another rule may look up the set.
        self.acts = true;
    }

    fn refer(&mut self, data: &[u8]) {
        const TYPE: u16 = 1;
        const SET: u16 = 4;
        self.sets.extend(attribute(data, SET).map(|set| text(set).to_vec()));
        // A reference by map has no type.
        self.acts |= attribute(data, TYPE).and_then(number) != Some(COUNTER);
    }

    /// Evaluates a verdict; other immediate values have no effect.
    fn decide(&mut self, data: &[u8]) {
        const DATA: u16 = 2;
        const VERDICT: u16 = 2;
        const CODE: u16 = 1;
        const CHAIN: u16 = 2;
        let verdict = attribute(data, DATA).and_then(|data| attribute(data, VERDICT));
        let Some(verdict) = verdict else { return };
        self.chains.extend(attribute(verdict, CHAIN).map(|chain| text(chain).to_vec()));
        self.acts |= attribute(verdict, CODE).and_then(number) != Some(CONTINUE);
    }
}

/// Returns the chain or set named by attribute `kind`, and all attributes of the message.
pub(crate) fn named(payload: &[u8], kind: u16) -> Option<(Name, &[u8])> {
    // `NFTA_CHAIN_TABLE`, `NFTA_RULE_TABLE`, `NFTA_SET_ELEM_LIST_TABLE`.
    const TABLE: u16 = 1;
    let found = payload.get(HEADER..)?;
    let table = text(attribute(found, TABLE)?).to_vec();
    Some(((*payload.first()?, table, text(attribute(found, kind)?).to_vec()), found))
}

fn number(value: &[u8]) -> Option<u32> {
    value.try_into().ok().map(u32::from_be_bytes)
}
