// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads all tables of nftables, and those of legacy iptables with the number of their rules.

use serde_json::Value;

use super::Known;
use crate::machine::Machine;

/// Where the rules are read.
pub(crate) const SOURCE: &str = "nft -j list ruleset";

/// The kernel's packet filter rules.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    /// The objects of `nft -j list ruleset`: tables, chains, rules, flowtables, … in their order.
    pub nft: Known<Vec<Value>>,
    /// Tables of iptables' own kind; those of iptables-nft are among nft's.
    pub legacy: Vec<Legacy>,
}

/// A table of iptables' own kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Legacy {
    /// `ip` or `ip6`.
    pub family: &'static str,
    /// Its name.
    pub name: String,
    /// Its rules, if a program is installed that lists them.
    pub rules: Option<u64>,
    /// Where the kernel names it.
    pub source: &'static str,
}

/// Family, the file with the names of its tables, the program that lists their rules.
const LEGACY: [(&str, &str, &str); 2] = [
    ("ip", "/proc/net/ip_tables_names", "iptables-legacy-save"),
    ("ip6", "/proc/net/ip6_tables_names", "ip6tables-legacy-save"),
];

impl Rules {
    /// The objects of one kind, `chain` for example.
    pub(crate) fn of(&self, kind: &str) -> Result<Vec<&Value>, super::Unknown> {
        Ok(self.nft.get()?.iter().filter_map(|object| object.get(kind)).collect())
    }
}

/// Reads them.
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
