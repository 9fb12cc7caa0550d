// SPDX-License-Identifier: GPL-2.0-or-later
//! Reading whole tables, and making changes of events.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::change::Change;
use crate::decode::{News, decode};
use crate::message::{Table, messages};
use crate::pppoe::{in_order, parse_dialer, parse_sessions};
use crate::socket::{DATAGRAM, RouteSocket};
use crate::types::{Dialer, LinkKind, PppoeSession};
use crate::watcher::WatchError;

/// What is read of the kernel.
pub(crate) trait Kernel {
    /// A whole table, as datagrams.
    fn dump(&mut self, table: Table) -> io::Result<Vec<Vec<u8>>>;
    /// `PPPoE` sessions, and who keeps them if there are several.
    fn pppoe(&mut self) -> io::Result<(Vec<PppoeSession>, Vec<Dialer>)>;
}

/// The running kernel.
#[derive(Debug)]
pub(crate) struct Running {
    socket: RouteSocket,
    seq: u32,
    proc: PathBuf,
}

impl Running {
    pub(crate) fn open(proc: &Path) -> io::Result<Self> {
        let socket = RouteSocket::open(false)?;
        // The kernel answers a dump from within the call; waiting long means it never will.
        socket.receive_timeout(Duration::from_secs(2))?;
        Ok(Self { socket, seq: 0, proc: proc.to_owned() })
    }

    /// One attempt; none if the table changed under the kernel's hands (`NLM_F_DUMP_INTR`).
    fn try_dump(&mut self, table: Table) -> io::Result<Option<Vec<Vec<u8>>>> {
        const NLM_F_DUMP_INTR: u16 = 16;
        const NLMSG_ERROR: u16 = 2;
        const NLMSG_DONE: u16 = 3;
        self.seq = self.seq.wrapping_add(1);
        self.socket.send(&table.request(self.seq))?;
        let mut datagrams = Vec::new();
        let mut interrupted = false;
        let mut buffer = vec![0; DATAGRAM];
        loop {
            let datagram = self.socket.receive(&mut buffer)?;
            let mut done = false;
            // What is left of a dump that was given up has another number.
            for message in messages(datagram).filter(|message| message.seq == self.seq) {
                interrupted |= message.flags & NLM_F_DUMP_INTR != 0;
                let code =
                    message.payload.first_chunk().map_or(0, |code| i32::from_ne_bytes(*code));
                match message.kind {
                    NLMSG_ERROR | NLMSG_DONE if code < 0 => {
                        return Err(io::Error::from_raw_os_error(-code));
                    }
                    NLMSG_DONE => done = true,
                    _ => {}
                }
            }
            datagrams.push(datagram.to_vec());
            if done {
                return Ok((!interrupted).then_some(datagrams));
            }
        }
    }

    fn dialers(&self) -> Vec<Dialer> {
        let Ok(processes) = fs::read_dir(&self.proc) else { return Vec::new() };
        let dialers = processes
            .flatten()
            .filter(|entry| entry.file_name().as_encoded_bytes().iter().all(u8::is_ascii_digit))
            .filter_map(|entry| fs::read(entry.path().join("cmdline")).ok())
            .filter_map(|cmdline| parse_dialer(&cmdline));
        in_order(dialers)
    }
}

impl Kernel for Running {
    fn dump(&mut self, table: Table) -> io::Result<Vec<Vec<u8>>> {
        for _ in 0..5 {
            if let Some(datagrams) = self.try_dump(table)? {
                return Ok(datagrams);
            }
        }
        Err(io::Error::other("the table changes faster than it can be dumped"))
    }

    fn pppoe(&mut self) -> io::Result<(Vec<PppoeSession>, Vec<Dialer>)> {
        // Not there as long as the module is not loaded.
        let text = match fs::read_to_string(self.proc.join("net/pppoe")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            other => other?,
        };
        let sessions = parse_sessions(&text);
        let dialers = if sessions.len() > 1 { self.dialers() } else { Vec::new() };
        Ok((sessions, dialers))
    }
}

/// Sessions of other programs (a server, say) may stay without a device for good.
const LOOKS: u8 = 5;

/// What events did not tell in full.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "one for each table")]
struct Stale {
    vlans: bool,
    routes: bool,
    queues: bool,
    rules: bool,
    pppoe: bool,
}

/// Makes changes of what the kernel tells, and knows what has to be read again.
#[derive(Debug)]
pub(crate) struct Reader<K> {
    kernel: K,
    ppp: HashSet<u32>,
    stale: Stale,
    /// How often a session without a ppp device is still looked after.
    looks: u8,
    /// There are more sessions than ppp devices.
    orphans: bool,
}

impl<K: Kernel> Reader<K> {
    pub(crate) fn new(kernel: K) -> Self {
        Self { kernel, ppp: HashSet::new(), stale: Stale::default(), looks: LOOKS, orphans: false }
    }

