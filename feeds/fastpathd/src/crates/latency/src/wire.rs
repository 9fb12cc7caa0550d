// SPDX-License-Identifier: GPL-2.0-or-later
//! rtnetlink messages for CAKE, ifb, clsact and redirect filters, with the handles that identify
//! fastpath's objects.

use netlink::{attribute, push_attribute};

use crate::plan::Plan;

/// ifb whose CAKE limits packets from the Internet.
pub const IFB: &str = "ifb-fastpath";
/// Handle that identifies fastpath's queueing disciplines.
pub(crate) const HANDLE: u32 = 0xfa57_0000;
/// Priority that identifies fastpath's filters.
const PRIORITY: u32 = 0xfa57;

pub(crate) const NEW_LINK: u16 = 16;
pub(crate) const DEL_LINK: u16 = 17;
pub(crate) const GET_LINK: u16 = 18;
pub(crate) const NEW_QDISC: u16 = 36;
pub(crate) const DEL_QDISC: u16 = 37;
pub(crate) const GET_QDISC: u16 = 38;
pub(crate) const NEW_FILTER: u16 = 44;
pub(crate) const DEL_FILTER: u16 = 45;
pub(crate) const GET_FILTER: u16 = 46;

const TCMSG: usize = 20;
const KIND: u16 = 1;
const OPTIONS: u16 = 2;

pub(crate) const ROOT: u32 = 0xffff_ffff;
/// Parent of `clsact` and of `ingress`.
pub(crate) const CLSACT: u32 = 0xffff_fff1;
const CLSACT_HANDLE: u32 = 0xffff_0000;
pub(crate) const INGRESS: u32 = 0xffff_fff2;
pub(crate) const EGRESS: u32 = 0xffff_fff3;

const U32_ACTION: u16 = 7;
const U32_INDEV: u16 = 8;
const ACTION_OPTIONS: u16 = 2;
const MIRRED_PARAMETERS: u16 = 2;

fn tcmsg(index: u32, handle: u32, parent: u32, info: u32) -> Vec<u8> {
    [0, index, handle, parent, info].map(u32::to_ne_bytes).concat()
}

fn text(bytes: &mut Vec<u8>, kind: u16, value: &str) {
    push_attribute(bytes, kind, &[value.as_bytes(), b"\0"].concat());
}

fn word(bytes: &mut Vec<u8>, kind: u16, value: u32) {
    push_attribute(bytes, kind, &value.to_ne_bytes());
}

/// Returns `TCA_OPTIONS` of CAKE. Uses one traffic class, because DSCP marks from the Internet are
/// untrusted and CAKE cannot read them below `PPPoE`; does not change marks.
pub(crate) fn cake(plan: &Plan, is_download: bool) -> Vec<u8> {
    const BASE_RATE64: u16 = 2;
    const DIFFSERV: u16 = 3;
    const FLOW_MODE: u16 = 5;
    const OVERHEAD: u16 = 6;
    const NAT: u16 = 11;
    const WASH: u16 = 13;
    const MPU: u16 = 14;
    const INGRESS: u16 = 15;
    const BEST_EFFORT: u32 = 3;
    const DUAL_SOURCE: u32 = 5;
    const DUAL_DESTINATION: u32 = 6;
    let rate = u64::from(if is_download { plan.download } else { plan.upload }) * 1000 / 8;
    let included = if is_download { 0 } else { plan.included };
    let mut options = Vec::new();
    push_attribute(&mut options, BASE_RATE64, &rate.to_ne_bytes());
    word(&mut options, DIFFSERV, BEST_EFFORT);
    word(&mut options, FLOW_MODE, if is_download { DUAL_DESTINATION } else { DUAL_SOURCE });
    // The overhead is signed and may be negative.
    word(&mut options, OVERHEAD, plan.overhead.wrapping_sub(included));
    word(&mut options, MPU, plan.mpu);
    // Downloads have the hosts' addresses at the ifb.
    word(&mut options, NAT, u32::from(!is_download));
    word(&mut options, WASH, 0);
    // Ingress mode counts dropped packets as used, which costs several percent of the rate.
    word(&mut options, INGRESS, 0);
    options
}

/// Returns fastpath's root queueing discipline.
pub(crate) fn root(index: u32, options: &[u8]) -> Vec<u8> {
    let mut payload = tcmsg(index, HANDLE, ROOT, 0);
    text(&mut payload, KIND, "cake");
    push_attribute(&mut payload, OPTIONS, options);
    payload
}

pub(crate) fn delete_root(index: u32) -> Vec<u8> {
    tcmsg(index, HANDLE, ROOT, 0)
}

pub(crate) fn clsact(index: u32) -> Vec<u8> {
    let mut payload = tcmsg(index, CLSACT_HANDLE, CLSACT, 0);
    text(&mut payload, KIND, "clsact");
    payload
}

pub(crate) fn delete_clsact(index: u32) -> Vec<u8> {
    tcmsg(index, CLSACT_HANDLE, CLSACT, 0)
}

