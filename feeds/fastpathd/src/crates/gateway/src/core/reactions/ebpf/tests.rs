// SPDX-License-Identifier: GPL-2.0-or-later

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::Duration;

use ctnetlink::{Counters, Entry, EntryUpdate, Event, Revision, TcpState};
use ebpf::connection::Stage;
use ebpf::entry::Key;
use ebpf::entry_side::Hook;
use ebpf::fake::Fake;
use ebpf::layout::{Exits, Out};
use flows::Now;
use model::{Connection, Engine};
use ruleset::Applied;
use serde_json::{Value, json};
use topology::{Change, FdbEntry, LinkKind, Mac, Neighbour, NeighbourState, PppoeSession};

use super::*;
use crate::fixture::{ask, established, lab_dump, lab_firewall, lab_network, outcome};
use crate::offload::ebpf::{AttachRequest, Waiting};
use crate::offload::flowtable::Job;
use crate::offload::programs::ProgramsReason;
use crate::sys::kernel::{Machine, Readings};
use crate::{api, conntrack, offload};

mod attach;
mod reuse;
mod routing;
mod shaping;

fn configuration(engine: &str) -> Value {
    json!({"main": {".type": "fastpath", ".name": "main", "engine": engine}})
}

fn names(devices: &[&str]) -> BTreeSet<String> {
    devices.iter().map(|device| (*device).to_owned()).collect()
}

fn attach(devices: &[&str]) -> AnyEffect {
    AnyEffect::Offload(offload::Effect::Attach(AttachRequest {
        devices: names(devices),
        hook: None,
    }))
}

/// Returns a core that has requested programs for the lab's ports.
fn asking() -> Core {
    let mut core = Core::new(Machine::default(), Now { mono: Duration::ZERO, unix_ms: 1_000_000 });
    core.firewall_read(&lab_firewall());
    core.interfaces_read(&lab_dump());
    core.configuration_read(&configuration("ebpf"));
    let effects = core.network_changed(lab_network());
    // Rules cover only devices without a program, so they are applied after the attachment.
    let attaching = attach(&["lan1", "lan2", "wan"]);
    assert_eq!(effects, [attaching]);
    core
}

/// Returns a core with programs on all ports, and their fake maps.
fn running() -> (Core, Fake) {
    let (mut core, maps) = (asking(), Fake::default());
    let effects = core.attached(Ok(outcome(&maps, &["lan1", "lan2", "wan"], &[])));
    let [AnyEffect::Offload(offload::Effect::Run(Job::Apply { plan, .. }))] = &effects[..] else {
        panic!("{effects:?}")
    };
    assert!(plan.devices.is_empty() && plan.engine == Engine::Ebpf);
    core.applied(Ok(Applied::Removed));
    (core, maps)
}

/// Mark of a connection that has passed the rules in both directions.
const PASSED: u32 = 0x3000_0000;

fn update(core: &mut Core, entry: Entry) -> Vec<AnyEffect> {
    let mark = entry.mark | PASSED;
    let event = Entry { orig_counters: None, reply_counters: None, mark, ..entry };
    let effects = core.entries_changed(&[Event::New(event), Event::Update(event)]);
    settle(core, effects)
}

/// Executes requests to confirm connections, and returns the other effects.
fn settle(core: &mut Core, effects: Vec<AnyEffect>) -> Vec<AnyEffect> {
    let mut others = Vec::new();
    for effect in effects {
        match effect {
            AnyEffect::Conntrack(conntrack::Effect::Confirm(waiting, start)) => {
                let more = confirm(core, &waiting, start);
                others.extend(settle(core, more));
            }
            other => others.push(other),
        }
    }
    others
}

fn confirm(core: &mut Core, waiting: &[Waiting], start: flows::ReadingStart) -> Vec<AnyEffect> {
    let shown = |one: &Waiting| {
        let Connection { id, orig, reply, .. } = one.connection;
        let entry = established(u32::try_from(id).unwrap(), false);
        let (orig_counters, reply_counters) = (None, None);
        Entry { orig, reply, orig_counters, reply_counters, mark: PASSED, ..entry }
    };
    let found: Vec<_> = waiting.iter().map(|one| (*one, Some(shown(one)))).collect();
    core.confirmed(&found, start)
}

fn changes(core: &mut Core, news: Vec<topology::Change>) {
    let effects = core.network_changed(news);
    settle(core, effects);
}

fn from_host(key: &Key) -> bool {
    key.src == "10.10.10.10".parse::<IpAddr>().unwrap()
}

