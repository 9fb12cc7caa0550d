// SPDX-License-Identifier: GPL-2.0-or-later

use std::net::IpAddr;

use gateway::export::ExportReason;
use netlink::{Client, Protocol, attribute, messages, push_attribute};

/// Returns the index of the egress device for our packets to this address.
pub(super) fn egress(destination: IpAddr) -> Result<u32, ExportReason> {
    const HEADER: usize = 12;
    let unreachable = |error: &dyn std::fmt::Display| {
        let why = error.to_string();
        ExportReason::Unreachable { why }
    };
    let mut payload = vec![0; HEADER];
    let family = match destination {
        IpAddr::V4(v4) => {
            push_attribute(&mut payload, libc::RTA_DST, &v4.octets());
            libc::AF_INET
        }
        IpAddr::V6(v6) => {
            push_attribute(&mut payload, libc::RTA_DST, &v6.octets());
            libc::AF_INET6
        }
    };
    payload[0] = u8::try_from(family).unwrap_or_default();
    payload[1] = if destination.is_ipv4() { 32 } else { 128 };
    let mut client = Client::open(Protocol::Route).map_err(|error| unreachable(&error))?;
    let answer = client.request(libc::RTM_GETROUTE, &payload);
    let answer = answer.map_err(|error| match error.refused() {
        Some(errno) => unreachable(&std::io::Error::from_raw_os_error(errno)),
        None => unreachable(&error),
    })?;
    let device = messages(&answer).find_map(|message| {
        let attributes = message.payload.get(HEADER..)?;
        Some(u32::from_ne_bytes(*attribute(attributes, libc::RTA_OIF)?.first_chunk()?))
    });
    device.ok_or(ExportReason::NoRoute)
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use gateway::export::Settings;
    use gateway::export::egress::EgressDevices;

    use super::*;
    use crate::export::fixture;

    fn settings(host: &str) -> Settings {
        let collector = SocketAddr::new(host.parse().unwrap(), 4739);
        Settings::Flows(fixture::settings(ipfix::Protocol::Udp, collector))
    }

    #[test]
    fn refuses_private_addresses_behind_the_default_route() {
        for host in ["127.0.0.1", "::1"] {
            assert_eq!(egress(host.parse().unwrap()), Ok(1));
        }
        let devices = EgressDevices::default();
        // The default route of the test machine is not an inner device; without one, the addresses
        // are unreachable.
        for host in ["10.255.99.10", "100.64.99.10", "::ffff:10.255.99.10", "fd99::10"] {
            let reason = devices.find(&settings(host), egress).expect_err(host);
            let is_known =
                matches!(reason, ExportReason::NoRoute | ExportReason::Unreachable { .. });
            assert!(is_known, "{host}: {reason:?}");
        }
    }

    #[test]
    fn returns_the_inner_device_of_the_route() {
        let Ok(device) = egress("10.255.99.10".parse().unwrap()) else {
            println!("skipped: this machine has no route to 10.255.99.10");
            return;
        };
        let inner = [(device, "inner".to_owned())].into();
        let devices = EgressDevices { inner, ..EgressDevices::default() };
        assert_eq!(devices.find(&settings("10.255.99.10"), egress), Ok(Some("inner".to_owned())));
    }
}
