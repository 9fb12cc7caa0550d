// SPDX-License-Identifier: GPL-2.0-or-later
use serde_json::json;

use super::super::alert::Direction;
use super::*;

fn alert(sid: u32) -> Alert {
    Alert {
        at_ms: 7,
        blocked: sid.is_multiple_of(2),
        gid: 1,
        sid,
        rev: 1,
        signature: format!("Rule {sid}"),
        category: "Misc".into(),
        severity: sid % 4 + 1,
        proto: "TCP".into(),
        app: "http".into(),
        src: Some("192.0.2.1".parse().unwrap()),
        sport: 80,
        dst: Some("2001:db8::1".parse().unwrap()),
        dport: 1024,
        direction: Some(Direction::ToClient),
        target: "Example.org/".into(),
        device: "wan".into(),
        flow: 99,
        offence: None,
    }
}

fn alerts(number: u32) -> Alerts {
    let mut alerts = Alerts::default();
    for sid in 1..=number {
        alerts.add(alert(sid));
    }
    alerts
}

fn ids(page: &Page<'_>) -> Vec<u64> {
    page.alerts.iter().map(|row| row.id).collect()
}

struct Known;

impl AlertContext for Known {
    fn name(&self, address: IpAddr) -> Option<&str> {
        address.is_ipv6().then_some("laptop")
    }
    fn flow(&self, alert: &Alert) -> Option<u64> {
        (alert.sid == 3).then_some(77)
    }
}

#[test]
fn keeps_the_newest_alerts_and_continues_the_ids() {
    let alerts = alerts(2500);
    let page = alerts.page(&AlertFilter::default(), 3, 9000, &());
    assert_eq!(ids(&page), [2500, 2499, 2498]);
    assert_eq!((page.total, page.seen, page.last), (1000, 9000, 2500));
    assert_eq!(alerts.kept().0, page.total);
    // Every second id belongs to a passed packet.
    assert_eq!(alerts.newest_first().last().map(|(id, _)| id), Some(1301));
    let since = AlertFilter { since: 2498, ..AlertFilter::default() };
    assert_eq!(ids(&alerts.page(&since, 100, 0, &())), [2500, 2499]);
}

#[test]
fn a_flood_does_not_evict_other_alerts() {
    let from = |host: u8| Some(IpAddr::from([192, 0, 2, host]));
    let mut alerts = Alerts::default();
    alerts.add(Alert { blocked: true, sid: 8, ..alert(1) });
    alerts.add(Alert { blocked: false, sid: 9, src: from(9), ..alert(1) });
    for number in 0..1500_u32 {
        // Floods of one rule from many sources, and of many rules from one source.
        let host = u8::try_from(number % 200).unwrap();
        let one_rule = Alert { sid: 5, src: from(host), ..alert(1) };
        let one_source = Alert { sid: 10_000 + number, src: from(250), ..alert(1) };
        for flood in [one_rule, one_source] {
            for blocked in [false, true] {
                alerts.add(Alert { blocked, ..flood.clone() });
            }
        }
    }
    let kept = |id| alerts.newest_first().any(|(kept, _)| kept == id);
    assert!(kept(1) && kept(2));
    assert_eq!(alerts.newest_first().count(), 1000);
}

#[test]
fn saved_alerts_are_restored() {
    let before = alerts(7);
    let text = before.save();
    let mut after = Alerts::default();
    after.restore(&text);
    assert_eq!(after.last(), 7);
    assert_eq!(after.save(), text);
    assert_eq!(after.kept(), before.kept(), "number and time survive a restart");
    assert_eq!(before.kept(), (7, before.newest_first().last().unwrap().1.at_ms));
    assert_eq!(Alerts::default().kept(), (0, 0));
    assert_eq!(after.newest_first().next().unwrap().1, before.newest_first().next().unwrap().1);
    after.add(alert(8));
    assert_eq!(after.last(), 8);
}

