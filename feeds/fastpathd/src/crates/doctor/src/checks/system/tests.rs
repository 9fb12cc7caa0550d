// SPDX-License-Identifier: GPL-2.0-or-later

use serde_json::{Value, json};

use uci::Package;

use super::*;
use crate::facts::Known;
use crate::facts::rules::Rules;
use crate::facts::system::{Account, FreeSpace, System};
use crate::texts::tests::found_by;

fn package(value: &Value) -> Known<Package> {
    Package::read(value.as_object().unwrap()).into()
}

fn listener(proto: &'static str, port: u16, program: &str) -> Listener {
    Listener { proto, port, program: program.into() }
}

fn account(name: &str, guess: Option<Guess>) -> Account {
    Account { name: name.into(), guess }
}

fn firewall() -> Value {
    json!({
        "lan": {".type": "zone", "name": "lan", "network": ["lan"], "input": "ACCEPT"},
        "wan": {".type": "zone", "name": "wan", "network": ["wan", "wan6"], "input": "REJECT"},
        "ping": {".type": "rule", "name": "Allow-Ping", "src": "*", "proto": "icmp",
            "target": "ACCEPT"},
        "dhcp": {".type": "rule", "name": "Allow-DHCP-Renew", "src": "wan", "proto": "udp",
            "dest_port": "68", "target": "ACCEPT"},
        "forward": {".type": "rule", "name": "IPsec", "src": "wan", "dest": "lan",
            "proto": "esp", "target": "ACCEPT"},
    })
}

fn facts() -> Facts {
    let system = System {
        accounts: vec![account("root", None), account("viewer", None)].into(),
        listeners: vec![listener("tcp", 22, "dropbear"), listener("udp", 68, "udhcpc")].into(),
        now_ms: BUILT_MS + 1000,
        clock: "ntpd".into(),
        pressure: "some avg10=0.00 avg60=0.10 avg300=0.00 total=5\n".to_owned().into(),
        memory: "MemTotal: 100000 kB\nMemFree: 1 kB\nMemAvailable: 40000 kB\n".to_owned().into(),
        killed: 0,
        free_space: vec![FreeSpace { place: "/etc/config", free: 50, used: 40 }].into(),
        root: ("overlay".to_owned(), "rw,noatime".to_owned()).into(),
        daemon: true,
        answers: "0.1.0".to_owned().into(),
        missing: Vec::new(),
        missing_senders: vec![("sendmail", "msmtp-mta"), ("curl", "curl")],
    };
    let chain = json!({"chain": {"family": "inet", "table": "fw4", "name": "input",
        "type": "filter", "hook": "input", "policy": "drop"}});
    let mut facts = Facts { system, ..Facts::default() };
    facts.rules = Rules { nft: vec![chain].into(), ..Rules::default() };
    facts.uci.broken = Vec::new().into();
    facts.uci.firewall = package(&firewall());
    facts.uci.fastpath = package(&json!({}));
    facts.uci.system = package(&json!({"ntp": {".type": "timeserver", "enabled": "1"}}));
    facts.flowtable.status = json!({"wan": [{"name": "wan", "proto": "pppoe"}]}).into();
    facts
}

fn found(id: &str, facts: &Facts) -> Finding {
    found_by(CHECKS, id, facts)
}

#[test]
fn a_healthy_router_has_no_finding() {
    for check in CHECKS {
        assert_eq!((check.run)(&facts()), Ok(None), "{}", check.id);
    }
}

