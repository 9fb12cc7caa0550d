// SPDX-License-Identifier: GPL-2.0-or-later
//! Applies a plan with nft: checks it, runs it, reads the table back, and rolls back if it differs.
//! Replaces only gates or devices if that is enough, and leaves out what the machine lacks.

use std::collections::BTreeSet;

use model::Gate;
use thiserror::Error;

use crate::block::BlockElement;
use crate::in_force::InForce;
use crate::nft::{NOT_THERE, Nft, NftError};
use crate::plan::Plan;
use crate::render::{
    render, render_devices, render_gate, render_probe, render_queue_probe, render_remove,
};

/// Result of applying a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Applied {
    /// The plan was in force already.
    Unchanged,
    /// Only the gate was replaced: blocks and offloaded flows stay.
    Gate,
    /// Only devices of the flowtable were changed, perhaps with the gate: flows over other devices
    /// stay offloaded.
    Devices,
    /// The whole table was replaced: flows are offloaded again with their next packet.
    Replaced,
    /// The table was replaced without devices that no longer exist. Without any device there is no
    /// flowtable, and without other contents no table.
    Partly {
        /// Devices in the flowtable.
        devices: BTreeSet<String>,
    },
    /// The table was replaced without its flowtable, which this kernel lacks. Inspection and blocks
    /// are in force.
    WithoutFlowtable {
        /// Message of nft.
        why: String,
    },
    /// The table was removed, because the plan needs none.
    Removed,
}

/// Reasons why a plan was not applied.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ApplyError {
    #[error("nft rejected the rules: {0}")]
    Refused(NftError),
    #[error(
        "the kernel cannot queue packets for inspection (module nft_queue, package \
         kmod-nft-queue, is missing): {0}"
    )]
    NoQueue(NftError),
    /// The table cannot be listed. Without a previous plan, a new table stays.
    #[error("reading back table inet fastpath: {0}")]
    ReadBack(NftError),
    /// The new table differs. It was rolled back, or removed if there was no previous plan.
    #[error("table inet fastpath differs from the plan: {0}")]
    Mismatch(String),
    /// The table differs, and rolling it back failed, too.
    #[error("table inet fastpath differs from the plan: {what}; rollback failed: {cause}")]
    Stuck {
        /// Difference from the plan.
        what: String,
        /// Why rolling back failed.
        cause: NftError,
    },
}

impl ApplyError {
    /// Reports whether nft judged the rules, so that it would refuse the same rules again.
    #[must_use]
    pub fn is_verdict(&self) -> bool {
        matches!(self, Self::Refused(NftError::Refused(_)))
    }
}

/// Applies the plan: checks, runs, reads back and compares it. `in_force` is the plan applied last,
/// which is restored if the result differs. Blocked addresses stay blocked for their remaining
/// time; `blocks` replace them if the table or its sets are missing.
///
/// # Errors
/// Fails if the plan is not in force afterwards.
pub async fn apply(
    nft: &impl Nft,
    plan: &Plan,
    in_force: Option<&Plan>,
    blocks: &[BlockElement],
) -> Result<Applied, ApplyError> {
    let have = read_back(nft).await?;
    if !plan.has_table() {
        if have.is_none() {
            return Ok(Applied::Unchanged);
        }
        remove(nft).await?;
        return Ok(Applied::Removed);
    }
    if let Some(have) = have.as_ref().filter(|have| have.differs_for_good(plan).is_none())
        && let Some(how) = change(nft, plan, have).await?
    {
        return Ok(how);
    }
    anew(nft, plan, in_force, have.as_ref(), blocked(have.as_ref()).unwrap_or(blocks)).await
}

/// Replaces the table even if it matches the plan, so that no flow is offloaded before its next
/// packet has passed the rules. Otherwise like [`apply`].
///
/// # Errors
/// Fails as [`apply`] does.
pub async fn renew(
    nft: &impl Nft,
    plan: &Plan,
    blocks: &[BlockElement],
) -> Result<Applied, ApplyError> {
    let have = read_back(nft).await?;
    if !plan.has_table() {
        return apply(nft, plan, None, blocks).await;
    }
    anew(nft, plan, Some(plan), None, blocked(have.as_ref()).unwrap_or(blocks)).await
}

/// Returns the sources that a table blocks; `None` if it cannot block any.
fn blocked(have: Option<&InForce>) -> Option<&[BlockElement]> {
    have?.blocks.as_deref()
}

