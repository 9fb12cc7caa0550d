// SPDX-License-Identifier: GPL-2.0-or-later

use serde_json::{Value, json};

use super::missing;
use crate::facts::Facts;
use crate::facts::flowtable::read;
use crate::finding::{Finding, Fix, Severity, Step};
use crate::machine::fake::Fake;
use crate::texts::tests::assert_texts;

fn kernel(modules: &str) -> Fake {
    Fake::new().file("/proc/modules", modules).file("/proc/sys/kernel/osrelease", "6.12.1\n")
}

fn facts(fake: &Fake) -> Facts {
    Facts { flowtable: read(fake), ..Facts::default() }
}

#[test]
fn a_loaded_or_built_in_module_has_no_finding() {
    let loaded = kernel("nft_flow_offload 16384 1 - Live 0x0\n");
    assert_eq!(missing(&facts(&loaded)), Ok(None));
    let built_in = kernel("")
        .file("/lib/modules/6.12.1/modules.builtin", "kernel/net/netfilter/nft_flow_offload.ko\n");
    assert_eq!(missing(&facts(&built_in)), Ok(None));
}

#[test]
fn the_fix_loads_an_installed_module() {
    let fake = kernel("nf_flow_table 16384 0 - Live 0x0\n")
        .file("/lib/modules/6.12.1/nft_flow_offload.ko", "");
    let finding = missing(&facts(&fake)).unwrap().unwrap();
    assert_eq!(finding.severity, Severity::Error);
    assert!(finding.fix.is_some());
    assert_texts("flowtable-missing", &finding);
}

#[test]
fn offers_no_fix_for_a_missing_module() {
    let finding = missing(&facts(&kernel(""))).unwrap().unwrap();
    assert_eq!((finding.case, &finding.fix), ("absent", &None));
    assert_texts("flowtable-missing", &finding);
}

#[test]
fn the_check_is_unknown_without_the_list_of_modules() {
    let error = missing(&facts(&Fake::new())).unwrap_err().to_string();
    assert!(error.contains("/proc/modules"), "{error}");
}

fn router(status: &Value, topology: &Value) -> Fake {
    let page = json!({"cols": ["reason", "up_bytes", "down_bytes", "idle_s"], "rows": []});
    kernel("nft_flow_offload 1 0 - Live 0x0\n")
        .answers("fastpath status", status.clone())
        .answers("fastpath topology", topology.clone())
        .answers("fastpath flows", page)
        .prints("nft list flowtables", TABLE)
}

const TABLE: &str = "table inet fastpath {\n\tflowtable ft {\n\t\thook ingress priority filter\n\
                     \t\tdevices = { \"lan1\", wan }\n\t\tcounter\n\t}\n}\n";

fn status() -> Value {
    let path = |bps: u64| json!({"flows": 1, "bps": bps, "pps": 10});
    json!({
        "engine": {"wanted": "flowtable", "active": "flowtable", "why": "", "devices": ["lan1"]},
        "paths": {"slow": path(1000), "flowtable": path(90_000_000)},
        "ratio": {"now": 0.98, "total": 0.5},
        "health": [],
    })
}

fn topology() -> Value {
    let link = |name: &str, kind: &str, lowest: bool| {
        json!({
            "name": name, "kind": kind, "lowest": lowest, "up": true,
            "in_flowtable": lowest, "why": "a port",
        })
    };
    json!({"links": [
        link("lan1", "ethernet", true), link("wan", "ethernet", true),
        link("br-lan", "bridge", false), link("br-lan.10", "vlan", false),
    ]})
}

/// Returns the findings of the group's checks by id.
fn found(fake: &Fake) -> Vec<(&'static str, Finding)> {
    let mut facts = facts(fake);
    facts.uci = crate::facts::uci::read(fake);
    let run = |check: &super::Check| {
        let finding = (check.run)(&facts).unwrap_or_else(|why| panic!("{}: {why}", check.id))?;
        assert_texts(check.id, &finding);
        Some((check.id, finding))
    };
    super::CHECKS.iter().filter_map(run).collect()
}

fn only(fake: Fake, id: &str) -> Finding {
    let fake = with_uci(fake, "", "");
    let mut found = found(&fake);
    let ids: Vec<_> = found.iter().map(|(id, _)| *id).collect();
    assert_eq!(ids, [id]);
    found.remove(0).1
}

fn with_uci(fake: Fake, fastpath: &str, firewall: &str) -> Fake {
    fake.file("/etc/config/fastpath", fastpath).file("/etc/config/firewall", firewall)
}

#[test]
fn a_healthy_router_has_no_finding() {
    let fake = with_uci(router(&status(), &topology()), "", "config defaults\n");
    let fake = fake.file("/proc/sys/net/netfilter/nf_flowtable_tcp_timeout", "30\n");
    assert_eq!(found(&fake), []);
}

#[test]
fn the_fix_enables_the_engine() {
    let mut off = status();
    off["engine"] = json!({"wanted": "off", "active": "off", "why": ""});
    let finding = only(router(&off, &topology()), "flowtable-off");
    assert!(matches!(&finding.fix, Some(Fix::Steps(steps)) if steps.len() == 1));
}

