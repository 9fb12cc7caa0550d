// SPDX-License-Identifier: GPL-2.0-or-later
//! Invariants for any sequence of events: the core does not panic, requests one nft job at a time,
//! brings the wanted engine in force once jobs succeed, and lists no block that the kernel lacks.

use ips::Queue;
use proptest::prelude::*;
use ruleset::InForce;

use super::*;
use crate::ips::inspection::{CommandReply, ProbeSample};
use crate::rules;

#[derive(Debug, Clone)]
enum Step {
    Configure(Engine, bool),
    BadConfiguration,
    Unreadable,
    Command(Engine),
    Call(&'static str),
    Network(u8),
    Job(JobEnd),
    Attach(AttachEnd),
    Conntrack(bool),
    RulesRead,
    /// Another program removes our table; true if the kernel reports it.
    Removed(bool),
    Changed,
    /// The kernel reports a change by us or by the firewall.
    Reported(Touch, bool),
    Connect(u32),
    Disconnect(u32),
    EventsLost,
    Machine,
    Suricata(bool),
    /// A packet of this source triggers a drop rule.
    Offend(u8),
    /// The oldest request to block or unblock sources ends.
    Block(bool),
    TableRead,
    Reset,
    Reinspected(bool),
    Rules(bool),
    /// The maps become readable (true) or unreadable.
    Maps(bool),
    Second,
    Wait(u64),
}

fn any_job_end() -> impl Strategy<Value = JobEnd> {
    use JobEnd::{Done, Partly, Refused, WithoutFlowtable};
    prop::sample::select(vec![Done, Done, Done, Refused, Refused, Partly, WithoutFlowtable])
}

fn any_step() -> impl Strategy<Value = Step> {
    const METHODS: [&str; 16] = [
        "status",
        "flows",
        "top",
        "devices",
        "history",
        "usage",
        "journal",
        "topology",
        "cpu",
        "ebpf",
        "ips",
        "metrics",
        "alerts",
        "blocks",
        "rules_update",
        "reinspect",
    ];
    let engine = || prop::sample::select(Engine::ALL.to_vec());
    let touch = prop::sample::select(vec![Touch::None, Touch::Changed]);
    let attach_end =
        prop::sample::select(vec![AttachEnd::Done, AttachEnd::Partly, AttachEnd::Failed]);
    prop_oneof![
        2 => (engine(), any::<bool>()).prop_map(|(engine, on)| Step::Configure(engine, on)),
        1 => Just(Step::BadConfiguration),
        1 => Just(Step::Unreadable),
        2 => engine().prop_map(Step::Command),
        2 => prop::sample::select(METHODS.to_vec()).prop_map(Step::Call),
        6 => Just(Step::Call("flush")),
        4 => (0_u8..9).prop_map(Step::Network),
        14 => any_job_end().prop_map(Step::Job),
        4 => attach_end.prop_map(Step::Attach),
        4 => any::<bool>().prop_map(Step::Conntrack),
        4 => Just(Step::RulesRead),
        2 => any::<bool>().prop_map(Step::Removed),
        1 => Just(Step::Changed),
        2 => (touch, any::<bool>()).prop_map(|(touch, others)| Step::Reported(touch, others)),
        2 => (0_u32..4).prop_map(Step::Connect),
        1 => (0_u32..4).prop_map(Step::Disconnect),
        1 => Just(Step::EventsLost),
        1 => Just(Step::Machine),
        2 => any::<bool>().prop_map(Step::Suricata),
        2 => (0_u8..3).prop_map(Step::Offend),
        2 => any::<bool>().prop_map(Step::Block),
        1 => Just(Step::TableRead),
        1 => Just(Step::Reset),
        1 => any::<bool>().prop_map(Step::Reinspected),
        1 => any::<bool>().prop_map(Step::Rules),
        1 => any::<bool>().prop_map(Step::Maps),
        4 => Just(Step::Second),
        2 => (0_u64..40_000).prop_map(Step::Wait),
    ]
}

fn blocking_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0_u8..3).prop_map(Step::Offend),
        4 => any::<bool>().prop_map(Step::Block),
        1 => any::<bool>().prop_map(Step::Removed),
        1 => any_job_end().prop_map(Step::Job),
        1 => any::<bool>().prop_map(|on| Step::Configure(Engine::Flowtable, on)),
        1 => Just(Step::Second),
    ]
}

