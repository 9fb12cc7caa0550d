// SPDX-License-Identifier: GPL-2.0-or-later
//! Conversations, and the rules that they trigger.

mod innocent;
mod services;
mod web;

use crate::support::pcap::Side::{self, Home, Outside};
use crate::support::pcap::{Capture, Pair};
use crate::support::protocols::Said;

/// Adds a conversation to a capture.
type Speak = dyn Fn(&mut Capture, Pair);

pub(crate) struct Talk {
    pub(crate) name: &'static str,
    /// Rules that the conversation triggers.
    pub(crate) sids: Vec<u32>,
    pub(crate) speak: Box<Speak>,
}

/// Reports whether a rule applies to an address family.
pub(crate) fn is_of_family(sid: u32, v6: bool) -> bool {
    match sid {
        8_100_087 => !v6,
        8_100_088 => v6,
        _ => true,
    }
}

fn talk(name: &'static str, sids: &[u32], speak: impl Fn(&mut Capture, Pair) + 'static) -> Talk {
    Talk { name, sids: sids.to_vec(), speak: Box::new(speak) }
}

fn tcp(name: &'static str, sids: &[u32], initiator: Side, port: u16, said: Said) -> Talk {
    talk(name, sids, move |capture, pair| capture.tcp(pair, initiator, port, &said))
}

fn attempts(name: &'static str, sids: &[u32], initiator: Side, port: u16, count: usize) -> Talk {
    talk(name, sids, move |capture, pair| capture.attempts(pair, initiator, port, count))
}

pub(crate) fn all() -> Vec<Talk> {
    let mut talks = web::responses();
    talks.extend(web::fetches());
    talks.extend(web::requests());
    talks.extend(services::exposed());
    talks.extend(services::infected());
    talks.extend(services::passwords());
    talks.extend(services::names());
    talks.extend(services::tls());
    talks.extend(services::scans());
    talks.extend(innocent::talks());
    talks
}
