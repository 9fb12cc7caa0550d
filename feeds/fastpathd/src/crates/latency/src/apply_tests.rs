// SPDX-License-Identifier: GPL-2.0-or-later
use netlink::{Refusal, message};

use super::*;

const IFB_INDEX: u32 = 31;

/// A kernel that keeps the objects of all requests.
#[derive(Debug, Default)]
struct Fake {
    has_ifb: bool,
    qdiscs: Vec<Vec<u8>>,
    filters: Vec<Vec<u8>>,
    /// Messages that were refused, by kind of message and number of the device.
    refuses: Option<(u16, u32, i32)>,
    changes: usize,
}

fn number(payload: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(*payload[at..].first_chunk().unwrap())
}

fn index(payload: &[u8]) -> u32 {
    number(payload, 4)
}

fn parent(payload: &[u8]) -> u32 {
    number(payload, 12)
}

fn refusal(errno: i32) -> RequestError {
    RequestError::Refused(Refusal { errno, text: None })
}

impl Fake {
    /// Someone else's.
    fn with(qdiscs: &[(u32, u32, &str)]) -> Self {
        let payload = |(index, parent, kind): &(u32, u32, &str)| {
            let mut payload = [0, *index, 0x8001_0000, *parent, 2].map(u32::to_ne_bytes).concat();
            netlink::push_attribute(&mut payload, 1, &[kind.as_bytes(), b"\0"].concat());
            payload
        };
        Self { qdiscs: qdiscs.iter().map(payload).collect(), ..Self::default() }
    }

    fn kinds(&self) -> Vec<(u32, String)> {
        let mut kinds: Vec<(u32, String)> = self
            .qdiscs
            .iter()
            .filter_map(|payload| Qdisc::parse(payload))
            .map(|qdisc| (qdisc.index, qdisc.kind))
            .collect();
        kinds.sort();
        kinds
    }

    fn change(&mut self, kind: u16, payload: &[u8]) -> Result<(), RequestError> {
        if let Some((refused, device, errno)) = self.refuses
            && (refused, device) == (kind, index(payload))
        {
            return Err(refusal(errno));
        }
        self.changes += 1;
        let (device, above) = (index(payload), parent(payload));
        let other = |known: &Vec<u8>| (index(known), parent(known)) != (device, above);
        match kind {
            wire::NEW_LINK => self.has_ifb = true,
            wire::DEL_LINK => {
                self.has_ifb = false;
                self.qdiscs.retain(|known| index(known) != IFB_INDEX);
            }
            wire::NEW_QDISC | wire::DEL_QDISC => {
                self.qdiscs.retain(other);
                if kind == wire::NEW_QDISC {
                    self.qdiscs.push(payload.to_vec());
                } else {
                    self.filters.retain(|known| index(known) != device);
                }
            }
            wire::NEW_FILTER => self.filters.push(payload.to_vec()),
            wire::DEL_FILTER => {
                let priority = number(payload, 16);
                self.filters.retain(|known| other(known) || number(known, 16) != priority);
            }
            kind => panic!("message {kind}"),
        }
        Ok(())
    }
}

impl Kernel for Fake {
    fn request(&mut self, kind: u16, _: u16, payload: &[u8]) -> Result<Vec<u8>, RequestError> {
        if kind != wire::GET_LINK {
            return self.change(kind, payload).map(|()| Vec::new());
        }
        if !self.has_ifb {
            return Err(refusal(libc::ENODEV));
        }
        Ok(message(wire::NEW_LINK, 0, 0, &wire::link(IFB_INDEX)))
    }

    fn dump(&mut self, kind: u16, payload: &[u8]) -> Result<Vec<u8>, RequestError> {
        let here =
            |known: &&Vec<u8>| (index(known), parent(known)) == (index(payload), parent(payload));
        let (of, found) = if kind == wire::GET_QDISC {
            (wire::NEW_QDISC, self.qdiscs.clone())
        } else {
            (wire::NEW_FILTER, self.filters.iter().filter(here).cloned().collect())
        };
        Ok(found.iter().flat_map(|payload| message(of, 0, 0, payload)).collect())
    }
}

fn device(index: u32, name: &str) -> Device {
    Device { index, name: name.into() }
}

fn plan() -> Plan {
    Plan {
        interface: "wan".to_owned(),
        port: device(3, "wan"),
        sources: vec![device(5, "pppoe-wan"), device(4, "wan.35"), device(3, "wan")],
        hosts: vec![device(1, "lan1"), device(2, "lan2")],
        download: 50_000,
        upload: 10_000,
        overhead: 50,
        shortest: 84,
        included: 8,
    }
}

fn all() -> Vec<(u32, String)> {
    let kinds = [(1, "clsact"), (2, "clsact"), (3, "cake"), (IFB_INDEX, "cake")];
    kinds.map(|(index, kind)| (index, kind.to_owned())).to_vec()
}

