// SPDX-License-Identifier: GPL-2.0-or-later
//! Brings a plan into force: compares the kernel's state with it, changes what differs, reads it
//! back; rolls back after a refusal. Removes all that is ours, by handle, priority and name.

use netlink::{Client, EXCL, RequestError, messages};

use crate::plan::{Device, Plan};
use crate::reason::LatencyReason;
use crate::wire::{self, Qdisc};

/// `NLM_F_REPLACE`.
const REPLACE: u16 = 0x100;

/// The requests that are needed.
pub trait Kernel {
    /// A request, with flags besides those that every request has.
    ///
    /// # Errors
    /// [`RequestError`].
    fn request(&mut self, kind: u16, flags: u16, payload: &[u8]) -> Result<Vec<u8>, RequestError>;
    /// All objects of a table.
    ///
    /// # Errors
    /// [`RequestError`].
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

/// Whether anything was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Applied {
    /// The plan was in force.
    Unchanged,
    /// It is now.
    Changed,
}

/// Brings `plan` into force. After a refusal the plan `before` is, or without one none.
///
/// # Errors
/// A device has a queueing discipline of another program, or the kernel refused.
pub fn apply(
    kernel: &mut impl Kernel,
    plan: &Plan,
    before: Option<&Plan>,
) -> Result<Applied, LatencyReason> {
    let qdiscs = qdiscs(kernel)?;
    foreign(&qdiscs, plan)?;
    if is_in_force(kernel, &qdiscs, plan)? {
        return Ok(Applied::Unchanged);
    }
    let put = put(kernel, &qdiscs, plan).and_then(|()| {
        let qdiscs = self::qdiscs(kernel)?;
        if is_in_force(kernel, &qdiscs, plan)? {
            return Ok(Applied::Changed);
        }
        Err(LatencyReason::Refused { said: "it reads back otherwise".to_owned() })
    });
    if put.is_err() {
        let back = before.filter(|before| *before != plan).map(|before| {
            let qdiscs = self::qdiscs(kernel)?;
            self::put(kernel, &qdiscs, before)
        });
        if !matches!(back, Some(Ok(()))) {
            remove(kernel)?;
        }
    }
    put
}

/// Removes all that is ours.
///
/// # Errors
/// The kernel refused.
pub fn remove(kernel: &mut impl Kernel) -> Result<(), LatencyReason> {
    let qdiscs = qdiscs(kernel)?;
    sweep(kernel, &qdiscs, None)?;
    match ifb(kernel)? {
        Some(index) => ask(kernel, wire::DEL_LINK, 0, &wire::link(index)).map(drop),
        None => Ok(()),
    }
}

fn qdiscs(kernel: &mut impl Kernel) -> Result<Vec<Qdisc>, LatencyReason> {
    let answer = kernel.dump(wire::GET_QDISC, &wire::all_qdiscs()).map_err(|e| refused(&e))?;
    Ok(messages(&answer).filter_map(|message| Qdisc::parse(message.payload)).collect())
}

/// Queueing disciplines that the kernel or a distribution sets by default.
fn is_default(qdisc: &Qdisc) -> bool {
    topology::is_default_queue(&qdisc.kind)
}

/// Queueing disciplines of others where ours are to be.
fn foreign(qdiscs: &[Qdisc], plan: &Plan) -> Result<(), LatencyReason> {
    let of = |device: &Device, qdisc: &Qdisc| LatencyReason::Foreign {
        device: device.name.to_string(),
        kind: qdisc.kind.clone(),
    };
    let mut on = qdiscs.iter().filter(|qdisc| qdisc.index == plan.port.index);
    let root = on.find(|qdisc| {
        // Some children of a root say that they are one.
        qdisc.parent == wire::ROOT && !is_default(qdisc) && !qdisc.is_ours()
    });
    if let Some(root) = root {
        return Err(of(&plan.port, root));
    }
    for host in &plan.hosts {
        // It takes the place of a clsact.
        let mut on = qdiscs.iter().filter(|qdisc| qdisc.index == host.index);
        if let Some(ingress) = on.find(|qdisc| qdisc.kind == "ingress") {
            return Err(of(host, ingress));
        }
    }
    Ok(())
}

fn is_in_force(
    kernel: &mut impl Kernel,
    qdiscs: &[Qdisc],
    plan: &Plan,
) -> Result<bool, LatencyReason> {
    let Some(ifb) = ifb(kernel)? else { return Ok(false) };
    let has = |index, is_download| {
        let wanted = wire::cake(plan, is_download);
        qdiscs.iter().any(|qdisc| qdisc.index == index && qdisc.is_ours() && qdisc.has(&wanted))
    };
    if !has(plan.port.index, false) || !has(ifb, true) {
        return Ok(false);
    }
    for host in &plan.hosts {
        if !has_filters(kernel, qdiscs, plan, host, ifb)? {
            return Ok(false);
        }
    }
    let ours = |qdisc: &&Qdisc| qdisc.is_ours();
    Ok(qdiscs.iter().filter(ours).all(|q| q.index == ifb || q.index == plan.port.index))
}

