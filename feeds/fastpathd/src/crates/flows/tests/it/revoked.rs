// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests that a rule change takes all flows off eBPF at once, although they are judged in steps.

use std::collections::{BTreeMap, BTreeSet};

use ctnetlink::{Entry, Event, TcpState};
use flows::{Filter, FlowTable, FlowsQuery, OffloadRequest, Path, Reason, TopQuery};
use proptest::prelude::*;
use serde_json::json;

use crate::invariants::check;
use crate::support::offload::{PASSED, ebpf, passed};
use crate::support::{at, cells, entry, named, tuple, uncounted, with_programs};

/// The table with an engine that executes its requests at once.
#[derive(Default)]
struct World {
    table: FlowTable,
    seconds: f64,
    /// Connections with entries; true once they are started.
    installed: BTreeMap<u64, bool>,
    /// Connections that were started since the last rule change.
    by_new_rules: BTreeSet<u64>,
    removed: usize,
}

fn web(id: u32) -> Entry {
    let port = u16::try_from(1000 + id).expect("few");
    entry(id, tuple(6, "10.10.0.2", port, "192.0.2.80", 443))
}

impl World {
    fn new() -> Self {
        let mut world = Self::default();
        world.table.engine(ebpf(), at(0.0));
        world
    }

    fn event(&mut self, event: &Event) {
        self.table.event(event, at(self.seconds), &with_programs());
        self.serve();
    }

    /// Executes all requests, and answers them as conntrack does.
    fn serve(&mut self) {
        for _ in 0..8 {
            for request in self.table.offload_requests() {
                let now = at(self.seconds);
                match request {
                    OffloadRequest::Install(one) => {
                        assert_eq!(self.installed.insert(one.id, false), None, "installed twice");
                        self.table.installed(one.id, Ok(()), now);
                    }
                    OffloadRequest::Confirm(one) => {
                        let entry = passed(web(u32::try_from(one.id).expect("few")));
                        let since = self.table.reading_start();
                        self.table.confirmed(one.id, Some(&entry), since, now, &with_programs());
                    }
                    OffloadRequest::Start(id) => {
                        self.installed.insert(id, true).expect("installed");
                        self.by_new_rules.insert(id);
                    }
                    OffloadRequest::Remove(id) => {
                        self.removed += 1;
                        self.by_new_rules.remove(&id);
                        self.installed.remove(&id).expect("installed");
                    }
                    OffloadRequest::ClearMark(one) => {
                        let rules = self.table.rules();
                        self.table.mark_cleared(one.id, rules);
                    }
                }
            }
        }
    }

    fn change_rules(&mut self) {
        self.by_new_rules.clear();
        self.table.rules_changed(true, at(self.seconds));
    }

    fn matched(&self, filter: Filter) -> usize {
        let query = FlowsQuery { filter, ..FlowsQuery::default() };
        self.table.query(&query, at(self.seconds)).expect("a page").matched
    }

    /// Checks that each answer shows exactly the flows that the rules in force allow on eBPF.
    fn check(&self) {
        let query = FlowsQuery { limit: 500, ..FlowsQuery::default() };
        let page = self.table.query(&query, at(self.seconds)).expect("a page");
        let path = page.cols.iter().position(|col| *col == "path").expect("a path");
        let rows = cells(&page);
        let on = rows.iter().filter(|row| row[path] == "ebpf");
        let on: BTreeSet<u64> = on.map(|row| row[0].as_u64().expect("an id")).collect();
        assert_eq!(on, self.by_new_rules);
        let number = u64::try_from(on.len()).expect("few");
        assert_eq!((self.table.on(Path::Ebpf), self.table.offloaded()), (number, number));
        let filter = Filter { paths: vec![Path::Ebpf], ..Filter::default() };
        assert_eq!(self.matched(filter), on.len());
        for by in ["path", "host"] {
            let top = self.table.top(&TopQuery::parse(&json!({ "by": by })).expect("valid"));
            assert_eq!(top.rows.iter().map(|row| row.offloaded).sum::<u64>(), number, "{by}");
        }
        check(&self.table, self.seconds);
    }
}

