// SPDX-License-Identifier: GPL-2.0-or-later
//! Follows nftables transactions: reports whether they change our table, other tables, or elements
//! of sets that decide about forwarded packets. Also reads the generation of the rules.

use std::collections::BTreeSet;
use std::io;

use netlink::{
    ACK, AsyncSocket, Dump, Message, Protocol, REQUEST, RequestError, attribute, message, messages,
    overrun,
};

use crate::set_use::{self, Name, SetUse};

/// `NFNLGRP_NFTABLES`.
const GROUP: u32 = 7;
/// Receive buffer, sufficient for notifications of a few thousand rules or elements.
const KERNEL_BUFFER: usize = 1024 * 1024;
/// Maximum datagrams read by one call.
const BURST: usize = 256;

pub(crate) const SUBSYSTEM: u16 = 10 << 8; // NFNL_SUBSYS_NFTABLES
const NEWTABLE: u16 = SUBSYSTEM;
const DELTABLE: u16 = SUBSYSTEM | 2;
const NEWSETELEM: u16 = SUBSYSTEM | 0x0c;
const DELSETELEM: u16 = SUBSYSTEM | 0x0e;
const NEWGEN: u16 = SUBSYSTEM | 0x0f;
const DESTROYSETELEM: u16 = SUBSYSTEM | 0x1e;

/// Size of `struct nfgenmsg`.
pub(crate) const HEADER: usize = 4;
/// `NFTA_TABLE_NAME`, `NFTA_CHAIN_TABLE` and so on: the table name in any message.
const TABLE: u16 = 1;
/// `NFTA_SET_ELEM_LIST_SET`.
const SET: u16 = 2;
/// Maximum number of changed sets to compare; with more, one of them is assumed to affect
/// forwarded connections.
const MAX_SETS: usize = 64;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Touch {
    /// Nothing but set elements changed.
    #[default]
    None,
    /// The table or an object in it was created, or an object was removed.
    Changed,
    /// The transaction removed the table without creating it again.
    Gone,
}

/// Combined effect of one or more transactions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Revision {
    pub table: Touch,
    /// Another table changed, apart from set elements.
    pub others: bool,
    /// Set elements of another table changed. [`RevisionSocket`] considers only sets that decide
    /// about packets of forwarded connections.
    pub elements: bool,
}

impl Revision {
    /// Effect assumed after an overflow.
    pub const UNKNOWN: Self = Self { table: Touch::Changed, others: true, elements: true };

