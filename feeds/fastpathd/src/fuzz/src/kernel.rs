// SPDX-License-Identifier: GPL-2.0-or-later
//! Datagrams of the kernel: netlink messages, rtnetlink, conntrack.

use std::net::IpAddr;

use netlink::{HEADER, attributes, message, messages, push_attribute};
use topology::Topology;

pub(crate) fn netlink(bytes: &[u8]) {
    let mut length = 0;
    for found in messages(bytes) {
        length += HEADER + found.payload.len();
        let _ = (found.end(), found.is_interrupted());
        let again = message(found.kind, found.flags, found.seq, found.payload);
        assert_eq!(messages(&again).next(), Some(found));
    }
    assert!(length <= bytes.len());
    let mut written = Vec::new();
    for (kind, value) in attributes(bytes) {
        push_attribute(&mut written, kind, value);
    }
    assert!(attributes(&written).eq(attributes(bytes)));
}

/// Parses conntrack entries and events, and the end of each nftables transaction.
pub(crate) fn ctnetlink(bytes: &[u8]) {
    let mut entries = Vec::new();
    ctnetlink::entries(bytes, &mut entries);
    let _ = ctnetlink::entry(bytes);
    let _ = ctnetlink::events(bytes).count();
    // `NFT_MSG_NEWGEN`; family 1 is `NFPROTO_INET`.
    let ends = messages(bytes).any(|message| message.kind == 0x0a0f);
    assert_eq!(ctnetlink::Revisions::of(1, "fastpath").take(bytes).is_some(), ends);
}

/// Parses links, addresses, routes, neighbours, VLANs, rules and queues as tables and as events,
/// and queries the model as the daemon does.
pub(crate) fn rtnetlink(bytes: &[u8]) {
    let _ = topology::fuzz::answers(bytes);
    let mut model = Topology::new();
    for change in topology::fuzz::changes(bytes) {
        model.apply(change);
    }
    let neighbours = model.neighbours().map(|neighbour| neighbour.address);
    let mut addresses: Vec<IpAddr> = neighbours.collect();
    addresses.extend(model.addresses().map(|own| own.address));
    addresses.extend(model.routes().map(|route| route.network));
    addresses.truncate(16);
    for address in &addresses {
        let _ = (model.side(*address, None), model.link_path(*address, None));
        let _ = model.is_local(*address);
        let _ = model.is_policy_routed(*address, addresses[0]);
    }
    let _ = (model.bridges(), model.pppoe(), model.lowest(), model.tunnels(true), model.shaped());
    let _ = model.policies();
}
