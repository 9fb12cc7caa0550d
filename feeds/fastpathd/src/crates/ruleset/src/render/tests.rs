// SPDX-License-Identifier: GPL-2.0-or-later
use model::{DevicePolicy, Engine, Exclude, TrafficType};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::fixture::inspection;
use crate::plan::{Candidate, Protection};
use crate::policy::Segments;
use crate::rules::comments;
use crate::settings::Settings;

#[derive(Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    Quoted(String),
    End,
}

/// Splits text like nft's scanner: a quote ends at the next quote (there are no escapes), `#`
/// begins a comment, and a newline or semicolon ends a statement.
fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if let Some(inside) = rest.strip_prefix('"') {
            let end = inside.find(['"', '\n']).expect("a closing quote on the line");
            assert!(inside[end..].starts_with('"'), "a quote over two lines");
            tokens.push(Token::Quoted(inside[..end].to_owned()));
            rest = &inside[end + 1..];
        } else if matches!(c, '\n' | ';') {
            tokens.push(Token::End);
            rest = &rest[1..];
        } else if c.is_whitespace() {
            rest = &rest[c.len_utf8()..];
        } else {
            assert_ne!(c, '#', "a comment");
            let end = rest.find(|c: char| c.is_whitespace() || "\";".contains(c));
            let end = end.unwrap_or(rest.len());
            tokens.push(Token::Word(rest[..end].to_owned()));
            rest = &rest[end..];
        }
    }
    tokens
}

/// Returns the statements of a script, with `""` in place of quoted text.
fn statements(script: &str) -> Vec<String> {
    let tokens = tokens(script);
    let texts = tokens.split(|token| *token == Token::End).map(|statement| {
        let words = statement.iter().map(|token| match token {
            Token::Word(word) => word.as_str(),
            Token::Quoted(_) => "\"\"",
            Token::End => unreachable!(),
        });
        words.collect::<Vec<_>>().join(" ")
    });
    texts.filter(|text| !text.is_empty()).collect()
}

fn lines(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}

fn sets() -> Vec<String> {
    let set = |name: &str, of: &str, rest: &str| {
        let head = format!("set {name} {{\ntypeof {of}\nsize 8192\nflags dynamic,timeout\n");
        lines(&format!("{head}timeout {rest}\ncomment \"\"\n}}"))
    };
    let tuple = |ip: &str| format!("{ip} saddr . tcp sport . {ip} daddr . tcp dport");
    let sets = [
        set("passed_original", "ct id", "2s"),
        set("passed_reply", "ct id", "2s"),
        set("missed_original", "ct id", "40s\ncounter"),
        set("missed_reply", "ct id", "40s\ncounter"),
        set("ended_4", &tuple("ip"), "3s"),
        set("ended_6", &tuple("ip6"), "3s"),
    ];
    sets.concat()
}

/// Returns the sets and the chain of paused hosts.
fn pauses() -> [Vec<String>; 2] {
    let set = |(name, kind)| format!("set paused{name} {{\ntype {kind}_addr\ncomment \"\"\n}}\n");
    let sets = [("", "ether"), ("4", "ipv4"), ("6", "ipv6")].map(set).concat();
    let ends = ["ether saddr @", "ip saddr @4", "ip daddr @4", "ip6 saddr @6", "ip6 daddr @6"];
    let rule = |end: &str| format!("{} drop comment \"\"\n", end.replace('@', "@paused"));
    let head = "chain paused {\ncomment \"\"\ntype filter hook forward priority filter - 5\n";
    let chain = format!("{head}policy accept\n{}}}", ends.map(rule).concat());
    [lines(&sets), lines(&chain)]
}

/// Returns the matches of the rules for a switch that is off, without names.
fn switched_off(one: TrafficType) -> &'static [&'static str] {
    match one {
        TrafficType::Ipv4 => &["nfproto ipv4"],
        TrafficType::Ipv6 => &["nfproto ipv6"],
        _ => &["iifkind \"\"", "oifkind \"\""],
    }
}

