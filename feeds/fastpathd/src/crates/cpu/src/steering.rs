// SPDX-License-Identifier: GPL-2.0-or-later
//! Suspending `OpenWrt`'s packet steering: its service, the hook script that it runs first and who
//! owns it, and the text about which program steers.
//!
//! netifd's service `packet_steering` (v25.12.5) runs at boot, after every change of the network or
//! firewall configuration and one second after every `interface.*` event. It writes `rps_cpus` and
//! `rps_flow_cnt` of **every** physical device and pins NAPI threads, by `network.globals.
//! packet_steering`: `1` or unset one CPU a device, `2` all CPUs, and `0` **writes zeros**
//! and lets the threads run anywhere. So no value of that option leaves our values
//! alone, and setting it to `0` would undo the plan at every reconnect.
//!
//! But the service asks a hook first: if `/usr/libexec/platform/packet-steering.sh` exists, it runs
//! that and nothing else. Ours (`files/packet-steering.sh`, put there by the init script where no
//! other is) does nothing while [`crate::Found::PATH`] exists and otherwise runs the service's own
//! program with the owner's options. So the owner's configuration stays as it is; writing that
//! file suspends it, removing the file resumes it.
//!
//! Two targets (bcm53xx, bcm4908) have a hook of their own, which stays. There, and where somebody
//! else writes (rockchip's hotplug script and qualcommax' `smp_affinity` once at boot, irqbalance
//! every ten seconds), the daemon has to compare and write again.

use std::fs;
use std::path::Path;

use serde::Serialize;

/// The service that steers.
const SERVICE: &str = "etc/init.d/packet_steering";
/// The script it runs first.
const HOOK: &str = "usr/libexec/platform/packet-steering.sh";
/// A text that only our hook contains.
const OURS: &str = "/var/run/fastpath/cpu.found";

/// Whose hook is there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Hook {
    /// None.
    #[default]
    Absent,
    /// The one that stays away while our plan is in force.
    Ours,
    /// The target's.
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

/// How `OpenWrt` steers packets on this box.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Steering {
    /// The service is installed.
    pub service: bool,
    /// Whose hook it asks.
    pub hook: Hook,
    /// `network.globals.packet_steering`; none: not set. The daemon reads it, never writes it.
    pub uci: Option<String>,
}

impl Steering {
    /// Searches service and hook below `root`; the caller has the option's value.
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

    /// The service leaves our values alone while our plan is in force. If not, they have to be
    /// written again some two seconds after interface events.
    #[must_use]
    pub fn stays_away(&self) -> bool {
        !self.service || self.hook == Hook::Ours
    }

    /// Which program steers; `active` as in the plan.
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
