// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests the pinned maps in the running kernel. Skipped without root or a BPF file system.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::time::Duration;

use aya::maps::{Array, Map, MapData};
use ctnetlink::{Counters, Tuple};
use ebpf::connection::{EntryReading, Position, Stage, Timeouts};
use ebpf::dependency::Endpoint;
use ebpf::engine::{Element, MapError, Maps, OffloadEngine, STEP};
use ebpf::entry::{Entry, Key, connect};
use ebpf::entry_side::{Encapsulation, EntrySide, Hook, Tag};
use ebpf::folder::Folder;
use ebpf::layout::Control;
use ebpf::pinned::{OpenError, Pinned};
use ebpf::programs::{Dsa, LoadOptions, ProgramRole, Programs};
use model::Connection;

use crate::kernel::object;

/// Folder with loaded programs, removed on drop.
struct Loaded(Folder);

impl Loaded {
    fn new(name: &str, flows: u32) -> Option<Self> {
        if !rustix::process::geteuid().is_root() || !Path::new("/sys/fs/bpf").exists() {
            println!("skipped: needs root and a BPF file system");
            return None;
        }
        let path = format!("/sys/fs/bpf/fastpath_test_{name}_{}", std::process::id());
        let folder = Folder::new(path);
        let settings = LoadOptions { flows, dsa: Dsa::None };
        Programs::load(object(), Some(&folder), settings).expect("loaded");
        Some(Self(folder))
    }

    fn open(&self) -> Pinned {
        Pinned::open(&self.0, Dsa::None).expect("maps")
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(self.0.path());
    }
}

fn side(device: u32) -> EntrySide {
    let tag = Some(Tag { vid: 35, service: false });
    EntrySide {
        device,
        hook: Hook::Tc,
        encapsulation: Encapsulation { outer: tag, inner: None, session: Some(7) },
        local: [2, 0, 0, 0, 0, 1],
        next_hop: Some([2, 0, 0, 0, 1, 1]),
        priorities: [[0; 4]; 2],
        classified: false,
        mtu: 1500,
    }
}

fn tuples(port: u16, v6: bool) -> (Tuple, Tuple) {
    let [src, dst]: [IpAddr; 2] = if v6 {
        ["2001:db8::1", "2001:db8:1::9"].map(|text| text.parse().expect("IPv6"))
    } else {
        ["10.0.0.2", "203.0.113.9"].map(|text| text.parse().expect("IPv4"))
    };
    let orig = Tuple { src, dst, proto: 6, sport: port, dport: 443 };
    (orig, Tuple { src: dst, dst: src, proto: 6, sport: 443, dport: port })
}

fn entries(port: u16, v6: bool) -> [(Key, Entry); 2] {
    let (orig, reply) = tuples(port, v6);
    connect(&orig, &reply, &side(1), &side(2)).expect("entries")
}

/// Returns the values of the entry for this port.
fn written(port: u16) -> EntryReading {
    let counters = Counters { packets: u64::from(port), bytes: 100 };
    let position = Position { used: 7, seq_high: port.to_be_bytes(), ack: [1, 2, 3, 4] };
    EntryReading { counters, stage: Stage::Waiting, position }
}

fn all(maps: &mut Pinned) -> HashMap<Key, EntryReading> {
    let mut found = HashMap::new();
    let mut entries = 0;
    let mut parts = 1;
    let mut each = |element: &Element| {
        entries += 1;
        found.insert(element.key, element.reading);
    };
    while !maps.read(2000, &mut each).expect("read") {
        parts += 1;
    }
    assert!(parts >= entries / 4000, "{parts} parts of {entries} entries");
    assert_eq!(entries, found.len(), "each once");
    found
}

#[test]
fn writes_reads_and_removes_entries() {
    let Some(loaded) = Loaded::new("entries", 8192) else { return };
    let mut maps = loaded.open();
    assert_eq!(maps.capacity(), 8192);
    let ports = 1000..4000;
    for port in ports.clone() {
        for (key, entry) in entries(port, port % 2 == 1) {
            maps.put(&key, &entry, written(port)).expect("written");
            assert_eq!(maps.get(&key).expect("read"), Some(written(port)));
        }
    }
    let found = all(&mut maps);
    assert_eq!(found.len(), 6000);
    for port in ports {
        for (key, _) in entries(port, port % 2 == 1) {
            let reading = written(port);
            assert_eq!(found.get(&key), Some(&reading), "{key:?}");
            assert_eq!(maps.remove(&key, maps.address(&key)).expect("asked"), Some(reading));
            assert_eq!(maps.remove(&key, maps.address(&key)).expect("asked"), None);
        }
    }
    assert!(all(&mut maps).is_empty());
}

#[test]
fn an_entry_with_the_same_hash_is_kept() {
    let Some(loaded) = Loaded::new("hash", 8) else { return };
    let mut maps = loaded.open();
    let control = MapData::from_pin(loaded.0.map("control")).map(Map::Array).expect("pinned");
    let control: Array<_, Control> = control.try_into().expect("an array");
    let secret = control.get(&0, 0).expect("there").secret;
    let [(key, entry), _] = entries(1000, false);
    // The difference of the first word times the secret cancels that of the second word.
    let dst = Ipv4Addr::new(204, 0, 113, 9).into();
    let low = u32::try_from(secret & u64::from(u32::MAX)).expect("32 bits");
    let device = key.device.wrapping_sub(low);
    let other = Key { dst, device, ..key };
    maps.put(&other, &entry, written(1)).expect("written");
    assert_eq!(maps.get(&key).expect("asked"), None);
    assert_eq!(maps.remove(&key, maps.address(&key)).expect("asked"), None);
    assert_eq!(maps.get(&other).expect("asked"), Some(written(1)));
    maps.put(&key, &entry, written(2)).expect("replaces the other one");
    assert_eq!(maps.get(&other).expect("asked"), None, "the hashes are equal");
}