#[test]
fn the_fix_selects_an_engine_in_the_configuration() {
    let mut off = status();
    off["engine"] = json!({"wanted": "off", "active": "off", "why": ""});
    let fix = |config: &str| {
        let found = found(&with_uci(router(&off, &topology()), config, ""));
        let (_, finding) = found.into_iter().find(|(id, _)| *id == "flowtable-off").unwrap();
        finding.fix.unwrap()
    };
    let values = json!({"enabled": "1", "engine": "flowtable"});
    let edit = json!({"op": "set", "config": "fastpath", "section": "main", "values": values});
    for config in ["option engine 'off'", "option enabled '0'", "option engine 'ebpf'"] {
        let expected = Fix::Change(vec![edit.clone()]);
        assert_eq!(fix(&format!("config fastpath 'main'\n\t{config}\n")), expected);
    }
    // A command disabled the engine, so a change of the file would have no effect.
    let step = fix("config fastpath 'main'\n\toption engine 'flowtable'\n");
    assert!(matches!(&step, Fix::Steps(steps) if steps.len() == 1), "{step:?}");
}

#[test]
fn a_refused_engine_is_reported_with_the_message_of_nft() {
    let mut refused = status();
    refused["engine"]["active"] = "off".into();
    refused["engine"]["why"] = "nft: no such file".into();
    assert_eq!(found(&with_uci(router(&refused, &topology()), "", "")), [], "not settled yet");
    refused["health"] = json!([{"code": "flowtable-differs", "level": "error"}]);
    let finding = only(router(&refused, &topology()), "flowtable-differs");
    assert!(finding.evidence.iter().any(|seen| seen.value == "nft: no such file"));
    assert_eq!(finding.fix, None);
}

#[test]
fn reports_a_table_that_is_missing_in_the_kernel() {
    let fake = router(&status(), &topology()).prints("nft list flowtables", "");
    let finding = only(fake, "flowtable-differs");
    assert_eq!(finding.case, "gone");
}

#[test]
fn rejected_hardware_offload_is_not_reported_as_a_difference() {
    let mut fallback = status();
    fallback["engine"]["wanted"] = "flowtable-hw".into();
    fallback["engine"]["why"] = "lan1 has no hardware offload".into();
    fallback["health"] = json!([{"code": "flowtable-differs", "level": "error"}]);
    assert_eq!(found(&with_uci(router(&fallback, &topology()), "", "")), []);
}

#[test]
fn the_fix_adds_a_port_that_the_settings_exclude() {
    let mut left_out = topology();
    left_out["links"][1]["in_flowtable"] = false.into();
    let finding = only(router(&status(), &left_out), "flowtable-devices");
    assert_eq!((finding.case, &finding.fix), ("", &None));
    assert_eq!(finding.params["devices"], "wan");

    let settings = "config fastpath 'main'\n\tlist ignore_device 'wan'\n";
    let fake = with_uci(router(&status(), &left_out), settings, "");
    let (_, finding) = found(&fake).remove(0);
    assert_eq!(finding.case, "settings");
    let Some(Fix::Change(edits)) = &finding.fix else { panic!("{finding:?}") };
    assert_eq!(edits[0]["section"], "main");
    assert_eq!(edits[0]["values"], json!({"device": null, "ignore_device": null}));
}

#[test]
fn checks_flowtables_of_other_programs() {
    let own = format!(
        "{TABLE}table inet own {{\n\tflowtable f {{\n\t\tdevices = {{ br-lan.10 }}\n\t}}\n}}\n"
    );
    let fake = with_uci(router(&status(), &topology()).prints("nft list flowtables", &own), "", "");
    let ids: Vec<_> = found(&fake).into_iter().map(|(id, _)| id).collect();
    assert_eq!(ids, ["flowtable-upper", "flowtable-counters"]);
}

#[test]
fn reports_a_low_share_with_the_reasons_of_most_bytes() {
    let mut low = status();
    low["ratio"]["now"] = json!(0.1);
    let page = json!({"cols": ["reason", "up_bytes", "down_bytes"], "rows": [
        ["local", 1, 1], ["excluded", 5_000_000, 1], ["helper", 2000, 0], ["excluded", 0, 9],
        ["pending", 3, 0],
    ]});
    let finding =
        only(router(&low, &topology()).answers("fastpath flows", page), "flowtable-share");
    let reasons: Vec<_> = finding.evidence.iter().map(|seen| seen.of.as_str()).collect();
    assert_eq!(reasons, ["", "", "excluded", "helper", "pending"]);
    low["paths"]["flowtable"]["bps"] = json!(0);
    assert_eq!(found(&with_uci(router(&low, &topology()), "", "")), []);
}

