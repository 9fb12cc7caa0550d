// SPDX-License-Identifier: GPL-2.0-or-later
//! Blocks sources for a time: IPv4 addresses and IPv6 /64s, with limits for each address family and
//! network. Offenders come from `eve/events.rs`; `block.rs` of crate `ruleset` changes the nft
//! sets.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use config::Network;

use crate::settings::Settings;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// An IPv4 address, an IPv6 /64 or one IPv6 address. Blocks never overlap: the kernel rejects
    /// overlapping intervals in a set.
    pub source: Network,
    /// Rule that triggered; 0 if the block was found in the kernel after a restart.
    pub sid: u32,
    /// Message of the rule, at most 256 bytes.
    pub reason: String,
    pub since: Duration,
    pub until: Duration,
}

/// Result of [`Blocks::add`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Blocked {
    /// New block; the caller adds it to the kernel's set, where it expires at [`Block::until`].
    Yes(Block),
    /// The source is already blocked; the existing block keeps its end.
    Already,
    No(Spared),
}

/// Why a source is not blocked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Spared {
    /// An address of the router, or not the address of a single host (multicast, link-local, …).
    Own,
    /// The address is in an exempt network.
    Exempt,
    /// The limit of the address family is reached.
    Full,
    /// The share of the surrounding network is used up.
    Share,
}

#[derive(Debug)]
pub struct Blocks {
    time: Duration,
    limit: usize,
    exempt: Vec<Network>,
    /// Keyed by the first address of the source.
    by_address: BTreeMap<IpAddr, Block>,
    refused: u64,
}

impl Blocks {
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

    /// Applies new settings. Returns the sources of blocks that are no longer allowed, for the
    /// caller to remove from the kernel's sets. Above the limit, the blocks that expire first end.
    pub fn configure(&mut self, settings: &Settings) -> Vec<Network> {
        self.time = settings.block_time;
        self.limit = usize::try_from(settings.block_limit).unwrap_or(usize::MAX);
        self.exempt.clone_from(&settings.block_exempt);
        let (block, exempt) = (settings.block, &self.exempt);
        let gone = |of: &Network| !block || exempt.iter().any(|net| overlap(*net, *of));
        let sources = self.by_address.values().map(|block| block.source);
        let mut ended: Vec<Network> = sources.filter(gone).collect();
        for source in &ended {
            self.by_address.remove(&source.address);
        }
        for source in self.beyond_limit() {
            self.by_address.remove(&source.address);
            ended.push(source);
        }
        ended
    }

    /// Returns the excess sources of each family, which are the first to expire. Crate `ruleset`
    /// chooses the same ones when it renders sets with a lower limit.
    fn beyond_limit(&self) -> Vec<Network> {
        let mut blocks: Vec<&Block> = self.by_address.values().collect();
        blocks.sort_by_key(|block| Reverse(block.until));
        let (v4, v6): (Vec<&Block>, Vec<&Block>) =
            blocks.into_iter().partition(|block| block.source.address.is_ipv4());
        let beyond = [v4, v6].into_iter().flat_map(|family| family.into_iter().skip(self.limit));
        beyond.map(|block| block.source).collect()
    }

    /// Blocks the source of `address` at `now`. `own` reports whether a network contains an address
    /// of the router.
    ///
    /// A full list refuses newcomers: if it evicted, an attacker with many addresses could remove
    /// any block and dictate how often the kernel's sets are rewritten. [`SHARES`] keeps one
    /// network from filling the list.
    pub fn add(
        &mut self,
        now: Duration,
        address: IpAddr,
        (sid, reason): (u32, &str),
        own: impl Fn(Network) -> bool,
    ) -> Blocked {
        let address = address.to_canonical();
        self.expire(now);
        if self.block_of(address).is_some() {
            return Blocked::Already;
        }
        let source = self.source(address, &own);
        if let Some(spared) = self.spares(source, own) {
            self.refused += 1;
            return Blocked::No(spared);
        }
        let reason = crate::text::bounded(reason.to_owned(), 256);
        let block = Block { source, sid, reason, since: now, until: now + self.time };
        self.by_address.insert(source.address, block.clone());
        Blocked::Yes(block)
    }

    /// Adopts a block that the kernel's sets have kept over a restart, with its remaining time.
    ///
    /// # Errors
    /// The current settings do not allow the block; the caller removes it from the set.
    pub fn adopt(
        &mut self,
        now: Duration,
        source: Network,
        left: Duration,
        own: impl Fn(Network) -> bool,
    ) -> Result<(), Spared> {
        if self.any_in(source) || self.block_of(source.address).is_some() {
            return Ok(());
        }
        if let Some(spared) = self.spares(source, own) {
            return Err(spared);
        }
        let reason = "blocked before fastpathd was started".to_owned();
        let block = Block { source, sid: 0, reason, since: now, until: now + left };
        self.by_address.insert(source.address, block);
        Ok(())
    }

