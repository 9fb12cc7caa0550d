// SPDX-License-Identifier: GPL-2.0-or-later
//! Returns pairs of source and destination zones, `*` for any, between which a change of the
//! firewall may forbid connections. fw4 accepts established connections before all of its rules, so
//! these continue until they are ended.

use crate::draft::Draft;
use ::uci::Section;

/// Stands for any zone, or for no zone.
const ANY: &str = "*";

/// Returns each pair once; none if the draft does not change the firewall.
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
    // Another order of rules may concern any connection.
    if draft.is_reordered("firewall") {
        add([ANY, ANY]);
    }
    pairs
}

fn of_section(section: &Section) -> Vec<[&str; 2]> {
    let (src, dest) = (section.text("src"), section.text("dest"));
    match section.kind.as_str() {
        // A rule without source or destination zone is about packets of the router itself.
        "rule" => src.zip(dest).map(|(src, dest)| [src, dest]).into_iter().collect(),
        // The destination zone of a port forward may follow from the address.
        "forwarding" | "redirect" => vec![[src.unwrap_or(ANY), dest.unwrap_or(ANY)]],
        "zone" => {
            let name = section.text("name").unwrap_or(ANY);
            vec![[name, ANY], [ANY, name]]
        }
        // `nat` names the zone that packets leave through.
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
    fn sections_give_the_pairs_of_their_zones() {
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
    fn the_router_itself_is_in_no_pair() {
        let none: [&str; 0] = [];
        assert_eq!(pairs(add("rule", &json!({"src": "lan", "target": "DROP"}))), none);
        assert_eq!(pairs(add("rule", &json!({"dest": "wan", "target": "DROP"}))), none);
        assert_eq!(pairs(json!([{"config": "network", "op": "delete", "section": "iot"}])), none);
    }

    #[test]
    fn a_changed_section_counts_before_and_after_the_change() {
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
