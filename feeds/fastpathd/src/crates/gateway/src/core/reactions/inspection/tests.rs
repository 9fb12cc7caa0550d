// SPDX-License-Identifier: GPL-2.0-or-later
use std::time::Duration;

use flows::Now;
use serde_json::{Map, Value, json};

use super::*;
use crate::core::calls::{Outcome, call};
use crate::fixture::{
    alert, ask, established, lab_dump, lab_firewall, lab_network, machine_sample,
};
use crate::ips::inspection::Instruction;
use crate::offload;
use crate::offload::flowtable::Job;
use crate::sys::kernel::{Machine, Readings};

mod gate;
mod kernel;

fn at(ms: u64) -> Now {
    Now { mono: Duration::from_millis(ms), unix_ms: 1_000_000 + ms }
}

fn configuration(ips: &Value, policies: &[Value]) -> Value {
    let mut sections = Map::new();
    sections.insert("main".into(), json!({".type": "fastpath", ".name": "main", ".index": 0}));
    let mut ips = ips.clone();
    ips[".type"] = "ips".into();
    ips[".index"] = 1.into();
    sections.insert("ips".into(), ips);
    for (index, policy) in policies.iter().enumerate() {
        let mut policy = policy.clone();
        policy[".type"] = "policy".into();
        policy[".index"] = (index + 2).into();
        sections.insert(format!("p{index}"), policy);
    }
    Value::Object(sections)
}

/// Returns a core that knows the lab's network and machine, and the effects of this configuration.
fn reading(ips: &Value, policies: &[Value]) -> (Core, Vec<AnyEffect>) {
    let mut core = Core::new(Machine::default(), at(0));
    core.firewall_read(&lab_firewall());
    core.interfaces_read(&lab_dump());
    core.network_changed(lab_network());
    core.machine_read(machine_sample());
    let effects = core.configuration_read(&configuration(ips, policies));
    (core, effects)
}

fn plan(effects: &[AnyEffect]) -> &ruleset::Plan {
    let job = effects.iter().find_map(|effect| match effect {
        AnyEffect::Offload(offload::Effect::Run(Job::Apply { plan, .. })) => Some(plan),
        _ => None,
    });
    job.unwrap_or_else(|| panic!("no plan in {effects:?}"))
}

fn instruction(effects: &[AnyEffect]) -> &Instruction {
    let instruction = effects.iter().find_map(|effect| match effect {
        AnyEffect::Ips(Effect::Instruct(orders)) => Some(orders),
        _ => None,
    });
    instruction.unwrap_or_else(|| panic!("no instruction in {effects:?}"))
}

fn queue(depth: u32, handled: u32) -> ips::Queue {
    ips::Queue { number: 0, listener: 7, depth, handled, full: 0, unread: 0 }
}

fn sample(mut queues: Vec<ips::Queue>) -> ProbeSample {
    let process = (!queues.is_empty()).then_some(7);
    // Queue 1 is for sources beyond their limit.
    queues.extend(process.map(|_| ips::Queue { number: 1, ..queue(0, 0) }));
    ProbeSample { queues, process, ..ProbeSample::default() }
}

fn later(core: &mut Core) {
    core.now = at(u64::try_from(core.now.mono.as_millis()).unwrap() + 500);
}

/// Lets Suricata listen and answer for three seconds.
fn inline(core: &mut Core) -> Vec<AnyEffect> {
    let mut effects = Vec::new();
    for _ in 0..6 {
        later(core);
        core.replied(CommandReply::Uptime(Duration::from_secs(3)));
        effects.extend(core.probed(sample(vec![queue(0, 5)])));
    }
    effects
}

fn refused(core: &mut Core) -> String {
    let status = ask(core, "status", json!({}));
    let finding = &status["health"][0];
    assert_eq!(finding["code"], "config-refused", "{status}");
    finding["text"].as_str().unwrap().to_owned()
}