#[test]
fn reports_a_full_map() {
    let Some(loaded) = Loaded::new("full", 4) else { return };
    let mut maps = loaded.open();
    let counted = EntryReading::default();
    let mut port = 1000;
    let error = loop {
        let [(key, entry), _] = entries(port, false);
        if let Err(error) = maps.put(&key, &entry, counted) {
            break error;
        }
        port += 1;
        assert!(port < 2000, "the map is never full");
    };
    assert!(matches!(error, MapError::Full), "{error}");
    let [(key, entry), _] = entries(1000, false);
    maps.put(&key, &entry, counted).expect("replaces an existing entry");
}

#[test]
fn heartbeat_runs_in_the_kernel() {
    let Some(loaded) = Loaded::new("beat", 64) else { return };
    let mut maps = loaded.open();
    maps.heartbeat(Duration::from_secs(5)).expect("beats");
    assert_eq!(maps.exits().expect("counters").total().seen(), 0);
}

fn finish(engine: &mut OffloadEngine) {
    while engine.step(STEP, Duration::ZERO).expect("a step") {}
}

#[test]
fn hides_all_entries_until_they_are_removed() {
    let Some(loaded) = Loaded::new("hide", 8192) else { return };
    let mut maps = loaded.open();
    let ports = 1000..1700;
    let each = || ports.clone().flat_map(|port| entries(port, port % 2 == 1));
    let reading = |key: &Key| written(key.sport.max(key.dport));
    for (key, entry) in each() {
        maps.put(&key, &entry, reading(&key)).expect("written");
    }
    let control = MapData::from_pin(loaded.0.map("control")).map(Map::Array).expect("pinned");
    let mut control: Array<_, Control> = control.try_into().expect("an array");
    let before = control.get(&0, 0).expect("there");
    maps.hide().expect("hidden");
    let [(again, entry), _] = entries(1000, false);
    maps.put(&again, &entry, written(1)).expect("beside the hidden one");
    // A loader that read the secret before writes it back without a heartbeat.
    control.set(0, Control { alive_until: 0, ..before }, 0).expect("set");
    maps.heartbeat(Duration::from_secs(5)).expect("beats");
    let after = control.get(&0, 0).expect("there");
    assert!(after.secret != before.secret && after.alive_until > 0);
    for [(one, _), (other, _)] in ports.clone().map(|port| entries(port, port % 2 == 1)) {
        assert!(!maps.start(&[one, other]).expect("runs"), "{one:?}");
        let found = maps.get(&one).expect("asked");
        assert_eq!(found, (one == again).then(|| written(1)), "{one:?}");
    }
    // The next daemon finds hidden entries, too.
    let mut next = loaded.open();
    let mut found: Vec<Element> = Vec::new();
    while !next.read(100, &mut |element| found.push(*element)).expect("read") {}
    let hidden: Vec<&Element> = found.iter().filter(|element| element.is_hidden).collect();
    assert_eq!((found.len(), hidden.len()), (1401, 1400));
    for Element { key, address, reading: read, .. } in hidden {
        assert_eq!(*read, reading(key));
        assert_eq!(next.remove(key, *address).expect("asked"), Some(*read));
    }
    assert_eq!(all(&mut next), HashMap::from([(again, written(1))]));
}

#[test]
fn an_engine_adopts_entries_of_the_previous_one() {
    let Some(loaded) = Loaded::new("engine", 64) else { return };
    let destination =
        |device| Endpoint { side: side(device), route: None, dependencies: Vec::new() };
    let (orig, reply) = tuples(1000, false);
    let connection = Connection { id: 1, zone: 0, orig, reply };
    let engine = || {
        let maps = Box::new(loaded.open());
        let mut engine = OffloadEngine::new(maps, 64, Timeouts::default());
        finish(&mut engine);
        engine
    };
    let now = Duration::ZERO;
    let mut first = engine();
    first.install(connection, [destination(1), destination(2)], now).expect("taken");
    first.second(Duration::from_secs(1)).expect("a second");
    assert_eq!(all(&mut loaded.open()).len(), 2);
    drop(first);
    let mut second = engine();
    second.install(connection, [destination(1), destination(2)], now).expect("taken");
    assert_eq!(second.remove_stale(), 0);
    drop(second);
    let mut third = engine();
    assert_eq!(third.remove_stale(), 2, "not adopted");
    finish(&mut third);
    assert!(all(&mut loaded.open()).is_empty());
}

#[test]
fn reports_a_missing_map_by_its_path() {
    let Some(loaded) = Loaded::new("gone", 64) else { return };
    std::fs::remove_file(loaded.0.map("flows6")).expect("unpinned");
    let error = Pinned::open(&loaded.0, Dsa::None).expect_err("gone");
    assert!(matches!(&error, OpenError::Open(path, _) if path.ends_with("flows6")), "{error}");
}

#[test]
fn reports_programs_of_another_layout() {
    let Some(loaded) = Loaded::new("version", 64) else { return };
    drop(loaded.open());
    // Another program returns another value than the layout.
    let path = |role| loaded.0.program(Dsa::None, role);
    std::fs::rename(path(ProgramRole::Tc), path(ProgramRole::Beat)).expect("renamed");
    let error = Pinned::open(&loaded.0, Dsa::None).expect_err("another version");
    assert!(matches!(error, OpenError::Layout(at) if at == path(ProgramRole::Beat)));
}
