// SPDX-License-Identifier: GPL-2.0-or-later
//! Selects the devices of the flowtable, with reasons, and decides whether a table is needed.

use config::sort::Collect;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use config::{Cause, is_device_name};
use model::{Engine, Exclude, PacketChain, TrafficTypes};

use crate::hosts::HostRules;
use crate::inspection::InspectionRules;
use crate::marks::Marks;
use crate::settings::Settings;

/// A device as classified by the topology.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    pub device: String,
    /// Lowest device of a forwarding path.
    pub eligible: bool,
    pub why: Cause,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    pub included: bool,
    pub why: Cause,
}

config::coded! {
    pub enum PlanReason {
        Missing = "named-missing", "named in the settings, but the device does not exist";
        EngineOff { otherwise: String } = "engine-off",
            "the engine is off (otherwise: {otherwise})";
        Ignored = "ignored", "excluded by the setting ignore_device";
        Impossible { why: String } = "impossible",
            "named in the settings, but not possible: {why}";
        Unwritable = "unwritable", "its name cannot be written in nft rules";
        NotNamed = "not-named", "not among the devices named in the settings";
        Held { hook: String } = "held", "held by eBPF ({hook})";
        Tunnel = "tunnel", "a tunnel, which engine ebpf does not support";
        Encapsulated = "encapsulated", "the flowtable cannot read its VLAN tags and PPPoE header";
    }
}

/// Inspection and blocks, which do not depend on offloading.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Protection {
    /// `None` without inspection.
    pub inspection: Option<InspectionRules>,
    /// Maximum number of blocked sources per address family; `None` without blocks.
    pub blocks: Option<u32>,
}

/// Hosts whose packets are not forwarded.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Paused {
    /// MAC addresses in lower case.
    pub macs: BTreeSet<String>,
    /// Addresses of these hosts.
    pub addresses: BTreeSet<IpAddr>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    pub engine: Engine,
    /// Devices of the flowtable, which is omitted without devices.
    pub devices: BTreeSet<String>,
    /// `flags offload` is set.
    pub hardware: bool,
    /// Bits of the packet mark that are cleared before a flow is added.
    pub mark_mask: u32,
    /// Types of traffic whose flows stay on the slow path.
    pub left_out: TrafficTypes,
    /// Layer 3 devices with a queueing discipline that offloaded flows would bypass: their flows
    /// stay on the slow path. Empty after [`plan`].
    pub shaped: BTreeSet<String>,
    /// Tunnels outside the flowtable: their flows stay on the slow path, because at most one
    /// direction would be offloaded. Empty after [`plan`].
    pub tunnels: BTreeSet<String>,
    /// Layer 3 devices with headers that the flowtable cannot read: their flows stay on the slow
    /// path. Empty after [`plan`].
    pub encapsulated: BTreeSet<String>,
    /// The router's MAC addresses behind each device: frames to other addresses do not enter the
    /// flowtable. Empty after [`plan`].
    pub own: BTreeMap<String, BTreeSet<String>>,
    /// Hosts that roam often: their flows stay on the slow path. Empty after [`plan`].
    pub roaming: BTreeSet<IpAddr>,
    /// The kernel supports IPsec (`CONFIG_XFRM`): encrypted flows stay on the slow path. False
    /// after [`plan`].
    pub ipsec: bool,
    /// Number of first packets of every flow that stay on the slow path.
    pub slow_packets: u32,
    pub excludes: Vec<Exclude>,
    /// Chains of other programs with rules that act on each packet: flows that reach such a rule
    /// stay on the slow path. Empty after [`plan`].
    pub packet_chains: Vec<PacketChain>,
    /// Changed rules of other programs are not read yet, so no flow is offloaded. False after
    /// [`plan`].
    pub unread: bool,
    pub protection: Protection,
    /// Paused hosts; `None` if no host can be paused. `None` after [`plan`].
    pub paused: Option<Paused>,
    /// Limits and inspection of single hosts. Empty after [`plan`].
    pub hosts: Vec<HostRules>,
    pub decisions: BTreeMap<String, Decision>,
}

impl Plan {
    #[must_use]
    pub fn has_table(&self) -> bool {
        self.has_flowtable()
            || self.passed().is_some()
            || self.protection.inspection.is_some()
            || self.protection.blocks.is_some()
            || self.paused.is_some()
            || self.has_limits()
    }

    /// Returns whether the table has the sets of paused hosts. Linux 6.12 removes a table without
    /// the flows that drivers hold for it, so with hardware offload a pause must not need another.
    pub(crate) fn can_pause(&self) -> bool {
        self.paused.is_some() || self.hardware && self.has_flowtable()
    }

    /// Returns the mark bits of connections that have passed the rules, by direction. `None` unless
    /// the engine is eBPF.
    #[must_use]
    pub fn passed(&self) -> Option<[u32; 2]> {
        let marks = Marks::within(self.mark_mask).filter(|_| self.engine == Engine::Ebpf);
        marks.and_then(Marks::passed)
    }

