// SPDX-License-Identifier: GPL-2.0-or-later
//! Observes Suricata from outside, twice a second: its queues, its process, refusals, and its
//! answers on the command socket (timeout). Also how often, and after which pause, a reload of the
//! rules is asked for while another one runs.

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use ips::Commands;
use tokio::sync::mpsc::Sender;
use tokio::time::{Interval, MissedTickBehavior};

use crate::event::Event as AnyEvent;
use crate::ips::Event;
use crate::ips::inspection::{CommandReply, ProbeSample};

/// A failure has to be reported within two seconds.
const EVERY: Duration = Duration::from_millis(500);
/// Limit for one command; the state machine judges an answer that is missing.
const LIMIT: Duration = Duration::from_secs(2);
/// All counters are requested every so many rounds, in case the event stream is away.
const COUNTERS_EVERY: u32 = 10;

/// Why Suricata's last configuration was refused: written by its init script.
const REFUSED: &str = "/var/etc/suricata/refused";

/// Whether to probe at all, shared with the loop.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProbeControl {
    pub(crate) enabled: Rc<Cell<bool>>,
    /// Version and rules are not known yet.
    pub(crate) incomplete: Rc<Cell<bool>>,
}

/// Rounds half a second apart, numbered.
struct Rounds {
    clock: Interval,
    number: u32,
}

impl Rounds {
    fn new() -> Self {
        let mut clock = tokio::time::interval(EVERY);
        clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // The first round is an even one, which searches.
        Self { clock, number: 1 }
    }

    async fn next(&mut self) -> u32 {
        self.clock.tick().await;
        self.number = self.number.wrapping_add(1);
        self.number
    }
}

/// Probes twice a second, as long as inspection is enabled.
pub(crate) async fn watch(control: ProbeControl, events: Sender<AnyEvent>) {
    let mut found = Found::default();
    let mut rounds = Rounds::new();
    loop {
        let round = rounds.next().await;
        if !control.enabled.get() {
            (found, rounds.number) = (Found::default(), 1);
            continue;
        }
        if found.runs.is_some_and(|pid| !is_suricata(pid)) {
            found = Found::default();
        }
        // Searching all processes costs more than checking one.
        if found.runs.is_none() && round.is_multiple_of(2) {
            found = find();
        }
        let Found { runs: process, testing } = found;
        let sample = ProbeSample { queues: queues(), process, testing, refused: refused() };
        if events.send(AnyEvent::Ips(Event::Probed(sample))).await.is_err() {
            return;
        }
    }
}

/// Requests its uptime twice a second, and the rest when it is not known.
pub(crate) async fn query_commands(
    socket: PathBuf,
    control: ProbeControl,
    events: Sender<AnyEvent>,
) {
    let mut commands = Commands::new(&socket, LIMIT);
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
    if round.is_multiple_of(COUNTERS_EVERY) {
        replies.extend(
            commands.counters().await.map(|counters| CommandReply::Counters(Box::new(counters))),
        );
    }
    replies
}

/// Asks Suricata to reload its rules, and returns its error if no reload started. While an earlier
/// reload runs, which takes minutes on a slow router, Suricata refuses another.
pub(crate) async fn reload(socket: PathBuf) -> Result<(), String> {
    const TRIES: u32 = 120;
    const PAUSE: Duration = Duration::from_secs(3);
    let mut commands = Commands::new(&socket, LIMIT);
    commands.reload_rules_within(TRIES, PAUSE).await.map_err(|error| error.to_string())
}

pub(crate) fn queues() -> Vec<ips::Queue> {
    match fs::read_to_string(ips::QUEUES) {
        Ok(text) => ips::parse_queues(&text),
        // Not there before somebody has opened a queue.
        Err(error) => {
            log::debug!("{}: {error}", ips::QUEUES);
            Vec::new()
        }
    }
}

fn refused() -> Option<String> {
    const LONGEST: u64 = 2000;
    // Of a few errors, and we have one thread.
    let text = launch::foreign::read(Path::new(REFUSED), LONGEST).ok()?;
    let text = String::from_utf8_lossy(&text);
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// Its main thread gives itself this name.
const COMM: &str = "Suricata-Main";

fn is_suricata(pid: u32) -> bool {
    lives(Path::new(&format!("/proc/{pid}")))
}

fn lives(process: &Path) -> bool {
    fs::read(process.join("stat")).is_ok_and(|stat| is_living_suricata(&stat))
}

/// `/proc/PID/stat` begins with `PID (COMM) STATE`. One that has ended and that its parent has not
/// asked after yet (Z, X) keeps its name.
fn is_living_suricata(stat: &[u8]) -> bool {
    let stat = String::from_utf8_lossy(stat);
    let named = stat.split_once('(').and_then(|(_, rest)| rest.rsplit_once(") "));
    named.is_some_and(|(comm, rest)| comm == COMM && !rest.starts_with(['Z', 'X']))
}

/// The processes of Suricata.
#[derive(Debug, Clone, Copy, Default)]
struct Found {
    runs: Option<u32>,
    /// `suricata -T`.
    testing: bool,
}

fn find() -> Found {
    let mut found = Found::default();
    let Ok(processes) = fs::read_dir("/proc") else { return found };
    for process in processes.flatten() {
        let pid = process.file_name().to_str().and_then(|name| name.parse::<u32>().ok());
        let Some(pid) = pid.filter(|_| lives(&process.path())) else { continue };
        let line = fs::read(process.path().join("cmdline")).unwrap_or_default();
        if line.split(|byte| *byte == 0).any(|word| word == b"-T") {
            found.testing = true;
        } else {
            found.runs = Some(pid);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_ended_does_not_run() {
        assert!(is_living_suricata(b"812 (Suricata-Main) S 1 812 812 0"));
        assert!(is_living_suricata(b"812 (Suricata-Main) T 1 812"), "stopped is not gone");
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
