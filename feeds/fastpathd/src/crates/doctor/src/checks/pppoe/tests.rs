// SPDX-License-Identifier: GPL-2.0-or-later

use serde_json::{Value, json};

use super::CHECKS;
use crate::facts::pppoe::{Pppoe, Session};
use crate::facts::{Facts, Known, pppoe, rules, uci};
use crate::finding::{Finding, Fix, Step};
use crate::machine::Machine;
use crate::machine::fake::Fake;
use crate::texts::tests::all_found;

/// Returns a router with an MSS rule in a base chain at `hook`.
fn with_rules(hook: &str, matches: &[Value], value: &Value) -> Fake {
    let key = json!({"tcp option": {"name": "maxseg", "field": "size"}});
    let mangle = json!({"mangle": {"key": key, "value": value}});
    let expr = [matches, &[mangle]].concat();
    let chain = json!({"family": "inet", "table": "fw4", "name": "mss", "hook": hook,
        "type": "filter"});
    let rule = json!({"family": "inet", "table": "fw4", "chain": "mss", "expr": expr});
    let rules = json!({"nftables": [{"chain": chain}, {"rule": rule}]}).to_string();
    let zone = "config zone 'z'\n\toption name 'wan'\n\tlist network 'wan'\n";
    Fake::new()
        .prints("nft -j list ruleset", &rules)
        .file("/etc/config/firewall", zone)
        .file("/etc/config/network", "")
        .file("/etc/config/fastpath", "config fastpath 'main'\n")
}

fn router(clamped: bool) -> Fake {
    let rt_mtu = json!({"rt": {"key": "mtu"}});
    with_rules(if clamped { "forward" } else { "" }, &[], &rt_mtu)
}

fn meta(key: &str, op: &str, right: &Value) -> Value {
    json!({"match": {"op": op, "left": {"meta": {"key": key}}, "right": right}})
}

fn facts(fake: &Fake, mtu: u64, lower_mtu: u64, ended: u64, devices: &Value) -> Facts {
    let (device, lower) = ("pppoe-wan".to_owned(), "wan.35".to_owned());
    let session = Session { device, lower, mtu, lower_mtu };
    let wan = json!({"device": "pppoe-wan", "port": "wan", "proto": "pppoe", "up": true});
    let engine = json!({"active": "flowtable", "devices": devices});
    let mut facts = Facts { rules: rules::read(fake), uci: uci::read(fake), ..Facts::default() };
    facts.pppoe = Pppoe { sessions: vec![session].into(), ended: ended.into() };
    let status = json!({"engine": engine, "wan": [wan]});
    facts.flowtable.status = status.into();
    facts
}

fn found(facts: &Facts) -> Vec<(&'static str, Finding)> {
    all_found(CHECKS, facts)
}

fn ports() -> Value {
    json!(["lan1", "wan"])
}

#[test]
fn a_fitting_mtu_has_no_finding() {
    let fake = router(true);
    assert_eq!(found(&facts(&fake, 1492, 1500, 2, &ports())), []);
    assert_eq!(found(&facts(&fake, 1500, 1508, 0, &ports())), []);
}

#[test]
fn the_fix_sets_the_largest_fitting_mtu() {
    let (id, finding) = found(&facts(&router(true), 1500, 1500, 0, &ports())).remove(0);
    assert_eq!(id, "pppoe-mtu");
    let args = ["link", "set", "dev", "pppoe-wan", "mtu", "1492"].map(str::to_owned).to_vec();
    assert_eq!(finding.fix, Some(Fix::Steps(vec![Step::Run { program: "ip", args }])));
}

#[test]
fn the_fix_enables_mss_clamping_for_the_zone() {
    let (id, finding) = found(&facts(&router(false), 1492, 1500, 0, &ports())).remove(0);
    assert_eq!(id, "pppoe-mss");
    let Some(Fix::Change(edits)) = finding.fix else { panic!("no change") };
    assert_eq!(
        (&edits[0]["section"], &edits[0]["values"]),
        (&json!("z"), &json!({"mtu_fix": "1"}))
    );
    // An MTU of 1500 needs no clamping.
    assert_eq!(found(&facts(&router(false), 1500, 1508, 0, &ports())), []);
}

#[test]
fn counts_only_mss_rules_that_match_forwarded_connections() {
    let rt_mtu = json!({"rt": {"key": "mtu"}});
    let clamps = |hook: &str, matches: &[Value], value: &Value| {
        found(&facts(&with_rules(hook, matches, value), 1492, 1500, 0, &ports())).is_empty()
    };
    let both = json!({"set": ["eth1", "pppoe-wan"]});
    let left = json!({"ct": {"key": "state"}});
    let state = |names: &[&str]| json!({"match": {"op": "in", "left": left, "right": names}});
    for (hook, matches, value, expected) in [
        ("postrouting", vec![meta("oifname", "==", &json!("pppoe-wan"))], &rt_mtu, true),
        ("forward", vec![meta("oifname", "==", &both)], &rt_mtu, true),
        ("forward", vec![meta("oifname", "==", &json!("pppoe-*"))], &rt_mtu, true),
        ("forward", vec![meta("iifname", "==", &json!("br-lan"))], &rt_mtu, true),
        ("forward", vec![state(&["new"])], &json!(1452), true),
        ("output", vec![], &rt_mtu, false),
        ("input", vec![], &rt_mtu, false),
        ("forward", vec![meta("oifname", "==", &json!("eth1"))], &rt_mtu, false),
        ("forward", vec![meta("oifname", "!=", &both)], &rt_mtu, false),
        ("forward", vec![meta("iifname", "==", &json!("pppoe-wan"))], &rt_mtu, false),
        ("forward", vec![meta("nfproto", "==", &json!("ipv6"))], &rt_mtu, false),
        ("forward", vec![state(&["established", "related"])], &rt_mtu, false),
        ("forward", vec![], &json!(1460), false),
    ] {
        assert_eq!(clamps(hook, &matches, value), expected, "{hook} {matches:?} {value}");
    }
}

