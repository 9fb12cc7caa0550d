// SPDX-License-Identifier: GPL-2.0-or-later
//! The network as the flow table sees it: zone, device, VLAN and port of an address, and whether
//! the flowtable or a program covers it.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::rc::Rc;

use flows::{Network, Side};
use model::{Connection, NextHop, Routing};
use topology::{Name, RouteAnswer, RouteBatch, RouteQuery, SideKind, Topology};

use crate::network::interfaces::{Firewall, Interface};
use crate::network::names::{Names, Reservations};
use crate::network::zones::DeviceZones;

/// Devices of the rules in force.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Scope {
    /// Devices in the flowtable.
    pub(crate) devices: BTreeSet<String>,
    /// Layer 3 devices that the rules exclude because of a queue.
    pub(crate) shaped: BTreeSet<String>,
    /// Layer 3 devices that the rules exclude because of their headers.
    pub(crate) encapsulated: BTreeSet<String>,
}

/// A setter that changes an answer increments the generation, so that the flow table resolves the
/// sides of its flows again.
#[derive(Debug, Default)]
pub(crate) struct NetworkView {
    topology: Topology,
    interfaces: Vec<Interface>,
    zones: DeviceZones,
    names: Names,
    reservations: Reservations,
    scope: Scope,
    /// Devices with one of our eBPF programs.
    programs: BTreeSet<String>,
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
    pub(crate) fn set_interfaces(
        &mut self,
        firewall: &Firewall,
        interfaces: Vec<Interface>,
    ) -> bool {
        let news = self.interfaces.iter().map(place).ne(interfaces.iter().map(place));
        let zones = DeviceZones::new(firewall, &interfaces);
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

    pub(crate) fn names(&self) -> &Names {
        &self.names
    }

    pub(crate) fn set_reservations(&mut self, reservations: Reservations) {
        self.reservations = reservations;
    }

    pub(crate) fn reservations(&self) -> &Reservations {
        &self.reservations
    }

    pub(crate) fn set_scope(&mut self, scope: Scope) {
        if scope != self.scope {
            self.scope = scope;
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
        &self.scope.devices
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
        let (zone, outer) = self.zones.of(&side.device);
        let Scope { devices, shaped, encapsulated } = &self.scope;
        Some(Side {
            zone,
            outer,
            in_flowtable: port.is_some_and(|p| devices.contains(&**p)),
            in_ebpf: port.is_some_and(|p| self.programs.contains(&**p)),
            port: port.map(|p| self.intern(p)).unwrap_or_default(),
            device: self.intern(&side.device),
            vlan: side.vlan,
            neighbour: side.neighbour,
            tunnel: side.kind == SideKind::Tunnel,
            unseen: side.unseen,
            traffic: side.traffic.into_iter().collect(),
            shaped: shaped.contains(&*side.device),
            encapsulated: encapsulated.contains(&*side.device),
            redirected: port.is_some_and(|p| self.topology.is_redirected(p)),
            hardware: self.hardware.as_ref().and_then(|able| match port {
                Some(port) => Some(able.contains(&**port)),
                None => able.is_empty().then_some(false),
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
        let scope = Scope { devices: BTreeSet::from(["wan".to_owned()]), ..Scope::default() };
        view.set_scope(scope.clone());
        let generation = view.generation();
        view.set_scope(scope);
        view.set_names(Names::default());
        view.set_interfaces(&Firewall::default(), Vec::new());
        assert_eq!(view.generation(), generation);
        view.set_names(Names::parse("1 02::1 10.0.0.1 desk", ""));
        assert_eq!(view.generation(), generation + 1);
    }
}
