// SPDX-License-Identifier: GPL-2.0-or-later

use ctnetlink::Tuple;
use model::FlowFacts;

use super::*;
use crate::rules::FLOWTABLE;

const CASES: &str = include_str!("../../tests/foreign/cases.json");
const FW4: &str = include_str!("../../tests/foreign/fw4.json");

struct Flow {
    name: &'static str,
    orig: Tuple,
    reply: Tuple,
    devices: [&'static str; 2],
}

fn tuple(proto: u8, (src, sport): (&str, u16), (dst, dport): (&str, u16)) -> Tuple {
    Tuple { src: src.parse().unwrap(), dst: dst.parse().unwrap(), proto, sport, dport }
}

/// Connections: over PPPoE with NAT, between VLANs, from the Internet to a port forward, and over
/// IPv6.
fn flows() -> Vec<Flow> {
    let (host, server, outer) = ("10.10.10.10", "203.0.113.1", "192.0.2.5");
    let six = ["2001:db8:10::10", "2001:db8:ffff::1"];
    let flow = |name, devices, orig, reply| Flow { name, orig, reply, devices };
    let out = ["br-lan.10", "pppoe-wan"];
    vec![
        flow(
            "up",
            out,
            tuple(6, (host, 40000), (server, 443)),
            tuple(6, (server, 443), (outer, 40000)),
        ),
        flow(
            "dns",
            out,
            tuple(17, (host, 5000), (server, 7777)),
            tuple(17, (server, 7777), (outer, 5000)),
        ),
        flow(
            "vlan",
            ["br-lan.10", "br-lan.20"],
            tuple(6, (host, 40001), ("10.10.20.10", 80)),
            tuple(6, ("10.10.20.10", 80), (host, 40001)),
        ),
        flow(
            "in",
            ["pppoe-wan", "br-lan.10"],
            tuple(6, ("203.0.113.9", 5000), (outer, 8443)),
            tuple(6, (host, 443), ("203.0.113.9", 5000)),
        ),
        flow(
            "six",
            out,
            tuple(6, (six[0], 40002), (six[1], 443)),
            tuple(6, (six[1], 443), (six[0], 40002)),
        ),
    ]
}

fn above(device: &str) -> BTreeSet<String> {
    let names: &[&str] = match device {
        "lan1" | "br-lan" => &["br-lan.10", "br-lan.20"],
        "wan" => &["pppoe-wan"],
        _ => &[],
    };
    names.iter().map(|&name| name.to_owned()).collect()
}

fn around(flowtable: &BTreeSet<String>) -> Surroundings<'_> {
    Surroundings {
        above: &above,
        bridged: above("br-lan"),
        flowtable,
        queues: false,
        first_packets: false,
    }
}

fn chains(listing: &Value, around: &Surroundings<'_>) -> Vec<PacketChain> {
    ForeignRules::parse(listing).packet_chains(around)
}

fn slow(chains: &[PacketChain]) -> Vec<&'static str> {
    let reached = |flow: &Flow| {
        let facts = FlowFacts {
            orig: &flow.orig,
            reply: &flow.reply,
            devices: flow.devices.map(Some),
            mark: 0,
            packets: 100,
        };
        chains.iter().any(|chain| chain.reached(&facts).is_some())
    };
    flows().iter().filter(|flow| reached(flow)).map(|flow| flow.name).collect()
}

fn cases() -> serde_json::Map<String, Value> {
    serde_json::from_str(CASES).unwrap()
}