    /// Everything.
    pub(crate) fn full(&mut self) -> Result<Change, WatchError> {
        self.ppp.clear();
        let mut all = Vec::new();
        for table in Table::ALL {
            match table {
                Table::Vlans => all.push(self.vlans()?),
                Table::Queues => all.push(self.queues()?),
                Table::Rules => all.push(self.rules()?),
                _ => self.changes(table, &mut all)?,
            }
        }
        for change in &all {
            self.notice(change);
        }
        all.push(self.pppoe()?);
        self.stale = Stale::default();
        Ok(Change::Full(all))
    }

    /// Takes in a datagram of events.
    pub(crate) fn event(&mut self, datagram: &[u8], changes: &mut Vec<Change>) {
        for message in messages(datagram) {
            match decode(&message) {
                News::Change(change) => {
                    self.notice(&change);
                    changes.push(change);
                }
                News::Vlans(_) => self.stale.vlans = true,
                News::Queue(_) => self.stale.queues = true,
                News::Routes => self.stale.routes = true,
                News::Rule(_) => self.stale.rules = true,
                News::Nothing => {}
            }
        }
    }

    /// Reads again what the events did not tell.
    pub(crate) fn refresh(&mut self, changes: &mut Vec<Change>) -> Result<(), WatchError> {
        if std::mem::take(&mut self.stale.vlans) {
            changes.push(self.vlans()?);
        }
        if std::mem::take(&mut self.stale.routes) {
            let mut routes = Vec::new();
            self.changes(Table::Routes, &mut routes)?;
            let routes = routes.into_iter().filter_map(|change| match change {
                Change::Route(route) => Some(route),
                _ => None,
            });
            changes.push(Change::Routes(routes.collect()));
        }
        if std::mem::take(&mut self.stale.queues) {
            changes.push(self.queues()?);
        }
        if std::mem::take(&mut self.stale.rules) {
            changes.push(self.rules()?);
        }
        if std::mem::take(&mut self.stale.pppoe) {
            changes.push(self.pppoe()?);
        }
        Ok(())
    }

    /// Whether the sessions should be read again in a while without an event: pppd closes its
    /// session some time after its device went, and of that nobody tells.
    pub(crate) fn waits(&self) -> bool {
        self.orphans && self.looks > 0
    }

    /// That while is over.
    pub(crate) fn look_again(&mut self) {
        self.looks = self.looks.saturating_sub(1);
        self.stale.pppoe = true;
    }

    fn notice(&mut self, change: &Change) {
        match change {
            Change::Link(link) => {
                self.stale.routes |= !link.up;
                if link.kind == LinkKind::Ppp {
                    self.ppp.insert(link.index);
                    self.stale.pppoe = true;
                    self.looks = LOOKS;
                }
            }
            Change::LinkGone(index) => {
                self.stale.routes = true;
                if self.ppp.remove(index) {
                    self.stale.pppoe = true;
                    self.looks = LOOKS;
                }
            }
            Change::AddressGone(_) => self.stale.routes = true,
            _ => {}
        }
    }

    fn datagrams(&mut self, table: Table) -> Result<Vec<Vec<u8>>, WatchError> {
        let what = table.name();
        self.kernel.dump(table).map_err(|source| WatchError::Read { what, source })
    }

    fn changes(&mut self, table: Table, into: &mut Vec<Change>) -> Result<(), WatchError> {
        for datagram in self.datagrams(table)? {
            into.extend(messages(&datagram).filter_map(|message| match decode(&message) {
                News::Change(change) => Some(change),
                _ => None,
            }));
        }
        Ok(())
    }

    fn vlans(&mut self) -> Result<Change, WatchError> {
        let mut ports = Vec::new();
        for datagram in self.datagrams(Table::Vlans)? {
            ports.extend(messages(&datagram).filter_map(|message| match decode(&message) {
                News::Vlans(port) => port,
                _ => None,
            }));
        }
        Ok(Change::BridgeVlans(ports))
    }

    /// What a kernel may be built without.
    fn optional(&mut self, table: Table) -> Result<Vec<Vec<u8>>, WatchError> {
        match self.kernel.dump(table) {
            Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => Ok(Vec::new()),
            read => read.map_err(|source| WatchError::Read { what: table.name(), source }),
        }
    }

    fn rules(&mut self) -> Result<Change, WatchError> {
        let mut rules = Vec::new();
        for datagram in self.optional(Table::Rules)? {
            rules.extend(messages(&datagram).filter_map(|message| match decode(&message) {
                News::Rule(rule) => rule,
                _ => None,
            }));
        }
        Ok(Change::Rules(rules))
    }

    fn queues(&mut self) -> Result<Change, WatchError> {
        let datagrams = self.optional(Table::Queues)?;
        let mut queues = Vec::new();
        for datagram in datagrams {
            queues.extend(messages(&datagram).filter_map(|message| match decode(&message) {
                News::Queue(queue) => queue,
                _ => None,
            }));
        }
        Ok(Change::Queues(in_order(queues.into_iter())))
    }

    fn pppoe(&mut self) -> Result<Change, WatchError> {
        let what = "PPPoE sessions";
        let read = self.kernel.pppoe().map_err(|source| WatchError::Read { what, source });
        let (sessions, dialers) = read?;
        self.orphans = sessions.len() > self.ppp.len();
        Ok(Change::Pppoe(sessions, dialers))
    }
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