#[test]
fn flows_are_slow_from_the_change_on_and_removed_in_steps() {
    let mut world = World::new();
    for id in 1..=5 {
        world.event(&Event::New(passed(uncounted(web(id)))));
    }
    world.check();
    assert_eq!(world.by_new_rules.len(), 5);
    world.seconds = 2.0;
    world.change_rules();
    world.check();
    let filter = Filter { reasons: vec![Some(Reason::Pending)], ..Filter::default() };
    assert_eq!((world.matched(filter), world.installed.len()), (5, 5));
    world.seconds = 5.0;
    for left in [3, 1] {
        assert!(world.table.judge_some(2, at(5.0)));
        world.serve();
        assert_eq!(world.installed.len(), left, "a step judges two flows");
        world.check();
    }
    // A flow that was not judged ends.
    world.event(&Event::Destroy(web(1)));
    world.check();
    assert!(!world.table.judge_some(2, at(5.0)));
    assert_eq!((world.removed, world.installed.len()), (5, 0));
    let steps = |world: &World| {
        let detail = world.table.flow(2, at(9.0)).expect("known");
        detail.events.iter().map(|step| (step.at_ms, step.path)).collect::<Vec<_>>()
    };
    assert_eq!(steps(&world).last(), Some(&(at(2.0).unix_ms, Path::Slow)), "time of the change");
    world.event(&Event::Update(passed(uncounted(web(2)))));
    world.check();
    assert_eq!(world.by_new_rules, BTreeSet::from([2]));
    let detail = world.table.flow(2, at(9.0)).expect("known");
    assert_eq!(named(&detail)["path"], "ebpf");
}

#[derive(Debug, Clone)]
enum Step {
    New(u32),
    /// The marks that the kernel reports; 0 if a rule stops one direction.
    Update(u32, bool),
    Closing(u32),
    Destroy(u32),
    Dump(Vec<u32>),
    Change,
    Judge(usize),
}

fn any_step() -> impl Strategy<Value = Step> {
    let id = || 1_u32..12;
    prop_oneof![
        3 => id().prop_map(Step::New),
        4 => (id(), any::<bool>()).prop_map(|(id, passes)| Step::Update(id, passes)),
        1 => id().prop_map(Step::Closing),
        1 => id().prop_map(Step::Destroy),
        1 => prop::collection::vec(id(), 0..12).prop_map(Step::Dump),
        2 => Just(Step::Change),
        3 => (0_usize..5).prop_map(Step::Judge),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_flow_is_on_ebpf_by_older_rules(steps in prop::collection::vec(any_step(), 1..150)) {
        let mut world = World::new();
        let net = with_programs();
        for step in steps {
            world.seconds += 0.1;
            let now = at(world.seconds);
            match step {
                Step::New(id) => world.event(&Event::New(passed(uncounted(web(id))))),
                Step::Update(id, passes) => {
                    let mark = if passes { PASSED[0] | PASSED[1] } else { PASSED[0] };
                    world.event(&Event::Update(Entry { mark, ..uncounted(web(id)) }));
                }
                Step::Closing(id) => {
                    let tcp_state = Some(TcpState::FinWait);
                    world.event(&Event::Update(Entry { tcp_state, ..uncounted(web(id)) }));
                }
                Step::Destroy(id) => world.event(&Event::Destroy(web(id))),
                Step::Dump(ids) => {
                    world.table.dump_begin(now);
                    for id in ids {
                        world.table.merge(&passed(web(id)), now, &net);
                    }
                    world.table.dump_end(now, true);
                    world.serve();
                }
                Step::Change => world.change_rules(),
                Step::Judge(most) => {
                    world.table.judge_some(most, now);
                    world.serve();
                }
            }
            world.check();
        }
        while world.table.judge_some(3, at(world.seconds)) {}
        world.serve();
        let started: BTreeSet<u64> = world.installed.keys().copied().collect();
        prop_assert_eq!(started, world.by_new_rules, "all others are removed");
    }
}
