// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests the derived state with a real Suricata on two queues: starts, queries, reloads, stops and
//! kills it. Needs root for the network namespace.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ips::{
    Batch, CommandError, Commands, EventListener, Events, Health, InspectionCondition, Observation,
    Rates, State, parse_queues, queues_of,
};
use model::{FailPolicy, Gate, InspectionMode};

use crate::common::{Case, folder, installed, settings, suricata, threads};

const RULES: &str = "alert ip any any -> any any (msg:\"one\"; sid:8199001; rev:1;)\n\
    drop tcp any any -> any any (msg:\"two\"; content:\"wicked\"; sid:8199002; rev:1;)\n";

struct Live {
    child: Child,
    folder: PathBuf,
    case: Case,
    commands: Commands,
    events: Events,
    listener: EventListener,
    health: Health,
    answered: Option<Duration>,
    started: Instant,
}

impl Drop for Live {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn start(program: &std::ffi::OsStr) -> Option<Live> {
    let probe = Command::new("unshare").args(["--net", "true"]).stderr(Stdio::null()).status();
    if !probe.is_ok_and(|status| status.success()) {
        println!("skipped: no network namespace can be made");
        return None;
    }
    let folder = folder("live");
    let uci = "config ips 'ips'\noption enabled '1'\noption memory '32'\n";
    let settings = settings(uci).expect("good");
    let cpus = if std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() > 1) {
        vec![0, 1]
    } else {
        vec![0, 0]
    };
    let mut case = Case { settings, threads: threads(&[0], &cpus), ..Case::default() };
    fs::write(folder.join("our.rules"), RULES).expect("rules");
    installed(&mut case, &folder);
    fs::write(folder.join("overlay.yaml"), case.overlay()).expect("overlay");
    let listener = EventListener::bind(&case.files.events, [vec![0], vec![]], Rates::default())
        .expect("bound");
    let child = run(program, &folder, &case);
    let commands = Commands::new(&case.files.commands, Duration::from_millis(400));
    let health = Health::new(Duration::ZERO);
    let started = Instant::now();
    let events = Events::default();
    let answered = None;
    Some(Live { child, folder, case, commands, events, listener, health, answered, started })
}

const LIMIT: Duration = Duration::from_secs(300);

fn run(program: &std::ffi::OsStr, folder: &std::path::Path, case: &Case) -> Child {
    let log = fs::File::create(folder.join("log")).expect("a log");
    Command::new("unshare")
        .arg("--net")
        .arg(program)
        .args(["-c", "/etc/suricata/suricata.yaml", "--include"])
        .arg(folder.join("overlay.yaml"))
        .arg("-l")
        .arg(folder)
        .args(case.arguments())
        .stderr(log.try_clone().expect("a log"))
        .stdout(log)
        .spawn()
        .expect("started")
}

impl Live {
    fn now(&self) -> Duration {
        self.started.elapsed()
    }

    fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        let status = Command::new("kill").args([name, &id]).status();
        assert!(status.expect("kill").success());
    }

    fn queues(&self) -> Vec<Option<ips::Queue>> {
        let path = format!("/proc/{}/net/netfilter/nfnetlink_queue", self.child.id());
        queues_of(&parse_queues(&fs::read_to_string(path).unwrap_or_default()), 0..=1)
    }

    /// Probes once, like the daemon every half second, and receives events.
    async fn probe(&mut self) -> InspectionCondition {
        let next = self.started.elapsed() + Duration::from_millis(500);
        if self.commands.uptime().await.is_ok() {
            self.answered = Some(self.now());
        }
        while self.started.elapsed() < next {
            let started = self.started;
            let left = next.saturating_sub(started.elapsed());
            let heard = self.listener.next(|| started.elapsed());
            match tokio::time::timeout(left, heard).await {
                Ok(batch) => self.take(batch.expect("a listener")),
                Err(_) => break,
            }
        }
        let seen = Observation {
            enabled: true,
            mode: InspectionMode::Nfq,
            fail: FailPolicy::Open,
            asked: Some(Duration::ZERO),
            running: self.child.try_wait().is_ok_and(|status| status.is_none()),
            answered: self.answered,
            queues: self.queues(),
            events: self.events.connected,
            ..Observation::default()
        };
        let now = self.now();
        self.health.observe(now, &seen).clone()
    }

    fn take(&mut self, batch: Batch) {
        let now = self.now();
        self.events.take(now, batch);
    }

    async fn until(&mut self, state: State, limit: Duration) -> InspectionCondition {
        let end = self.now() + limit;
        loop {
            let condition = self.probe().await;
            if condition.state == state {
                return condition;
            }
            let log = || fs::read_to_string(self.folder.join("log")).unwrap_or_default();
            assert!(self.now() < end, "{condition:?}, not {}\n{}", state.name(), log());
        }
    }
}

