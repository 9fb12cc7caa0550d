// SPDX-License-Identifier: GPL-2.0-or-later
//! Severities of the doctor's findings.

config::named! {
    /// Severity of a finding, worst last.
    #[derive(PartialOrd, Ord)]
    pub enum Severity from text {
        Ok = "ok",
        /// No action needed.
        Info = "info",
        /// The check could not run.
        Unknown = "unknown",
        /// Could be improved.
        Advice = "advice",
        /// Slow or unsafe.
        Warning = "warning",
        /// Broken, or far slower than the router could be.
        Error = "error",
    }
}

impl Severity {
    /// Returns whether the finding needs an action.
    #[must_use]
    pub const fn asks(self) -> bool {
        match self {
            Self::Ok | Self::Info | Self::Unknown => false,
            Self::Advice | Self::Warning | Self::Error => true,
        }
    }
}
