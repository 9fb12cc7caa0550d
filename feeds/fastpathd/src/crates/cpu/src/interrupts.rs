// SPDX-License-Identifier: GPL-2.0-or-later
//! Parses names in `/proc/interrupts`: the device and the queue of an interrupt, by the naming of
//! drivers.

use std::collections::BTreeMap;

use config::sort::Collect;

use crate::machine::Serves;

/// Returns names by interrupt number. The kernel separates the first name by two spaces and further
/// names of a shared interrupt by `, `.
pub(crate) fn names(text: &str) -> BTreeMap<u32, String> {
    let line = |line: &str| {
        let (number, rest) = line.split_once(':')?;
        let number = number.trim().parse().ok()?;
        let (_, name) = rest.trim_end().rsplit_once("  ")?;
        Some((number, name.trim().to_owned()))
    };
    text.lines().filter_map(line).into_map()
}

/// Returns whether the interrupt `name` belongs to `owner`: `eth0` owns `eth0` and `eth0-rx-1`,
/// not `eth01`.
pub(crate) fn owned(name: &str, owner: &str) -> bool {
    let matches = |name: &str| {
        let rest = name.strip_prefix(owner);
        rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric()))
    };
    !owner.is_empty() && name.split(", ").any(matches)
}

/// Returns the queues of one device's interrupts, in order. Names without a queue are `Unknown`,
/// or `Other` if another name has a queue.
pub(crate) fn serves(names: &[&str], hardware: &str) -> Vec<Serves> {
    let queues: Vec<Option<u32>> = names.iter().map(|name| queue(name, hardware)).collect();
    let default = if queues.iter().any(Option::is_some) { Serves::Other } else { Serves::Unknown };
    queues.into_iter().map(|queue| queue.map_or(default, Serves::Queue)).collect()
}

/// Returns the queue in a name: `eth0-TxRx-3`, `eth0-rx-3`, `eth0:tx-3`, `virtio0-input.3`,
/// `eth0-Tx-Rx-3`, `mlx5_comp3@pci:0000:03:00.0`, `eth0-fp-3`, `eth0-3`.
fn queue(name: &str, hardware: &str) -> Option<u32> {
    const KINDS: [&str; 10] =
        ["rx", "tx", "txrx", "rxtx", "input", "output", "comp", "fp", "queue", "q"];
    let name = name.split_once('@').map_or(name, |(name, _)| name).to_ascii_lowercase();
    // The number at the end of a PCI address is not a queue. `fdir-TxRx-0` is Intel's flow
    // director.
    let name = if hardware.is_empty() { name } else { name.replace(hardware, "") };
    if name.contains("fdir") {
        return None;
    }
    let words: Vec<&str> = name.split(|c: char| !c.is_ascii_alphanumeric()).collect();
    let mut kind_seen = false;
    for (index, word) in words.iter().enumerate() {
        let letters = word.trim_end_matches(|c: char| c.is_ascii_digit());
        let digits = &word[letters.len()..];
        let is_kind = KINDS.contains(&letters);
        if !digits.is_empty() && (is_kind || (kind_seen && letters.is_empty())) {
            return digits.parse().ok();
        }
        if index > 0 && index + 1 == words.len() && letters.is_empty() {
            return digits.parse().ok();
        }
        kind_seen |= is_kind;
    }
    None
}

#[cfg(test)]
mod tests;
