// SPDX-License-Identifier: GPL-2.0-or-later
//! Fake kernel that stores the objects of all requests.

use super::*;
use netlink::{Refusal, message};

pub(super) const IFB_INDEX: u32 = 31;

#[derive(Debug, Default)]
pub(super) struct Fake {
    /// Index of the ifb, and whether it is up.
    pub(super) ifb: Option<(u32, bool)>,
    pub(super) created: u32,
    pub(super) qdiscs: Vec<Vec<u8>>,
    pub(super) filters: Vec<Vec<u8>>,
    /// Request to refuse: message type, device index, errno.
    pub(super) refused_request: Option<(u16, u32, i32)>,
    pub(super) changes: usize,
}

pub(super) fn number(payload: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(*payload[at..].first_chunk().unwrap())
}

pub(super) fn index(payload: &[u8]) -> u32 {
    number(payload, 4)
}

pub(super) fn parent(payload: &[u8]) -> u32 {
    number(payload, 12)
}

pub(super) fn refusal(errno: i32) -> RequestError {
    RequestError::Refused(Refusal { errno, text: None })
}

impl Fake {
    /// Returns a kernel with these queueing disciplines of other programs.
    pub(super) fn with(qdiscs: &[(u32, u32, &str)]) -> Self {
        let qdiscs = qdiscs.iter().map(|(index, parent, kind)| theirs(*index, *parent, kind));
        Self { qdiscs: qdiscs.collect(), ..Self::default() }
    }

    pub(super) fn kinds(&self) -> Vec<(u32, String)> {
        let mut kinds: Vec<(u32, String)> = self
            .qdiscs
            .iter()
            .filter_map(|payload| Qdisc::parse(payload))
            .map(|qdisc| (qdisc.index, qdisc.kind))
            .collect();
        kinds.sort();
        kinds
    }

    pub(super) fn change(&mut self, kind: u16, payload: &[u8]) -> Result<(), RequestError> {
        if let Some((refused, device, errno)) = self.refused_request
            && (refused, device) == (kind, index(payload))
        {
            return Err(refusal(errno));
        }
        self.changes += 1;
        let device = index(payload);
        let at = |known: &Vec<u8>| (index(known), parent(known)) == (device, parent(payload));
        match kind {
            wire::NEW_LINK if device == 0 => {
                assert_eq!(self.ifb, None);
                self.ifb = Some((IFB_INDEX + self.created, number(payload, 8) & 1 == 1));
                self.created += 1;
            }
            wire::NEW_LINK => self.ifb = Some((device, true)),
            wire::DEL_LINK => {
                self.ifb = None;
                self.qdiscs.retain(|known| index(known) != device);
            }
            wire::NEW_QDISC => {
                let is_classifier = parent(payload) == wire::CLSACT;
                if is_classifier && self.qdiscs.iter().any(at) {
                    return Err(refusal(libc::EEXIST));
                }
                self.qdiscs.retain(|known| !at(known));
                self.qdiscs.push(payload.to_vec());
            }
            wire::DEL_QDISC => {
                let found = self.qdiscs.iter().position(at).ok_or_else(|| refusal(libc::ENOENT))?;
                if number(&self.qdiscs[found], 8) != number(payload, 8) {
                    return Err(refusal(libc::EINVAL));
                }
                self.qdiscs.remove(found);
                if parent(payload) == wire::CLSACT {
                    self.filters.retain(|known| index(known) != device);
                }
            }
            wire::NEW_FILTER => {
                if !self.has(device, "clsact") {
                    return Err(refusal(libc::EINVAL));
                }
                self.filters.push(payload.to_vec());
            }
            wire::DEL_FILTER => {
                let before = self.filters.len();
                let priority = number(payload, 16);
                self.filters.retain(|known| !at(known) || number(known, 16) != priority);
                if self.filters.len() == before {
                    return Err(refusal(libc::ENOENT));
                }
            }
            kind => panic!("message {kind}"),
        }
        Ok(())
    }

    pub(super) fn has(&self, device: u32, kind: &str) -> bool {
        self.kinds().contains(&(device, kind.to_owned()))
    }

    /// Returns fastpath's objects, in the style of `tc`.
    pub(super) fn ours(&self) -> Vec<(u32, String)> {
        let filters = self.filters.iter().filter(|filter| wire::is_ours(filter));
        let filters = filters.map(|filter| {
            let (source, target) = wire::redirected(filter).unwrap();
            (index(filter), format!("from {source} to {target}"))
        });
        let qdiscs = self.qdiscs.iter().filter_map(|qdisc| Qdisc::parse(qdisc));
        let cakes = qdiscs.filter(Qdisc::is_ours).map(|qdisc| (qdisc.index, qdisc.kind));
        let ifb = self.ifb.map(|(index, up)| (index, format!("ifb {up}")));
        let mut ours: Vec<_> = filters.chain(cakes).chain(ifb).collect();
        ours.sort();
        ours
    }

    /// Returns the result of `ours` if the plan is in force.
    pub(super) fn wanted(&self, plan: &Plan) -> Vec<(u32, String)> {
        let ifb = self.ifb.map_or(0, |(index, _)| index);
        let mut wanted = vec![
            (ifb, "ifb true".to_owned()),
            (ifb, "cake".to_owned()),
            (plan.port.index, "cake".to_owned()),
        ];
        for host in &plan.hosts {
            wanted.push((host.index, format!("from {} to 0", wire::IFB)));
            let from = |source: &Device| (host.index, format!("from {} to {ifb}", source.name));
            wanted.extend(plan.sources.iter().map(from));
        }
        wanted.sort();
        wanted
    }

    pub(super) fn theirs(&self) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
        let is_theirs = |qdisc: &&Vec<u8>| {
            let found = Qdisc::parse(qdisc).unwrap();
            !found.is_ours() && found.kind != "clsact" && Some(found.index) != self.ifb.map(|i| i.0)
        };
        let filters = self.filters.iter().filter(|filter| !wire::is_ours(filter)).cloned();
        (self.qdiscs.iter().filter(is_theirs).cloned().collect(), filters.collect())
    }
}

pub(super) fn theirs(index: u32, parent: u32, kind: &str) -> Vec<u8> {
    let handle = if parent == wire::CLSACT { 0xffff_0000 } else { 0x8001_0000 };
    let mut payload = [0, index, handle, parent, 2].map(u32::to_ne_bytes).concat();
    netlink::push_attribute(&mut payload, 1, &[kind.as_bytes(), b"\0"].concat());
    payload
}

impl Kernel for Fake {
    fn request(&mut self, kind: u16, _: u16, payload: &[u8]) -> Result<Vec<u8>, RequestError> {
        if kind != wire::GET_LINK {
            return self.change(kind, payload).map(|()| Vec::new());
        }
        let (index, up) = self.ifb.ok_or_else(|| refusal(libc::ENODEV))?;
        let link = if up { wire::link_up(index) } else { wire::link(index) };
        Ok(message(wire::NEW_LINK, 0, 0, &link))
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

pub(super) fn device(index: u32, name: &str) -> Device {
    Device { index, name: name.into() }
}

pub(super) fn plan() -> Plan {
    Plan {
        interface: "wan".to_owned(),
        port: device(3, "wan"),
        sources: vec![device(5, "pppoe-wan"), device(4, "wan.35"), device(3, "wan")],
        hosts: vec![device(1, "lan1"), device(2, "lan2")],
        download: 50_000,
        upload: 10_000,
        overhead: 50,
        mpu: 84,
        included: 8,
    }
}
