// SPDX-License-Identifier: GPL-2.0-or-later
//! Applies a plan: reads fastpath's objects in the kernel, changes those that differ, and reads
//! them back. After a failure, restores the previous plan or removes all objects.

use std::collections::BTreeMap;

use netlink::{Client, EXCL, RequestError, messages};

use crate::plan::{Device, Plan};
use crate::reason::LatencyReason;
use crate::wire::{self, Qdisc};

/// `NLM_F_REPLACE`.
const REPLACE: u16 = 0x100;

/// rtnetlink requests; the tests replace the kernel.
pub trait Kernel {
    /// Sends a request with additional flags.
    fn request(&mut self, kind: u16, flags: u16, payload: &[u8]) -> Result<Vec<u8>, RequestError>;
    /// Dumps a table.
    fn dump(&mut self, kind: u16, payload: &[u8]) -> Result<Vec<u8>, RequestError>;
}

impl Kernel for Client {
    fn request(&mut self, kind: u16, flags: u16, payload: &[u8]) -> Result<Vec<u8>, RequestError> {
        self.request_with(kind, flags, payload)
    }

    fn dump(&mut self, kind: u16, payload: &[u8]) -> Result<Vec<u8>, RequestError> {
        Self::dump(self, kind, payload)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Applied {
    Unchanged,
    Changed,
}

/// fastpath's objects in the kernel after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remaining {
    Nothing,
    Previous,
    /// Unknown, because the kernel refused to remove some.
    Unknown,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub reason: LatencyReason,
    pub remaining: Remaining,
}

/// Applies `plan`. After a failure, restores `previous` or removes all objects.
///
/// # Errors
/// Fails if a device has a queueing discipline of another program, or the kernel refuses.
pub fn apply(
    kernel: &mut impl Kernel,
    plan: &Plan,
    previous: Option<&Plan>,
) -> Result<Applied, Failure> {
    let reason = match reconcile(kernel, plan) {
        Ok(applied) => return Ok(applied),
        Err(reason) => reason,
    };
    let previous = previous.filter(|previous| *previous != plan);
    let remaining = if previous.is_some_and(|previous| reconcile(kernel, previous).is_ok()) {
        Remaining::Previous
    } else if remove(kernel).is_ok() {
        Remaining::Nothing
    } else {
        Remaining::Unknown
    };
    Err(Failure { reason, remaining })
}

/// Removes all of fastpath's objects.
///
/// # Errors
/// Fails if the kernel refuses to remove an object; removes all others.
pub fn remove(kernel: &mut impl Kernel) -> Result<Applied, LatencyReason> {
    let seen = Seen::read(kernel)?;
    let swept = sweep(kernel, &seen, None)?;
    // Remove the ifb last: a filter that redirects to a removed device drops its packets.
    let Some(ifb) = seen.ifb else { return Ok(swept) };
    ask(kernel, wire::DEL_LINK, 0, &wire::link(ifb.index))?;
    Ok(Applied::Changed)
}

fn reconcile(kernel: &mut impl Kernel, plan: &Plan) -> Result<Applied, LatencyReason> {
    let seen = Seen::read(kernel)?;
    seen.check_foreign(plan)?;
    if seen.is_exactly(plan) {
        return Ok(Applied::Unchanged);
    }
    put(kernel, &seen, plan)?;
    if Seen::read(kernel)?.is_exactly(plan) {
        return Ok(Applied::Changed);
    }
    Err(LatencyReason::Refused { said: "it reads back otherwise".to_owned() })
}

/// fastpath's objects in the kernel, and queueing disciplines of other programs.
struct Seen {
    qdiscs: Vec<Qdisc>,
    ifb: Option<Ifb>,
    /// Filters of devices with a clsact, by index.
    filters: BTreeMap<u32, Filters>,
}

#[derive(Default)]
struct Filters {
    /// fastpath has a filter or a filter table on the device.
    any: bool,
    /// Sorted pairs of source and target.
    redirects: Vec<(String, u32)>,
}

impl Seen {
    fn read(kernel: &mut impl Kernel) -> Result<Self, LatencyReason> {
        let answer = kernel.dump(wire::GET_QDISC, &wire::all_qdiscs()).map_err(|e| refused(&e))?;
        let qdiscs: Vec<Qdisc> =
            messages(&answer).filter_map(|message| Qdisc::parse(message.payload)).collect();
        let mut filters = BTreeMap::new();
        for qdisc in qdiscs.iter().filter(|qdisc| qdisc.kind == "clsact") {
            filters.insert(qdisc.index, Filters::read(kernel, qdisc.index)?);
        }
        Ok(Self { qdiscs, ifb: ifb(kernel)?, filters })
    }

