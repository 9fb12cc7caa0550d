// SPDX-License-Identifier: GPL-2.0-or-later
//! Applies a plan with nft: runs and reads back its script, and rolls back if the table
//! differs. Changes only gates or devices if that is enough, and omits statements that the kernel
//! lacks.

use std::collections::BTreeSet;

use model::Gate;
use thiserror::Error;

use crate::block::BlockElement;
use crate::in_force::InForce;
use crate::nft::{NOT_THERE, Nft, NftError};
use crate::plan::Plan;
use crate::render::{
    render, render_bridge_probe, render_devices, render_gate, render_probe, render_queue_probe,
    render_remove,
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Applied {
    Unchanged,
    /// Only the gate was replaced: blocks and offloaded flows are kept.
    Gate,
    /// Only devices of the flowtable or paused hosts were changed, perhaps with the gate: flows
    /// over other devices remain offloaded.
    Devices,
    /// The table was replaced: flows are offloaded again with their next packet.
    Replaced,
    /// The table was replaced without missing devices. Without any device there is no flowtable,
    /// and without other contents no table.
    Partly {
        devices: BTreeSet<String>,
    },
    /// The table was replaced without its flowtable, which the kernel lacks. Inspection and blocks
    /// are in force.
    WithoutFlowtable {
        why: String,
    },
    /// The table was removed, because the plan has no rules.
    Removed,
}

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
    /// The table cannot be listed. A new table is kept if there is no previous plan.
    #[error("reading back table inet fastpath: {0}")]
    ReadBack(NftError),
    /// The table differs. It was rolled back, or removed if there is no previous plan.
    #[error("table inet fastpath differs from the plan: {0}")]
    Mismatch(String),
    /// The table differs, and rolling it back failed, too.
    #[error("table inet fastpath differs from the plan: {what}; rollback failed: {cause}")]
    Stuck { what: String, cause: NftError },
}

impl ApplyError {
    /// Reports whether nft rejected the rules themselves, so that a retry would fail, too.
    #[must_use]
    pub fn is_verdict(&self) -> bool {
        matches!(self, Self::Refused(NftError::Refused(_)))
    }
}

/// Applies the plan. `in_force` is the plan applied last, which is restored if the table differs
/// afterwards. The table's blocks are kept with their remaining time; `blocks` apply if the table
/// or its sets are missing.
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
    if let Some(have) = have.as_ref().filter(|have| have.rules_differ(plan).is_none())
        && let Some(how) = change(nft, plan, have).await?
    {
        return Ok(how);
    }
    replace_supported(nft, plan, in_force, have.as_ref(), blocked(have.as_ref()).unwrap_or(blocks))
        .await
}

/// Replaces the table even if it matches the plan, so that each flow is offloaded only after its
/// next packet has passed the rules.
pub async fn renew(
    nft: &impl Nft,
    plan: &Plan,
    blocks: &[BlockElement],
) -> Result<Applied, ApplyError> {
    let have = read_back(nft).await?;
    if !plan.has_table() {
        return apply(nft, plan, None, blocks).await;
    }
    replace_supported(nft, plan, Some(plan), None, blocked(have.as_ref()).unwrap_or(blocks)).await
}

fn blocked(have: Option<&InForce>) -> Option<&[BlockElement]> {
    have?.blocks.as_deref()
}

/// Changes gates and devices of the existing table; returns `None` if the table must be replaced.
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

/// Replaces the table with the plan, or with the supported part unless that part is in force.
async fn replace_supported(
    nft: &impl Nft,
    plan: &Plan,
    in_force: Option<&Plan>,
    have: Option<&InForce>,
    blocks: &[BlockElement],
) -> Result<Applied, ApplyError> {
    // nft runs a script whole or not at all.
    let refused = match replace(nft, plan, in_force, blocks).await {
        Err(ApplyError::Refused(refused)) => refused,
        done => return done.map(|()| Applied::Replaced),
    };
    let (plan, how) = supported(nft, plan, refused).await?;
    if !plan.has_table() {
        remove(nft).await?;
    } else if have.is_none_or(|have| !have.matches(&plan)) {
        replace(nft, &plan, in_force, blocks).await?;
    }
    Ok(how)
}

/// Returns the refused plan without missing devices and without a flowtable that the kernel lacks,
/// and the result to report.
async fn supported(
    nft: &impl Nft,
    plan: &Plan,
    refused: NftError,
) -> Result<(Plan, Applied), ApplyError> {
    let mut without = plan.clone();
    let queued = plan.protection.inspection.as_ref().is_some_and(|found| found.gate == Gate::Queue);
    if queued && is_missing(nft, &render_queue_probe()).await {
        return Err(ApplyError::NoQueue(refused));
    }
    // nft reports the same error for a missing flowtable as for a missing device; `lo` exists.
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
        let was_missing = matches!(&refused, NftError::Refused(text) if text.contains(NOT_THERE));
        // A missing device may have come back before its probe.
        return if was_missing {
            Ok((without, Applied::Replaced))
        } else {
            Err(ApplyError::Refused(refused))
        };
    }
    let devices = without.devices.clone();
    Ok((without, Applied::Partly { devices }))
}

/// Adds and removes devices. Returns false if the table must be replaced instead.
async fn change_devices(nft: &impl Nft, plan: &Plan, have: &InForce) -> Result<bool, ApplyError> {
    if nft.run(&render_devices(plan, have)).await.is_err() {
        return Ok(false);
    }
    Ok(read_back(nft).await?.is_some_and(|have| have.matches(plan)))
}

/// Returns whether the kernel has flowtables for bridged packets. `None` if it has no flowtables at
/// all, or if nft fails.
pub async fn has_bridge_flowtable(nft: &impl Nft) -> Option<bool> {
    match nft.check(&render_bridge_probe()).await {
        Ok(()) => Some(true),
        Err(NftError::Refused(_)) => {
            nft.check(&render_probe("lo", false)).await.is_ok().then_some(false)
        }
        Err(_) => None,
    }
}

async fn is_missing(nft: &impl Nft, probe: &str) -> bool {
    let checked = nft.check(probe).await;
    matches!(checked, Err(NftError::Refused(text)) if text.contains(NOT_THERE))
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
        // nft has run the script, so the table is probably correct.
        Err(error) if before.is_none() => return Err(error),
        Err(error) => error.to_string(),
    };
    let back = before.map_or_else(render_remove, |before| render(before, blocks));
    match nft.run(&back).await {
        Ok(()) => Err(ApplyError::Mismatch(what)),
        Err(cause) => Err(ApplyError::Stuck { what, cause }),
    }
}

/// Removes table `inet fastpath`.
pub async fn remove(nft: &impl Nft) -> Result<(), ApplyError> {
    nft.run(&render_remove()).await.map_err(ApplyError::Refused)
}

/// Returns table `inet fastpath` from the kernel; `None` if it does not exist.
pub async fn read_back(nft: &impl Nft) -> Result<Option<InForce>, ApplyError> {
    let listing = nft.list().await.map_err(ApplyError::ReadBack)?;
    Ok(listing.as_ref().map(InForce::parse))
}

#[cfg(test)]
mod tests;