#[test]
fn the_fix_disables_fw4_offloading() {
    let on = "config defaults\n\toption flow_offloading '1'\n";
    let fake = with_uci(router(&status(), &topology()), "", on);
    let (id, finding) = found(&fake).remove(0);
    assert_eq!(id, "flowtable-fw4");
    let Some(Fix::Change(edits)) = finding.fix else { panic!("no fix") };
    assert_eq!(edits[0]["values"]["flow_offloading"], "0");

    let left = format!("{TABLE}table inet fw4 {{\n\tflowtable ft {{\n\t\tcounter\n\t}}\n}}\n");
    let fake = router(&status(), &topology()).prints("nft list flowtables", &left);
    assert_eq!(only(fake, "flowtable-fw4").case, "table");
}

#[test]
fn the_fix_resets_long_timeouts() {
    let path = "/proc/sys/net/netfilter/nf_flowtable_udp_timeout";
    let finding = only(router(&status(), &topology()).file(path, "3600\n"), "flowtable-stale");
    let step = Step::Write { path: path.into(), text: "30".into() };
    assert_eq!(finding.fix, Some(Fix::Steps(vec![step])));
}

#[test]
fn counts_flows_without_a_neighbour() {
    let page = json!({"cols": ["reason", "up_bytes", "down_bytes"], "rows": [
        ["no-neighbour", 4000, 1000],
    ]});
    let fake = router(&status(), &topology()).answers("fastpath flows", page);
    let finding = only(fake, "flowtable-neighbours");
    assert_eq!(finding.evidence[0].value, "1 (5 kB)");
}

#[test]
fn names_devices_with_shaping_that_offload_would_bypass() {
    let mut queued = topology();
    queued["links"][0]["shaped"] = "cake on pppoe-wan".into();
    let finding = only(router(&status(), &queued), "flowtable-shaped");
    assert_eq!(finding.severity, Severity::Advice);
    assert_eq!(finding.evidence[0].value, "cake on pppoe-wan");
    assert_eq!(finding.params["devices"], queued["links"][0]["name"]);
    let mut ebpf = status();
    ebpf["engine"]["active"] = "ebpf".into();
    let facts = facts(&router(&ebpf, &queued));
    let check = super::CHECKS.iter().find(|check| check.id == "flowtable-shaped").unwrap();
    assert_eq!((check.run)(&facts), Ok(None), "it knows by itself");
}

#[test]
fn names_devices_with_headers_that_the_flowtable_cannot_read() {
    let mut tagged = topology();
    let name = tagged["links"][0]["name"].clone();
    tagged["links"][0]["cause"] = json!({"code": "encapsulated", "params": {}});
    let finding = only(router(&status(), &tagged), "flowtable-headers");
    assert_eq!((finding.severity, &finding.params["devices"]), (Severity::Advice, &name));
    assert_texts("flowtable-headers", &finding);
}

#[test]
fn names_per_packet_rules_without_their_handle() {
    let mut ruled = status();
    ruled["engine"]["packet_rules"] =
        json!(["inet qos down handle 7 (guests)", "netdev qos lan1 handle 12"]);
    let page = json!({"cols": ["reason", "up_bytes", "down_bytes"], "rows": [
        ["rule-per-packet", 4000, 1000],
    ]});
    let finding = only(router(&ruled, &topology()).answers("fastpath flows", page), "packet-rules");
    assert_eq!(finding.about(), ["inet qos down (guests)", "netdev qos lan1"]);
    assert_eq!(finding.evidence[1].value, "handle 12");
    assert_eq!((&finding.params["count"], &finding.params["flows"]), (&json!(2), &json!(1)));
}

#[test]
fn the_engine_is_unknown_without_the_daemon() {
    let facts = facts(&kernel(""));
    assert!((super::CHECKS[1].run)(&facts).is_err());
}

#[test]
fn fw4s_flowtable_is_not_reported_for_missing_counters() {
    use crate::texts::Texts;
    let on = "config defaults\n\toption flow_offloading '1'\n";
    let (id, finding) = found(&with_uci(router(&status(), &topology()), "", on)).remove(0);
    let text = Texts::english().finding("flowtable", id, &finding, "consequence");
    assert!(!text.contains("count"), "{text}");
}

#[test]
fn reports_routing_rules_that_ebpf_ignores() {
    let routed = |wanted: &str, policies: &[&str]| {
        let (mut status, mut topology) = (status(), topology());
        status["engine"]["wanted"] = wanted.into();
        status["engine"]["active"] = wanted.into();
        topology["policies"] = json!(policies);
        router(&status, &topology)
    };
    let rule = "100: from 10.10.10.0/24 lookup 100";
    let finding = only(routed("ebpf", &["vrf blue", rule]), "policy-routing");
    assert_eq!(finding.severity, Severity::Warning);
    let seen: Vec<&str> = finding.evidence.iter().map(|seen| seen.value.as_str()).collect();
    assert_eq!(seen, ["vrf blue", rule]);
    assert!(matches!(&finding.fix, Some(Fix::Steps(steps)) if steps.len() == 1));
    assert_eq!(finding.params["count"], 2);
    for (engine, policies) in [("ebpf", &[][..]), ("flowtable", &[rule])] {
        let fake = with_uci(routed(engine, policies), "", "");
        assert!(!found(&fake).iter().any(|(id, _)| *id == "policy-routing"));
    }
}