fn offloaded(maps: &Fake) -> usize {
    maps.with(|inside| inside.flows.len())
}

/// Returns the link-layer header of packets to the host.
fn header(maps: &Fake) -> Vec<u8> {
    maps.with(|inside| {
        let (_, (entry, _)) = inside.flows.iter().find(|(key, _)| !from_host(key)).unwrap();
        entry.header.bytes.clone()
    })
}

fn flow(core: &mut Core, id: u32) -> Value {
    ask(core, "flow", json!({"id": id}))["flow"].take()
}

fn engine(core: &mut Core) -> Value {
    ask(core, "status", json!({}))["engine"].take()
}

fn neighbour(mac: Option<u8>) -> topology::Change {
    topology::Change::Neighbour(Neighbour {
        index: 5,
        address: "10.10.10.10".parse().unwrap(),
        mac: mac.map(|last| Mac([2, 0, 0, 0, 1, last])),
        state: if mac.is_some() { NeighbourState::Valid } else { NeighbourState::Invalid },
    })
}

fn station(port: u32, mac: u8) -> topology::Change {
    let mac = Mac([2, 0, 0, 0, 1, mac]);
    topology::Change::Fdb(FdbEntry { bridge: 4, port, mac, vlan: 10, own: false })
}

#[test]
fn a_connection_is_offloaded_when_its_event_reports_it_established() {
    let (mut core, maps) = running();
    let opening = Entry { tcp_state: Some(TcpState::SynRecv), ..established(7, false) };
    assert_eq!(update(&mut core, opening), []);
    assert_eq!(offloaded(&maps), 0);
    let event = Event::Update(established(7, false));
    let effects = core.entries_changed(&[event]);
    let [AnyEffect::Conntrack(conntrack::Effect::Confirm(waiting, start))] = &effects[..] else {
        panic!("{effects:?}")
    };
    let orig = established(7, false).orig;
    let free = EntryUpdate {
        zone: 0,
        orig,
        timeout_s: None,
        disable_window_tracking: true,
        established: false,
    };
    assert_eq!(stages(&maps), [Stage::Waiting; 2], "conntrack may have seen an end");
    let update = AnyEffect::Conntrack(conntrack::Effect::Update(vec![free]));
    assert_eq!(confirm(&mut core, waiting, *start), [update]);
    assert_eq!(stages(&maps), [Stage::Forwarding; 2]);
    maps.with(|inside| {
        let (_, (there, _)) = inside.flows.iter().find(|(key, _)| from_host(key)).unwrap();
        assert_eq!((there.device, there.mtu), (3, 1492));
        assert_eq!(there.src, "198.51.100.10".parse::<IpAddr>().unwrap());
        assert!(there.header.pppoe && there.header.outer.is_some_and(|tag| tag.vid == 35));
    });
    assert_eq!(flow(&mut core, 7)["path"], "ebpf");
    assert_eq!(core.entries_changed(&[event]), []);
}

#[test]
fn a_connection_that_ends_before_it_is_confirmed_is_not_started() {
    let (mut core, maps) = running();
    let asked = |effects: Vec<AnyEffect>| match &effects[..] {
        [AnyEffect::Conntrack(conntrack::Effect::Confirm(waiting, start))] => {
            (waiting.clone(), *start)
        }
        other => panic!("{other:?}"),
    };
    let begins = |id| Event::New(Entry { mark: PASSED, ..established(id, false) });
    let (first, start) = asked(core.entries_changed(&[begins(7)]));
    core.entries_changed(&[Event::Destroy(established(7, false))]);
    assert_eq!(confirm(&mut core, &first, start), []);
    assert_eq!(offloaded(&maps), 0);
    // The next connection has the same id. An answer about the first one must not start it.
    let (second, start) = asked(core.entries_changed(&[begins(7)]));
    assert_eq!(confirm(&mut core, &first, start), []);
    assert_eq!(stages(&maps), [Stage::Waiting; 2]);
    // The programs have seen a SYN, or an end before the start.
    stage(&maps, Stage::Restarted);
    let (third, start) = asked(confirm(&mut core, &second, start));
    assert_eq!(stages(&maps), [Stage::Waiting; 2], "conntrack is asked again");
    core.confirmed(&[(third[0], None)], start);
    assert_eq!(offloaded(&maps), 0);
    assert_eq!(flow(&mut core, 7)["reason"], "not-taken");
}

