// SPDX-License-Identifier: GPL-2.0-or-later
//! Finds the rules that packets of base chains reach, including jumps.

use serde_json::Value;

use super::rules::Rules;
use super::walk::statements;
use super::{Unknown, list, word};

/// Family, table and name of a chain or map.
type Name<'a> = (&'a str, &'a str, &'a str);

fn name<'a>(object: &'a Value, key: &str) -> Name<'a> {
    (word(object, "family"), word(object, "table"), word(object, key))
}

/// Returns the rules that packets reach from base chains. `starts` selects the base chains, and
/// `meets` decides whether packets may pass a match.
pub(crate) fn reached(
    rules: &Rules,
    starts: impl Fn(&Value) -> bool,
    meets: impl Fn(&Value) -> bool,
) -> Result<Vec<&Value>, Unknown> {
    let (all, maps) = (rules.of("rule")?, rules.of("map")?);
    let bases = rules.of("chain")?.into_iter().filter(|chain| starts(chain));
    let mut chains: Vec<Name> = bases.map(|chain| name(chain, "name")).collect();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(chain) = chains.get(at).copied() {
        let here = all.iter().filter(|rule| name(rule, "chain") == chain);
        let met =
            |rule: &&&Value| statements(rule).all(|(of, value)| of != "match" || meets(value));
        for rule in here.filter(met) {
            found.push(*rule);
            for (of, value) in statements(rule).flat_map(|one| verdicts(chain, one, &maps)) {
                let target = (chain.0, chain.1, word(value, "target"));
                if matches!(of, "jump" | "goto") && !chains.contains(&target) {
                    chains.push(target);
                }
            }
        }
        at += 1;
    }
    Ok(found)
}

pub(crate) fn drops(rule: &Value) -> bool {
    // nft does not print the effect of an xtables target such as REJECT.
    let drops = |of: &str| matches!(of, "drop" | "reject" | "xt");
    statements(rule)
        .flat_map(|one| verdicts(name(rule, "chain"), one, &[]))
        .any(|(of, _)| drops(of))
}

/// Returns the statement itself, or the verdicts of a verdict map.
fn verdicts<'a>(
    (family, table, _): Name<'_>,
    (of, value): (&'a str, &'a Value),
    maps: &[&'a Value],
) -> Vec<(&'a str, &'a Value)> {
    if of != "vmap" {
        return vec![(of, value)];
    }
    let called = |map: &&&Value| {
        let map = name(map, "name");
        (map.0, map.1) == (family, table) && word(value, "data").strip_prefix('@') == Some(map.2)
    };
    let elements = match maps.iter().find(called) {
        Some(map) => list(map, "elem"),
        None => list(&value["data"], "set"),
    };
    let verdicts = elements.iter().filter_map(|pair| pair[1].as_object()).flatten();
    verdicts.map(|(of, value)| (of.as_str(), value)).collect()
}

/// Returns whether the right side of a match includes a text. A name with a trailing `*` is a
/// prefix.
pub(crate) fn names(right: &Value, text: &str) -> bool {
    let is = |name: &Value| match name.as_str().map(|name| (name, name.strip_suffix('*'))) {
        Some((_, Some(prefix))) => text.starts_with(prefix),
        Some((name, None)) => name == text || name.starts_with('@'),
        None => false,
    };
    is(right) || elements(right).iter().any(is)
}

/// Returns whether the right side of a match includes only this text.
pub(crate) fn names_only(right: &Value, text: &str) -> bool {
    *right == text || matches!(elements(right), [one] if *one == text)
}

fn elements(right: &Value) -> &[Value] {
    right.as_array().map_or_else(|| list(right, "set"), Vec::as_slice)
}
