// SPDX-License-Identifier: GPL-2.0-or-later
//! The list of blocked sources: an IPv4 address or an IPv6 /64, when a block ends, how many a
//! family and a network of sources may have, which addresses are never blocked (own, exempt,
//! link-local, multicast). Offenders come from `eve/events.rs`; the nft sets are changed in crate
//! `ruleset`, `block.rs`.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use config::Network;

use crate::settings::Settings;

/// One blocked source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// An address, or the /64 of an IPv6 one. No block contains another: the kernel's set refuses
    /// intervals that overlap.
    pub source: Network,
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

/// Why a source is not blocked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Spared {
    /// One of the gateway's own, or not a single host's.
    Own,
    /// On the list of exempt networks.
    Exempt,
    /// There are as many blocks of the family as may be.
    Full,
    /// There are as many blocks of the network around it as may be.
    Share,
}

/// The list.
#[derive(Debug)]
pub struct Blocks {
    time: Duration,
    limit: usize,
    exempt: Vec<Network>,
    /// By the first address.
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

    /// New settings. Blocks that they do not allow end; their sources come back, to be
    /// taken out of the kernel's sets. Of too many, those that end first.
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

    /// As the sets choose theirs when they are created with a lower limit.
    fn beyond_limit(&self) -> Vec<Network> {
        let mut blocks: Vec<&Block> = self.by_address.values().collect();
        blocks.sort_by_key(|block| Reverse(block.until));
        let (v4, v6): (Vec<&Block>, Vec<&Block>) =
            blocks.into_iter().partition(|block| block.source.address.is_ipv4());
        let beyond = [v4, v6].into_iter().flat_map(|family| family.into_iter().skip(self.limit));
        beyond.map(|block| block.source).collect()
    }

    /// Asks to block the source `address` at `now`; `own` says whether a network has one of the
    /// gateway's addresses.
    ///
    /// When the list is full the newcomer is refused: an attacker with many addresses could
    /// otherwise evict any entry, and dictate how often the kernel's sets are rewritten. [`SHARES`]
    /// keeps it from filling the list instead.
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

    /// Adopts an entry of the kernel's sets from before a restart, with its remaining time.
    ///
    /// # Errors
    /// The settings of now do not allow it: to be taken out of the set.
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

    /// Ends the block that an address is in early.
    pub fn release(&mut self, address: IpAddr) -> Option<Block> {
        let first = self.block_of(address.to_canonical())?.source.address;
        self.by_address.remove(&first)
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

    fn block_of(&self, address: IpAddr) -> Option<&Block> {
        // They do not overlap: the last one that begins before it.
        let (_, block) = self.by_address.range(..=address).next_back()?;
        block.source.contains(address).then_some(block)
    }

    fn any_in(&self, network: Network) -> bool {
        let mut after = self.by_address.range(network.address..);
        after.next().is_some_and(|(first, _)| network.contains(*first))
    }

    /// The source that an address stands for. An IPv6 host chooses any address of its /64, so that
    /// is blocked; but only the address where others in the /64 must not be: the gateway's own
    /// (its hosts share the link with the offender), exempt ones, or the whole of IPv4 behind NAT64
    /// (RFC 6052). Likewise where an address of the /64 is blocked already.
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

/// The part of the list that the sources of one network may have.
struct Share {
    ipv4: u8,
    ipv6: u8,
    /// Divides the limit.
    part: usize,
    /// Of a short list.
    least: usize,
}

/// A customer has a /48 of IPv6 at most, and of IPv4 hardly more than a /24: all of its addresses
/// take a sixteenth of the list. A provider that rents out others by the hour has a /32 and /16s:
/// all of its customers together take a quarter.
const SHARES: [Share; 2] = [
    Share { ipv4: 24, ipv6: 48, part: 16, least: 4 },
    Share { ipv4: 16, ipv6: 32, part: 4, least: 16 },
];

/// Two networks are apart, or one is in the other.
fn overlap(one: Network, other: Network) -> bool {
    one.contains(other.address) || other.contains(one.address)
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
