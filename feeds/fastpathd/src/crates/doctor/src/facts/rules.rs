// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads all tables of nftables, and the tables of legacy iptables.

use serde_json::Value;

use super::Known;
use crate::machine::Machine;

/// Command that lists the rules.
pub(crate) const SOURCE: &str = "nft -j list ruleset";

#[derive(Debug, Default)]
pub(crate) struct Rules {
    /// Objects of `nft -j list ruleset` in order: tables, chains, rules, flowtables and so on.
    pub nft: Known<Vec<Value>>,
    /// Tables of legacy iptables; tables of iptables-nft are among the nftables objects.
    pub legacy: Vec<Legacy>,
}

/// A table of legacy iptables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Legacy {
    /// `ip` or `ip6`.
    pub family: &'static str,
    pub name: String,
    /// Number of rules, if a program that lists them is installed.
    pub rules: Option<u64>,
    /// File in which the kernel lists the table.
    pub source: &'static str,
}

/// Family, the file with the names of its tables, the program that lists their rules.
const LEGACY: [(&str, &str, &str); 2] = [
    ("ip", "/proc/net/ip_tables_names", "iptables-legacy-save"),
    ("ip6", "/proc/net/ip6_tables_names", "ip6tables-legacy-save"),
];

impl Rules {
    /// Returns the objects of one kind, such as `chain`.
    pub(crate) fn of(&self, kind: &str) -> Result<Vec<&Value>, super::Unknown> {
        Ok(self.nft.get()?.iter().filter_map(|object| object.get(kind)).collect())
    }
}

pub(crate) fn read(machine: &dyn Machine) -> Rules {
    let listed = machine.run("nft", &["-j", "list", "ruleset"]).and_then(|text| {
        let value: Value = serde_json::from_str(&text).map_err(|error| {
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
