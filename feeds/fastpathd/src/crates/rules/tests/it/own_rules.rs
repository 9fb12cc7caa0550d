// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of fastpath's own rules: each matches its traffic, and none matches ordinary traffic.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::BufReader;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::Gateway;
use crate::support::pcap::{Capture, Pair};
use crate::talks;
use rules::{ArchiveLimits, Choice, Rule, collect};
use serde_json::Value;

fn own_rules() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.join("../../../files/fastpath.rules").canonicalize().expect("our rules")
}

fn suricata() -> Option<Command> {
    let Some(program) = std::env::var_os("FASTPATH_SURICATA") else {
        eprintln!("skipped: FASTPATH_SURICATA does not name a Suricata 8");
        return None;
    };
    let mut command = Command::new(program);
    command.args(["-c", "/etc/suricata/suricata.yaml"]);
    command.args(["--set", "vars.address-groups.HOME_NET=[10.0.0.0/8,fd00::/8]"]);
    // Tests that share the cache cause a warning.
    command.args(["--set", "detect.sgh-mpm-caching=no"]);
    command.arg("-S").arg(own_rules());
    Some(command)
}

#[test]
fn own_rules_are_valid_and_in_the_reserved_range() {
    let file = BufReader::new(File::open(own_rules()).expect("our rules"));
    let limits = ArchiveLimits::of_bytes(1 << 20);
    let rules = collect(file, "fastpath.rules", &limits, Choice::default()).expect("good rules");
    assert!(rules.notes.is_empty(), "{:?}", rules.notes);
    assert_eq!((rules.left_out, rules.disabled_by_source), (0, 0));
    let sids: Vec<u32> = rules.rules.iter().map(|rule| rule.sid).collect();
    assert!(sids.is_sorted_by(|a, b| a < b), "each once, in order: {sids:?}");
    assert!(sids.iter().all(|sid| (8_100_000..8_100_100).contains(sid)));
    for wanted in &rules.rules {
        let text = rules.text(wanted);
        let rule = Rule::parse(text).expect("a rule");
        assert!(text.contains("msg:\"FASTPATH "), "{text}");
        assert!(text.contains("classtype:") && text.contains("metadata:group "), "{text}");
        assert!(rule.rev >= 1 && matches!(rule.action, "alert" | "drop"), "{text}");
    }
}

#[test]
fn suricata_loads_own_rules_without_a_warning() {
    let Some(mut suricata) = suricata() else { return };
    let gateway = Gateway::new();
    let output = suricata.arg("-T").arg("-l").arg(&gateway.root).output().expect("Suricata");
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(output.status.success(), "{said}");
    let bad: Vec<_> =
        said.lines().filter(|line| line.contains("W: ") || line.contains("E: ")).collect();
    assert!(bad.is_empty(), "{bad:?}");
}

#[test]
fn each_rule_matches_its_traffic_in_both_address_families() {
    let Some(mut suricata) = suricata() else { return };
    let gateway = Gateway::new();
    let (file, log) = (gateway.root.join("talks.pcap"), gateway.root.join("eve.json"));
    let talks = talks::all();
    assert!(talks.len() < 256, "each address contains the number of its case");
    let mut capture = Capture::new();
    for (case, talk) in (0u8..).zip(&talks) {
        for v6 in [false, true] {
            (talk.speak)(&mut capture, Pair { case, v6 });
        }
    }
    fs::write(&file, capture.into_bytes()).expect("a capture");
    suricata.arg("-r").arg(&file).arg("-l").arg(&gateway.root);
    let output = suricata.args(["-k", "none", "--simulate-ips"]).output().expect("Suricata");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let seen = alerts(&fs::read_to_string(log).expect("eve.json"));
    let mut wrong = Vec::new();
    let mut tried = BTreeSet::new();
    for (case, talk) in (0u8..).zip(&talks) {
        tried.extend(talk.sids.iter().copied());
        for v6 in [false, true] {
            let found = seen.get(&(case, v6)).cloned().unwrap_or_default();
            let wanted: BTreeSet<u32> =
                talk.sids.iter().copied().filter(|sid| talks::is_of_family(*sid, v6)).collect();
            if found != wanted {
                wrong.push(format!("{} (IPv6: {v6}): {found:?}, not {wanted:?}", talk.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let all: BTreeSet<u32> = numbers();
    let untried: Vec<_> = all.difference(&tried).collect();
    assert!(untried.is_empty(), "no conversation for {untried:?}");
}

fn numbers() -> BTreeSet<u32> {
    let text = fs::read_to_string(own_rules()).expect("our rules");
    let of_line = |line: &str| line.split("sid:").nth(1)?.split(';').next()?.parse().ok();
    text.lines().filter_map(of_line).collect()
}

/// Returns the triggered rules by case and address family, and checks that exactly the drop rules
/// have blocked.
fn alerts(eve: &str) -> BTreeMap<(u8, bool), BTreeSet<u32>> {
    let text = fs::read_to_string(own_rules()).expect("our rules");
    let drops: BTreeSet<u64> = text
        .split("\ndrop ")
        .skip(1)
        .filter_map(|rule| rule.split("sid:").nth(1)?.split(';').next()?.parse().ok())
        .collect();
    let mut seen: BTreeMap<(u8, bool), BTreeSet<u32>> = BTreeMap::new();
    for line in eve.lines() {
        let event: Value = serde_json::from_str(line).expect("JSON");
        if event["event_type"] != "alert" {
            continue;
        }
        let sid = event["alert"]["signature_id"].as_u64().expect("a number");
        let blocked = event["alert"]["action"] == "blocked";
        assert_eq!(blocked, drops.contains(&sid), "{line}");
        let address: IpAddr =
            event["src_ip"].as_str().and_then(|a| a.parse().ok()).expect("a host");
        let case = match address {
            IpAddr::V4(address) => address.octets()[3],
            IpAddr::V6(address) => address.octets()[15],
        };
        let sid = u32::try_from(sid).expect("a sid");
        seen.entry((case, address.is_ipv6())).or_default().insert(sid);
    }
    seen
}
