// SPDX-License-Identifier: GPL-2.0-or-later

config::named! {
    #[derive(Default)]
    pub enum Engine from text {
        Off = "off",
        #[default]
        Flowtable = "flowtable",
        /// Hardware flowtable, where drivers support it.
        FlowtableHw = "flowtable-hw",
        /// eBPF programs on supported devices, the software flowtable on all others.
        Ebpf = "ebpf",
    }
}
