// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads sections `rules` and `update` of `/etc/config/fastpath`, and creates the update request.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use config::{Fault, Package, Section, number_in, switch};

use crate::request::{Builtin, OWN, Request, SourceRequest};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hour {
    Manual,
    /// Hour of local time, 0 to 23.
    Daily(u8),
}

/// Selection of fastpath's own rules: section `rules` named `fastpath`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OwnRules {
    /// See [`SourceRequest::disable`].
    pub disable: Vec<String>,
    /// See [`SourceRequest::drop`].
    pub drop: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Enabled sources, in the order of the file.
    pub sources: Vec<SourceRequest>,
    pub off: Vec<SourceRequest>,
    /// `None` if disabled.
    pub own: Option<OwnRules>,
    pub hour: Hour,
    pub store: PathBuf,
    /// Maximum size of each source in MiB, for the download and unpacked.
    pub limit_mib: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            sources: Vec::new(),
            off: Vec::new(),
            own: Some(OwnRules::default()),
            hour: Hour::Daily(4),
            store: PathBuf::from("/var/lib/fastpath/rules"),
            limit_mib: 256,
        }
    }
}

impl Settings {
    /// Reads the sections from a package, which collects the problems.
    #[must_use]
    pub fn read(package: &mut Package<'_>) -> Self {
        let mut settings = Self::default();
        let mut names = BTreeSet::new();
        for mut section in package.take("rules") {
            if names.insert(section.name().to_owned()) {
                settings.read_source(&mut section);
            } else {
                section.error("", "", Fault::SourceTwice);
            }
            package.close(section);
        }
        if let Some(mut section) = package.take_one("update") {
            settings.read_update(&mut section);
            package.close(section);
        }
        settings
    }

    fn read_source(&mut self, section: &mut Section<'_>) {
        let enabled = section.value("enabled", switch).unwrap_or(true);
        let owned = |list: Vec<&str>| list.into_iter().map(str::to_owned).collect();
        let text = |text: Option<&str>| text.map(str::to_owned);
        let source = SourceRequest {
            name: section.name().to_owned(),
            url: section.text("url").unwrap_or_default().to_owned(),
            sha256: text(section.text("sha256")),
            sha256_url: text(section.text("sha256_url")),
            signature_url: text(section.text("signature_url")),
            key: text(section.text("key")),
            unverified: section.value("unverified", switch).unwrap_or(false),
            categories: owned(section.list("category")),
            disable: owned(section.list("disable")),
            drop: owned(section.list("drop")),
        };
        let own = source.name == OWN;
        let checked = if own { source.check_choices() } else { source.check() };
        if let Err((field, fault)) = checked {
            let option = if field == "categories" { "category" } else { field };
            // The fault's text names the list entry.
            let list = matches!(field, "categories" | "disable" | "drop");
            let value = if list { "" } else { section.text(field).unwrap_or_default() };
            section.error(option, value, fault);
        }
        if own {
            let SourceRequest { disable, drop, .. } = source;
            self.own = enabled.then_some(OwnRules { disable, drop });
        } else if enabled {
            self.sources.push(source);
        } else {
            self.off.push(source);
        }
    }

    fn read_update(&mut self, section: &mut Section<'_>) {
        let enabled = section.value("enabled", switch).unwrap_or(true);
        if let Some(hour) = section.value("hour", hour) {
            self.hour = hour;
        }
        if !enabled {
            self.hour = Hour::Manual;
        }
        if let Some(store) = section.value("store", folder) {
            self.store = store;
        }
        if let Some(limit) = section.value("limit_mib", number_in(1..=4096)) {
            self.limit_mib = limit;
        }
    }

    /// Creates the request of `fastpath-rules update`. For `test`, see [`Request::test`]. Without
    /// `download`, only the selection is applied.
    #[must_use]
    pub fn request(&self, own_rules: &Path, test: Vec<String>, download: bool) -> Request {
        let own = |own: &OwnRules| Builtin {
            path: own_rules.to_owned(),
            disable: own.disable.clone(),
            drop: own.drop.clone(),
        };
        Request {
            sources: self.sources.clone(),
            builtin: self.own.as_ref().map(own),
            store: self.store.clone(),
            limit_bytes: u64::from(self.limit_mib) * 1024 * 1024,
            test,
            test_seconds: 300,
            download_seconds: 300,
            download,
        }
    }
}

fn hour(text: &str) -> Result<Hour, Fault> {
    let hour = text.parse::<i8>().ok().filter(|hour| (-1..=23).contains(hour));
    let hour = hour.ok_or(Fault::UpdateHour)?;
    Ok(u8::try_from(hour).map_or(Hour::Manual, Hour::Daily))
}

fn folder(text: &str) -> Result<PathBuf, Fault> {
    let path = Path::new(text);
    let plain = path.components().all(|part| !matches!(part, std::path::Component::ParentDir));
    if !path.is_absolute() || !plain || text.chars().any(char::is_control) {
        return Err(Fault::NotFolder);
    }
    Ok(path.to_owned())
}

#[cfg(test)]
mod tests;
