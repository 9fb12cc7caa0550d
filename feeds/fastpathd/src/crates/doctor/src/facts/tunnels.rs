// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads tunnels, the devices that their outer packets leave by, and the headers that they add, as
//! the kernel computes them (Linux 6.12).

use std::net::{IpAddr, SocketAddr};

use serde_json::Value;

use super::{Known, Unknown, list, word};
use crate::machine::Machine;

pub(crate) const LINKS: &str = "ip -d -j link show";

/// Kinds of tunnels, by the kernel's names.
const KINDS: [&str; 10] =
    ["gre", "gretap", "ip6gre", "ip6gretap", "ip6tnl", "ipip", "sit", "vxlan", "wireguard", "xfrm"];

const ETHERNET: u64 = 14;
const UDP: u64 = 8;
/// Destination option with the limit of nested tunnels (RFC 2473).
const ENCAP_LIMIT: u64 = 8;
/// Header, counter and tag of a data message (`MESSAGE_MINIMUM_LENGTH`).
const WIREGUARD: u64 = 32;
const VXLAN: u64 = 8;
/// Limits the number of routes to look up for a server's clients, which usually share one.
const MAX_PEERS: usize = 16;
/// SPI and sequence number.
const ESP: u64 = 8;
/// Padding length and next header, at the end of the encrypted part.
const ESP_TRAILER: u64 = 2;

#[derive(Debug, Default)]
pub(crate) struct Tunnels {
    pub all: Known<Vec<Tunnel>>,
    /// MTU of each device.
    pub mtus: Vec<(String, u64)>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Tunnel {
    pub device: String,
    pub mtu: u64,
    /// Carries IPv6 only.
    pub ipv6_only: bool,
    /// Where the outer packets go. Empty for a tunnel without a fixed remote address.
    pub outer: Known<Vec<Outer>>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Outer {
    pub remote: IpAddr,
    /// Device of the route to `remote`, with its MTU.
    pub device: String,
    pub mtu: u64,
    /// Largest inner packet.
    pub room: u64,
    /// Command that prints the route.
    pub source: String,
}

/// Headers of a tunnel without the outer IP header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Headers {
    length: u64,
    /// Inner packets with `trailer` are padded to a multiple of this size.
    block: u64,
    trailer: u64,
}

impl Headers {
    fn fixed(length: u64) -> Self {
        Self { length, block: 1, trailer: 0 }
    }

