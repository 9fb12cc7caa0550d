// SPDX-License-Identifier: GPL-2.0-or-later
//! Putting a plan in force.

use std::collections::BTreeSet;

use thiserror::Error;

use crate::in_force::InForce;
use crate::nft::{NOT_THERE, Nft, NftError};
use crate::plan::Plan;
use crate::render::{render, render_devices, render_probe, render_remove};

/// How a plan got in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Applied {
    /// It was in force already; nothing was touched.
    Unchanged,
    /// Only devices were added to or taken from the flowtable: established flows over the
    /// others stay offloaded.
    Devices,
    /// The whole table was replaced: flows get back into the flowtable with their next packet.
    Replaced,
    /// The table was replaced, without devices that had vanished since the plan was made; without
    /// any device there is no table.
    Partly {
        /// The devices that are in the flowtable.
        devices: BTreeSet<String>,
    },
    /// The table was removed (engine off, or no devices).
    Removed,
}

/// A plan did not get in force. What was in force before still is.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ApplyError {
    /// nft or the kernel refused the rules.
    #[error("nft refused the rules: {0}")]
    Refused(NftError),
    /// nft could not be asked what is in force.
    #[error("reading back table inet fastpath: {0}")]
    ReadBack(NftError),
    /// nft took the rules, but what is in force differs; the previous ones are back.
    #[error("table inet fastpath is not what was asked for: {0}")]
    Mismatch(String),
    /// As before, and the previous rules could not be brought back either.
    #[error("table inet fastpath is not what was asked for: {what}; going back failed: {cause}")]
    Stuck {
        /// What differs.
        what: String,
        /// Why the previous rules did not come back.
        cause: NftError,
    },
}

/// Puts the plan in force: checks, applies, reads back, compares. `in_force` is the plan
/// applied last, to return to if what nft did is not what was asked.
///
/// # Errors
/// The plan is not in force, for the reason the error tells.
pub async fn apply(
    nft: &impl Nft,
    plan: &Plan,
    in_force: Option<&Plan>,
) -> Result<Applied, ApplyError> {
    let have = read_back(nft).await?;
    if !plan.has_table() {
        if have.is_none() {
            return Ok(Applied::Unchanged);
        }
        remove(nft).await?;
        return Ok(Applied::Removed);
    }
    if let Some(have) = have.filter(|have| have.differs_but_for_devices(plan).is_none()) {
        if have.devices == plan.devices {
            return Ok(Applied::Unchanged);
        }
        if change_devices(nft, plan, &have).await? {
            return Ok(Applied::Devices);
        }
    }
    let mut without = plan.clone();
    if let Err(refused) = nft.check(&render(plan)).await {
        without.devices = existing(nft, plan, refused).await?;
        if !without.has_table() {
            remove(nft).await?;
            return Ok(Applied::Partly { devices: without.devices });
        }
    }
    replace(nft, &without, in_force).await?;
    if without.devices == plan.devices {
        return Ok(Applied::Replaced);
    }
    Ok(Applied::Partly { devices: without.devices })
}

/// Adds and takes devices; false if that does not lead there, and the table has to be replaced.
async fn change_devices(nft: &impl Nft, plan: &Plan, have: &InForce) -> Result<bool, ApplyError> {
    let add = plan.devices.difference(&have.devices).cloned().collect();
    let take = have.devices.difference(&plan.devices).cloned().collect();
    let script = render_devices(&add, &take, plan.hardware);
    if nft.run(&script).await.is_err() {
        return Ok(false);
    }
    Ok(read_back(nft).await?.is_some_and(|have| have.matches(plan)))
}

/// The devices of a refused plan that are still there: one that vanished since must not keep
/// the others from the flowtable. The refusal stands if that was not the reason.
/// A kernel without flowtables has the same words for that, so a device that is always there is
/// asked about first.
async fn existing(
    nft: &impl Nft,
    plan: &Plan,
    refused: NftError,
) -> Result<BTreeSet<String>, ApplyError> {
    let mut devices = plan.devices.clone();
    if !is_missing(nft, "lo", false).await {
        for device in &plan.devices {
            if is_missing(nft, device, plan.hardware).await {
                devices.remove(device);
            }
        }
    }
    if devices == plan.devices { Err(ApplyError::Refused(refused)) } else { Ok(devices) }
}

async fn is_missing(nft: &impl Nft, device: &str, hardware: bool) -> bool {
    let checked = nft.check(&render_probe(device, hardware)).await;
    matches!(checked, Err(NftError::Refused(words)) if words.contains(NOT_THERE))
}

async fn replace(nft: &impl Nft, plan: &Plan, before: Option<&Plan>) -> Result<(), ApplyError> {
    nft.run(&render(plan)).await.map_err(ApplyError::Refused)?;
    let what = match read_back(nft).await {
        Ok(Some(have)) => match have.differs(plan) {
            None => return Ok(()),
            Some(what) => what,
        },
        Ok(None) => "it is not there".to_owned(),
        Err(error) => error.to_string(),
    };
    let back = before.map_or_else(render_remove, render);
    match nft.run(&back).await {
        Ok(()) => Err(ApplyError::Mismatch(what)),
        Err(cause) => Err(ApplyError::Stuck { what, cause }),
    }
}

/// Removes our table.
///
/// # Errors
/// nft refused or could not be run.
pub async fn remove(nft: &impl Nft) -> Result<(), ApplyError> {
    nft.run(&render_remove()).await.map_err(ApplyError::Refused)
}

/// What of ours is in the kernel now; none if the table is not there (somebody flushed it).
///
/// # Errors
/// nft could not be run or understood.
pub async fn read_back(nft: &impl Nft) -> Result<Option<InForce>, ApplyError> {
    let listing = nft.list().await.map_err(ApplyError::ReadBack)?;
    Ok(listing.as_ref().map(InForce::parse))
}

#[cfg(test)]
#[path = "apply_tests.rs"]
mod tests;
