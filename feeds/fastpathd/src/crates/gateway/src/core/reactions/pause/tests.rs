// SPDX-License-Identifier: GPL-2.0-or-later
use std::time::Duration;

use ctnetlink::{Entry, Tuple};
use ruleset::{Applied, HostRules, Plan};
use serde_json::{Value, json};

use super::*;
use crate::fixture::{ask, configuration, established, running};
use crate::offload::{self, flowtable::Job};
use topology::{Change, Mac, Neighbour, NeighbourState};

const MAC: &str = "00:00:5e:00:00:01";

fn neighbour(address: &str, last: u8) -> Change {
    let state = NeighbourState::Valid;
    let mac = Some(Mac([0, 0, 0x5e, 0, 0, last]));
    Change::Neighbour(Neighbour { index: 5, address: address.parse().unwrap(), mac, state })
}

/// Returns the lab's gateway with a host that has two addresses, and its sections.
fn gateway(options: &Value) -> (Core, Vec<AnyEffect>) {
    let mut core = running();
    core.network_changed(vec![neighbour("10.10.10.11", 1), neighbour("2001:db8:10::11", 1)]);
    second(&mut core, 1, &readings(true));
    let effects = configure(&mut core, options);
    (core, effects)
}

fn configure(core: &mut Core, options: &Value) -> Vec<AnyEffect> {
    let mut values = configuration("flowtable");
    for (name, kind) in [("phone", "device"), ("bedtime", "schedule")] {
        let Some(Value::Object(options)) = options.get(kind) else { continue };
        let mut section = options.clone();
        section.extend([(".type".to_owned(), kind.into()), (".name".to_owned(), name.into())]);
        values[name] = section.into();
    }
    core.configuration_read(&values)
}

fn readings(clock_is_set: bool) -> Readings {
    Readings { tz: "UTC0\n".to_owned(), clock_is_set, ..Readings::default() }
}

fn second(core: &mut Core, second: u64, readings: &Readings) -> Vec<AnyEffect> {
    let mono = Duration::from_secs(second);
    core.set_clock(flows::Now { mono, unix_ms: second * 1000 }, Duration::ZERO);
    core.second(readings)
}

/// Returns the MAC and IP addresses of the job's plan, without a job `None`.
fn job(effects: &[AnyEffect]) -> Option<[Vec<String>; 2]> {
    let paused = plan_of(effects)?.paused.as_ref()?;
    let addresses = paused.addresses.iter().map(ToString::to_string).collect();
    Some([paused.macs.iter().cloned().collect(), addresses])
}

fn plan_of(effects: &[AnyEffect]) -> Option<&Plan> {
    let mut jobs = effects.iter().filter_map(|effect| match effect {
        // Verifications are not of interest.
        AnyEffect::Offload(offload::Effect::Run(Job::Apply { plan, in_force })) => {
            (in_force.as_ref() != Some(plan)).then_some(plan)
        }
        _ => None,
    });
    jobs.next()
}

/// Returns limits, inspection and addresses of the hosts in the job's plan.
fn hosts(effects: &[AnyEffect]) -> Option<Vec<Value>> {
    let host = |host: &HostRules| {
        let inspect = host.inspect.map(model::Action::name);
        json!([host.mac, host.limits, inspect, host.addresses])
    };
    plan_of(effects).map(|plan| plan.hosts.iter().map(host).collect())
}

fn deleted(effects: &[AnyEffect]) -> Vec<Tuple> {
    let each = effects.iter().filter_map(|effect| match effect {
        AnyEffect::Conntrack(conntrack::Effect::Delete(entries)) => Some(entries),
        _ => None,
    });
    each.flatten().map(|(_, orig)| *orig).collect()
}

fn device(core: &mut Core) -> Value {
    let answer = ask(core, "devices", json!({}));
    let mut devices = answer["devices"].as_array().unwrap().iter();
    let found = devices.find(|device| device["mac"] == MAC).cloned().unwrap();
    json!([found["known"], found["paused"], found["until_ms"]])
}

fn schedule() -> Value {
    let schedule = json!({"device": [MAC], "from": "01:00", "to": "02:00"});
    json!({"device": {"mac": MAC}, "schedule": schedule})
}