    fn add(&mut self, kind: u16, followed: bool) {
        match (kind, followed) {
            (kind, true) if is_elements(kind) => {}
            (kind, false) if is_elements(kind) => self.elements = true,
            (DELTABLE, true) => self.table = Touch::Gone,
            (NEWTABLE, true) => self.table = Touch::Changed,
            // Messages about chains and rules of a removed table may follow.
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

#[derive(Debug, thiserror::Error)]
pub enum RevisionError {
    #[error("cannot listen to nftables")]
    Open(#[source] io::Error),
    #[error("cannot read notifications of nftables")]
    Read(#[source] io::Error),
}

/// Groups messages into transactions. The kernel reports a transaction in one or more datagrams
/// after it is in force; the last message has the new generation.
#[derive(Debug, Clone)]
pub struct Revisions {
    family: u8,
    table: Vec<u8>,
    open: Revision,
    /// Changed sets of other tables; `None` if unknown or too many.
    sets: Option<BTreeSet<Name>>,
}

impl Revisions {
    /// Follows the table with this name and family number (`NFPROTO_*`).
    #[must_use]
    pub fn of(family: u8, table: &str) -> Self {
        Self {
            family,
            table: table.as_bytes().to_owned(),
            open: Revision::default(),
            sets: Some(BTreeSet::new()),
        }
    }

    /// Returns the combined effect of all transactions that end in `datagram`, or `None` if no
    /// transaction ends.
    pub fn take(&mut self, datagram: &[u8]) -> Option<Revision> {
        let mut ended = None;
        for message in messages(datagram) {
            if message.kind & 0xff00 != SUBSYSTEM {
                continue;
            }
            if message.kind == NEWGEN {
                let done = std::mem::take(&mut self.open);
                ended.get_or_insert_with(Revision::default).then(done);
            } else {
                let followed = self.is_followed(&message);
                self.open.add(message.kind, followed);
                if !followed && is_elements(message.kind) {
                    self.note_set(&message);
                }
            }
        }
        ended
    }

    fn note_set(&mut self, message: &Message<'_>) {
        let name = set_use::named(message.payload, SET).map(|(name, _)| name);
        if let Some((sets, name)) = self.sets.as_mut().zip(name) {
            sets.insert(name);
        } else {
            self.sets = None;
        }
        self.sets.take_if(|sets| sets.len() > MAX_SETS);
    }

    /// Returns and clears the changed sets; `None` if unknown or too many.
    fn take_sets(&mut self) -> Option<BTreeSet<Name>> {
        self.sets.replace(BTreeSet::new())
    }

    fn is_followed(&self, message: &Message<'_>) -> bool {
        message.payload.first() == Some(&self.family) && table(message) == Some(&self.table)
    }
}

fn is_elements(kind: u16) -> bool {
    matches!(kind, NEWSETELEM | DELSETELEM | DESTROYSETELEM)
}

fn table<'a>(message: &Message<'a>) -> Option<&'a [u8]> {
    attribute(message.payload.get(HEADER..)?, TABLE).map(text)
}

/// Removes the terminating zero byte.
pub(crate) fn text(value: &[u8]) -> &[u8] {
    value.strip_suffix(&[0]).unwrap_or(value)
}

/// Returns the generation of the rules in force, which changes with each transaction. Needs
/// `CAP_NET_ADMIN` and a tokio runtime.
pub async fn generation() -> io::Result<u32> {
    Ok(request_generation().await?)
}

async fn request_generation() -> Result<u32, RequestError> {
    const GETGEN: u16 = SUBSYSTEM | 16;
    /// `NFTA_GEN_ID`.
    const ID: u16 = 1;
    let mut answer = Dump::open(Protocol::Netfilter)?;
    answer.start(|seq| message(GETGEN, REQUEST | ACK, seq, &[0; HEADER]))?;
    let mut id = None;
    let mut each = |message: Message<'_>| {
        let found = message.payload.get(HEADER..).and_then(|content| attribute(content, ID));
        id = id.or(found.and_then(|id| id.try_into().ok()));
    };
    while answer.next(&mut each).await? {}
    id.map(u32::from_be_bytes).ok_or(RequestError::Malformed)
}

/// Receives the kernel's reports of nftables transactions.
#[derive(Debug)]
pub struct RevisionSocket {
    socket: AsyncSocket,
    revisions: Revisions,
    /// Sets that decide about forwarded packets; `None` if not read for the rules in force.
    deciding: Option<BTreeSet<Name>>,
}

impl RevisionSocket {
    /// Opens a socket that receives reports. Needs `CAP_NET_ADMIN` and a tokio runtime.
    pub fn open(revisions: Revisions) -> Result<Self, RevisionError> {
        let socket =
            AsyncSocket::open(Protocol::Netfilter, &[GROUP]).map_err(RevisionError::Open)?;
        socket.receive_buffer(KERNEL_BUFFER).map_err(RevisionError::Open)?;
        Ok(Self { socket, revisions, deciding: None })
    }

    /// Waits for a transaction and returns the combined effect of all queued ones. Returns
    /// [`Revision::UNKNOWN`] after an overflow.
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
        let sets = self.revisions.take_sets();
        if all.others {
            self.deciding = None;
        } else if all.elements {
            all.elements = self.decides(sets).await;
        }
        Ok(all)
    }

    /// Reports whether one of these sets decides about packets of forwarded connections. Reads the
    /// rules if they have changed.
    async fn decides(&mut self, sets: Option<BTreeSet<Name>>) -> bool {
        if self.deciding.is_none() {
            self.deciding = SetUse::deciding().await.ok().flatten();
        }
        sets.zip(self.deciding.as_ref()).is_none_or(|(sets, deciding)| !sets.is_disjoint(deciding))
    }
}

fn known(taken: io::Result<Option<Revision>>) -> Result<Option<Revision>, RevisionError> {
    match taken {
        Err(error) if overrun(&error) => Ok(Some(Revision::UNKNOWN)),
        taken => taken.map_err(RevisionError::Read),
    }
}

#[cfg(test)]
mod tests;