fn has_filters(
    kernel: &mut impl Kernel,
    qdiscs: &[Qdisc],
    plan: &Plan,
    host: &Device,
    ifb: u32,
) -> Result<bool, LatencyReason> {
    if !has_clsact(qdiscs, host.index) {
        return Ok(false);
    }
    let answer = filters(kernel, host.index, wire::EGRESS)?;
    let mut found: Vec<(String, u32)> =
        messages(&answer).filter_map(|message| wire::redirected(message.payload)).collect();
    let mut wanted: Vec<(String, u32)> =
        plan.sources.iter().map(|source| (source.name.to_string(), ifb)).collect();
    wanted.push((wire::IFB.to_owned(), 0));
    found.sort_unstable();
    wanted.sort_unstable();
    Ok(found == wanted)
}

fn has_clsact(qdiscs: &[Qdisc], index: u32) -> bool {
    qdiscs.iter().any(|qdisc| qdisc.index == index && qdisc.kind == "clsact")
}

fn put(kernel: &mut impl Kernel, qdiscs: &[Qdisc], plan: &Plan) -> Result<(), LatencyReason> {
    sweep(kernel, qdiscs, Some(plan))?;
    let ifb = if let Some(index) = ifb(kernel)? {
        index
    } else {
        make(kernel, wire::NEW_LINK, EXCL, &wire::new_ifb(), "ifb")?;
        ifb(kernel)?.ok_or_else(|| LatencyReason::NoModule { module: "ifb".to_owned() })?
    };
    for (index, is_download) in [(ifb, true), (plan.port.index, false)] {
        let root = wire::root(index, &wire::cake(plan, is_download));
        make(kernel, wire::NEW_QDISC, REPLACE, &root, "sch_cake")?;
    }
    for host in &plan.hosts {
        if has_filters(kernel, qdiscs, plan, host, ifb)? {
            continue;
        }
        if has_clsact(qdiscs, host.index) {
            delete_filters(kernel, host.index)?;
        } else {
            make(kernel, wire::NEW_QDISC, EXCL, &wire::clsact(host.index), "sch_ingress")?;
        }
        if let Err(reason) = put_filters(kernel, plan, host.index, ifb) {
            // Without a filter nothing shows that the clsact is ours.
            delete_filters(kernel, host.index)?;
            if !has_clsact(qdiscs, host.index) {
                delete_empty(kernel, host.index)?;
            }
            return Err(reason);
        }
    }
    Ok(())
}

fn put_filters(
    kernel: &mut impl Kernel,
    plan: &Plan,
    index: u32,
    ifb: u32,
) -> Result<(), LatencyReason> {
    // First, so that no packet is redirected that could not come back.
    make(kernel, wire::NEW_FILTER, EXCL, &wire::pass(index), "cls_u32")?;
    for source in &plan.sources {
        let filter = wire::redirect(index, &source.name, ifb);
        make(kernel, wire::NEW_FILTER, EXCL, &filter, "cls_u32")?;
    }
    Ok(())
}

/// Removes our objects from all devices but those of the plan.
fn sweep(
    kernel: &mut impl Kernel,
    qdiscs: &[Qdisc],
    plan: Option<&Plan>,
) -> Result<(), LatencyReason> {
    let ifb = ifb(kernel)?;
    for qdisc in qdiscs {
        let index = qdisc.index;
        let stays = plan.is_some_and(|plan| {
            index == plan.port.index && qdisc.is_ours()
                || qdisc.kind == "clsact" && plan.hosts.iter().any(|host| host.index == index)
        });
        if stays || Some(index) == ifb {
            continue;
        }
        if qdisc.is_ours() {
            ask(kernel, wire::DEL_QDISC, 0, &wire::delete_root(index))?;
        } else if qdisc.kind == "clsact" && delete_filters(kernel, index)? {
            delete_empty(kernel, index)?;
        }
    }
    Ok(())
}

/// Whether there were any.
fn delete_filters(kernel: &mut impl Kernel, index: u32) -> Result<bool, LatencyReason> {
    let answer = filters(kernel, index, wire::EGRESS)?;
    if !messages(&answer).any(|message| wire::is_ours(message.payload)) {
        return Ok(false);
    }
    ask(kernel, wire::DEL_FILTER, 0, &wire::delete_filters(index))?;
    Ok(true)
}

/// Removes a clsact without filters.
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

/// Index of our ifb; none: there is none.
fn ifb(kernel: &mut impl Kernel) -> Result<Option<u32>, LatencyReason> {
    match kernel.request(wire::GET_LINK, 0, &wire::ifb_by_name()) {
        Ok(answer) => Ok(messages(&answer).find_map(|message| wire::link_index(message.payload))),
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

/// Makes an object, for which the kernel may have to load `module`.
fn make(
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

/// The kernel's text where it has one.
fn error_text(error: &RequestError) -> String {
    match error {
        RequestError::Refused(refusal) => refusal.to_string(),
        other => other.to_string(),
    }
}

#[cfg(test)]
#[path = "apply_tests.rs"]
mod tests;
