// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests names, types and values of all metrics, the number of series, and that counters never
//! decrease. `GOLDEN_UPDATE=1` renews `golden.prom`, which promtool checks.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use ctnetlink::{Counters, Entry, Event};
use ebpf::fake::Fake;
use ebpf::layout::{Exits, Out};
use flows::Now;
use ruleset::Applied;
use serde_json::{Value, json};

use crate::core::Core;
use crate::fixture::{ask, configuration, established, lab_dump, machine_sample, outcome, running};
use crate::ips::inspection::{CommandReply, ProbeSample};
use crate::sys::kernel::Readings;
use crate::{doctor, ips as inspection, rules};

mod most;

const GOLDEN: &str = include_str!("golden.prom");

/// Formats an answer as the collector prints it.
fn text(answer: &Value) -> String {
    let mut text = String::new();
    for family in answer["families"].as_array().unwrap() {
        let word = |field: &str| family[field].as_str().unwrap();
        let (name, kind) = (word("name"), word("type"));
        writeln!(text, "# HELP {name} {}\n# TYPE {name} {kind}", word("help")).unwrap();
        for sample in family["samples"].as_array().unwrap() {
            let value = sample["value"].as_str().unwrap();
            writeln!(text, "{name}{} {value}", labels(&sample["labels"])).unwrap();
        }
    }
    text
}

fn labels(labels: &Value) -> String {
    let labels = labels.as_object().unwrap().iter();
    let labels: Vec<_> = labels.map(|(name, value)| format!("{name}={value}")).collect();
    if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) }
}

fn series(answer: &Value) -> BTreeMap<String, String> {
    let text = text(answer);
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let pairs = lines.map(|line| line.rsplit_once(' ').unwrap());
    let found: BTreeMap<String, String> =
        pairs.map(|(series, value)| (series.to_owned(), value.to_owned())).collect();
    assert_eq!(found.len(), text.lines().filter(|line| !line.starts_with('#')).count(), "twice");
    found
}

fn read(core: &mut Core) -> BTreeMap<String, String> {
    series(&ask(core, "metrics", json!({})))
}

fn dump(core: &mut Core, second: u64, entries: &[Entry]) {
    let now = Now { mono: Duration::from_secs(second), unix_ms: 1_000_000 + second * 1000 };
    core.set_clock(now, Duration::ZERO);
    core.conntrack_mut().flows_mut().dump_begin(now);
    core.entries_read(entries);
    core.dump_ended(true);
    core.conntrack_mut().flows_mut().sweep(usize::MAX);
}

fn grown(entry: Entry, times: u64) -> Entry {
    let grown = |counters: Option<Counters>| {
        let Counters { packets, bytes } = counters.unwrap();
        Some(Counters { packets: packets * times, bytes: bytes * times })
    };
    Entry {
        orig_counters: grown(entry.orig_counters),
        reply_counters: grown(entry.reply_counters),
        ..entry
    }
}

/// Attaches programs to the lab's ports, and counts packets on these ports.
fn attach(core: &mut Core, ports: &[u32]) {
    let maps = Fake::default();
    let mut one = Exits::default();
    (one.out[Out::Forwarded as usize], one.out[Out::Unknown as usize]) = (100, 10);
    for port in ports {
        maps.with(|inside| inside.exits.add(*port, &one));
    }
    core.attached(Ok(outcome(&maps, &["lan1", "lan2", "wan"], &[])));
    core.applied(Ok(Applied::Removed));
    core.second(&Readings::default());
}

