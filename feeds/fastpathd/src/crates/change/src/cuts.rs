// SPDX-License-Identifier: GPL-2.0-or-later
//! Connectivity loss: whether a draft disconnects an administrator, with codes `wifi`, `interface`,
//! `address`, `device`, `port`, `firewall`; the options of an access point that must stay. Where
//! administrators are connected is found in `place.rs`, the firewall is judged in `input.rs`.

use plugin::Map;
use serde::Serialize;

use crate::administrator::Administrator;
use crate::draft::Draft;
use crate::input;
use crate::problem::texts;
use crate::validate::{Port, networks};
use ::uci::{Package, Section};

/// A connectivity loss: why the administrator would be disconnected.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Cut {
    /// A stable name of the kind: `wifi`, `interface`, `address`, `port`, `device`,
    /// `firewall`.
    pub(crate) code: &'static str,
    /// Parameters of the message.
    pub(crate) params: Map,
    /// In English.
    pub(crate) text: String,
}

impl Cut {
    fn new(code: &'static str, params: &[(&str, &str)], text: String) -> Self {
        Self { code, params: texts(params), text }
    }
}

/// How a change disconnects one of these administrators.
pub(crate) fn cuts(draft: &Draft, administrators: &[Administrator]) -> Vec<Cut> {
    let mut cuts: Vec<Cut> = Vec::new();
    for admin in administrators {
        if let Some(cut) = cut(draft, admin).filter(|cut| !cuts.contains(cut)) {
            cuts.push(cut);
        }
    }
    cuts
}

/// The first loss, from the address outwards.
fn cut(draft: &Draft, admin: &Administrator) -> Option<Cut> {
    if let Some(cut) = air(draft, admin) {
        return Some(cut);
    }
    let client = admin.client.to_string();
    let (before, after) = (draft.before.get("network")?, draft.after.get("network")?);
    // A change does not affect those outside the configuration.
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
    wire(before, after, admin, (was, is)).or_else(|| {
        let open = |packages, interface| input::is_open(packages, interface, admin);
        let closes = open(&draft.before, was) && !open(&draft.after, is);
        closes.then(|| {
            let text = format!("the firewall would not let {client} reach the router any more");
            Cut::new("firewall", &[("interface", name), ("client", &client)], text)
        })
    })
}

/// Options of an access point without which a station does not come back by itself, or comes back
/// into another network.
const POINT: &[&str] =
    &["device", "encryption", "hidden", "key", "mode", "network", "sae_password", "ssid"];

/// Whether their access point stays as it is.
fn air(draft: &Draft, admin: &Administrator) -> Option<Cut> {
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
        POINT.iter().all(|option| before.options.get(*option) == after.options.get(*option))
    };
    if after.is_some_and(|after| same(after) && !silent(after)) {
        return None;
    }
    let (ssid, client) = (before.text("ssid").unwrap_or(point), admin.client.to_string());
    let text = format!("the Wi-Fi '{}', which {client} is in, changes", ssid.escape_debug());
    Some(Cut::new("wifi", &[("ssid", ssid), ("client", &client)], text))
}

/// The interface by which they come, before and after.
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

/// Whether their frames still get to the interface's device.
fn wire(
    before: &Package,
    after: &Package,
    admin: &Administrator,
    (was, is): (&Section, &Section),
) -> Option<Cut> {
    let (old, new) = (was.text("device")?, is.text("device").unwrap_or_default());
    let client = admin.client.to_string();
    let name = was.name.as_str();
    let device = admin.device.as_deref().unwrap_or(old);
    // Somebody who comes from behind another router, or by another interface of this one.
    let Some(link) = admin.link.as_deref().filter(|_| device == old) else {
        let text = format!("the interface '{name}', by which {client} comes, moves to '{new}'");
        let params = [("interface", name), ("device", new), ("client", &client)];
        return (old != new).then(|| Cut::new("device", &params, text));
    };
    let tags = [None, old.rsplit_once('.').map(|(_, number)| number)];
    let mut tags = tags.into_iter();
    let tag = tags.find(|tag| arrives(before, link, *tag).as_deref() == Some(old))?;
    if arrives(after, link, tag).as_deref() == Some(new) {
        return None;
    }
    let text = format!("'{link}', at which {client} is, would not lead to interface '{name}'");
    let params = [("port", link), ("interface", name), ("client", &client)];
    Some(Cut::new("port", &params, text))
}

/// The device that frames arrive at which come in by a port, with this tag, and whose answers
/// leave alike.
fn arrives(network: &Package, link: &str, tag: Option<&str>) -> Option<String> {
    let bridge = network.of("device").find(|device| {
        device.text("type") == Some("bridge") && device.words("ports").contains(&link)
    });
    let Some(bridge) = bridge.and_then(|bridge| bridge.text("name")) else {
        return Some(tag.map_or_else(|| link.to_owned(), |tag| upper(network, link, tag)));
    };
    let vlans: Vec<&Section> = network
        .of("bridge-vlan")
        .filter(|section| section.text("device") == Some(bridge))
        .collect();
    if vlans.is_empty() {
        return Some(tag.map_or_else(|| bridge.to_owned(), |tag| upper(network, bridge, tag)));
    }
    let member = |section: &&&Section, fits: &dyn Fn(&Port<'_>) -> bool| {
        let ports = section.words("ports");
        ports.into_iter().filter_map(Port::read).any(|port| port.name == link && fits(&port))
    };
    let found = match tag {
        Some(tag) => vlans.iter().find(|section| {
            section.text("vlan") == Some(tag) && member(section, &|port| port.tagged)
        }),
        // Without a star netifd makes the first VLAN without a tag the port's own.
        None => vlans
            .iter()
            .find(|section| member(section, &|port| port.pvid && !port.tagged))
            .or_else(|| vlans.iter().find(|section| member(section, &|port| !port.tagged))),
    };
    let vlan = found?.text("vlan")?;
    Some(upper(network, bridge, vlan))
}

/// The device of a VLAN: a section may give it a name of its own.
fn upper(network: &Package, below: &str, vlan: &str) -> String {
    let own = network
        .of("device")
        .find(|device| device.text("ifname") == Some(below) && device.text("vid") == Some(vlan));
    let named = own.and_then(|device| device.text("name")).map(str::to_owned);
    named.unwrap_or_else(|| format!("{below}.{vlan}"))
}

#[cfg(test)]
#[path = "cuts_tests.rs"]
mod tests;
