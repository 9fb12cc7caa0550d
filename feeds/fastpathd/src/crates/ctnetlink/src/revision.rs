// SPDX-License-Identifier: GPL-2.0-or-later
//! Transactions of nftables as they happen, by whether they touch one table.

use std::io;

use rustix::io::Errno;

use crate::decode::{Frame, Frames};
use crate::socket::Socket;

/// `NFNLGRP_NFTABLES` as a bind mask.
const GROUPS: u32 = 1 << 6;
/// Room for notifications of a few thousand rules or elements while the daemon is busy.
const KERNEL_BUFFER: usize = 1024 * 1024;
/// Datagrams taken in one go.
const BURST: usize = 256;

const SUBSYSTEM: u16 = 10 << 8; // NFNL_SUBSYS_NFTABLES
const NEWTABLE: u16 = SUBSYSTEM;
const DELTABLE: u16 = SUBSYSTEM | 2;
const NEWSETELEM: u16 = SUBSYSTEM | 0x0c;
const DELSETELEM: u16 = SUBSYSTEM | 0x0e;
const NEWGEN: u16 = SUBSYSTEM | 0x0f;
const DESTROYSETELEM: u16 = SUBSYSTEM | 0x1e;

/// `struct nfgenmsg`.
const HEADER: usize = 4;
/// `NFTA_TABLE_NAME`, and the table's name in the other messages.
const TABLE: u16 = 1;
/// `NLA_F_NESTED` and `NLA_F_NET_BYTEORDER` in the type of an attribute.
const FLAGS: u16 = 0xc000;

/// What was done to the table that is followed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Touch {
    /// Nothing, or elements of its sets came and went.
    #[default]
    None,
    /// It was made, or something in it was added or removed.
    Changed,
    /// It was removed, and not made again in the same transaction.
    Gone,
}

/// What one or more transactions did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Revision {
    /// To the table that is followed.
    pub table: Touch,
    /// Tables, chains, rules, sets or objects of others changed.
    pub others: bool,
    /// Elements of others' sets came or went.
    pub elements: bool,
}

impl Revision {
    /// What must be assumed when messages were lost.
    pub const UNKNOWN: Self = Self { table: Touch::Changed, others: true, elements: true };

    fn add(&mut self, kind: u16, followed: bool) {
        match (kind, followed) {
            (NEWSETELEM | DELSETELEM | DESTROYSETELEM, true) => {}
            (NEWSETELEM | DELSETELEM | DESTROYSETELEM, false) => self.elements = true,
            (DELTABLE, true) => self.table = Touch::Gone,
            (NEWTABLE, true) => self.table = Touch::Changed,
            // A table takes its chains and rules along: their messages may follow it.
            (_, true) => {
                if self.table == Touch::None {
                    self.table = Touch::Changed;
                }
            }
            (_, false) => self.others = true,
        }
    }

    fn then(&mut self, later: Self) {
        if later.table != Touch::None {
            self.table = later.table;
        }
        self.others |= later.others;
        self.elements |= later.elements;
    }
}

/// Why changes cannot be followed.
#[derive(Debug, thiserror::Error)]
pub enum RevisionError {
    /// No socket, or not allowed to listen.
    #[error("cannot listen to nftables")]
    Open(#[source] io::Error),
    /// Reading failed.
    #[error("cannot read notifications of nftables")]
    Read(#[source] io::Error),
}

/// Groups messages into transactions. The kernel reports a transaction in one or more
/// datagrams after it is in force, and ends with its generation.
#[derive(Debug, Clone)]
pub struct Revisions {
    family: u8,
    table: Vec<u8>,
    /// The transaction that has no end yet.
    open: Revision,
}

impl Revisions {
    /// Follows the table of this name in this family (`NFPROTO_INET` is 1).
    #[must_use]
    pub fn of(family: u8, table: &str) -> Self {
        Self { family, table: table.as_bytes().to_owned(), open: Revision::default() }
    }

    /// Takes a datagram in; what the transactions did that end in it, if any does.
    pub fn take(&mut self, datagram: &[u8]) -> Option<Revision> {
        let mut ended = None;
        for frame in Frames::new(datagram) {
            if frame.kind & 0xff00 != SUBSYSTEM {
                continue;
            }
            if frame.kind == NEWGEN {
                let done = std::mem::take(&mut self.open);
                ended.get_or_insert_with(Revision::default).then(done);
            } else {
                self.open.add(frame.kind, self.is_followed(&frame));
            }
        }
        ended
    }

    fn is_followed(&self, frame: &Frame<'_>) -> bool {
        frame.payload.first() == Some(&self.family) && table(frame) == Some(&self.table)
    }
}

/// Name of the table that a message is about, without its zero byte.
fn table<'a>(frame: &Frame<'a>) -> Option<&'a [u8]> {
    attribute(frame).map(|name| name.strip_suffix(&[0]).unwrap_or(name))
}