    fn room(self, mtu: u64, remote: IpAddr) -> u64 {
        let outer = if remote.is_ipv6() { 40 } else { 20 };
        let padded = mtu.saturating_sub(outer + self.length);
        (padded - padded % self.block.max(1)).saturating_sub(self.trailer)
    }
}

pub(crate) fn read(machine: &dyn Machine) -> Tunnels {
    let links = match run_json(machine, &["-d", "-j", "link", "show"]) {
        Ok(links) => links,
        Err(unknown) => return Tunnels { all: Known(Err(unknown)), mtus: Vec::new() },
    };
    let named = |link: &Value| Some((word(link, "ifname").to_owned(), link["mtu"].as_u64()?));
    let mtus: Vec<(String, u64)> = links.iter().filter_map(named).collect();
    let up = |link: &&Value| list(link, "flags").iter().any(|flag| flag == "UP");
    let all = links.iter().filter(up).filter_map(|link| tunnel(machine, link, &mtus)).collect();
    Tunnels { all: Known(Ok(all)), mtus }
}

fn tunnel(machine: &dyn Machine, link: &Value, mtus: &[(String, u64)]) -> Option<Tunnel> {
    let (info, device) = (&link["linkinfo"], word(link, "ifname"));
    let kind = KINDS.into_iter().find(|kind| info["info_kind"] == *kind)?;
    let outer = ends(machine, kind, device, &info["info_data"]).and_then(|ends| {
        let outer = |(remote, headers, mark): End| {
            outer(machine, (remote, headers), word(link, "link"), &mark, mtus)
        };
        ends.into_iter().map(outer).collect()
    });
    let (device, mtu) = (device.to_owned(), link["mtu"].as_u64()?);
    Some(Tunnel { device, mtu, ipv6_only: kind == "sit", outer: Known(outer) })
}

/// Remote address, headers, and firewall mark of the outer packets. The mark may be empty.
type End = (IpAddr, Headers, String);

fn ends(
    machine: &dyn Machine,
    kind: &str,
    device: &str,
    options: &Value,
) -> Result<Vec<End>, Unknown> {
    if kind == "wireguard" {
        return endpoints(machine, device);
    }
    if !options.is_object() {
        let why = format!("{LINKS} prints no options of {device}; is ip-full installed?");
        return Err(Unknown(why));
    }
    if kind == "xfrm" {
        return states(machine, word(options, "if_id"));
    }
    let Some(remote) = ["remote", "remote6"].iter().find_map(|key| word(options, key).parse().ok())
    else {
        return Ok(Vec::new());
    };
    if !options["encap"].is_null() {
        return Err(Unknown(format!("the headers of {device} include {}", options["encap"])));
    }
    let headers = Headers::fixed(headers(kind, options));
    Ok(vec![(remote, headers, word(options, "fwmark").to_owned())])
}

/// Returns the length of the headers between the outer IP header and the inner packet:
/// `ip_tunnel_bind_dev`, `ip6_tnl_link_config`, `gre_calc_hlen`, `vxlan_headroom`.
fn headers(kind: &str, options: &Value) -> u64 {
    let is_set = |key: &str| matches!(&options[key], Value::Bool(true) | Value::String(_));
    let field = |key: &str| if is_set(key) { 4 } else { 0 };
    let gre = 4 + field("ocsum") + field("okey") + field("oseq");
    // The default limit is 4.
    let limit = if is_set("ip6_tnl_f_ign_encap_limit") { 0 } else { ENCAP_LIMIT };
    match kind {
        "gre" => gre,
        "gretap" => gre + ETHERNET,
        "ip6gre" => gre + limit,
        "ip6gretap" => gre + ETHERNET + limit,
        "ip6tnl" => limit,
        "vxlan" if is_set("gpe") => UDP + VXLAN,
        "vxlan" => UDP + VXLAN + ETHERNET,
        _ => 0,
    }
}

/// Reads the endpoints of a `WireGuard` device. `wg … dump` would print the private key.
fn endpoints(machine: &dyn Machine, device: &str) -> Result<Vec<End>, Unknown> {
    let show = |what| machine.run("wg", &["show", device, what]).map_err(Unknown);
    let mark = show("fwmark")?;
    let mark = mark.trim().strip_prefix("off").unwrap_or(mark.trim());
    // Until a peer without a configured endpoint connects, wg prints "(none)".
    let endpoints = show("endpoints")?;
    let remotes = endpoints.lines().filter_map(|line| line.split_once('\t')?.1.trim().parse().ok());
    let end = |remote: SocketAddr| (remote.ip(), Headers::fixed(UDP + WIREGUARD), mark.to_owned());
    Ok(remotes.take(MAX_PEERS).map(end).collect())
}

/// Reads the outgoing ESP states of an xfrm interface.
fn states(machine: &dyn Machine, if_id: &str) -> Result<Vec<End>, Unknown> {
    let text = machine.run("ip", &["xfrm", "state", "list", "nokeys"]).map_err(Unknown)?;
    let mut ends = Vec::new();
    // Each state begins with a line that is not indented.
    for state in text.split("\nsrc ") {
        let words: Vec<&str> = state.split_whitespace().collect();
        let after = |key: &str| {
            words.iter().position(|word| *word == key).and_then(|place| words.get(place + 1..))
        };
        let first = |key: &str| after(key).and_then(|rest| rest.first().copied());
        let Some(remote) = first("dst").and_then(|word| word.parse::<IpAddr>().ok()) else {
            continue;
        };
        if first("if_id") != Some(if_id) || is_local(machine, remote)? {
            continue;
        }
        let headers = esp(first("proto"), first("mode"), first("encap").is_some(), after)
            .ok_or_else(|| Unknown(format!("the overhead of the IPsec state to {remote}")))?;
        ends.push((remote, headers, String::new()));
    }
    Ok(ends)
}

/// Returns the headers of an ESP state as `xfrm_state_mtu` computes them. `None` for an unknown
/// algorithm or mode.
fn esp<'a>(
    proto: Option<&str>,
    mode: Option<&str>,
    in_udp: bool,
    after: impl Fn(&str) -> Option<&'a [&'a str]>,
) -> Option<Headers> {
    if (proto, mode) != (Some("esp"), Some("tunnel")) {
        return None;
    }
    // Name, `<<Keys hidden>>`, and length of the check value in bits.
    let check = |words: &[&str]| words.get(3)?.parse::<u64>().ok().map(|bits| bits / 8);
    let (iv, block, check) = if let Some(aead) = after("aead") {
        match *aead.first()? {
            "rfc4106(gcm(aes))"
            | "rfc4309(ccm(aes))"
            | "rfc4543(gcm(aes))"
            | "rfc7539esp(chacha20,poly1305)" => (8, 4, check(aead)?),
            _ => return None,
        }
    } else {
        let (iv, block) = match *after("enc")?.first()? {
            "cbc(aes)" | "cbc(camellia)" => (16, 16),
            "cbc(des3_ede)" => (8, 8),
            "rfc3686(ctr(aes))" => (8, 4),
            "ecb(cipher_null)" => (0, 4),
            _ => return None,
        };
        (iv, block, check(after("auth-trunc")?)?)
    };
    let in_udp = if in_udp { UDP } else { 0 };
    Some(Headers { length: ESP + iv + check + in_udp, block, trailer: ESP_TRAILER })
}

