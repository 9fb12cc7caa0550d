// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads the tables of nftables and of legacy iptables.

use serde_json::Value;

use super::Known;
use crate::machine::Machine;

pub(crate) const SOURCE: &str = "nft -j list ruleset";

#[derive(Debug, Default)]
pub(crate) struct Rules {
    pub nft: Known<Vec<Value>>,
    /// Tables of legacy iptables. Tables of iptables-nft are in `nft`.
    pub legacy: Vec<Legacy>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Legacy {
    pub family: &'static str,
    pub name: String,
    /// Number of rules. `None` if iptables-legacy-save is not installed.
    pub rules: Option<u64>,
    pub source: &'static str,
}

/// Family, file of table names, and program that lists rules.
const LEGACY: [(&str, &str, &str); 2] = [
    ("ip", "/proc/net/ip_tables_names", "iptables-legacy-save"),
    ("ip6", "/proc/net/ip6_tables_names", "ip6tables-legacy-save"),
];

impl Rules {
    /// Returns the objects of a kind such as `chain`.
    pub(crate) fn of(&self, kind: &str) -> Result<Vec<&Value>, super::Unknown> {
        Ok(self.nft.get()?.iter().filter_map(|object| object.get(kind)).collect())
    }
}

pub(crate) fn read(machine: &dyn Machine) -> Rules {
    let listed = machine.run("nft", &["-j", "list", "ruleset"]).and_then(|text| {
        let value: Value = serde_json::from_slice(text.as_bytes()).map_err(|error| {
            format!("{SOURCE} does not print JSON: {error}; is nftables-json installed?")
        })?;
        match value.get("nftables") {
            Some(Value::Array(objects)) => Ok(objects.clone()),
            _ => Err(format!("the output of {SOURCE} lacks 'nftables'")),
        }
    });
    Rules { nft: Known::new(listed), legacy: legacy(machine) }
}

fn legacy(machine: &dyn Machine) -> Vec<Legacy> {
    let mut found = Vec::new();
    for (family, source, program) in LEGACY {
        let names = machine.read(source).unwrap_or_default();
        for name in names.lines() {
            let rules = machine
                .run(program, &["-t", name])
                .ok()
                .map(|text| text.lines().filter(|line| line.starts_with("-A ")).count() as u64);
            found.push(Legacy { family, name: name.to_owned(), rules, source });
        }
    }
    found
}
