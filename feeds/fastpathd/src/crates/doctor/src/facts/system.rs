// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads accounts, clock, memory, file systems and files of the package.

use serde_json::json;

use super::sockets::{self, Listener};
use super::{Known, Unknown, answer, exists, file, processes, text};
use crate::audience::{Audience, WITHHELD};
use crate::machine::Machine;

/// File of the password hashes.
pub(crate) const SHADOW: &str = "/etc/shadow";
/// File of the time that programs waited for memory; missing on some kernels.
pub(crate) const PRESSURE: &str = "/proc/pressure/memory";
/// Counters of the memory since boot.
pub(crate) const VMSTAT: &str = "/proc/vmstat";
pub(crate) const MEMINFO: &str = "/proc/meminfo";
pub(crate) const MOUNTS: &str = "/proc/mounts";
/// Folders with limited space: settings, and files in memory.
const PLACES: [&str; 2] = ["/etc/config", "/tmp"];
/// Files of every installation, and the package of each.
const PARTS: &[(&str, &str)] = &[
    ("/usr/sbin/fastpathd", "fastpathd"),
    ("/usr/libexec/fastpath-rules", "fastpathd"),
    ("/usr/share/fastpath/rules/fastpath.rules", "fastpathd"),
    ("/usr/share/acl.d/fastpathd.json", "fastpathd"),
    ("/etc/init.d/fastpathd", "fastpathd"),
    ("/etc/init.d/fastpath-cpu", "fastpathd"),
];

#[derive(Debug, Default)]
pub(crate) struct System {
    /// Accounts with a password login.
    pub accounts: Known<Vec<Account>>,
    /// Sockets that listen for other hosts.
    pub listeners: Known<Vec<Listener>>,
    /// The clock, Unix ms.
    pub now_ms: u64,
    /// Name of the running program that sets the clock; empty if there is none.
    pub clock: String,
    /// Lines of [`PRESSURE`]; unknown if the kernel does not report it.
    pub pressure: Known<String>,
    /// Lines of [`MEMINFO`].
    pub memory: Known<String>,
    /// Programs that the OOM killer killed since boot.
    pub killed: u64,
    pub free_space: Known<Vec<FreeSpace>>,
    /// Type and options of the mount at `/`.
    pub root: Known<(String, String)>,
    /// A process of the daemon exists.
    pub daemon: bool,
    /// Version in the daemon's answer.
    pub answers: Known<String>,
    /// Missing files of the package: path and package.
    pub missing: Vec<(&'static str, &'static str)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Account {
    pub name: String,
    /// `None` if the password is not one of the first guesses.
    pub guess: Option<Guess>,
}

/// A password that can be guessed at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Guess {
    /// No password.
    Empty,
    /// One of the passwords that attackers try first.
    Common,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FreeSpace {
    /// Path of the request.
    pub place: &'static str,
    /// Free space in KiB.
    pub free: u64,
    /// Used space in percent.
    pub used: u64,
}

pub(crate) fn read(machine: &dyn Machine, audience: Audience) -> System {
    let status = answer(machine, "fastpath", "status", &json!({}));
    let version =
        status.get().map(|status| status.get("version").unwrap_or(&json!("")).to_string());
    let programs = programs(machine);
    let runs = |names: &[&str]| programs.iter().find(|program| names.contains(&program.as_str()));
    System {
        accounts: match audience {
            Audience::Writer => accounts(machine),
            Audience::Reader => Known::new(Err(WITHHELD)),
        },
        listeners: sockets::read(machine),
        now_ms: machine.now_ms(),
        clock: runs(CLOCKS).cloned().unwrap_or_default(),
        pressure: text(machine, PRESSURE),
        memory: text(machine, MEMINFO),
        killed: killed(&machine.read(VMSTAT).unwrap_or_default()),
        free_space: free_space(machine),
        root: root(machine),
        daemon: runs(&["fastpathd"]).is_some(),
        answers: Known(version),
        missing: missing(machine),
    }
}

/// Programs that set the clock.
const CLOCKS: &[&str] = &["ntpd", "chronyd", "systemd-timesyn", "ntpclient", "openntpd", "ptp4l"];

fn programs(machine: &dyn Machine) -> Vec<String> {
    let name = |pid: String| machine.read(&format!("/proc/{pid}/comm")).ok();
    processes(machine).filter_map(name).map(|name| name.trim().to_owned()).collect()
}

/// Passwords that attackers try first, together with the name of the account.
const COMMON: &[&str] = &["password", "admin", "root", "openwrt", "12345678", "1234"];

fn accounts(machine: &dyn Machine) -> Known<Vec<Account>> {
    let shadow = file(machine, SHADOW);
    Known(shadow.map(|text| text.lines().filter_map(|line| account(machine, line)).collect()))
}

/// Parses a line of the shadow file; `None` for a locked account.
fn account(machine: &dyn Machine, line: &str) -> Option<Account> {
    let mut fields = line.split(':');
    let (name, hash) = (fields.next()?, fields.next()?);
    let guess = match hash {
        "" => Some(Guess::Empty),
        hash if hash.starts_with(['*', '!', 'x']) => return None,
        hash => {
            let matches = |word: &&str| machine.crypt(word, hash).as_deref() == Some(hash);
            // Try all, so that the duration does not reveal a match.
            let words = COMMON.iter().copied().chain([name]);
            let common = words.filter(matches).count() > 0;
            if matches(&"") { Some(Guess::Empty) } else { common.then_some(Guess::Common) }
        }
    };
    Some(Account { name: name.to_owned(), guess })
}

fn killed(vmstat: &str) -> u64 {
    let line = vmstat.lines().find_map(|line| line.strip_prefix("oom_kill "));
    line.and_then(|number| number.trim().parse().ok()).unwrap_or(0)
}

fn free_space(machine: &dyn Machine) -> Known<Vec<FreeSpace>> {
    let [settings, memory] = PLACES;
    let said = machine.run("df", &["-kP", settings, memory]);
    Known::new(said.map(|text| {
        // A heading, then a line for each folder, in order.
        let lines = text.lines().skip(1).zip(PLACES);
        lines.filter_map(|(line, place)| free_space_of(line, place)).collect::<Vec<_>>()
    }))
}

fn free_space_of(line: &str, place: &'static str) -> Option<FreeSpace> {
    let mut words = line.split_ascii_whitespace().skip(3);
    let free = words.next()?.parse().ok()?;
    let used = words.next()?.strip_suffix('%')?.parse().ok()?;
    Some(FreeSpace { place, free, used })
}

/// Returns the last mount of `/`, which hides the others.
fn root(machine: &dyn Machine) -> Known<(String, String)> {
    Known(file(machine, MOUNTS).and_then(|text| {
        let of = |line: &str| {
            let mut words = line.split(' ').skip(1);
            (words.next()? == "/").then_some(())?;
            Some((words.next()?.to_owned(), words.next()?.to_owned()))
        };
        let found = text.lines().rev().find_map(of);
        found.ok_or_else(|| Unknown(format!("{MOUNTS} has no entry for /")))
    }))
}

fn missing(machine: &dyn Machine) -> Vec<(&'static str, &'static str)> {
    PARTS.iter().filter(|(path, _)| !exists(machine, path)).copied().collect()
}

#[cfg(test)]
mod tests;