fn connection(core: &mut Core, id: u32, host: &str) -> Entry {
    let mut entry = established(id, false);
    entry.orig.src = host.parse().unwrap();
    core.entries_changed(&[ctnetlink::Event::New(entry)]);
    entry
}

#[test]
fn a_paused_device_is_dropped_then_its_connections_end_and_no_others() {
    let (mut core, effects) = gateway(&json!({}));
    assert_eq!(job(&effects), None);
    let paused = connection(&mut core, 1, "10.10.10.11");
    connection(&mut core, 2, "10.10.10.12");
    let effects = configure(&mut core, &json!({"device": {"mac": MAC, "paused": "1"}}));
    let expected = [vec![MAC.to_owned()], vec!["10.10.10.11".into(), "2001:db8:10::11".into()]];
    assert_eq!(job(&effects), Some(expected.clone()));
    assert_eq!(deleted(&effects), [], "before the rules are in force, they would come back");
    assert_eq!(device(&mut core), json!([true, "", 0]), "not yet in force");
    let effects = core.applied(Ok(Applied::Replaced));
    assert_eq!(deleted(&effects), [paused.orig]);
    assert_eq!(device(&mut core), json!([true, "always", 0]));
    // A connection that only a dump finds.
    let late = connection(&mut core, 3, "10.10.10.11");
    let effects = core.dump_ended(true);
    assert!(deleted(&effects).contains(&late.orig));
    // A new address is dropped within a second, an address of another device no longer.
    core.network_changed(vec![neighbour("2001:db8:10::12", 1), neighbour("10.10.10.11", 2)]);
    // The flowtable was renewed for the address that moved.
    core.applied(Ok(Applied::Replaced));
    let effects = second(&mut core, 2, &readings(true));
    let now = [vec![MAC.to_owned()], vec!["2001:db8:10::11".into(), "2001:db8:10::12".into()]];
    assert_eq!(job(&effects), Some(now));
    core.applied(Ok(Applied::Devices));
    let effects = configure(&mut core, &json!({"device": {"mac": MAC}}));
    assert_eq!(job(&effects), Some([vec![], vec![]]));
    assert_eq!(deleted(&core.applied(Ok(Applied::Devices))), []);
    assert_eq!(device(&mut core), json!([true, "", 0]));
}

fn path(core: &mut Core) -> [Value; 2] {
    let flows = ask(core, "flows", json!({}));
    ["path", "reason"].map(|name| {
        let at = flows["cols"].as_array().unwrap().iter().position(|col| col == name).unwrap();
        flows["rows"][0][at].clone()
    })
}

#[test]
fn a_limit_follows_the_addresses_of_its_device_and_keeps_its_flows_slow() {
    let (mut core, _) = gateway(&json!({"device": {"mac": MAC}}));
    core.applied(Ok(Applied::Replaced));
    connection(&mut core, 1, "10.10.10.11");
    assert_ne!(path(&mut core)[1], "limited");
    let limited = json!({"device": {"mac": MAC, "limit_down": "5000", "inspect": "always"}});
    let effects = configure(&mut core, &limited);
    let host = |addresses: [&str; 2]| Some(vec![json!([MAC, [5000, 0], "always", addresses])]);
    assert_eq!(hosts(&effects), host(["10.10.10.11", "2001:db8:10::11"]));
    let limits = |core: &mut Core| {
        let answer = ask(core, "devices", json!({}));
        let device = answer["devices"].as_array().unwrap().iter().find(|one| one["mac"] == MAC);
        let device = device.cloned().unwrap();
        [device["limit_down"].clone(), device["limit_up"].clone(), device["inspect"].clone()]
    };
    assert_eq!(limits(&mut core), [json!(0), json!(0), json!("always")], "not yet in force");
    let effects = core.applied(Ok(Applied::Replaced));
    assert_eq!(deleted(&effects), [], "its connections continue");
    assert_eq!(limits(&mut core), [json!(5000), json!(0), json!("always")]);
    assert_eq!(path(&mut core), [json!("slow"), json!("limited")]);
    // An address moves to another device, which is not limited.
    core.network_changed(vec![neighbour("2001:db8:10::12", 1), neighbour("10.10.10.11", 2)]);
    core.applied(Ok(Applied::Replaced));
    let effects = second(&mut core, 2, &readings(true));
    assert_eq!(hosts(&effects), host(["2001:db8:10::11", "2001:db8:10::12"]));
    core.applied(Ok(Applied::Devices));
    assert_ne!(path(&mut core)[1], "limited");
    assert_eq!(hosts(&second(&mut core, 3, &readings(true))), None, "nothing has changed");
}

