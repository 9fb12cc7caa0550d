// SPDX-License-Identifier: GPL-2.0-or-later
//! Counts the chains and rules that packets of established connections pass in the forward hook,
//! and finds tables without effect.

use serde_json::Value;

use super::reach::names;
use super::rules::Rules;
use super::{Unknown, list, word};

/// Maximum nesting of jumps (`NFT_JUMP_STACK_SIZE`). Also ends loops.
const MAX_DEPTH: usize = 16;
/// Statements that neither drop nor change packets and store no state.
const HARMLESS: &[&str] =
    &["match", "counter", "jump", "goto", "return", "accept", "continue", "log", "limit"];

/// Tables that their services would create again.
const PROTECTED: &[&str] = &["inet fw4", "inet fastpath"];

/// Returns whether the doctor must not advise to delete a table, given by family and name.
pub(crate) fn is_protected(table: &str) -> bool {
    PROTECTED.contains(&table)
}

/// The path of an established packet through a base chain.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Walk {
    /// Family and name of the table.
    pub table: String,
    pub chain: String,
    /// Number of evaluated rules, including jumps.
    pub rules: usize,
    /// Number of chains, including the base chain.
    pub chains: usize,
    /// The path ends at a rule that accepts established connections.
    pub shortcut: bool,
    pub packets: Option<u64>,
}

fn is(object: &Value, family: &str, table: &str) -> bool {
    object["family"] == family && object["table"] == table
}

/// Walks each chain of the forward hook, except in the tables `own`.
pub(crate) fn forward(rules: &Rules, own: &[&str]) -> Result<Vec<Walk>, Unknown> {
    let all = rules.of("rule")?;
    let mut walks = Vec::new();
    for base in rules.of("chain")? {
        let ours = own.contains(&word(base, "table"));
        // Routed packets do not pass bridge chains.
        let bridged = base["family"] == "bridge";
        if base["hook"] != "forward" || base["type"] != "filter" || ours || bridged {
            continue;
        }
        let (family, table, chain) =
            (word(base, "family"), word(base, "table"), word(base, "name"));
        let mut step = Step { all: &all, family, table, walk: Walk::default() };
        step.walk.shortcut = step.chain(chain, 0);
        let (table, chain) = (format!("{family} {table}"), chain.to_owned());
        walks.push(Walk { table, chain, ..step.walk });
    }
    Ok(walks)
}

/// Returns whether a table has no effect: its rules neither drop nor change packets, and its base
/// chains have the policy accept.
pub(crate) fn has_no_effect(rules: &Rules, family: &str, table: &str) -> Result<bool, Unknown> {
    if is_protected(&format!("{family} {table}")) {
        return Ok(false);
    }
    let chains = rules.of("chain")?;
    let mut chains = chains.iter().filter(|chain| is(chain, family, table));
    let open = chains.all(|chain| chain["policy"].is_null() || chain["policy"] == "accept");
    let all = rules.of("rule")?;
    let harmless = all
        .iter()
        .filter(|rule| is(rule, family, table))
        .all(|rule| statements(rule).all(|(name, _)| HARMLESS.contains(&name)));
    let kinds = ["set", "map", "flowtable", "ct helper", "ct timeout", "quota", "secmark"];
    let mut plain = true;
    for kind in kinds {
        plain &= !rules.of(kind)?.iter().any(|object| is(object, family, table));
    }
    Ok(open && harmless && plain)
}

pub(crate) fn statements(rule: &Value) -> impl Iterator<Item = (&str, &Value)> {
    list(rule, "expr")
        .iter()
        .filter_map(Value::as_object)
        .flatten()
        .map(|(name, value)| (name.as_str(), value))
}

struct Step<'a> {
    all: &'a [&'a Value],
    family: &'a str,
    table: &'a str,
    walk: Walk,
}

impl Step<'_> {
    /// Walks a chain. Returns whether a rule of the chain accepts established packets.
    fn chain(&mut self, name: &str, depth: usize) -> bool {
        if depth > MAX_DEPTH {
            return false;
        }
        self.walk.chains += 1;
        let all = self.all;
        let mine = |rule: &&&Value| is(rule, self.family, self.table) && rule["chain"] == name;
        for rule in all.iter().filter(mine).collect::<Vec<_>>() {
            self.walk.rules += 1;
            let mut only_established = true;
            for (name, value) in statements(rule) {
                match name {
                    "match" if excludes_established(value) => break,
                    "match" => only_established &= is_established(value),
                    "counter" if self.walk.packets.is_none() => {
                        self.walk.packets = value["packets"].as_u64();
                    }
                    "vmap" if accepts_established(value) => return true,
                    "accept" if only_established => return true,
                    "jump" | "goto" if self.chain(word(value, "target"), depth + 1) => return true,
                    _ => {}
                }
            }
        }
        false
    }
}

/// Returns whether a match includes `ct state established`.
fn is_established(value: &Value) -> bool {
    value["left"]["ct"]["key"] == "state"
        && value["op"] != "!="
        && names(&value["right"], "established")
}

/// Returns whether a match excludes established connections, such as `ct state new`.
fn excludes_established(value: &Value) -> bool {
    value["left"]["ct"]["key"] == "state"
        && names(&value["right"], "established") == (value["op"] == "!=")
}

/// Returns whether a verdict map has `established : accept`.
fn accepts_established(value: &Value) -> bool {
    let accepted = |pair: &Value| pair[0] == "established" && pair[1].get("accept").is_some();
    value["key"]["ct"]["key"] == "state" && list(&value["data"], "set").iter().any(accepted)
}