    /// Removes devices with eBPF programs from the flowtable, so that not both forward packets of
    /// one flow. Items are device and hook.
    pub fn hold(&mut self, held: impl IntoIterator<Item = (String, String)>) {
        for (device, hook) in held {
            if self.devices.remove(&device) {
                self.decisions.insert(device, no(PlanReason::Held { hook }.cause()));
            }
        }
    }

    pub fn address(&mut self, own: impl IntoIterator<Item = (String, BTreeSet<String>)>) {
        self.own = own.into_iter().filter(|(name, _)| is_device_name(name)).into_map();
    }

    /// Keeps flows over these layer 3 devices on the slow path.
    pub fn shape(&mut self, devices: impl IntoIterator<Item = String>) {
        // nft rules cannot contain other names.
        self.shaped = devices.into_iter().filter(|name| is_device_name(name)).into_set();
    }

    /// Keeps flows over these tunnels on the slow path, except tunnels in the flowtable.
    pub fn tunnel(&mut self, devices: impl IntoIterator<Item = String>) {
        let kept = |name: &String| is_device_name(name) && !self.devices.contains(name);
        self.tunnels = devices.into_iter().filter(kept).into_set();
    }

    /// Keeps flows over a layer 3 device on the slow path if the flowtable hooks one of the devices
    /// that its packets pass.
    pub fn encapsulate(&mut self, stacks: impl IntoIterator<Item = (String, BTreeSet<String>)>) {
        let kept = |(name, stack): &(String, BTreeSet<String>)| {
            is_device_name(name) && !self.devices.is_disjoint(stack)
        };
        self.encapsulated = stacks.into_iter().filter(kept).map(|(name, _)| name).into_set();
        for device in &self.encapsulated {
            self.decisions.insert(device.clone(), no(PlanReason::Encapsulated.cause()));
        }
    }

    /// Removes these tunnels from the flowtable, because eBPF forwards the other side of their
    /// flows.
    pub fn without_tunnels(&mut self, devices: impl IntoIterator<Item = String>) {
        for device in devices {
            if self.devices.remove(&device) {
                self.decisions.insert(device, no(PlanReason::Tunnel.cause()));
            }
        }
    }

    /// Returns the flowtable's devices with MAC addresses of the router.
    pub(crate) fn guarded(&self) -> impl Iterator<Item = (&str, &BTreeSet<String>)> {
        let own = self.own.iter().filter(|(device, own)| {
            self.has_flowtable() && self.devices.contains(*device) && !own.is_empty()
        });
        own.map(|(device, own)| (device.as_str(), own))
    }

    pub(crate) fn has_ipsec_set(&self) -> bool {
        self.ipsec && (self.has_flowtable() || self.passed().is_some())
    }

    #[must_use]
    pub fn has_flowtable(&self) -> bool {
        self.engine != Engine::Off && !self.devices.is_empty()
    }
}

#[must_use]
pub fn plan(candidates: &[Candidate], settings: &Settings, protection: &Protection) -> Plan {
    let engine = settings.wanted();
    let marks = protection.inspection.as_ref().map(|inspection| inspection.marks);
    let decided = candidates.iter();
    let mut decisions: BTreeMap<_, _> =
        decided.map(|candidate| (candidate.device.clone(), decide(candidate, settings))).into_map();
    for name in settings.devices.iter().chain(&settings.ignore_devices) {
        decisions.entry(name.clone()).or_insert_with(|| no(PlanReason::Missing.cause()));
    }
    if engine == Engine::Off {
        for decision in decisions.values_mut().filter(|decision| decision.included) {
            let otherwise = decision.why.text.clone();
            let off = PlanReason::EngineOff { otherwise }.cause();
            *decision = no(off.around(decision.why.clone()));
        }
    }
    let included = decisions.iter().filter(|(_, decision)| decision.included);
    Plan {
        engine,
        devices: included.map(|(name, _)| name.clone()).into_set(),
        hardware: engine == Engine::FlowtableHw,
        mark_mask: marks.map_or(settings.mark_mask, Marks::mask),
        left_out: settings.left_out,
        shaped: BTreeSet::new(),
        tunnels: BTreeSet::new(),
        encapsulated: BTreeSet::new(),
        own: BTreeMap::new(),
        roaming: BTreeSet::new(),
        ipsec: false,
        slow_packets: settings.slow_packets,
        excludes: settings.excludes.clone(),
        packet_chains: Vec::new(),
        unread: false,
        protection: protection.clone(),
        paused: None,
        hosts: Vec::new(),
        decisions,
    }
}

fn no(why: Cause) -> Decision {
    Decision { included: false, why }
}

fn decide(candidate: &Candidate, settings: &Settings) -> Decision {
    let Candidate { device, eligible, why } = candidate;
    let named = settings.devices.contains(device);
    if settings.ignore_devices.contains(device) {
        return no(PlanReason::Ignored.cause());
    }
    if !eligible && named {
        return no(PlanReason::Impossible { why: why.text.clone() }.cause().around(why.clone()));
    }
    if !eligible {
        return no(why.clone());
    }
    if !is_device_name(device) {
        return no(PlanReason::Unwritable.cause());
    }
    if !settings.devices.is_empty() && !named {
        return no(PlanReason::NotNamed.cause());
    }
    Decision { included: true, why: why.clone() }
}

#[cfg(test)]
mod tests;
