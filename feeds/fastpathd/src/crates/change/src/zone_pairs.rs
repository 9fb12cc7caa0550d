// SPDX-License-Identifier: GPL-2.0-or-later
//! Pairs of source and destination zones whose connections a firewall change may forbid. fw4
//! accepts established connections before its rules, so such connections have to be ended.

use crate::draft::Draft;
use ::uci::Section;

const ANY: &str = "*";

/// Returns the pairs without duplicates. Empty if the draft does not change the firewall.
pub(crate) fn zone_pairs(draft: &Draft) -> Vec<[String; 2]> {
    let mut pairs = Vec::new();
    let mut add = |pair: [&str; 2]| {
        let pair = pair.map(str::to_owned);
        if !pairs.contains(&pair) {
            pairs.push(pair);
        }
    };
    for pair in draft.changed().into_iter().filter(|pair| pair.config == "firewall") {
        for section in [pair.before, pair.after].into_iter().flatten() {
            of_section(section).into_iter().for_each(&mut add);
        }
    }
    // A new order of rules may affect any connection.
    if draft.is_reordered("firewall") {
        add([ANY, ANY]);
    }
    pairs
}

fn of_section(section: &Section) -> Vec<[&str; 2]> {
    let (src, dest) = (section.text("src"), section.text("dest"));
    match section.kind.as_str() {
        // A rule without source or destination zone applies to packets of the router.
        "rule" => src.zip(dest).map(|(src, dest)| [src, dest]).into_iter().collect(),
        // A port forward may determine the destination zone by the address.
        "forwarding" | "redirect" => vec![[src.unwrap_or(ANY), dest.unwrap_or(ANY)]],
        "zone" => {
            let name = section.text("name").unwrap_or(ANY);
            vec![[name, ANY], [ANY, name]]
        }
        // The `src` of `nat` is the zone where packets leave.
        "nat" => vec![[ANY, src.unwrap_or(ANY)]],
        _ => vec![[ANY, ANY]],
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::sample::draft;

    fn pairs(edits: serde_json::Value) -> Vec<String> {
        zone_pairs(&draft(edits)).iter().map(|[from, to]| format!("{from} {to}")).collect()
    }

    fn add(kind: &str, values: &serde_json::Value) -> serde_json::Value {
        json!([{"config": "firewall", "op": "add", "type": kind, "id": "x", "values": values}])
    }

    #[test]
    fn a_changed_section_gives_the_pairs_of_its_zones() {
        assert_eq!(pairs(add("rule", &json!({"src": "lan", "dest": "wan"}))), ["lan wan"]);
        assert_eq!(pairs(add("rule", &json!({"src": "*", "dest": "iot"}))), ["* iot"]);
        assert_eq!(pairs(add("forwarding", &json!({"src": "lan", "dest": "wan"}))), ["lan wan"]);
        assert_eq!(
            pairs(add("redirect", &json!({"src": "wan", "dest_ip": "10.0.0.1"}))),
            ["wan *"]
        );
        assert_eq!(pairs(add("zone", &json!({"name": "guest"}))), ["guest *", "* guest"]);
        assert_eq!(pairs(add("nat", &json!({"src": "wan"}))), ["* wan"]);
        assert_eq!(pairs(add("ipset", &json!({"name": "banned"}))), ["* *"]);
    }

    #[test]
    fn rules_of_the_router_give_no_pairs() {
        let none: [&str; 0] = [];
        assert_eq!(pairs(add("rule", &json!({"src": "lan", "target": "DROP"}))), none);
        assert_eq!(pairs(add("rule", &json!({"dest": "wan", "target": "DROP"}))), none);
        assert_eq!(pairs(json!([{"config": "network", "op": "delete", "section": "iot"}])), none);
    }

    #[test]
    fn old_and_new_zones_of_a_changed_section_count() {
        let lab = crate::sample::lab();
        let forwarding = lab["firewall"].of("forwarding").next().unwrap();
        assert_eq!(forwarding.text("src"), Some("lan"));
        let edit = json!([{"config": "firewall", "op": "set", "section": forwarding.name,
            "values": {"src": "iot"}}]);
        assert_eq!(pairs(edit), ["lan wan", "iot wan"]);
        let removed = json!([{"config": "firewall", "op": "delete", "section": forwarding.name}]);
        assert_eq!(pairs(removed), ["lan wan"]);
    }
}