#[test]
fn a_plan_is_put_once() {
    let mut kernel = Fake::with(&[]);
    assert_eq!(apply(&mut kernel, &plan(), None), Ok(Applied::Changed));
    assert_eq!(kernel.kinds(), all());
    // For each port the packets from each of three devices, and those that come back.
    assert_eq!(kernel.filters.len(), 8);
    kernel.changes = 0;
    assert_eq!(apply(&mut kernel, &plan(), Some(&plan())), Ok(Applied::Unchanged));
    assert_eq!(kernel.changes, 0);
}

#[test]
fn what_others_removed_is_put_again() {
    let mut kernel = Fake::with(&[]);
    apply(&mut kernel, &plan(), None).unwrap();
    let damages: [fn(&mut Fake); 4] = [
        |kernel| kernel.qdiscs.retain(|qdisc| index(qdisc) != 3),
        |kernel| kernel.change(wire::DEL_LINK, &wire::link(IFB_INDEX)).unwrap(),
        |kernel| drop(kernel.filters.pop()),
        |kernel| kernel.change(wire::DEL_QDISC, &wire::clsact(2)).unwrap(),
    ];
    for damage in damages {
        damage(&mut kernel);
        assert_eq!(apply(&mut kernel, &plan(), Some(&plan())), Ok(Applied::Changed));
        assert_eq!((kernel.kinds(), kernel.filters.len()), (all(), 8));
    }
}

#[test]
fn other_rates_replace_the_queues_alone() {
    let mut kernel = Fake::with(&[]);
    apply(&mut kernel, &plan(), None).unwrap();
    kernel.changes = 0;
    let faster = Plan { download: 60_000, ..plan() };
    assert_eq!(apply(&mut kernel, &faster, Some(&plan())), Ok(Applied::Changed));
    assert_eq!(kernel.changes, 2);
}

#[test]
fn a_reconnect_renews_the_filters_and_another_port_takes_over() {
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
fn nothing_of_others_is_touched() {
    for (on, kind, parent) in [("wan", "cake", wire::ROOT), ("wan", "htb", wire::ROOT)] {
        let mut kernel = Fake::with(&[(3, parent, kind)]);
        let reason = LatencyReason::Foreign { device: on.to_owned(), kind: kind.to_owned() };
        assert_eq!(apply(&mut kernel, &plan(), None), Err(reason));
        assert_eq!(kernel.changes, 0);
    }
    let mut kernel = Fake::with(&[(2, wire::CLSACT, "ingress")]);
    let reason = LatencyReason::Foreign { device: "lan2".to_owned(), kind: "ingress".to_owned() };
    assert_eq!(apply(&mut kernel, &plan(), None), Err(reason));
    // The default ones are nobody's.
    let mut kernel = Fake::with(&[(3, wire::ROOT, "mq"), (9, wire::ROOT, "cake")]);
    apply(&mut kernel, &plan(), None).unwrap();
    remove(&mut kernel).unwrap();
    assert_eq!(kernel.kinds(), [(9, "cake".to_owned())]);
}

#[test]
fn all_of_ours_is_removed_and_a_clsact_with_other_filters_stays() {
    let mut kernel = Fake::with(&[]);
    apply(&mut kernel, &plan(), None).unwrap();
    let mut theirs = wire::pass(1);
    theirs[16..20].copy_from_slice(&(9_u32 << 16).to_ne_bytes());
    kernel.filters.push(theirs.clone());
    remove(&mut kernel).unwrap();
    assert_eq!(kernel.kinds(), [(1, "clsact".to_owned())]);
    assert_eq!(kernel.filters, [theirs]);
    assert!(!kernel.has_ifb);
    kernel.changes = 0;
    remove(&mut kernel).unwrap();
    assert_eq!(kernel.changes, 0);
}

#[test]
fn a_missing_module_is_named_and_nothing_is_left() {
    let cases = [
        (wire::NEW_LINK, 0, libc::EOPNOTSUPP, "ifb"),
        (wire::NEW_QDISC, 3, libc::ENOENT, "sch_cake"),
        (wire::NEW_QDISC, 1, libc::ENOENT, "sch_ingress"),
        (wire::NEW_FILTER, 2, libc::ENOENT, "cls_u32"),
    ];
    for (kind, device, errno, module) in cases {
        let mut kernel = Fake { refuses: Some((kind, device, errno)), ..Fake::default() };
        let reason = LatencyReason::NoModule { module: module.to_owned() };
        assert_eq!(apply(&mut kernel, &plan(), None), Err(reason));
        assert_eq!((kernel.kinds(), kernel.has_ifb), (Vec::new(), false), "{module}");
    }
}

#[test]
fn a_refusal_brings_the_plan_before_back() {
    let mut kernel = Fake::with(&[]);
    apply(&mut kernel, &plan(), None).unwrap();
    kernel.refuses = Some((wire::NEW_QDISC, 7, libc::EINVAL));
    let more = Plan {
        download: 60_000,
        hosts: vec![device(1, "lan1"), device(2, "lan2"), device(7, "lan3")],
        ..plan()
    };
    let reason = apply(&mut kernel, &more, Some(&plan())).unwrap_err();
    assert!(matches!(reason, LatencyReason::Refused { .. }), "{reason:?}");
    kernel.refuses = None;
    assert_eq!(apply(&mut kernel, &plan(), None), Ok(Applied::Unchanged));
}
