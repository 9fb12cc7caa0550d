// SPDX-License-Identifier: GPL-2.0-or-later
//! Exports private parsers for the fuzz targets: rtnetlink tables, events and route answers.

use std::io;

use netlink::{RequestError, messages};

use crate::change::Change;
use crate::lookup::{RouteAnswer, answer};
use crate::pppoe::{parse_dialer, parse_sessions};
use crate::read::{Kernel, Reader};
use crate::table::Table;
use crate::types::{Dialer, PppoeSession};

/// Kernel that answers each dump with the same bytes.
struct Bytes<'a>(&'a [u8]);

impl Kernel for Bytes<'_> {
    fn dump(&mut self, _: Table) -> Result<Vec<u8>, RequestError> {
        Ok(self.0.to_vec())
    }

    fn pppoe(&mut self) -> io::Result<(Vec<PppoeSession>, Vec<Dialer>)> {
        let dialers = parse_dialer(self.0).into_iter().collect();
        Ok((parse_sessions(&String::from_utf8_lossy(self.0)), dialers))
    }
}

/// Returns the changes of a full read and of an event, both with these bytes.
#[must_use]
pub fn changes(bytes: &[u8]) -> Vec<Change> {
    let mut reader = Reader::new(Bytes(bytes));
    let mut changes: Vec<Change> = reader.full().into_iter().collect();
    reader.event(bytes, &mut changes);
    let _ = reader.refresh(&mut changes);
    while reader.needs_recheck() {
        reader.recheck();
        let _ = reader.refresh(&mut changes);
    }
    changes
}

#[must_use]
pub fn answers(bytes: &[u8]) -> Vec<RouteAnswer> {
    messages(bytes).map(|message| answer(&message)).collect()
}
