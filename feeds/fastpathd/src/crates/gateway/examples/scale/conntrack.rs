// SPDX-License-Identifier: GPL-2.0-or-later
//! Sets up the network namespace of a recording and dumps its conntrack table to a file.
#![expect(unsafe_code, reason = "it runs in a network namespace of its own")]

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use netlink::{Client, Protocol};
use rustix::fd::OwnedFd;
use rustix::net::netlink::{NETFILTER, SocketAddrNetlink};
use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType, sockopt};
use rustix::thread::UnshareFlags;

use crate::Failure;

/// `NFNL_SUBSYS_CTNETLINK << 8 | IPCTNL_MSG_CT_GET`.
pub(crate) const CT_GET: u16 = 1 << 8 | 1;

/// Local routes: every address in these prefixes belongs to the namespace.
const ROUTES: [&str; 8] = [
    "local 10.0.0.0/8 dev lo",
    "local 100.64.0.0/10 dev lo",
    "local 192.0.2.0/24 dev lo",
    "local 198.18.0.0/15 dev lo",
    "local 203.0.113.0/24 dev lo",
    "local 2001:db8::/32 dev lo",
    "local fd00::/8 dev lo",
    "local 224.0.0.0/4 dev lo",
];

/// Rules that enable tracking and add zones, marks and NAT.
const RULES: &str = "
table inet scale {
    chain zones {
        type filter hook output priority raw; policy accept;
        ip daddr 198.19.7.0/24 ct zone set 7
    }
    chain track {
        type filter hook output priority filter; policy accept;
        ct state new ct mark set 0x20000000
    }
    chain to {
        type nat hook output priority -100; policy accept;
        ip daddr 192.0.2.1 dnat ip to 10.20.0.80
    }
    chain from {
        type nat hook postrouting priority srcnat; policy accept;
        ip daddr 203.0.113.0/24 snat ip to 100.64.0.1
    }
}
";

/// Enters a new network namespace with conntrack accounting and timestamps.
pub(crate) fn enter_namespace() -> Result<(), Failure> {
    // SAFETY: only the network namespace is unshared, and no other thread runs yet.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNET) }?;
    run("ip", &["link", "set", "lo", "up"], "")?;
    for route in ROUTES {
        let family = if route.contains("::") { "-6" } else { "-4" };
        let words: Vec<&str> =
            [family, "route", "add"].into_iter().chain(route.split(' ')).collect();
        run("ip", &words, "")?;
    }
    for name in ["nf_conntrack_acct", "nf_conntrack_timestamp"] {
        std::fs::write(format!("/proc/sys/net/netfilter/{name}"), "1")?;
    }
    // IPv6 addresses with only a local route cannot be bound otherwise.
    std::fs::write("/proc/sys/net/ipv6/ip_nonlocal_bind", "1")?;
    // UDP entries must outlive the recording.
    std::fs::write("/proc/sys/net/netfilter/nf_conntrack_udp_timeout", "600")?;
    run("nft", &["-f", "-"], RULES)
}

fn run(program: &str, arguments: &[&str], input: &str) -> Result<(), Failure> {
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .spawn()
        .map_err(|error| format!("cannot run {program}: {error}"))?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input.as_bytes())?;
    }
    let status = child.wait()?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("{program} {} ended with {status}", arguments.join(" ")).into())
    }
}

/// Socket that records conntrack's events.
pub(crate) struct Listener {
    socket: OwnedFd,
    pub(crate) events: Vec<u8>,
}

impl Listener {
    /// Listens to `NFNLGRP_CONNTRACK_NEW`, `_UPDATE` and `_DESTROY`.
    pub(crate) fn open(buffer: usize) -> Result<Self, Failure> {
        const GROUPS: u32 = 0b111;
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = rustix::net::socket_with(
            AddressFamily::NETLINK,
            SocketType::RAW,
            flags,
            Some(NETFILTER),
        )?;
        sockopt::set_socket_recv_buffer_size_force(&socket, buffer)?;
        rustix::net::bind(&socket, &SocketAddrNetlink::new(0, GROUPS))?;
        Ok(Self { socket, events: Vec::new() })
    }

    /// Records the queued events. Returns false if the kernel has dropped some.
    pub(crate) fn drain(&mut self) -> Result<bool, Failure> {
        let mut buffer = [0; 4096];
        let mut complete = true;
        loop {
            match rustix::net::recv(&self.socket, &mut buffer[..], RecvFlags::empty()) {
                Ok((_, length)) => self.events.extend(&buffer[..length]),
                Err(rustix::io::Errno::AGAIN) => return Ok(complete),
                Err(rustix::io::Errno::NOBUFS) => complete = false,
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Ends all connections of the namespace.
pub(crate) fn flush() -> Result<(), Failure> {
    /// `NFNL_SUBSYS_CTNETLINK << 8 | IPCTNL_MSG_CT_DELETE`.
    const DELETE: u16 = 1 << 8 | 2;
    Client::open(Protocol::Netfilter)?.request(DELETE, &[0; 4])?;
    Ok(())
}

/// Writes the conntrack table as netlink messages to `file` and returns its size in bytes.
pub(crate) fn dump_to(file: &Path) -> Result<u64, Failure> {
    let table = Client::open(Protocol::Netfilter)?.dump(CT_GET, &[0; 4])?;
    let partial = file.with_extension("partial");
    std::fs::write(&partial, &table)?;
    std::fs::rename(&partial, file)?;
    Ok(table.len() as u64)
}
