// SPDX-License-Identifier: GPL-2.0-or-later
//! The configuration as UCI has it.

use config::parse_uci;
use serde_json::{Map, Value};

use super::{Known, Unknown};
use crate::machine::Machine;

/// The files that checks look at.
#[derive(Debug, Default)]
pub struct Configuration {
    /// `/etc/config/network`.
    pub network: Known<Package>,
    /// `/etc/config/firewall`.
    pub firewall: Known<Package>,
    /// `/etc/config/fastpath`.
    pub fastpath: Known<Package>,
    /// `/etc/config/system`.
    pub system: Known<Package>,
}

/// One file: sections by name, as `uci get` answers them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Package(Map<String, Value>);

/// One section.
#[derive(Debug, Clone, Copy)]
pub struct Section<'a> {
    /// Its name; of an anonymous one what UCI calls it.
    pub name: &'a str,
    options: &'a Map<String, Value>,
}

impl Package {
    /// From `values` of `uci get`.
    #[must_use]
    pub fn new(values: Map<String, Value>) -> Self {
        Self(values)
    }

    /// As `uci get` answers it.
    #[must_use]
    pub fn values(&self) -> Value {
        Value::Object(self.0.clone())
    }

    /// The sections of one type, in the file's order.
    #[must_use]
    pub fn of(&self, kind: &str) -> Vec<Section<'_>> {
        let mut found: Vec<_> = self
            .0
            .iter()
            .filter_map(|(name, section)| Some(Section { name, options: section.as_object()? }))
            .filter(|section| section.text(".type") == Some(kind))
            .collect();
        found.sort_by_key(|section| section.options.get(".index").and_then(Value::as_u64));
        found
    }

    /// The first section of a type whose option has this value.
    #[must_use]
    pub fn find(&self, kind: &str, option: &str, value: &str) -> Option<Section<'_>> {
        self.of(kind).into_iter().find(|section| section.text(option) == Some(value))
    }
}

impl<'a> Section<'a> {
    /// An option's text; none for a list.
    #[must_use]
    pub fn text(&self, option: &str) -> Option<&'a str> {
        self.options.get(option)?.as_str()
    }

    /// A list; an option counts as the words of its text, as UCI's users have it.
    #[must_use]
    pub fn list(&self, option: &str) -> Vec<&'a str> {
        match self.options.get(option) {
            Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).collect(),
            Some(Value::String(text)) => text.split_ascii_whitespace().collect(),
            _ => Vec::new(),
        }
    }

    /// A switch: `1`, `on`, `true`, `yes`, `enabled` are on; `absent` where there is none.
    #[must_use]
    pub fn switch(&self, option: &str, absent: bool) -> bool {
        self.text(option)
            .map_or(absent, |text| matches!(text, "1" | "on" | "true" | "yes" | "enabled"))
    }
}

/// Reads all of them.
#[must_use]
pub fn read(machine: &dyn Machine) -> Configuration {
    Configuration {
        network: package(machine, "network"),
        firewall: package(machine, "firewall"),
        fastpath: package(machine, "fastpath"),
        system: package(machine, "system"),
    }
}

/// Over ubus, so that anonymous sections have the names that edits use; without a bus the file.
fn package(machine: &dyn Machine, name: &str) -> Known<Package> {
    let mut args = Map::new();
    args.insert("config".into(), name.into());
    if let Ok(mut answer) = machine.call("uci", "get", &args)
        && let Some(Value::Object(values)) = answer.remove("values")
    {
        return Package(values).into();
    }
    Known(file(machine, name))
}

fn file(machine: &dyn Machine, name: &str) -> Result<Package, Unknown> {
    let path = format!("/etc/config/{name}");
    let text = machine.read(&path).map_err(|error| Unknown(format!("reading {path}: {error}")))?;
    match parse_uci(&text) {
        Ok(Value::Object(values)) => Ok(Package(values)),
        Ok(_) => Ok(Package::default()),
        Err(error) => Err(Unknown(format!("{path}, {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::read;
    use crate::machine::fake::Fake;

    #[test]
    fn the_bus_names_anonymous_sections() {
        let values = json!({"values": {
            "cfg02": {".type": "zone", ".index": 1, "name": "wan", "network": ["wan", "wan6"]},
            "cfg01": {".type": "zone", ".index": 0, "name": "lan", "network": "lan"},
        }});
        let found = read(&Fake::new().answers("uci get", values)).firewall;
        let package = found.get().unwrap();
        let names: Vec<_> = package.of("zone").iter().map(|zone| zone.name).collect();
        assert_eq!(names, ["cfg01", "cfg02"]);
        let wan = package.find("zone", "name", "wan").unwrap();
        assert_eq!(wan.list("network"), ["wan", "wan6"]);
        assert!(wan.switch("mtu_fix", true) && !wan.switch("mtu_fix", false));
    }

    #[test]
    fn without_a_bus_files_are_read() {
        let fake = Fake::new().file("/etc/config/network", "config device 'x'\n option gro '1'\n");
        let found = read(&fake);
        assert!(found.network.get().unwrap().of("device")[0].switch("gro", false));
        assert!(found.firewall.get().unwrap_err().to_string().contains("/etc/config/firewall"));
    }
}