/// Applies changes that need no new table; returns `None` if others are necessary.
async fn change(
    nft: &impl Nft,
    plan: &Plan,
    have: &InForce,
) -> Result<Option<Applied>, ApplyError> {
    let gate = plan.protection.inspection.as_ref().filter(|_| have.gate_differs(plan).is_some());
    if let Some(inspection) = gate
        && nft.run(&render_gate(inspection)).await.is_err()
    {
        return Ok(None);
    }
    if have.devices_differ(plan).is_some() {
        let changed = change_devices(nft, plan, have).await?;
        return Ok(changed.then_some(Applied::Devices));
    }
    if gate.is_none() {
        return Ok(Some(Applied::Unchanged));
    }
    let refilled = read_back(nft).await?.is_some_and(|have| have.matches(plan));
    Ok(refilled.then_some(Applied::Gate))
}

/// Replaces the table with the supported part of the plan, unless that is in force.
async fn anew(
    nft: &impl Nft,
    plan: &Plan,
    in_force: Option<&Plan>,
    have: Option<&InForce>,
    blocks: &[BlockElement],
) -> Result<Applied, ApplyError> {
    let (plan, how) = possible(nft, plan, blocks).await?;
    if !plan.has_table() {
        remove(nft).await?;
    } else if have.is_none_or(|have| !have.matches(&plan)) {
        replace(nft, &plan, in_force, blocks).await?;
    }
    Ok(how)
}

/// Returns the part of the plan that this machine supports, and the result to report. A device that
/// no longer exists must not keep the others out of the flowtable, nor a missing flowtable packets
/// out of inspection.
async fn possible(
    nft: &impl Nft,
    plan: &Plan,
    blocks: &[BlockElement],
) -> Result<(Plan, Applied), ApplyError> {
    let mut without = plan.clone();
    let Err(refused) = nft.check(&render(plan, blocks)).await else {
        return Ok((without, Applied::Replaced));
    };
    let queued = plan.protection.inspection.as_ref().is_some_and(|found| found.gate == Gate::Queue);
    if queued && is_missing(nft, &render_queue_probe()).await {
        return Err(ApplyError::NoQueue(refused));
    }
    // A kernel without flowtables reports the same error as for a missing device, so try `lo`
    // first.
    if plan.has_flowtable() && is_missing(nft, &render_probe("lo", false)).await {
        without.devices.clear();
        if without.has_table() {
            return Ok((without, Applied::WithoutFlowtable { why: refused.to_string() }));
        }
        return Err(ApplyError::Refused(refused));
    }
    for device in &plan.devices {
        if is_missing(nft, &render_probe(device, plan.hardware)).await {
            without.devices.remove(device);
        }
    }
    if without.devices == plan.devices {
        return Err(ApplyError::Refused(refused));
    }
    let devices = without.devices.clone();
    Ok((without, Applied::Partly { devices }))
}

/// Adds and removes devices. Returns false if the table has to be replaced instead.
async fn change_devices(nft: &impl Nft, plan: &Plan, have: &InForce) -> Result<bool, ApplyError> {
    if nft.run(&render_devices(plan, have)).await.is_err() {
        return Ok(false);
    }
    Ok(read_back(nft).await?.is_some_and(|have| have.matches(plan)))
}

async fn is_missing(nft: &impl Nft, probe: &str) -> bool {
    let checked = nft.check(probe).await;
    matches!(checked, Err(NftError::Refused(words)) if words.contains(NOT_THERE))
}

async fn replace(
    nft: &impl Nft,
    plan: &Plan,
    before: Option<&Plan>,
    blocks: &[BlockElement],
) -> Result<(), ApplyError> {
    nft.run(&render(plan, blocks)).await.map_err(ApplyError::Refused)?;
    let what = match read_back(nft).await {
        Ok(Some(have)) => match have.differs(plan) {
            None => return Ok(()),
            Some(what) => what,
        },
        Ok(None) => "it is missing".to_owned(),
        // nft ran the whole script, so the table is more likely right than none is.
        Err(error) if before.is_none() => return Err(error),
        Err(error) => error.to_string(),
    };
    let back = before.map_or_else(render_remove, |before| render(before, blocks));
    match nft.run(&back).await {
        Ok(()) => Err(ApplyError::Mismatch(what)),
        Err(cause) => Err(ApplyError::Stuck { what, cause }),
    }
}

/// Removes our table.
///
/// # Errors
/// Fails if nft refuses or cannot be run.
pub async fn remove(nft: &impl Nft) -> Result<(), ApplyError> {
    nft.run(&render_remove()).await.map_err(ApplyError::Refused)
}

/// Returns our table in the kernel; `None` if it does not exist, for example after a flush.
///
/// # Errors
/// Fails if nft cannot be run or its output cannot be parsed.
pub async fn read_back(nft: &impl Nft) -> Result<Option<InForce>, ApplyError> {
    let listing = nft.list().await.map_err(ApplyError::ReadBack)?;
    Ok(listing.as_ref().map(InForce::parse))
}

#[cfg(test)]
mod tests;
