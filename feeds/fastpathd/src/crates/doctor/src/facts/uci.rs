// SPDX-License-Identifier: GPL-2.0-or-later
//! The configuration as UCI has it.

use serde_json::{Map, Value};
use uci::Package;

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
        return Package::read(&values).into();
    }
    Known(file(machine, name))
}

fn file(machine: &dyn Machine, name: &str) -> Result<Package, Unknown> {
    let path = format!("/etc/config/{name}");
    let text = machine.read(&path).map_err(|error| Unknown(format!("reading {path}: {error}")))?;
    uci::parse(&text).map_err(|error| Unknown(format!("{path}, {error}")))
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
        let names: Vec<_> = package.of("zone").map(|zone| zone.name.as_str()).collect();
        assert_eq!(names, ["cfg01", "cfg02"]);
        let wan = package.find("zone", "name", "wan").unwrap();
        assert_eq!(wan.words("network"), ["wan", "wan6"]);
        assert!(wan.is_on("mtu_fix", true) && !wan.is_on("mtu_fix", false));
    }

    #[test]
    fn without_a_bus_files_are_read() {
        let fake = Fake::new().file("/etc/config/network", "config device 'x'\n option gro '1'\n");
        let found = read(&fake);
        assert!(found.network.get().unwrap().of("device").next().unwrap().is_on("gro", false));
        assert!(found.firewall.get().unwrap_err().to_string().contains("/etc/config/firewall"));
    }
}
