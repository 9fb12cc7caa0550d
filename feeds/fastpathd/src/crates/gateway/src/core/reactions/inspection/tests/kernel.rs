// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests blocks that nft refuses, and packets that pass a full queue.

use super::*;

fn queues(handled: u32, depth: u32) -> Vec<ips::Queue> {
    let queue = |number, handled, depth| ips::Queue {
        number,
        listener: 9,
        depth,
        handled,
        full: 0,
        unread: 0,
    };
    vec![queue(0, handled, depth), queue(1, 0, 0)]
}

/// With fail-open, a full queue lets packets pass that the rules have counted as inspected.
#[test]
fn packets_that_passed_a_full_queue_count_as_uninspected() {
    let (mut core, _) = reading(&json!({"enabled": "1"}), &[]);
    let mut read = |packets, handled, depth| {
        let both = [queues(handled, depth), queues(handled, depth)];
        core.ips_event(Event::TableRead(Box::new(table_with(3, packets)), both));
        ask(&mut core, "ips", json!({}))["counters"].clone()
    };
    read(0, 0, 0);
    let counters = read(10_000, 1_000, 2_000);
    assert_eq!(counters["uninspected_packets"], 7_000);
    assert_eq!(counters["inspected_packets"], 3_000);
    assert_eq!(read(10_500, 3_500, 0)["uninspected_packets"], 7_000);
}

#[test]
fn a_block_that_nft_refused_is_not_shown() {
    let (mut core, _) = reading(&json!({"enabled": "1", "block": "1"}), &[]);
    let blocks = |core: &mut Core| ask(core, "blocks", json!({}))["blocks"].clone();
    let effects = core.events_read(alert("203.0.113.1", "10.10.10.10"));
    assert_eq!(effects.len(), 1);
    assert_eq!(blocks(&mut core).as_array().unwrap().len(), 1);
    core.ips_event(Event::NotBlocked("203.0.113.1".parse().unwrap()));
    assert_eq!(blocks(&mut core), json!([]));
    let again = core.events_read(alert("203.0.113.1", "10.10.10.10"));
    assert!(matches!(&again[..], [AnyEffect::Ips(Effect::Block { .. })]), "{again:?}");
}

#[test]
fn a_block_is_shown_if_nft_refused_to_end_it() {
    let (mut core, _) = reading(&json!({"enabled": "1", "block": "1"}), &[]);
    core.table_read(&InForce::default());
    core.events_read(alert("203.0.113.1", "10.10.10.10"));
    core.unblock("203.0.113.1".parse().unwrap());
    core.table_read(&in_kernel("203.0.113.1"));
    assert_eq!(
        ask(&mut core, "blocks", json!({}))["blocks"],
        json!([]),
        "the release may be pending"
    );
    core.ips_event(Event::StillBlocked);
    core.table_read(&in_kernel("203.0.113.1"));
    assert_eq!(ask(&mut core, "blocks", json!({}))["blocks"][0]["address"], "203.0.113.1");
}

#[test]
fn an_alert_names_the_device_of_its_sender() {
    let (mut core, _) = reading(&json!({"enabled": "1"}), &[]);
    core.events_read(alert("10.10.10.10", "203.0.113.1"));
    core.events_read(alert("10.10.10.1", "203.0.113.1"));
    let alerts = ask(&mut core, "alerts", json!({}))["alerts"].clone();
    assert_eq!(alerts[0]["device"], "", "the router itself");
    assert_eq!(alerts[1]["device"], "br-lan.10");
}