#[test]
fn reports_files_that_libuci_cannot_parse() {
    let fake = crate::machine::fake::Fake::new()
        .file("/etc/config/network", "config interface 'lan'\n\toption ipaddr '192.168.1.1\n")
        .file("/etc/config/dhcp", "# \u{fc}\nc dnsmasq\no domain lan\n")
        .file("/etc/config/luci", "<html>\n")
        .file("/etc/config/firewall.bak", "<html>\n")
        .file("/etc/config/.network.uci-a1", "<html>\n");
    let mut facts = facts();
    facts.uci.broken = crate::facts::uci::read(&fake).broken;
    let finding = found("system-config", &facts);
    assert_eq!(
        (finding.severity, &finding.params["files"]),
        (Severity::Error, &json!("luci, network"))
    );
    let seen: Vec<_> = finding.evidence.iter().map(|of| (&*of.source, &*of.value)).collect();
    let first = "line 1: the line begins with none of package, config, option and list";
    let expected =
        [("/etc/config/luci", first), ("/etc/config/network", "line 2: a quote is never closed")];
    assert_eq!(seen, expected);
    let cause = json!({"kind": "refusal", "code": "uci-quote", "params": {"line": "2"}});
    assert_eq!(finding.evidence[1].cause, Some(cause));
}

#[test]
fn reports_a_daemon_that_is_silent_or_missing() {
    let mut facts = facts();
    facts.system.answers = Known::new(Err::<String, _>("there is no object fastpath on ubus"));
    assert_eq!(found("system-daemon", &facts).case, "silent");
    facts.system.daemon = false;
    assert!(found("system-daemon", &facts).fix.is_some());
}

#[test]
fn reports_missing_files_of_packages() {
    let mut facts = facts();
    facts.system.missing = vec![("/usr/libexec/fastpath-rules", "fastpathd")];
    assert_eq!(found("system-parts", &facts).evidence[0].source, "/usr/libexec/fastpath-rules");
}

#[test]
fn reports_weak_passwords_without_the_password() {
    let mut facts = facts();
    let common = account("viewer", Some(Guess::Common));
    facts.system.accounts = vec![account("root", None), common.clone()].into();
    let finding = found("system-password", &facts);
    assert_eq!((finding.severity, finding.case), (Severity::Warning, "common"));
    facts.system.accounts = vec![account("root", Some(Guess::Empty)), common].into();
    let finding = found("system-password", &facts);
    assert_eq!((finding.severity, finding.case), (Severity::Error, ""));
}

#[test]
fn reports_a_router_without_an_input_chain() {
    let mut facts = facts();
    facts.rules = Rules { nft: Vec::new().into(), ..Rules::default() };
    assert!(found("system-no-filter", &facts).fix.is_some());
}

#[test]
fn only_a_chain_that_can_drop_protects_the_router() {
    let chain = |family: &str, table: &str, policy: &str| {
        json!({"chain": {"family": family, "table": table, "name": "in", "type": "filter",
            "hook": "input", "policy": policy}})
    };
    let rule = |chain: &str, expr: &Value| {
        let rule = json!({"family": "inet", "table": "t", "chain": chain, "expr": [expr]});
        json!({"rule": rule})
    };
    let jump = json!({"jump": {"target": "wan"}});
    let vmap = json!({"vmap": {"key": {"meta": {"key": "iifname"}},
        "data": {"set": [["eth1", {"goto": {"target": "wan"}}]]}}});
    let drop = json!({"drop": null});
    let count = json!({"counter": {"packets": 1, "bytes": 1}});
    let open = chain("inet", "t", "accept");
    for (protects, objects) in [
        (true, vec![chain("ip", "t", "drop")]),
        (true, vec![open.clone(), rule("in", &drop)]),
        (true, vec![open.clone(), rule("in", &jump), rule("wan", &drop)]),
        (true, vec![open.clone(), rule("in", &vmap), rule("wan", &json!({"reject": null}))]),
        (false, vec![open.clone()]),
        (false, vec![open.clone(), rule("in", &count), rule("wan", &drop)]),
        (false, vec![chain("ip6", "t", "drop")]),
        (false, vec![chain("inet", "fastpath", "drop")]),
    ] {
        let mut facts = facts();
        facts.rules = Rules { nft: objects.clone().into(), ..Rules::default() };
        let check = CHECKS.iter().find(|check| check.id == "system-no-filter").unwrap();
        assert_eq!((check.run)(&facts).unwrap().is_none(), protects, "{objects:?}");
    }
}