#[test]
fn flows_that_reach_a_per_packet_rule_stay_slow() {
    let flowtable = BTreeSet::new();
    let mut wrong = Vec::new();
    for (name, case) in cases() {
        let wanted: Vec<&str> =
            case["slow"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        let found = slow(&chains(&case, &around(&flowtable)));
        if found != wanted {
            wrong.push(format!("{name}: {found:?} instead of {wanted:?}"));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn default_rules_of_firewall4_allow_offloading() {
    let listing: Value = serde_json::from_str(FW4).unwrap();
    assert_eq!(ForeignRules::parse(&listing), ForeignRules::default());
}

#[test]
fn early_ingress_chains_do_not_keep_flowtable_flows_slow() {
    let case = &cases()["ingress of a port"];
    let port = BTreeSet::from(["lan1".to_owned()]);
    assert_eq!(chains(case, &around(&port)), []);
    let all: &[&str] = &["up", "dns", "vlan", "in"];
    let own = FLOWTABLE_PRIORITY;
    let early = [-200, -1, 0, 1, own - 1].map(|at| (Value::from(at), &[][..]));
    // Chains with equal priority run in the order of their creation.
    let late = [own, own + 1, 300].map(|at| (Value::from(at), all));
    for (priority, wanted) in early.into_iter().chain(late).chain([(Value::Null, all)]) {
        let mut moved = case.clone();
        for object in moved["nftables"].as_array_mut().unwrap() {
            if let Some(chain) = object.get_mut("chain") {
                chain["prio"] = priority.clone();
            }
        }
        assert_eq!(slow(&chains(&moved, &around(&port))), wanted, "{priority}");
    }
}

#[test]
fn the_flowtable_priorities_are_equal() {
    assert_eq!(format!("filter + {FLOWTABLE_PRIORITY}"), FLOWTABLE);
}

#[test]
fn prerouting_marks_keep_flows_slow_only_with_queues() {
    let case = &cases()["mark before routing"];
    let flowtable = BTreeSet::new();
    let around = Surroundings { queues: true, ..around(&flowtable) };
    assert_eq!(slow(&chains(case, &around)), ["up", "dns", "in"]);
}

#[test]
fn slow_packets_cover_rules_with_queues() {
    let case = &cases()["queue of a program"];
    let flowtable = BTreeSet::new();
    let around = Surroundings { first_packets: true, ..around(&flowtable) };
    assert_eq!(chains(case, &around), []);
}

#[test]
fn reports_only_set_lookups_that_affect_the_result() {
    let of = |name: &str| ForeignRules::parse(&cases()[name]).look_up_sets();
    assert!(of("set of addresses"));
    assert!(!of("static drop by a set"));
}

#[test]
fn an_unknown_statement_acts_on_each_packet() {
    let mut case = cases()["trace"].clone();
    for object in case["nftables"].as_array_mut().unwrap() {
        if let Some(rule) = object.get_mut("rule") {
            rule["expr"][1] = serde_json::json!({"new statement": {}});
        }
    }
    let flowtable = BTreeSet::new();
    assert_eq!(slow(&chains(&case, &around(&flowtable))), ["up", "in", "six"]);
}

#[test]
fn recursive_jumps_keep_all_flows_slow() {
    let rule = |target| {
        serde_json::json!({"rule": {"family": "inet", "table": "t", "chain": target,
            "handle": 1, "expr": [{"jump": {"target": "loop"}}, {"jump": {"target": "loop"}}]}})
    };
    let listing = serde_json::json!({"nftables": [
        {"chain": {"family": "inet", "table": "t", "name": "f", "hook": "forward", "prio": 0,
            "type": "filter", "policy": "accept"}},
        rule("f"), rule("loop"), rule("loop"),
    ]});
    let flowtable = BTreeSet::new();
    assert_eq!(slow(&chains(&listing, &around(&flowtable))).len(), 5);
}

mod property {
    //! Compares the result for generated chains with a packet-by-packet walk.

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[derive(Debug, Clone, Copy)]
    enum Field {
        Address {
            source: bool,
        },
        Port {
            source: bool,
        },
        Device {
            leaving: bool,
        },
        /// Not parsed, but equal for all packets of a flow.
        Mac,
    }

    #[derive(Debug, Clone)]
    struct Atom {
        field: Field,
        value: usize,
        equal: bool,
    }

    #[derive(Debug, Clone, Copy, PartialEq)]
    enum Verdict {
        Accept,
        Drop,
        Limit,
        Count,
        Return,
        Jump,
        Goto,
    }

    type Rule = (Vec<Atom>, Verdict);
    type Rules = Vec<Rule>;

    const NETWORKS: [&str; 4] = ["10.10.10.0", "10.10.20.0", "203.0.113.0", "192.0.2.0"];
    const PORTS: [u16; 4] = [443, 80, 40000, 8443];
    const DEVICES: [&str; 4] = ["br-lan.10", "br-lan.20", "pppoe-wan", "wg0"];

    impl Atom {
        fn json(&self) -> Value {
            let payload =
                |protocol, field| json!({"payload": {"protocol": protocol, "field": field}});
            let (left, right) = match self.field {
                Field::Address { source } => (
                    payload("ip", if source { "saddr" } else { "daddr" }),
                    json!({"prefix": {"addr": NETWORKS[self.value], "len": 24}}),
                ),
                Field::Port { source } => (
                    payload("th", if source { "sport" } else { "dport" }),
                    json!(PORTS[self.value]),
                ),
                Field::Device { leaving } => (
                    json!({"meta": {"key": if leaving { "oifname" } else { "iifname" }}}),
                    json!(DEVICES[self.value]),
                ),
                Field::Mac => (payload("ether", "saddr"), json!("02:00:00:00:00:10")),
            };
            let op = if self.equal { "==" } else { "!=" };
            json!({"match": {"op": op, "left": left, "right": right}})
        }

        fn holds(&self, flow: &Flow, reply: bool) -> bool {
            let swap = |source: bool| source != reply;
            let held = match self.field {
                Field::Address { source } => {
                    let end = if swap(source) { flow.orig.src } else { flow.reply.src };
                    let network = NETWORKS[self.value].trim_end_matches('0');
                    if end.is_ipv6() {
                        return false;
                    }
                    end.to_string().starts_with(network)
                }
                Field::Port { source } => {
                    let end = if swap(source) { flow.orig.sport } else { flow.reply.sport };
                    end == PORTS[self.value]
                }
                Field::Device { leaving } => {
                    flow.devices[usize::from(leaving != reply)] == DEVICES[self.value]
                }
                Field::Mac => !reply,
            };
            held == self.equal
        }
    }

    /// Returns whether a packet reaches a limit, and whether the chain has ended. A drop behind the
    /// offloading chain counts as a limit.
    fn walk(
        chains: &[Rules; 2],
        at: usize,
        flow: &Flow,
        reply: bool,
        behind: bool,
    ) -> (bool, bool) {
        for (atoms, verdict) in &chains[at] {
            if !atoms.iter().all(|atom| atom.holds(flow, reply)) {
                continue;
            }
            match verdict {
                Verdict::Accept => return (false, true),
                Verdict::Drop => return (behind, true),
                Verdict::Limit => return (true, true),
                Verdict::Count => {}
                Verdict::Return => return (false, false),
                Verdict::Jump | Verdict::Goto if at == 1 => {}
                Verdict::Jump | Verdict::Goto => {
                    let (reached, ended) = walk(chains, 1, flow, reply, behind);
                    if reached || ended || *verdict == Verdict::Goto {
                        return (reached, true);
                    }
                }
            }
        }
        (false, false)
    }

    fn listing(chains: &[Rules; 2], behind: bool) -> Value {
        let priority = if behind { 50 } else { 0 };
        let mut objects = vec![json!({"chain": {"family": "inet", "table": "t", "name": "c0",
            "type": "filter", "hook": "forward", "prio": priority, "policy": "accept"}})];
        for (at, rules) in chains.iter().enumerate() {
            for (atoms, verdict) in rules {
                let mut expr: Vec<Value> = atoms.iter().map(Atom::json).collect();
                match verdict {
                    Verdict::Accept => expr.push(json!({"accept": null})),
                    Verdict::Drop => expr.push(json!({"drop": null})),
                    Verdict::Return => expr.push(json!({"return": null})),
                    Verdict::Count => expr.push(json!({"counter": {"packets": 0, "bytes": 0}})),
                    Verdict::Limit => {
                        expr.push(json!({"limit": {"rate": 1, "per": "second", "inv": true}}));
                        expr.push(json!({"drop": null}));
                    }
                    Verdict::Jump | Verdict::Goto if at == 1 => {}
                    Verdict::Jump => expr.push(json!({"jump": {"target": "c1"}})),
                    Verdict::Goto => expr.push(json!({"goto": {"target": "c1"}})),
                }
                objects.push(json!({"rule": {"family": "inet", "table": "t",
                    "chain": format!("c{at}"), "handle": 1, "expr": expr}}));
            }
        }
        json!({"nftables": objects})
    }

    fn rules() -> impl Strategy<Value = Rules> {
        let field = prop_oneof![
            4 => any::<bool>().prop_map(|source| Field::Address { source }),
            2 => any::<bool>().prop_map(|source| Field::Port { source }),
            3 => any::<bool>().prop_map(|leaving| Field::Device { leaving }),
            1 => Just(Field::Mac),
        ];
        let atom = (field, 0..4_usize, prop::bool::weighted(0.8))
            .prop_map(|(field, value, equal)| Atom { field, value, equal });
        let verdict = prop_oneof![
            2 => Just(Verdict::Accept),
            1 => Just(Verdict::Drop),
            2 => Just(Verdict::Limit),
            1 => Just(Verdict::Count),
            1 => Just(Verdict::Return),
            2 => Just(Verdict::Jump),
            1 => Just(Verdict::Goto),
        ];
        prop::collection::vec((prop::collection::vec(atom, 0..3), verdict), 0..5)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn a_flow_stays_slow_if_a_packet_of_it_reaches_a_limit(
            a in rules(),
            b in rules(),
            behind in any::<bool>(),
        ) {
            let chains = [a, b];
            let flowtable = BTreeSet::new();
            let judged = slow(&super::chains(&listing(&chains, behind), &around(&flowtable)));
            let has = |wanted: &dyn Fn(&Rule) -> bool| {
                chains.iter().flatten().any(wanted)
            };
            // The result is conservative for unparsed matches and for `return` of some packets.
            let exact = !has(&|(atoms, verdict)| {
                *verdict == Verdict::Return || atoms.iter().any(|a| matches!(a.field, Field::Mac))
            });
            for flow in flows() {
                let reached = [false, true].map(|reply| walk(&chains, 0, &flow, reply, behind).0);
                let is_slow = judged.contains(&flow.name);
                prop_assert!(is_slow || reached == [false; 2], "{}", flow.name);
                if exact {
                    prop_assert_eq!(is_slow, reached != [false; 2], "{}", flow.name);
                }
            }
        }

        #[test]
        fn parses_any_listing_without_panic(text in "[ -~]{0,40}", depth in 0..4_usize) {
            let mut value = json!(text);
            for _ in 0..depth {
                value = json!({"match": {"op": "==", "left": {"&": [value, 1]}, "right": [value]}});
            }
            let listing = json!({"nftables": [
                {"chain": {"family": "inet", "table": "t", "name": "c", "type": "filter",
                    "hook": "forward", "prio": 0}},
                {"rule": {"family": "inet", "table": "t", "chain": "c", "expr": [value, 7, null]}},
            ]});
            let _ = ForeignRules::parse(&listing);
        }
    }
}
