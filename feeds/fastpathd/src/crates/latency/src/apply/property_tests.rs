// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests arbitrary histories of plans, refusals and changes by other programs: afterwards, either
//! the plan is in force, or none of fastpath's objects exist and a reason is reported.

use proptest::prelude::*;

use super::fake::*;
use super::*;

#[derive(Debug, Clone)]
enum Step {
    Want(Option<Plan>),
    Refuse(Option<(u16, u32)>),
    Root(u32, &'static str),
    NoRoot(u32),
    Ingress(u32),
    NoIngress(u32),
    Clsact(u32),
    NoClsact(u32),
    Stray(u32),
    LoseFilter(usize),
    IfbDown,
    NoIfb,
    /// The device is removed with all its objects, and recreated without them.
    Gone(u32),
    /// The daemon restarts and does not know the plan in force.
    Restart,
}

fn plans() -> impl Strategy<Value = Plan> {
    let devices = || [device(1, "lan1"), device(2, "lan2"), device(3, "wan"), device(7, "lan3")];
    (0..4_usize, 0..8_u8, 0..2_u32, any::<bool>()).prop_map(move |(port, hosts, rate, session)| {
        let [mut others @ .., last] = devices();
        let port =
            if port == 3 { last.clone() } else { std::mem::replace(&mut others[port], last) };
        let on = others.into_iter().enumerate().filter(|(at, _)| hosts & 1 << at != 0);
        let mut sources = vec![port.clone()];
        sources.extend(session.then(|| device(5, "pppoe-wan")));
        let hosts = on.map(|(_, host)| host).collect();
        Plan { port, sources, hosts, download: 50_000 + rate, ..plan() }
    })
}

fn steps() -> impl Strategy<Value = Step> {
    let port = || prop::sample::select(vec![1_u32, 2, 3, 7]);
    let refused = prop::sample::select(vec![
        (wire::NEW_LINK, 0),
        (wire::NEW_LINK, IFB_INDEX),
        (wire::DEL_LINK, IFB_INDEX),
        (wire::NEW_QDISC, IFB_INDEX),
        (wire::NEW_QDISC, 1),
        (wire::NEW_QDISC, 3),
        (wire::NEW_FILTER, 2),
        (wire::NEW_FILTER, 7),
        (wire::DEL_FILTER, 1),
    ]);
    prop_oneof![
        4 => prop::option::weighted(0.8, plans()).prop_map(Step::Want),
        1 => prop::option::of(refused).prop_map(Step::Refuse),
        1 => (port(), prop::sample::select(vec!["htb", "cake", "mq", "fq_codel"]))
            .prop_map(|(port, kind)| Step::Root(port, kind)),
        1 => port().prop_map(Step::NoRoot),
        1 => port().prop_map(Step::Ingress),
        1 => port().prop_map(Step::NoIngress),
        1 => port().prop_map(Step::Clsact),
        1 => port().prop_map(Step::NoClsact),
        1 => port().prop_map(Step::Stray),
        1 => any::<usize>().prop_map(Step::LoseFilter),
        1 => Just(Step::IfbDown),
        1 => Just(Step::NoIfb),
        1 => port().prop_map(Step::Gone),
        1 => Just(Step::Restart),
    ]
}

impl Fake {
    fn meddle(&mut self, step: &Step) {
        let drop_from = |kernel: &mut Self, device, parent| {
            kernel.qdiscs.retain(|known| (index(known), self::parent(known)) != (device, parent));
        };
        match *step {
            Step::Want(_) | Step::Restart => {}
            Step::Gone(port) => {
                self.qdiscs.retain(|known| index(known) != port);
                self.filters.retain(|filter| index(filter) != port);
            }
            Step::Refuse(refused) => {
                self.refused_request = refused.map(|(kind, device)| (kind, device, libc::EBUSY));
            }
            Step::Root(port, kind) => {
                drop_from(self, port, wire::ROOT);
                self.qdiscs.push(theirs(port, wire::ROOT, kind));
            }
            Step::NoRoot(port) => drop_from(self, port, wire::ROOT),
            Step::Ingress(port) if self.has(port, "clsact") => {}
            Step::Ingress(port) => {
                drop_from(self, port, wire::CLSACT);
                self.qdiscs.push(theirs(port, wire::CLSACT, "ingress"));
            }
            Step::NoIngress(port) if self.has(port, "clsact") => {}
            Step::NoIngress(port) => drop_from(self, port, wire::CLSACT),
            Step::Clsact(port) if self.has(port, "ingress") => {}
            Step::Clsact(port) => {
                if !self.has(port, "clsact") {
                    self.qdiscs.push(theirs(port, wire::CLSACT, "clsact"));
                }
                let mut filter = wire::pass(port);
                filter[16..20].copy_from_slice(&(9_u32 << 16).to_ne_bytes());
                self.filters.push(filter);
            }
            Step::NoClsact(port) if self.has(port, "ingress") => {}
            Step::NoClsact(port) => {
                drop_from(self, port, wire::CLSACT);
                self.filters.retain(|filter| index(filter) != port);
            }
            Step::Stray(port) => {
                if self.has(port, "clsact") {
                    self.filters.push(wire::redirect(port, "wan9", IFB_INDEX));
                }
            }
            Step::LoseFilter(at) => {
                let ours = self.filters.iter().filter(|filter| wire::is_ours(filter)).count();
                let nth = (0..self.filters.len()).filter(|at| wire::is_ours(&self.filters[*at]));
                if let Some(lost) = nth.clone().nth(at % ours.max(1))
                    // Keep the last filter, which identifies the clsact as ours.
                    && nth
                        .filter(|at| index(&self.filters[*at]) == index(&self.filters[lost]))
                        .count()
                        > 1
                {
                    self.filters.remove(lost);
                }
            }
            Step::IfbDown => self.ifb = self.ifb.map(|(index, _)| (index, false)),
            Step::NoIfb => {
                if let Some((gone, _)) = self.ifb.take() {
                    self.qdiscs.retain(|known| index(known) != gone);
                }
            }
        }
    }
}

/// Applies a plan; asserts that it, the previous plan `in_force` or no object of fastpath is in
/// force.
fn reconciled(kernel: &mut Fake, plan: Option<&Plan>, in_force: Option<&Plan>) -> Option<Plan> {
    let others = kernel.theirs();
    let result = match plan {
        Some(plan) => apply(kernel, plan, in_force),
        None => remove(kernel).map_err(|reason| Failure { reason, remaining: Remaining::Unknown }),
    };
    let now = match (&result, plan) {
        (Ok(_), plan) | (Err(Failure { remaining: Remaining::Nothing, .. }), plan @ None) => plan,
        (Err(Failure { remaining: Remaining::Previous, .. }), _) => in_force,
        (Err(Failure { remaining: Remaining::Nothing, .. }), Some(_)) => None,
        (Err(Failure { remaining: Remaining::Unknown, .. }), _) => {
            assert!(kernel.refused_request.is_some(), "{result:?}");
            return None;
        }
    };
    let expected = now.map(|plan| kernel.wanted(plan)).unwrap_or_default();
    assert_eq!(kernel.ours(), expected, "{result:?}");
    for (device, kind) in kernel.kinds().into_iter().filter(|(_, kind)| kind == "clsact") {
        let is_host = now.is_some_and(|plan| plan.has_host(device));
        let has_filter = kernel.filters.iter().any(|filter| index(filter) == device);
        assert!(is_host || has_filter, "{device} has an empty {kind}: {result:?}");
    }
    let (mut queues, filters) = kernel.theirs();
    // Ignore default queues, which CAKE replaces.
    let mut before = others.0;
    let default = |qdisc: &Vec<u8>| is_default(&Qdisc::parse(qdisc).unwrap());
    queues.retain(|qdisc| !default(qdisc));
    before.retain(|qdisc| !default(qdisc));
    assert_eq!((queues, filters), (before, others.1), "{result:?}");
    now.cloned()
}

proptest! {
    #[test]
    fn reconciles_after_any_history(
        steps in prop::collection::vec(steps(), 1..40),
    ) {
        let (mut kernel, mut wanted, mut in_force) = (Fake::default(), None, None);
        for step in &steps {
            kernel.meddle(step);
            if let Step::Want(plan) = step {
                wanted.clone_from(plan);
            }
            if matches!(step, Step::Restart) {
                in_force = None;
            }
            in_force = reconciled(&mut kernel, wanted.as_ref(), in_force.as_ref());
        }
        kernel.refused_request = None;
        reconciled(&mut kernel, wanted.as_ref(), in_force.as_ref());
    }
}
