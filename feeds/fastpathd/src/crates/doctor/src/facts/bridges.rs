// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads bridges, ports and spanning tree states from `/sys`, and VLAN memberships from the daemon.

use serde_json::Value;

use super::ports::DEVICES;
use super::{Known, folder, list, number};
use crate::machine::Machine;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Bridge {
    pub name: String,
    pub vlan_aware: bool,
    pub ports: Vec<BridgePort>,
    /// VLANs of the bridge device.
    pub own: Vec<u16>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct BridgePort {
    pub name: String,
    /// Lower device and VLAN, if the port is a VLAN device.
    pub vlan: Option<(String, u16)>,
    /// VLAN memberships: VLAN ID, is tagged, is PVID.
    pub members: Vec<(u16, bool, bool)>,
    /// Spanning tree state of the kernel. 3 is forwarding.
    pub state: u64,
    pub carrier: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Bridges {
    pub all: Known<Vec<Bridge>>,
    /// Whether the VLAN memberships are known.
    pub members: Known<()>,
}

pub(crate) fn read(machine: &dyn Machine, topology: &Known<Value>) -> Bridges {
    let vlans = machine.read("/proc/net/vlan/config").unwrap_or_default();
    let answer = topology.get().ok();
    let all = folder(machine, DEVICES).map(|names| {
        names.iter().filter_map(|name| bridge(machine, name, &vlans, answer)).collect()
    });
    Bridges { all: Known(all), members: Known(topology.get().map(drop)) }
}

fn bridge(
    machine: &dyn Machine,
    name: &str,
    vlans: &str,
    topology: Option<&Value>,
) -> Option<Bridge> {
    let folder = format!("{DEVICES}/{name}");
    let filtering = number(machine, &format!("{folder}/bridge/vlan_filtering"));
    let vlan_aware = *filtering.get().ok()? == 1;
    let ports = topology.and_then(|topology| {
        let bridge = list(topology, "bridges").iter().find(|bridge| bridge["name"] == name)?;
        bridge["ports"].as_array()
    });
    let members = |port: &str| {
        let found = ports.and_then(|ports| ports.iter().find(|of| of["name"] == port));
        found.map(members).unwrap_or_default()
    };
    let ports = machine.list(&format!("{folder}/brif")).unwrap_or_default();
    let port = |port: &String| BridgePort {
        name: port.clone(),
        vlan: vlan_device(vlans, port),
        members: members(port),
        state: *number(machine, &format!("{DEVICES}/{port}/brport/state")).get().unwrap_or(&0),
        carrier: number(machine, &format!("{DEVICES}/{port}/carrier")).get() == Ok(&1),
    };
    let own = members(name).into_iter().map(|(vid, ..)| vid).collect();
    Some(Bridge { name: name.to_owned(), vlan_aware, ports: ports.iter().map(port).collect(), own })
}

fn members(port: &Value) -> Vec<(u16, bool, bool)> {
    let member = |vlan: &Value| {
        let vid = u16::try_from(vlan["vid"].as_u64()?).ok()?;
        Some((vid, vlan["tagged"] == true, vlan["pvid"] == true))
    };
    list(port, "vlans").iter().filter_map(member).collect()
}

/// Finds lower device and VLAN ID in `/proc/net/vlan/config` (`lan1.10  | 10  | lan1`).
fn vlan_device(config: &str, name: &str) -> Option<(String, u16)> {
    let mut lines = config.lines().map(|line| line.split('|').map(str::trim));
    let mut of = lines.find_map(|mut words| (words.next() == Some(name)).then_some(words))?;
    let vid = of.next()?.parse().ok()?;
    Some((of.next()?.to_owned(), vid))
}
