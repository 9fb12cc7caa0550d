// SPDX-License-Identifier: GPL-2.0-or-later
use proptest::prelude::*;
use serde_json::json;

use super::*;

/// Events of Suricata 8.0.8 on two queues, in file order: a page with `uid=0(root)`, TLS with a
/// server name, two datagrams to port 53.
const RECORDED: &str = include_str!("../../../tests/data/eve.jsonl");

fn recorded() -> Vec<Event> {
    RECORDED.lines().map(|line| read_event(line.as_bytes()).expect(line)).collect()
}

fn alerts() -> Vec<Alert> {
    let alert = |event| match event {
        Event::Alert(alert) => Some(*alert),
        _ => None,
    };
    recorded().into_iter().filter_map(alert).collect()
}

fn address(text: &str) -> Option<IpAddr> {
    text.parse().ok()
}

#[test]
fn each_form_of_a_request_has_its_target() {
    for (host, url, target) in [
        ("h.example", "/a?b=http://c/d", "h.example/a?b=http://c/d"),
        ("proxy.example", "http://proxy.example/index.html", "proxy.example/index.html"),
        ("h.example", "HTTP://h.example:8080/x", "h.example:8080/x"),
        ("good.example", "http://evil.example/", "evil.example/"),
        ("secret.example", "secret.example:443", "secret.example:443"),
        ("h.example", "*", "h.example"),
        ("2001:db8::1", "[2001:db8::1]:443", "[2001:db8::1]:443"),
        ("", "/x", "/x"),
        ("h.example", "", "h.example"),
    ] {
        let line = serde_json::json!({
            "event_type": "alert", "app_proto": "failed", "http": {"hostname": host, "url": url},
            "alert": {"action": "allowed", "signature_id": 1},
        });
        let Some(Event::Alert(alert)) = read_event(line.to_string().as_bytes()) else {
            panic!("{line}")
        };
        assert_eq!((alert.target.as_str(), alert.app.as_str()), (target, ""));
    }
}

#[test]
fn the_target_of_an_alert_about_http_is_host_and_path() {
    let alert = &alerts()[0];
    let expected = Alert {
        at_ms: 1_795_246_692_977,
        blocked: true,
        gid: 1,
        sid: 2_100_498,
        rev: 7,
        signature: "GPL ATTACK_RESPONSE id check returned root".into(),
        category: "Potentially Bad Traffic".into(),
        severity: 2,
        proto: "TCP".into(),
        app: "http".into(),
        src: address("127.0.0.1"),
        sport: 80,
        dst: address("127.0.0.1"),
        dport: 50778,
        direction: Some(Direction::ToClient),
        target: "127.0.0.1/bad.txt".into(),
        device: String::new(),
        flow: 1_377_904_098_305_365,
        offence: address("127.0.0.1").map(|address| Offence { address, proven: false }),
    };
    assert_eq!(*alert, expected);
}

/// Returns whether a drop of this protocol proves its source, given flowbits and packets in both
/// directions.
fn is_proven(proto: &str, bits: &[&str]) -> bool {
    let line = json!({
        "event_type": "alert", "src_ip": "192.0.2.1", "proto": proto,
        "alert": {"action": "blocked", "signature_id": 1},
        "metadata": {"flowbits": bits},
        "flow": {"pkts_toserver": 2, "pkts_toclient": 1},
    });
    let Some(Event::Alert(alert)) = read_event(line.to_string().as_bytes()) else {
        panic!("{line}");
    };
    alert.offence.expect("a drop").proven
}

#[test]
fn only_a_complete_handshake_proves_a_source() {
    assert!(is_proven("TCP", &["http.agent", "fastpath.handshake"]));
    assert!(!is_proven("TCP", &[]), "midstream");
    assert!(!is_proven("TCP", &["fastpath.syn", "fastpath.synack"]), "not acknowledged");
    for proto in ["UDP", "ICMP", "SCTP", "IPv6-ICMP", ""] {
        assert!(!is_proven(proto, &["fastpath.handshake"]), "{proto}");
    }
}

#[test]
fn names_of_tls_and_dns_are_targets() {
    let alerts = alerts();
    assert_eq!(alerts[1].target, "www.example.org");
    assert_eq!((alerts[1].blocked, alerts[1].offence.is_none()), (false, true));
    assert_eq!(alerts[2].target, "evil.example.org");
    assert_eq!(alerts[2].category, "", "a rule without a class");
}

#[test]
fn a_datagram_does_not_prove_its_source() {
    let offence = alerts()[3].offence.clone().unwrap();
    assert!(!offence.proven, "a datagram: {offence:?}");
}

