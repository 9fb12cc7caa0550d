// SPDX-License-Identifier: GPL-2.0-or-later
//! An nft for the tests: understands the scripts of this crate and holds one table.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::nft::{NOT_THERE, Nft, NftError};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Table {
    devices: BTreeSet<String>,
    offload: bool,
    comments: Vec<String>,
}

#[derive(Debug, Default)]
pub(crate) struct FakeNft {
    table: RefCell<Option<Table>>,
    /// Devices of the machine, beside `lo`.
    pub(crate) machine: RefCell<BTreeSet<String>>,
    /// The kernel has no flowtables.
    pub(crate) without_flowtables: Cell<bool>,
    /// The next so many runs are refused, although the check went through.
    pub(crate) refuse_runs: Cell<usize>,
    /// The next so many runs lose the last rule.
    pub(crate) lose_a_rule: Cell<usize>,
    /// nft cannot be started.
    pub(crate) broken: Cell<bool>,
    /// nft prints flags of flowtables, as newer ones may.
    pub(crate) prints_flags: Cell<bool>,
    /// Scripts that were run.
    pub(crate) ran: RefCell<Vec<String>>,
}

impl FakeNft {
    pub(crate) fn with(devices: &[&str]) -> Self {
        let fake = Self::default();
        *fake.machine.borrow_mut() = devices.iter().map(|&device| device.to_owned()).collect();
        fake
    }

    /// The device is unplugged: the kernel takes it out of the flowtable by itself.
    pub(crate) fn unplug(&self, device: &str) {
        self.machine.borrow_mut().remove(device);
        if let Some(table) = self.table.borrow_mut().as_mut() {
            table.devices.remove(device);
        }
    }

    /// Somebody flushes all tables.
    pub(crate) fn flush(&self) {
        *self.table.borrow_mut() = None;
    }

    pub(crate) fn devices(&self) -> Option<Vec<String>> {
        self.table.borrow().as_ref().map(|table| table.devices.iter().cloned().collect())
    }

    fn outcome(&self, script: &str) -> Result<Option<Table>, NftError> {
        if self.broken.get() {
            let cause = "no such program".to_owned();
            return Err(NftError::Run { program: "nft".to_owned(), cause });
        }
        let refused = |what: &str| Err(NftError::Refused(format!("Error: {what}")));
        let mut table = self.table.borrow().clone();
        let mut verb = "";
        for line in script.lines().map(str::trim) {
            match line.split(' ').collect::<Vec<_>>().as_slice() {
                ["delete", "table", ..] => table = None,
                ["add", "table", ..] => table = table.or_else(|| Some(Table::default())),
                ["table", ..] => {
                    verb = "add";
                    table = Some(Table::default());
                }
                [v @ ("add" | "delete"), "flowtable", ..] => {
                    verb = v;
                    if table.is_none() {
                        return refused(NOT_THERE);
                    }
                }
                ["devices", ..] if self.without_flowtables.get() => return refused(NOT_THERE),
                ["devices", ..] => {
                    for device in line.split('"').skip(1).step_by(2) {
                        let here = device == "lo" || self.machine.borrow().contains(device);
                        let table = table.as_mut().unwrap();
                        if !here {
                            return refused(NOT_THERE);
                        } else if verb == "add" {
                            table.devices.insert(device.to_owned());
                        } else if !table.devices.remove(device) {
                            return refused(NOT_THERE);
                        }
                    }
                }
                ["flags", "offload"] => table.as_mut().unwrap().offload = true,
                _ if line.ends_with('"') && !line.starts_with("comment") => {
                    let comment = line.rsplit('"').nth(1).unwrap();
                    table.as_mut().unwrap().comments.push(comment.to_owned());
                }
                _ => {}
            }
        }
        Ok(table)
    }
}

fn take_one(count: &Cell<usize>) -> bool {
    let left = count.get();
    count.set(left.saturating_sub(1));
    left > 0
}

impl Nft for FakeNft {
    async fn check(&self, script: &str) -> Result<(), NftError> {
        self.outcome(script).map(drop)
    }

    async fn run(&self, script: &str) -> Result<(), NftError> {
        self.ran.borrow_mut().push(script.to_owned());
        let mut table = self.outcome(script)?;
        if take_one(&self.refuse_runs) {
            return Err(NftError::Refused("Error: Device or resource busy".to_owned()));
        }
        if let Some(table) = &mut table
            && take_one(&self.lose_a_rule)
        {
            table.comments.pop();
        }
        *self.table.borrow_mut() = table;
        Ok(())
    }

    async fn list(&self) -> Result<Option<Value>, NftError> {
        self.outcome("")?;
        let listing = self.table.borrow().as_ref().map(|table| {
            let mut flowtable = json!({ "name": "ft", "dev": table.devices });
            if self.prints_flags.get() && table.offload {
                flowtable["flags"] = json!("offload");
            }
            let rules = table
                .comments
                .iter()
                .map(|comment| json!({ "rule": { "chain": "fastpath", "comment": comment } }));
            let head = [json!({ "metainfo": {} }), json!({ "flowtable": flowtable })];
            json!({ "nftables": head.into_iter().chain(rules).collect::<Vec<_>>() })
        });
        Ok(listing)
    }
}