/// The SYN may open the next connection with the same addresses and ports, or be forged.
#[test]
fn a_syn_ends_the_offload_until_conntrack_confirms_the_connection() {
    let (mut core, maps) = running();
    update(&mut core, established(7, false));
    stage(&maps, Stage::Restarted);
    core.now.mono += Duration::from_secs(1);
    let effects = core.second(&Readings::default());
    assert_eq!(stages(&maps), [Stage::Waiting; 2]);
    let extended =
        |effect: &AnyEffect| matches!(effect, AnyEffect::Conntrack(conntrack::Effect::Update(_)));
    assert!(!effects.iter().any(extended), "the timeout may be another connection's");
    assert_eq!(flow(&mut core, 7)["path"], "slow");
    settle(&mut core, effects);
    assert_eq!(stages(&maps), [Stage::Forwarding; 2]);
    assert_eq!(flow(&mut core, 7)["path"], "ebpf");
}

#[test]
fn a_closing_connection_is_left_to_the_stack() {
    let (mut core, maps) = running();
    update(&mut core, established(7, false));
    maps.pass(10, from_host);
    let fin = Entry { tcp_state: Some(TcpState::FinWait), ..established(7, false) };
    stage(&maps, Stage::Closing);
    assert_eq!(update(&mut core, fin), [], "conntrack sets the timeout");
    assert_eq!(offloaded(&maps), 0);
    let flow = flow(&mut core, 7);
    assert_eq!((&flow["path"], &flow["reason"]), (&json!("slow"), &json!("closing")));
    assert_eq!(flow["up_bytes"], 1000, "its last count: {flow}");
}

fn stage(maps: &Fake, stage: Stage) {
    maps.with(|inside| inside.flows.values_mut().for_each(|(_, read)| read.stage = stage));
}

fn stages(maps: &Fake) -> Vec<Stage> {
    maps.with(|inside| inside.flows.values().map(|(_, read)| read.stage).collect())
}

/// The programs passed the RST to the kernel, which does not track the window.
#[test]
fn conntrack_is_corrected_after_it_accepted_a_forged_rst() {
    let (mut core, maps) = running();
    core.second(&Readings::default());
    update(&mut core, established(7, false));
    let reset = Entry { tcp_state: Some(TcpState::Close), ..established(7, false) };
    let undone = [AnyEffect::Conntrack(conntrack::Effect::Update(vec![EntryUpdate {
        zone: 0,
        orig: reset.orig,
        timeout_s: Some(432_000),
        disable_window_tracking: true,
        established: true,
    }]))];
    assert_eq!(core.entries_changed(&[Event::Update(reset)]), undone);
    assert_eq!(core.entries_read(&[reset]), undone);
    let start = core.conntrack.flows().reading_start();
    assert_eq!(core.looked_up(&[reset], start), undone);
    assert_eq!(flow(&mut core, 7)["path"], "ebpf");
    assert_eq!(offloaded(&maps), 2);
    // The programs have seen the RST, too.
    stage(&maps, Stage::Closing);
    assert_eq!(core.entries_changed(&[Event::Update(reset)]), []);
    assert_eq!(offloaded(&maps), 0);
}

#[test]
fn map_counters_update_flows_and_conntrack_timeouts() {
    let (mut core, maps) = running();
    update(&mut core, established(7, false));
    maps.pass(10, from_host);
    maps.pass(1000, |key| !from_host(key));
    core.now.mono += Duration::from_secs(1);
    let effects = core.second(&Readings::default());
    let keep = effects.iter().find_map(|effect| match effect {
        AnyEffect::Conntrack(conntrack::Effect::Update(updates)) => Some(updates),
        _ => None,
    });
    let timeouts: Vec<_> = keep.unwrap().iter().map(|update| update.timeout_s).collect();
    assert_eq!(timeouts, [Some(432_000)]);
    assert_eq!(core.conntrack.flows().totals().paths.ebpf.bytes, 101_000);
    // The last counters are read when the connection ends.
    maps.pass(1, from_host);
    let last = Entry {
        orig_counters: Some(Counters { packets: 12, bytes: 1100 }),
        ..established(7, false)
    };
    core.entries_changed(&[Event::Destroy(last)]);
    assert_eq!(core.conntrack.flows().totals().paths.ebpf.bytes, 101_100);
    assert_eq!(offloaded(&maps), 0);
    assert!(core.conntrack.flows().is_empty());
    assert_eq!(maps.with(|inside| inside.beats), 1);
}

