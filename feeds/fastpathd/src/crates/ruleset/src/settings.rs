// SPDX-License-Identifier: GPL-2.0-or-later
//! What the owner wants, checked.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde_json::{Map, Value};
use thiserror::Error;

use crate::exclude::{Exclude, number, switch};
use crate::section::{Problem, Section};

/// What takes established flows off the slow path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Engine {
    /// Nothing.
    Off,
    /// The kernel's software flowtable.
    #[default]
    Flowtable,
    /// The flowtable in hardware, where the drivers can.
    FlowtableHw,
}

impl Engine {
    /// The name in the configuration and in the API.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Flowtable => "flowtable",
            Self::FlowtableHw => "flowtable-hw",
        }
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Engine {
    /// What is wrong, to be read after the value.
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "off" => Ok(Self::Off),
            "flowtable" => Ok(Self::Flowtable),
            "flowtable-hw" => Ok(Self::FlowtableHw),
            _ => Err("is no engine; known are off, flowtable, flowtable-hw".to_owned()),
        }
    }
}

/// What happens to the table when the daemon ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum OnExit {
    /// It stays: the kernel goes on offloading.
    #[default]
    Keep,
    /// It is removed.
    Remove,
}

/// `/etc/config/fastpath`, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Off means engine [`Engine::Off`], whatever `engine` says.
    pub enabled: bool,
    /// Engine asked for.
    pub engine: Engine,
    /// What SIGTERM does with the table.
    pub on_exit: OnExit,
    /// Bits of the packet mark that are ours.
    pub mark_mask: u32,
    /// Shortest time between counter refreshes.
    pub refresh: Duration,
    /// Only these lowest devices; empty: found by itself.
    pub devices: BTreeSet<String>,
    /// Never these.
    pub ignore_devices: BTreeSet<String>,
    /// Flows that stay on the slow path.
    pub excludes: Vec<Exclude>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            enabled: true,
            engine: Engine::default(),
            on_exit: OnExit::default(),
            mark_mask: 0x6000_0000,
            refresh: Duration::from_secs(1),
            devices: BTreeSet::new(),
            ignore_devices: BTreeSet::new(),
            excludes: Vec::new(),
        }
    }
}

/// The configuration cannot be used; all problems at once, one a line.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}", .problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct SettingsError {
    /// What is wrong, in the order of the file.
    pub problems: Vec<Problem>,
}

impl Settings {
    /// Checks the `values` of `ubus call uci get {"config":"fastpath"}` (or of
    /// [`crate::parse_uci`]). Beside the settings come warnings: what was ignored.
    ///
    /// # Errors
    /// At least one value cannot be used.
    pub fn from_uci(values: &Value) -> Result<(Self, Vec<Problem>), SettingsError> {
        let mut settings = Self::default();
        let mut errors = Vec::new();
        let mut warnings = Vec::new();
        let mut main = false;
        for (label, kind, options) in sections(values)? {
            let mut section = Section::new(label, options);
            match kind {
                "fastpath" if !main => {
                    main = true;
                    settings.read_main(&mut section);
                }
                "exclude" => settings.excludes.extend(Exclude::read(&mut section)),
                "fastpath" => {
                    warnings.push(section.problem("", "", "is a second one of its type: ignored"));
                    continue;
                }
                _ => {
                    warnings.push(section.problem("", "", "has an unknown type and is ignored"));
                    continue;
                }
            }
            warnings.extend(section.left_over());
            errors.append(&mut section.errors);
        }
        if errors.is_empty() {
            Ok((settings, warnings))
        } else {
            Err(SettingsError { problems: errors })
        }
    }

    fn read_main(&mut self, section: &mut Section<'_>) {
        if let Some(enabled) = section.value("enabled", switch) {
            self.enabled = enabled;
        }
        if let Some(engine) = section.value("engine", Engine::from_str) {
            self.engine = engine;
        }
        if let Some(on_exit) = section.value("on_exit", on_exit) {
            self.on_exit = on_exit;
        }
        if let Some(mask) = section.value("mark_mask", mask) {
            self.mark_mask = mask;
        }
        if let Some(seconds) = section.value("refresh", refresh) {
            self.refresh = Duration::from_secs(seconds.into());
        }
        self.devices = device_list(section, "device");
        self.ignore_devices = device_list(section, "ignore_device");
    }

    /// The engine that these settings ask for, the switch considered.
    #[must_use]
    pub fn wanted(&self) -> Engine {
        if self.enabled { self.engine } else { Engine::Off }
    }
}

/// The sections in the order of the file: what to call each, its type, its options.
#[expect(clippy::type_complexity, reason = "the three only travel from here to the one caller")]
fn sections(values: &Value) -> Result<Vec<(String, &str, &Map<String, Value>)>, SettingsError> {
    let fail = |section: &str, what: &str| SettingsError {
        problems: vec![Problem {
            section: section.to_owned(),
            option: String::new(),
            value: String::new(),
            what: what.to_owned(),
        }],
    };
    let all = values.as_object().ok_or_else(|| fail("", "there are no sections at all"))?;
    let mut found = Vec::new();
    for (name, section) in all {
        let options = section.as_object().ok_or_else(|| fail(name, "is no section"))?;
        let kind = options.get(".type").and_then(Value::as_str);
        let kind = kind.ok_or_else(|| fail(name, "has no type"))?;
        found.push((name, kind, options));
    }
    // The object may have lost the order.
    found.sort_by_key(|(_, _, options)| options.get(".index").and_then(Value::as_u64));
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    let named = found.into_iter().map(|(name, kind, options)| {
        let place = places.entry(kind).or_default();
        let anonymous = options.get(".anonymous").and_then(Value::as_bool).unwrap_or(false);
        let label = if anonymous { format!("@{kind}[{place}]") } else { name.clone() };
        *place += 1;
        (label, kind, options)
    });
    Ok(named.collect())
}

fn device_list(section: &mut Section<'_>, option: &'static str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for name in section.list(option) {
        if is_device_name(name) {
            names.insert(name.to_owned());
        } else {
            section.error(option, name, "is no name of a device");
        }
    }
    names
}

/// Names that the kernel takes and that mean only themselves in nft's language.
pub(crate) fn is_device_name(name: &str) -> bool {
    const LONGEST: usize = 15; // IFNAMSIZ with its final NUL is 16.
    (1..=LONGEST).contains(&name.len())
        && name != "."
        && name != ".."
        && name.bytes().all(|c| c.is_ascii_alphanumeric() || b"._-@+~".contains(&c))
}

fn on_exit(text: &str) -> Result<OnExit, String> {
    match text {
        "keep" => Ok(OnExit::Keep),
        "remove" => Ok(OnExit::Remove),
        _ => Err("is neither keep nor remove".to_owned()),
    }
}

fn mask(text: &str) -> Result<u32, String> {
    let mask = match text.strip_prefix("0x") {
        Some(hex) if !hex.is_empty() && hex.bytes().all(|c| c.is_ascii_hexdigit()) => {
            u32::from_str_radix(hex, 16).map_err(|_| "has more than 32 bits".to_owned())
        }
        Some(_) => Err("is no number".to_owned()),
        None => number(text),
    }?;
    if mask == 0 { Err("has no bit that could be ours".to_owned()) } else { Ok(mask) }
}

fn refresh(text: &str) -> Result<u32, String> {
    number(text)
        .ok()
        .filter(|seconds| (1..=3600).contains(seconds))
        .ok_or("is not a number of seconds from 1 to 3600".to_owned())
}

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;