#[test]
fn suricata_gets_its_files_when_enabled_and_packets_pass_until_it_works() {
    let (mut core, effects) = reading(&json!({"enabled": "1"}), &[]);
    let Instruction::Run(overlay) = instruction(&effects) else { panic!("{effects:?}") };
    assert_eq!(overlay.arguments, "-q\n0:1\n");
    assert!(overlay.yaml.contains("10.10.10.0/24"), "the home networks");
    core.applied(Ok(ruleset::Applied::Replaced));
    let effects = inline(&mut core);
    let inspection = core.plan_of(&effects).protection.inspection.clone().unwrap();
    assert_eq!(inspection.gate, model::Gate::Queue);
    let answer = ask(&mut core, "ips", json!({}));
    assert_eq!(answer["state"], "inline", "{answer}");
    assert_eq!(answer["queues"][0]["bound"], true);
}

impl Core {
    /// Returns the plan among the effects, or else the plan in force.
    fn plan_of<'a>(&'a self, effects: &'a [AnyEffect]) -> &'a ruleset::Plan {
        let job = effects.iter().rev().find_map(|effect| match effect {
            AnyEffect::Offload(offload::Effect::Run(Job::Apply { plan, .. })) => Some(plan),
            _ => None,
        });
        job.or(self.offload.flowtable().in_force()).unwrap()
    }
}

/// A full queue, or one without a reader, passes packets only with fail-open.
#[test]
fn the_queue_fails_open_or_closed_as_configured() {
    for (fail, open) in [("open", true), ("closed", false)] {
        let (core, effects) = reading(&json!({"enabled": "1", "fail": fail}), &[]);
        let inspection = core.plan_of(&effects).protection.inspection.as_ref();
        assert_eq!(inspection.map(|of| of.fail_open), Some(open), "{fail}");
    }
}

#[test]
fn a_hung_suricata_opens_the_gate_within_two_seconds() {
    let (mut core, _) = reading(&json!({"enabled": "1"}), &[]);
    core.applied(Ok(ruleset::Applied::Replaced));
    inline(&mut core);
    core.applied(Ok(ruleset::Applied::Gate));
    let mut opened = None;
    for half in 1..=4 {
        later(&mut core);
        let effects = core.probed(sample(vec![queue(20, 5)]));
        if !effects.is_empty() {
            opened = Some(half);
            let inspection = plan(&effects).protection.inspection.clone().unwrap();
            assert_eq!(inspection.gate, model::Gate::Open);
            break;
        }
    }
    assert!(opened.is_some(), "{:?}", core.ips.inspection.condition());
    assert_eq!(core.ips.inspection.condition().state.name(), "failing-open");
}

#[test]
fn an_unknown_zone_is_refused_with_section_and_option() {
    let policy = json!({"src": "moon", "action": "always"});
    let (mut core, effects) = reading(&json!({"enabled": "1"}), &[policy]);
    assert!(effects.is_empty(), "{effects:?}");
    let text = refused(&mut core);
    assert!(text.contains("section 'p0', option 'src', value 'moon'"), "{text}");
    assert!(text.contains("lan, wan"), "{text}");
}

#[test]
fn an_impossible_setting_is_refused_with_section_and_option() {
    for (ips, words) in [
        (json!({"enabled": "1", "budget_bytes": "-1"}), "option 'budget_bytes', value '-1'"),
        (
            json!({"enabled": "1", "mode": "inline", "device": ["lan1", "wan"]}),
            "value 'lan1': is a port of br-lan",
        ),
    ] {
        let (mut core, effects) = reading(&ips, &[]);
        assert!(effects.is_empty(), "{effects:?}");
        let text = refused(&mut core);
        assert!(text.contains("section 'ips'") && text.contains(words), "{text}");
    }
    let (mut core, _) = reading(&json!({}), &[]);
    let mut values = configuration(&json!({"enabled": "1"}), &[]);
    values["cpu"] = json!({".type": "cpu", ".index": 9, "inspection": "7"});
    assert!(core.configuration_read(&values).is_empty());
    let text = refused(&mut core);
    assert!(text.contains("section 'cpu', option 'inspection', value '7'"), "{text}");
}

