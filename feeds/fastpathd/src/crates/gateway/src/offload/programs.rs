// SPDX-License-Identifier: GPL-2.0-or-later
//! The eBPF programs of devices, and why devices have none.

use config::Cause;
use ebpf::attach::AttachReason;
use ebpf::devices::TcReason;
use ebpf::entry_side::Hook;

/// A device that a program was requested for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    pub device: String,
    /// Hook of its program; `None` if no program is attached.
    pub hook: Option<Hook>,
    /// Name of the hook: `xdp`, `xdp-generic`, `tcx` or `clsact`; empty without a program.
    pub hook_name: &'static str,
    /// Why a better hook, or any hook, could not be used.
    pub why: config::Cause,
}

config::coded! {
    /// Why devices have no programs. `said` is the text of the loader or the kernel.
    pub enum ProgramsReason {
        Missing = "not-installed", "the package fastpathd-ebpf is not installed";
        NotLoaded = "not-loaded",
            "the eBPF programs are not in the kernel: loading them failed, see the system log";
        // The loader could not be run, or has failed.
        Loader { said: String } = "loader", "{said}";
        // Programs are attached, but their maps cannot be used.
        Maps { said: String } = "maps", "{said}";
        Device { device: String, why: String } = "device", "{device}: {why}";
    }
}

impl ProgramsReason {
    /// Returns all codes, including the reasons of a single device.
    #[must_use]
    pub fn all_codes() -> Vec<&'static str> {
        [&Self::CODES[..], &TcReason::CODES, &AttachReason::CODES].concat()
    }

    /// Shortens messages to their first line.
    #[must_use]
    pub fn brief(self) -> Self {
        let first = |said: String| said.lines().next().unwrap_or_default().to_owned();
        match self {
            Self::Loader { said } => Self::Loader { said: first(said) },
            Self::Maps { said } => Self::Maps { said: first(said) },
            Self::Missing | Self::NotLoaded | Self::Device { .. } => self,
        }
    }

    /// Returns the cause of the missing program of `device`.
    #[must_use]
    pub fn of(device: &str, why: &Cause) -> Cause {
        let reason = Self::Device { device: device.to_owned(), why: why.text.clone() };
        reason.cause().around(why.clone())
    }
}
