// SPDX-License-Identifier: GPL-2.0-or-later
//! Measures the kernel's flow maps: time of each operation, and memory of a full map.

use std::net::{IpAddr, Ipv4Addr};

use ebpf::connection::EntryReading;
use ebpf::engine::Maps;
use ebpf::entry::{Entry, Key};
use ebpf::entry_side::Encapsulation;
use ebpf::header::Header;
use ebpf::pinned::Pinned;

use crate::Failure;
use crate::measure::cpu_time;

/// Writes, reads and removes the two entries of `connections` connections.
pub(crate) fn measure(
    maps: &mut Pinned,
    connections: u32,
    note: &mut impl FnMut(&str, f64),
) -> Result<(), Failure> {
    let entries = 2 * connections;
    let entry = entry();
    let each = |run: &mut dyn FnMut() -> Result<(), Failure>| -> Result<f64, Failure> {
        let start = cpu_time();
        run()?;
        Ok(cpu_time().saturating_sub(start).as_secs_f64() * 1e9 / f64::from(entries))
    };
    let before = kernel_mb()?;
    let written = each(&mut || {
        (0..entries).try_for_each(|n| Ok(maps.put(&key(n), &entry, EntryReading::default())?))
    })?;
    note("map: write an entry, ns", written);
    note(
        "map: memory of an entry, bytes",
        (kernel_mb()? - before) * 1_048_576.0 / f64::from(entries),
    );
    note("map: memory by the kernel's count (fdinfo), MB", counted_mb()?);
    let read = each(&mut || {
        let mut found = 0;
        maps.read(usize::MAX, &mut |_| found += 1)?;
        if found == entries { Ok(()) } else { Err(format!("{found} of {entries}").into()) }
    })?;
    note("map: read an entry in a batch, ns", read);
    let removed = each(&mut || {
        (0..entries).try_for_each(|n| Ok(maps.remove(&key(n), maps.address(&key(n))).map(drop)?))
    })?;
    note("map: remove an entry, ns", removed);
    Ok(())
}

fn key(number: u32) -> Key {
    let [a, b, c, d] = number.to_be_bytes();
    Key {
        src: IpAddr::V4(Ipv4Addr::new(10, a, b, c)),
        dst: IpAddr::V4(Ipv4Addr::new(203, 0, 113, 1)),
        sport: 1024 + u16::from(d),
        dport: 443,
        proto: 17,
        device: 1,
        encapsulation: Encapsulation::default(),
    }
}

fn entry() -> Entry {
    let address = IpAddr::V4(Ipv4Addr::new(203, 0, 113, 1));
    Entry {
        device: 3,
        mtu: 1500,
        header: Header {
            bytes: vec![0; 14],
            outer: None,
            inner: None,
            priorities: [0; 2],
            pppoe: false,
        },
        nat: false,
        src: address,
        dst: address,
        sport: 1024,
        dport: 443,
        l3_delta: 0,
        address_delta: 0,
        port_delta: 0,
        l4_delta: 0,
        back: (3, Encapsulation::default()),
        own: [0; 6],
        best_effort: false,
        drop: None,
    }
}

/// Returns the kernel's memory that it cannot reclaim: slabs and per-CPU areas.
fn kernel_mb() -> Result<f64, Failure> {
    let text = std::fs::read_to_string("/proc/meminfo")?;
    let of = |name: &str| -> Option<f64> {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().strip_suffix(" kB")?.parse().ok()
    };
    let sum = of("SUnreclaim:").zip(of("Percpu:")).map(|(slabs, cpus)| slabs + cpus);
    Ok(sum.ok_or("meminfo")? / 1024.0)
}

/// Returns the sum of `memlock` over this process' maps.
fn counted_mb() -> Result<f64, Failure> {
    let mut sum = 0.0;
    for file in std::fs::read_dir("/proc/self/fdinfo")? {
        let Ok(text) = std::fs::read_to_string(file?.path()) else { continue };
        let locked = text.lines().find_map(|line| line.strip_prefix("memlock:"));
        if text.contains("map_type:") {
            sum += locked.unwrap_or("0").trim().parse::<f64>()?;
        }
    }
    Ok(sum / 1_048_576.0)
}