#[test]
fn entries_follow_a_host_that_moves() {
    let (mut core, maps) = running();
    update(&mut core, established(7, false));
    assert_eq!(header(&maps)[..6], [2, 0, 0, 0, 1, 10]);
    // The host has a new MAC address, which the bridge has not learned yet.
    changes(&mut core, vec![neighbour(Some(11))]);
    assert_eq!(offloaded(&maps), 0);
    changes(&mut core, vec![station(1, 11)]);
    update(&mut core, established(7, false));
    assert_eq!(header(&maps)[..6], [2, 0, 0, 0, 1, 11]);
    // Reports that repeat the known state change nothing.
    maps.pass(1, |_| true);
    changes(&mut core, vec![neighbour(Some(11)), station(1, 11)]);
    assert_eq!(maps.pass(0, |_| true), 2);
    changes(&mut core, vec![neighbour(None)]);
    assert_eq!(offloaded(&maps), 0);
    let flow = flow(&mut core, 7);
    assert_eq!((&flow["path"], &flow["reason"]), (&json!("slow"), &json!("no-neighbour")));
    assert_eq!(flow["up_bytes"], 100);
}

#[test]
fn entries_follow_a_new_pppoe_session_at_once() {
    let (mut core, maps) = running();
    update(&mut core, established(7, false));
    maps.pass(3, from_host);
    let session = |id| PppoeSession { id, peer: Mac([2, 0, 0, 0, 9, 9]), device: "wan.35".into() };
    changes(&mut core, vec![topology::Change::Pppoe(vec![session(77)], Vec::new())]);
    assert_eq!(offloaded(&maps), 2);
    let sessions = maps.with(|inside| -> Vec<Option<u16>> {
        inside
            .flows
            .keys()
            .filter(|key| !from_host(key))
            .map(|key| key.encapsulation.session)
            .collect()
    });
    assert_eq!(sessions, [Some(77)]);
    assert_eq!(flow(&mut core, 7)["up_bytes"], 300, "counted before it was replaced");
}

#[test]
fn entries_stay_if_unrelated_hosts_change() {
    let (mut core, maps) = running();
    update(&mut core, established(7, false));
    maps.with(|inside| inside.refused = Some(80));
    let other = topology::Change::Neighbour(Neighbour {
        index: 6,
        address: "10.10.20.10".parse().unwrap(),
        mac: Some(Mac([2, 0, 0, 0, 1, 20])),
        state: NeighbourState::Valid,
    });
    changes(&mut core, vec![other, station(1, 99)]);
    assert_eq!(offloaded(&maps), 2);
}

#[test]
fn a_new_daemon_adopts_the_entries_of_the_previous_one() {
    let (mut core, maps) = running();
    update(&mut core, established(7, false));
    let stranger = Entry { id: 8, ..established(8, false) };
    let stranger = Entry {
        orig: ctnetlink::Tuple { sport: 41_000, ..stranger.orig },
        reply: ctnetlink::Tuple { dport: 41_000, ..stranger.reply },
        ..stranger
    };
    update(&mut core, stranger);
    maps.pass(5, from_host);
    assert_eq!(offloaded(&maps), 4);
    let mut next = asking();
    next.conntrack.flows_mut().trust_first_dump();
    next.attached(Ok(outcome(&maps, &["lan1", "lan2", "wan"], &[])));
    next.applied(Ok(Applied::Removed));
    for _ in 0..2 {
        next.now.mono += Duration::from_secs(2);
        next.dump_if_due();
        let mut effects = next.entries_read(&[Entry { mark: PASSED, ..established(7, false) }]);
        effects.extend(next.dump_ended(true));
        settle(&mut next, effects);
    }
    // Conntrack lacks the other connection.
    assert_eq!(offloaded(&maps), 2);
    let flow = flow(&mut next, 7);
    assert_eq!((&flow["path"], &flow["up_bytes"]), (&json!("ebpf"), &json!(1500)));
    assert_eq!(next.conntrack.flows().totals().paths.ebpf.bytes, 0);
}

