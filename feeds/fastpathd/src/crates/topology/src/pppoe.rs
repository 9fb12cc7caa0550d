// SPDX-License-Identifier: GPL-2.0-or-later
//! Parses `PPPoE` sessions, and assigns them to ppp devices.
//!
//! The kernel lists sessions (`/proc/net/pppoe`) and ppp devices (rtnetlink), but not their
//! relation. The command line of pppd names both (`OpenWrt` starts `pppd … ifname pppoe-wan …
//! plugin pppoe.so nic-wan.35`). If one session and one device remain, they belong together.

use std::collections::BTreeMap;

use crate::types::{Dialer, Name, PppoeSession};

/// Parses `/proc/net/pppoe`: a heading, then `Id Address Device` per line. Skips other lines.
#[must_use]
pub fn parse_sessions(text: &str) -> Vec<PppoeSession> {
    let mut sessions: Vec<PppoeSession> = text.lines().filter_map(parse_session).collect();
    config::sort::values(&mut sessions);
    sessions
}

fn parse_session(line: &str) -> Option<PppoeSession> {
    let mut words = line.split_ascii_whitespace();
    // The kernel prints the big-endian number in native order.
    let raw = u32::from_str_radix(words.next()?, 16).ok()?;
    let id = u16::from_be(u16::try_from(raw).ok()?);
    let peer = words.next()?.parse().ok()?;
    let device = Name::from(words.next()?);
    words.next().is_none().then_some(PppoeSession { id, peer, device })
}

/// Parses `/proc/PID/cmdline` (arguments end with NUL). `None` unless the process is a pppd with a
/// `PPPoE` plugin and an `ifname` argument.
#[must_use]
pub fn parse_dialer(cmdline: &[u8]) -> Option<Dialer> {
    let words: Vec<&str> =
        cmdline.split(|byte| *byte == 0).filter_map(|word| str::from_utf8(word).ok()).collect();
    if words.first()?.rsplit('/').next() != Some("pppd") {
        return None;
    }
    let after = |key| Some(*words.get(words.iter().position(|word| *word == key)? + 1)?);
    let plugin = words.iter().position(|word| word.ends_with("pppoe.so"))?;
    let nic = words
        .iter()
        .find_map(|word| word.strip_prefix("nic-"))
        .or_else(|| words.get(plugin + 1).copied())?;
    Some(Dialer { device: after("ifname")?.into(), lower: nic.into() })
}

/// Returns the sessions of the ppp devices, by device; omits ambiguous ones.
pub(crate) fn assign<'a>(
    ppp: &[&Name],
    sessions: &'a [PppoeSession],
    dialers: &[Dialer],
) -> BTreeMap<Name, &'a PppoeSession> {
    let mut found = BTreeMap::new();
    let mut devices: Vec<&Name> = ppp.to_vec();
    let mut unassigned: Vec<&PppoeSession> = sessions.iter().collect();
    for dialer in dialers {
        let over: Vec<_> =
            unassigned.iter().filter(|session| session.device == dialer.lower).collect();
        let ([session], true) = (over.as_slice(), devices.contains(&&dialer.device)) else {
            continue;
        };
        let session: &PppoeSession = session;
        found.insert(dialer.device.clone(), session);
        devices.retain(|device| **device != dialer.device);
        unassigned.retain(|other| *other != session);
    }
    if let ([device], [session]) = (devices.as_slice(), unassigned.as_slice()) {
        found.insert((*device).clone(), *session);
    }
    found
}

/// Returns the lower device if all sessions share it; it is valid for ppp devices of unknown
/// sessions.
pub(crate) fn common_lower(sessions: &[PppoeSession]) -> Option<&Name> {
    let first = &sessions.first()?.device;
    sessions.iter().all(|session| session.device == *first).then_some(first)
}

#[cfg(test)]
mod tests;
