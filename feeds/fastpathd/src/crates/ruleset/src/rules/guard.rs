// SPDX-License-Identifier: GPL-2.0-or-later
//! Keeps frames for other stations out of the flowtable, which compares no MAC address: a bridge
//! forwards them, or the stack drops them.
//!
//! A chain cannot skip a later hook. So the first chain sets a protocol that no flowtable looks up,
//! and the second, right after the flowtable, restores it. A bit of the packet mark selects the
//! packets to restore. Ingress rules of other programs (priority `filter`) run before all three and
//! see the packet unchanged.

use crate::plan::Plan;
use crate::rules::{Chain, Rule};

// Priorities of the chain before the flowtable, the flowtable, and the chain after it.
const BEFORE: &str = "filter + 9";
pub(crate) const FLOWTABLE: &str = "filter + 10";
/// Priority of the flowtable as nft lists it.
pub(crate) const FLOWTABLE_PRIORITY: i64 = 10;
const AFTER: &str = "filter + 11";

/// Base chains at ingress.
pub(crate) const CHAINS: [(&str, &str); 2] =
    [("before_flowtable", BEFORE), ("behind_flowtable", AFTER)];

// Chains that the base chains jump to.
const HIDE: &str = "hide";
const SHOW: &str = "show";

/// Set of the router's addresses by device.
pub(crate) const OWN: &str = "own";

/// Match, byte of the protocol, and its value while hidden. The checksum is not updated, because
/// the byte is restored.
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
    // Most frames have the address of the device itself, which is cheaper to check than the set.
    let strange = format!("meta pkttype != host iifname . ether daddr != @{OWN} goto {HIDE}");
    let [before, after] = CHAINS;
    let chain = |name, comment, hook, rules| Chain { name, comment, hook, rules };
    let base = |(name, priority), comment, text: String, why| {
        chain(name, comment, Some(("ingress", priority)), vec![Rule::new(text, why)])
    };
    vec![
        chain(HIDE, "!fastpath: packets to another station", None, hide.into()),
        chain(SHOW, "!fastpath: the same behind the flowtable", None, show.into()),
        base(before, "!fastpath: before the flowtable", strange, "addressed to another station"),
        base(
            after,
            "!fastpath: behind the flowtable",
            format!("meta mark & {bit:#010x} != 0x00000000 goto {SHOW}"),
            "the flowtable has not seen it",
        ),
    ]
}