#[test]
fn an_accepting_zone_exposes_the_listening_services() {
    let mut open = firewall();
    open["wan"]["input"] = "ACCEPT".into();
    let mut facts = facts();
    facts.uci.firewall = package(&open);
    let finding = found("system-wan-open", &facts);
    assert_eq!((finding.severity, finding.case), (Severity::Error, ""));
    assert_eq!(finding.params["services"], "dropbear");
    let edit = json!({"config": "firewall", "op": "set", "section": "wan",
        "values": {"input": "REJECT"}});
    assert_eq!(finding.fix, Some(Fix::Change(vec![edit])));
    facts.system.listeners = vec![listener("udp", 68, "udhcpc")].into();
    assert_eq!(wan_open(&facts), Ok(None), "nobody listens");
}

#[test]
fn a_forwarding_from_the_wan_exposes_a_zone() {
    let mut open = firewall();
    open["forwarding"] = json!({".type": "forwarding", "src": "wan", "dest": "lan"});
    let mut facts = facts();
    facts.uci.firewall = package(&open);
    let finding = found("system-wan-open", &facts);
    assert_eq!((finding.severity, finding.case), (Severity::Error, "zones"));
    assert_eq!((&finding.params["zones"], finding.fix), (&json!("lan"), None));
    open["wan"]["input"] = "ACCEPT".into();
    facts.uci.firewall = package(&open);
    assert_eq!(found("system-wan-open", &facts).case, "both");
}

#[test]
fn a_rule_exposes_the_services_on_its_ports() {
    let rule = |of: Value| {
        let mut firewall = firewall();
        firewall["new"] = of;
        firewall["new"][".type"] = "rule".into();
        firewall["new"]["target"] = "ACCEPT".into();
        let mut facts = facts();
        facts.uci.firewall = package(&firewall);
        facts
    };
    let open = rule(json!({"name": "ssh", "src": "wan", "dest_port": "20-22", "proto": ["tcp"]}));
    let finding = found("system-wan-open", &open);
    assert_eq!((finding.severity, finding.fix), (Severity::Warning, None));
    let every_port = rule(json!({"src": "wan"}));
    assert_eq!(found("system-wan-open", &every_port).severity, Severity::Error);
    // fw4 accepts protocol numbers, and ignores `!` before a protocol.
    for open in [
        json!({"src": "wan", "dest_port": "22", "proto": "6"}),
        json!({"src": "wan", "dest_port": "22", "proto": "!tcp"}),
        json!({"src": "wan", "dest_port": "443", "proto": "all"}),
        json!({"src": "wan", "dest_port": "!443", "proto": "tcp"}),
        json!({"src": "wan", "dest_port": "22", "src_ip": "0.0.0.0/0"}),
        json!({"src": "wan", "dest_port": "22", "src_mac": "02:00:5e:00:53:01"}),
    ] {
        let finding = found("system-wan-open", &rule(open.clone()));
        assert_eq!(finding.params["services"], "dropbear", "{open}");
    }
    for closed in [
        json!({"src": "wan", "dest_port": "22", "proto": "17"}),
        json!({"src": "wan", "dest_port": "22", "proto": "!udp"}),
        json!({"src": "wan", "dest_port": "!22", "proto": "tcp"}),
        json!({"src": "wan", "dest_port": "22", "dest_ip": "224.0.0.1"}),
        json!({"src": "lan", "dest_port": "22"}),
        json!({"src": "wan", "dest_port": "23"}),
        json!({"src": "wan", "dest_port": "22", "proto": "udp"}),
        json!({"src": "wan", "dest_port": "22", "src_ip": ["192.0.2.1"]}),
        json!({"src": "wan", "dest_port": "22", "enabled": "0"}),
    ] {
        assert_eq!(wan_open(&rule(closed.clone())), Ok(None), "{closed}");
    }
}