    /// Ends and returns the block that contains `address`.
    pub fn release(&mut self, address: IpAddr) -> Option<Block> {
        let first = self.block_of(address.to_canonical())?.source.address;
        self.by_address.remove(&first)
    }

    /// Removes blocks that have expired by `now`. The kernel expires its own entries.
    pub fn expire(&mut self, now: Duration) {
        self.by_address.retain(|_, block| block.until > now);
    }

    /// Returns the blocks, newest first.
    #[must_use]
    pub fn list(&self) -> Vec<&Block> {
        let mut blocks: Vec<&Block> = self.by_address.values().collect();
        blocks.sort_by_key(|block| Reverse(block.since));
        blocks
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.by_address.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_address.is_empty()
    }

    /// Number of refused requests to block.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.refused
    }

    fn block_of(&self, address: IpAddr) -> Option<&Block> {
        // Blocks do not overlap, so only the last one that begins at or before `address` can match.
        let (_, block) = self.by_address.range(..=address).next_back()?;
        block.source.contains(address).then_some(block)
    }

    fn any_in(&self, network: Network) -> bool {
        let mut after = self.by_address.range(network.address..);
        after.next().is_some_and(|(first, _)| network.contains(*first))
    }

    /// Returns the source to block for an address. An IPv6 host can choose any address of its /64,
    /// so the /64 is blocked. Only the address is blocked if its /64 contains addresses of the
    /// router (its hosts share the link with the offender), exempt or blocked addresses, or all of
    /// IPv4 (NAT64, RFC 6052).
    fn source(&self, address: IpAddr, own: impl Fn(Network) -> bool) -> Network {
        let host = Network::host(address);
        let IpAddr::V6(v6) = address else { return host };
        let Some(wide) = Network::of(address, 64) else { return host };
        let translated = v6.segments()[..6] == [0x64, 0xff9b, 0, 0, 0, 0];
        let exempt = self.exempt.iter().any(|network| wide.contains(network.address));
        let narrow = translated || exempt || own(wide) || self.any_in(wide);
        if narrow { host } else { wide }
    }

    fn spares(&self, source: Network, own: impl Fn(Network) -> bool) -> Option<Spared> {
        if is_no_host(source.address) || own(source) {
            return Some(Spared::Own);
        }
        if self.exempt.iter().any(|network| overlap(*network, source)) {
            return Some(Spared::Exempt);
        }
        let ipv4 = source.address.is_ipv4();
        if self.count(|other| other.address.is_ipv4() == ipv4) >= self.limit {
            return Some(Spared::Full);
        }
        let full = SHARES.iter().any(|share| {
            let prefix = if ipv4 { share.ipv4 } else { share.ipv6 };
            let around = Network::of(source.address, prefix);
            let most = (self.limit / share.part).max(share.least);
            around.is_some_and(|around| self.count(|o| around.contains(o.address)) >= most)
        });
        full.then_some(Spared::Share)
    }

    fn count(&self, of: impl Fn(&Network) -> bool) -> usize {
        self.by_address.values().filter(|block| of(&block.source)).count()
    }
}

/// Share of the list that the sources of one network may fill: the limit divided by `part`, but not
/// less than `least`. `ipv4` and `ipv6` are prefix lengths.
struct Share {
    ipv4: u8,
    ipv6: u8,
    part: usize,
    least: usize,
}

/// A customer has at most a /48 of IPv6 and about a /24 of IPv4: a sixteenth of the list. A
/// provider that rents out hosts by the hour has a /32 and /16s: a quarter for all its customers.
const SHARES: [Share; 2] = [
    Share { ipv4: 24, ipv6: 48, part: 16, least: 4 },
    Share { ipv4: 16, ipv6: 32, part: 4, least: 16 },
];

/// Reports whether one network contains the other.
fn overlap(one: Network, other: Network) -> bool {
    one.contains(other.address) || other.contains(one.address)
}

/// Reports addresses that do not belong to one host. Blocking them would stop neighbour discovery,
/// DHCP or all traffic.
fn is_no_host(address: IpAddr) -> bool {
    let link_local = match address {
        IpAddr::V4(v4) => v4.is_link_local() || v4.is_broadcast(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    };
    address.is_unspecified() || address.is_loopback() || address.is_multicast() || link_local
}

#[cfg(test)]
mod tests;