/// The first attribute of type 1: the name of the table, the generation's number.
fn attribute<'a>(frame: &Frame<'a>) -> Option<&'a [u8]> {
    let mut rest = frame.payload.get(HEADER..)?;
    loop {
        let [l0, l1, k0, k1] = *rest.first_chunk()?;
        let length = usize::from(u16::from_ne_bytes([l0, l1]));
        let value = rest.get(4..length)?;
        if u16::from_ne_bytes([k0, k1]) & !FLAGS == TABLE {
            return Some(value);
        }
        rest = rest.get(length.next_multiple_of(4)..)?;
    }
}

/// The number of the rules in force: another one after each transaction. Needs `CAP_NET_ADMIN` and
/// a tokio runtime.
///
/// # Errors
/// The kernel cannot be asked, or has no nftables.
pub async fn generation() -> io::Result<u32> {
    const GETGEN: u16 = SUBSYSTEM | 16;
    const REQUEST: u16 = 1;
    const ERROR: u16 = 2;
    /// Length, type, flags, number and port, then `struct nfgenmsg`.
    const LENGTH: u32 = 20;
    let mut socket = Socket::open(0)?;
    let mut request = LENGTH.to_ne_bytes().to_vec();
    request.extend(GETGEN.to_ne_bytes());
    request.extend(REQUEST.to_ne_bytes());
    request.extend([0; 12]);
    socket.send(&request)?;
    loop {
        let datagram = socket.recv().await?;
        for frame in Frames::new(datagram) {
            match frame.kind {
                NEWGEN => {
                    let found = attribute(&frame).and_then(|id| id.first_chunk());
                    let missing = || io::Error::other("no generation in the kernel's answer");
                    return found.map(|id| u32::from_be_bytes(*id)).ok_or_else(missing);
                }
                ERROR => return Err(io::Error::from_raw_os_error(frame.errno())),
                _ => {}
            }
        }
    }
}

/// A socket that hears of every transaction.
#[derive(Debug)]
pub struct RevisionSocket {
    socket: Socket,
    revisions: Revisions,
}

impl RevisionSocket {
    /// Starts listening. Needs `CAP_NET_ADMIN` and a tokio runtime.
    ///
    /// # Errors
    /// When there is no socket or the group cannot be joined.
    pub fn open(revisions: Revisions) -> Result<Self, RevisionError> {
        let socket = Socket::open(GROUPS).map_err(RevisionError::Open)?;
        socket.grow(KERNEL_BUFFER).map_err(RevisionError::Open)?;
        Ok(Self { socket, revisions })
    }

    /// Waits for a transaction and takes those that are there as one. After an overflow of the
    /// socket it is [`Revision::UNKNOWN`] what they did.
    ///
    /// # Errors
    /// Reading failed.
    pub async fn recv(&mut self) -> Result<Revision, RevisionError> {
        let mut found = None;
        while found.is_none() {
            let datagram = self.socket.recv().await;
            found = known(datagram.map(|bytes| self.revisions.take(bytes)))?;
        }
        let mut all = found.unwrap_or_default();
        for _ in 1..BURST {
            let more = self.socket.try_recv().transpose();
            let Some(datagram) = more else { break };
            let later = known(datagram.map(|bytes| self.revisions.take(bytes)))?;
            all.then(later.unwrap_or_default());
        }
        Ok(all)
    }
}

fn known(taken: io::Result<Option<Revision>>) -> Result<Option<Revision>, RevisionError> {
    match taken {
        Err(error) if error.raw_os_error() == Some(Errno::NOBUFS.raw_os_error()) => {
            Ok(Some(Revision::UNKNOWN))
        }
        taken => taken.map_err(RevisionError::Read),
    }
}

#[cfg(test)]
#[path = "revision_tests.rs"]
mod tests;