#[test]
fn a_rule_can_name_the_offender() {
    let line = json!({
        "event_type": "alert", "src_ip": "192.0.2.1", "dest_ip": "10.0.0.2",
        "alert": {"action": "blocked", "signature_id": 1, "source": {"ip": "10.0.0.2"}},
        "flow": {"pkts_toserver": 1, "pkts_toclient": 1},
    });
    let Some(Event::Alert(alert)) = read_event(line.to_string().as_bytes()) else {
        panic!("{line}");
    };
    assert_eq!(alert.offence.map(|offence| offence.address), address("10.0.0.2"));
}

#[test]
fn a_packet_dropped_by_another_rule_is_blocked_without_an_offence() {
    let line = json!({
        "event_type": "alert", "src_ip": "192.0.2.1", "verdict": {"action": "drop"},
        "alert": {"action": "allowed", "signature_id": 1},
    });
    let Some(Event::Alert(alert)) = read_event(line.to_string().as_bytes()) else {
        panic!("{line}");
    };
    assert!(alert.blocked);
    assert_eq!(alert.offence, None);
}

#[test]
fn recognises_drops_handshakes_flows_and_counters() {
    let events = recorded();
    let count = |what: fn(&Event) -> bool| events.iter().filter(|event| what(event)).count();
    assert_eq!(count(|event| *event == Event::Drop), 3);
    let handshake = Event::Handshake { named: true, fingerprinted: true };
    assert_eq!(events.iter().filter(|event| **event == handshake).count(), 1);
    let flows: Vec<&FlowEnd> = events
        .iter()
        .filter_map(|event| if let Event::Flow(flow) = event { Some(flow) } else { None })
        .collect();
    assert_eq!(flows.len(), 4);
    assert_eq!((flows[0].app.as_str(), flows[0].bytes, flows[0].dport), ("tls", 8748, 443));
    let Some(Event::Stats(counters)) = events.last() else {
        panic!("the last one");
    };
    assert_eq!((counters.accepted, counters.blocked, counters.alerts), (35, 17, 4));
    assert_eq!((counters.packets, counters.bypassed_flows, counters.bypassed_packets), (52, 1, 12));
    assert_eq!(counters.rules.map(|rules| (rules.loaded, rules.failed)), Some((4, 0)));
}

#[test]
fn long_texts_are_truncated() {
    let line = json!({
        "event_type": "alert",
        "alert": {"signature": "<script>\u{1b}[2J\u{0}", "category": "é".repeat(100_000)},
        "http": {"hostname": "a".repeat(255), "url": "/".repeat(60_000)},
        "in_iface": "x".repeat(999), "proto": "p".repeat(99), "app_proto": "q".repeat(99),
    });
    let Some(Event::Alert(alert)) = read_event(line.to_string().as_bytes()) else {
        panic!("an alert");
    };
    assert_eq!(alert.signature, "<script>\u{1b}[2J\u{0}");
    assert_eq!(alert.category.len(), 128);
    assert_eq!(alert.target.len(), 256);
    assert_eq!((alert.device.len(), alert.proto.len(), alert.app.len()), (16, 16, 32));
}

#[test]
fn invalid_utf_8_becomes_replacement_characters() {
    let line = b"{\"event_type\":\"alert\",\"alert\":{\"signature\":\"a\xffb\"}}";
    let Some(Event::Alert(alert)) = read_event(line) else {
        panic!("an alert");
    };
    assert_eq!(alert.signature, "a\u{fffd}b");
}

#[test]
fn rejects_lines_that_are_not_events() {
    let deep =
        format!("{{\"event_type\":\"x\",\"http\":{}{}}}", "[".repeat(9999), "]".repeat(9999));
    for line in [
        "",
        "{",
        "null",
        "[\"alert\"]",
        "{}",
        "{\"event_type\":7}",
        "{\"event_type\":\"alert\"}",
        "{\"event_type\":\"flow\"}",
        "{\"event_type\":\"tls\"}",
        "{\"event_type\":\"stats\",\"stats\":[]}",
        "{\"event_type\":\"alert\",\"src_port\":-1}",
        "{\"event_type\":\"alert\",\"src_port\":65536,\"alert\":{}}",
        // Two lines, of which the first is truncated.
        "{\"event_type\":\"alert\",\"al{\"event_type\":\"drop\"}",
        &deep,
    ] {
        assert_eq!(read_event(line.as_bytes()), None, "{line:.80}");
    }
    assert_eq!(read_event(b"{\"event_type\":\"anomaly\"}"), Some(Event::Other));
}

proptest! {
    #[test]
    fn parses_any_bytes_without_a_panic(bytes: Vec<u8>, at in 0_usize..4000, new: u8) {
        let _ = read_event(&bytes);
        for line in RECORDED.lines().take(4) {
            let mut line = line.as_bytes().to_vec();
            let at = at % line.len();
            line[at] = new;
            let _ = read_event(&line);
            let _ = read_event(&line[..at]);
        }
    }
}
