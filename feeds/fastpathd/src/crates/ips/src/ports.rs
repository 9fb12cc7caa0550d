// SPDX-License-Identifier: GPL-2.0-or-later
//! Rejects ports that are unsuitable for modes `ids` and `inline`.

use config::{Fault, Problem};
use model::InspectionMode;

use crate::settings::Settings;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CapturePort {
    pub name: String,
    pub bridge: Option<String>,
    /// Devices on top of the port: VLAN devices, PPPoE sessions (`pppoe-wan`), macvlans.
    pub carries: Vec<String>,
    pub addressed: bool,
    pub up: bool,
    pub mtu: u32,
}

/// Checks the settings against `ports`, the existing devices. A port that is down is accepted,
/// because it may come up.
pub fn check_mode(settings: &Settings, ports: &[CapturePort]) -> Result<(), Problem> {
    if !settings.enabled || settings.mode == InspectionMode::Nfq {
        return Ok(());
    }
    let mut found = Vec::new();
    for name in &settings.devices {
        let port = ports.iter().find(|port| port.name == *name);
        let port =
            port.ok_or_else(|| refuse(name, Fault::UnknownDevice { device: name.clone() }))?;
        if settings.mode == InspectionMode::Inline {
            check_unused(port)?;
        }
        found.push(port);
    }
    match (settings.mode, found.as_slice()) {
        (InspectionMode::Inline, [one, other]) if one.mtu != other.mtu => {
            let fault = Fault::InlineMtu {
                device: one.name.clone(),
                mtu: one.mtu,
                other: other.name.clone(),
                other_mtu: other.mtu,
            };
            Err(refuse(&settings.devices.join(" "), fault))
        }
        _ => Ok(()),
    }
}

/// Rejects a port in use: the kernel would handle the same frames that Suricata copies to the
/// other port, so each packet would be forwarded twice, once uninspected.
fn check_unused(port: &CapturePort) -> Result<(), Problem> {
    if let Some(bridge) = &port.bridge {
        return Err(refuse(&port.name, Fault::InlineBridge { bridge: bridge.clone() }));
    }
    if let Some(above) = port.carries.first() {
        return Err(refuse(&port.name, Fault::InlineUsed { device: above.clone() }));
    }
    if port.addressed {
        return Err(refuse(&port.name, Fault::InlineAddress));
    }
    Ok(())
}

fn refuse(value: &str, fault: Fault) -> Problem {
    let [section, option] = ["ips".to_owned(), "device".to_owned()];
    Problem { section, option, value: value.to_owned(), fault: Box::new(fault) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn port(name: &str) -> CapturePort {
        CapturePort { name: name.into(), up: true, mtu: 1500, ..CapturePort::default() }
    }

    fn check(mode: InspectionMode, devices: &[&str], ports: &[CapturePort]) -> String {
        let devices = devices.iter().map(ToString::to_string).collect();
        let settings = Settings { enabled: true, mode, devices, ..Settings::default() };
        check_mode(&settings, ports).map_or_else(|problem| problem.to_string(), |()| String::new())
    }

    #[test]
    fn accepts_unused_ports() {
        let ports = [port("eth1"), CapturePort { up: false, ..port("eth2") }];
        assert_eq!(check(InspectionMode::Inline, &["eth1", "eth2"], &ports), "");
        assert_eq!(check(InspectionMode::Ids, &["eth2"], &ports), "");
        assert_eq!(check(InspectionMode::Nfq, &["gone"], &ports), "", "nfq needs no ports");
    }

    #[test]
    fn mode_ids_accepts_a_port_in_use() {
        let used = CapturePort {
            bridge: Some("br-lan".into()),
            carries: vec!["lan1.20".into()],
            addressed: true,
            ..port("lan1")
        };
        assert_eq!(check(InspectionMode::Ids, &["lan1"], &[used]), "");
    }

    #[test]
    fn rejects_unsuitable_ports_with_the_reason() {
        let bridged = CapturePort { bridge: Some("br-lan".into()), ..port("lan1") };
        let with_pppoe = CapturePort { carries: vec!["pppoe-wan".into()], ..port("wan") };
        let with_address = CapturePort { addressed: true, ..port("eth1") };
        let jumbo = CapturePort { mtu: 9000, ..port("eth3") };
        let ports = [bridged, with_pppoe, with_address, jumbo, port("eth2")];
        for (mode, devices, expected) in [
            (
                InspectionMode::Ids,
                &["eth9"][..],
                "option 'device', value 'eth9': there is no such device",
            ),
            (InspectionMode::Inline, &["eth2", "eth9"], "value 'eth9': there is no such device"),
            (InspectionMode::Inline, &["lan1", "eth2"], "value 'lan1': is a port of br-lan, which"),
            (InspectionMode::Inline, &["eth2", "wan"], "value 'wan': carries pppoe-wan, which"),
            (
                InspectionMode::Inline,
                &["eth1", "eth2"],
                "value 'eth1': has an address of this router",
            ),
            (InspectionMode::Inline, &["eth2", "eth3"], "eth2 has 1500, eth3 has 9000"),
        ] {
            let problem = check(mode, devices, &ports);
            assert!(problem.starts_with("section 'ips'"), "{problem}");
            assert!(problem.contains(expected), "{problem}");
        }
    }

    #[test]
    fn disabled_inspection_accepts_missing_ports() {
        let settings = Settings { mode: InspectionMode::Ids, ..Settings::default() };
        assert_eq!(check_mode(&settings, &[]), Ok(()));
    }
}