#[test]
fn a_source_that_triggers_a_drop_rule_is_blocked_and_its_flows_end() {
    let (mut core, effects) = reading(&json!({"enabled": "1", "block": "1"}), &[]);
    assert_eq!(plan(&effects).protection.blocks, Some(1024));
    core.entries_read(&[established(1, true)]);
    let effects = core.events_read(alert("203.0.113.1", "10.10.10.10"));
    let [AnyEffect::Ips(Effect::Block { element, flows })] = &effects[..] else {
        panic!("{effects:?}")
    };
    assert_eq!(element.source.brief(), "203.0.113.1");
    assert_eq!(flows.len(), 1, "the offloaded flow of the source ends");
    // The gateway's own address is never blocked, whatever an alert claims.
    assert!(core.events_read(alert("10.10.10.1", "10.10.10.10")).is_empty());
    let blocks = ask(&mut core, "blocks", json!({}));
    assert_eq!(blocks["blocks"][0]["sid"], 8_100_001);
    assert_eq!(blocks["refused"], 1);
    let args = Map::from_iter([("address".to_owned(), json!("::ffff:203.0.113.1"))]);
    let Outcome::Reply(_, effects) = call(&mut core, "block_release", args.clone()) else {
        panic!("not released")
    };
    assert_eq!(effects, [AnyEffect::Ips(Effect::Unblock(vec!["203.0.113.1".parse().unwrap()]))]);
    assert_eq!(call(&mut core, "block_release", args), Outcome::NotFound);
}

/// The source of a datagram, or of a segment without a connection, may be forged.
#[test]
fn a_source_that_may_be_forged_is_not_blocked() {
    let (mut core, _) = reading(&json!({"enabled": "1", "block": "1"}), &[]);
    let forged = |proto: &str, bits: &[&str]| {
        let line = json!({
            "event_type": "alert", "src_ip": "203.0.113.66", "proto": proto,
            "metadata": {"flowbits": bits},
            "alert": {"action": "blocked", "signature_id": 1},
            "flow": {"pkts_toserver": 2, "pkts_toclient": 1},
        });
        let event = ips::read_event(line.to_string().as_bytes()).unwrap();
        ips::Batch { events: vec![event], connected: true, ..ips::Batch::default() }
    };
    for batch in [forged("UDP", &["fastpath.handshake"]), forged("TCP", &["fastpath.syn"])] {
        assert!(core.events_read(batch).is_empty());
    }
    let blocks = ask(&mut core, "blocks", json!({}));
    assert_eq!((&blocks["blocks"], &blocks["refused"]), (&json!([]), &json!(2)));
}

#[test]
fn an_ipv6_source_is_blocked_and_released_with_its_64_bit_prefix() {
    let (mut core, _) = reading(&json!({"enabled": "1", "block": "1"}), &[]);
    let effects = core.events_read(alert("2001:db8:ffff:7::bad", "10.10.10.10"));
    assert!(matches!(&effects[..], [AnyEffect::Ips(Effect::Block { element, .. })]
        if element.source.brief() == "2001:db8:ffff:7::/64"));
    let shown = ask(&mut core, "blocks", json!({}));
    assert_eq!(shown["blocks"][0]["address"], "2001:db8:ffff:7::/64");
    for (address, found) in [
        ("2001:db8:ffff:8::1", false),
        ("2001:db8:ffff:7::/64", true),
        ("2001:db8:ffff:7::1", false),
    ] {
        let args = Map::from_iter([("address".to_owned(), json!(address))]);
        let outcome = call(&mut core, "block_release", args);
        assert_eq!(matches!(outcome, Outcome::Reply(..)), found, "{address}");
    }
}

