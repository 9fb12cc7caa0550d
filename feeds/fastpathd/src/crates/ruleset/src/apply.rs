// SPDX-License-Identifier: GPL-2.0-or-later
//! Putting a plan in force.

use std::collections::BTreeSet;

use thiserror::Error;

use crate::nft::{Nft, NftError};
use crate::plan::Plan;

/// What of ours is in the kernel.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InForce {
    /// Devices of the flowtable.
    pub devices: BTreeSet<String>,
    /// The flowtable has `flags offload`.
    pub hardware: bool,
    /// Comments of the rules, in order.
    pub rules: Vec<String>,
}

impl InForce {
    /// Whether this is what the plan asks for.
    #[must_use]
    pub fn matches(&self, plan: &Plan) -> bool {
        let _ = plan;
        false
    }
}

/// How a plan got in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Applied {
    /// It was in force already; nothing was touched.
    Unchanged,
    /// Only devices were added to or taken from the flowtable: established flows over the
    /// others stay offloaded.
    Devices,
    /// The whole table was replaced: flows get back into the flowtable with their next packet.
    Replaced,
    /// The table was removed (engine off).
    Removed,
}

/// A plan did not get in force. What was in force before still is.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ApplyError {
    /// nft or the kernel refused the rules.
    #[error("nft refused the rules: {0}")]
    Refused(#[source] NftError),
    /// nft could not be asked.
    #[error("reading back table inet fastpath: {0}")]
    ReadBack(#[source] NftError),
    /// nft took the rules, but what is in force differs; the previous ones are back.
    #[error("table inet fastpath is not what was asked for: {0}")]
    Mismatch(String),
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
    let _ = (nft, plan, in_force);
    Ok(Applied::Unchanged)
}

/// Removes our table.
///
/// # Errors
/// nft refused or could not be run.
pub async fn remove(nft: &impl Nft) -> Result<(), ApplyError> {
    let _ = nft;
    Ok(())
}

/// What of ours is in the kernel now; none if the table is not there (somebody flushed it).
///
/// # Errors
/// nft could not be run or understood.
pub async fn read_back(nft: &impl Nft) -> Result<Option<InForce>, ApplyError> {
    let _ = nft;
    Ok(None)
}
