// SPDX-License-Identifier: GPL-2.0-or-later
//! Reports nftables transactions (not conntrack): whether they change one table, others, or only
//! elements of sets that decide. Also reads the generation of the rules.

use std::collections::BTreeSet;
use std::io;

use netlink::{
    ACK, AsyncSocket, Dump, Message, Protocol, REQUEST, RequestError, attribute, message, messages,
    overrun,
};

use crate::set_use::{self, Name, SetUse};

/// `NFNLGRP_NFTABLES`.
const GROUP: u32 = 7;
/// Receive buffer for notifications of a few thousand rules or elements while the daemon is busy.
const KERNEL_BUFFER: usize = 1024 * 1024;
/// Datagrams read in one burst.
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
/// `NFTA_TABLE_NAME`; other messages use the same number for the name of the table.
const TABLE: u16 = 1;
/// `NFTA_SET_ELEM_LIST_SET`.
const SET: u16 = 2;
/// Limit of changed sets to compare; with more of them, one is assumed to decide.
const SETS: usize = 64;

/// Change of the followed table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Touch {
    /// No change, or only elements of its sets were added or removed.
    #[default]
    None,
    /// The table was created, or an object in it was added or removed.
    Changed,
    /// The table was removed and not created again in the same transaction.
    Gone,
}

/// Effect of one or more transactions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Revision {
    /// Effect on the followed table.
    pub table: Touch,
    /// Other tables, or chains, rules, sets or objects in them, changed.
    pub others: bool,
    /// Elements of sets in other tables were added or removed. A [`RevisionSocket`] reports only
    /// sets that decide about packets of forwarded connections.
    pub elements: bool,
}

impl Revision {
    /// Effect assumed after messages were lost.
    pub const UNKNOWN: Self = Self { table: Touch::Changed, others: true, elements: true };

    fn add(&mut self, kind: u16, followed: bool) {
        match (kind, followed) {
            (kind, true) if is_elements(kind) => {}
            (kind, false) if is_elements(kind) => self.elements = true,
            (DELTABLE, true) => self.table = Touch::Gone,
            (NEWTABLE, true) => self.table = Touch::Changed,
            // Messages about chains and rules of a removed table may follow its removal.
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

/// Reasons why changes cannot be followed.
#[derive(Debug, thiserror::Error)]
pub enum RevisionError {
    /// The socket cannot be opened or may not listen.
    #[error("cannot listen to nftables")]
    Open(#[source] io::Error),
    #[error("cannot read notifications of nftables")]
    Read(#[source] io::Error),
}

/// Groups messages into transactions. The kernel reports a transaction in one or more datagrams
/// once it is in force, and ends with its generation.
#[derive(Debug, Clone)]
pub struct Revisions {
    family: u8,
    table: Vec<u8>,
    /// Effect of the transaction that has not ended yet.
    open: Revision,
    /// Sets in other tables with changed elements; `None` if too many or unknown.
    sets: Option<BTreeSet<Name>>,
}

impl Revisions {
    /// Follows the table with this name and family (`NFPROTO_INET` is 1).
    #[must_use]
    pub fn of(family: u8, table: &str) -> Self {
        Self {
            family,
            table: table.as_bytes().to_owned(),
            open: Revision::default(),
            sets: Some(BTreeSet::new()),
        }
    }

    /// Returns the combined effect of the transactions that end in `datagram`; `None` if none does.
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
        self.sets.take_if(|sets| sets.len() > SETS);
    }

    /// Returns and clears the sets with changed elements; `None` if too many or unknown.
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

/// Returns the name of the table that a message is about, without its zero byte.
fn table<'a>(message: &Message<'a>) -> Option<&'a [u8]> {
    attribute(message.payload.get(HEADER..)?, TABLE).map(text)
}

/// Removes the zero byte from a string of the kernel.
pub(crate) fn text(value: &[u8]) -> &[u8] {
    value.strip_suffix(&[0]).unwrap_or(value)
}

/// Returns the generation of the rules in force, which changes with each transaction. Needs
/// `CAP_NET_ADMIN` and a tokio runtime.
///
/// # Errors
/// Fails if the kernel cannot be asked or has no nftables.
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

/// Receives every transaction.
#[derive(Debug)]
pub struct RevisionSocket {
    socket: AsyncSocket,
    revisions: Revisions,
    /// Sets that decide; `None` if unknown for the rules in force.
    deciding: Option<BTreeSet<Name>>,
}

impl RevisionSocket {
    /// Starts listening. Needs `CAP_NET_ADMIN` and a tokio runtime.
    ///
    /// # Errors
    /// Fails if the socket cannot be opened or cannot join the group.
    pub fn open(revisions: Revisions) -> Result<Self, RevisionError> {
        let socket =
            AsyncSocket::open(Protocol::Netfilter, &[GROUP]).map_err(RevisionError::Open)?;
        socket.receive_buffer(KERNEL_BUFFER).map_err(RevisionError::Open)?;
        Ok(Self { socket, revisions, deciding: None })
    }

    /// Waits for a transaction and returns the combined effect of all received ones, which is
    /// [`Revision::UNKNOWN`] after an overflow of the socket.
    ///
    /// # Errors
    /// Fails if the socket cannot be read.
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
    /// rules at the first change of elements after they have changed.
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
