// SPDX-License-Identifier: GPL-2.0-or-later
//! Decides which devices are in the flowtable, with a reason for each, and whether a table is
//! needed. Crate `topology` decides which devices are eligible (`lowest.rs`).

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use config::{Cause, is_device_name};
use model::{Engine, Exclude, PacketChain};

use crate::inspection::InspectionRules;
use crate::marks::Marks;
use crate::settings::{LeftOut, Settings};

/// A device as classified by the topology.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    pub device: String,
    /// True for a lowest device of a forwarding path.
    pub eligible: bool,
    /// Reason for `eligible`.
    pub why: Cause,
}

/// Decision about one device, with its reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    pub included: bool,
    pub why: Cause,
}

config::coded! {
    /// Reasons why the plan leaves a device out.
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
    }
}

/// Functions of the rules other than offloading.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Protection {
    /// Packets pass Suricata first; `None` means no inspection.
    pub inspection: Option<InspectionRules>,
    /// Maximum number of blocked sources of each family; `None` means no blocks.
    pub blocks: Option<u32>,
}

/// The rules to apply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    pub engine: Engine,
    /// Devices of the flowtable. Without devices the flowtable is left out.
    pub devices: BTreeSet<String>,
    /// True for `flags offload`.
    pub hardware: bool,
    /// Bits of the packet mark that are cleared before a flow is added.
    pub mark_mask: u32,
    /// Kinds of devices that keep flows on the slow path, regardless of the devices below.
    pub left_out: LeftOut,
    /// Layer 3 devices with a configured queue or limit, which offloaded flows would bypass: their
    /// flows stay on the slow path. Empty after [`plan`].
    pub shaped: BTreeSet<String>,
    /// Tunnels outside the flowtable. Their flows stay on the slow path, because the flowtable
    /// would offload one direction at most. Empty after [`plan`].
    pub tunnels: BTreeSet<String>,
    /// The router's MAC addresses behind each device: frames to any other address must not enter
    /// the flowtable. Empty after [`plan`].
    pub own: BTreeMap<String, BTreeSet<String>>,
    /// Addresses of hosts that keep moving: their flows stay slow. Empty after [`plan`].
    pub roaming: BTreeSet<IpAddr>,
    /// True if the kernel can encrypt packets (`CONFIG_XFRM`): encrypted flows stay on the slow
    /// path. False after [`plan`].
    pub ipsec: bool,
    /// First packets of every flow that stay on the slow path; 0 means none.
    pub slow_packets: u32,
    /// Exclusions that keep flows on the slow path.
    pub excludes: Vec<Exclude>,
    /// Chains of other programs with rules that act on each packet. Flows with packets that reach
    /// such a rule stay on the slow path. Empty after [`plan`].
    pub packet_chains: Vec<PacketChain>,
    /// True while changed rules of other programs are not read yet: no flow is offloaded. False
    /// after [`plan`].
    pub unread: bool,
    pub protection: Protection,
    /// Decisions on every candidate and every device named in the settings, by name.
    pub decisions: BTreeMap<String, Decision>,
}

impl Plan {
    /// Reports whether the plan needs a table.
    #[must_use]
    pub fn has_table(&self) -> bool {
        self.has_flowtable()
            || self.passed().is_some()
            || self.protection.inspection.is_some()
            || self.protection.blocks.is_some()
    }

    /// Returns the mark bits, by direction, of connections that have passed the rules and that eBPF
    /// may offload. `None` with other engines: a flow enters a flowtable only after the rules.
    #[must_use]
    pub fn passed(&self) -> Option<[u32; 2]> {
        let marks = Marks::within(self.mark_mask).filter(|_| self.engine == Engine::Ebpf);
        marks.and_then(Marks::passed)
    }

    /// Removes devices with eBPF programs, given with their hooks, from the flowtable: both must
    /// not forward packets of one flow.
    pub fn hold(&mut self, held: impl IntoIterator<Item = (String, String)>) {
        for (device, hook) in held {
            if self.devices.remove(&device) {
                self.decisions.insert(device, no(PlanReason::Held { hook }.cause()));
            }
        }
    }

    /// Sets the router's addresses behind each device.
    pub fn address(&mut self, own: impl IntoIterator<Item = (String, BTreeSet<String>)>) {
        self.own = own.into_iter().filter(|(name, _)| is_device_name(name)).collect();
    }

    /// Keeps flows over these layer 3 devices on the slow path.
    pub fn shape(&mut self, devices: impl IntoIterator<Item = String>) {
        // Other names cannot be written in nft rules.
        self.shaped = devices.into_iter().filter(|name| is_device_name(name)).collect();
    }

    /// Keeps flows over these tunnels on the slow path, unless the flowtable has them.
    pub fn tunnel(&mut self, devices: impl IntoIterator<Item = String>) {
        let kept = |name: &String| is_device_name(name) && !self.devices.contains(name);
        self.tunnels = devices.into_iter().filter(kept).collect();
    }

    /// Removes these tunnels from the flowtable, because eBPF holds the other side of their flows.
    pub fn without_tunnels(&mut self, devices: impl IntoIterator<Item = String>) {
        for device in devices {
            if self.devices.remove(&device) {
                self.decisions.insert(device, no(PlanReason::Tunnel.cause()));
            }
        }
    }

    /// Returns the flowtable's devices with MAC addresses, each with the router's addresses there.
    pub(crate) fn guarded(&self) -> impl Iterator<Item = (&str, &BTreeSet<String>)> {
        let own = self.own.iter().filter(|(device, own)| {
            self.has_flowtable() && self.devices.contains(*device) && !own.is_empty()
        });
        own.map(|(device, own)| (device.as_str(), own))
    }

    /// Reports whether the rules record connections that the kernel encrypts.
    pub(crate) fn has_ipsec_set(&self) -> bool {
        self.ipsec && (self.has_flowtable() || self.passed().is_some())
    }

    /// Reports whether a flowtable offloads flows.
    #[must_use]
    pub fn has_flowtable(&self) -> bool {
        self.engine != Engine::Off && !self.devices.is_empty()
    }
}

/// Decides which devices belong in the flowtable.
#[must_use]
pub fn plan(candidates: &[Candidate], settings: &Settings, protection: &Protection) -> Plan {
    let engine = settings.wanted();
    let ours = protection.inspection.as_ref().map(|inspection| inspection.marks);
    let decided = candidates.iter();
    let mut decisions: BTreeMap<_, _> =
        decided.map(|candidate| (candidate.device.clone(), decide(candidate, settings))).collect();
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
        devices: included.map(|(name, _)| name.clone()).collect(),
        hardware: engine == Engine::FlowtableHw,
        mark_mask: ours.map_or(settings.mark_mask, Marks::mask),
        left_out: settings.left_out,
        shaped: BTreeSet::new(),
        tunnels: BTreeSet::new(),
        own: BTreeMap::new(),
        roaming: BTreeSet::new(),
        ipsec: false,
        slow_packets: settings.slow_packets,
        excludes: settings.excludes.clone(),
        packet_chains: Vec::new(),
        unread: false,
        protection: protection.clone(),
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