/// Returns a gateway on which every family has a series.
fn busy() -> Core {
    let mut core = running();
    let mut values = configuration("flowtable");
    values["ips"] = json!({".type": "ips", ".name": "ips", ".index": 1, "enabled": "1"});
    values["main"]["device_metrics"] = "1".into();
    core.configuration_read(&values);
    core.machine_read(machine_sample());
    dump(&mut core, 1, &[]);
    dump(&mut core, 2, &[established(1, false), established(2, false)]);
    dump(&mut core, 3, &[grown(established(1, true), 3)]);
    // Queues of the first probe would count for the previous daemon.
    core.ips_event(inspection::Event::Probed(ProbeSample::default()));
    let queue = ips::Queue { number: 0, listener: 7, depth: 2, handled: 5, full: 1, unread: 0 };
    let sample = ProbeSample { queues: vec![queue], process: Some(7), ..ProbeSample::default() };
    core.ips_event(inspection::Event::Probed(sample));
    core.replied(CommandReply::Version("8.0.2".to_owned()));
    let report = json!({
        "at_ms": 900_500, "took_ms": 100, "findings": [],
        "summary": {"error": 1, "warning": 2, "advice": 3, "info": 4, "unknown": 0, "ok": 50,
            "accepted": 1},
    });
    core.doctor_event(doctor::Event::Read(Ok(report)));
    let state = json!({
        "outcome": "updated", "version": "0123456789ab", "since_ms": 900_000, "rules": 40_000,
        "sources": [{"name": "et", "rules": 40_000, "checked_ms": 950_000}],
    });
    core.rules_event(rules::Event::Done(Ok(state)));
    core.applied(Ok(Applied::Replaced));
    values["main"]["engine"] = "ebpf".into();
    core.configuration_read(&values);
    attach(&mut core, &[1]);
    core.network_mut().name_hosts("99 02:00:00:00:01:0a 10.10.10.10 desk *\n", "");
    core
}

#[test]
fn all_metrics_match_the_golden_output() {
    let answer = ask(&mut busy(), "metrics", json!({}));
    let text = text(&answer).replace(env!("CARGO_PKG_VERSION"), "VERSION");
    if std::env::var_os("GOLDEN_UPDATE").is_some() {
        std::fs::write("src/metrics/golden.prom", &text).unwrap();
        return;
    }
    assert_eq!(text, GOLDEN, "GOLDEN_UPDATE=1 renews it");
}

/// Collects the names from the sources in this folder.
#[test]
fn every_family_has_a_series_in_the_golden_output() {
    let has = |name: &str| GOLDEN.contains(&format!("# TYPE {name} "));
    let mut names = BTreeSet::new();
    for file in std::fs::read_dir("src/metrics").unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_some_and(|kind| kind == "rs") && !path.ends_with("tests.rs") {
            let text = std::fs::read_to_string(path).unwrap();
            let quoted = text.split('"').skip(1).step_by(2);
            let ours = quoted.filter(|text| text.starts_with("fastpath_"));
            names.extend(ours.map(str::to_owned));
        }
    }
    assert!(names.len() > 40, "{names:?}");
    let missing: Vec<_> = names.into_iter().filter(|name| !has(name)).collect();
    assert_eq!(missing, [""; 0], "no series in golden.prom");
}

/// In another series, the packets of a removed port would look like packets of the last minute.
#[test]
fn packets_of_a_removed_port_do_not_move_to_another_series() {
    let mut core = running();
    core.configuration_read(&configuration("ebpf"));
    attach(&mut core, &[1, 2, 500]);
    let of = |core: &mut Core| -> BTreeMap<String, String> {
        let family = "fastpath_ebpf_packets_total{";
        read(core).into_iter().filter(|(series, _)| series.starts_with(family)).collect()
    };
    let before = of(&mut core);
    assert_eq!(before.len(), 3 * Out::ALL.len(), "{before:?}");
    core.network_changed(vec![topology::Change::LinkGone(2)]);
    let rest = before.into_iter().filter(|(series, _)| !series.contains("\"lan2\"")).collect();
    assert_eq!(of(&mut core), rest);
}