#[test]
fn rules_are_planned_without_an_engine_and_for_devices_never_seen() {
    let (mut core, _) = gateway(&json!({}));
    let mut values = configuration("off");
    values["tv"] = json!({".type": "device", ".name": "tv", "mac": "02:00:00:00:00:77",
        "paused": "1", "group": "x"});
    let effects = core.configuration_read(&values);
    assert_eq!(job(&effects), Some([vec!["02:00:00:00:00:77".into()], vec![]]));
    core.applied(Ok(Applied::Replaced));
    let answer = ask(&mut core, "devices", json!({}));
    let tv = answer["devices"].as_array().unwrap().iter().find(|d| d["group"] == "x").unwrap();
    assert_eq!(
        [&tv["paused"], &tv["seen_ms"], &tv["addresses"]],
        [&json!("always"), &json!(0), &json!([])]
    );
}

#[test]
fn a_schedule_pauses_at_its_edges_and_after_jumps_of_the_clock() {
    let (mut core, effects) = gateway(&schedule());
    assert_eq!(job(&effects), Some([vec![], vec![]]));
    core.applied(Ok(Applied::Replaced));
    let mut at = |unix: u64| {
        let effects = second(&mut core, unix, &readings(true));
        let macs = job(&effects).map(|[macs, _]| macs.len());
        core.applied(Ok(Applied::Devices));
        (macs, device(&mut core))
    };
    assert_eq!(at(3599), (None, json!([true, "", 0])));
    assert_eq!(at(3600), (Some(1), json!([true, "schedule", 7_200_000])));
    assert_eq!(at(3700), (None, json!([true, "schedule", 7_200_000])));
    // Back to the evening before, then to the next day.
    assert_eq!(at(1000), (Some(0), json!([true, "", 0])));
    assert_eq!(at(86_400 + 5000), (Some(1), json!([true, "schedule", (86_400 + 7200) * 1000])));
    assert_eq!(at(86_400 + 7200), (Some(0), json!([true, "", 0])));
}

#[test]
fn a_clock_that_is_not_set_pauses_devices_with_a_schedule_until_it_is() {
    let mut core = running();
    // After a restart the clock is unknown until the first second: nobody is paused by mistake.
    assert_eq!(job(&configure(&mut core, &schedule())), None);
    let effects = second(&mut core, 5, &readings(false));
    assert_eq!(job(&effects), Some([vec![MAC.to_owned()], vec![]]));
    core.applied(Ok(Applied::Replaced));
    assert_eq!(device(&mut core), json!([true, "clock", 0]));
    let effects = second(&mut core, 6, &readings(true));
    assert_eq!(job(&effects), Some([vec![], vec![]]));
    core.applied(Ok(Applied::Devices));
    // The kernel calls it unset when a program sets it.
    assert_eq!(job(&second(&mut core, 7, &readings(false))), None);
}

#[test]
fn ssids_stay_as_they_were_until_the_clock_is_set() {
    let mut core = running();
    let schedule = json!({"ssid": ["Guests"], "from": "00:00", "to": "23:59"});
    configure(&mut core, &json!({"schedule": schedule}));
    let switched = |effects: Vec<AnyEffect>| {
        let mut all = effects.into_iter().filter_map(|effect| match effect {
            AnyEffect::Network(network::Effect::SwitchSsids(off)) => Some(off),
            _ => None,
        });
        all.next()
    };
    for at in 1..5 {
        assert_eq!(switched(second(&mut core, at, &readings(false))), None);
    }
    let off = switched(second(&mut core, 5, &readings(true)));
    assert_eq!(off, Some(vec!["Guests".to_owned()]));
}
