// SPDX-License-Identifier: GPL-2.0-or-later
//! Detects `OpenWrt`'s packet steering, which competes with the plan, and how it is suspended.
//!
//! netifd's service `packet_steering` (v25.12.5) runs at boot, after every change of the network or
//! firewall configuration and one second after every `interface.*` event. It writes `rps_cpus` and
//! `rps_flow_cnt` of **every** physical device and pins NAPI threads, by
//! `network.globals.packet_steering`: `1` or unset means one CPU per device, `2` all CPUs, and `0`
//! **writes zeros** and unpins the threads. So no value of that option leaves our values alone, and
//! `0` would undo the plan at every reconnect.
//!
//! If `/usr/libexec/platform/packet-steering.sh` exists, the service runs only this hook. Ours
//! (`files/packet-steering.sh`, installed by the init script if there is no other) does nothing
//! while [`crate::Found::PATH`] exists, and otherwise runs the service's program with the
//! administrator's options. The configuration stays unchanged: writing that file suspends the
//! service, removing the file resumes it.
//!
//! Two targets (bcm53xx, bcm4908) have their own hook, which stays. There, and where other programs
//! write (rockchip's hotplug script and qualcommax' `smp_affinity` once at boot, irqbalance every
//! ten seconds), the daemon has to compare and write again.

use std::fs;
use std::path::Path;

use serde::Serialize;

/// `OpenWrt`'s steering service.
const SERVICE: &str = "etc/init.d/packet_steering";
/// Hook that the service runs instead of its own program.
const HOOK: &str = "usr/libexec/platform/packet-steering.sh";
/// Text that only our hook contains.
const OURS: &str = "/var/run/fastpath/cpu.found";

/// Owner of the hook.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Hook {
    #[default]
    Absent,
    /// Does nothing while our plan is in force.
    Ours,
    /// Belongs to the target.
    Foreign,
}

config::coded! {
    /// Which program controls packet steering.
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

/// `OpenWrt`'s packet steering on this router.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Steering {
    /// The service is installed.
    pub service: bool,
    pub hook: Hook,
    /// `network.globals.packet_steering`; `None` if unset. The daemon never writes it.
    pub uci: Option<String>,
}

impl Steering {
    /// Looks for service and hook below `root`; the caller has the option's value.
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

    /// Returns whether the service leaves our values alone while our plan is in force. Otherwise
    /// they must be written again about two seconds after interface events.
    #[must_use]
    pub fn stays_away(&self) -> bool {
        !self.service || self.hook == Hook::Ours
    }

    /// Returns which program controls packet steering; `active` is the plan's state.
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
