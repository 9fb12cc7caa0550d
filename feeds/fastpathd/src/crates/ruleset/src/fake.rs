// SPDX-License-Identifier: GPL-2.0-or-later
//! A fake nft for the tests, which holds one table and parses the scripts of this crate.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use crate::nft::{NOT_THERE, Nft, NftError};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Table {
    devices: BTreeSet<String>,
    offload: bool,
    /// Chain and comment of each rule.
    comments: Vec<(String, String)>,
    sets: BTreeSet<String>,
    /// Element text by set and address.
    elements: BTreeMap<(String, String), String>,
    /// The router's addresses as device and MAC.
    own: BTreeSet<(String, String)>,
    hooked: BTreeMap<String, BTreeSet<String>>,
}

impl Table {
    /// Changes elements of the set `own`; deleting a missing element fails, as in the kernel.
    fn change_own(&mut self, verb: &str, line: &str) -> Result<(), NftError> {
        let list = line.split_once("{ ").unwrap().1.trim_end_matches(" }");
        for element in list.split(", ") {
            let (device, mac) = element.split_once(" . ").unwrap();
            let key = (device.trim_matches('"').to_owned(), mac.to_owned());
            if verb == "add" {
                self.own.insert(key);
            } else if !self.own.remove(&key) {
                return Err(NftError::Refused(format!("Error: {NOT_THERE}")));
            }
        }
        Ok(())
    }

    /// Changes the devices of an ingress chain to the quoted names in `line`.
    fn hook(&mut self, verb: &str, chain: &str, line: &str) -> Result<(), NftError> {
        let hooked = self.hooked.entry(chain.to_owned()).or_default();
        for device in line.split('"').skip(1).step_by(2) {
            let changed = if verb == "add" {
                hooked.insert(device.to_owned())
            } else {
                hooked.remove(device)
            };
            if !changed {
                return Err(NftError::Refused("Error: File exists or not there".to_owned()));
            }
        }
        Ok(())
    }

    /// Adds or deletes an element; `text` ends with ` { ELEMENT`.
    fn change(&mut self, verb: &str, set: &str, text: &str) -> Result<(), NftError> {
        let refused = |what: &str| Err(NftError::Refused(format!("Error: {what}")));
        let element = text.split_once("{ ").unwrap().1;
        let key = (set.to_owned(), element.split(' ').next().unwrap().to_owned());
        match (verb, self.elements.contains_key(&key)) {
            ("add", false) if self.elements.len() >= 3 => {
                return refused("Could not process rule: Too many open files in system");
            }
            ("add", false) => drop(self.elements.insert(key, element.to_owned())),
            ("add", true) => {}
            (_, true) => drop(self.elements.remove(&key)),
            (_, false) => return refused(NOT_THERE),
        }
        Ok(())
    }
}

/// Converts `ADDRESS timeout 600s expires 20s comment "x"` to the JSON that nft prints.
fn printed(element: &str) -> Value {
    let (times, comment) = element.split_once(" comment ").unwrap_or((element, "\"\""));
    let mut words = times.split(' ');
    let value = match words.next().unwrap().split_once('/') {
        Some((address, prefix)) => {
            json!({ "prefix": { "addr": address, "len": prefix.parse::<u8>().unwrap() } })
        }
        None => json!(times.split(' ').next()),
    };
    let mut fields = Map::from_iter([("val".to_owned(), value)]);
    fields.insert("comment".to_owned(), json!(comment.trim_matches('"')));
    while let (Some(key), Some(value)) = (words.next(), words.next()) {
        let seconds: u32 = value.strip_suffix('s').unwrap().parse().unwrap();
        fields.insert(key.to_owned(), json!(seconds));
    }
    if !fields.contains_key("expires") {
        fields.insert("expires".to_owned(), fields["timeout"].clone());
    }
    json!({ "elem": fields })
}

#[derive(Debug, Default)]
pub(crate) struct FakeNft {
    table: RefCell<Option<Table>>,
    /// Devices except `lo`.
    pub(crate) machine: RefCell<BTreeSet<String>>,
    pub(crate) without_flowtables: Cell<bool>,
    pub(crate) without_queues: Cell<bool>,
    pub(crate) has_bridge_flowtables: Cell<bool>,
    /// Runs to refuse although they would pass a check.
    pub(crate) refuse_runs: Cell<usize>,
    /// Runs that lose the last rule.
    pub(crate) lose_a_rule: Cell<usize>,
    /// Fails the listing after the next run.
    pub(crate) loses_listing: Cell<bool>,
    pub(crate) broken: Cell<bool>,
    /// Prints the flowtable's flags, as newer versions may.
    pub(crate) prints_flags: Cell<bool>,
    /// Device that appears after the next refused run.
    pub(crate) comes_back: Cell<Option<&'static str>>,
    /// Scripts that took effect.
    pub(crate) ran: RefCell<Vec<String>>,
}

impl FakeNft {
    pub(crate) fn with(devices: &[&str]) -> Self {
        let fake = Self::default();
        *fake.machine.borrow_mut() = devices.iter().map(|&device| device.to_owned()).collect();
        fake
    }

