// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests queueing disciplines that the eBPF engine must not bypass.

use super::*;

const NAMES: [&str; 3] = ["lan1", "lan2", "wan"];

fn queues(found: &[(u32, bool, &str)]) -> topology::Change {
    let queue = |(index, incoming, kind): &(u32, bool, &str)| topology::QueueingDiscipline {
        index: *index,
        incoming: *incoming,
        kind: (*kind).into(),
        by_mark: false,
    };
    topology::Change::Queues(found.iter().map(queue).collect())
}

#[test]
fn flows_do_not_bypass_a_queue() {
    let (mut core, maps) = running();
    update(&mut core, established(7, false));
    // Packets that TC redirects pass the queue of wan itself.
    changes(&mut core, vec![queues(&[(3, false, "cake")])]);
    assert_eq!(offloaded(&maps), 2);
    // The queue of pppoe-wan and queues for incoming packets would be bypassed.
    for (index, incoming) in [(8, false), (8, true), (3, true)] {
        changes(&mut core, vec![queues(&[(index, incoming, "any")])]);
        let flow = flow(&mut core, 7);
        assert_eq!((&flow["path"], &flow["reason"]), (&json!("slow"), &json!("shaped")));
        assert_eq!(offloaded(&maps), 0);
        changes(&mut core, vec![queues(&[])]);
        update(&mut core, established(7, false));
        assert_eq!(offloaded(&maps), 2);
    }
}

fn running_at(hook: Hook, hook_name: &'static str, found: &[(u32, bool, &str)]) -> Core {
    let mut core = asking();
    changes(&mut core, vec![queues(found)]);
    let mut programs = outcome(&Fake::default(), &NAMES, &[]);
    for program in &mut programs.programs {
        (program.hook, program.hook_name) = (Some(hook), hook_name);
    }
    core.attached(Ok(programs));
    core.applied(Ok(Applied::Removed));
    core
}

fn reason_at(hook: Hook, hook_name: &'static str, found: &[(u32, bool, &str)]) -> Value {
    let mut core = running_at(hook, hook_name, found);
    update(&mut core, established(7, false));
    flow(&mut core, 7)["reason"].take()
}

#[test]
fn the_hook_decides_which_queues_would_be_bypassed() {
    assert_eq!(reason_at(Hook::Xdp, "xdp", &[(3, false, "cake")]), "shaped");
    let ours = [(1, true, "clsact"), (3, true, "clsact")];
    assert_eq!(reason_at(Hook::Tc, "clsact", &ours), "");
    assert_eq!(reason_at(Hook::Tc, "tcx", &ours), "shaped");
}

/// Removes the clsact as `tc qdisc del dev lan2 clsact` does.
#[test]
fn a_program_that_is_removed_with_its_clsact_is_attached_again() {
    let everywhere = [(1, true, "clsact"), (2, true, "clsact"), (3, true, "clsact")];
    let lan2_has_none = [everywhere[0], everywhere[2]];
    let mut core = running_at(Hook::Tc, "clsact", &everywhere);
    assert_eq!(core.network_changed(vec![queues(&lan2_has_none)]), [attach(&NAMES)]);
    // The request is sent once.
    assert_eq!(core.network_changed(vec![queues(&everywhere)]), []);
    // TCX needs no clsact, so the administrator may remove one.
    let mut core = running_at(Hook::Tc, "tcx", &everywhere);
    assert!(!core.network_changed(vec![queues(&lan2_has_none)]).contains(&attach(&NAMES)));
    // After the engine is switched off, programs must not be attached again.
    let mut core = running_at(Hook::Tc, "clsact", &everywhere);
    assert!(core.command(Engine::Off).contains(&attach(&[])));
    assert!(!core.network_changed(vec![queues(&lan2_has_none)]).contains(&attach(&[])));
}