fn is_local(machine: &dyn Machine, address: IpAddr) -> Result<bool, Unknown> {
    Ok(route(machine, &[&address.to_string()])?.0["type"] == "local")
}

fn outer(
    machine: &dyn Machine,
    (remote, headers): (IpAddr, Headers),
    bound: &str,
    mark: &str,
    mtus: &[(String, u64)],
) -> Result<Outer, Unknown> {
    let address = remote.to_string();
    let mut args = vec![&*address];
    for (key, value) in [("oif", bound), ("mark", mark)] {
        if !value.is_empty() {
            args.extend([key, value]);
        }
    }
    let (route, source) = route(machine, &args)?;
    let device = word(&route, "dev").to_owned();
    let (_, mtu) = mtus.iter().find(|(name, _)| *name == device).ok_or_else(|| {
        Unknown(format!("{source} names the device '{device}', which {LINKS} lacks"))
    })?;
    Ok(Outer { remote, device, mtu: *mtu, room: headers.room(*mtu, remote), source })
}

/// Returns the route of packets to an address, and the command that prints it.
fn route(machine: &dyn Machine, to: &[&str]) -> Result<(Value, String), Unknown> {
    let args = [&["-j", "route", "get"], to].concat();
    let mut routes = run_json(machine, &args)?;
    let source = format!("ip {}", args.join(" "));
    routes.pop().map(|route| (route, source)).ok_or_else(|| Unknown("there is no route".into()))
}

fn run_json(machine: &dyn Machine, args: &[&str]) -> Result<Vec<Value>, Unknown> {
    let command = format!("ip {}", args.join(" "));
    let text = machine.run("ip", args).map_err(|why| Unknown(format!("{command}: {why}")))?;
    serde_json::from_slice(text.as_bytes()).map_err(|error| {
        Unknown(format!("{command} does not print JSON: {error}; is ip-full installed?"))
    })
}

#[cfg(test)]
mod tests;
