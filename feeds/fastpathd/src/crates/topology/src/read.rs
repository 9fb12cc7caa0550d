// SPDX-License-Identifier: GPL-2.0-or-later
//! Dumps the kernel's tables, and decides which to dump again after an event. Polls `PPPoE`
//! sessions without a device up to 5 times.

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use netlink::{Client, Protocol, RequestError, messages};
use thiserror::Error;

use crate::change::Change;
use crate::decode::{Decoded, decode};
use crate::pppoe::{parse_dialer, parse_sessions};
use crate::table::Table;
use crate::types::{Dialer, LinkKind, PppoeSession};

#[derive(Debug, Error)]
pub enum ReadError {
    #[error("reading {0} from the kernel")]
    Table(&'static str, #[source] RequestError),
    #[error("reading PPPoE sessions from the kernel")]
    Pppoe(#[source] io::Error),
}

pub(crate) trait Kernel {
    fn dump(&mut self, table: Table) -> Result<Vec<u8>, RequestError>;
    /// Returns `PPPoE` sessions, and their pppd processes if there are several sessions.
    fn pppoe(&mut self) -> io::Result<(Vec<PppoeSession>, Vec<Dialer>)>;
}

#[derive(Debug)]
pub(crate) struct RunningKernel {
    client: Client,
    proc: PathBuf,
}

impl RunningKernel {
    pub(crate) fn open(proc: &Path) -> Result<Self, RequestError> {
        Ok(Self { client: Client::open(Protocol::Route)?, proc: proc.to_owned() })
    }

    fn dialers(&self) -> Vec<Dialer> {
        let Ok(processes) = fs::read_dir(&self.proc) else { return Vec::new() };
        let mut dialers: Vec<Dialer> = processes
            .flatten()
            .filter(|entry| entry.file_name().as_encoded_bytes().iter().all(u8::is_ascii_digit))
            .filter_map(|entry| fs::read(entry.path().join("cmdline")).ok())
            .filter_map(|cmdline| parse_dialer(&cmdline))
            .collect();
        config::sort::values(&mut dialers);
        dialers
    }
}

impl Kernel for RunningKernel {
    fn dump(&mut self, table: Table) -> Result<Vec<u8>, RequestError> {
        let (kind, payload) = table.request();
        self.client.dump(kind, &payload)
    }

    fn pppoe(&mut self) -> io::Result<(Vec<PppoeSession>, Vec<Dialer>)> {
        // The file exists only while the module `pppoe` is loaded.
        let text = match fs::read_to_string(self.proc.join("net/pppoe")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            other => other?,
        };
        let sessions = parse_sessions(&text);
        let dialers = if sessions.len() > 1 { self.dialers() } else { Vec::new() };
        Ok((sessions, dialers))
    }
}

/// Limit of rechecks, because sessions of other programs, such as a server, may never get a device.
const MAX_RECHECKS: u8 = 5;

/// Tables with changes that events report incompletely or not at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stale {
    Vlans,
    Routes,
    Queues,
    Rules,
    Pppoe,
}

/// Decodes messages into changes, and tracks which tables are stale.
#[derive(Debug)]
pub(crate) struct Reader<K> {
    kernel: K,
    ppp: HashSet<u32>,
    stale: BTreeSet<Stale>,
    rechecks: u8,
    /// There are more sessions than ppp devices.
    orphans: bool,
}

impl<K: Kernel> Reader<K> {
    pub(crate) fn new(kernel: K) -> Self {
        Self {
            kernel,
            ppp: HashSet::new(),
            stale: BTreeSet::new(),
            rechecks: MAX_RECHECKS,
            orphans: false,
        }
    }

    pub(crate) fn full(&mut self) -> Result<Change, ReadError> {
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
        self.stale.clear();
        Ok(Change::Full(all))
    }

    pub(crate) fn event(&mut self, datagram: &[u8], changes: &mut Vec<Change>) {
        for message in messages(datagram) {
            match decode(&message) {
                Decoded::Change(change) => {
                    self.notice(&change);
                    changes.push(change);
                }
                Decoded::Vlans(_) => self.mark(Stale::Vlans),
                Decoded::Queue(_) => self.mark(Stale::Queues),
                Decoded::Routes => self.mark(Stale::Routes),
                Decoded::Rule(_) => self.mark(Stale::Rules),
                Decoded::Nothing => {}
            }
        }
    }

