// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads bridges, their ports and spanning tree states from sysfs, and VLAN memberships from the
//! daemon's `topology`.

use serde_json::Value;

use super::ports::DEVICES;
use super::{Known, folder, list, number};
use crate::machine::Machine;

/// One bridge.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Bridge {
    /// Its name.
    pub name: String,
    /// Whether it is VLAN-aware.
    pub vlan_aware: bool,
    /// Its ports.
    pub ports: Vec<BridgePort>,
    /// VLANs of its inner side, which the router itself is in.
    pub own: Vec<u16>,
}

/// One port of a bridge.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct BridgePort {
    /// Its name.
    pub name: String,
    /// Device below and tag, if it is a VLAN device.
    pub vlan: Option<(String, u16)>,
    /// Membership: VLAN, tagged, its own for frames without a tag.
    pub members: Vec<(u16, bool, bool)>,
    /// Its state in the kernel's spanning tree; 3 is forwarding.
    pub state: u64,
    /// Whether it has a link.
    pub carrier: bool,
}

/// All bridges.
#[derive(Debug, Default)]
pub(crate) struct Bridges {
    /// By name.
    pub all: Known<Vec<Bridge>>,
    /// Whether VLANs of ports are known: the daemon reports them.
    pub members: Known<()>,
}

/// Reads them: bridges and ports of `/sys`, VLANs of the daemon's `topology`.
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

/// A line of `/proc/net/vlan/config`: `lan1.10  | 10  | lan1`.
fn vlan_device(config: &str, name: &str) -> Option<(String, u16)> {
    let mut lines = config.lines().map(|line| line.split('|').map(str::trim));
    let mut of = lines.find_map(|mut words| (words.next() == Some(name)).then_some(words))?;
    let vid = of.next()?.parse().ok()?;
    Some((of.next()?.to_owned(), vid))
}
