// SPDX-License-Identifier: GPL-2.0-or-later
//! Creates conntrack entries on loopback: UDP, TCP, IPv4, IPv6, NAT, ICMP, GRE and ESP.

use std::net::{
    IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, TcpListener, TcpStream, UdpSocket,
};
use std::path::Path;
use std::time::Duration;

use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, ipproto};

use crate::Failure;
use crate::conntrack::{Listener, dump_to, enter_namespace, flush};

/// Room for the events of a flush, in bytes.
pub(crate) const FLUSH_BUFFER: usize = 512 * 1024 * 1024;
const SERVERS: usize = 250;
/// One in this many connections is TCP.
const TCP_SHARE: usize = 20;

/// Returns the reason why this machine cannot record, or `None` if it can.
pub(crate) fn impossible() -> Option<String> {
    if !rustix::process::geteuid().is_root() {
        return Some("recording needs root".into());
    }
    if !Path::new("/proc/sys/net/netfilter/nf_conntrack_max").exists() {
        return Some("this kernel has no conntrack".into());
    }
    let found = |program: &str| {
        let folders = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&folders).any(|folder| folder.join(program).exists())
    };
    ["ip", "nft"].iter().find(|p| !found(p)).map(|p| format!("{p} is not installed"))
}

/// Records `size` connections: UDP and TCP, IPv4 and IPv6, some of them with NAT. With `events`,
/// also records the events of their begin and end in this file.
pub(crate) fn many(size: usize, file: &Path, events: Option<&Path>) -> Result<(), Failure> {
    enter_namespace()?;
    let mut listener = events.map(|_| Listener::open(FLUSH_BUFFER)).transpose()?;
    let servers = (0..SERVERS).map(Server::bind).collect::<Result<Vec<_>, _>>()?;
    let mut open = Vec::new();
    let mut made = 0;
    for number in 0.. {
        let v4 = UdpSocket::bind((client(number), port(number)))?;
        let v6 = UdpSocket::bind((client6(number), port(number)))?;
        for (i, server) in servers.iter().enumerate() {
            if made == size {
                drop(open);
                let bytes = dump_to(file)?;
                eprintln!("{size} entries, {bytes} bytes");
                if let (Some(file), Some(listener)) = (events, &mut listener) {
                    flush()?;
                    if !listener.drain()? {
                        return Err("events were lost".into());
                    }
                    std::fs::write(file, &listener.events)?;
                }
                return Ok(());
            }
            if i % TCP_SHARE == 2 && !server.address.is_ipv6() {
                open.push(server.connect(client(number), port(number))?);
                // Close older connections, so that most entries are closing.
                if open.len() > 400 {
                    open.remove(0);
                }
            } else {
                server.converse(if server.address.is_ipv6() { &v6 } else { &v4 })?;
            }
            made += 1;
            if let Some(listener) = &mut listener
                && !listener.drain()?
            {
                return Err("events were lost".into());
            }
        }
    }
    Ok(())
}

struct Server {
    address: SocketAddr,
    udp: UdpSocket,
    tcp: TcpListener,
}

impl Server {
    fn bind(number: usize) -> Result<Self, Failure> {
        let low = u8::try_from(number % 250)? + 1;
        let ports = [443, 443, 53, 80, 8080, 123, 5201, 3478];
        let port = ports[number % ports.len()];
        let address: IpAddr = match number % 10 {
            0 | 5 => Ipv6Addr::new(0x2001, 0xdb8, 1, 0, 0, 0, 0, u16::from(low)).into(),
            3 => Ipv4Addr::new(203, 0, 113, low).into(),
            7 => Ipv4Addr::new(198, 19, 7, low).into(),
            _ => Ipv4Addr::new(198, 18, low % 16, low).into(),
        };
        let address = SocketAddr::new(address, port);
        let udp = UdpSocket::bind(address)?;
        udp.set_read_timeout(Some(Duration::from_secs(5)))?;
        Ok(Self { address, udp, tcp: TcpListener::bind(address)? })
    }

