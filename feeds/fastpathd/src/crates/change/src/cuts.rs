// SPDX-License-Identifier: GPL-2.0-or-later
//! Connectivity loss: reasons why a draft disconnects an administrator. `administrator.rs` locates
//! administrators, and `input.rs` evaluates the firewall.

use plugin::Map;
use serde::Serialize;

use crate::administrator::Administrator;
use crate::draft::Draft;
use crate::input;
use crate::problem::texts;
use crate::validate::{Port, networks};
use ::uci::{Package, Section};

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Cut {
    /// Stable name: `wifi`, `interface`, `address`, `port`, `device` or `firewall`.
    pub(crate) code: &'static str,
    pub(crate) params: Map,
    pub(crate) text: String,
}

impl Cut {
    fn new(code: &'static str, params: &[(&str, &str)], text: String) -> Self {
        Self { code, params: texts(params), text }
    }
}

/// Returns the connectivity losses of a draft, without duplicates.
pub(crate) fn cuts(draft: &Draft, administrators: &[Administrator]) -> Vec<Cut> {
    let mut cuts: Vec<Cut> = Vec::new();
    for admin in administrators {
        if let Some(cut) = cut(draft, admin).filter(|cut| !cuts.contains(cut)) {
            cuts.push(cut);
        }
    }
    cuts
}

/// Returns the first loss of an administrator. Checks access point, interface, address, port and
/// firewall in this order.
fn cut(draft: &Draft, admin: &Administrator) -> Option<Cut> {
    if let Some(cut) = wifi_cut(draft, admin) {
        return Some(cut);
    }
    let client = admin.client.to_string();
    let (before, after) = (draft.before.get("network")?, draft.after.get("network")?);
    // Clients outside of the configured interfaces keep their connection.
    let (was, is) = interface(draft, admin)?;
    let name = was.name.as_str();
    let Some(is) = is.filter(|is| !is.is_on("disabled", false) && is.is_on("auto", true)) else {
        let text = format!("the interface '{name}', by which {client} reaches the router, is gone");
        return Some(Cut::new("interface", &[("interface", name), ("client", &client)], text));
    };
    let has = |package: &Package| {
        let mut all = package.of("interface").flat_map(networks);
        all.any(|(address, _)| address == admin.router)
    };
    if has(before) && !has(after) {
        let to: Vec<String> = networks(is).iter().map(|(address, _)| address.to_string()).collect();
        let (from, to) = (admin.router.to_string(), to.join(", "));
        let text = format!("the router leaves the address {from}, which {client} uses; new: {to}");
        let params = [("from", from.as_str()), ("to", &to), ("client", &client)];
        return Some(Cut::new("address", &params, text));
    }
    port_cut(before, after, admin, (was, is)).or_else(|| {
        let open = |packages, interface| input::is_open(packages, interface, admin);
        let closes = open(&draft.before, was) && !open(&draft.after, is);
        closes.then(|| {
            let text = format!("the firewall would not let {client} reach the router any more");
            Cut::new("firewall", &[("interface", name), ("client", &client)], text)
        })
    })
}

/// Options of an access point whose change disconnects stations, or moves them to another network.
const ACCESS_POINT_OPTIONS: &[&str] =
    &["device", "encryption", "hidden", "key", "mode", "network", "sae_password", "ssid"];

/// Returns a loss if an option of the administrator's access point changes.
fn wifi_cut(draft: &Draft, admin: &Administrator) -> Option<Cut> {
    let point = admin.point.as_deref()?;
    let pairs = draft.pairs();
    let pair = pairs.iter().find(|pair| {
        pair.config == "wireless" && pair.before.is_some_and(|before| before.name == point)
    })?;
    let (before, after) = (pair.before?, pair.after);
    let is_off = |radio: &Section| radio.is_on("disabled", false);
    let silent = |section: &Section| {
        let radios = section.words("device");
        let radios = radios.iter().filter_map(|name| draft.after["wireless"].section(name));
        is_off(section) || radios.into_iter().all(is_off)
    };
    let same = |after: &Section| {
        ACCESS_POINT_OPTIONS
            .iter()
            .all(|option| before.options.get(*option) == after.options.get(*option))
    };
    if after.is_some_and(|after| same(after) && !silent(after)) {
        return None;
    }
    let (ssid, client) = (before.text("ssid").unwrap_or(point), admin.client.to_string());
    let text = format!("the Wi-Fi '{}', which {client} is in, changes", ssid.escape_debug());
    Some(Cut::new("wifi", &[("ssid", ssid), ("client", &client)], text))
}