#[test]
fn restored_alerts_are_bounded_like_events() {
    let long = Alert { signature: "é\u{1b}".repeat(9999), ..alert(2) };
    let mut one = Alerts::default();
    one.add(long);
    let line = one.save();
    let mut alerts = Alerts::default();
    let wrong = format!("x\n{{}}\n[]\n{}{line}{line}", line.replace("\"id\":1", "\"id\":0"));
    alerts.restore(&wrong);
    assert_eq!(alerts.newest_first().count(), 1);
    assert!(alerts.newest_first().next().unwrap().1.signature.len() <= 256);
    let mut far = Alerts::default();
    far.restore(&line.replace("\"id\":1", "\"id\":18446744073709551615"));
    assert_eq!(far.last(), 0, "ids that are too large are ignored");
    let mut many = Alerts::default();
    for sid in 1..=1000 {
        many.add(Alert {
            signature: "\u{1}".repeat(256),
            target: "\u{1}".repeat(256),
            ..alert(sid)
        });
    }
    assert!(many.save().len() <= saved::MAX_FILE_LEN);
    let mut after = Alerts::default();
    after.restore(&many.save());
    assert_eq!(after.last(), 1000, "the newest");
}

#[test]
fn the_memory_of_a_thousand_alerts_is_bounded() {
    // Maximum text lengths: 256 + 128 + 256 + 16 + 16 + 32 bytes.
    assert!(size_of::<Alert>() + 704 < 1200, "{}", size_of::<Alert>());
}

#[test]
fn a_filter_requires_all_its_conditions() {
    let alerts = alerts(4);
    let ends = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
    let text = |text: &str| Some(text.to_owned());
    let none = AlertFilter::default;
    for (filter, expected) in [
        (none(), vec![4, 3, 2, 1]),
        (AlertFilter { blocked: Some(true), ..none() }, vec![4, 2]),
        (AlertFilter { severity: Some(2), ..none() }, vec![4, 1]),
        (AlertFilter { sid: Some(3), ..none() }, vec![3]),
        (AlertFilter { addresses: ends(&["192.0.2.1"]), ..none() }, vec![4, 3, 2, 1]),
        (AlertFilter { addresses: ends(&["192.0.2.9"]), ..none() }, vec![]),
        (AlertFilter { addresses: ends(&["192.0.2.9", "192.0.2.1"]), ..none() }, vec![4, 3, 2, 1]),
        (AlertFilter { text: text("RULE 2"), ..none() }, vec![2]),
        (AlertFilter { text: text("example.ORG"), ..none() }, vec![4, 3, 2, 1]),
        (AlertFilter { text: text("2001:db8"), ..none() }, vec![4, 3, 2, 1]),
        (AlertFilter { text: text("Laptop"), ..none() }, vec![4, 3, 2, 1]),
        (AlertFilter { text: text("nothing"), ..none() }, vec![]),
        (AlertFilter { flow: Some(77), ..none() }, vec![3]),
        (AlertFilter { from_ms: 7, to_ms: Some(8), ..none() }, vec![4, 3, 2, 1]),
        (AlertFilter { from_ms: 8, ..none() }, vec![]),
        (AlertFilter { to_ms: Some(7), ..none() }, vec![]),
        (AlertFilter { blocked: Some(true), sid: Some(3), ..none() }, vec![]),
    ] {
        let page = alerts.page(&filter, 100, 0, &Known);
        assert_eq!(ids(&page), expected, "{filter:?}");
        assert_eq!(page.total, expected.len());
    }
}

#[test]
fn a_row_has_the_fields_of_the_api() {
    let alerts = alerts(3);
    let page = alerts.page(&AlertFilter::default(), 1, 3, &Known);
    let expected = json!({
        "total": 3, "seen": 3, "last": 3,
        "alerts": [{
            "id": 3, "at_ms": 7, "action": "allowed", "gid": 1, "sid": 3, "rev": 1,
            "signature": "Rule 3", "category": "Misc", "severity": 4, "proto": "TCP",
            "app": "http", "src": "192.0.2.1", "sport": 80, "dst": "2001:db8::1",
            "dport": 1024, "src_name": "", "dst_name": "laptop", "direction": "to_client",
            "target": "Example.org/", "device": "wan", "flow": 77,
        }],
    });
    assert_eq!(serde_json::to_value(&page).unwrap(), expected);
}

#[test]
fn an_alert_about_a_packet_without_ip_has_no_addresses() {
    let mut alerts = Alerts::default();
    alerts.add(Alert { src: None, dst: None, direction: None, ..alert(1) });
    let page = alerts.page(&AlertFilter::default(), 1, 1, &Known);
    let row = serde_json::to_value(&page.alerts[0]).unwrap();
    assert_eq!([&row["src"], &row["dst_name"], &row["direction"]], ["", "", ""]);
}
