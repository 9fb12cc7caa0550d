// SPDX-License-Identifier: GPL-2.0-or-later
//! Parser of the tables that drivers of a packet processing engine (PPE) show in debugfs, one entry
//! per line.
//!
//! Formats: `mtk_ppe_debugfs_foe_show` of Linux 6.12 (`mtk_ppe_debugfs.c`), unchanged in `OpenWrt`
//! 25.12, and `airoha_ppe_debugfs_foe_show` of Linux 6.15 (`airoha_ppe_debugfs.c`), which `OpenWrt`
//! 25.12 has as `target/linux/airoha/patches-6.12` 048-15 and 073-02. Both print
//! `"%05x %s %7s orig=…[ new=…] eth=%pM->%pM etype=%04x vlan=%d,%d ib1=%08x ib2=%08x"`, with tuples
//! of `%pI4h` or `%pI6` and `:%d`, and append further columns.

use std::collections::HashSet;
use std::net::{IpAddr, SocketAddr};

use serde_json::{Value, json};

/// Maximum entries of a table. Drivers have at most 32,768.
const MAX_ENTRIES: usize = 65_536;
/// Maximum length of a line, in bytes. Drivers print less than 400.
const MAX_LINE: usize = 1024;
/// `MTK_FOE_IB1_UDP` and `AIROHA_FOE_IB1_BIND_UDP`.
const IB1_UDP: u32 = 1 << 30;

config::named! {
    /// State of an entry, by the kernel's name. Packets of bound entries bypass the CPU.
    pub enum State {
        Unbound = "UNB",
        Bound = "BND",
        Finished = "FIN",
        Invalid = "INV",
        Unknown = "UNK",
    }
}

/// Address and port. The port is `None` in entries of kind `3T`.
type End = (IpAddr, Option<u16>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Tuple {
    pub src: End,
    pub dst: End,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry<'a> {
    pub index: u32,
    pub state: State,
    /// The kernel's name, such as `IPv4 5T`.
    pub kind: &'a str,
    /// `None` if the line has no `ib1`.
    pub udp: Option<bool>,
    /// Addresses and ports of received packets. `None` for bridged frames and unknown kinds.
    pub original: Option<Tuple>,
    /// Addresses and ports after translation. `None` for IPv6, and unless the entry is bound,
    /// because the kernel then prints remains of an earlier entry.
    pub new: Option<Tuple>,
}

/// A TCP or UDP flow of the daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Flow {
    pub udp: bool,
    /// Packets of the initiator.
    pub up: Tuple,
    /// Packets of the responder.
    pub down: Tuple,
}

/// Returns the entries of a table. Skips lines that are not entries.
pub(crate) fn entries(table: &str) -> impl Iterator<Item = Entry<'_>> {
    table.lines().take(MAX_ENTRIES).filter(|line| line.len() <= MAX_LINE).filter_map(entry)
}

fn entry(line: &str) -> Option<Entry<'_>> {
    let (index, rest) = line.split_once(' ')?;
    let (state, rest) = rest.split_once(' ')?;
    let index = u32::from_str_radix(index, 16).ok()?;
    let state = State::from_name(state)?;
    // The kind consists of several words. The first column follows.
    let before = rest.split_once('=').map_or(rest, |(before, _)| before);
    let (kind, _) = before.rsplit_once(' ')?;
    let column = |name: &str| {
        let columns = rest[kind.len()..].split_whitespace();
        columns.filter_map(|word| word.split_once('=')).find(|(of, _)| *of == name)
    };
    let tuple = |name: &str| column(name).and_then(|(_, text)| tuple(text));
    let ib1 = column("ib1").and_then(|(_, text)| u32::from_str_radix(text, 16).ok());
    Some(Entry {
        index,
        state,
        kind: kind.trim(),
        udp: ib1.map(|ib1| ib1 & IB1_UDP != 0),
        original: tuple("orig"),
        new: tuple("new").filter(|_| state == State::Bound),
    })
}

fn tuple(text: &str) -> Option<Tuple> {
    let (src, dst) = text.split_once("->")?;
    Some(Tuple { src: end(src)?, dst: end(dst)? })
}

fn end(text: &str) -> Option<End> {
    // The kernel prints all groups of an IPv6 address, so a port makes it invalid.
    if let Ok(address) = text.parse() {
        return Some((address, None));
    }
    let (address, port) = text.rsplit_once(':')?;
    Some((address.parse().ok()?, Some(port.parse().ok()?)))
}

/// Returns the numbers of bound and unbound entries.
pub(crate) fn counts(table: &str) -> (usize, usize) {
    entries(table).fold((0, 0), |(bound, unbound), entry| match entry.state {
        State::Bound => (bound + 1, unbound),
        State::Unbound => (bound, unbound + 1),
        State::Finished | State::Invalid | State::Unknown => (bound, unbound),
    })
}

/// Tuples of bound entries.
#[derive(Debug, Default)]
pub(crate) struct Bound(HashSet<(bool, Tuple)>);

impl Bound {
    pub(crate) fn add(&mut self, table: &str) {
        for entry in entries(table).filter(|entry| entry.state == State::Bound) {
            for udp in [false, true].into_iter().filter(|udp| entry.udp.is_none_or(|of| of == *udp))
            {
                self.0.extend(entry.original.map(|tuple| (udp, tuple)));
            }
        }
    }

    /// Returns whether an entry holds at least one direction of a flow.
    pub(crate) fn holds(&self, flow: &Flow) -> bool {
        [flow.up, flow.down].into_iter().any(|tuple| self.0.contains(&(flow.udp, tuple)))
    }
}

impl Flow {
    /// Reads a flow from fields named as in the daemon's `flows`. Returns the name of an invalid
    /// field as the error.
    pub(crate) fn read<'a>(field: impl Fn(&str) -> &'a Value) -> Result<Self, &'static str> {
        let udp = match field("proto").as_str() {
            Some("tcp") => false,
            Some("udp") => true,
            _ => return Err("proto"),
        };
        let end = |host: &'static str, port: &'static str| -> Result<End, &'static str> {
            let address = field(host).as_str().and_then(|text| text.parse().ok()).ok_or(host)?;
            let number = field(port).as_u64().and_then(|number| u16::try_from(number).ok());
            Ok((address, Some(number.ok_or(port)?)))
        };
        Ok(Self {
            udp,
            up: Tuple { src: end("src", "sport")?, dst: end("dst", "dport")? },
            down: Tuple { src: end("nat_dst", "nat_dport")?, dst: end("nat_src", "nat_sport")? },
        })
    }

    /// Returns the direction whose packets match an entry.
    pub(crate) fn direction(&self, entry: &Entry) -> Option<&'static str> {
        let original = entry.original.filter(|_| entry.udp.is_none_or(|udp| udp == self.udp))?;
        let up = (original == self.up).then_some("up");
        up.or_else(|| (original == self.down).then_some("down"))
    }
}

impl std::fmt::Display for Flow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let end = |(address, port): End| SocketAddr::new(address, port.unwrap_or_default());
        let proto = if self.udp { "udp" } else { "tcp" };
        write!(f, "{proto} {} → {}", end(self.up.src), end(self.up.dst))
    }
}

impl Tuple {
    /// Returns the tuple for the API. Missing ports are 0.
    pub(crate) fn view(&self) -> Value {
        let ((src, sport), (dst, dport)) = (self.src, self.dst);
        let port = Option::unwrap_or_default;
        json!({"src": src, "sport": port(sport), "dst": dst, "dport": port(dport)})
    }
}

#[cfg(test)]
pub(crate) mod tests;
