// SPDX-License-Identifier: GPL-2.0-or-later
//! Locates each administrator: the TCP connection to the page, the device, the bridge port and the
//! access point. All clients with a connection to the page count, because ubus does not report a
//! caller's address.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;
use std::process::Command;

use config::sort::Collect;

use config::exposure::listens;
use plugin::Map;
use plugin::process::{self, Limits};

/// Web servers that may serve the page, and its default ports.
const SERVERS: &[&str] = &["uhttpd", "nginx"];
const WEB_PORTS: &[u16] = &[80, 443];
/// `TCP_ESTABLISHED` of the kernel.
const ESTABLISHED: &str = "01";

/// A client with a connection to the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Administrator {
    pub(crate) client: IpAddr,
    /// Router address that the client uses.
    pub(crate) router: IpAddr,
    pub(crate) port: u16,
    /// Device on which the client is a neighbour, if known.
    pub(crate) device: Option<String>,
    /// Port that receives the client's frames, if known.
    pub(crate) link: Option<String>,
    /// Section of `/etc/config/wireless` if the port is an access point.
    pub(crate) point: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Peer {
    router: IpAddr,
    port: u16,
    client: IpAddr,
}

/// Returns the clients of the page. Limits them to users of the router address `via` if there are
/// any.
pub(crate) fn administrators(via: &str) -> Vec<Administrator> {
    let served = ports(|name| crate::store().config(name).ok().flatten());
    let mut peers = Vec::new();
    for file in ["/proc/net/tcp", "/proc/net/tcp6"] {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        peers.extend(text.lines().filter_map(|line| peer(line, &served)));
    }
    let via: Option<IpAddr> = via.trim_matches(['[', ']']).parse().ok();
    if peers.iter().any(|peer| Some(peer.router) == via) {
        peers.retain(|peer| Some(peer.router) == via);
    }
    let mut administrators: Vec<Administrator> = Vec::new();
    for peer in peers {
        let administrator = administrator(peer);
        if !administrators.contains(&administrator) {
            administrators.push(administrator);
        }
    }
    administrators
}

/// Fills in access points from netifd's `network.wireless status`.
pub(crate) fn add_access_points(administrators: &mut [Administrator], status: &Map) {
    let points = status.values().filter_map(|radio| radio["interfaces"].as_array()).flatten();
    for point in points {
        for administrator in administrators.iter_mut() {
            if administrator.link.is_some()
                && administrator.link.as_deref() == point["ifname"].as_str()
            {
                administrator.point = point["section"].as_str().map(str::to_owned);
            }
        }
    }
}

/// Returns the ports of the page. `read` returns the configuration of a web server.
fn ports(read: impl Fn(&str) -> Option<Vec<u8>>) -> BTreeSet<u16> {
    let mut ports = BTreeSet::new();
    for name in SERVERS {
        let package = read(name).and_then(|text| ::uci::parse(&text).ok());
        ports.extend(package.iter().flat_map(|package| listens(name, package)));
    }
    if ports.is_empty() { WEB_PORTS.iter().copied().into_set() } else { ports }
}

/// Parses a line of `/proc/net/tcp` or `tcp6`. `None` if the line is not a connection of another
/// host to the page.
fn peer(line: &str, served: &BTreeSet<u16>) -> Option<Peer> {
    let mut words = line.split_whitespace().skip(1);
    let (local, remote, state) = (words.next()?, words.next()?, words.next()?);
    let ((router, port), (client, _)) = (endpoint(local)?, endpoint(remote)?);
    let counts = state == ESTABLISHED && served.contains(&port) && !client.is_loopback();
    counts.then_some(Peer { router, port, client })
}

