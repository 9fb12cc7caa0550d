// SPDX-License-Identifier: GPL-2.0-or-later
//! Roles of the programs, and their load options.

config::named! {
    /// Kind of switch that adds DSA tags to the frames of a device.
    #[derive(Default, PartialOrd, Ord)]
    #[repr(u8)]
    pub enum Dsa {
        /// Any device except the conduit of a switch.
        #[default]
        None = "none",
        /// `MediaTek`.
        Mtk = "mtk",
        /// Lantiq GSWIP.
        Gswip = "gswip",
        /// Qualcomm QCA8K.
        Qca = "qca",
    }
}

#[derive(Clone, Copy, Debug)]
pub struct LoadOptions {
    /// Capacity of each of the two maps of flows.
    pub flows: u32,
    pub dsa: Dsa,
}

config::named! {
    pub enum ProgramRole {
        Tc = "fastpath_tc",
        Xdp = "fastpath_xdp",
        /// Passes all packets, for drivers that redirect only with a program attached.
        Pass = "fastpath_pass",
        /// Renews the heartbeat and starts entries.
        Beat = "fastpath_beat",
    }
}
