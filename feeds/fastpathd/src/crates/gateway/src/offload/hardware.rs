// SPDX-License-Identifier: GPL-2.0-or-later
//! Detects whether hardware forwards flows, and which ports support hardware offload. `OpenWrt`'s
//! kernel accepts a flowtable with `flags offload` even if no driver supports it.

use std::collections::BTreeSet;

use model::Engine;
use serde::Serialize;

/// Seconds with flows in the flowtable but none in hardware until hardware counts as unused.
const UNUSED_AFTER: u32 = 60;

/// Ports of the flowtable with `hw-tc-offload` on, and the number of all its ports.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct HardwarePorts {
    pub able: BTreeSet<String>,
    pub present: usize,
}

#[derive(Debug, Default)]
pub(crate) struct HardwareUse {
    seconds: u32,
    /// `None` without hardware offload, or if the drivers are unknown.
    ports: Option<HardwarePorts>,
    full: Option<usize>,
    counts: Option<bool>,
}

impl HardwareUse {
    /// Returns true if hardware offload is in force without effect.
    pub(crate) fn is_unused(&self) -> bool {
        self.seconds >= UNUSED_AFTER
    }

    pub(crate) fn ports(&self) -> Option<&HardwarePorts> {
        self.ports.as_ref()
    }

    pub(crate) fn set_ports(&mut self, ports: Option<HardwarePorts>) {
        self.ports = ports;
    }

    /// Sets the number of flows in a full table, and whether the driver counts bytes.
    pub(crate) fn set_driver(&mut self, full: Option<usize>, counts: Option<bool>) {
        (self.full, self.counts) = (full, counts);
    }

    pub(crate) fn full(&self) -> Option<usize> {
        self.full
    }

    pub(crate) fn counts(&self) -> Option<bool> {
        self.counts
    }

    /// Returns true if [`is_unused`](Self::is_unused) has changed. Called once a second.
    pub(crate) fn second(&mut self, engine: Engine, hardware: u64, software: u64) -> bool {
        let before = self.is_unused();
        if engine != Engine::FlowtableHw || hardware > 0 {
            self.seconds = 0;
        } else if software > 0 {
            self.seconds = self.seconds.saturating_add(1);
        }
        self.is_unused() != before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hardware_is_unused_after_a_minute_of_traffic_without_a_hardware_flow() {
        let mut hardware = HardwareUse::default();
        for _ in 0..100 {
            assert!(!hardware.second(Engine::FlowtableHw, 0, 0), "without traffic");
        }
        for _ in 1..UNUSED_AFTER {
            assert!(!hardware.second(Engine::FlowtableHw, 0, 5));
        }
        assert!(hardware.second(Engine::FlowtableHw, 0, 5));
        assert!(!hardware.second(Engine::FlowtableHw, 0, 5), "reported once");
        assert!(hardware.second(Engine::FlowtableHw, 1, 5));
        assert!(!hardware.is_unused());
    }

    #[test]
    fn other_engines_never_report_unused_hardware() {
        let mut hardware = HardwareUse::default();
        for engine in [Engine::Off, Engine::Flowtable, Engine::Ebpf] {
            for _ in 0..100 {
                assert!(!hardware.second(engine, 0, 5));
            }
        }
    }
}