/// Model of the engine that the administrator wants.
#[derive(Debug, Default)]
struct Wanted {
    configured: Option<Engine>,
    commanded: Option<Engine>,
}

impl Wanted {
    /// Sets the configured engine. A new engine overrides an earlier command.
    fn configure(&mut self, engine: Engine) {
        if self.configured.is_some_and(|old| old != engine) {
            self.commanded = None;
        }
        self.configured = Some(engine);
    }

    fn engine(&self) -> Engine {
        self.commanded.or(self.configured).unwrap()
    }
}

/// Returns a change of the lab's network. LAN and WAN keep a port each.
fn change(which: u8) -> Vec<Change> {
    let mac = topology::Mac([2, 0, 0, 0, 1, 10]);
    let queue =
        topology::QueueingDiscipline { index: 8, kind: "cake".into(), ..Default::default() };
    let neighbour = |mac, state| {
        let address = "10.10.10.10".parse().unwrap();
        Change::Neighbour(topology::Neighbour { index: 5, address, mac, state })
    };
    let station =
        |port| Change::Fdb(topology::FdbEntry { bridge: 4, port, mac, vlan: 10, own: false });
    match which {
        0 => lab_network(),
        1 => vec![Change::LinkGone(2)],
        2 => vec![station(1)],
        3 => vec![station(2)],
        4 => vec![Change::Queues(vec![queue])],
        5 => vec![Change::Queues(Vec::new())],
        6 => vec![neighbour(None, topology::NeighbourState::Invalid)],
        7 => vec![neighbour(Some(mac), topology::NeighbourState::Valid)],
        _ => vec![Change::Pppoe(Vec::new(), Vec::new())],
    }
}

fn probe(runs: bool) -> ProbeSample {
    let queue = Queue { number: 0, listener: 7, depth: 0, handled: 5, full: 0, unread: 0 };
    ProbeSample {
        queues: if runs { vec![queue] } else { Vec::new() },
        process: runs.then_some(7),
        ..ProbeSample::default()
    }
}

impl Router {
    fn inspection(&mut self, event: inspection::Event) {
        let effects = self.core.ips_event(event);
        self.execute(effects);
    }

    fn step(&mut self, step: &Step, wanted: &mut Wanted) {
        match step {
            Step::Configure(engine, inspects) => {
                self.configure(&values(engine.name(), *inspects));
                wanted.configure(*engine);
            }
            Step::BadConfiguration => self.configure(&values("warp", false)),
            Step::Unreadable => {
                let event = configuration::Event::Unreadable("line 3".into());
                let effects = self.core.configuration_event(event);
                self.execute(effects);
            }
            Step::Command(engine) => {
                self.call("engine", &json!({"set": engine.name()}));
                wanted.commanded = Some(*engine);
            }
            Step::Call(method) => drop(self.call(method, &json!({}))),
            // The kernel reports the whole network before it reports changes.
            Step::Network(which) => {
                let known = self.core.network.is_known();
                self.network(change(if known { *which } else { 0 }));
            }
            Step::Job(end) => self.end_job(*end),
            Step::Attach(end) => self.end_attach(*end),
            Step::Conntrack(succeeds) => self.end_request(*succeeds),
            Step::RulesRead => {
                if self.reading {
                    self.end_reading();
                }
            }
            Step::Removed(reported) => {
                let was_there = !self.table.is_empty();
                self.set_table(String::new());
                if was_there && *reported {
                    self.rules_changed(Touch::Gone, true);
                }
            }
            Step::Changed => {
                if !self.table.is_empty() {
                    self.table.push_str("# by another program\n");
                    self.rules_changed(Touch::Changed, false);
                }
            }
            Step::Reported(table, others) => self.rules_changed(*table, *others),
            Step::Connect(id) => self.connect(*id),
            Step::Disconnect(id) => self.disconnect(*id),
            Step::EventsLost => {
                let effects = self.core.conntrack_event(conntrack::Event::Lost);
                self.execute(effects);
            }
            Step::Machine => {
                let effects = self.core.machine_read(machine_sample());
                self.execute(effects);
            }
            Step::Suricata(runs) => {
                self.inspection(inspection::Event::Probed(probe(*runs)));
                if *runs {
                    let uptime = CommandReply::Uptime(Duration::from_secs(3));
                    self.inspection(inspection::Event::Replied(uptime));
                }
            }
            Step::Offend(source) => {
                let batch = alert(&format!("203.0.113.{}", source + 1), "10.10.10.10");
                self.inspection(inspection::Event::Events(Box::new(batch)));
            }
            Step::Block(succeeds) => self.end_block(*succeeds),
            Step::TableRead => {
                self.inspection(inspection::Event::TableRead(
                    Box::<InForce>::default(),
                    [vec![], vec![]],
                ));
            }
            Step::Reset => {
                self.inspection(inspection::Event::Reset(self.connections.clone()));
            }
            Step::Reinspected(done) => {
                let result = if *done { Ok(1) } else { Err("refused".into()) };
                self.inspection(inspection::Event::Reinspected(result));
            }
            Step::Rules(done) => {
                let result = if *done {
                    Ok(json!({}))
                } else {
                    Err(::rules::UpdateReason::State { said: "no server".into() })
                };
                let effects = self.core.rules_event(rules::Event::Done(result));
                self.execute(effects);
            }
            Step::Maps(readable) => self.maps.unreadable.set(!readable),
            Step::Second => self.second(),
            Step::Wait(milliseconds) => self.advance(*milliseconds),
        }
    }

