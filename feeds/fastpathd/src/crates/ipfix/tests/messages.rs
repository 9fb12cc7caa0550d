// SPDX-License-Identifier: GPL-2.0-or-later
//! Compares messages with golden files, and decodes generated records with an independent decoder.

#![expect(clippy::expect_used, reason = "a test stops at the first surprise")]

mod decoder;

use std::fs;
use std::net::IpAddr;
use std::path::Path;

use decoder::{Collector, Record, Value};
use ipfix::{EndReason, Ends, Flow, MAX_MESSAGE, Queue, Session};
use proptest::prelude::*;

const DOMAIN: u32 = 7;
const ENTERPRISE: u32 = 32473;

fn ends(src: &str, sport: u16, dst: &str, dport: u16) -> Ends {
    let address = |text: &str| text.parse().expect("an address");
    Ends { src: address(src), dst: address(dst), sport, dport }
}

fn download() -> Flow<'static> {
    Flow {
        start_ms: 0x0001_0203_0405,
        end_ms: 0x0001_0203_0506,
        octets: [1000, 200_000],
        packets: [20, 150],
        offloaded: 190_000,
        protocol: 6,
        sent: ends("10.10.10.10", 40_000, "203.0.113.1", 80),
        received: ends("198.51.100.10", 1025, "203.0.113.1", 80),
        end_reason: EndReason::End,
        interfaces: [5, 8],
        vlans: [10, 35],
        id: 0xfedc_ba98,
        path: "flowtable",
        reason: "",
        inspection: "none",
        zones: ["lan", "wan"],
    }
}

fn hex(bytes: &[u8]) -> String {
    let lines = bytes
        .chunks(16)
        .map(|line| line.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" "));
    lines.collect::<Vec<_>>().join("\n") + "\n"
}

/// Compares `text` with a file, or updates the file with `GOLDEN_UPDATE=1`.
fn golden(path: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if std::env::var_os("GOLDEN_UPDATE").is_some() {
        fs::write(&path, text).expect("written");
    }
    assert_eq!(fs::read_to_string(&path).expect("read"), text);
}

#[test]
fn templates_and_a_record_match_the_golden_files() {
    let mut session = Session::new(DOMAIN, ENTERPRISE);
    let (mut queue, mut out) = (Queue::new(), Vec::new());
    session.templates(1_800_000_000, &mut out);
    golden("tests/golden/templates.txt", &hex(&out));
    queue.push(&download());
    assert_eq!(session.data(1_800_000_000, &mut queue, &mut out), 1);
    golden("tests/golden/record.txt", &hex(&out));
}

#[test]
fn the_published_table_matches_the_templates() {
    golden("../../../../../docs/ipfix.csv", &ipfix::csv(ENTERPRISE));
}

#[test]
fn a_record_contains_the_fields_of_its_flow() {
    let mut collector = Collector::default();
    let mut session = Session::new(DOMAIN, ENTERPRISE);
    let (mut queue, mut out) = (Queue::new(), Vec::new());
    session.templates(1, &mut out);
    collector.read(&out);
    queue.push(&download());
    let six = Flow {
        sent: ends("fd00:10::10", 0, "2001:db8::1", 0x8000),
        received: ends("fd00:10::10", 0, "2001:db8::1", 0x8000),
        protocol: 58,
        ..download()
    };
    queue.push(&six);
    assert_eq!(session.data(2, &mut queue, &mut out), 2);
    let records = collector.read(&out);
    check(&records[0], &download());
    check(&records[1], &six);
}

#[test]
fn encodes_interface_names() {
    let mut collector = Collector::default();
    let mut session = Session::new(DOMAIN, ENTERPRISE);
    let (mut queue, mut out) = (Queue::new(), Vec::new());
    session.templates(1, &mut out);
    collector.read(&out);
    queue.push_interface(8, "pppoe-wan");
    session.data(2, &mut queue, &mut out);
    let records = collector.read(&out);
    assert_eq!(records[0][&(0, 10)], Value::Number(8));
    assert_eq!(records[0][&(0, 82)], Value::Text("pppoe-wan".to_owned()));
}

fn check(record: &Record, flow: &Flow<'_>) {
    let number = |key| match record[&key] {
        Value::Number(number) => number,
        ref other => panic!("{key:?}: {other:?}"),
    };
    let text = |id| match &record[&(ENTERPRISE, id)] {
        Value::Text(text) => text.clone(),
        other => panic!("{id}: {other:?}"),
    };
    let address = |v4, v6| match record[&(0, if flow.sent.src.is_ipv4() { v4 } else { v6 })] {
        Value::Address(address) => address,
        ref other => panic!("{v4}: {other:?}"),
    };
    let read = |src: (u16, u16), dst: (u16, u16), ports: (u16, u16)| {
        let port = |id| u16::try_from(number((0, id))).expect("16 bits");
        Ends {
            src: address(src.0, src.1),
            dst: address(dst.0, dst.1),
            sport: port(ports.0),
            dport: port(ports.1),
        }
    };
    assert_eq!(read((8, 27), (12, 28), (7, 11)), flow.sent);
    assert_eq!(read((225, 281), (226, 282), (227, 228)), flow.received);
    let numbers =
        [(0, 152), (0, 153), (0, 1), (decoder::REVERSE, 1), (0, 2), (decoder::REVERSE, 2)];
    let [up, down] = flow.octets;
    let [up_packets, down_packets] = flow.packets;
    let expected = [flow.start_ms, flow.end_ms, up, down, up_packets, down_packets];
    assert_eq!(numbers.map(number), expected);
    assert_eq!(number((0, 4)), u64::from(flow.protocol));
    assert_eq!(number((0, 136)), u64::from(flow.end_reason as u8));
    assert_eq!(number((0, 239)), 1);
    assert_eq!([number((0, 10)), number((0, 14))], flow.interfaces.map(u64::from));
    assert_eq!([number((0, 58)), number((0, 59))], flow.vlans.map(u64::from));
    assert_eq!(number((0, 148)), flow.id);
    assert_eq!(number((ENTERPRISE, 101)), flow.offloaded);
    let [from, to] = flow.zones;
    for (id, whole) in (102..).zip([flow.path, flow.reason, flow.inspection, from, to]) {
        let read = text(id);
        assert!(whole.starts_with(&read), "{read} {whole}");
        assert!(read == whole || read.len() > 60, "{read} {whole}");
    }
}