/// Parses `0100007F:0050`: the address as 32-bit integers in host byte order, then the port.
fn endpoint(text: &str) -> Option<(IpAddr, u16)> {
    let (address, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let word = |at: usize| u32::from_str_radix(address.get(at..at + 8)?, 16).ok();
    if address.len() == 8 {
        return Some((Ipv4Addr::from(word(0)?.to_ne_bytes()).into(), port));
    }
    let mut bytes = [0; 16];
    for (index, part) in bytes.chunks_mut(4).enumerate() {
        part.copy_from_slice(&word(index * 8)?.to_ne_bytes());
    }
    Some((Ipv6Addr::from(bytes).to_canonical(), port))
}

fn administrator(peer: Peer) -> Administrator {
    let Peer { router, port, client } = peer;
    let neighbour = neighbour(client);
    let link =
        neighbour.as_ref().and_then(|(device, mac)| link(Path::new("/sys/class/net"), device, mac));
    let device = neighbour.map(|(device, _)| device);
    Administrator { client, router, port, device, link, point: None }
}

fn neighbour(client: IpAddr) -> Option<(String, String)> {
    if client.is_ipv4() {
        let text = std::fs::read_to_string("/proc/net/arp").ok()?;
        return arp(&text, client);
    }
    // The kernel has no file of IPv6 neighbours.
    let mut ip = Command::new("ip");
    ip.args(["-6", "neigh", "show", &client.to_string()]);
    let output = process::run(&mut ip, b"", Limits::short(5)).ok()?;
    neigh(&String::from_utf8_lossy(&output.stdout))
}

/// Searches lines such as `10.10.10.10 0x1 0x2 52:54:00:02:00:01 * br-lan.10`.
fn arp(text: &str, client: IpAddr) -> Option<(String, String)> {
    text.lines().find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [address, _, flags, mac, _, device] = words[..] else { return None };
        // Without ATF_COM, the entry has no link-layer address yet.
        let ours = address.parse() == Ok(client) && flags != "0x0";
        ours.then(|| (device.to_owned(), mac.to_owned()))
    })
}

/// Parses `2001:db8:10::10 dev br-lan.10 lladdr 52:54:00:02:00:01 REACHABLE`.
fn neigh(text: &str) -> Option<(String, String)> {
    let words: Vec<&str> = text.lines().next()?.split_whitespace().collect();
    let behind =
        |word: &str| words.iter().position(|other| *other == word).and_then(|at| words.get(at + 1));
    Some(((*behind("dev")?).to_owned(), (*behind("lladdr")?).to_owned()))
}

/// Returns the physical port of a neighbour: the bridge port with its address, or the device
/// without its VLAN.
fn link(net: &Path, device: &str, mac: &str) -> Option<String> {
    let below = device.rsplit_once('.').map_or(device, |(below, _)| below);
    let Some(bridge) =
        [device, below].into_iter().find(|name| net.join(name).join("bridge").exists())
    else {
        return Some(below.to_owned());
    };
    let table = std::fs::read(net.join(bridge).join("brforward")).ok()?;
    let number = port_number(&table, mac)?;
    for entry in std::fs::read_dir(net.join(bridge).join("brif")).ok()?.flatten() {
        let text = std::fs::read_to_string(entry.path().join("port_no")).unwrap_or_default();
        let of = text.trim().strip_prefix("0x").and_then(|of| u16::from_str_radix(of, 16).ok());
        if of == Some(number) {
            return entry.file_name().into_string().ok();
        }
    }
    None
}

/// Searches `brforward`, a table of the kernel's `struct __fdb_entry` with 16 bytes each: MAC
/// address (0 to 5), low byte of the port number (6), is local (7), high byte of the number (12).
fn port_number(table: &[u8], mac: &str) -> Option<u16> {
    let mut wanted = Vec::new();
    for part in mac.split(':') {
        wanted.push(u8::from_str_radix(part, 16).ok()?);
    }
    let found = |entry: &&[u8]| entry[..6] == wanted[..] && entry[7] == 0;
    let entry = table.chunks_exact(16).find(found)?;
    Some(u16::from(entry[6]) | u16::from(entry[12]) << 8)
}