    pub(crate) fn refresh(&mut self, changes: &mut Vec<Change>) -> Result<(), ReadError> {
        for table in std::mem::take(&mut self.stale) {
            changes.push(match table {
                Stale::Vlans => self.vlans()?,
                Stale::Routes => self.routes()?,
                Stale::Queues => self.queues()?,
                Stale::Rules => self.rules()?,
                Stale::Pppoe => self.pppoe()?,
            });
        }
        Ok(())
    }

    /// Returns whether to poll the sessions: pppd closes its session some time after it removes its
    /// device, and the kernel sends no event.
    pub(crate) fn needs_recheck(&self) -> bool {
        self.orphans && self.rechecks > 0
    }

    pub(crate) fn recheck(&mut self) {
        self.rechecks = self.rechecks.saturating_sub(1);
        self.mark(Stale::Pppoe);
    }

    fn mark(&mut self, table: Stale) {
        self.stale.insert(table);
    }

    fn notice(&mut self, change: &Change) {
        match change {
            Change::Link(link) => {
                if !link.up {
                    self.mark(Stale::Routes);
                }
                if link.kind == LinkKind::Ppp {
                    self.ppp.insert(link.index);
                    self.mark(Stale::Pppoe);
                    self.rechecks = MAX_RECHECKS;
                }
            }
            Change::LinkGone(index) => {
                self.mark(Stale::Routes);
                if self.ppp.remove(index) {
                    self.mark(Stale::Pppoe);
                    self.rechecks = MAX_RECHECKS;
                }
            }
            Change::AddressGone(_) => self.mark(Stale::Routes),
            _ => {}
        }
    }

    fn table(&mut self, table: Table) -> Result<Vec<u8>, ReadError> {
        self.kernel.dump(table).map_err(|error| ReadError::Table(table.name(), error))
    }

    /// Dumps a table; empty if the kernel does not support it.
    fn optional(&mut self, table: Table) -> Result<Vec<u8>, ReadError> {
        match self.kernel.dump(table) {
            Err(error) if error.refused() == Some(libc::EOPNOTSUPP) => Ok(Vec::new()),
            read => read.map_err(|error| ReadError::Table(table.name(), error)),
        }
    }

    fn changes(&mut self, table: Table, into: &mut Vec<Change>) -> Result<(), ReadError> {
        into.extend(decoded(&self.table(table)?, |decoded| match decoded {
            Decoded::Change(change) => Some(change),
            _ => None,
        }));
        Ok(())
    }

    fn vlans(&mut self) -> Result<Change, ReadError> {
        let ports = decoded(&self.table(Table::Vlans)?, |decoded| match decoded {
            Decoded::Vlans(port) => port,
            _ => None,
        });
        Ok(Change::BridgeVlans(ports))
    }

    fn routes(&mut self) -> Result<Change, ReadError> {
        let routes = decoded(&self.table(Table::Routes)?, |decoded| match decoded {
            Decoded::Change(Change::Route(route)) => Some(route),
            _ => None,
        });
        Ok(Change::Routes(routes))
    }

    fn rules(&mut self) -> Result<Change, ReadError> {
        let rules = decoded(&self.optional(Table::Rules)?, |decoded| match decoded {
            Decoded::Rule(rule) => rule,
            _ => None,
        });
        Ok(Change::Rules(rules))
    }

    fn queues(&mut self) -> Result<Change, ReadError> {
        let mut queues = decoded(&self.optional(Table::Queues)?, |decoded| match decoded {
            Decoded::Queue(queue) => queue,
            _ => None,
        });
        config::sort::values(&mut queues);
        Ok(Change::Queues(queues))
    }

    fn pppoe(&mut self) -> Result<Change, ReadError> {
        let (sessions, dialers) = self.kernel.pppoe().map_err(ReadError::Pppoe)?;
        self.orphans = sessions.len() > self.ppp.len();
        Ok(Change::Pppoe(sessions, dialers))
    }
}

fn decoded<T>(table: &[u8], mut wanted: impl FnMut(Decoded) -> Option<T>) -> Vec<T> {
    messages(table).filter_map(|message| wanted(decode(&message))).collect()
}

#[cfg(test)]
mod tests;
