// SPDX-License-Identifier: GPL-2.0-or-later
use super::fake::*;
use super::*;

/// Returns a failure after which no object of fastpath remains.
fn nothing_left(reason: LatencyReason) -> Result<Applied, Failure> {
    Err(Failure { reason, remaining: Remaining::Nothing })
}

fn all() -> Vec<(u32, String)> {
    let kinds = [(1, "clsact"), (2, "clsact"), (3, "cake"), (IFB_INDEX, "cake")];
    kinds.map(|(index, kind)| (index, kind.to_owned())).to_vec()
}

#[test]
fn an_applied_plan_needs_no_change() {
    let mut kernel = Fake::with(&[]);
    assert_eq!(apply(&mut kernel, &plan(), None), Ok(Applied::Changed));
    assert_eq!(kernel.kinds(), all());
    // Each port has three redirect filters and one pass filter.
    assert_eq!(kernel.filters.len(), 8);
    kernel.changes = 0;
    assert_eq!(apply(&mut kernel, &plan(), Some(&plan())), Ok(Applied::Unchanged));
    assert_eq!(kernel.changes, 0);
}

#[test]
fn restores_objects_that_other_programs_removed() {
    let mut kernel = Fake::with(&[]);
    apply(&mut kernel, &plan(), None).unwrap();
    let damages: [fn(&mut Fake); 5] = [
        |kernel| kernel.qdiscs.retain(|qdisc| index(qdisc) != 3),
        |kernel| kernel.change(wire::DEL_LINK, &wire::link(IFB_INDEX)).unwrap(),
        // A device that is down drops redirected packets.
        |kernel| kernel.ifb = kernel.ifb.map(|(index, _)| (index, false)),
        |kernel| drop(kernel.filters.pop()),
        |kernel| kernel.change(wire::DEL_QDISC, &wire::clsact(2)).unwrap(),
    ];
    for damage in damages {
        damage(&mut kernel);
        assert_eq!(apply(&mut kernel, &plan(), Some(&plan())), Ok(Applied::Changed));
        assert_eq!(kernel.ours(), kernel.wanted(&plan()));
    }
}

#[test]
fn new_rates_replace_only_the_qdiscs() {
    let mut kernel = Fake::with(&[]);
    apply(&mut kernel, &plan(), None).unwrap();
    kernel.changes = 0;
    let faster = Plan { download: 60_000, ..plan() };
    assert_eq!(apply(&mut kernel, &faster, Some(&plan())), Ok(Applied::Changed));
    assert_eq!(kernel.changes, 2);
}

#[test]
fn adapts_filters_and_qdiscs_to_a_new_port() {
    let mut kernel = Fake::with(&[]);
    apply(&mut kernel, &plan(), None).unwrap();
    let down = Plan { sources: vec![device(4, "wan.35"), device(3, "wan")], ..plan() };
    apply(&mut kernel, &down, Some(&plan())).unwrap();
    assert_eq!(kernel.filters.len(), 6);
    let moved = Plan {
        port: device(2, "lan2"),
        sources: vec![device(2, "lan2")],
        hosts: vec![device(1, "lan1"), device(3, "wan")],
        ..plan()
    };
    apply(&mut kernel, &moved, Some(&down)).unwrap();
    let kinds = [(1, "clsact"), (2, "cake"), (3, "clsact"), (IFB_INDEX, "cake")];
    assert_eq!(kernel.kinds(), kinds.map(|(index, kind)| (index, kind.to_owned())));
}

#[test]
fn keeps_queues_of_other_programs() {
    for (on, kind, parent) in [("wan", "cake", wire::ROOT), ("wan", "htb", wire::ROOT)] {
        let mut kernel = Fake::with(&[(3, parent, kind)]);
        let reason = LatencyReason::Foreign { device: on.to_owned(), kind: kind.to_owned() };
        assert_eq!(apply(&mut kernel, &plan(), None), nothing_left(reason));
        assert_eq!(kernel.changes, 0);
    }
    let mut kernel = Fake::with(&[(2, wire::CLSACT, "ingress")]);
    let reason = LatencyReason::Foreign { device: "lan2".to_owned(), kind: "ingress".to_owned() };
    assert_eq!(apply(&mut kernel, &plan(), None), nothing_left(reason));
    // Default queueing disciplines do not count as foreign.
    let mut kernel = Fake::with(&[(3, wire::ROOT, "mq"), (9, wire::ROOT, "cake")]);
    apply(&mut kernel, &plan(), None).unwrap();
    remove(&mut kernel).unwrap();
    assert_eq!(kernel.kinds(), [(9, "cake".to_owned())]);
}

