// SPDX-License-Identifier: GPL-2.0-or-later
//! Probes Suricata twice a second: queues, process, refusals, and command socket. Also requests
//! reloads of the rules.

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use gateway::event::Event as AnyEvent;
use gateway::ips::Event;
use gateway::ips::inspection::{CommandReply, ProbeSample};
use ips::Commands;
use tokio::sync::mpsc::Sender;
use tokio::time::{Interval, MissedTickBehavior};

/// Interval of probes. A failure must be reported within two seconds.
const PROBE_INTERVAL: Duration = Duration::from_millis(500);
const COMMAND_TIMEOUT: Duration = Duration::from_secs(2);
/// Rounds between requests for all counters, in case the event stream is disconnected.
const COUNTER_ROUNDS: u32 = 10;

/// File in which the init script reports why Suricata refused its last configuration.
const REFUSED: &str = "/var/etc/suricata/refused";

#[derive(Debug, Clone, Default)]
pub(crate) struct ProbeControl {
    pub(crate) enabled: Rc<Cell<bool>>,
    pub(crate) incomplete: Rc<Cell<bool>>,
}

struct Rounds {
    clock: Interval,
    number: u32,
}

impl Rounds {
    fn new() -> Self {
        let mut clock = tokio::time::interval(PROBE_INTERVAL);
        clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // The first round is even, so it searches for processes.
        Self { clock, number: 1 }
    }

    async fn next(&mut self) -> u32 {
        self.clock.tick().await;
        self.number = self.number.wrapping_add(1);
        self.number
    }
}

pub(crate) async fn watch(control: ProbeControl, events: Sender<AnyEvent>) {
    let mut found = Found::default();
    let mut rounds = Rounds::new();
    loop {
        let round = rounds.next().await;
        if !control.enabled.get() {
            (found, rounds.number) = (Found::default(), 1);
            continue;
        }
        if found.pid.is_some_and(|pid| !is_suricata(pid)) {
            found = Found::default();
        }
        // Searching all processes is expensive, so search every second round only.
        if found.pid.is_none() && round.is_multiple_of(2) {
            found = find();
        }
        let Found { pid: process, testing } = found;
        let sample = ProbeSample { queues: queues(), process, testing, refused: refused() };
        if events.send(AnyEvent::Ips(Event::Probed(sample))).await.is_err() {
            return;
        }
    }
}

/// Requests Suricata's uptime twice a second, and missing values.
pub(crate) async fn query_commands(
    socket: PathBuf,
    control: ProbeControl,
    events: Sender<AnyEvent>,
) {
    let mut commands = Commands::new(&socket, COMMAND_TIMEOUT);
    let mut rounds = Rounds::new();
    loop {
        let round = rounds.next().await;
        if !control.enabled.get() {
            continue;
        }
        for reply in query(&mut commands, control.incomplete.get(), round).await {
            if events.send(AnyEvent::Ips(Event::Replied(reply))).await.is_err() {
                return;
            }
        }
    }
}

async fn query(commands: &mut Commands, incomplete: bool, round: u32) -> Vec<CommandReply> {
    let mut replies = Vec::new();
    match commands.uptime().await {
        Ok(uptime) => replies.push(CommandReply::Uptime(uptime)),
        Err(error) => {
            log::debug!("suricata: {error}");
            return replies;
        }
    }
    if incomplete {
        replies.extend(commands.version().await.map(CommandReply::Version));
        replies.extend(commands.rules().await.map(CommandReply::Rules));
    }
    if round.is_multiple_of(COUNTER_ROUNDS) {
        replies.extend(
            commands.counters().await.map(|counters| CommandReply::Counters(Box::new(counters))),
        );
    }
    replies
}

/// Requests a reload of Suricata's rules. Retries, because Suricata refuses during an earlier
/// reload, which takes minutes on a slow router. Returns the last error.
pub(crate) async fn reload(socket: PathBuf) -> Result<(), String> {
    const TRIES: u32 = 120;
    const RETRY_INTERVAL: Duration = Duration::from_secs(3);
    let mut commands = Commands::new(&socket, COMMAND_TIMEOUT);
    commands.reload_rules_within(TRIES, RETRY_INTERVAL).await.map_err(|error| error.to_string())
}

pub(crate) fn queues() -> Vec<ips::Queue> {
    match fs::read_to_string(ips::QUEUES) {
        Ok(text) => ips::parse_queues(&text),
        // The file is missing until a program opens a queue.
        Err(error) => {
            log::debug!("{}: {error}", ips::QUEUES);
            Vec::new()
        }
    }
}

fn refused() -> Option<String> {
    const MAX_LEN: u64 = 2000;
    // Limit the size, because reading blocks our only thread.
    let text = launch::foreign::read(Path::new(REFUSED), MAX_LEN).ok()?;
    let text = String::from_utf8_lossy(&text);
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

const COMM: &str = "Suricata-Main";

fn is_suricata(pid: u32) -> bool {
    is_alive(Path::new(&format!("/proc/{pid}")))
}

fn is_alive(process: &Path) -> bool {
    fs::read(process.join("stat")).is_ok_and(|stat| is_living_suricata(&stat))
}

/// Parses the start of `/proc/PID/stat`: `PID (COMM) STATE`. Returns false for ended processes
/// (Z, X), which keep their name.
fn is_living_suricata(stat: &[u8]) -> bool {
    let stat = String::from_utf8_lossy(stat);
    let named = stat.split_once('(').and_then(|(_, rest)| rest.rsplit_once(") "));
    named.is_some_and(|(comm, rest)| comm == COMM && !rest.starts_with(['Z', 'X']))
}

#[derive(Debug, Clone, Copy, Default)]
struct Found {
    pid: Option<u32>,
    /// `suricata -T` is running.
    testing: bool,
}

fn find() -> Found {
    let mut found = Found::default();
    let Ok(processes) = fs::read_dir("/proc") else { return found };
    for process in processes.flatten() {
        let pid = process.file_name().to_str().and_then(|name| name.parse::<u32>().ok());
        let Some(pid) = pid.filter(|_| is_alive(&process.path())) else { continue };
        let line = fs::read(process.path().join("cmdline")).unwrap_or_default();
        if line.split(|byte| *byte == 0).any(|word| word == b"-T") {
            found.testing = true;
        } else {
            found.pid = Some(pid);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ended_process_is_not_a_running_suricata() {
        assert!(is_living_suricata(b"812 (Suricata-Main) S 1 812 812 0"));
        assert!(
            is_living_suricata(b"812 (Suricata-Main) T 1 812"),
            "a stopped process has not ended"
        );
        for other in [
            &b"812 (Suricata-Main) Z 1 812"[..],
            b"812 (Suricata-Main) X 1 812",
            b"9 (sh) S 1 9",
            b"9 (a) Suricata-Main) S 1 9",
            b"",
        ] {
            assert!(!is_living_suricata(other), "{}", String::from_utf8_lossy(other));
        }
    }
}