    /// Lets every request succeed for longer than any retry interval.
    fn settle(&mut self, wanted: &mut Wanted) {
        if wanted.configured.is_none() {
            self.step(&Step::Configure(Engine::Flowtable, false), wanted);
        }
        if !self.core.network.is_known() {
            self.network(lab_network());
        }
        self.maps.unreadable.set(false);
        for _ in 0..15 {
            self.advance(4000);
            self.pass(1);
        }
        // Refused hardware offload is retried within 240 s.
        self.advance(240_000);
        self.pass(2);
    }

    /// Asserts that the wanted engine is in force, or that the reason against it is shown.
    fn assert_settled(&self, wanted: Engine) {
        let report = self.report();
        assert!(self.core.offload.flowtable().is_settled());
        assert_eq!(report.wanted, wanted.name());
        let expected = match wanted {
            // The request is not repeated if no device can have a program.
            Engine::Ebpf if !self.has_programs => Engine::Flowtable,
            Engine::Ebpf | Engine::FlowtableHw | Engine::Flowtable | Engine::Off => wanted,
        };
        assert_eq!(report.active, expected.name(), "{}", report.why);
        assert!(expected != wanted || report.why.is_empty(), "{}", report.why);
        let in_force = self.core.offload.flowtable().in_force().unwrap();
        assert_eq!(self.table, rules_of(in_force), "the kernel has the plan in force");
        self.assert_blocks(false);
    }
}

proptest! {
    #[test]
    fn the_wanted_engine_is_in_force_once_jobs_succeed(
        start in prop::option::of(prop::sample::select(Engine::ALL.to_vec())),
        periods in prop::collection::vec(prop::collection::vec(any_step(), 1..16), 1..4),
    ) {
        let mut router = start.map_or_else(Router::new, |engine| Router::running(engine.name()));
        let mut wanted = Wanted { configured: start, commanded: None };
        for steps in &periods {
            for step in steps {
                router.step(step, &mut wanted);
            }
            router.settle(&mut wanted);
            router.assert_settled(wanted.engine());
        }
    }

    #[test]
    fn no_source_is_listed_as_blocked_that_the_kernel_does_not_block(
        steps in prop::collection::vec(blocking_step(), 1..16),
    ) {
        let mut router = Router::running("flowtable");
        let mut wanted = Wanted::default();
        router.step(&Step::Configure(Engine::Flowtable, true), &mut wanted);
        router.drain();
        for step in &steps {
            router.step(step, &mut wanted);
        }
        router.settle(&mut wanted);
        router.assert_settled(Engine::Flowtable);
        router.assert_blocks(true);
    }
}