/// Panics unless the script consists of exactly the expected statements.
fn assert_harmless(plan: &Plan) {
    let script = render(plan, &[]);
    let mut left = statements(&script);
    let mut next = || if left.is_empty() { String::new() } else { left.remove(0) };
    for expected in ["add table inet fastpath", "delete table inet fastpath"] {
        assert_eq!(next(), expected);
    }
    if !plan.has_table() {
        assert_eq!(next(), "");
        return;
    }
    let devices = vec!["\"\""; plan.devices.len()].join(" , ");
    let mut expected = vec!["table inet fastpath {".to_owned(), "comment \"\"".to_owned()];
    let [pause_sets, pause_chain] = if plan.hardware { pauses() } else { Default::default() };
    expected.extend(pause_sets);
    expected.extend(sets());
    expected.extend([
        "flowtable ft {".to_owned(),
        "hook ingress priority filter + 10".to_owned(),
        format!("devices = {{ {devices} }}"),
        "counter".to_owned(),
    ]);
    if plan.hardware {
        expected.push("flags offload".to_owned());
    }
    let known = |ip: &str, way: &str| {
        format!(
            "ct {way} {ip} saddr . ct {way} proto-src . ct {way} {ip} daddr . ct {way} proto-dst"
        )
    };
    expected.push("}".into());
    expected.extend(pause_chain);
    expected.extend(["chain ended {", "comment \"\""].map(str::to_owned));
    for (family, ip, number) in [("ipv4", "ip", 4), ("ipv6", "ip6", 6)] {
        let note = |of: &str, tuple: &str| {
            let of = format!("meta l4proto tcp {of}");
            format!("meta nfproto {family} {of}update @ended_{number} {{ {tuple} }} comment \"\"")
        };
        expected.extend(["original", "reply"].map(|way| note("", &known(ip, way))));
        let arrived = format!("{ip} saddr . tcp sport . {ip} daddr . tcp dport");
        expected.push(note("ct state { invalid, untracked } ", &arrived));
    }
    expected.extend(
        [
            "}",
            "chain fastpath {",
            "comment \"\"",
            "type filter hook forward priority filter + 20",
            "policy accept",
            "tcp flags & (fin | rst) != 0 jump ended comment \"\"",
            "ct state != established return comment \"\"",
        ]
        .map(str::to_owned),
    );
    let waits = |family, ip, number, way| {
        format!("meta nfproto {family} meta l4proto tcp {} @ended_{number} return", known(ip, way))
    };
    for statement in expected {
        assert_eq!(next(), statement);
    }
    for direction in ["original", "reply"] {
        let rule = next();
        let missed = format!("ct direction {direction} update @missed_{direction} {{ ct id }}");
        assert_eq!(rule, format!("ct status & 0x4000 == 0x4000 {missed} comment \"\""));
    }
    for what in plan.left_out.iter().flat_map(switched_off) {
        assert_eq!(next(), format!("meta {what} return comment \"\""));
    }
    for _ in &plan.excludes {
        for direction in ["original", "reply"] {
            let rule = next();
            assert!(rule.starts_with(&format!("ct direction {direction} ")), "{rule}");
            assert!(rule.ends_with(" return comment \"\""), "{rule}");
            let inner = |c: char| c.is_ascii_alphanumeric() || " .:/-{},\"".contains(c);
            assert!(rule.chars().all(inner), "{rule}");
        }
    }
    assert!(next().ends_with(" comment \"\""));
    let noted = |direction, other| {
        format!(
            "ct state established ct direction {direction} meta l4proto {{ tcp, udp }} \
             update @passed_{direction} {{ ct id }} meta l4proto udp ct id @passed_{other} \
             update @passed_{other} {{ ct id }}"
        )
    };
    for rule in [
        "meta l4proto != { tcp, udp } return",
        &noted("original", "reply"),
        &noted("reply", "original"),
        "ct direction original ct id != @passed_reply return",
        "ct direction reply ct id != @passed_original return",
        &waits("ipv4", "ip", 4, "original"),
        &waits("ipv4", "ip", 4, "reply"),
        &waits("ipv6", "ip6", 6, "original"),
        &waits("ipv6", "ip6", 6, "reply"),
        "flow add @ft",
    ] {
        assert_eq!(next(), format!("{rule} comment \"\""));
    }
    assert_eq!([next(), next(), next()], ["}", "}", ""]);
}

fn plan(candidates: &[Candidate], settings: &Settings) -> Plan {
    crate::plan(candidates, settings, &Protection::default())
}

fn candidate(device: String) -> Candidate {
    Candidate { device, eligible: true, why: config::Cause::default() }
}

