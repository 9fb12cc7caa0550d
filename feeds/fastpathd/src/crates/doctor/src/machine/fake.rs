// SPDX-License-Identifier: GPL-2.0-or-later
//! A simulated router with prepared answers.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::net::Ipv4Addr;
use std::time::Duration;

use serde_json::{Map, Value};

use super::{Echo, Ethtool, Feature, Machine};

/// Prepared answers. A request without an answer fails like on a router.
#[derive(Debug, Default)]
pub(crate) struct Fake {
    files: RefCell<BTreeMap<String, String>>,
    links: BTreeMap<String, String>,
    modes: BTreeMap<String, u32>,
    programs: BTreeMap<String, Result<String, String>>,
    calls: RefCell<BTreeMap<String, Value>>,
    ports: RefCell<BTreeMap<String, Ethtool>>,
    done: RefCell<Vec<String>>,
    path: Option<(u16, Echo)>,
    full: bool,
    later: RefCell<VecDeque<Fake>>,
}

impl Fake {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn file(self, path: &str, text: &str) -> Self {
        self.files.borrow_mut().insert(path.to_owned(), text.to_owned());
        self
    }

    /// Removes a file, or a folder with its files.
    pub(crate) fn without(self, path: &str) -> Self {
        let inside = format!("{path}/");
        self.files.borrow_mut().retain(|file, _| file != path && !file.starts_with(&inside));
        self
    }

    pub(crate) fn symlink(mut self, path: &str, to: &str) -> Self {
        self.links.insert(path.to_owned(), to.to_owned());
        self
    }

    /// Sets the permissions of a file. The default is 0644.
    pub(crate) fn permits(mut self, path: &str, mode: u32) -> Self {
        self.modes.insert(path.to_owned(), mode);
        self
    }

    /// Sets the output of a command line (program and arguments, joined by spaces).
    pub(crate) fn prints(mut self, command: &str, text: &str) -> Self {
        self.programs.insert(command.to_owned(), Ok(text.to_owned()));
        self
    }

    /// Sets the error message of a command line that fails.
    pub(crate) fn refuses(mut self, command: &str, why: &str) -> Self {
        self.programs.insert(command.to_owned(), Err(why.to_owned()));
        self
    }

    /// Sets the answer of a method (`object method`) for any arguments.
    pub(crate) fn answers(self, call: &str, answer: Value) -> Self {
        self.calls.borrow_mut().insert(call.to_owned(), answer);
        self
    }

    pub(crate) fn port(self, device: &str, of: Ethtool) -> Self {
        self.ports.borrow_mut().insert(device.to_owned(), of);
        self
    }

    /// Sets the path MTU to all hosts, and the outcome for larger packets.
    pub(crate) fn passes(mut self, most: u16, beyond: Echo) -> Self {
        self.path = Some((most, beyond));
        self
    }

    pub(crate) fn full(mut self) -> Self {
        self.full = true;
        self
    }

    /// Adds the files and answers of `next` after the next pause that has none yet.
    pub(crate) fn later(self, next: Fake) -> Self {
        self.later.borrow_mut().push_back(next);
        self
    }

    /// Returns the recorded calls, one per line.
    pub(crate) fn done(&self) -> Vec<String> {
        self.done.borrow().clone()
    }

    fn note(&self, line: String) {
        self.done.borrow_mut().push(line);
    }
}

fn absent(path: &str) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, format!("{path} is not there"))
}

impl Machine for Fake {
    fn read(&self, path: &str) -> io::Result<String> {
        self.files.borrow().get(path).cloned().ok_or_else(|| absent(path))
    }

    fn list(&self, path: &str) -> io::Result<Vec<String>> {
        let inside = format!("{path}/");
        let files = self.files.borrow();
        let names: BTreeSet<String> = files
            .keys()
            .chain(self.links.keys())
            .filter_map(|file| file.strip_prefix(&inside))
            .filter_map(|rest| rest.split('/').next())
            .map(str::to_owned)
            .collect();
        if names.is_empty() { Err(absent(path)) } else { Ok(names.into_iter().collect()) }
    }