    /// Fails if another program's queueing discipline occupies a planned place.
    fn check_foreign(&self, plan: &Plan) -> Result<(), LatencyReason> {
        let of = |device: &Device, qdisc: &Qdisc| LatencyReason::Foreign {
            device: device.name.to_string(),
            kind: qdisc.kind.clone(),
        };
        let root =
            self.qdiscs.iter().filter(|qdisc| qdisc.index == plan.port.index).find(|qdisc| {
                // Some child qdiscs report `ROOT` as their parent, too.
                qdisc.parent == wire::ROOT && !is_default(qdisc) && !qdisc.is_ours()
            });
        if let Some(root) = root {
            return Err(of(&plan.port, root));
        }
        for host in &plan.hosts {
            // An `ingress` qdisc occupies the place of a clsact.
            let mut on = self.qdiscs.iter().filter(|qdisc| qdisc.index == host.index);
            if let Some(ingress) = on.find(|qdisc| qdisc.kind == "ingress") {
                return Err(of(host, ingress));
            }
        }
        Ok(())
    }

    /// Returns whether the kernel has all objects of the plan, and no others of fastpath.
    fn is_exactly(&self, plan: &Plan) -> bool {
        // A device that is down drops redirected packets.
        let Some(ifb) = self.ifb.filter(|ifb| ifb.up) else { return false };
        let has = |index, is_download| {
            let wanted = wire::cake(plan, is_download);
            let mut on = self.qdiscs.iter().filter(|qdisc| qdisc.index == index);
            on.any(|qdisc| qdisc.is_ours() && qdisc.has(&wanted))
        };
        let mut ours = self.qdiscs.iter().filter(|qdisc| qdisc.is_ours());
        has(plan.port.index, false)
            && has(ifb.index, true)
            && ours.all(|qdisc| qdisc.index == ifb.index || qdisc.index == plan.port.index)
            && plan.hosts.iter().all(|host| self.has_filters(plan, host, ifb.index))
            && self.filters.iter().all(|(index, filters)| !filters.any || plan.has_host(*index))
    }

