// SPDX-License-Identifier: GPL-2.0-or-later
use config::zone::Zone;
use flows::HostBytes;
use ledger::Entry;

use super::*;

const DAY: u64 = 86_400_000;
/// A local midnight, two hours before that of UTC.
const START: u64 = 20_500 * DAY - 7_200_000;
const PHONE: Mac = Mac([2, 0, 0, 0, 0, 1]);
const TV: Mac = Mac([2, 0, 0, 0, 0, 2]);

fn day_of(unix_ms: u64) -> Option<i64> {
    i64::try_from((unix_ms + 7_200_000) / DAY).ok().filter(|day| *day > 1)
}

/// Returns the events of a second in which a device receives MB.
fn second(quotas: &mut Quotas, (mac, mb): (Mac, u64), unix_ms: u64) -> Vec<String> {
    let bytes = HostBytes { sent: 0, received: mb * BYTES_PER_MB, offloaded: 0 };
    let sample = Sample {
        devices: &[(Some(mac), bytes), (None, bytes)],
        paths: [0; 5],
        alerts: [0; 2],
        wans: Vec::new(),
        engine: "flowtable",
        inspection: "off",
        digest: "",
        hits: &[],
        quotas: vec![(PHONE, 100)],
        day_of: &day_of,
        zone: Zone::fixed(0),
    };
    quotas.second(&sample, unix_ms).into_iter().map(|(_, about)| about).collect()
}

#[test]
fn a_quota_is_exceeded_once_in_a_local_day() {
    let mut quotas = Quotas::default();
    let event = [format!("{PHONE} 100")];
    assert_eq!(second(&mut quotas, (PHONE, 99), START), [""; 0]);
    assert_eq!(second(&mut quotas, (TV, 500), START + 1), [""; 0], "it has no quota");
    assert_eq!(second(&mut quotas, (PHONE, 1), START + 2), [""; 0], "exactly the quota");
    assert_eq!(second(&mut quotas, (PHONE, 1), START + DAY - 1), event);
    assert_eq!(second(&mut quotas, (PHONE, 500), START + DAY - 1), [""; 0], "once");
    assert_eq!(second(&mut quotas, (PHONE, 100), START + DAY), [""; 0], "another day");
    assert_eq!(second(&mut quotas, (PHONE, 1), START + DAY), event);
}

fn recent(quarter_mb: &[(u64, u64)], events: Vec<Entry>) -> Recent {
    let quarter = |unix_ms: u64| u32::try_from(unix_ms / 900_000).unwrap();
    let of = |(at, mb): &(u64, u64)| (quarter(*at), PHONE.0, mb * BYTES_PER_MB);
    Recent { last_id: 1, devices: quarter_mb.iter().map(of).collect(), events }
}

#[test]
fn recorded_bytes_of_the_day_count_after_a_restart() {
    let mut quotas = Quotas::default();
    quotas.opened(recent(&[(START - 900_000, 900), (START, 60), (START + 900_000, 39)], vec![]));
    // Before the clock is set.
    assert_eq!(second(&mut quotas, (PHONE, 1), 0), [""; 0]);
    assert_eq!(second(&mut quotas, (PHONE, 0), START + 1_800_000), [""; 0]);
    assert_eq!(second(&mut quotas, (PHONE, 1), START + 1_800_000).len(), 1);
}

#[test]
fn a_restart_does_not_repeat_an_event_of_the_day() {
    let event = |unix_ms| Entry { unix_ms, id: 1, kind: Kind::Quota, about: format!("{PHONE} 9") };
    for (at, events) in [(START, 0), (START - 1, 1)] {
        let mut quotas = Quotas::default();
        quotas.opened(recent(&[(START, 900)], vec![event(at)]));
        assert_eq!(second(&mut quotas, (PHONE, 1), START + 5).len(), events);
    }
}

#[test]
fn a_flood_of_macs_takes_bounded_memory() {
    let mut quotas = Quotas::default();
    second(&mut quotas, (PHONE, 100), START);
    for number in 0..2 * u32::try_from(MAX_DEVICES).unwrap() {
        let [_, a, b, c] = number.to_be_bytes();
        second(&mut quotas, (Mac([6, 0, 0, a, b, c]), 1), START);
    }
    assert_eq!(quotas.bytes.len(), MAX_DEVICES);
    assert_eq!(second(&mut quotas, (PHONE, 1), START).len(), 1);
}

fn hit(sid: u32, mac: Option<Mac>) -> Hit {
    Hit { sid, mac, signature: "scan".to_owned() }
}

fn told(alerts: &mut Alerts, hits: &[Hit], at: u64) -> Vec<String> {
    let events = alerts.second(hits, Duration::from_secs(at));
    events.into_iter().map(|(_, about)| about).collect()
}

#[test]
fn alerts_of_a_rule_and_device_are_one_event_an_hour_with_their_number() {
    let mut alerts = Alerts::default();
    let both = [hit(7, Some(PHONE)), hit(7, Some(PHONE)), hit(7, None)];
    assert_eq!(told(&mut alerts, &both, 0), [format!("7 {PHONE} 1 scan"), "7 - 1 scan".to_owned()]);
    for at in 1..3600 {
        assert_eq!(told(&mut alerts, &both[1..2], at), [""; 0]);
    }
    assert_eq!(told(&mut alerts, &[], 3600), [format!("7 {PHONE} 3600 scan")]);
    assert_eq!(told(&mut alerts, &both[1..], 3700), ["7 - 1 scan"], "it was over");
    assert_eq!(told(&mut alerts, &[], 7200), [format!("7 {PHONE} 1 scan")]);
    assert_eq!(told(&mut alerts, &[], 99_999), [""; 0]);
    assert!(alerts.0.is_empty());
}

#[test]
fn alerts_of_many_rules_are_counted_together() {
    let mut alerts = Alerts::default();
    let hits: Vec<Hit> = (1..=1000).map(|sid| hit(sid, None)).collect();
    let events = told(&mut alerts, &hits, 0);
    assert_eq!(events.len(), MAX_PAIRS + 1);
    assert_eq!(events[MAX_PAIRS], "0 - 1 further rules and devices");
    let later = told(&mut alerts, &[], 3600);
    assert_eq!(later, ["0 - 871 further rules and devices"]);
}
