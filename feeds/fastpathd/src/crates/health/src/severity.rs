// SPDX-License-Identifier: GPL-2.0-or-later

config::named! {
    /// Severity of a finding, in ascending order.
    #[derive(PartialOrd, Ord)]
    pub enum Severity from text {
        Ok = "ok",
        /// Needs no action.
        Info = "info",
        Unknown = "unknown",
        /// Improvement is possible.
        Advice = "advice",
        /// Slow or unsafe.
        Warning = "warning",
        /// Broken, or far slower than possible.
        Error = "error",
    }
}

impl Severity {
    #[must_use]
    pub const fn asks(self) -> bool {
        match self {
            Self::Ok | Self::Info | Self::Unknown => false,
            Self::Advice | Self::Warning | Self::Error => true,
        }
    }
}