#[test]
fn the_ebpf_answer_shows_devices_capacity_and_exits() {
    let (mut core, maps) = (asking(), Fake::default());
    core.attached(Ok(outcome(&maps, &["lan1", "lan2"], &["wan"])));
    let mut ask = || ask(&mut core, "ebpf", json!({}));
    let answer = ask();
    let why = "the driver of wan does not support XDP";
    let all = format!("wan: {why}");
    assert_eq!((&answer["active"], &answer["why"]), (&json!(true), &json!(all)));
    let params = json!({"device": "wan", "inner": "no-xdp"});
    assert_eq!(answer["cause"], json!({"code": "device", "params": params}));
    let cause = json!({"code": "no-xdp", "params": {"device": "wan"}});
    let wan = json!({"device": "wan", "hook": "", "why": why, "cause": cause});
    assert_eq!(answer["devices"][2], wan);
    assert_eq!((&answer["flows"], &answer["capacity"]), (&json!(0), &json!(32)));
    assert_eq!(answer["exits"].as_array().map(Vec::len), Some(16));
}

/// Ports 1 and 3 are lan1 and wan. Port 99 has no map element, so it counts as other. The device of
/// port 9 is removed, so only the sums include it.
#[test]
fn exits_are_summed_up_and_shown_by_port() {
    let (mut core, maps) = (asking(), Fake::default());
    core.attached(Ok(outcome(&maps, &["lan1", "lan2", "wan"], &[])));
    for (ifindex, packets) in [(1, 5), (3, 7), (9, 1), (99, 2)] {
        let mut one = Exits::default();
        one.out[Out::Ttl as usize] = packets;
        maps.with(|inside| inside.exits.add(ifindex, &one));
    }
    core.second(&Readings::default());
    let answer = ask(&mut core, "ebpf", json!({}));
    assert_eq!(
        (&answer["seen"], &answer["exits"][Out::Ttl as usize]["packets"]),
        (&json!(15), &json!(15))
    );
    let answer = ask(&mut core, "metrics", json!({}));
    let families = answer["families"].as_array().unwrap();
    let packets = families.iter().find(|family| family["name"] == "fastpath_ebpf_packets_total");
    let samples = packets.unwrap()["samples"].as_array().unwrap();
    let ttl = samples.iter().filter(|sample| sample["labels"]["exit"] == "ttl");
    let ttl: Vec<_> = ttl.map(|sample| [&sample["labels"]["device"], &sample["value"]]).collect();
    assert_eq!(json!(ttl), json!([["lan1", "5"], ["other", "2"], ["wan", "7"]]));
}

#[test]
fn packets_of_a_blocked_source_are_dropped_at_the_hook() {
    let (mut core, maps) = running();
    update(&mut core, established(7, false));
    maps.pass(2, from_host);
    let source = config::Network::host(established(7, false).orig.src);
    let offers = core.conntrack.flows().connections_of(source);
    let (now, until) = (core.now, core.now.mono + Duration::from_secs(60));
    let known = (core.network.topology(), core.conntrack.flows());
    core.offload.ebpf_mut().reject(&offers, 2_100_498, until, known, now);
    core.serve_ebpf();
    assert!(maps.with(|inside| inside.flows.values().all(|(entry, _)| entry.drop.is_some())));
    assert_eq!(core.conntrack.flows().totals().paths.ebpf.packets, 2);
    // The connection's end in conntrack does not end the drop.
    core.entries_changed(&[Event::Destroy(established(7, false))]);
    maps.pass(5, from_host);
    core.now.mono += Duration::from_secs(1);
    core.second(&Readings::default());
    assert_eq!(offloaded(&maps), 2);
    let dropped = core.offload.ebpf().table().unwrap().dropped().to_vec();
    assert_eq!(dropped, [(2_100_498, Counters { packets: 5, bytes: 500 })]);
    let now = core.now;
    core.offload.ebpf_mut().accept(&[source], now);
    assert_eq!(offloaded(&maps), 0);
}

#[test]
fn flows_are_installed_again_in_new_maps() {
    let (mut core, maps) = running();
    update(&mut core, established(7, false));
    maps.pass(4, from_host);
    let fresh = Fake::default();
    let mut loaded = outcome(&fresh, &["lan1", "lan2", "wan"], &[]);
    loaded.opened.iter_mut().for_each(|opened| opened.id = 2);
    let effects = core.attached(Ok(loaded));
    settle(&mut core, effects);
    assert_eq!((offloaded(&maps), offloaded(&fresh)), (0, 2));
    assert_eq!(flow(&mut core, 7)["up_bytes"], 400);
    let mut same = outcome(&fresh, &["lan1", "wan"], &["lan2"]);
    same.opened.iter_mut().for_each(|opened| opened.id = 2);
    core.attached(Ok(same));
    assert_eq!(offloaded(&fresh), 2);
}

mod rules;