pub(crate) fn all_qdiscs() -> Vec<u8> {
    tcmsg(0, 0, 0, 0)
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Qdisc {
    pub(crate) index: u32,
    pub(crate) handle: u32,
    pub(crate) parent: u32,
    pub(crate) kind: String,
    pub(crate) options: Vec<u8>,
}

impl Qdisc {
    pub(crate) fn parse(payload: &[u8]) -> Option<Self> {
        let (header, attributes) = payload.split_at_checked(TCMSG)?;
        Some(Self {
            index: word_at(header, 4)?,
            handle: word_at(header, 8)?,
            parent: word_at(header, 12)?,
            kind: text_of(attribute(attributes, KIND)?)?,
            options: attribute(attributes, OPTIONS).unwrap_or_default().to_vec(),
        })
    }

    pub(crate) fn is_ours(&self) -> bool {
        self.handle == HANDLE && self.parent == ROOT && self.kind == "cake"
    }

    /// Returns whether the queueing discipline includes these options.
    pub(crate) fn has(&self, options: &[u8]) -> bool {
        netlink::attributes(options)
            .all(|(kind, value)| attribute(&self.options, kind) == Some(value))
    }
}

/// Returns `tcm_info` of fastpath's filters: their priority, and all protocols.
fn info() -> u32 {
    const ALL: u16 = 3;
    PRIORITY << 16 | u32::from(ALL.to_be())
}

pub(crate) fn filters(index: u32, parent: u32) -> Vec<u8> {
    tcmsg(index, 0, parent, 0)
}

pub(crate) fn delete_filters(index: u32) -> Vec<u8> {
    tcmsg(index, 0, EGRESS, info())
}

/// Returns the egress filter that redirects packets from `source` to the ifb.
pub(crate) fn redirect(index: u32, source: &str, ifb: u32) -> Vec<u8> {
    const ACTION_KIND: u16 = 1;
    const STOLEN: u32 = 4;
    const EGRESS_REDIRECT: u32 = 1;
    let parameters = [0, 0, STOLEN, 0, 0, EGRESS_REDIRECT, ifb].map(u32::to_ne_bytes).concat();
    let (mut action, mut inner, mut actions) = (Vec::new(), Vec::new(), Vec::new());
    push_attribute(&mut inner, MIRRED_PARAMETERS, &parameters);
    text(&mut action, ACTION_KIND, "mirred");
    push_attribute(&mut action, nested(ACTION_OPTIONS), &inner);
    push_attribute(&mut actions, nested(1), &action);
    filter(index, source, |options| push_attribute(options, nested(U32_ACTION), &actions))
}

/// Returns the filter that passes packets from the ifb. A match resets their `tc_skip_classify`,
/// with which they would also skip the filters of a veth or bridge behind the device.
pub(crate) fn pass(index: u32) -> Vec<u8> {
    const CLASS: u16 = 1;
    filter(index, IFB, |options| word(options, CLASS, 0x0001_0001))
}

/// Returns an egress filter for packets last received by `source`.
fn filter(index: u32, source: &str, matched: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    const SELECTOR: u16 = 5;
    const TERMINAL: u8 = 1;
    // One key with an empty mask.
    let selector = [&[TERMINAL, 0, 1, 0][..], &[0; 12], &[0; 16]].concat();
    let mut options = Vec::new();
    push_attribute(&mut options, SELECTOR, &selector);
    text(&mut options, U32_INDEV, source);
    matched(&mut options);
    let mut payload = tcmsg(index, 0, EGRESS, info());
    text(&mut payload, KIND, "u32");
    push_attribute(&mut payload, nested(OPTIONS), &options);
    payload
}

const fn nested(kind: u16) -> u16 {
    kind | 1 << 15
}

/// Returns source and target of a filter of fastpath; target 0 passes packets. The source is empty
/// if its device was removed. `None` for other filters.
pub(crate) fn redirected(payload: &[u8]) -> Option<(String, u32)> {
    const INDEX_IN_PARAMETERS: usize = 24;
    const SELECTOR: u16 = 5;
    let (_, attributes) = payload.split_at_checked(TCMSG).filter(|_| is_ours(payload))?;
    let options = attribute(attributes, OPTIONS)?;
    // u32 hash tables carry no selector; skip them.
    attribute(options, SELECTOR)?;
    let source = attribute(options, U32_INDEV).and_then(text_of).unwrap_or_default();
    let action = attribute(options, U32_ACTION).and_then(|actions| attribute(actions, 1));
    let Some(action) = action else { return Some((source, 0)) };
    let parameters = attribute(attribute(action, ACTION_OPTIONS)?, MIRRED_PARAMETERS)?;
    Some((source, word_at(parameters, INDEX_IN_PARAMETERS)?))
}

/// Returns whether a filter or filter table belongs to fastpath.
pub(crate) fn is_ours(payload: &[u8]) -> bool {
    word_at(payload, 16).is_some_and(|info| info >> 16 == PRIORITY)
}

/// `IFF_UP`.
const UP: u32 = 1;

pub(crate) fn new_ifb() -> Vec<u8> {
    const LINK_INFO: u16 = 18;
    let mut payload = [0, 0, UP, UP].map(u32::to_ne_bytes).concat();
    let mut info = Vec::new();
    text(&mut info, 1, "ifb");
    text(&mut payload, IFLA_NAME, IFB);
    push_attribute(&mut payload, nested(LINK_INFO), &info);
    payload
}

const IFLA_NAME: u16 = 3;

pub(crate) fn ifb_by_name() -> Vec<u8> {
    let mut payload = vec![0; 16];
    text(&mut payload, IFLA_NAME, IFB);
    payload
}

pub(crate) fn link(index: u32) -> Vec<u8> {
    [0, index, 0, 0].map(u32::to_ne_bytes).concat()
}

pub(crate) fn link_up(index: u32) -> Vec<u8> {
    [0, index, UP, UP].map(u32::to_ne_bytes).concat()
}

/// Returns index and administrative state of a link.
pub(crate) fn link_state(payload: &[u8]) -> Option<(u32, bool)> {
    Some((word_at(payload, 4)?, word_at(payload, 8)? & UP != 0))
}

fn word_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn text_of(bytes: &[u8]) -> Option<String> {
    str::from_utf8(bytes).ok().map(|text| text.trim_end_matches('\0').to_owned())
}

#[cfg(test)]
mod tests;
