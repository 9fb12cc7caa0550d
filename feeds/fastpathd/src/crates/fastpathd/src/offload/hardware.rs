// SPDX-License-Identifier: GPL-2.0-or-later
//! Whether hardware takes flows. `OpenWrt`'s kernel accepts a flowtable with `flags offload`
//! although no driver supports it, so the engine in force says nothing about that.

use flows::Path;
use model::Engine;

use crate::core::Core;
use crate::effect::Effect as AnyEffect;

/// Seconds of traffic in the flowtable without a flow in hardware, after which there will be none.
const UNUSED_AFTER: u32 = 60;

/// How long the flowtable has had flows, and hardware none.
#[derive(Debug, Default)]
pub(crate) struct HardwareUse {
    seconds: u32,
}

impl HardwareUse {
    /// Hardware offload is in force, and without effect.
    pub(crate) fn is_unused(&self) -> bool {
        self.seconds >= UNUSED_AFTER
    }

    /// A second with so many flows in hardware and in the flowtable alone. True if
    /// [`is_unused`](Self::is_unused) is another answer than before.
    fn second(&mut self, engine: Engine, hardware: u64, software: u64) -> bool {
        let before = self.is_unused();
        if engine != Engine::FlowtableHw || hardware > 0 {
            self.seconds = 0;
        } else if software > 0 {
            self.seconds = self.seconds.saturating_add(1);
        }
        self.is_unused() != before
    }
}

impl Core {
    /// Once a second: queues that hardware would bypass depend on it.
    pub(super) fn hardware_second(&mut self) -> Option<AnyEffect> {
        let flows = self.conntrack.flows();
        let [hardware, software] = [Path::Hardware, Path::Flowtable].map(|path| flows.on(path));
        let engine = self.offload.flowtable.active();
        if !self.offload.hardware.second(engine, hardware, software) {
            return None;
        }
        self.plan_latency()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_of_traffic_without_a_flow_in_hardware_is_told_until_there_is_one() {
        let mut hardware = HardwareUse::default();
        for _ in 0..100 {
            assert!(!hardware.second(Engine::FlowtableHw, 0, 0), "without traffic");
        }
        for _ in 1..UNUSED_AFTER {
            assert!(!hardware.second(Engine::FlowtableHw, 0, 5));
        }
        assert!(hardware.second(Engine::FlowtableHw, 0, 5));
        assert!(!hardware.second(Engine::FlowtableHw, 0, 5), "told once");
        assert!(hardware.second(Engine::FlowtableHw, 1, 5));
        assert!(!hardware.is_unused());
    }

    #[test]
    fn other_engines_want_no_hardware() {
        let mut hardware = HardwareUse::default();
        for engine in [Engine::Off, Engine::Flowtable, Engine::Ebpf] {
            for _ in 0..100 {
                assert!(!hardware.second(engine, 0, 5));
            }
        }
    }
}
