// SPDX-License-Identifier: GPL-2.0-or-later
//! Temporary blocks of sources (IPv4 addresses and IPv6 /64s), limited per address family and
//! network. Offenders come from `eve/events.rs`; crate `ruleset` changes the nft sets.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use config::Network;

use crate::settings::Settings;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// An IPv4 address, an IPv6 /64 or an IPv6 address. Blocks must not overlap, because the kernel
    /// rejects overlapping intervals in a set.
    pub source: Network,
    /// Rule that triggered. 0 for a block that was found in the kernel after a restart.
    pub sid: u32,
    pub reason: String,
    pub since: Duration,
    pub until: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Blocked {
    /// New block, which the caller adds to the kernel's set with [`Block::until`] as its expiry.
    Yes(Block),
    Already,
    No(Spared),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Spared {
    /// An address of the router, or not a host address (multicast, link-local, …).
    Own,
    Exempt,
    Full,
    /// The surrounding network has reached its share of the list.
    Share,
}

#[derive(Debug)]
pub struct Blocks {
    block_time: Duration,
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
            block_time: Duration::ZERO,
            limit: 0,
            exempt: Vec::new(),
            by_address: BTreeMap::new(),
            refused: 0,
        };
        blocks.configure(settings);
        blocks
    }

    /// Applies new settings. Returns the sources that are not allowed by them, for the caller to
    /// remove from the kernel's sets. Above the limit, blocks with the earliest expiry end first.
    pub fn configure(&mut self, settings: &Settings) -> Vec<Network> {
        self.block_time = settings.block_time;
        self.limit = usize::try_from(settings.block_limit).unwrap_or(usize::MAX);
        self.exempt.clone_from(&settings.block_exempt);
        let (block, exempt) = (settings.block, &self.exempt);
        let denied = |of: &Network| !block || exempt.iter().any(|net| overlap(*net, *of));
        let sources = self.by_address.values().map(|block| block.source);
        let mut ended: Vec<Network> = sources.filter(denied).collect();
        for source in &ended {
            self.by_address.remove(&source.address);
        }
        for source in self.over_limit() {
            self.by_address.remove(&source.address);
            ended.push(source);
        }
        ended
    }

    /// Returns the sources above the limit of each family, by expiry. Crate `ruleset` must select
    /// the same ones when it renders sets with a lower limit.
    fn over_limit(&self) -> Vec<Network> {
        let mut blocks: Vec<&Block> = self.by_address.values().collect();
        config::sort::by_key(&mut blocks, |block| Reverse(block.until));
        let (v4, v6): (Vec<&Block>, Vec<&Block>) =
            blocks.into_iter().partition(|block| block.source.address.is_ipv4());
        let excess = [v4, v6].into_iter().flat_map(|family| family.into_iter().skip(self.limit));
        excess.map(|block| block.source).collect()
    }

    /// Blocks the source of `address` at `now`. `own` reports whether a network contains an address
    /// of the router.
    ///
    /// A full list refuses new sources instead of evicting blocks, because an attacker with many
    /// addresses could otherwise remove any block. [`SHARES`] limits the blocks of one network.
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
        if let Some(spared) = self.refusal(source, own) {
            self.refused += 1;
            return Blocked::No(spared);
        }
        let reason = crate::text::bounded(reason.to_owned(), 256);
        let block = Block { source, sid, reason, since: now, until: now + self.block_time };
        self.by_address.insert(source.address, block.clone());
        Blocked::Yes(block)
    }

    /// Adopts a block that the kernel's sets kept across a restart, with its remaining time. If the
    /// current settings do not allow the block, the caller removes it from the set.
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
        if let Some(spared) = self.refusal(source, own) {
            return Err(spared);
        }
        let reason = "blocked before fastpathd was started".to_owned();
        let block = Block { source, sid: 0, reason, since: now, until: now + left };
        self.by_address.insert(source.address, block);
        Ok(())
    }

    pub fn release(&mut self, address: IpAddr) -> Option<Block> {
        let first = self.block_of(address.to_canonical())?.source.address;
        self.by_address.remove(&first)
    }

    pub fn expire(&mut self, now: Duration) {
        self.by_address.retain(|_, block| block.until > now);
    }

    #[must_use]
    pub fn list(&self) -> Vec<&Block> {
        let mut blocks: Vec<&Block> = self.by_address.values().collect();
        config::sort::by_key(&mut blocks, |block| Reverse(block.since));
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

    #[must_use]
    pub fn refused(&self) -> u64 {
        self.refused
    }

    fn block_of(&self, address: IpAddr) -> Option<&Block> {
        // Blocks do not overlap, so only the last block at or before `address` can contain it.
        let (_, block) = self.by_address.range(..=address).next_back()?;
        block.source.contains(address).then_some(block)
    }

    fn any_in(&self, network: Network) -> bool {
        let mut after = self.by_address.range(network.address..);
        after.next().is_some_and(|(first, _)| network.contains(*first))
    }

    /// Returns the source to block: an IPv6 host can use any address of its /64, so the whole /64.
    /// Only the address is blocked if the /64 contains addresses that are exempt, already blocked
    /// or of the router, or if it embeds IPv4 addresses (NAT64, RFC 6052).
    fn source(&self, address: IpAddr, own: impl Fn(Network) -> bool) -> Network {
        let host = Network::host(address);
        let IpAddr::V6(v6) = address else { return host };
        let Some(wide) = Network::of(address, 64) else { return host };
        let translated = v6.segments()[..6] == [0x64, 0xff9b, 0, 0, 0, 0];
        let exempt = self.exempt.iter().any(|network| wide.contains(network.address));
        let narrow = translated || exempt || own(wide) || self.any_in(wide);
        if narrow { host } else { wide }
    }

    fn refusal(&self, source: Network, own: impl Fn(Network) -> bool) -> Option<Spared> {
        if is_special(source.address) || own(source) {
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
            let max = (self.limit / share.divisor).max(share.minimum);
            around.is_some_and(|around| self.count(|o| around.contains(o.address)) >= max)
        });
        full.then_some(Spared::Share)
    }

    fn count(&self, of: impl Fn(&Network) -> bool) -> usize {
        self.by_address.values().filter(|block| of(&block.source)).count()
    }
}

/// Share of the list that one network may fill: the limit divided by `divisor`, at least
/// `minimum`. `ipv4` and `ipv6` are prefix lengths.
struct Share {
    ipv4: u8,
    ipv6: u8,
    divisor: usize,
    minimum: usize,
}

/// A customer has at most an IPv6 /48 and about an IPv4 /24, and gets a sixteenth of the list. A
/// hosting provider has a /32 and several /16s, and gets a quarter for all its customers.
const SHARES: [Share; 2] = [
    Share { ipv4: 24, ipv6: 48, divisor: 16, minimum: 4 },
    Share { ipv4: 16, ipv6: 32, divisor: 4, minimum: 16 },
];

fn overlap(one: Network, other: Network) -> bool {
    one.contains(other.address) || other.contains(one.address)
}

/// Returns whether an address cannot belong to a single host. Blocking it would stop neighbour
/// discovery, DHCP or all traffic.
fn is_special(address: IpAddr) -> bool {
    let link_local = match address {
        IpAddr::V4(v4) => v4.is_link_local() || v4.is_broadcast(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    };
    address.is_unspecified() || address.is_loopback() || address.is_multicast() || link_local
}

#[cfg(test)]
mod tests;
