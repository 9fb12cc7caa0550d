// SPDX-License-Identifier: GPL-2.0-or-later
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ctnetlink::Entry;
use proptest::prelude::*;
use serde_json::{Value, json};
use topology::{Change, Neighbour};

use super::settings::DeviceSettings;
use super::*;
use crate::conntrack;
use crate::core::Core;
use crate::fixture::{ask, established, lab_dump, lab_firewall, lab_network, route, running};
use crate::network::interfaces::{Firewall, parse_dump};
use crate::network::names::{Names, Reservations};
use crate::sys::kernel::Readings;

const START: Now = Now { mono: Duration::ZERO, unix_ms: 1_000_000 };

fn at(second: u64) -> Now {
    Now { mono: Duration::from_secs(second), unix_ms: 1_000_000 + second * 1000 }
}

fn mac(last: u16) -> Mac {
    let [a, b] = last.to_be_bytes();
    Mac([0x00, 0, 0x5e, 0, a, b])
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn neighbour(index: u32, address: IpAddr, mac: Option<Mac>) -> Change {
    let state = if mac.is_some() { NeighbourState::Valid } else { NeighbourState::Invalid };
    Change::Neighbour(Neighbour { index, address, mac, state })
}

/// The lab's network without its host.
fn network() -> NetworkView {
    let mut view = NetworkView::default();
    for change in lab_network() {
        view.change(change);
    }
    for change in [neighbour(5, ip("10.10.10.10"), None), route("2001:db8:10::", 64, 5, None)] {
        view.change(change);
    }
    let firewall = Firewall::parse(&lab_firewall());
    view.set_interfaces(&firewall, parse_dump(&lab_dump(), &firewall));
    view
}

fn bytes(sent: u64, received: u64, offloaded: u64) -> HostBytes {
    HostBytes { sent, received, offloaded }
}

fn grown(all: &[(&str, HostBytes)]) -> HostGrowth {
    let hosts = all.iter().map(|(address, bytes)| (ip(address), *bytes)).collect();
    HostGrowth { hosts, others: HostBytes::default() }
}

fn view(state: &State, network: &NetworkView, second: u64) -> Value {
    serde_json::to_value(state.view(&[], network, None, at(second))).unwrap()
}

#[test]
fn addresses_of_both_families_are_one_device() {
    let mut network = network();
    network.change(neighbour(5, ip("10.10.10.11"), Some(mac(1))));
    network.change(neighbour(5, ip("2001:db8:10::11"), Some(mac(1))));
    network.set_names(Names::parse("1 00:00:5e:00:00:01 10.10.10.11 desk *\n", ""));
    let mut state = State::new(START);
    let all = [("10.10.10.11", bytes(1, 20, 5)), ("2001:db8:10::11", bytes(300, 4000, 600))];
    state.second(grown(&all), &network, at(1));
    let answer = view(&state, &network, 9);
    let device = &answer["devices"][0];
    assert_eq!(answer["devices"].as_array().unwrap().len(), 1, "{answer}");
    assert_eq!((&device["name"], &device["mac"]), (&json!("desk"), &json!("00:00:5e:00:00:01")));
    assert_eq!(device["up_bytes"], 301);
    assert_eq!(device["down_bytes"], 4020);
    assert_eq!(device["offloaded_bytes"], 605);
    assert_eq!((&device["learned_ms"], &device["seen_ms"]), (&json!(1_001_000), &json!(1_001_000)));
    assert_eq!((&device["device"], &device["vlan"]), (&json!("br-lan.10"), &json!(10)));
    assert_eq!(device["random"], false);
}

#[test]
fn a_neighbour_of_the_wan_is_no_device() {
    let mut network = network();
    let firewall = Firewall::parse(&lab_firewall());
    let mut dump = lab_dump();
    dump["interface"][1]["l3_device"] = json!("br-lan.20");
    network.set_interfaces(&firewall, parse_dump(&dump, &firewall));
    network.change(neighbour(6, ip("10.10.20.254"), Some(mac(9))));
    let mut state = State::new(START);
    state.second(HostGrowth::default(), &network, at(1));
    assert_eq!(view(&state, &network, 1)["devices"], json!([]));
}

#[test]
fn a_host_behind_a_router_of_the_lan_counts_for_the_router() {
    let mut network = network();
    network.change(neighbour(5, ip("10.10.10.2"), Some(mac(2))));
    network.change(route("192.168.7.0", 24, 5, Some("10.10.10.2")));
    let mut state = State::new(START);
    state.second(grown(&[("192.168.7.9", bytes(5, 6, 0))]), &network, at(1));
    let answer = view(&state, &network, 1);
    assert_eq!(answer["devices"][0]["addresses"], json!(["10.10.10.2"]));
    assert_eq!(answer["devices"][0]["down_bytes"], 6);
}

#[test]
fn an_address_counts_for_its_device_after_the_neighbour_expired_and_moves_with_its_mac() {
    let mut network = network();
    let (address, text) = (ip("10.10.10.11"), "10.10.10.11");
    network.change(neighbour(5, address, Some(mac(1))));
    let mut state = State::new(START);
    state.second(HostGrowth::default(), &network, at(1));
    assert_eq!(view(&state, &network, 1)["devices"][0]["seen_ms"], 0);
    network.change(neighbour(5, address, None));
    state.second(grown(&[(text, bytes(1, 1, 0))]), &network, at(2));
    network.change(neighbour(5, address, Some(mac(2))));
    state.second(grown(&[(text, bytes(10, 10, 0))]), &network, at(3));
    let answer = view(&state, &network, 3);
    let [old, new] = [0, 1].map(|at| &answer["devices"][at]);
    assert_eq!((&old["up_bytes"], &old["addresses"]), (&json!(1), &json!([])));
    assert_eq!((&new["up_bytes"], &new["addresses"]), (&json!(10), &json!([text])));
}

#[test]
fn a_random_mac_without_a_name_is_replaced_first() {
    let mut network = network();
    let mut state = State::new(START);
    let mut learn = |state: &mut State, mac: Mac, number: u16, second| {
        let address = format!("2001:db8:10::{number:x}");
        network.change(neighbour(5, ip(&address), Some(mac)));
        state.second(grown(&[(&address, bytes(1, 0, 0))]), &network, at(second));
    };
    let random = Mac([2, 0, 0, 0, 9, 9]);
    learn(&mut state, mac(0), 0, 1);
    learn(&mut state, random, 1, 2);
    for number in 2..512 {
        learn(&mut state, mac(number), number, 3);
    }
    learn(&mut state, mac(600), 600, 4);
    assert!(!state.devices.contains_key(&random));
    assert!(state.devices.contains_key(&mac(0)));
    learn(&mut state, mac(601), 601, 5);
    assert!(!state.devices.contains_key(&mac(0)), "seen least recently");
    assert_eq!(state.devices.len(), MAX_DEVICES);
    assert_eq!(state.others.sent, 2);
}

#[test]
fn a_named_device_is_kept_and_few_are_replaced_a_second() {
    let mut network = network();
    network.set_names(Names::parse("1 00:00:5e:00:00:00 10.10.10.99 tv *\n", ""));
    let mut state = State::new(START);
    let address = |number: u16| format!("2001:db8:10::{number:x}");
    for number in 0..2000 {
        network.change(neighbour(5, ip(&address(number)), Some(mac(number))));
        if number == 0 {
            state.second(HostGrowth::default(), &network, at(0));
        }
    }
    state.second(HostGrowth::default(), &network, at(1));
    let known = |state: &State| state.devices.keys().copied().collect::<BTreeSet<_>>();
    let before = known(&state);
    assert_eq!(before.len(), MAX_DEVICES);
    state.second(HostGrowth::default(), &network, at(2));
    assert_eq!(known(&state), before, "neighbours without traffic replace none");
    let all: Vec<_> = (0..2000).map(|number| (address(number), bytes(1, 1, 0))).collect();
    let all: Vec<_> = all.iter().map(|(address, bytes)| (&**address, *bytes)).collect();
    for second in 3..60 {
        let before = known(&state);
        state.second(grown(&all), &network, at(second));
        assert!(known(&state).difference(&before).count() <= MAX_REPLACED);
        let sum = state.devices.values().map(|device| device.bytes.sent).sum::<u64>();
        assert_eq!(sum + state.others.sent, 2000 * (second - 2));
    }
    assert!(state.devices.contains_key(&mac(0)));
    assert!(state.owners.len() <= MAX_DEVICES);
}

#[test]
fn the_answer_has_open_flows_and_the_bytes_of_ended_ones() {
    let mut core = running();
    let [first, second] = [1, 2].map(|id| established(id, false));
    let dump = |core: &mut Core, at: Now, entries: &[Entry]| {
        core.set_clock(at, Duration::ZERO);
        core.conntrack_mut().flows_mut().dump_begin(at);
        core.entries_read(entries);
        core.dump_ended(true);
        core.conntrack_mut().flows_mut().sweep(usize::MAX);
        core.second(&Readings::default());
    };
    dump(&mut core, at(1), &[]);
    let begun = |entry: &Entry| Entry { orig_counters: None, reply_counters: None, ..*entry };
    let events = [&first, &second].map(|entry| ctnetlink::Event::New(begun(entry)));
    core.conntrack_event(conntrack::Event::Changed(events.into()));
    dump(&mut core, at(2), &[first, second]);
    dump(&mut core, at(3), &[first]);
    let answer = ask(&mut core, "devices", json!({}));
    let device = &answer["devices"][0];
    assert_eq!((&device["mac"], &device["random"]), (&json!("02:00:00:00:01:0a"), &json!(true)));
    assert_eq!((&device["flows"], &device["up_bytes"]), (&json!(1), &json!(2000)), "{answer}");
    assert_eq!((&device["down_bytes"], &device["port"]), (&json!(300_000), &json!("lan1")));
}

#[test]
fn the_owner_s_name_precedes_that_of_the_lease() {
    let mut network = network();
    network.change(neighbour(5, ip("10.10.10.11"), Some(mac(1))));
    network.set_names(Names::parse("1 00:00:5e:00:00:01 10.10.10.11 android-7f *\n", ""));
    let mut state = State::new(START);
    state.second(HostGrowth::default(), &network, at(1));
    let named = |network: &NetworkView| {
        let device = &view(&state, network, 1)["devices"][0];
        (device["name"].clone(), device["known"].clone())
    };
    assert_eq!(named(&network), (json!("android-7f"), json!(false)));
    let host = |name: &str| {
        let host = json!({".type": "host", "mac": "00:00:5E:00:00:01", "name": name});
        Reservations::parse(&json!({"cfg01": host}))
    };
    network.set_reservations(host("phone"));
    assert_eq!(named(&network), (json!("phone"), json!(true)));
    network.set_reservations(host(""));
    assert_eq!(named(&network), (json!("android-7f"), json!(true)));
}

/// Returns the searches of the next ten seconds.
fn requests(state: &mut State) -> Vec<Effect> {
    let all = (0..10).flat_map(|_| state.identity_second());
    all.filter(|effect| *effect != Effect::BrowseServices).collect()
}

#[test]
fn vendors_are_searched_for_new_devices_only() {
    let mut network = network();
    let random = Mac([2, 0, 0x5e, 0, 0, 7]);
    network.change(neighbour(5, ip("10.10.10.11"), Some(mac(1))));
    network.change(neighbour(5, ip("10.10.10.12"), Some(random)));
    let mut state = State::new(START);
    state.second(HostGrowth::default(), &network, at(1));
    let search =
        |known, again| vec![Effect::FindVendors(Search { macs: vec![mac(1)], known, again })];
    assert_eq!(requests(&mut state), search(None, true));
    assert_eq!(requests(&mut state), [], "one search at a time");
    assert_eq!(view(&state, &network, 1)["vendors"], false);

    let stamp = Some((5, 1, 2));
    let vendors = vec![(mac(1), "Example".to_owned())];
    state.identity_event(Event::Searched(Some(Found { stamp, vendors })));
    let vendor = |state: &State, number: usize| {
        view(state, &network, 1)["devices"][number]["vendor"].clone()
    };
    assert_eq!((vendor(&state, 0), vendor(&state, 1)), (json!("Example"), json!("")));
    assert_eq!(view(&state, &network, 1)["vendors"], true);
    assert_eq!(requests(&mut state), search(stamp, false));
    state.identity_event(Event::Searched(None));
    assert_eq!(vendor(&state, 0), "Example");
    state.identity_event(Event::Searched(Some(Found::default())));
    assert_eq!(
        (vendor(&state, 0), &view(&state, &network, 1)["vendors"]),
        (json!(""), &json!(false))
    );
}

#[test]
fn the_owner_s_kind_precedes_an_announced_one_and_that_of_the_name() {
    let mut network = network();
    network.change(neighbour(5, ip("10.10.10.11"), Some(mac(1))));
    network.change(neighbour(5, ip("2001:db8:10::11"), Some(mac(1))));
    let mut state = State::new(START);
    state.second(HostGrowth::default(), &network, at(1));
    let kind = |state: &State, network: &NetworkView| {
        let device = &view(state, network, 1)["devices"][0];
        format!("{} {}", device["kind"], device["kind_source"])
    };
    assert_eq!(kind(&state, &network), r#""" """#);
    let asked = (0..60).flat_map(|_| state.identity_second());
    assert_eq!(asked.filter(|effect| *effect == Effect::BrowseServices).count(), 4);
    network.set_names(Names::parse("1 00:00:5e:00:00:01 10.10.10.11 EPSON000001 *\n", ""));
    assert_eq!(kind(&state, &network), r#""printer" "name""#);
    let announced = |other: &str| {
        let at = |address: &str| json!({"x": {"ipv4": [address], "ipv6": [address]}});
        json!({"_sonos._tcp": at("10.10.10.11"), other: at("2001:db8:10::11")})
    };
    state.identity_event(Event::Services(announced("_smb._tcp")));
    assert_eq!(kind(&state, &network), r#""speaker" "mdns""#);
    state.identity_event(Event::Services(announced("_axis-video._tcp")));
    assert_eq!(kind(&state, &network), r#""printer" "name""#, "two kinds are announced");
    let mut settings = DeviceSettings::default();
    settings.kind = "tv";
    state.pauses.settings.devices.insert(mac(1), settings);
    assert_eq!(kind(&state, &network), r#""tv" "owner""#);
}

fn reservations(macs: &BTreeSet<u16>) -> Reservations {
    let host = |number: &u16| {
        (number.to_string(), json!({".type": "host", "mac": mac(*number).to_string()}))
    };
    Reservations::parse(&Value::Object(macs.iter().map(host).collect()))
}

#[derive(Debug, Clone)]
enum Step {
    Neighbour(u16, Option<u16>),
    Traffic(u16, u64, u64),
    Name(u16),
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => (0..40_u16, prop::option::of(0..12_u16)).prop_map(|(a, m)| Step::Neighbour(a, m)),
        3 => (0..40_u16, 0..9_u64, 0..9_u64).prop_map(|(a, s, r)| Step::Traffic(a, s, r)),
        1 => (0..12_u16).prop_map(Step::Name),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn a_known_device_is_never_replaced(
        known in prop::collection::btree_set(0..800_u16, 0..800),
        order in Just((0..800).collect::<Vec<u16>>()).prop_shuffle(),
    ) {
        let mut network = network();
        network.set_reservations(reservations(&known));
        let mut state = State::new(START);
        let mut learned = BTreeSet::new();
        for (second, some) in (1..).zip(order.chunks(MAX_REPLACED)) {
            let address = |number: &u16| format!("2001:db8:10::{number:x}");
            for number in some {
                network.change(neighbour(5, ip(&address(number)), Some(mac(*number))));
            }
            let all: Vec<_> = some.iter().map(|number| (address(number), bytes(1, 1, 0))).collect();
            let all: Vec<_> = all.iter().map(|(address, bytes)| (&**address, *bytes)).collect();
            state.second(grown(&all), &network, at(second));
            let kept = |number: &u16| state.devices.contains_key(&mac(*number));
            prop_assert!(learned.iter().all(kept));
            let some = some.iter().copied().filter(kept);
            learned.extend(some.filter(|number| known.contains(number)));
            prop_assert!(state.devices.len() <= MAX_DEVICES);
        }
        prop_assert_eq!(learned.len(), known.len().min(MAX_DEVICES));
    }
}

proptest! {
    #[test]
    fn every_byte_counts_once_and_every_address_has_one_device(
        steps in prop::collection::vec(any_step(), 1..200),
    ) {
        let mut network = network();
        let mut state = State::new(START);
        let mut total = HostBytes::default();
        for (second, step) in (1..).zip(steps) {
            let address = |number: u16| format!("2001:db8:10::{number:x}");
            let mut growth = HostGrowth::default();
            match step {
                Step::Neighbour(number, owner) => {
                    network.change(neighbour(5, ip(&address(number)), owner.map(mac)));
                }
                Step::Traffic(number, sent, received) => {
                    growth = grown(&[(&address(number), bytes(sent, received, sent))]);
                    total.add(bytes(sent, received, sent));
                }
                Step::Name(number) => {
                    let lease = format!("1 {} 10.10.10.9 name *\n", mac(number));
                    network.set_names(Names::parse(&lease, ""));
                }
            }
            state.second(growth, &network, at(second));
            let mut sum = state.others;
            let mut owners = BTreeMap::new();
            for (mac, device) in &state.devices {
                sum.add(device.bytes);
                prop_assert!(device.addresses.len() <= MAX_ADDRESSES);
                for address in &device.addresses {
                    prop_assert_eq!(owners.insert(*address, *mac), None);
                }
            }
            prop_assert_eq!(sum, total);
            prop_assert_eq!(owners, state.owners.clone().into_iter().collect());
        }
    }
}