/// Returns the administrator's interface before and after the change.
fn interface<'a>(
    draft: &'a Draft,
    admin: &Administrator,
) -> Option<(&'a Section, Option<&'a Section>)> {
    let pairs = draft.pairs();
    let interfaces = || {
        pairs.iter().filter_map(|pair| {
            let before = pair.before.filter(|before| before.kind == "interface")?;
            (pair.config == "network").then_some((before, pair.after))
        })
    };
    let on_device = |(of, _): &(&Section, _)| {
        admin.device.is_some() && of.text("device") == admin.device.as_deref()
    };
    let with_address =
        |(of, _): &(&Section, _)| networks(of).iter().any(|(address, _)| *address == admin.router);
    interfaces().find(with_address).or_else(|| interfaces().find(on_device))
}

/// Returns a loss if the administrator's frames do not reach the interface's new device.
fn port_cut(
    before: &Package,
    after: &Package,
    admin: &Administrator,
    (was, is): (&Section, &Section),
) -> Option<Cut> {
    let (old, new) = (was.text("device")?, is.text("device").unwrap_or_default());
    let client = admin.client.to_string();
    let name = was.name.as_str();
    let device = admin.device.as_deref().unwrap_or(old);
    // Without a known port, only a move of the interface to another device is a loss.
    let Some(link) = admin.link.as_deref().filter(|_| device == old) else {
        let text = format!("the interface '{name}', by which {client} comes, moves to '{new}'");
        let params = [("interface", name), ("device", new), ("client", &client)];
        return (old != new).then(|| Cut::new("device", &params, text));
    };
    let tags = [None, old.rsplit_once('.').map(|(_, number)| number)];
    let mut tags = tags.into_iter();
    let tag = tags.find(|tag| receiving_device(before, link, *tag).as_deref() == Some(old))?;
    if receiving_device(after, link, tag).as_deref() == Some(new) {
        return None;
    }
    let text = format!("'{link}', at which {client} is, would not lead to interface '{name}'");
    let params = [("port", link), ("interface", name), ("client", &client)];
    Some(Cut::new("port", &params, text))
}

/// Returns the device that receives frames with this tag from a port.
fn receiving_device(network: &Package, link: &str, tag: Option<&str>) -> Option<String> {
    let bridge = network.of("device").find(|device| {
        device.text("type") == Some("bridge") && device.words("ports").contains(&link)
    });
    let Some(bridge) = bridge.and_then(|bridge| bridge.text("name")) else {
        return Some(tag.map_or_else(|| link.to_owned(), |tag| vlan_device(network, link, tag)));
    };
    let vlans: Vec<&Section> = network
        .of("bridge-vlan")
        .filter(|section| section.text("device") == Some(bridge))
        .collect();
    if vlans.is_empty() {
        return Some(
            tag.map_or_else(|| bridge.to_owned(), |tag| vlan_device(network, bridge, tag)),
        );
    }
    let member = |section: &&&Section, fits: &dyn Fn(&Port<'_>) -> bool| {
        let ports = section.words("ports");
        ports.into_iter().filter_map(Port::read).any(|port| port.name == link && fits(&port))
    };
    let found = match tag {
        Some(tag) => vlans.iter().find(|section| {
            section.text("vlan") == Some(tag) && member(section, &|port| port.tagged)
        }),
        // Without the flag `*`, netifd uses the port's first untagged VLAN as its PVID.
        None => vlans
            .iter()
            .find(|section| member(section, &|port| port.pvid && !port.tagged))
            .or_else(|| vlans.iter().find(|section| member(section, &|port| !port.tagged))),
    };
    let vlan = found?.text("vlan")?;
    Some(vlan_device(network, bridge, vlan))
}

/// Returns the name of a VLAN's device, which a section may override.
fn vlan_device(network: &Package, below: &str, vlan: &str) -> String {
    let own = network
        .of("device")
        .find(|device| device.text("ifname") == Some(below) && device.text("vid") == Some(vlan));
    let named = own.and_then(|device| device.text("name")).map(str::to_owned);
    named.unwrap_or_else(|| format!("{below}.{vlan}"))
}

#[cfg(test)]
mod tests;
