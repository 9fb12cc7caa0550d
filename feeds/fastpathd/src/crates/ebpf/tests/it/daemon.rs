// SPDX-License-Identifier: GPL-2.0-or-later
//! Compares the map entries of the daemon with those of `flow.rs`.

use aya::maps::{Array, HashMap};
use ctnetlink::Tuple as Tracked;
use ebpf::connection::EntryReading;
use ebpf::engine::Maps;
use ebpf::entry::{self, connect};
use ebpf::entry_side::{self, EntrySide, Tag};
use ebpf::folder::Folder;
use ebpf::layout::{Control, Entry4, Entry6};
use ebpf::pinned::Pinned;
use ebpf::programs::{CONTROL, Dsa, LoadOptions, Programs};

use crate::flow::{Flow, Pair};
use crate::frame::{Link, Tuple};
use crate::kernel::{HOOKS, Hook, allowed, object};
use crate::table::{flow, links_in, links_out, translations};

fn side(device: u32, hook: Hook, local: [u8; 6], next_hop: [u8; 6], link: &Link) -> EntrySide {
    let tag = |n: usize| {
        let tag = link.tags.get(n)?;
        Some(Tag { vid: tag.tci & 0xfff, service: tag.proto == 0x88a8 })
    };
    EntrySide {
        device,
        hook: match hook {
            Hook::Tc => entry_side::Hook::Tc,
            Hook::Xdp => entry_side::Hook::Xdp,
        },
        encapsulation: entry_side::Encapsulation {
            outer: tag(0),
            inner: tag(1),
            session: link.session,
        },
        local,
        next_hop: Some(next_hop),
        priorities: [[0; 4]; 2],
        classified: false,
        mtu: 1500,
    }
}

fn tracked(tuple: &Tuple, tcp: bool) -> Tracked {
    let Tuple { src, dst, sport, dport } = *tuple;
    Tracked { src, dst, proto: if tcp { 6 } else { 17 }, sport, dport }
}

/// Builds the entries of both directions with the daemon's code.
fn made(flow: &Flow, hook: Hook) -> [(entry::Key, entry::Entry); 2] {
    let initiator = side(flow.devices.0, hook, flow.from.dst, flow.from.src, &flow.from);
    let responder = side(flow.devices.1, hook, flow.to.src, flow.to.dst, &flow.to);
    let (orig, reply) = (tracked(&flow.old, flow.tcp), tracked(&flow.new.reply(), flow.tcp));
    connect(&orig, &reply, &initiator, &responder).expect("can be offloaded")
}

#[test]
fn the_daemon_writes_the_expected_entries() {
    if !allowed() {
        return;
    }
    let folder = Folder::new(format!("/sys/fs/bpf/fastpath-daemon-{}", std::process::id()));
    let settings = LoadOptions { flows: 16, dsa: Dsa::None };
    let mut programs = Programs::load(object(), Some(&folder), settings).expect("loads");
    let mut pinned = Pinned::open(&folder, Dsa::None).expect("pinned");
    std::fs::remove_dir_all(folder.path()).expect("removed");
    let mut map = |name| programs.take_map(name).expect("there");
    let flows4: HashMap<_, u64, Entry4> = map("flows4").try_into().expect("a hash");
    let flows6: HashMap<_, u64, Entry6> = map("flows6").try_into().expect("a hash");
    let control: Array<_, Control> = map(CONTROL).try_into().expect("an array");
    let secret = control.get(&0, 0).expect("there").secret;
    assert_eq!(secret & 1, 1, "the first heartbeat sets an odd secret");
    for (v6, tcp) in [(false, false), (false, true), (true, false), (true, true)] {
        for (nat, old, new) in translations(v6) {
            for (ingress, from) in links_in() {
                for (egress, to) in links_out() {
                    for hook in HOOKS {
                        let name = format!("{hook:?} {ingress} to {egress} {nat} {v6} {tcp}");
                        let mut there = flow(&from, &to, (old, new), tcp);
                        there.devices = (7, 9);
                        let ours = [there.pair(hook), there.back().pair(hook)].map(|mut pair| {
                            pair.entry().waiting = 1;
                            pair
                        });
                        for ((key, entry), ours) in made(&there, hook).iter().zip(ours) {
                            pinned.put(key, entry, EntryReading::default()).expect("put");
                            match ours {
                                Pair::V4(k, e) => {
                                    assert_eq!(
                                        flows4.get(&k.hash(secret), 0).ok(),
                                        Some(e),
                                        "{name}"
                                    );
                                }
                                Pair::V6(k, e) => {
                                    assert_eq!(
                                        flows6.get(&k.hash(secret), 0).ok(),
                                        Some(e),
                                        "{name}"
                                    );
                                }
                            }
                            pinned.remove(key, pinned.address(key)).expect("removed");
                        }
                    }
                }
            }
        }
    }
}