#[tokio::test]
async fn state_follows_a_real_suricata() {
    let Some(mut live) = suricata().and_then(|program| start(&program)) else {
        return;
    };
    let condition = live.until(State::Inline, LIMIT).await;
    assert_eq!(condition.gate, Gate::Queue);
    answers(&mut live).await;
    is_tested_again(&mut live);
    reloads(&mut live).await;
    counts(&mut live).await;

    live.signal("-STOP");
    let condition = live.until(State::FailingOpen, LIMIT).await;
    assert_eq!(condition.gate, Gate::Open);
    live.signal("-CONT");
    live.until(State::Inline, LIMIT).await;

    live.signal("-KILL");
    live.until(State::FailingOpen, LIMIT).await;
    assert!(matches!(live.commands.uptime().await, Err(CommandError::Connect { .. })));

    let program = suricata().expect("a program");
    live.child = run(&program, &live.folder.clone(), &live.case.clone());
    live.until(State::Inline, LIMIT).await;
}

async fn answers(live: &mut Live) {
    let version = live.commands.version().await.expect("a version");
    assert!(version.starts_with("8."), "{version}");
    let uptime = live.commands.uptime().await.expect("a time");
    assert!(uptime < Duration::from_secs(300), "{uptime:?}");
    let rules = live.commands.rules().await.expect("numbers");
    assert_eq!((rules.loaded, rules.failed), (9, 0), "our rules and the package's rules");
    assert_eq!(live.commands.failed_rules().await.expect("a list"), []);
    let queues: Vec<ips::Queue> = live.queues().into_iter().flatten().collect();
    assert_eq!(queues.len(), 2, "{queues:?}");
    assert_eq!((queues[0].handled, queues[0].depth, queues[0].dropped()), (0, 0, 0));
}

async fn reloads(live: &mut Live) {
    let before = live.commands.reload_time().await.expect("a time");
    let bad = format!("{RULES}alert tcp any any -> any any (no such keyword; sid:3;)\n");
    fs::write(live.folder.join("our.rules"), bad).expect("rules");
    live.commands.reload_rules().await.expect("started");
    for _ in 0..60 {
        live.probe().await;
        if live.commands.reload_time().await.expect("a time") != before {
            break;
        }
    }
    let rules = live.commands.rules().await.expect("numbers");
    assert_eq!((rules.loaded, rules.failed), (9, 1));
    let failed = live.commands.failed_rules().await.expect("a list");
    assert_eq!(failed.len(), 1);
    assert!(failed[0].file.ends_with("our.rules"), "{failed:?}");
    assert_eq!(failed[0].line, 3);
}

/// `suricata -T` connects to the same socket and replaces the connection of the running Suricata,
/// which reconnects with its next event.
fn is_tested_again(live: &mut Live) {
    let program = suricata().expect("a program");
    let arguments = [vec!["-T".to_owned()], live.case.arguments()].concat();
    assert!(crate::common::run(&program, &live.folder, &arguments).status.success());
}

/// Suricata sends counters regularly, and on request after its threads have synchronised them.
async fn counts(live: &mut Live) {
    for _ in 0..40 {
        if live.events.counters.is_some() {
            break;
        }
        live.probe().await;
    }
    let counters = live.events.counters.expect("within 20 seconds");
    let asked = live.commands.counters().await.expect("counters");
    assert_eq!(counters.rules, asked.rules);
    assert_eq!(counters.blocked, 0);
    assert_eq!((live.events.counts.unparsable, live.events.counts.oversized), (0, 0));
}
