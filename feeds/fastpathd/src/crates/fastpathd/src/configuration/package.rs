// SPDX-License-Identifier: GPL-2.0-or-later
//! `/etc/config/fastpath` as a whole.

use config::{Package, Problem, SettingsError};
use serde_json::Value;

/// All sections, each checked by the crate it belongs to.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Configuration {
    pub(crate) main: ruleset::Settings,
    pub(crate) ips: ips::Settings,
    pub(crate) cpu: cpu::Settings,
    pub(crate) rules: rules::Settings,
}

impl Configuration {
    /// Reads `values` of `fastpath.config get` of `fastpath`. Warnings come with it: what was
    /// ignored.
    pub(crate) fn read(values: &Value) -> Result<(Self, Vec<Problem>), SettingsError> {
        let mut package = Package::new(values)?;
        let configuration = Self {
            main: ruleset::Settings::read(&mut package),
            ips: ips::Settings::read(&mut package),
            cpu: cpu::Settings::read(&mut package),
            rules: rules::Settings::read(&mut package),
        };
        let warnings = package.finish()?;
        if configuration.ips.enabled && configuration.ips.mode == ips::Mode::Nfq {
            let one = |problem| SettingsError { problems: vec![problem] };
            configuration.main.marks().map_err(one)?;
        }
        Ok((configuration, warnings))
    }
}
