// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads the TCP and UDP ports on which programs listen for other hosts.

use std::collections::BTreeMap;

use super::{Known, processes};
use crate::machine::Machine;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Listener {
    pub proto: &'static str,
    pub port: u16,
    /// Name of the program. Empty if unknown.
    pub program: String,
}

/// Kernel tables: file, protocol, and state of listening sockets.
const TABLES: &[(&str, &str, &str)] = &[
    ("/proc/net/tcp", "tcp", "0A"),
    ("/proc/net/tcp6", "tcp", "0A"),
    ("/proc/net/udp", "udp", "07"),
    ("/proc/net/udp6", "udp", "07"),
];

/// Returns sockets that listen on addresses other than loopback.
pub(crate) fn read(machine: &dyn Machine) -> Known<Vec<Listener>> {
    let mut found = Vec::new();
    for (path, proto, state) in TABLES {
        match machine.read(path) {
            Ok(text) => found.extend(text.lines().filter_map(|line| socket(line, proto, state))),
            // The kernel may lack IPv6.
            Err(_) if path.ends_with('6') => {}
            Err(error) => return Known::new(Err(format!("reading {path}: {error}"))),
        }
    }
    let programs = programs(machine);
    let mut listeners: Vec<Listener> = found
        .into_iter()
        .map(|(proto, port, inode)| {
            let program = programs.get(&inode).cloned().unwrap_or_default();
            Listener { proto, port, program }
        })
        .collect();
    config::sort::values(&mut listeners);
    // A program may listen in both families or in several threads.
    listeners.dedup();
    listeners.into()
}

/// Parses protocol, port and inode of a socket. `None` if other hosts cannot reach the socket.
fn socket(line: &str, proto: &'static str, state: &str) -> Option<(&'static str, u16, String)> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let [_, local, peer, is, ..] = words[..] else { return None };
    let (address, port) = local.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    // Connected datagram sockets receive only from their peer.
    let open = is == state && peer.ends_with(":0000");
    if !open || is_loopback(address) {
        return None;
    }
    Some((proto, port, (*words.get(9)?).to_owned()))
}

/// Returns whether an address is in 127.0.0.0/8, also mapped to IPv6, or `::1`. 32-bit groups are
/// in host byte order.
fn is_loopback(address: &str) -> bool {
    let little = cfg!(target_endian = "little");
    let (last, one) = if little { ("7F", "01000000") } else { ("7F", "00000001") };
    let v4 = |word: &str| if little { word.ends_with(last) } else { word.starts_with(last) };
    let mapped = if little { "0000000000000000FFFF0000" } else { "00000000000000000000FFFF" };
    match address.len() {
        8 => v4(address),
        32 => {
            let Some((head, tail)) = address.split_at_checked(24) else { return false };
            let none = head.bytes().all(|byte| byte == b'0');
            (none && tail == one) || (head == mapped && v4(tail))
        }
        _ => false,
    }
}

/// Returns program names by socket inode.
fn programs(machine: &dyn Machine) -> BTreeMap<String, String> {
    let mut programs = BTreeMap::new();
    for pid in processes(machine) {
        let folder = format!("/proc/{pid}/fd");
        let mut name = String::new();
        for file in machine.list(&folder).unwrap_or_default() {
            let link = machine.link(&format!("{folder}/{file}")).unwrap_or_default();
            let inode = link.strip_prefix("socket:[").and_then(|rest| rest.strip_suffix(']'));
            if let Some(inode) = inode {
                if name.is_empty() {
                    name = machine.read(&format!("/proc/{pid}/comm")).unwrap_or_default();
                }
                programs.insert(inode.to_owned(), name.trim().to_owned());
            }
        }
    }
    programs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::fake::Fake;

    const HEAD: &str = "  sl  local_address rem_address   st tx_queue rx_queue …\n";

    fn line(local: &str, peer: &str, state: &str, inode: u32) -> String {
        format!("   0: {local} {peer} {state} 00000000:00000000 00:0 0 0 0 {inode} 1 x\n")
    }

    #[test]
    fn finds_listeners_for_other_hosts_with_their_program() {
        let tcp = HEAD.to_owned()
            + &line("00000000:0016", "00000000:0000", "0A", 7)
            + &line("0100007F:0035", "00000000:0000", "0A", 8)
            + &line("0A00020A:0016", "0200020A:D431", "01", 9);
        let six = "0".repeat(32);
        let tcp6 = HEAD.to_owned() + &line(&format!("{six}:0016"), &format!("{six}:0000"), "0A", 7);
        let udp = HEAD.to_owned() + &line("00000000:0043", "00000000:0000", "07", 10);
        let fake = Fake::new()
            .file("/proc/net/tcp", &tcp)
            .file("/proc/net/tcp6", &tcp6)
            .file("/proc/net/udp", &udp)
            .file("/proc/12/comm", "dropbear\n")
            .symlink("/proc/12/fd/3", "socket:[7]");
        let ssh = Listener { proto: "tcp", port: 22, program: "dropbear".into() };
        let dhcp = Listener { proto: "udp", port: 67, program: String::new() };
        assert_eq!(read(&fake).get().unwrap(), &[ssh, dhcp]);
        assert!(read(&Fake::new()).get().is_err());
    }

    #[test]
    fn each_table_has_its_own_listening_state() {
        let (four, six) = ("0".repeat(8), "0".repeat(32));
        for (of, state, address) in
            [("tcp", "0A", &four), ("tcp6", "0A", &six), ("udp", "07", &four), ("udp6", "07", &six)]
        {
            let mut fake = Fake::new();
            for table in ["tcp", "tcp6", "udp", "udp6"] {
                let listens =
                    line(&format!("{address}:0035"), &format!("{address}:0000"), state, 7);
                let text = if table == of { HEAD.to_owned() + &listens } else { HEAD.to_owned() };
                fake = fake.file(&format!("/proc/net/{table}"), &text);
            }
            let found: Vec<_> =
                read(&fake).get().unwrap().iter().map(|one| (one.proto, one.port)).collect();
            assert_eq!(found, [(&of[..3], 53)], "{of}");
        }
    }

    #[test]
    fn recognizes_loopback_addresses() {
        assert!(is_loopback("0100007F"));
        assert!(is_loopback("00000000000000000000000001000000"));
        assert!(is_loopback("0000000000000000FFFF00000100007F"));
        assert!(!is_loopback("00000000"));
        assert!(!is_loopback("B80D0120000000000000000001000000"));
        assert!(!is_loopback(&format!("{}{}", "0".repeat(8), "\u{fffd}".repeat(8))));
    }
}