/// Passes `text` to each parser of this file. Returns the number of connections.
#[cfg(feature = "fuzz")]
pub(crate) fn parse_all(text: &str) -> usize {
    let served = ports(|_| Some(text.into()));
    let _ = arp(text, IpAddr::V4(Ipv4Addr::new(10, 10, 10, 10)));
    let mac = neigh(text).map_or_else(|| "2:0:0:0:0:1".to_owned(), |(_, mac)| mac);
    let _ = port_number(text.as_bytes(), &mac);
    text.lines().filter_map(|line| peer(line, &served)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(address: IpAddr, port: u16) -> String {
        let bytes = match address {
            IpAddr::V4(address) => address.octets().to_vec(),
            IpAddr::V6(address) => address.octets().to_vec(),
        };
        let words = bytes.chunks(4).map(|part| {
            format!("{:08X}", u32::from_ne_bytes([part[0], part[1], part[2], part[3]]))
        });
        format!("{}:{port:04X}", words.collect::<String>())
    }

    fn line(router: &str, port: u16, client: &str, state: &str) -> String {
        let (router, client) =
            (hex(router.parse().unwrap(), port), hex(client.parse().unwrap(), 40_000));
        format!("   3: {router} {client} {state} 00000000:00000000 00:00000000 00000000 0 0 1 1")
    }

    #[test]
    fn finds_the_ports_of_the_page_in_the_configuration_of_its_server() {
        let text = "config uhttpd 'main'\n\tlist listen_http '0.0.0.0:8888'\n\
            \tlist listen_http '[::]:8888'\n\toption listen_https '4443 0.0.0.0:444'\n\
            config uhttpd 'other'\n\tlist listen_http '81'\n\tlist listen_http 'nonsense'\n";
        let of = |name: &'static str, text: &'static str| {
            Vec::from_iter(ports(|file| (file == name).then(|| text.into())))
        };
        assert_eq!(of("uhttpd", text), [81, 444, 4443, 8888]);
        let nginx = "config server '_lan'\n\tlist listen '8443 ssl default_server'\n\
            \tlist listen '[::]:8444 ssl'\n";
        assert_eq!(of("nginx", nginx), [8443, 8444]);
        for nothing in ["", "config uhttpd 'main'\n", "not a setting"] {
            assert_eq!(of("uhttpd", nothing), WEB_PORTS, "{nothing:?}");
        }
    }

    #[test]
    fn finds_connections_of_other_hosts_to_the_page() {
        let peer = |line: &str| peer(line, &WEB_PORTS.iter().copied().collect());
        let expected = Peer {
            router: "10.10.10.1".parse().unwrap(),
            port: 80,
            client: "10.10.10.10".parse().unwrap(),
        };
        assert_eq!(peer(&line("10.10.10.1", 80, "10.10.10.10", "01")), Some(expected));
        let mapped = line("::ffff:10.10.10.1", 80, "::ffff:10.10.10.10", "01");
        assert_eq!(peer(&mapped), Some(expected));
        let six = peer(&line("2001:db8::1", 443, "2001:db8::2", "01")).unwrap();
        assert_eq!(six.router.to_string(), "2001:db8::1");
        assert_eq!(peer(&line("10.10.10.1", 22, "10.10.10.10", "01")), None);
        assert_eq!(peer(&line("10.10.10.1", 80, "10.10.10.10", "0A")), None);
        assert_eq!(peer(&line("127.0.0.1", 80, "127.0.0.1", "01")), None);
        assert_eq!(peer("  sl  local_address rem_address   st tx_queue"), None);
        assert_eq!(peer("   3: 01:80 02 01"), None);
    }

    #[test]
    fn finds_neighbours_in_the_output_of_the_kernel_and_of_ip() {
        let text = "IP address   HW type  Flags  HW address         Mask  Device\n\
            10.10.10.11  0x1      0x0    00:00:00:00:00:00  *     br-lan.10\n\
            10.10.10.10  0x1      0x2    52:54:00:02:00:01  *     br-lan.10\n";
        let found = Some(("br-lan.10".to_owned(), "52:54:00:02:00:01".to_owned()));
        assert_eq!(arp(text, "10.10.10.10".parse().unwrap()), found);
        assert_eq!(arp(text, "10.10.10.11".parse().unwrap()), None);
        let line = "2001:db8:10::10 dev br-lan.10 lladdr 52:54:00:02:00:01 REACHABLE\n";
        assert_eq!(neigh(line), found);
        assert_eq!(neigh("2001:db8:10::10 dev br-lan.10  FAILED\n"), None);
    }

    #[test]
    fn finds_the_bridge_port_of_an_address() {
        let mut table = vec![0; 32];
        table[..8].copy_from_slice(&[0x52, 0x54, 0, 2, 0, 1, 1, 1]);
        table[16..24].copy_from_slice(&[0x52, 0x54, 0, 2, 0, 1, 3, 0]);
        assert_eq!(port_number(&table, "52:54:00:02:00:01"), Some(3));
        assert_eq!(port_number(&table, "52:54:00:02:00:02"), None);
        assert_eq!(port_number(&table, "nonsense"), None);
        assert_eq!(port_number(&[1, 2, 3], "52:54:00:02:00:01"), None);
    }
}
