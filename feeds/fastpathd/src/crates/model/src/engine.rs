// SPDX-License-Identifier: GPL-2.0-or-later
//! The engines and the default.

config::named! {
    /// The engine that offloads established flows.
    #[derive(Default)]
    pub enum Engine from text {
        /// No offload.
        Off = "off",
        /// The kernel's software flowtable.
        #[default]
        Flowtable = "flowtable",
        /// The flowtable in hardware, where drivers support it.
        FlowtableHw = "flowtable-hw",
        /// eBPF programs on devices that support them, the software flowtable on the others.
        Ebpf = "ebpf",
    }
}
