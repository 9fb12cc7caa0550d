// SPDX-License-Identifier: GPL-2.0-or-later
//! The network as the flow table sees it: zone, device, VLAN and port of an address, and whether
//! the flowtable or a program covers it.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::rc::Rc;

use flows::{Network, Side};
use model::{Connection, NextHop, Routing};
use ruleset::LeftOut;
use topology::{Name, RouteAnswer, RouteBatch, RouteQuery, SideKind, Topology};

use crate::network::interfaces::Interface;
use crate::network::names::Names;

/// A setter that changes an answer increments the generation, so that the flow table resolves the
/// sides of its flows again.
#[derive(Debug, Default)]
pub(crate) struct NetworkView {
    topology: Topology,
    interfaces: Vec<Interface>,
    /// Zones of layer 3 devices; true if the zone leads to the Internet.
    zones: HashMap<String, (Rc<str>, bool)>,
    names: Names,
    /// Devices in the flowtable in force.
    devices: BTreeSet<String>,
    /// Devices with one of our eBPF programs.
    programs: BTreeSet<String>,
    /// Kinds of devices that the rules in force exclude.
    left_out: LeftOut,
    /// Layer 3 devices that the rules in force exclude because of a queue.
    shaped: BTreeSet<String>,
    /// Devices of the flowtable with a driver that may forward flows; `None` if that is unknown.
    hardware: Option<BTreeSet<String>>,
    generation: u64,
    /// Shared copies of names, which hundreds of thousands of flows refer to.
    interned: RefCell<HashMap<Name, Rc<str>>>,
}

impl NetworkView {
    /// Applies a change of the network. Returns true if an answer may differ afterwards.
    pub(crate) fn change(&mut self, change: topology::Change) -> bool {
        let changed = self.topology.apply(change);
        self.generation += u64::from(changed);
        changed
    }

    /// Sets the kernel's answers to route lookups. Returns true if one has changed.
    pub(crate) fn routes_answered(
        &mut self,
        batch: &RouteBatch,
        answers: &[(RouteQuery, RouteAnswer)],
    ) -> bool {
        let moved = self.topology.routes_answered(batch, answers);
        self.generation += u64::from(moved);
        moved
    }

    /// Sets the interfaces. Returns true if zones, devices or addresses have changed.
    pub(crate) fn set_interfaces(&mut self, interfaces: Vec<Interface>) -> bool {
        let news = self.interfaces.iter().map(place).ne(interfaces.iter().map(place));
        let zones: HashMap<String, (Rc<str>, bool)> = interfaces
            .iter()
            .filter(|i| !i.device.is_empty() && !i.zone.is_empty())
            .map(|i| (i.device.clone(), (Rc::from(i.zone.as_str()), i.outer)))
            .collect();
        if zones != self.zones {
            self.zones = zones;
            self.generation += 1;
        }
        self.interfaces = interfaces;
        news
    }

    pub(crate) fn set_names(&mut self, names: Names) {
        if names != self.names {
            self.names = names;
            self.generation += 1;
        }
    }

    /// Sets the devices of the rules in force: in the flowtable, and excluded above it.
    pub(crate) fn set_devices(
        &mut self,
        devices: BTreeSet<String>,
        left_out: LeftOut,
        shaped: BTreeSet<String>,
    ) {
        if devices != self.devices || left_out != self.left_out || shaped != self.shaped {
            self.devices = devices;
            self.left_out = left_out;
            self.shaped = shaped;
            self.generation += 1;
        }
    }

    pub(crate) fn set_hardware(&mut self, hardware: Option<BTreeSet<String>>) {
        if hardware != self.hardware {
            self.hardware = hardware;
            self.generation += 1;
        }
    }

    pub(crate) fn set_programs(&mut self, programs: BTreeSet<String>) {
        if programs != self.programs {
            self.programs = programs;
            self.generation += 1;
        }
    }

    pub(crate) fn topology(&self) -> &Topology {
        &self.topology
    }

    pub(crate) fn interfaces(&self) -> &[Interface] {
        &self.interfaces
    }

    pub(crate) fn devices(&self) -> &BTreeSet<String> {
        &self.devices
    }

    /// Returns the zone of a device, and true if it leads to the Internet; empty without a zone.
    fn zone(&self, device: &str) -> (Rc<str>, bool) {
        self.zones.get(device).cloned().unwrap_or_default()
    }

    fn intern(&self, name: &Name) -> Rc<str> {
        let mut interned = self.interned.borrow_mut();
        if let Some(found) = interned.get(name) {
            return Rc::clone(found);
        }
        let copy: Rc<str> = Rc::from(&**name);
        interned.insert(Name::clone(name), Rc::clone(&copy));
        copy
    }
}

impl Network for NetworkView {
    fn is_local(&self, address: IpAddr) -> bool {
        self.topology.is_local(address)
    }

    fn side(&self, address: IpAddr, next_hop: Option<NextHop>) -> Option<Side> {
        let side = self.topology.side(address, next_hop)?;
        let port = side.port.as_ref();
        let (zone, outer) = self.zone(&side.device);
        Some(Side {
            zone,
            outer,
            in_flowtable: port.is_some_and(|p| self.devices.contains(&**p)),
            in_ebpf: port.is_some_and(|p| self.programs.contains(&**p)),
            port: port.map(|p| self.intern(p)).unwrap_or_default(),
            device: self.intern(&side.device),
            vlan: side.vlan,
            neighbour: side.neighbour,
            tunnel: side.kind == SideKind::Tunnel,
            pppoe: side.kind == SideKind::Pppoe,
            left_out: (self.left_out.vlan && side.tagged)
                || (self.left_out.pppoe && side.kind == SideKind::Pppoe),
            shaped: self.shaped.contains(&*side.device),
            redirected: port.is_some_and(|p| self.topology.is_redirected(p)),
            hardware: self.hardware.as_ref().is_none_or(|able| match port {
                Some(port) => able.contains(&**port),
                None => !able.is_empty(),
            }),
        })
    }

    fn routing(&self, connection: &Connection, mark: u32) -> Routing {
        self.topology.routing(connection, mark)
    }

    fn name(&self, address: IpAddr) -> Option<&str> {
        self.names.get(address)
    }

    fn generation(&self) -> u64 {
        self.generation
    }
}

fn place(interface: &Interface) -> (&str, &str, &[String]) {
    (&interface.zone, &interface.device, &interface.addresses)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_changed_value_increments_the_generation() {
        let mut view = NetworkView::default();
        let devices = BTreeSet::from(["wan".to_owned()]);
        view.set_devices(devices.clone(), LeftOut::default(), BTreeSet::new());
        let generation = view.generation();
        view.set_devices(devices, LeftOut::default(), BTreeSet::new());
        view.set_names(Names::default());
        view.set_interfaces(Vec::new());
        assert_eq!(view.generation(), generation);
        view.set_names(Names::parse("1 02::1 10.0.0.1 desk", ""));
        assert_eq!(view.generation(), generation + 1);
    }
}
