// SPDX-License-Identifier: GPL-2.0-or-later
//! Keeps frames to other stations out of the flowtable, which does not compare MAC addresses.
//!
//! A chain cannot skip a later hook. Instead, the first chain writes a protocol number that the
//! flowtable ignores, and the second chain, right after the flowtable, restores it. A bit of the
//! packet mark identifies such packets. Ingress rules of other programs (priority `filter`) run
//! earlier and see the packet unchanged.

use model::{MODULUS, SEED};

use crate::plan::Plan;
use crate::rules::{Chain, Rule};

const BEFORE: &str = "filter + 9";
pub(crate) const FLOWTABLE: &str = "filter + 10";
/// Priority of the flowtable as nft lists it.
pub(crate) const FLOWTABLE_PRIORITY: i64 = 10;
const AFTER: &str = "filter + 11";

pub(crate) const CHAINS: [(&str, &str); 2] =
    [("before_flowtable", BEFORE), ("behind_flowtable", AFTER)];

const HIDE: &str = "hide";
const SHOW: &str = "show";

pub(crate) const OWN: &str = "own";

/// Set of packets that the CPU receives while hardware forwards flows, by [`model::tuple_hash`].
pub const BY_CPU: &str = "by_cpu";

/// Match of a header, and its fields: protocol, source, source port, destination, destination port.
const TUPLES: [(&str, [&str; 5]); 2] = [
    ("ip protocol { tcp, udp }", ["ip protocol", "ip saddr", "th sport", "ip daddr", "th dport"]),
    ("ip6 nexthdr { tcp, udp }", ["ip6 nexthdr", "ip6 saddr", "th sport", "ip6 daddr", "th dport"]),
];

/// Header match, protocol, its byte, and its hidden value. The checksum is not updated, because the
/// byte is restored.
const HIDDEN: [(&str, u8, &str, u8); 4] = [
    ("ip protocol", 6, "@nh,72,8", 253),
    ("ip protocol", 17, "@nh,72,8", 254),
    ("ip6 nexthdr", 6, "@nh,48,8", 253),
    ("ip6 nexthdr", 17, "@nh,48,8", 254),
];

pub(super) fn chains(plan: &Plan) -> Vec<Chain> {
    if plan.guarded().next().is_none() {
        return Vec::new();
    }
    let bit = 1_u32 << plan.mark_mask.trailing_zeros();
    let kept = !bit;
    let hide = HIDDEN.map(|(header, protocol, byte, hidden)| {
        let text = format!(
            "{header} {protocol} meta mark set meta mark | {bit:#010x} {byte} set {hidden}"
        );
        Rule::new(text + " return", "not for the flowtable")
    });
    let show = HIDDEN.map(|(header, protocol, byte, hidden)| {
        let text = format!(
            "{header} {hidden} meta mark set meta mark & {kept:#010x} {byte} set {protocol} return"
        );
        Rule::new(text, "as it arrived")
    });
    // `pkttype host` covers most frames and is cheaper than the set.
    let to_others = format!("meta pkttype != host iifname . ether daddr != @{OWN} goto {HIDE}");
    let mut first = vec![Rule::new(to_others, "addressed to another station")];
    first.extend(plan.hardware.then(by_cpu).into_iter().flatten());
    let last = Rule::new(
        format!("meta mark & {bit:#010x} != 0x00000000 goto {SHOW}"),
        "the flowtable has not seen it",
    );
    let [before, after] = CHAINS;
    let chain = |name, comment, hook, rules| Chain { name, comment, hook, rules };
    let base =
        |(name, priority), comment, rules| chain(name, comment, Some(("ingress", priority)), rules);
    vec![
        chain(HIDE, "!fastpath: packets to another station", None, hide.into()),
        chain(SHOW, "!fastpath: the same behind the flowtable", None, show.into()),
        base(before, "!fastpath: before the flowtable", first),
        base(after, "!fastpath: behind the flowtable", vec![last]),
    ]
}

/// Returns rules that sample the packets that hardware leaves to the CPU. Packets beyond the limit
/// store [`MODULUS`], which is no hash.
fn by_cpu() -> impl Iterator<Item = Rule> {
    TUPLES.into_iter().flat_map(|(header, fields)| {
        let tuple = fields.join(" . ");
        let sample = format!(
            "{header} limit rate 1000/second burst 1000 packets update @{BY_CPU} \
             {{ jhash {tuple} mod {MODULUS} seed {SEED:#x} }} return"
        );
        let beyond = format!(
            "{header} limit rate 1/second burst 1 packets update @{BY_CPU} \
             {{ jhash {} mod 1 seed {SEED:#x} offset {MODULUS} }}",
            fields[0]
        );
        [
            Rule::new(sample, "sample of packets that reach the CPU"),
            Rule::new(beyond, "the sample is not complete"),
        ]
    })
}
