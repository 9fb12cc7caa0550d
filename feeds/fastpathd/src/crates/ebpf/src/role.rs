// SPDX-License-Identifier: GPL-2.0-or-later
//! The programs of the object by role, and the variants that are loaded of them.

/// The switch whose DSA tags a device carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Dsa {
    /// None: any device except the conduit of a switch.
    #[default]
    None = 0,
    /// `MediaTek`.
    Mtk = 1,
    /// Lantiq GSWIP.
    Gswip = 2,
    /// Qualcomm QCA8K.
    Qca = 3,
}

impl Dsa {
    /// All.
    pub const ALL: [Self; 4] = [Self::None, Self::Mtk, Self::Gswip, Self::Qca];

    /// Its name.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Mtk => "mtk",
            Self::Gswip => "gswip",
            Self::Qca => "qca",
        }
    }
}

/// How the programs are loaded.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Capacity of each of the two maps of flows.
    pub flows: u32,
    /// The tags that they remove.
    pub dsa: Dsa,
}

/// A program of the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Forwards at TC.
    Tc,
    /// Forwards at XDP.
    Xdp,
    /// Passes all, for devices that send only if they have a program.
    Pass,
    /// Heartbeat of the daemon.
    Beat,
}

impl Role {
    /// All.
    pub const ALL: [Self; 4] = [Self::Tc, Self::Xdp, Self::Pass, Self::Beat];

    /// Its name in the object and in the folder.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tc => "fastpath_tc",
            Self::Xdp => "fastpath_xdp",
            Self::Pass => "fastpath_pass",
            Self::Beat => "fastpath_beat",
        }
    }
}
