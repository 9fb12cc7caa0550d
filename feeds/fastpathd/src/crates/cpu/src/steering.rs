// SPDX-License-Identifier: GPL-2.0-or-later
//! Detects `OpenWrt`'s packet steering, which overwrites the plan unless it is suspended.
//!
//! netifd's service `packet_steering` (v25.12.5) runs at boot, after every change of the network or
//! firewall configuration and one second after every `interface.*` event. The service writes
//! `rps_cpus` and `rps_flow_cnt` of **every** physical device and pins NAPI threads. The option
//! `network.globals.packet_steering` cannot prevent that: `1` or unset selects one CPU per device,
//! `2` all CPUs, and `0` **writes zeros** and unpins the threads.
//!
//! If `/usr/libexec/platform/packet-steering.sh` exists, the service runs this hook instead. The
//! init script installs our hook (`files/packet-steering.sh`) if there is none. While
//! [`crate::Found::PATH`] exists, our hook does nothing; otherwise it runs the service's program.
//!
//! The targets bcm53xx and bcm4908 have their own hook, which is kept. On these, and where other
//! programs write the same files (rockchip's hotplug script, qualcommax' `smp_affinity`,
//! irqbalance), the daemon compares and writes again.

use std::fs;
use std::path::Path;

use serde::Serialize;

const SERVICE: &str = "etc/init.d/packet_steering";
const HOOK: &str = "usr/libexec/platform/packet-steering.sh";
const OURS: &str = "/var/run/fastpath/cpu.found";

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Hook {
    #[default]
    Absent,
    /// Does nothing while our plan is in force.
    Ours,
    /// Installed by the target.
    Foreign,
}

config::coded! {
    pub enum SteeringReason {
        Alone = "alone",
            "fastpath controls packet steering; OpenWrt's packet_steering is not installed";
        Suspended = "suspended",
            "fastpath controls packet steering; OpenWrt's packet_steering is suspended";
        NoHook = "no-hook",
            "fastpath steers; OpenWrt's packet steering, which asks no hook here, undoes that \
             after interface events, and fastpath sets it again";
        ForeignHook = "foreign-hook",
            "fastpath steers; the target's own packet steering undoes that after interface \
             events, and fastpath sets it again";
        Service = "service", "OpenWrt's packet_steering is active";
        Off = "off", "packet steering is off";
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Steering {
    pub service: bool,
    pub hook: Hook,
    /// `network.globals.packet_steering`. `None` if unset.
    pub uci: Option<String>,
}

impl Steering {
    /// Detects service and hook below `root`. `uci` is the option's value.
    #[must_use]
    pub fn read(root: &Path, uci: Option<&str>) -> Self {
        let hook = match fs::read_to_string(root.join(HOOK)) {
            Ok(text) if text.contains(OURS) => Hook::Ours,
            Ok(_) => Hook::Foreign,
            Err(_) if root.join(HOOK).exists() => Hook::Foreign,
            Err(_) => Hook::Absent,
        };
        Self { service: root.join(SERVICE).exists(), hook, uci: uci.map(str::to_owned) }
    }

    /// Returns whether the service leaves our values unchanged while the plan is active. If not,
    /// the caller writes them again about two seconds after interface events.
    #[must_use]
    pub fn stays_away(&self) -> bool {
        !self.service || self.hook == Hook::Ours
    }

    /// Returns which program controls packet steering; `active` is the state of the plan.
    #[must_use]
    pub const fn reason(&self, active: bool) -> SteeringReason {
        match (active, self.service, self.hook) {
            (true, false, _) => SteeringReason::Alone,
            (true, true, Hook::Ours) => SteeringReason::Suspended,
            (true, true, Hook::Absent) => SteeringReason::NoHook,
            (true, true, Hook::Foreign) => SteeringReason::ForeignHook,
            (false, true, _) => SteeringReason::Service,
            (false, false, _) => SteeringReason::Off,
        }
    }
}