#[test]
fn reports_a_redirect_to_a_service_of_the_router() {
    let redirect = |port: &str, to: Value| {
        let mut firewall = firewall();
        firewall["new"] = json!({".type": "redirect", "name": "R", "src": "wan", "proto": "tcp",
            "src_dport": port, "dest_ip": to});
        let mut facts = facts();
        facts.uci.firewall = package(&firewall);
        facts.uci.network = package(&json!({"lan": {".type": "interface", "ipaddr": "10.0.0.1"}}));
        facts.uci.services = [2222].into();
        facts
    };
    for own in [Value::Null, json!("10.0.0.1")] {
        let finding = found("system-wan-open", &redirect("2222", own.clone()));
        assert_eq!(finding.severity, Severity::Warning);
        assert_eq!(finding.params["services"], "R", "{own}");
        assert_eq!(wan_open(&redirect("51820", own)), Ok(None));
    }
    assert_eq!(wan_open(&redirect("2222", json!("10.0.0.9"))), Ok(None));
}

#[test]
fn reports_a_wrong_or_unsynchronized_clock() {
    let mut facts = facts();
    facts.system.clock.clear();
    assert_eq!(found("system-clock", &facts).severity, Severity::Warning);
    facts.uci.system = package(&json!({}));
    assert_eq!(found("system-clock", &facts).severity, Severity::Info);
    facts.system.now_ms = 0;
    let finding = found("system-clock", &facts);
    assert_eq!((finding.severity, finding.case), (Severity::Error, "wrong"));
}

#[test]
fn reports_little_memory_and_memory_pressure() {
    let mut short = facts();
    short.system.memory = "MemTotal: 100000 kB\nMemAvailable: 900 kB\n".to_owned().into();
    found("system-memory", &short);
    let mut pressed = facts();
    pressed.system.pressure = "some avg10=1 avg60=35.20 total=5\n".to_owned().into();
    assert_eq!(found("system-memory", &pressed).evidence[1].value, "35.2 %");
    pressed.system.pressure = Known::default();
    assert_eq!(memory(&pressed), Ok(None), "a kernel without pressure");
    pressed.system.memory = String::new().into();
    assert!(memory(&pressed).is_err());
    pressed.system.killed = 2;
    found("system-oom", &pressed);
}

#[test]
fn reports_full_file_systems() {
    let mut facts = facts();
    facts.system.free_space = vec![FreeSpace { place: "/tmp", free: 1, used: 92 }].into();
    assert_eq!(found("system-storage", &facts).severity, Severity::Warning);
    facts.system.free_space = vec![FreeSpace { place: "/tmp", free: 0, used: 100 }].into();
    assert_eq!(found("system-storage", &facts).severity, Severity::Error);
}

#[test]
fn reports_programs_that_notifications_need() {
    let mut facts = facts();
    let mut packages = |options: &Value| {
        let mut section = json!({".type": "notification"});
        section.as_object_mut().unwrap().extend(options.as_object().unwrap().clone());
        facts.uci.fastpath = package(&json!({"phone": section}));
        notify(&facts).unwrap().map(|finding| finding.params["packages"].clone())
    };
    assert_eq!(packages(&json!({"mail": "a@b.example"})), Some(json!("msmtp-mta")));
    assert_eq!(packages(&json!({"url": "https://x/"})), Some(json!("curl")));
    assert_eq!(packages(&json!({"url": "https://x/", "enabled": "0"})), None);
    facts.uci.fastpath = package(&json!({"x": {".type": "notification", "mail": "a@b.example"}}));
    facts.system.missing_senders = vec![("notify.sh", "fastpath-notify")];
    let finding = found("system-notify", &facts);
    assert_eq!((finding.severity, &*finding.evidence[0].value), (Severity::Warning, "-"));
    facts.system.missing_senders.clear();
    assert_eq!(notify(&facts), Ok(None));
}

#[test]
fn reports_a_writable_root_without_an_overlay() {
    let mut facts = facts();
    facts.system.root = ("ext4".to_owned(), "rw,relatime".to_owned()).into();
    assert_eq!(found("system-root", &facts).severity, Severity::Info);
    facts.system.root = ("squashfs".to_owned(), "ro".to_owned()).into();
    assert_eq!(root(&facts), Ok(None));
}
