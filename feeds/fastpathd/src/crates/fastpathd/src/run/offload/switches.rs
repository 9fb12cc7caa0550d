// SPDX-License-Identifier: GPL-2.0-or-later
//! Watches settings that stop the stack from forwarding, because offloaded flows would continue:
//! forwarding, reverse path filters, the state of bridge ports, and stations of locked ports.

use std::collections::HashMap;

use gateway::event::Event as AnyEvent;
use gateway::offload::Event;
use netlink::{AsyncSocket, Message, Protocol, attribute, attributes, messages, overrun};
use tokio::sync::mpsc::Sender;

use crate::run::offload::RETRY_INTERVAL;

/// `RTNLGRP_LINK`, `RTNLGRP_NEIGH`, `RTNLGRP_IPV4_NETCONF`, `RTNLGRP_IPV6_NETCONF`.
const GROUPS: [u32; 4] = [1, 3, 24, 25];

/// Bridge ports by index; true for a port that is locked or not forwarding.
#[derive(Debug, Default)]
struct Ports(HashMap<[u8; 4], bool>);

pub(crate) async fn watch(events: Sender<AnyEvent>) {
    loop {
        match AsyncSocket::open(Protocol::Route, &GROUPS) {
            Ok(socket) => {
                if follow(socket, &events).await.is_none() {
                    return;
                }
            }
            Err(error) => log::error!("switches of forwarding: {error}"),
        }
        tokio::time::sleep(RETRY_INTERVAL).await;
    }
}

/// Follows the socket. Returns `None` if the daemon ends, `Some` after a failure.
async fn follow(mut socket: AsyncSocket, events: &Sender<AnyEvent>) -> Option<()> {
    let mut ports = Ports::default();
    loop {
        let stops = match socket.recv().await {
            Ok(datagram) => messages(datagram).filter(|one| ports.stops(one)).count() > 0,
            Err(error) if overrun(&error) => true,
            Err(_) => return Some(()),
        };
        if stops {
            events.send(AnyEvent::Offload(Event::ForwardingStopped)).await.ok()?;
        }
    }
}

impl Ports {
    fn stops(&mut self, message: &Message<'_>) -> bool {
        const NEWNETCONF: u16 = 80;
        match message.kind {
            NEWNETCONF => message.payload.get(4..).is_some_and(stops_forwarding),
            libc::RTM_NEWLINK => self.port(message.payload).unwrap_or(false),
            libc::RTM_DELNEIGH => {
                let index = bridge_index(message.payload);
                index.is_some_and(|index| self.0.get(&index) == Some(&true))
            }
            _ => false,
        }
    }

    /// Handles `RTM_NEWLINK` of family bridge. Returns whether the port has just stopped
    /// forwarding.
    fn port(&mut self, payload: &[u8]) -> Option<bool> {
        const IFINFOMSG: usize = 16;
        const PROTINFO: u16 = 12;
        const STATE: u16 = 1;
        const LOCKED: u16 = 39;
        const FORWARDING: u8 = 3;
        let index = bridge_index(payload)?;
        let port = attribute(payload.get(IFINFOMSG..)?, PROTINFO)?;
        let byte = |kind| attribute(port, kind).and_then(<[u8]>::first).copied();
        let stopped = byte(STATE)? != FORWARDING || byte(LOCKED) == Some(1);
        let before = self.0.insert(index, stopped);
        Some(stopped && before != Some(true))
    }
}

/// Returns the device index of a message of family bridge, with header `ifinfomsg` or `ndmsg`.
fn bridge_index(payload: &[u8]) -> Option<[u8; 4]> {
    let family = i32::from(*payload.first()?);
    payload.get(4..)?.first_chunk().filter(|_| family == libc::AF_BRIDGE).copied()
}

/// Returns whether a single changed setting stops forwarding. A new device reports all settings.
fn stops_forwarding(attrs: &[u8]) -> bool {
    const IFINDEX: u16 = 1;
    const FORWARDING: u16 = 2;
    const RP_FILTER: u16 = 3;
    let mut found = attributes(attrs).filter(|(kind, _)| *kind != IFINDEX);
    match (found.next(), found.next()) {
        (Some((FORWARDING, value)), None) => value == [0; 4],
        (Some((RP_FILTER, value)), None) => value != [0; 4],
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use netlink::push_attribute;

    use super::*;

    fn changed(family: i32, attrs: &[(u16, u32)]) -> Vec<u8> {
        let mut payload = vec![u8::try_from(family).unwrap(), 0, 0, 0];
        for (kind, value) in attrs {
            push_attribute(&mut payload, *kind, &value.to_ne_bytes());
        }
        netlink::message(80, 0, 0, &payload)
    }

    fn port(index: u8, state: u8, locked: u8) -> Vec<u8> {
        let mut payload = vec![0; 16];
        (payload[0], payload[4]) = (u8::try_from(libc::AF_BRIDGE).unwrap(), index);
        let mut of_port = Vec::new();
        push_attribute(&mut of_port, 1, &[state]);
        push_attribute(&mut of_port, 39, &[locked]);
        push_attribute(&mut payload, 0x800c, &of_port);
        netlink::message(libc::RTM_NEWLINK, 0, 0, &payload)
    }

    #[test]
    fn reports_only_settings_that_stop_forwarding() {
        let stops = |bytes: Vec<u8>| {
            messages(&bytes).filter(|one| Ports::default().stops(one)).count() == 1
        };
        for family in [libc::AF_INET, libc::AF_INET6] {
            assert!(stops(changed(family, &[(1, 7), (2, 0)])));
            assert!(!stops(changed(family, &[(1, 7), (2, 1)])), "forwarding is enabled");
            assert!(stops(changed(family, &[(1, 7), (3, 2)])));
            assert!(!stops(changed(family, &[(1, 7), (3, 0)])));
            assert!(!stops(changed(family, &[(1, 7), (2, 0), (3, 0), (4, 0)])), "a new device");
            assert!(!stops(changed(family, &[(1, 7), (5, 0)])), "a setting of ARP");
        }
        assert!(!stops(netlink::message(80, 0, 0, &[])));
    }

    #[test]
    fn reports_a_stopped_bridge_port_once() {
        let mut ports = Ports::default();
        let mut stops =
            |bytes: Vec<u8>| messages(&bytes).filter(|one| ports.stops(one)).count() == 1;
        assert!(!stops(port(3, 3, 0)));
        assert!(stops(port(3, 4, 0)), "the port blocks");
        assert!(!stops(port(3, 4, 0)), "a repeated message");
        assert!(!stops(port(3, 3, 0)));
        assert!(stops(port(3, 3, 1)), "the port is locked");
        assert!(stops(port(4, 1, 0)), "another port");
        let gone = |index| {
            let mut payload = vec![0; 12];
            (payload[0], payload[4]) = (u8::try_from(libc::AF_BRIDGE).unwrap(), index);
            netlink::message(libc::RTM_DELNEIGH, 0, 0, &payload)
        };
        assert!(stops(gone(3)), "a station of a locked port is removed");
        assert!(!stops(gone(5)), "a station of an unknown port is removed");
    }
}