/// Tests the rules of Prometheus, as promtool does.
#[test]
fn metric_names_follow_the_rules_of_prometheus() {
    let answer = ask(&mut busy(), "metrics", json!({}));
    let mut seen = BTreeSet::new();
    for family in answer["families"].as_array().unwrap() {
        let word = |field: &str| family[field].as_str().unwrap();
        let name = word("name");
        assert!(seen.insert(name.to_owned()), "{name}: twice");
        let usual = |c: char| c.is_ascii_lowercase() || c == '_';
        assert!(name.starts_with("fastpath_") && name.chars().all(usual), "{name}");
        assert_eq!(name.ends_with("_total"), word("type") == "counter", "{name}");
        assert!(word("help").ends_with('.'), "{name}");
        let of_values = ["_ms", "_s", "_bps", "_milliseconds", "_kilobytes"];
        assert!(!of_values.iter().any(|unit| name.ends_with(unit)), "{name}: not a base unit");
        let samples = family["samples"].as_array().unwrap();
        assert!(!samples.is_empty(), "{name}");
        let names = |sample: &Value| -> Vec<String> {
            sample["labels"].as_object().unwrap().keys().cloned().collect()
        };
        for sample in samples {
            assert_eq!(names(sample), names(&samples[0]), "{name}");
        }
    }
}

#[test]
fn devices_have_metrics_only_if_the_owner_wants() {
    let mut core = busy();
    let of = |core: &mut Core| {
        read(core).keys().filter(|series| series.starts_with("fastpath_device_")).count()
    };
    assert_eq!(of(&mut core), 5);
    core.configuration_read(&configuration("flowtable"));
    assert_eq!(of(&mut core), 0);
}

#[test]
fn a_restarted_wan_counts_as_a_reconnect() {
    let mut core = running();
    let reconnects = r#"fastpath_wan_reconnects_total{interface="wan"}"#;
    assert_eq!(read(&mut core)[reconnects], "0");
    core.set_clock(Now { mono: Duration::from_secs(100), ..core.now() }, Duration::ZERO);
    let mut dump = lab_dump();
    dump["interface"][1]["uptime"] = 5.into();
    core.interfaces_read(&dump);
    assert_eq!(read(&mut core)[reconnects], "1");
}

/// Returns a download by one of 253 hosts, in 100,000 variants.
fn one_of_many(id: u32) -> Entry {
    let mut entry = established(id, false);
    let host = IpAddr::V4(Ipv4Addr::from_bits(0x0a0a_0a02 + id % 253));
    let port = u16::try_from(1024 + id % 60_000).unwrap();
    (entry.orig.src, entry.orig.sport, entry.reply.dport) = (host, port, port);
    entry
}

#[test]
fn counters_of_many_flows_never_decrease() {
    let mut core = busy();
    let mut values = configuration("flowtable");
    values["main"]["metrics_hosts"] = "100".into();
    core.configuration_read(&values);
    let all: Vec<Entry> = (0..20_000).map(one_of_many).collect();
    dump(&mut core, 4, &all);
    let before = read(&mut core);
    assert_eq!(core.conntrack().flows().len(), all.len());
    // A third of the flows ends with an event, a third ends without one, and a third continues.
    let (third, ends) = (all.len() / 3, all.len() / 3 * 2);
    let ended = all[..third].iter().map(|entry| Event::Destroy(grown(*entry, 2)));
    core.entries_changed(&ended.collect::<Vec<_>>());
    dump(&mut core, 6, &all[ends..].iter().map(|entry| grown(*entry, 2)).collect::<Vec<_>>());
    let after = read(&mut core);
    let counters = || before.iter().filter(|(series, _)| series.contains("_total"));
    let number = |text: &str| text.parse::<f64>().unwrap();
    for (series, value) in counters() {
        let now = after.get(series).unwrap_or_else(|| panic!("{series}: gone"));
        assert!(number(now) >= number(value), "{series}: {now} after {value}");
    }
    let sum = |of: &BTreeMap<String, String>, family: &str| -> u64 {
        let all = of.iter().filter(|(series, _)| series.starts_with(family));
        all.map(|(_, value)| value.parse::<u64>().unwrap()).sum()
    };
    let bytes = "fastpath_forwarded_bytes_total";
    let grown = 151_000 * (third + all.len() - ends) as u64;
    assert_eq!(sum(&after, bytes) - sum(&before, bytes), grown);
    let hosts = "fastpath_host_bytes_total";
    assert_eq!(sum(&after, hosts) - sum(&before, hosts), grown);
    assert_eq!(sum(&after, "fastpath_flows{"), (all.len() - ends) as u64);
}
