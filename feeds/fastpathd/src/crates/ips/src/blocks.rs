// SPDX-License-Identifier: GPL-2.0-or-later
//! The list of blocked addresses: when a block ends, how many a family may have, which addresses
//! are never blocked (own, exempt, link-local, multicast). Offenders come from `eve/events.rs`; the
//! nft sets are changed in crate `ruleset`, `block.rs`.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use config::Network;

use crate::settings::Settings;

/// One blocked address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// Who.
    pub address: IpAddr,
    /// The rule that fired; 0 if unknown (found in the kernel after a restart).
    pub sid: u32,
    /// Its message.
    pub reason: String,
    /// When the block began.
    pub since: Duration,
    /// When it ends.
    pub until: Duration,
}

/// The outcome of a request to block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Blocked {
    /// To be added to the kernel's set, to end at [`Block::until`].
    Yes(Block),
    /// It already is; the block goes on to its end.
    Already,
    /// It is not.
    No(Spared),
}

/// Why an address is not blocked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Spared {
    /// One of the gateway's own, or not a single host's.
    Own,
    /// On the list of exempt networks.
    Exempt,
    /// There are as many blocks of the family as may be.
    Full,
}

/// The list.
#[derive(Debug)]
pub struct Blocks {
    time: Duration,
    limit: usize,
    exempt: Vec<Network>,
    by_address: BTreeMap<IpAddr, Block>,
    refused: u64,
}

impl Blocks {
    /// Empty.
    #[must_use]
    pub fn new(settings: &Settings) -> Self {
        let mut blocks = Self {
            time: Duration::ZERO,
            limit: 0,
            exempt: Vec::new(),
            by_address: BTreeMap::new(),
            refused: 0,
        };
        blocks.configure(settings);
        blocks
    }

    /// New settings. Blocks that they do not allow end; their addresses come back, to be
    /// taken out of the kernel's sets. Of too many, those that end first.
    pub fn configure(&mut self, settings: &Settings) -> Vec<IpAddr> {
        self.time = settings.block_time;
        self.limit = usize::try_from(settings.block_limit).unwrap_or(usize::MAX);
        self.exempt.clone_from(&settings.block_exempt);
        let (block, exempt) = (settings.block, &self.exempt);
        let gone = |address: &IpAddr| !block || exempt.iter().any(|net| net.contains(*address));
        let mut ended: Vec<IpAddr> = self.by_address.keys().copied().filter(gone).collect();
        for address in &ended {
            self.by_address.remove(address);
        }
        for address in self.beyond_limit() {
            self.by_address.remove(&address);
            ended.push(address);
        }
        ended
    }

    /// As the sets choose theirs when they are created with a lower limit.
    fn beyond_limit(&self) -> Vec<IpAddr> {
        let mut blocks: Vec<&Block> = self.by_address.values().collect();
        blocks.sort_by_key(|block| Reverse(block.until));
        let (v4, v6): (Vec<&Block>, Vec<&Block>) =
            blocks.into_iter().partition(|block| block.address.is_ipv4());
        let beyond = [v4, v6].into_iter().flat_map(|family| family.into_iter().skip(self.limit));
        beyond.map(|block| block.address).collect()
    }

    /// Asks to block `address` at `now`; `own` says whether one is the gateway's.
    ///
    /// When the list is full the newcomer is refused: an attacker who forges sources could
    /// otherwise evict any entry, and dictate how often the kernel's sets are rewritten.
    pub fn add(
        &mut self,
        now: Duration,
        address: IpAddr,
        (sid, reason): (u32, &str),
        own: impl Fn(IpAddr) -> bool,
    ) -> Blocked {
        let address = address.to_canonical();
        self.expire(now);
        if self.by_address.contains_key(&address) {
            return Blocked::Already;
        }
        if let Some(spared) = self.spares(address, own) {
            self.refused += 1;
            return Blocked::No(spared);
        }
        let reason = crate::text::bounded(reason.to_owned(), 256);
        let block = Block { address, sid, reason, since: now, until: now + self.time };
        self.by_address.insert(address, block.clone());
        Blocked::Yes(block)
    }

    /// Adopts the entries of the kernel's sets from before a restart: an address and its remaining
    /// time.
    ///
    /// # Errors
    /// The settings of now do not allow it: to be taken out of the set.
    pub fn adopt(
        &mut self,
        now: Duration,
        address: IpAddr,
        left: Duration,
        own: impl Fn(IpAddr) -> bool,
    ) -> Result<(), Spared> {
        let address = address.to_canonical();
        if self.by_address.contains_key(&address) {
            return Ok(());
        }
        if let Some(spared) = self.spares(address, own) {
            return Err(spared);
        }
        let reason = "blocked before fastpathd was started".to_owned();
        let block = Block { address, sid: 0, reason, since: now, until: now + left };
        self.by_address.insert(address, block);
        Ok(())
    }

    /// Releases a block early.
    pub fn release(&mut self, address: IpAddr) -> Option<Block> {
        self.by_address.remove(&address.to_canonical())
    }

    /// Removes entries that have expired by `now`; the kernel expires its own.
    pub fn expire(&mut self, now: Duration) {
        self.by_address.retain(|_, block| block.until > now);
    }

    /// The blocks, newest first.
    #[must_use]
    pub fn list(&self) -> Vec<&Block> {
        let mut blocks: Vec<&Block> = self.by_address.values().collect();
        blocks.sort_by_key(|block| Reverse(block.since));
        blocks
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_address.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_address.is_empty()
    }

    /// Wishes that were refused.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.refused
    }

    fn spares(&self, address: IpAddr, own: impl Fn(IpAddr) -> bool) -> Option<Spared> {
        if is_no_host(address) || own(address) {
            return Some(Spared::Own);
        }
        if self.exempt.iter().any(|network| network.contains(address)) {
            return Some(Spared::Exempt);
        }
        let of_family =
            self.by_address.keys().filter(|other| other.is_ipv4() == address.is_ipv4()).count();
        (of_family >= self.limit).then_some(Spared::Full)
    }
}

/// Blocking these would stop neighbour discovery, DHCP or everything.
fn is_no_host(address: IpAddr) -> bool {
    let link_local = match address {
        IpAddr::V4(v4) => v4.is_link_local() || v4.is_broadcast(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    };
    address.is_unspecified() || address.is_loopback() || address.is_multicast() || link_local
}

#[cfg(test)]
#[path = "blocks_tests.rs"]
mod tests;