/// Generates text that could break out of a statement.
fn hostile() -> impl Strategy<Value = String> {
    let bits = [
        "\"",
        ";",
        "}",
        "{",
        "\n",
        "#",
        "\\",
        "'",
        "@ft",
        "drop",
        " ",
        "*",
        "$x",
        "lan1",
        "tcp",
        "10.0.0.0/8",
        "::/0",
        "80",
        "-",
        "0",
        "\u{0}",
        "ü",
        "include",
        "0x1",
    ];
    prop_oneof![
        any::<String>(),
        prop::collection::vec(prop::sample::select(bits.to_vec()), 0..6)
            .prop_map(|bits| bits.concat()),
    ]
}

fn section(kind: &'static str, options: &'static [&'static str]) -> impl Strategy<Value = Value> {
    prop::collection::btree_map(prop::sample::select(options.to_vec()), hostile(), 0..options.len())
        .prop_map(move |options| {
            let mut section = json!({ ".type": kind, ".index": 0, ".anonymous": true });
            for (option, value) in options {
                section[option] = json!(value);
            }
            section
        })
}

fn valid_exclude() -> impl Strategy<Value = Value> {
    let source = prop::option::of(prop::sample::select(vec!["10.0.0.0/8", "10.1.2.3"]));
    let dest = prop::option::of(prop::sample::select(vec!["192.0.2.0/24", "0.0.0.0/0"]));
    let proto = prop::option::of(prop::sample::select(vec!["tcp", "udp", "any"]));
    let port = || prop::option::of((1..=65535_u16, 0..100_u16));
    (source, dest, proto, port(), port(), "[^\"\\\\\\p{Cc}]{0,15}").prop_map(
        |(source, dest, proto, source_port, dest_port, name)| {
            // An exclusion without conditions is rejected.
            let proto = if source.is_some() { proto } else { Some("tcp") };
            let mut section = json!({ ".type": "exclude", ".index": 1, "name": name });
            let mut put = |option: &str, value: Option<String>| {
                section[option] = json!(value.unwrap_or_default());
            };
            let range =
                |(first, more): (u16, u16)| format!("{first}-{}", first.saturating_add(more));
            put("src", source.map(str::to_owned));
            put("dest", dest.map(str::to_owned));
            put("proto", proto.map(str::to_owned));
            put("src_port", source_port.map(range));
            put("dest_port", dest_port.map(range));
            section
        },
    )
}

fn inspecting(policies: Vec<DevicePolicy>) -> Plan {
    let inspection =
        InspectionRules { policies, budget_bytes: 1, budget_packets: 1, ..inspection() };
    let protection = Protection { inspection: Some(inspection), blocks: Some(9) };
    crate::plan(&[candidate("wan".to_owned())], &Settings::default(), &protection)
}

fn tame(mut plan: Plan) -> Plan {
    for policy in plan.protection.inspection.iter_mut().flat_map(|found| &mut found.policies) {
        policy.name.truncate(0);
        for devices in [&mut policy.from, &mut policy.to].into_iter().flatten() {
            *devices = (0..devices.len()).map(|number| format!("lan{number}")).collect();
        }
    }
    plan
}

proptest! {
    #[test]
    fn hostile_settings_are_rejected_or_harmless(
        main in section(
            "fastpath",
            &["engine", "mark_mask", "device", "ignore_device", "slow_tunnel"],
        ),
        exclude in section(
            "exclude",
            &["name", "src", "dest", "proto", "src_port", "dest_port"],
        ),
        device in hostile(),
    ) {
        if let Ok((settings, _)) = Settings::from_uci(&json!({ "a": main, "b": exclude })) {
            let mut candidates = vec![candidate(device), candidate("wan".to_owned())];
            candidates.extend(settings.devices.iter().cloned().map(candidate));
            assert_harmless(&plan(&candidates, &settings));
        }
    }

    #[test]
    fn hostile_exclude_names_are_rejected_or_harmless(name in hostile(), port in 1..=65535_u16) {
        let exclude = json!({ ".type": "exclude", "name": name, "dest_port": port.to_string() });
        if let Ok((settings, _)) = Settings::from_uci(&json!({ "x": exclude })) {
            assert_harmless(&plan(&[candidate("wan".to_owned())], &settings));
        }
    }

    #[test]
    fn hostile_policies_are_rejected_or_harmless(
        policy in section("policy", &["name", "dest", "action"]),
        devices in prop::collection::btree_set(prop_oneof![hostile(), Just("lan1".into())], 0..4),
        comment in hostile(),
    ) {
        let mut policy = policy;
        policy["src"] = json!("lan");
        if let Ok((settings, _)) = Settings::from_uci(&json!({ "x": policy })) {
            let zones = [("lan".to_owned(), devices)].into();
            let segments = Segments { zones, vlans: [].into() };
            let policies = settings.policies.iter().map(|policy| policy.on(&segments)).collect();
            let block = |comment: &str| BlockElement {
                source: config::Network::host([192, 0, 2, 1].into()),
                seconds: 600,
                left: 9,
                comment: comment.to_owned(),
            };
            let hostile = inspecting(policies);
            let tame_comment = if comment.is_empty() { "" } else { "x" };
            prop_assert_eq!(
                statements(&render(&hostile, &[block(&comment)])),
                statements(&render(&tame(hostile), &[block(tame_comment)]))
            );
        }
    }

    #[test]
    fn valid_settings_are_accepted_and_harmless(
        excludes in prop::collection::vec(valid_exclude(), 0..6),
        hardware: bool,
        mask in 1..=u32::MAX,
        devices in prop::collection::btree_set("[a-z][a-z0-9.-]{0,14}", 1..8),
        off in prop::sample::subsequence(TrafficType::ALL.to_vec(), 0..=TrafficType::ALL.len()),
    ) {
        let engine = if hardware { "flowtable-hw" } else { "flowtable" };
        let mask = format!("{mask:#x}");
        let mut main = json!({ ".type": "fastpath", "engine": engine, "mark_mask": mask });
        let (tunnels, switches): (Vec<_>, Vec<_>) =
            off.iter().partition(|one| TrafficType::TUNNELS.contains(one));
        main["slow_tunnel"] = tunnels.into_iter().copied().map(TrafficType::name).collect();
        for one in switches {
            main[one.name()] = "0".into();
        }
        let mut values = json!({ "main": main });
        for (number, exclude) in excludes.iter().enumerate() {
            values[format!("x{number}")] = exclude.clone();
        }
        let (settings, warnings) = Settings::from_uci(&values).unwrap();
        prop_assert_eq!(warnings, []);
        prop_assert_eq!(settings.excludes.len(), excludes.len());
        prop_assert_eq!(settings.left_out.iter().collect::<Vec<_>>(), off);
        let candidates: Vec<_> = devices.iter().cloned().map(candidate).collect();
        let plan = plan(&candidates, &settings);
        prop_assert_eq!(&plan.devices, &devices);
        assert_harmless(&plan);
    }
}

fn simple() -> Plan {
    let devices = ["lan1", "wan"].map(|device| candidate(device.to_owned()));
    plan(&devices, &Settings::default())
}

#[test]
fn no_flow_is_offloaded_while_rules_are_unread() {
    let ebpf = Plan { engine: Engine::Ebpf, ..simple() };
    for plan in [simple(), ebpf, inspecting(Vec::new())] {
        let script = render(&Plan { unread: true, ..plan.clone() }, &[]);
        let held = "return comment \"!fastpath: changed rules of other programs are being read\"";
        let (before, behind) = script.split_once(held).unwrap_or((&script, ""));
        assert!(!before.contains("flow add") && behind.contains("flow add"), "{script}");
        assert!(!before.contains("!fastpath: passed the rules, direction"), "{script}");
        let expected = "an expected connection has not passed";
        assert_eq!(before.contains(expected), script.contains(expected), "{script}");
    }
}

#[test]
fn the_digest_distinguishes_rules_with_equal_comments() {
    let last = |plan: &Plan| comments(plan)["fastpath"].last().cloned().unwrap();
    let exclude = |port| Exclude { proto: Some(6), dest_port: Some(port), ..Exclude::default() };
    let ports = |port| model::Ports { first: port, last: port };
    let first = Plan { excludes: vec![exclude(ports(80))], ..simple() };
    let second = Plan { excludes: vec![exclude(ports(81))], ..simple() };
    assert_ne!(last(&first), last(&second));
    assert_eq!(last(&first), last(&first.clone()));
    let hardware = Plan { engine: Engine::FlowtableHw, hardware: true, ..simple() };
    assert_ne!(last(&simple()), last(&hardware));
    let other = Plan { devices: BTreeSet::from(["lan9".to_owned()]), ..simple() };
    assert_eq!(last(&simple()), last(&other), "the digest omits devices");
}

#[test]
fn keeps_the_blocks_that_last_longest() {
    let block = |host, left| BlockElement {
        source: config::Network::host([192, 0, 2, host].into()),
        seconds: 600,
        left,
        comment: String::new(),
    };
    let protection = Protection { inspection: None, blocks: Some(2) };
    let plan = Plan { protection, ..simple() };
    let text = render(&plan, &[block(1, 5), block(2, 7), block(3, 6), block(1, 9), block(2, 6)]);
    let elements = text.lines().filter(|line| line.contains(" expires ")).map(str::trim);
    let elements: Vec<&str> = elements.collect();
    assert_eq!(
        elements,
        ["elements = { 192.0.2.1 timeout 600s expires 9s,", "192.0.2.2 timeout 600s expires 7s }",]
    );
}

#[test]
fn omits_nested_blocks() {
    let block = |source: &str| BlockElement {
        source: source.parse().unwrap(),
        seconds: 600,
        left: 600,
        comment: String::new(),
    };
    let protection = Protection { inspection: None, blocks: Some(9) };
    let plan = Plan { protection, ..simple() };
    let given = ["2001:db8::7", "2001:db8::/64", "2001:db8:0:1::1", "2001:db8::9"].map(block);
    let text = render(&plan, &given);
    let elements: Vec<&str> = text.lines().filter(|line| line.contains("timeout 600s")).collect();
    assert_eq!(
        elements,
        ["\t\telements = { 2001:db8::/64 timeout 600s,", "\t\t\t2001:db8:0:1::1 timeout 600s }"]
    );
}

#[test]
fn changes_devices_and_addresses_in_one_script() {
    let set = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    let mut plan = Plan { devices: set(&["lan3", "wg0"]), hardware: true, ..simple() };
    let before = [("lan1".to_owned(), "02:00:00:00:00:01".to_owned())];
    let have =
        InForce { devices: set(&["lan1", "lan2"]), own: before.into(), ..InForce::default() };
    plan.address([("lan3".to_owned(), set(&["02:00:00:00:00:01", "02:00:00:00:00:03"]))]);
    assert_eq!(
        render_devices(&plan, &have),
        "add flowtable inet fastpath ft {\n\thook ingress priority filter + 10\n\
         \tdevices = { \"lan3\", \"wg0\" }\n\tcounter\n\tflags offload\n}\n\
         add chain inet fastpath before_flowtable \
         { type filter hook ingress devices = { \"lan3\" } priority filter + 9; }\n\
         add chain inet fastpath behind_flowtable \
         { type filter hook ingress devices = { \"lan3\" } priority filter + 11; }\n\
         add element inet fastpath own \
         { \"lan3\" . 02:00:00:00:00:01, \"lan3\" . 02:00:00:00:00:03 }\n\
         delete flowtable inet fastpath ft {\n\thook ingress priority filter + 10\n\
         \tdevices = { \"lan1\", \"lan2\" }\n\tcounter\n\tflags offload\n}\n\
         delete chain inet fastpath before_flowtable \
         { type filter hook ingress devices = { \"lan1\" } priority filter + 9; }\n\
         delete chain inet fastpath behind_flowtable \
         { type filter hook ingress devices = { \"lan1\" } priority filter + 11; }\n\
         delete element inet fastpath own { \"lan1\" . 02:00:00:00:00:01 }\n"
    );
    let same = InForce { devices: plan.devices.clone(), own: own(&plan), ..InForce::default() };
    assert_eq!(render_devices(&plan, &same), "");
}

#[test]
fn comments_fit_into_the_kernels_limit() {
    const MAX_LEN: usize = 127; // NFT_USERDATA_MAXLEN leaves nft 128 bytes with the final NUL.
    let name = "x".repeat(64);
    let exclude = Exclude { name, proto: Some(6), ..Exclude::default() };
    let plan = Plan { excludes: vec![exclude; 1000], ..simple() };
    for comment in comments(&plan).values().flatten() {
        assert!(comment.len() <= MAX_LEN, "{comment}");
    }
}
