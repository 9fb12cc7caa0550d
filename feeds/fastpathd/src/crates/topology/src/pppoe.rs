// SPDX-License-Identifier: GPL-2.0-or-later
//! `PPPoE` sessions, and the ppp device of each.
//!
//! The kernel lists the sessions (`/proc/net/pppoe`) and the ppp devices (rtnetlink), but not which
//! belong together. One of each is a clear pair. With several, the command line of the session's
//! pppd has both names (`OpenWrt` starts `pppd … ifname pppoe-wan … plugin pppoe.so nic-wan.35`);
//! the rest is matched if only one pairing is possible.

use std::collections::BTreeMap;

use crate::types::{Dialer, Mac, Name, PppoeSession};

/// Parses `/proc/net/pppoe`: a heading, then `Id Address Device` per line. Skips other lines.
#[must_use]
pub fn parse_sessions(text: &str) -> Vec<PppoeSession> {
    let mut sessions: Vec<PppoeSession> = text.lines().filter_map(parse_session).collect();
    sessions.sort_unstable();
    sessions
}

fn parse_session(line: &str) -> Option<PppoeSession> {
    let mut words = line.split_ascii_whitespace();
    // The kernel prints the big-endian number as if it were native.
    let raw = u32::from_str_radix(words.next()?, 16).ok()?;
    let id = u16::from_be(u16::try_from(raw).ok()?);
    let peer = parse_mac(words.next()?)?;
    let device = Name::from(words.next()?);
    words.next().is_none().then_some(PppoeSession { id, peer, device })
}

fn parse_mac(text: &str) -> Option<Mac> {
    let mut mac = [0; 6];
    let mut parts = text.split(':');
    for byte in &mut mac {
        let hex = |part: &&str| part.len() == 2 && part.bytes().all(|c| c.is_ascii_hexdigit());
        let part = parts.next().filter(hex)?;
        *byte = u8::from_str_radix(part, 16).ok()?;
    }
    parts.next().is_none().then_some(Mac(mac))
}

/// Parses a process's command line (`/proc/PID/cmdline`, arguments ended by NUL). `None` unless it
/// is a pppd with a `PPPoE` plugin and an `ifname` argument.
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

/// Returns the session of each ppp device by name, where the pairing is known.
pub(crate) fn assign<'a>(
    ppp: &[&Name],
    sessions: &'a [PppoeSession],
    dialers: &[Dialer],
) -> BTreeMap<Name, &'a PppoeSession> {
    let mut found = BTreeMap::new();
    let mut devices: Vec<&Name> = ppp.to_vec();
    let mut left: Vec<&PppoeSession> = sessions.iter().collect();
    for dialer in dialers {
        let over: Vec<_> = left.iter().filter(|session| session.device == dialer.lower).collect();
        let ([session], true) = (over.as_slice(), devices.contains(&&dialer.device)) else {
            continue;
        };
        let session: &PppoeSession = session;
        found.insert(dialer.device.clone(), session);
        devices.retain(|device| **device != dialer.device);
        left.retain(|other| *other != session);
    }
    if let ([device], [session]) = (devices.as_slice(), left.as_slice()) {
        found.insert((*device).clone(), *session);
    }
    found
}

/// Returns the device below a ppp device with an unknown session, if all sessions run over the same
/// device.
pub(crate) fn common_lower(sessions: &[PppoeSession]) -> Option<&Name> {
    let first = &sessions.first()?.device;
    sessions.iter().all(|session| session.device == *first).then_some(first)
}

#[cfg(test)]
mod tests;