    fn converse(&self, client: &UdpSocket) -> Result<(), Failure> {
        let mut buffer = [0; 64];
        client.send_to(b"question", self.address)?;
        let (_, from) = self.udp.recv_from(&mut buffer)?;
        self.udp.send_to(b"the answer is longer", from)?;
        Ok(())
    }

    /// Connects from `from` and `port + 1`. Dropping the pair closes the connection.
    fn connect(&self, from: Ipv4Addr, port: u16) -> Result<(TcpStream, TcpStream), Failure> {
        let socket = rustix::net::socket_with(
            AddressFamily::INET,
            SocketType::STREAM,
            SocketFlags::CLOEXEC,
            None,
        )?;
        // All servers share one client port.
        rustix::net::sockopt::set_socket_reuseaddr(&socket, true)?;
        rustix::net::bind(&socket, &SocketAddrV4::new(from, port + 1))?;
        rustix::net::connect(&socket, &self.address)?;
        let (accepted, _) = self.tcp.accept()?;
        Ok((TcpStream::from(socket), accepted))
    }
}

fn client(number: usize) -> Ipv4Addr {
    let [.., high, low] = number.to_be_bytes();
    Ipv4Addr::new(10, 10, high, low.max(1))
}

fn client6(number: usize) -> Ipv6Addr {
    let low = u16::try_from(number).unwrap_or(u16::MAX).max(1);
    Ipv6Addr::new(0xfd00, 0x10, 0, 0, 0, 0, 0, low)
}

fn port(number: usize) -> u16 {
    let spread = u16::try_from(number.wrapping_mul(7919) % 25_000).unwrap_or(0);
    32_768 + 2 * (spread / 2)
}

/// Records a few dozen entries of as many kinds as possible.
pub(crate) fn fixture(file: &Path) -> Result<(), Failure> {
    enter_namespace()?;
    let servers = (0..20).map(Server::bind).collect::<Result<Vec<_>, _>>()?;
    let v4 = UdpSocket::bind((client(20), 40_000))?;
    let v6 = UdpSocket::bind((client6(20), 40_000))?;
    let mut open = Vec::new();
    for (i, server) in servers.iter().enumerate() {
        server.converse(if server.address.is_ipv6() { &v6 } else { &v4 })?;
        if !server.address.is_ipv6() {
            let pair = server.connect(client(20), 41_000)?;
            if i % 2 == 0 {
                open.push(pair);
            }
        }
    }
    let _listening = UdpSocket::bind("10.20.0.80:8443")?;
    for unanswered in ["198.18.200.1:9999", "192.0.2.1:8443", "224.0.0.251:5353"] {
        v4.send_to(b"anybody?", unanswered)?;
    }
    let _syn = half_open()?;
    raw(ipproto::ICMP, &[8, 0, 0x8d, 0xfe, 0x12, 0x34, 0, 1, 0x58, 0xcc])?;
    raw(ipproto::GRE, &[0, 0, 8, 0, 0x45, 0, 0, 20])?;
    raw(ipproto::ESP, &[0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0])?;
    let bytes = dump_to(file)?;
    eprintln!("{bytes} bytes");
    Ok(())
}

/// Connects to a local port without a listener. The reset leaves a closed entry.
fn half_open() -> Result<rustix::fd::OwnedFd, Failure> {
    let socket = rustix::net::socket_with(
        AddressFamily::INET,
        SocketType::STREAM,
        SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
        None,
    )?;
    let refused = rustix::net::connect(&socket, &"198.18.200.2:9".parse::<SocketAddr>()?);
    match refused {
        Ok(()) | Err(rustix::io::Errno::INPROGRESS | rustix::io::Errno::CONNREFUSED) => Ok(socket),
        Err(error) => Err(error.into()),
    }
}

fn raw(protocol: rustix::net::Protocol, payload: &[u8]) -> Result<(), Failure> {
    let socket = rustix::net::socket_with(
        AddressFamily::INET,
        SocketType::RAW,
        SocketFlags::CLOEXEC,
        Some(protocol),
    )?;
    let to = SocketAddr::new(Ipv4Addr::new(198, 18, 1, 1).into(), 0);
    rustix::net::sendto(&socket, payload, SendFlags::empty(), &to)?;
    Ok(())
}