#[test]
fn reports_a_port_outside_the_fast_path() {
    let (id, finding) = found(&facts(&router(true), 1492, 1500, 0, &json!(["lan1"]))).remove(0);
    assert_eq!((id, &finding.params["port"]), ("pppoe-slow", &json!("wan")));
}

/// Returns the facts of a session with these options of netifd.
fn session_with(options: &str) -> Facts {
    let network = format!("config interface 'wan'\n\toption proto 'pppoe'\n{options}");
    facts(&router(true).file("/etc/config/network", &network), 1492, 1500, 0, &ports())
}

#[test]
fn reports_an_idle_timeout_that_offload_bypasses() {
    for options in [
        "\toption demand '300'\n",
        "\toption pppd_options 'debug idle 300 mtu 1492'\n",
        "\tlist pppd_options 'idle 300'\n",
    ] {
        let mut facts = session_with(options);
        let (id, finding) = found(&facts).remove(0);
        assert_eq!((id, &finding.params["seconds"]), ("pppoe-idle", &json!(300)), "{options}");
        let Some(Fix::Change(edits)) = finding.fix else { panic!("no change") };
        assert_eq!(edits[0]["values"], json!({"pppoe": "0"}));
        facts.flowtable.status = json!({"engine": {"active": "off"}}).into();
        assert_eq!(found(&facts), []);
    }
    for options in ["", "\toption demand '0'\n", "\toption pppd_options 'idle'\n"] {
        assert_eq!(found(&session_with(options)), [], "{options}");
    }
}

#[test]
fn names_programs_that_count_on_the_ppp_device() {
    let mut facts = session_with("");
    facts.others.counting = ["vnstatd", "nlbwmon"].into();
    let (id, finding) = found(&facts).remove(0);
    assert_eq!((id, &finding.params["programs"]), ("pppoe-uncounted", &json!("vnstatd")));
    facts.pppoe.sessions = vec![].into();
    assert_eq!(found(&facts), []);
}

#[test]
fn reports_too_many_reconnects_within_a_day() {
    let (id, _) = found(&facts(&router(true), 1492, 1500, 3, &ports())).remove(0);
    assert_eq!(id, "pppoe-redials");
}

#[test]
fn counts_ended_sessions_by_messages_of_pppd() {
    let fake = Fake::new();
    let now = fake.now_ms();
    let line = |time: u64, msg: &str| json!({"time": time, "msg": msg});
    let log = json!({"log": [
        line(now - 90_000_000, "pppd[1]: Connect time 5.0 minutes."),
        line(now - 1000, "pppd[2]: Connect time 0.1 minutes."),
        line(now - 900, "pppd[2]: Connection terminated."),
        line(now - 800, "somebody[3]: Connect time is money"),
    ]});
    let read = pppoe::read(&fake.answers("log read", log), &Known::default());
    assert_eq!(read.ended.get(), Ok(&1));
    assert!(pppoe::read(&Fake::new(), &Known::default()).ended.get().is_err());
}

#[test]
fn does_not_count_sessions_that_the_administrator_ended() {
    let count = |lines: &[(u64, &str)]| {
        let now = Fake::new().now_ms();
        let lines = lines.iter().map(|(at, msg)| json!({"time": now - 60_000 + at, "msg": msg}));
        let log = json!({"log": lines.collect::<Vec<_>>()});
        let read = pppoe::read(&Fake::new().answers("log read", log), &Known::default());
        *read.ended.get().unwrap()
    };
    let disconnected = [
        (10, "pppd[7]: Terminating on signal 15"),
        (20, "pppd[7]: Connect time 5.0 minutes."),
        (90, "netifd: Interface 'wan' is now down"),
    ];
    assert_eq!(count(&disconnected), 0);
    let by_the_isp = [
        (10, "pppd[8]: LCP terminated by peer"),
        (20, "pppd[8]: Connect time 5.0 minutes."),
        (30, "pppd[8]: Modem hangup"),
    ];
    assert_eq!(count(&by_the_isp), 1);
    let silent = [
        (10, "pppd[9]: No response to 5 echo-requests"),
        (20, "pppd[9]: Connect time 5.0 minutes."),
        // Concurrent termination of another pppd.
        (15, "pppd[10]: Terminating on signal 15"),
    ];
    assert_eq!(count(&silent), 1);
    let cable = [
        (5, "pppd[11]: Using interface pppoe-wan"),
        (10, "netifd: Interface 'wan' has link connectivity loss"),
        (20, "pppd[11]: Terminating on signal 15"),
        (30, "pppd[11]: Connect time 5.0 minutes."),
    ];
    assert_eq!(count(&cable), 1, "netifd ends the session when the cable is out");
    let later = [cable[0], cable[1], (30_000, cable[2].1), (30_010, cable[3].1)];
    assert_eq!(count(&later), 0, "the cable was out long before");
    let back = "netifd: Interface 'wan' has link connectivity";
    let again = [cable[0], cable[1], (15, back), cable[2], cable[3]];
    assert_eq!(count(&again), 0, "the link was there again");
    // Log of OpenWrt 25.12's netifd after `ifdown wan`. wan6 is an alias of wan.
    let alias = "netifd: Interface 'wan6' has link connectivity loss";
    assert_eq!(count(&[cable[0], (10, alias), cable[2], cable[3]]), 0, "a consequence");
}