    fn has_filters(&self, plan: &Plan, host: &Device, ifb: u32) -> bool {
        let Some(filters) = self.filters.get(&host.index) else { return false };
        let mut wanted: Vec<(String, u32)> =
            plan.sources.iter().map(|source| (source.name.to_string(), ifb)).collect();
        wanted.push((wire::IFB.to_owned(), 0));
        config::sort::values(&mut wanted);
        filters.redirects == wanted
    }
}

impl Filters {
    fn read(kernel: &mut impl Kernel, index: u32) -> Result<Self, LatencyReason> {
        let answer = filters(kernel, index, wire::EGRESS)?;
        let any = messages(&answer).any(|message| wire::is_ours(message.payload));
        let mut redirects: Vec<(String, u32)> =
            messages(&answer).filter_map(|message| wire::redirected(message.payload)).collect();
        config::sort::values(&mut redirects);
        Ok(Self { any, redirects })
    }
}

fn is_default(qdisc: &Qdisc) -> bool {
    topology::is_default_queue(&qdisc.kind)
}

fn put(kernel: &mut impl Kernel, seen: &Seen, plan: &Plan) -> Result<(), LatencyReason> {
    sweep(kernel, seen, Some(plan))?;
    let ifb = match seen.ifb {
        Some(Ifb { index, up: true }) => index,
        Some(Ifb { index, up: false }) => {
            ask(kernel, wire::NEW_LINK, 0, &wire::link_up(index))?;
            index
        }
        None => {
            create(kernel, wire::NEW_LINK, EXCL, &wire::new_ifb(), "ifb")?;
            let made = ifb(kernel)?.map(|ifb| ifb.index);
            made.ok_or_else(|| LatencyReason::NoModule { module: "ifb".to_owned() })?
        }
    };
    for (index, is_download) in [(ifb, true), (plan.port.index, false)] {
        let root = wire::root(index, &wire::cake(plan, is_download));
        create(kernel, wire::NEW_QDISC, REPLACE, &root, "sch_cake")?;
    }
    for host in &plan.hosts {
        if !seen.has_filters(plan, host, ifb) {
            put_host(kernel, seen, plan, host.index, ifb)?;
        }
    }
    Ok(())
}

fn put_host(
    kernel: &mut impl Kernel,
    seen: &Seen,
    plan: &Plan,
    index: u32,
    ifb: u32,
) -> Result<(), LatencyReason> {
    let before = seen.filters.get(&index);
    match before {
        Some(filters) if filters.any => delete_filters(kernel, index)?,
        Some(_) => {}
        None => create(kernel, wire::NEW_QDISC, EXCL, &wire::clsact(index), "sch_ingress")?,
    }
    let put = put_filters(kernel, plan, index, ifb);
    if put.is_err() {
        // Remove the clsact, too: without a filter, nothing identifies it as ours.
        if Filters::read(kernel, index)?.any {
            delete_filters(kernel, index)?;
        }
        if before.is_none_or(|filters| filters.any) {
            delete_empty(kernel, index)?;
        }
    }
    put
}

fn put_filters(
    kernel: &mut impl Kernel,
    plan: &Plan,
    index: u32,
    ifb: u32,
) -> Result<(), LatencyReason> {
    // Add the pass filter first, so that redirected packets can return.
    create(kernel, wire::NEW_FILTER, EXCL, &wire::pass(index), "cls_u32")?;
    for source in &plan.sources {
        let filter = wire::redirect(index, &source.name, ifb);
        create(kernel, wire::NEW_FILTER, EXCL, &filter, "cls_u32")?;
    }
    Ok(())
}

/// Removes fastpath's queueing disciplines and filters from all devices outside the plan. A refusal
/// for one device does not prevent removal from the others.
fn sweep(
    kernel: &mut impl Kernel,
    seen: &Seen,
    plan: Option<&Plan>,
) -> Result<Applied, LatencyReason> {
    let mut results = Vec::new();
    for (index, _) in seen.filters.iter().filter(|(_, filters)| filters.any) {
        if !plan.is_some_and(|plan| plan.has_host(*index)) {
            results
                .push(delete_filters(kernel, *index).and_then(|()| delete_empty(kernel, *index)));
        }
    }
    for qdisc in seen.qdiscs.iter().filter(|qdisc| qdisc.is_ours()) {
        let is_planned = plan.is_some_and(|plan| qdisc.index == plan.port.index);
        if !is_planned && seen.ifb.is_none_or(|ifb| ifb.index != qdisc.index) {
            results
                .push(ask(kernel, wire::DEL_QDISC, 0, &wire::delete_root(qdisc.index)).map(drop));
        }
    }
    let applied = if results.is_empty() { Applied::Unchanged } else { Applied::Changed };
    results.into_iter().collect::<Result<(), _>>().map(|()| applied)
}

fn delete_filters(kernel: &mut impl Kernel, index: u32) -> Result<(), LatencyReason> {
    ask(kernel, wire::DEL_FILTER, 0, &wire::delete_filters(index)).map(drop)
}

/// Removes a clsact if it has no filters.
fn delete_empty(kernel: &mut impl Kernel, index: u32) -> Result<(), LatencyReason> {
    for parent in [wire::INGRESS, wire::EGRESS] {
        let answer = filters(kernel, index, parent)?;
        if messages(&answer).any(|message| message.kind == wire::NEW_FILTER) {
            return Ok(());
        }
    }
    ask(kernel, wire::DEL_QDISC, 0, &wire::delete_clsact(index)).map(drop)
}

fn filters(kernel: &mut impl Kernel, index: u32, parent: u32) -> Result<Vec<u8>, LatencyReason> {
    kernel.dump(wire::GET_FILTER, &wire::filters(index, parent)).map_err(|e| refused(&e))
}

#[derive(Clone, Copy)]
struct Ifb {
    index: u32,
    up: bool,
}

/// Returns fastpath's ifb; `None` if it does not exist.
fn ifb(kernel: &mut impl Kernel) -> Result<Option<Ifb>, LatencyReason> {
    match kernel.request(wire::GET_LINK, 0, &wire::ifb_by_name()) {
        Ok(answer) => Ok(messages(&answer).find_map(|message| {
            let (index, up) = wire::link_state(message.payload)?;
            Some(Ifb { index, up })
        })),
        Err(error) if error.refused() == Some(libc::ENODEV) => Ok(None),
        Err(error) => Err(refused(&error)),
    }
}

fn ask(
    kernel: &mut impl Kernel,
    kind: u16,
    flags: u16,
    payload: &[u8],
) -> Result<Vec<u8>, LatencyReason> {
    kernel.request(kind, flags, payload).map_err(|error| refused(&error))
}

/// Creates an object that needs the kernel's `module`.
fn create(
    kernel: &mut impl Kernel,
    kind: u16,
    flags: u16,
    payload: &[u8],
    module: &str,
) -> Result<(), LatencyReason> {
    match kernel.request(kind, netlink::CREATE | flags, payload) {
        Ok(_) => Ok(()),
        Err(error) => Err(match error.refused() {
            Some(libc::ENOENT | libc::EOPNOTSUPP) => {
                let said = error_text(&error);
                let module = if said.contains("action") { "act_mirred" } else { module };
                LatencyReason::NoModule { module: module.to_owned() }
            }
            _ => refused(&error),
        }),
    }
}

fn refused(error: &RequestError) -> LatencyReason {
    LatencyReason::Refused { said: error_text(error) }
}

fn error_text(error: &RequestError) -> String {
    match error {
        RequestError::Refused(refusal) => refusal.to_string(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod fake;
#[cfg(test)]
mod property_tests;
#[cfg(test)]
mod tests;