fn addresses() -> impl Strategy<Value = [IpAddr; 4]> {
    prop_oneof![
        any::<[[u8; 4]; 4]>().prop_map(|all| all.map(IpAddr::from)),
        any::<[[u8; 16]; 4]>().prop_map(|all| all.map(IpAddr::from)),
    ]
}

#[derive(Debug, Clone)]
struct Generated {
    addresses: [IpAddr; 4],
    ports: [u16; 4],
    numbers: [u64; 8],
    zones: [String; 2],
    reason: String,
}

fn generated() -> impl Strategy<Value = Generated> {
    let zone = || "\\PC{0,80}";
    (addresses(), any::<[u16; 4]>(), any::<[u64; 8]>(), [zone(), zone()], "[a-z-]{0,24}").prop_map(
        |(addresses, ports, numbers, zones, reason)| Generated {
            addresses,
            ports,
            numbers,
            zones,
            reason,
        },
    )
}

impl Generated {
    fn flow(&self) -> Flow<'_> {
        let [src, dst, post_src, post_dst] = self.addresses;
        let [sport, dport, from, to] = self.ports;
        let [start_ms, end_ms, up, down, up_packets, down_packets, offloaded, id] = self.numbers;
        Flow {
            start_ms,
            end_ms,
            octets: [up, down],
            packets: [up_packets, down_packets],
            offloaded,
            id,
            sent: Ends { src, dst, sport, dport },
            received: Ends { src: post_src, dst: post_dst, sport: from, dport: to },
            reason: &self.reason,
            zones: [&self.zones[0], &self.zones[1]],
            ..download()
        }
    }
}

proptest! {
    /// Messages respect the maximum size, records arrive once and in order, and sequence numbers
    /// count records.
    #[test]
    fn records_arrive_intact(
        flows in prop::collection::vec(generated(), 0..24),
        first in any::<u32>(),
    ) {
        let mut collector = Collector::default();
        let mut session = Session::new(first, ENTERPRISE);
        let (mut queue, mut out) = (Queue::new(), Vec::new());
        session.templates(1, &mut out);
        prop_assert!(out.len() <= MAX_MESSAGE);
        collector.read(&out);
        for flow in &flows {
            queue.push(&flow.flow());
        }
        let mut read = 0;
        loop {
            let records = session.data(2, &mut queue, &mut out);
            if records == 0 {
                break;
            }
            prop_assert!(out.len() <= MAX_MESSAGE, "{}", out.len());
            prop_assert_eq!(decoder::sequence(&out), u32::try_from(read).expect("small"));
            let found = collector.read(&out);
            prop_assert_eq!(found.len(), records);
            for record in &found {
                check(record, &flows[read].flow());
                read += 1;
            }
        }
        prop_assert_eq!(read, flows.len());
        prop_assert!(queue.is_empty() && queue.size() == 0);
    }

    #[test]
    fn a_full_queue_keeps_the_oldest_records_and_counts_the_rest(
        flows in prop::collection::vec(generated(), 1..24),
        max_bytes in 0_usize..5000,
    ) {
        let mut queue = Queue::new();
        let (first, rest) = flows.split_at(flows.len() / 2);
        let mut kept = Vec::new();
        for part in [first, rest] {
            let mut batch = Queue::new();
            for flow in part {
                batch.push(&flow.flow());
            }
            let lost = queue.append(&batch, max_bytes);
            kept.extend(&part[..part.len() - lost]);
            prop_assert!(lost == 0 || queue.size() + 700 > max_bytes, "another record would fit");
        }
        prop_assert!(queue.size() <= max_bytes);
        prop_assert_eq!(queue.len(), kept.len());
        let mut collector = Collector::default();
        let mut session = Session::new(DOMAIN, ENTERPRISE);
        let mut out = Vec::new();
        session.templates(1, &mut out);
        collector.read(&out);
        let mut kept = kept.into_iter();
        while session.data(2, &mut queue, &mut out) > 0 {
            for record in collector.read(&out) {
                check(&record, &kept.next().expect("one").flow());
            }
        }
        prop_assert_eq!(kept.len(), 0);
    }
}
