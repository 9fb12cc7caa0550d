// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads accounts, clock, memory, file systems and files of the package.

use serde_json::json;

use super::sockets::{self, Listener};
use super::{Known, Unknown, answer, exists, file, processes, text};
use crate::audience::{Audience, WITHHELD};
use crate::machine::Machine;

pub(crate) const SHADOW: &str = "/etc/shadow";
/// Missing in kernels without pressure stall information.
pub(crate) const PRESSURE: &str = "/proc/pressure/memory";
pub(crate) const VMSTAT: &str = "/proc/vmstat";
pub(crate) const MEMINFO: &str = "/proc/meminfo";
pub(crate) const MOUNTS: &str = "/proc/mounts";
const PLACES: [&str; 2] = ["/etc/config", "/tmp"];
/// Files of each installation, and their packages.
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
    pub accounts: Known<Vec<Account>>,
    pub listeners: Known<Vec<Listener>>,
    /// Current time in Unix ms.
    pub now_ms: u64,
    /// Name of the running program that sets the clock. Empty if there is none.
    pub clock: String,
    pub pressure: Known<String>,
    pub memory: Known<String>,
    /// Number of programs that the OOM killer ended since boot.
    pub killed: u64,
    pub free_space: Known<Vec<FreeSpace>>,
    /// Type and options of the mount at `/`.
    pub root: Known<(String, String)>,
    pub daemon: bool,
    /// Version that the daemon reports.
    pub answers: Known<String>,
    /// Missing files: path and package.
    pub missing: Vec<(&'static str, &'static str)>,
    /// Programs for notifications that are not installed, and their packages.
    pub missing_senders: Vec<(&'static str, &'static str)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Account {
    pub name: String,
    /// `None` if the password is not a common one.
    pub guess: Option<Guess>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Guess {
    Empty,
    Common,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FreeSpace {
    pub place: &'static str,
    /// Free space, in KiB.
    pub free: u64,
    /// Used space, in percent.
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
        missing_senders: missing_senders(machine),
    }
}

const CLOCKS: &[&str] = &["ntpd", "chronyd", "systemd-timesyn", "ntpclient", "openntpd", "ptp4l"];

fn programs(machine: &dyn Machine) -> Vec<String> {
    let name = |pid: String| machine.read(&format!("/proc/{pid}/comm")).ok();
    processes(machine).filter_map(name).map(|name| name.trim().to_owned()).collect()
}

/// Passwords that attackers try first. The account's name is another one.
const COMMON: &[&str] = &["password", "admin", "root", "openwrt", "12345678", "1234"];

fn accounts(machine: &dyn Machine) -> Known<Vec<Account>> {
    let shadow = file(machine, SHADOW);
    Known(shadow.map(|text| text.lines().filter_map(|line| account(machine, line)).collect()))
}

/// Parses a line of the shadow file. `None` for a locked account.
fn account(machine: &dyn Machine, line: &str) -> Option<Account> {
    let mut fields = line.split(':');
    let (name, hash) = (fields.next()?, fields.next()?);
    let guess = match hash {
        "" => Some(Guess::Empty),
        hash if hash.starts_with(['*', '!', 'x']) => return None,
        hash => {
            let matches = |word: &&str| machine.crypt(word, hash).as_deref() == Some(hash);
            // Try all words, so that the duration does not reveal a match.
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
        // df prints a heading, then a line per folder.
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

/// Returns the last mount of `/`, which hides earlier ones.
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

/// Programs for notifications, their packages, and folders: those that the service searches.
const SENDERS: [(&str, &str, &[&str]); 3] = [
    ("notify.sh", "fastpath-notify", &["/usr/libexec/fastpath"]),
    ("curl", "curl", PATH),
    ("sendmail", "msmtp-mta", PATH),
];
const PATH: &[&str] = &["/usr/sbin", "/usr/bin", "/sbin", "/bin"];

fn missing_senders(machine: &dyn Machine) -> Vec<(&'static str, &'static str)> {
    let is_missing = |(program, _, folders): &(&str, &str, &[&str])| {
        !folders.iter().any(|folder| exists(machine, &format!("{folder}/{program}")))
    };
    let missing = SENDERS.into_iter().filter(is_missing);
    missing.map(|(program, package, _)| (program, package)).collect()
}

#[cfg(test)]
mod tests;
