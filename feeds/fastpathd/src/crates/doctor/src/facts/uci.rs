// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads the committed configuration from rpcd, or from the files if ubus is not available.

use std::collections::BTreeSet;

use config::UciError;
use config::exposure::services;
use plugin::{SESSION, UciSession};
use serde_json::{Map, Value, json};
use uci::Package;

use super::{Known, Unknown, file, folder};
use crate::machine::Machine;

#[derive(Debug, Default)]
pub(crate) struct Configuration {
    pub network: Known<Package>,
    pub firewall: Known<Package>,
    pub fastpath: Known<Package>,
    pub system: Known<Package>,
    pub services: BTreeSet<u16>,
    /// Files that libuci cannot parse, with their first errors.
    pub broken: Known<Vec<(String, UciError)>>,
}

const FOLDER: &str = "/etc/config";

const FILES: [&str; 4] = ["network", "firewall", "fastpath", "system"];

/// Reads all files. Prefers rpcd, whose names of anonymous sections are valid in edits.
pub(crate) fn read(machine: &dyn Machine) -> Configuration {
    let session = Session::open(machine);
    let [network, firewall, fastpath, system] =
        FILES.map(|name| match session.as_ref().and_then(|session| session.values(name)) {
            Some(values) => Package::read(&values).into(),
            None => Known(package(machine, &format!("/etc/config/{name}"))),
        });
    if let Some(session) = session {
        session.close();
    }
    let services = services(|name| package(machine, &format!("/etc/config/{name}")).ok());
    let broken = broken(machine);
    Configuration { network, firewall, fastpath, system, services, broken }
}

/// Returns broken files. Files with invalid names are skipped, like in libuci.
fn broken(machine: &dyn Machine) -> Known<Vec<(String, UciError)>> {
    let names = folder(machine, FOLDER).map(|names| {
        let error = |name: String| {
            let text = machine.read(&format!("{FOLDER}/{name}")).ok()?;
            Some((name, uci::parse(&text).err()?))
        };
        names.into_iter().filter(|name| uci::is_package(name)).filter_map(error).collect()
    });
    Known(names)
}

/// Returns the values of `/etc/config/fastpath`. `None` if the file cannot be read.
pub(crate) fn fastpath(machine: &dyn Machine) -> Option<Value> {
    let session = Session::open(machine);
    let values = session.as_ref().and_then(|session| session.values("fastpath"));
    if let Some(session) = session {
        session.close();
    }
    let of_file = || uci::parse(&file(machine, "/etc/config/fastpath").ok()?).ok();
    values.map(Value::Object).or_else(|| of_file().map(|package| package.values()))
}

/// A session with rights to read [`FILES`]. Without a session, rpcd's `uci get` includes
/// uncommitted changes of a shell (`uci set`, in `/tmp/.uci`).
struct Session<'a> {
    machine: &'a dyn Machine,
    id: Value,
}

impl<'a> Session<'a> {
    fn open(machine: &'a dyn Machine) -> Option<Self> {
        let timeout = Map::from_iter([("timeout".to_owned(), UciSession::BRIEF.into())]);
        let id = machine.call("session", "create", &timeout).ok()?.remove(SESSION)?;
        let session = Self { machine, id };
        let rights = FILES.map(|name| json!([name, "read"]));
        let grant = [("scope", json!("uci")), ("objects", json!(rights))];
        if session.call("session", "grant", grant).is_err() {
            session.close();
            return None;
        }
        Some(session)
    }

    fn values(&self, config: &str) -> Option<Map<String, Value>> {
        match self.call("uci", "get", [("config", json!(config))]).ok()?.remove("values") {
            Some(Value::Object(values)) => Some(values),
            _ => None,
        }
    }

    fn close(self) {
        // An unclosed session expires.
        let _ = self.call("session", "destroy", []);
    }

    fn call<const N: usize>(
        &self,
        object: &str,
        method: &str,
        args: [(&str, Value); N],
    ) -> Result<Map<String, Value>, String> {
        let mut all: Map<String, Value> =
            args.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        all.insert(SESSION.to_owned(), self.id.clone());
        self.machine.call(object, method, &all)
    }
}

pub(crate) fn package(machine: &dyn Machine, path: &str) -> Result<Package, Unknown> {
    let text = file(machine, path)?;
    uci::parse(&text).map_err(|error| Unknown(format!("{path}, {error}")))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::read;
    use crate::machine::fake::Fake;

    /// Returns a router whose rpcd creates sessions and answers `uci get`.
    fn rpcd(values: Value) -> Fake {
        Fake::new()
            .answers("session create", json!({"ubus_rpc_session": "ours"}))
            .answers("session grant", json!({}))
            .answers("session destroy", json!({}))
            .answers("uci get", values)
    }

    #[test]
    fn reads_only_committed_values() {
        let fake = rpcd(json!({"values": {}}));
        let _ = read(&fake);
        let done = fake.done();
        let of = |part: &str| done.iter().filter(|line| line.contains(part)).collect::<Vec<_>>();
        let gets = of("call uci get");
        assert_eq!(gets.len(), 4, "{done:?}");
        // A call without a session would include uncommitted changes.
        assert!(gets.iter().all(|line| line.contains(r#""ubus_rpc_session":"ours""#)), "{done:?}");
        let rights = r#""objects":[["network","read"],["firewall","read"],["fastpath","read"],["#;
        assert!(of("call session grant")[0].contains(rights), "{done:?}");
        assert!(done.last().unwrap().starts_with("call session destroy"), "{done:?}");
    }

    #[test]
    fn reads_the_files_without_a_session() {
        let staged = json!({"values": {"x": {".type": "device", ".index": 0, "gro": "0"}}});
        let fake = Fake::new()
            .answers("uci get", staged)
            .file("/etc/config/network", "config device 'x'\n option gro '1'\n");
        let found = read(&fake).network;
        assert!(found.get().unwrap().of("device").next().unwrap().is_on("gro", false));
        assert!(!fake.done().iter().any(|line| line.contains("uci get")), "{:?}", fake.done());
    }

    #[test]
    fn uses_the_names_of_anonymous_sections_on_the_bus() {
        let values = json!({"values": {
            "cfg02": {".type": "zone", ".index": 1, "name": "wan", "network": ["wan", "wan6"]},
            "cfg01": {".type": "zone", ".index": 0, "name": "lan", "network": "lan"},
        }});
        let found = read(&rpcd(values)).firewall;
        let package = found.get().unwrap();
        let names: Vec<_> = package.of("zone").map(|zone| zone.name.as_str()).collect();
        assert_eq!(names, ["cfg01", "cfg02"]);
        let wan = package.find("zone", "name", "wan").unwrap();
        assert_eq!(wan.words("network"), ["wan", "wan6"]);
        assert!(wan.is_on("mtu_fix", true) && !wan.is_on("mtu_fix", false));
    }

    #[test]
    fn reads_the_files_without_a_bus() {
        let fake = Fake::new().file("/etc/config/network", "config device 'x'\n option gro '1'\n");
        let found = read(&fake);
        assert!(found.network.get().unwrap().of("device").next().unwrap().is_on("gro", false));
        assert!(found.firewall.get().unwrap_err().to_string().contains("/etc/config/firewall"));
    }
}