#[test]
fn alerts_survive_a_restart_of_the_daemon() {
    let (mut core, _) = reading(&json!({"enabled": "1"}), &[]);
    core.events_read(alert("203.0.113.1", "10.10.10.10"));
    let saved = |core: &mut Core, second: u64| {
        core.now = at(second * 1000);
        let effects = core.second(&Readings::default());
        effects.into_iter().find_map(|effect| match effect {
            AnyEffect::Ips(Effect::SaveAlerts(text)) => Some(text),
            _ => None,
        })
    };
    assert_eq!(saved(&mut core, 59), None, "once a minute");
    let text = saved(&mut core, 60).expect("written");
    assert_eq!(saved(&mut core, 121), None, "nothing new");
    assert_eq!(core.ips.unsaved_alerts(), None);
    let (mut next, _) = reading(&json!({"enabled": "1"}), &[]);
    next.ips.restore_alerts(&text);
    let all = ask(&mut next, "alerts", json!({}));
    assert_eq!((&all["last"], &all["alerts"][0]["sid"]), (&json!(1), &json!(8_100_001)));
    assert_eq!(next.ips.unsaved_alerts(), None);
    assert!(next.ips.inspection.blocks.is_empty(), "a restored alert blocks no source");
}

#[test]
fn alerts_show_their_flow_and_can_be_filtered() {
    let (mut core, _) = reading(&json!({"enabled": "1"}), &[]);
    core.entries_read(&[established(1, false)]);
    core.events_read(alert("203.0.113.1", "10.10.10.10"));
    core.events_read(alert("2001:db8::9", "2001:db8::10"));
    let all = ask(&mut core, "alerts", json!({}));
    assert_eq!((all["total"].as_u64(), all["last"].as_u64()), (Some(2), Some(2)));
    let flow = all["alerts"][1]["flow"].as_u64().unwrap();
    assert_ne!(flow, 0);
    assert_eq!(all["alerts"][0]["flow"], 0, "no such flow");
    let one = ask(&mut core, "alerts", json!({"filter": {"flow": flow}}));
    assert_eq!(one["alerts"].as_array().unwrap().len(), 1);
    for (wrong, words) in [
        (json!({"limit": 501}), "limit: expected an integer from 1 to 500, not 501"),
        (json!({"since": -1}), "since: expected"),
        (
            json!({"filter": {"action": "x"}}),
            "filter.action: expected allowed or blocked, not \"x\"",
        ),
        (json!({"filter": {"colour": 1}}), "filter.colour: unknown"),
        (json!({"filter": 3}), "filter: expected an object"),
    ] {
        let Value::Object(args) = wrong else { panic!() };
        match call(&mut core, "alerts", args) {
            Outcome::Invalid(why) => assert!(why.contains(words), "{why}"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn disabling_inspection_stops_suricata_and_ends_blocks() {
    let (mut core, _) = reading(&json!({"enabled": "1", "block": "1"}), &[]);
    core.events_read(alert("203.0.113.1", "10.10.10.10"));
    let effects = core.configuration_read(&configuration(&json!({"enabled": "0"}), &[]));
    assert!(
        effects
            .iter()
            .any(|effect| matches!(effect, AnyEffect::Ips(Effect::Instruct(Instruction::Stop))))
    );
    assert!(
        effects.iter().any(|effect| matches!(effect, AnyEffect::Ips(Effect::Unblock(_)))),
        "{effects:?}"
    );
    assert_eq!(ask(&mut core, "ips", json!({}))["state"], "off", "at once");
}

fn in_kernel(address: &str) -> InForce {
    let (source, comment) = (address.parse().unwrap(), "8100001 output of id".to_owned());
    let block = ruleset::BlockElement { source, seconds: 600, left: 300, comment };
    InForce { blocks: Some(vec![block]), ..InForce::default() }
}

fn table_with(handle: u64, packets: u64) -> InForce {
    let counter = ruleset::Counter { packets, bytes: 1000 * packets };
    let counters = [("inspected".to_owned(), counter)].into();
    InForce { table: handle, counters, ..InForce::default() }
}

#[test]
fn counters_of_a_new_table_are_added_to_the_totals() {
    let (mut core, _) = reading(&json!({"enabled": "1"}), &[]);
    let inspected = |core: &mut Core| {
        ask(core, "ips", json!({}))["counters"]["inspected_packets"].as_u64().unwrap()
    };
    core.table_read(&InForce::default());
    core.table_read(&table_with(3, 100));
    core.table_read(&table_with(4, 250));
    assert_eq!(inspected(&mut core), 350);
    // The answer about the previous table arrives late.
    core.table_read(&table_with(3, 120));
    assert_eq!(inspected(&mut core), 350);
    core.table_read(&table_with(4, 260));
    assert_eq!(inspected(&mut core), 360);
    // Another program has reset the counters.
    core.table_read(&table_with(4, 5));
    assert_eq!(inspected(&mut core), 365);
    // The table is missing for a moment.
    core.table_read(&InForce::default());
    core.table_read(&table_with(4, 6));
    assert_eq!(inspected(&mut core), 366);
}

/// The table survives the daemon. Prometheus would take a lower total for a restarted counter.
#[test]
fn packets_of_the_previous_daemon_are_not_in_the_totals() {
    let (mut core, _) = reading(&json!({"enabled": "1"}), &[]);
    let inspected = |core: &mut Core| {
        let counters = ask(core, "ips", json!({}))["counters"].take();
        ["inspected_packets", "inspected_bytes"].map(|name| counters[name].as_u64().unwrap())
    };
    core.table_read(&table_with(3, 100));
    assert_eq!(inspected(&mut core), [0, 0]);
    core.table_read(&table_with(3, 130));
    assert_eq!(inspected(&mut core), [30, 30_000]);
    // Counters and tables that appear later are counted from zero.
    let mut more = table_with(3, 130);
    more.counters.insert("spent".to_owned(), ruleset::Counter { packets: 7, bytes: 0 });
    core.table_read(&more);
    assert_eq!(ask(&mut core, "ips", json!({}))["counters"]["spent_flows"], 7);
    core.table_read(&table_with(4, 250));
    assert_eq!(inspected(&mut core), [280, 280_000]);
}

#[test]
fn packets_in_queues_of_the_previous_daemon_are_not_in_the_totals() {
    let (mut core, _) = reading(&json!({"enabled": "1"}), &[]);
    let probe = |core: &mut Core, handled: &[u32]| {
        let numbered = (0..).zip(handled);
        let queues = numbered
            .map(|(number, handled)| ips::Queue { number, full: 3, ..queue(0, *handled) })
            .collect();
        let sample = ProbeSample { queues, process: Some(7), ..ProbeSample::default() };
        core.ips_event(Event::Probed(sample));
        let totals = core.ips.inspection.queue_totals();
        [0, 1].map(|number| (totals.of(number).handled, totals.of(number).dropped))
    };
    // Without the CPUs, the number of our queues is unknown.
    core.ips.inspection.threads = ips::Threads::default();
    assert_eq!(probe(&mut core, &[4000, 5000]), [(0, 0), (0, 0)]);
    assert_eq!(probe(&mut core, &[4010, 5020]), [(10, 0), (20, 0)]);
    // Queues that appear later are counted from zero.
    let (mut core, _) = reading(&json!({"enabled": "1"}), &[]);
    assert_eq!(probe(&mut core, &[]), [(0, 0); 2]);
    assert_eq!(probe(&mut core, &[40, 50]), [(40, 3), (50, 3)]);
}

#[test]
fn blocks_of_the_previous_daemon_are_adopted_once() {
    let mut core = Core::new(Machine::default(), at(0));
    assert!(core.table_read(&in_kernel("203.0.113.1")).is_empty());
    core.configuration_read(&configuration(&json!({"enabled": "1", "block": "1"}), &[]));
    assert_eq!(core.ips.inspection.blocks.len(), 1);
    core.unblock("203.0.113.1".parse().unwrap()).unwrap();
    // The kernel's answer is older than the release of the block.
    assert!(core.table_read(&in_kernel("203.0.113.1")).is_empty());
    assert!(core.ips.inspection.blocks.is_empty(), "an unblocked address stays unblocked");
}

#[test]
fn blocks_are_not_adopted_while_blocking_is_disabled() {
    for ips in [json!({"enabled": "1"}), json!({"enabled": "0", "block": "1"})] {
        let (mut core, _) = reading(&ips, &[]);
        core.table_read(&in_kernel("203.0.113.1"));
        assert!(core.ips.inspection.blocks.is_empty(), "{ips}");
        let mut core = Core::new(Machine::default(), at(0));
        core.table_read(&in_kernel("203.0.113.1"));
        let effects = core.configuration_read(&configuration(&ips, &[]));
        let [AnyEffect::Ips(Effect::Unblock(_)), AnyEffect::Rules(_)] = &effects[..] else {
            panic!("{effects:?}")
        };
        assert!(core.ips.inspection.blocks.is_empty(), "{ips}");
    }
}

#[test]
fn an_unchanged_network_does_not_restart_suricata() {
    let (mut core, effects) = reading(&json!({"enabled": "1"}), &[]);
    assert!(matches!(instruction(&effects), Instruction::Run(_)));
    core.applied(Ok(ruleset::Applied::Replaced));
    assert!(core.interfaces_read(&lab_dump()).is_empty());
    assert!(core.configuration_read(&configuration(&json!({"enabled": "1"}), &[])).is_empty());
}

#[test]
fn the_script_is_notified_again_while_suricata_stays_down() {
    let (mut core, _) = reading(&json!({"enabled": "1"}), &[]);
    let mut commands = 0;
    for second in 1..=45 {
        core.now = at(second * 1000);
        core.probed(sample(Vec::new()));
        let effects = core.second(&Readings::default());
        commands += effects
            .iter()
            .filter(|effect| **effect == AnyEffect::Ips(Effect::NotifyService))
            .count();
    }
    assert_eq!(commands, 2, "every 20 seconds");
}

#[test]
fn writing_suricatas_files_is_retried_after_a_failure() {
    let (mut core, effects) = reading(&json!({"enabled": "1"}), &[]);
    let first = instruction(&effects).clone();
    core.ips.configuration_write_failed("writing suricata.yaml: No space left on device".into());
    let mut again = Vec::new();
    for second in 1..=25 {
        core.now = at(second * 1000);
        let effects = core.second(&Readings::default());
        again.extend(
            effects
                .into_iter()
                .filter(|effect| matches!(effect, AnyEffect::Ips(Effect::Instruct(_)))),
        );
    }
    assert_eq!(again, [AnyEffect::Ips(Effect::Instruct(first))], "after 20 seconds");
}

#[test]
fn a_configuration_is_used_once_its_devices_exist() {
    let ips = json!({"enabled": "1", "mode": "ids", "device": ["usb0"]});
    let (mut core, effects) = reading(&ips, &[]);
    assert!(effects.is_empty(), "{effects:?}");
    let text = refused(&mut core);
    assert!(text.contains("value 'usb0': there is no such device"), "{text}");
    let wan = core.network.topology().link_named("wan").unwrap().clone();
    let usb = topology::Link { index: 99, name: "usb0".into(), ..wan };
    let effects = core.network_changed(vec![topology::Change::Link(usb)]);
    let Instruction::Run(overlay) = instruction(&effects) else { panic!("{effects:?}") };
    assert!(overlay.arguments.contains("--af-packet"), "{}", overlay.arguments);
    assert_eq!(ask(&mut core, "status", json!({}))["health"], json!([]));
}
