// SPDX-License-Identifier: GPL-2.0-or-later
use serde_json::{Value, json};

use super::*;
use crate::core::Core;
use crate::effect::Effect as AnyEffect;
use crate::event::Event as AnyEvent;
use crate::fixture::{configuration, lab_dump, running};
use crate::history::Effect;
use crate::network;

fn probe(server: &str) -> Probe {
    let [wan, device] = ["wan", "pppoe-wan"].map(str::to_owned);
    Probe { wan, device, server: server.parse().unwrap() }
}

/// Returns the lab's gateway with this answer of netifd about the WAN.
fn gateway(line: &Value) -> Core {
    let mut core = running();
    network(&mut core, &json!({}));
    interfaces(&mut core, line);
    core
}

fn network(core: &mut Core, options: &Value) {
    let mut wan = json!({".type": "interface", ".name": "wan", ".index": 0});
    wan.as_object_mut().unwrap().extend(options.as_object().unwrap().clone());
    let event = network::Event::Lines(json!({"wan": wan}));
    core.handle(AnyEvent::Network(event));
}

fn interfaces(core: &mut Core, line: &Value) {
    let mut dump = lab_dump();
    dump["interface"][1].as_object_mut().unwrap().extend(line.as_object().unwrap().clone());
    core.interfaces_read(&dump);
}

/// Returns the probes of a second.
fn second(core: &mut Core, second: u64) -> Vec<Probe> {
    let now = flows::Now { mono: Duration::from_secs(second), unix_ms: second * 1000 };
    core.set_clock(now, Duration::ZERO);
    let effects = core.second(&crate::sys::kernel::Readings::default());
    let probes = effects.into_iter().filter_map(|effect| match effect {
        AnyEffect::History(Effect::Probe(probes)) => Some(probes),
        _ => None,
    });
    probes.flatten().collect()
}

fn dns(server: &str) -> Value {
    json!({"dns-server": [server]})
}

#[test]
fn a_line_is_probed_every_ten_seconds() {
    let mut core = gateway(&dns("192.0.2.53"));
    let seconds: Vec<u64> = (1..=35).filter(|at| !second(&mut core, *at).is_empty()).collect();
    assert_eq!(seconds, [10, 20, 30]);
    assert_eq!(second(&mut core, 40), [probe("192.0.2.53")]);
}

#[test]
fn the_router_of_the_line_is_asked_without_a_dns_server() {
    let routes = |nexthop: &str| {
        json!({"dns-server": [], "route": [
            {"target": "198.51.100.0", "mask": 24, "nexthop": "198.51.100.1"},
            {"target": "0.0.0.0", "mask": 0, "nexthop": nexthop},
        ]})
    };
    assert_eq!(second(&mut gateway(&routes("192.0.2.1")), 10), [probe("192.0.2.1")]);
    assert_eq!(second(&mut gateway(&routes("0.0.0.0")), 10), []);
    assert_eq!(second(&mut gateway(&dns("127.0.0.1")), 10), []);
}

#[test]
fn a_line_that_is_down_or_dials_on_demand_is_not_probed() {
    let mut core = gateway(&dns("192.0.2.53"));
    interfaces(&mut core, &json!({"up": false}));
    assert_eq!(second(&mut core, 10), []);
    interfaces(&mut core, &dns("192.0.2.53"));
    network(&mut core, &json!({"demand": "300"}));
    assert_eq!(second(&mut core, 20), []);
    network(&mut core, &json!({"demand": "0"}));
    assert_eq!(second(&mut core, 31).len(), 1);
    let mut unread = running();
    interfaces(&mut unread, &dns("192.0.2.53"));
    assert_eq!(second(&mut unread, 10), [], "it may dial on demand");
}

#[test]
fn an_option_stops_the_probes() {
    let mut core = gateway(&dns("192.0.2.53"));
    for (at, option) in [(10, "history_probes"), (20, "history")] {
        let mut values = configuration("flowtable");
        values["main"][option] = json!("0");
        core.configuration_read(&values);
        assert_eq!(second(&mut core, at), [], "{option}");
    }
    core.configuration_read(&configuration("flowtable"));
    assert_eq!(second(&mut core, 30).len(), 1);
}

#[test]
fn a_server_that_is_used_again_has_to_answer_again() {
    let mut state = State::default();
    let used = |server: &str| {
        let (name, bytes) = ("wan".to_owned(), None);
        vec![WanSample { name, up: true, bytes, probe: Some(probe(server)) }]
    };
    let lost = |state: &mut State| state.probed(probe("192.0.2.53"), None).len();
    state.second(&used("192.0.2.53"), Duration::ZERO);
    state.probed(probe("192.0.2.53"), Some(Duration::from_millis(9)));
    assert_eq!(lost(&mut state), 1);
    state.second(&used("192.0.2.1"), Duration::ZERO);
    state.second(&used("192.0.2.53"), Duration::ZERO);
    assert_eq!(lost(&mut state), 0);
}