#[test]
fn remove_keeps_a_clsact_with_foreign_filters() {
    let mut kernel = Fake::with(&[]);
    apply(&mut kernel, &plan(), None).unwrap();
    let mut theirs = wire::pass(1);
    theirs[16..20].copy_from_slice(&(9_u32 << 16).to_ne_bytes());
    kernel.filters.push(theirs.clone());
    remove(&mut kernel).unwrap();
    assert_eq!(kernel.kinds(), [(1, "clsact".to_owned())]);
    assert_eq!(kernel.filters, [theirs]);
    assert_eq!(kernel.ours(), []);
    kernel.changes = 0;
    assert_eq!(remove(&mut kernel), Ok(Applied::Unchanged));
    assert_eq!(kernel.changes, 0);
}

#[test]
fn reports_a_missing_module_and_leaves_no_objects() {
    let cases = [
        (wire::NEW_LINK, 0, libc::EOPNOTSUPP, "ifb"),
        (wire::NEW_QDISC, 3, libc::ENOENT, "sch_cake"),
        (wire::NEW_QDISC, 1, libc::ENOENT, "sch_ingress"),
        (wire::NEW_FILTER, 2, libc::ENOENT, "cls_u32"),
    ];
    for (kind, device, errno, module) in cases {
        let mut kernel = Fake { refused_request: Some((kind, device, errno)), ..Fake::default() };
        let reason = LatencyReason::NoModule { module: module.to_owned() };
        assert_eq!(apply(&mut kernel, &plan(), None), nothing_left(reason));
        assert_eq!((kernel.kinds(), kernel.ifb), (Vec::new(), None), "{module}");
    }
}

#[test]
fn a_refusal_restores_the_previous_plan() {
    let mut kernel = Fake::with(&[]);
    apply(&mut kernel, &plan(), None).unwrap();
    kernel.refused_request = Some((wire::NEW_QDISC, 7, libc::EINVAL));
    let more = Plan {
        download: 60_000,
        hosts: vec![device(1, "lan1"), device(2, "lan2"), device(7, "lan3")],
        ..plan()
    };
    let failure = apply(&mut kernel, &more, Some(&plan())).unwrap_err();
    assert!(matches!(failure.reason, LatencyReason::Refused { .. }), "{failure:?}");
    assert_eq!(failure.remaining, Remaining::Previous);
    kernel.refused_request = None;
    assert_eq!(apply(&mut kernel, &plan(), None), Ok(Applied::Unchanged));
}

#[test]
fn a_new_foreign_queue_removes_the_whole_plan() {
    for (device, parent, kind, name) in
        [(3, wire::ROOT, "htb", "wan"), (2, wire::CLSACT, "ingress", "lan2")]
    {
        let mut kernel = Fake::default();
        apply(&mut kernel, &plan(), None).unwrap();
        kernel
            .qdiscs
            .retain(|qdisc| (index(qdisc), super::fake::parent(qdisc)) != (device, parent));
        if parent == wire::CLSACT {
            kernel.filters.retain(|filter| index(filter) != device);
        }
        kernel.qdiscs.push(theirs(device, parent, kind));
        let reason = LatencyReason::Foreign { device: name.to_owned(), kind: kind.to_owned() };
        assert_eq!(apply(&mut kernel, &plan(), Some(&plan())), nothing_left(reason));
        assert_eq!(kernel.kinds(), [(device, kind.to_owned())]);
        assert_eq!(kernel.ours(), []);
    }
}

#[test]
fn removes_filters_from_ports_outside_the_plan() {
    let mut kernel = Fake::default();
    apply(&mut kernel, &plan(), None).unwrap();
    let fewer = Plan { hosts: vec![device(1, "lan1")], ..plan() };
    assert_eq!(apply(&mut kernel, &fewer, Some(&plan())), Ok(Applied::Changed));
    assert_eq!(kernel.ours(), kernel.wanted(&fewer));
    assert!(!kernel.has(2, "clsact"));
}

#[test]
fn a_refusal_for_one_device_does_not_prevent_other_removals() {
    let mut kernel = Fake::default();
    apply(&mut kernel, &plan(), None).unwrap();
    kernel.refused_request = Some((wire::DEL_FILTER, 1, libc::EBUSY));
    assert!(matches!(remove(&mut kernel), Err(LatencyReason::Refused { .. })));
    let mut left = kernel.ours();
    left.retain(|(device, _)| !matches!(device, 1 | 31));
    assert_eq!(left, []);
    // Without the ifb, the filter would drop packets.
    assert!(kernel.ifb.is_some());
}
