// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads sections `export` of `/etc/config/fastpath`. A misspelt option is an error: the collector
//! would silently get other data than the administrator expects.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use config::{Fault, Package, Section};
use ips::EventKind;

/// Kind that only earlier versions support.
const REDIS: &str = "redis";

config::named! {
    /// Kind of exported data, with its protocol.
    #[derive(Default)]
    pub enum ExportKind from text {
        #[default]
        Ipfix = "ipfix",
        /// Events of Suricata in the format of RFC 5424.
        Syslog = "syslog",
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settings {
    Flows(ipfix::Settings),
    Events(logs::Settings),
}

impl Settings {
    /// Reads the sections. The package collects their problems.
    pub fn read(package: &mut Package<'_>) -> Vec<Self> {
        let mut found = Vec::new();
        let mut names = BTreeSet::new();
        for mut section in package.take("export") {
            let settings = Self::of(&mut section);
            if let Some(settings) = &settings
                && !names.insert(settings.name().to_owned())
            {
                section.error("name", settings.name(), Fault::Duplicate);
            }
            package.close(section);
            found.extend(settings);
        }
        found
    }

    /// Reads a section. Returns `None` for an unknown or removed kind, whose options cannot be
    /// checked.
    fn of(section: &mut Section<'_>) -> Option<Self> {
        let kind = section.value("kind", |text| match text {
            REDIS => Ok(None),
            kind => kind.parse().map(Some),
        });
        if !section.is_good() {
            return None;
        }
        let Some(kind) = kind.unwrap_or(Some(ExportKind::default())) else {
            section.leave_out("kind", REDIS, Fault::RedisRemoved);
            return None;
        };
        let settings = match kind {
            ExportKind::Ipfix => Self::Flows(ipfix::Settings::of(section)),
            ExportKind::Syslog => Self::Events(logs::Settings::of(section)),
        };
        section.refuse_left_over();
        Some(settings)
    }

    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Flows(ipfix::Settings { name, .. })
            | Self::Events(logs::Settings { name, .. }) => name,
        }
    }

    #[must_use]
    pub fn is_enabled(&self) -> bool {
        match self {
            Self::Flows(ipfix::Settings { enabled, .. })
            | Self::Events(logs::Settings { enabled, .. }) => *enabled,
        }
    }

    #[must_use]
    pub fn collector(&self) -> SocketAddr {
        match self {
            Self::Flows(ipfix::Settings { collector, .. })
            | Self::Events(logs::Settings { collector, .. }) => *collector,
        }
    }

    #[must_use]
    pub fn interface(&self) -> Option<&str> {
        match self {
            Self::Flows(ipfix::Settings { interface, .. })
            | Self::Events(logs::Settings { interface, .. }) => interface.as_deref(),
        }
    }

    #[must_use]
    pub fn kind(&self) -> ExportKind {
        match self {
            Self::Flows(_) => ExportKind::Ipfix,
            Self::Events(_) => ExportKind::Syslog,
        }
    }

    #[must_use]
    pub fn protocol(&self) -> ipfix::Protocol {
        match self {
            Self::Flows(settings) => settings.protocol,
            Self::Events(_) => ipfix::Protocol::Tcp,
        }
    }

    #[must_use]
    pub fn flow_settings(&self) -> Option<&ipfix::Settings> {
        match self {
            Self::Flows(settings) => Some(settings),
            Self::Events(_) => None,
        }
    }

    #[must_use]
    pub fn events(&self) -> &[EventKind] {
        match self {
            Self::Flows(_) => &[],
            Self::Events(settings) => &settings.events,
        }
    }

    #[must_use]
    pub fn takes(&self, kind: EventKind) -> bool {
        self.events().contains(&kind)
    }
}