    fn link(&self, path: &str) -> io::Result<String> {
        self.links.get(path).cloned().ok_or_else(|| absent(path))
    }

    fn mode(&self, path: &str) -> io::Result<u32> {
        self.read(path).map(|_| 0o100_000 | self.modes.get(path).copied().unwrap_or(0o644))
    }

    fn write(&self, path: &str, text: &str) -> io::Result<()> {
        let mut files = self.files.borrow_mut();
        let file = files.get_mut(path).ok_or_else(|| absent(path))?;
        text.clone_into(file);
        self.note(format!("write {path} {text}"));
        Ok(())
    }

    fn keep(&self, path: &str, text: &str) -> io::Result<()> {
        if self.full {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.files.borrow_mut().insert(path.to_owned(), text.to_owned());
        self.note(format!("keep {path}"));
        Ok(())
    }

    fn run(&self, program: &'static str, args: &[&str]) -> Result<String, String> {
        let command = std::iter::once(&program).chain(args).copied().collect::<Vec<_>>().join(" ");
        self.note(format!("run {command}"));
        self.programs.get(&command).cloned().unwrap_or(Err(format!("{program} is not there")))
    }

    fn call(
        &self,
        object: &str,
        method: &str,
        args: &Map<String, Value>,
    ) -> Result<Map<String, Value>, String> {
        self.note(format!("call {object} {method} {}", Value::Object(args.clone())));
        match self.calls.borrow().get(&format!("{object} {method}")) {
            Some(Value::Object(answer)) => Ok(answer.clone()),
            _ => Err(format!("there is no object {object} on ubus")),
        }
    }

    fn ethtool(&self, device: &str) -> Result<Ethtool, String> {
        let found = self.ports.borrow().get(device).cloned();
        found.ok_or_else(|| format!("offloads of {device}: no such device"))
    }

    fn set_feature(&self, device: &str, feature: &str, on: bool) -> Result<(), String> {
        let mut ports = self.ports.borrow_mut();
        let port = ports.get_mut(device).ok_or_else(|| format!("{device}: no such device"))?;
        port.features.insert(feature.to_owned(), Feature { on, fixed: false, wanted: on });
        self.note(format!("feature {device} {feature} {on}"));
        Ok(())
    }

    /// Uses the word as its own hash.
    fn crypt(&self, word: &str, setting: &str) -> Option<String> {
        setting.rsplit_once('$').map(|(salt, _)| format!("{salt}${word}"))
    }

    fn echo(&self, _: Ipv4Addr, size: u16) -> Result<Echo, String> {
        match self.path {
            Some((most, _)) if size <= most => Ok(Echo::Answered),
            Some((_, beyond)) => Ok(beyond),
            None => Err("there is no network".into()),
        }
    }

    fn pause(&self, time: Duration) {
        self.note(format!("pause {} ms", time.as_millis()));
        if let Some(next) = self.later.borrow_mut().pop_front() {
            self.files.borrow_mut().extend(next.files.take());
            self.calls.borrow_mut().extend(next.calls.take());
        }
    }

    fn now_ms(&self) -> u64 {
        1_790_000_000_000
    }
}

#[test]
fn returns_the_prepared_answers() {
    let fake = Fake::new()
        .symlink("/sys/class/net/lan1/device/driver", "../../virtio_net")
        .prints("nft -j list ruleset", "{}")
        .refuses("modprobe x", "x is not there");
    assert_eq!(fake.list("/sys/class/net").unwrap(), ["lan1"]);
    assert_eq!(fake.link("/sys/class/net/lan1/device/driver").unwrap(), "../../virtio_net");
    assert_eq!(fake.run("nft", &["-j", "list", "ruleset"]).unwrap(), "{}");
    assert_eq!(fake.run("modprobe", &["x"]).unwrap_err(), "x is not there");
    assert_eq!(fake.run("nft", &[]).unwrap_err(), "nft is not there");
}
