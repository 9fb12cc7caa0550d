// SPDX-License-Identifier: GPL-2.0-or-later
//! The programs of the object by role, and their load options: the switch that adds DSA tags, and
//! the capacity of the maps.

config::named! {
    /// Kind of switch that adds DSA tags to the frames of a device.
    #[derive(Default, PartialOrd, Ord)]
    #[repr(u8)]
    pub enum Dsa {
        /// No tags: any device except the conduit of a switch.
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
    /// DSA tags that the programs remove.
    pub dsa: Dsa,
}

config::named! {
    /// A program of the object.
    pub enum ProgramRole {
        /// Forwards at TC.
        Tc = "fastpath_tc",
        /// Forwards at XDP.
        Xdp = "fastpath_xdp",
        /// Passes all packets, for drivers that send only while they have a program.
        Pass = "fastpath_pass",
        /// Receives the heartbeat of the daemon and starts entries.
        Beat = "fastpath_beat",
    }
}
