// SPDX-License-Identifier: GPL-2.0-or-later
//! The programs of the object by role (TC, XDP, pass, heartbeat), and the variants that are loaded
//! of them: by the switch whose DSA tags they remove, and the capacity of the maps.

config::named! {
    /// The switch whose DSA tags a device carries.
    #[derive(Default, PartialOrd, Ord)]
    #[repr(u8)]
    pub enum Dsa {
        /// None: any device except the conduit of a switch.
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

/// How the programs are loaded.
#[derive(Clone, Copy, Debug)]
pub struct LoadOptions {
    /// Capacity of each of the two maps of flows.
    pub flows: u32,
    /// The tags that they remove.
    pub dsa: Dsa,
}

config::named! {
    /// A program of the object.
    pub enum ProgramRole {
        /// Forwards at TC.
        Tc = "fastpath_tc",
        /// Forwards at XDP.
        Xdp = "fastpath_xdp",
        /// Passes all, for devices that send only if they have a program.
        Pass = "fastpath_pass",
        /// Heartbeat of the daemon.
        Beat = "fastpath_beat",
    }
}
