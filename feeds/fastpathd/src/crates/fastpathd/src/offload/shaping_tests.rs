// SPDX-License-Identifier: GPL-2.0-or-later
//! Queues and limits that the eBPF engine must not bypass.

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
    // The queue of wan itself is kept by TC.
    changes(&mut core, vec![queues(&[(3, false, "cake")])]);
    assert_eq!(carried(&maps), 2);
    // That of pppoe-wan is not, nor those for incoming packets.
    for (index, incoming) in [(8, false), (8, true), (3, true)] {
        changes(&mut core, vec![queues(&[(index, incoming, "any")])]);
        let flow = flow(&mut core, 7);
        assert_eq!((&flow["path"], &flow["reason"]), (&json!("slow"), &json!("shaped")));
        assert_eq!(carried(&maps), 0);
        changes(&mut core, vec![queues(&[])]);
        update(&mut core, established(7, false));
        assert_eq!(carried(&maps), 2);
    }
}

/// A core with these queues and with programs at this hook.
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

/// The reason of a connection through programs at this hook, with these queues.
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

/// As `tc qdisc del dev lan2 clsact` does it.
#[test]
fn a_program_that_is_removed_with_its_clsact_is_attached_again() {
    let everywhere = [(1, true, "clsact"), (2, true, "clsact"), (3, true, "clsact")];
    let lan2_has_none = [everywhere[0], everywhere[2]];
    let mut core = running_at(Hook::Tc, "clsact", &everywhere);
    assert_eq!(core.network_changed(vec![queues(&lan2_has_none)]), [attach(&NAMES)]);
    // Once: the outcome is awaited.
    assert_eq!(core.network_changed(vec![queues(&everywhere)]), []);
    // TCX needs none, and one of the administrator's may go.
    let mut core = running_at(Hook::Tc, "tcx", &everywhere);
    assert!(!core.network_changed(vec![queues(&lan2_has_none)]).contains(&attach(&NAMES)));
    // When the engine is switched off, they are to go.
    let mut core = running_at(Hook::Tc, "clsact", &everywhere);
    assert!(core.command(Engine::Off).contains(&attach(&[])));
    assert!(!core.network_changed(vec![queues(&lan2_has_none)]).contains(&attach(&[])));
}