    pub(crate) fn unplug(&self, device: &str) {
        self.machine.borrow_mut().remove(device);
        if let Some(table) = self.table.borrow_mut().as_mut() {
            table.devices.remove(device);
            for hooked in table.hooked.values_mut() {
                hooked.remove(device);
            }
        }
    }

    pub(crate) fn own(&self) -> (Vec<String>, Vec<Vec<String>>) {
        let table = self.table.borrow().clone().unwrap_or_default();
        let own = table.own.into_iter().map(|(device, mac)| format!("{device} {mac}")).collect();
        let hooked = table.hooked.into_values().map(|all| all.into_iter().collect()).collect();
        (own, hooked)
    }

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
        let mut chain = "";
        let mut set = None;
        for line in script.lines().map(str::trim) {
            match line.split(' ').collect::<Vec<_>>().as_slice() {
                ["delete", "table", ..] => table = None,
                ["table", "bridge", ..] if !self.has_bridge_flowtables.get() => {
                    return refused(NOT_THERE);
                }
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
                ["flags", "timeout" | "interval,timeout" | "dynamic,timeout"] => {}
                ["chain", name, "{"] => chain = name,
                ["set", name, "{"] => {
                    table.as_mut().unwrap().sets.insert((*name).to_owned());
                    set = Some(*name);
                }
                ["}"] => set = None,
                ["flush", "chain", .., name] => {
                    let Some(table) = &mut table else { return refused(NOT_THERE) };
                    table.comments.retain(|(chain, _)| chain != name);
                }
                ["type", "filter", "hook", "ingress", ..] => {
                    table.as_mut().unwrap().hook("add", chain, line)?;
                }
                [v @ ("add" | "delete"), "chain", _, _, name, ..] => {
                    let Some(table) = &mut table else { return refused(NOT_THERE) };
                    table.hook(v, name, line)?;
                }
                ["elements", "=", ..] if set == Some("own") => {
                    table.as_mut().unwrap().change_own("add", line)?;
                }
                [v @ ("add" | "delete"), "element", _, _, "own", ..] => {
                    let Some(table) = &mut table else { return refused(NOT_THERE) };
                    table.change_own(v, line)?;
                }
                [v @ ("add" | "delete"), "element", _, _, name, ..] => {
                    let Some(table) = &mut table else { return refused(NOT_THERE) };
                    table.change(v, name, line.trim_end_matches(" }"))?;
                }
                ["elements", "=", "{", ..] | [_, "timeout", ..] => {
                    let line = line.trim_start_matches("elements = {").trim();
                    let element = line.trim_end_matches(" }").trim_end_matches(',');
                    let table = table.as_mut().unwrap();
                    table.change("add", set.unwrap(), &format!("{{ {element}"))?;
                }
                words if line.ends_with('"') && words[0] != "comment" => {
                    if line.contains(" queue ") && self.without_queues.get() {
                        return refused(NOT_THERE);
                    }
                    let chain = if words[0] == "add" { words[4] } else { chain };
                    let comment = line.rsplit('"').nth(1).unwrap();
                    let Some(table) = &mut table else { return refused(NOT_THERE) };
                    table.comments.push((chain.to_owned(), comment.to_owned()));
                }
                ["queue", ..] if self.without_queues.get() => return refused(NOT_THERE),
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
        let outcome = self.outcome(script);
        if outcome.is_err() {
            self.machine.borrow_mut().extend(self.comes_back.take().map(str::to_owned));
        }
        let mut table = outcome?;
        if take_one(&self.refuse_runs) {
            return Err(NftError::Refused("Error: Device or resource busy".to_owned()));
        }
        if let Some(table) = &mut table
            && take_one(&self.lose_a_rule)
        {
            table.comments.pop();
        }
        *self.table.borrow_mut() = table;
        self.ran.borrow_mut().push(script.to_owned());
        Ok(())
    }

    async fn list(&self) -> Result<Option<Value>, NftError> {
        self.outcome("")?;
        if !self.ran.borrow().is_empty() && self.loses_listing.take() {
            return Err(NftError::Killed("killed by signal 9".to_owned()));
        }
        let listing = self.table.borrow().as_ref().map(|table| {
            let mut flowtable = json!({ "name": "ft", "dev": table.devices });
            if self.prints_flags.get() && table.offload {
                flowtable["flags"] = json!("offload");
            }
            let rules = table
                .comments
                .iter()
                .map(|(chain, comment)| json!({ "rule": { "chain": chain, "comment": comment } }));
            let head = [json!({ "metainfo": {} }), json!({ "flowtable": flowtable })];
            let blocked = table.sets.iter().filter(|name| name.starts_with("blocked"));
            let sets = blocked.map(|name| {
                let of_this = table.elements.iter().filter(|((set, _), _)| set == name);
                let elements: Vec<Value> = of_this.map(|(_, text)| printed(text)).collect();
                json!({ "set": { "name": name, "elem": elements } })
            });
            let own = table.own.iter().map(|(device, mac)| json!({ "concat": [device, mac] }));
            let own = json!({ "set": { "name": "own", "elem": own.collect::<Vec<_>>() } });
            let all = head.into_iter().chain(sets).chain([own]).chain(rules);
            json!({ "nftables": all.collect::<Vec<_>>() })
        });
        Ok(listing)
    }
}
