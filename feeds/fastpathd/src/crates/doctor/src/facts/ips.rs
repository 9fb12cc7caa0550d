// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads Suricata's state, version, queues and processes.

use serde_json::{Value, json};

use super::{Known, Unknown, answer, exists, processes};
use crate::machine::Machine;

pub(crate) const QUEUES: &str = "/proc/net/netfilter/nfnetlink_queue";
pub(crate) const PROGRAM: &str = "/usr/bin/suricata";

#[derive(Debug, Default)]
pub(crate) struct Ips {
    pub state: Known<Value>,
    /// Output of `suricata -V`. `None` if Suricata is not installed.
    pub version: Option<Known<String>>,
    pub queues: Vec<Queue>,
    pub running: Vec<SuricataProcess>,
}

/// A packet queue with a reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Queue {
    pub number: u64,
    /// Packets lost because the queue was full.
    pub full: u64,
    /// Packets lost because the reader's socket buffer was full.
    pub reader: u64,
    /// Packets delivered to the reader.
    pub given: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SuricataProcess {
    pub pid: String,
    /// Arguments, starting with the program.
    pub arguments: Vec<String>,
    pub threads: Vec<Thread>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Thread {
    /// Name such as `W-NFQ#0` or `W#01` for a worker, `FM#01` for a flow manager.
    pub name: String,
    /// Allowed CPUs, in the kernel's list format.
    pub cpus: String,
}

impl SuricataProcess {
    /// Returns the argument that makes Suricata read copies of packets.
    pub(crate) fn capture_argument(&self) -> Option<&str> {
        let copies = |word: &&String| {
            let name = word.split('=').next().unwrap_or_default();
            matches!(name, "-i" | "--pcap" | "--af-packet" | "--netmap")
        };
        let queued = self.arguments.iter().any(|word| word == "-q" || word.starts_with("-q"));
        self.arguments.iter().find(copies).filter(|_| !queued).map(String::as_str)
    }
}

pub(crate) fn read(machine: &dyn Machine) -> Ips {
    let installed = exists(machine, PROGRAM);
    Ips {
        state: answer(machine, "fastpath", "ips", &json!({})),
        version: installed.then(|| Known::new(machine.run(PROGRAM, &["-V"]))),
        queues: queues(&machine.read(QUEUES).unwrap_or_default()),
        running: running(machine),
    }
}

/// Parses the queues. Columns: number, reader's port id, backlog, copy mode, copy range, drops of
/// the full queue, drops of the reader's socket, id of the last packet, 1.
fn queues(text: &str) -> Vec<Queue> {
    let mut queues = Vec::new();
    for line in text.lines() {
        let column: Vec<u64> =
            line.split_ascii_whitespace().filter_map(|word| word.parse().ok()).collect();
        if let [number, _, _, _, _, full, reader, given, ..] = column[..] {
            queues.push(Queue { number, full, reader, given });
        }
    }
    queues
}

fn running(machine: &dyn Machine) -> Vec<SuricataProcess> {
    let mut running = Vec::new();
    for pid in processes(machine) {
        let line = machine.read(&format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let arguments: Vec<String> =
            line.split('\0').filter(|word| !word.is_empty()).map(str::to_owned).collect();
        let program = arguments.first().and_then(|path| path.rsplit('/').next());
        if program == Some("suricata") {
            let threads = threads(machine, &pid);
            running.push(SuricataProcess { pid, arguments, threads });
        }
    }
    running
}

fn threads(machine: &dyn Machine, pid: &str) -> Vec<Thread> {
    let folder = format!("/proc/{pid}/task");
    let mut threads = Vec::new();
    for task in machine.list(&folder).unwrap_or_default() {
        let status = machine.read(&format!("{folder}/{task}/status")).unwrap_or_default();
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            line.map(|value| value.trim().to_owned())
        };
        if let (Some(name), Some(cpus)) = (field("Name:"), field("Cpus_allowed_list:")) {
            threads.push(Thread { name, cpus });
        }
    }
    threads
}

impl Ips {
    pub(crate) fn enabled(&self) -> Result<bool, Unknown> {
        Ok(self.state.at("enabled")?.as_bool().unwrap_or(false))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::fake::Fake;

    #[test]
    fn parses_queues_and_skips_other_lines() {
        let text = "    0   4711     0 2 65531     3     1      900  1\nrubbish\n";
        assert_eq!(queues(text), [Queue { number: 0, full: 3, reader: 1, given: 900 }]);
    }

    fn suricata(arguments: &str) -> SuricataProcess {
        let line = format!("/usr/bin/suricata {arguments}").replace(' ', "\0");
        let status = "Name:\tW#01\nCpus_allowed_list:\t2-3\n";
        let fake = Fake::new()
            .file("/proc/70/cmdline", &line)
            .file("/proc/70/task/71/status", status)
            .file("/proc/71/cmdline", "grep\0suricata\0")
            .file("/proc/self/cmdline", "/usr/bin/suricata");
        let mut running = running(&fake);
        assert_eq!(running.len(), 1);
        running.remove(0)
    }

    #[test]
    fn finds_suricata_by_its_program_with_its_threads() {
        let running = suricata("-q 0 -q 1");
        assert_eq!((running.pid.as_str(), running.capture_argument()), ("70", None));
        assert_eq!(running.threads, [Thread { name: "W#01".into(), cpus: "2-3".into() }]);
    }

    #[test]
    fn detects_arguments_for_copies_of_packets() {
        assert_eq!(suricata("--pcap=br0 -D").capture_argument(), Some("--pcap=br0"));
        assert_eq!(suricata("--af-packet").capture_argument(), Some("--af-packet"));
        assert_eq!(suricata("-c x.yaml -q0").capture_argument(), None);
    }

    #[test]
    fn finds_fields_by_path() {
        let state = serde_json::json!({"enabled": true, "rules": {"state": "good"}});
        let fake = Fake::new().answers("fastpath ips", state);
        let ips = read(&fake);
        assert_eq!(ips.state.at("rules.state").unwrap(), "good");
        assert!(ips.state.at("no.such").unwrap().is_null());
        assert_eq!((ips.enabled(), ips.version), (Ok(true), None));
    }
}
