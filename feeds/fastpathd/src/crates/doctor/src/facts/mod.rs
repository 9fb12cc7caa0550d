// SPDX-License-Identifier: GPL-2.0-or-later
//! Facts about the router, one struct per area. A value that may be unreadable is a [`Known`].

use std::time::Duration;

use serde_json::Value;
use thiserror::Error;

use crate::audience::Audience;
use crate::machine::Machine;

pub(crate) mod access;
pub(crate) mod bridges;
pub(crate) mod conntrack;
pub(crate) mod cpu;
pub(crate) mod flowtable;
pub(crate) mod ips;
pub(crate) mod kernel;
pub(crate) mod others;
pub(crate) mod ports;
pub(crate) mod ppe;
pub(crate) mod pppoe;
pub(crate) mod reach;
pub(crate) mod rules;
pub(crate) mod sockets;
pub(crate) mod system;
pub(crate) mod tunnels;
pub(crate) mod uci;
pub(crate) mod walk;

/// Reason why a fact is unknown, as a sentence.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub(crate) struct Unknown(pub String);

/// A value, or the reason why it could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Known<T>(Result<T, Unknown>);

impl<T> Known<T> {
    pub(crate) fn new<E: ToString>(read: Result<T, E>) -> Self {
        Self(read.map_err(|error| Unknown(error.to_string())))
    }

    pub(crate) fn get(&self) -> Result<&T, Unknown> {
        self.0.as_ref().map_err(Clone::clone)
    }
}

impl Known<Value> {
    /// Returns a field of an answer, by a path such as `rules.state`.
    pub(crate) fn at(&self, path: &str) -> Result<&Value, Unknown> {
        Ok(path.split('.').fold(self.get()?, |value, name| &value[name]))
    }
}

impl<T> From<T> for Known<T> {
    fn from(value: T) -> Self {
        Self(Ok(value))
    }
}

impl<T> Default for Known<T> {
    fn default() -> Self {
        Self(Err(Unknown("it was not read".into())))
    }
}

pub(crate) fn file(machine: &dyn Machine, path: &str) -> Result<String, Unknown> {
    machine.read(path).map_err(|error| Unknown(format!("reading {path}: {error}")))
}

pub(crate) fn folder(machine: &dyn Machine, path: &str) -> Result<Vec<String>, Unknown> {
    machine.list(path).map_err(|error| Unknown(format!("listing {path}: {error}")))
}

pub(crate) fn exists(machine: &dyn Machine, path: &str) -> bool {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    machine.list(folder).is_ok_and(|names| names.iter().any(|found| found == name))
}

pub(crate) fn processes(machine: &dyn Machine) -> impl Iterator<Item = String> {
    let names = machine.list("/proc").unwrap_or_default().into_iter();
    names.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Reads a file without surrounding white space.
pub(crate) fn text(machine: &dyn Machine, path: &str) -> Known<String> {
    Known(file(machine, path).map(|text| text.trim().to_owned()))
}

pub(crate) fn number(machine: &dyn Machine, path: &str) -> Known<u64> {
    Known(text(machine, path).0.and_then(|text| {
        text.parse().map_err(|_| Unknown(format!("{path} has '{text}' where a number is expected")))
    }))
}

pub(crate) fn answer(
    machine: &dyn Machine,
    object: &str,
    method: &str,
    args: &Value,
) -> Known<Value> {
    let args = args.as_object().cloned().unwrap_or_default();
    Known::new(machine.call(object, method, &args).map(Value::Object))
}

/// Returns a text of an answer. Empty if missing.
pub(crate) fn word<'a>(answer: &'a Value, key: &str) -> &'a str {
    answer[key].as_str().unwrap_or_default()
}

/// Returns a list of an answer. Empty if missing.
pub(crate) fn list<'a>(answer: &'a Value, key: &str) -> &'a [Value] {
    answer[key].as_array().map(Vec::as_slice).unwrap_or_default()
}

#[derive(Debug, Default)]
pub(crate) struct Facts {
    pub rules: rules::Rules,
    pub flowtable: flowtable::Flowtable,
    pub ports: ports::Ports,
    pub ppe: ppe::Ppe,
    pub bridges: bridges::Bridges,
    pub conntrack: conntrack::Conntrack,
    pub pppoe: pppoe::Pppoe,
    pub tunnels: tunnels::Tunnels,
    pub uci: uci::Configuration,
    pub others: others::Others,
    pub cpu: cpu::Cpu,
    pub ips: ips::Ips,
    pub kernel: kernel::Kernel,
    pub system: system::System,
    pub access: access::Access,
}

impl Facts {
    /// Reads the facts for the checks of `groups`. `sample` is the time between two readings of a
    /// counter, or zero for no readings. Secrets are not read for a reader, because the duration
    /// would reveal information about them.
    pub(crate) fn gather(
        machine: &dyn Machine,
        groups: &[&str],
        sample: Duration,
        audience: Audience,
    ) -> Self {
        let of = |some: &[&str]| groups.iter().any(|group| some.contains(group));
        let mut facts = Self::default();
        if of(&["flowtable", "offload", "rules", "bridge", "conntrack", "pppoe", "system"]) {
            facts.flowtable = flowtable::read(machine);
        }
        let topology = &facts.flowtable.topology;
        if of(&["bridge"]) {
            facts.bridges = bridges::read(machine, topology);
        }
        if of(&["pppoe"]) {
            facts.pppoe = pppoe::read(machine, topology);
            facts.tunnels = tunnels::read(machine);
        }
        if of(&["rules", "conntrack", "pppoe", "system"]) {
            facts.rules = rules::read(machine);
        }
        if of(&["offload"]) {
            facts.ports = ports::read(machine);
            facts.ppe = ppe::read(machine, &facts.flowtable.status, sample);
        }
        if of(&["conntrack"]) {
            facts.conntrack = conntrack::read(machine);
        }
        if of(&["flowtable", "offload", "bridge", "conntrack", "pppoe", "system"]) {
            facts.uci = uci::read(machine);
        }
        if of(&["flowtable", "conntrack", "pppoe"]) {
            facts.others = others::read(machine);
        }
        if of(&["cpu", "ips"]) {
            facts.cpu = cpu::read(machine, sample);
        }
        if of(&["ips", "system"]) {
            facts.ips = ips::read(machine);
            facts.system = system::read(machine, audience);
        }
        if of(&["system"]) {
            facts.kernel = kernel::read(machine);
            facts.access = access::read(machine, audience);
        }
        facts
    }
}
