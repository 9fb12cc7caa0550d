// SPDX-License-Identifier: GPL-2.0-or-later
//! Blocks and releases sources in the nft sets `blocked4` (addresses) and `blocked6` (networks).

use std::net::IpAddr;

use config::Network;
use thiserror::Error;

use crate::nft::{NOT_THERE, Nft, NftError};

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct BlockElement {
    /// An IPv4 address, or an IPv6 network that overlaps no other element.
    pub source: Network,
    /// Duration of the block in seconds.
    pub seconds: u32,
    /// Remaining time in seconds.
    pub left: u32,
    /// Reason; characters that nft cannot store are replaced.
    pub comment: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BlockError {
    /// The maximum number of sources of this family is blocked.
    #[error("blocking {}: block_limit of its address family is reached", .0.brief())]
    Full(Network),
    /// The set does not exist: the table is not in force, or has no blocks.
    #[error("table inet fastpath has no set {0}")]
    NoSet(&'static str),
    #[error("changing the blocks: {0}")]
    Nft(NftError),
}

/// Blocks a source for `seconds`, or renews its block. Drops packets at the forward hook only:
/// offloaded flows of the source continue until their conntrack entries are deleted.
pub async fn block(nft: &impl Nft, block: &BlockElement) -> Result<(), BlockError> {
    let set = set_of(block.source.address);
    let element = element(block);
    // Adding an existing element does not change its timeout, and deleting a missing one fails.
    let script = format!(
        "add element inet fastpath {set} {{ {element} }}\n\
         delete element inet fastpath {set} {{ {address} }}\n\
         add element inet fastpath {set} {{ {element} }}\n",
        address = block.source.brief()
    );
    match nft.run(&script).await {
        Err(NftError::Refused(text)) if text.contains(TOO_MANY) => {
            Err(BlockError::Full(block.source))
        }
        Err(NftError::Refused(text)) if text.contains(NOT_THERE) => Err(BlockError::NoSet(set)),
        other => other.map_err(BlockError::Nft),
    }
}

/// Releases a source; returns false if it was not blocked.
pub async fn release(nft: &impl Nft, source: Network) -> Result<bool, BlockError> {
    let set = set_of(source.address);
    let script = format!("delete element inet fastpath {set} {{ {} }}\n", source.brief());
    match nft.run(&script).await {
        Ok(()) => Ok(true),
        Err(NftError::Refused(text))
            if [NOT_THERE, NO_ELEMENT].iter().any(|known| text.contains(known)) =>
        {
            Ok(false)
        }
        Err(error) => Err(BlockError::Nft(error)),
    }
}

/// Kernel error for a full set (`ENFILE`).
const TOO_MANY: &str = "Too many open files";

/// nft's error for a missing element of an interval set.
const NO_ELEMENT: &str = "element does not exist";

pub(crate) const SETS: [(&str, &str); 2] = [("blocked4", "ipv4_addr"), ("blocked6", "ipv6_addr")];

pub(crate) fn set_of(address: IpAddr) -> &'static str {
    SETS[usize::from(address.is_ipv6())].0
}

pub(crate) fn element(block: &BlockElement) -> String {
    let BlockElement { source, seconds, left, comment } = block;
    // nft rejects a timeout of 0, and a remaining time beyond the timeout.
    let seconds = (*seconds).max(1);
    let left = (*left).clamp(1, seconds);
    let expires = if left == seconds { String::new() } else { format!(" expires {left}s") };
    let comment = printable(comment);
    let comment = if comment.is_empty() { comment } else { format!(" comment \"{comment}\"") };
    format!("{} timeout {seconds}s{expires}{comment}", source.brief())
}

/// Replaces characters that nft cannot quote, and truncates to 64 bytes.
fn printable(text: &str) -> String {
    let mut kept = String::new();
    for c in text.chars() {
        let c = if c.is_control() || matches!(c, '"' | '\\') { '?' } else { c };
        if kept.len() + c.len_utf8() > 64 {
            break;
        }
        kept.push(c);
    }
    kept
}

#[cfg(test)]
mod tests;
