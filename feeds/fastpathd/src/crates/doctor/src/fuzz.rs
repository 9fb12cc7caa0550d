// SPDX-License-Identifier: GPL-2.0-or-later
//! Fuzz target for the checks: a router with arbitrary files, programs and objects.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::Ipv4Addr;
use std::sync::LazyLock;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::audience::Audience;
use crate::checks::CHECKS;
use crate::machine::{Echo, Ethtool, Feature, Machine, Rings};
use crate::report;
use crate::texts::Texts;

/// Parsed once, because parsing takes longer than all checks.
static TEXTS: LazyLock<Texts> = LazyLock::new(Texts::english);

/// Answers by path, command line, or `OBJECT METHOD`. `*` is the default.
struct Answers<'a>(BTreeMap<&'a str, &'a str>);

impl Answers<'_> {
    fn of(&self, name: &str) -> Option<&str> {
        self.0.get(name).or_else(|| self.0.get("*")).copied()
    }
}

fn absent() -> io::Error {
    io::ErrorKind::NotFound.into()
}

impl Machine for Answers<'_> {
    fn read(&self, path: &str) -> io::Result<String> {
        self.of(path).map(str::to_owned).ok_or_else(absent)
    }

    fn list(&self, path: &str) -> io::Result<Vec<String>> {
        let inside = format!("{path}/");
        let names: BTreeSet<&str> = self
            .0
            .keys()
            .filter_map(|file| file.strip_prefix(&inside)?.split('/').next())
            .collect();
        if names.is_empty() {
            return Err(absent());
        }
        Ok(names.into_iter().map(str::to_owned).collect())
    }

    fn link(&self, path: &str) -> io::Result<String> {
        self.of(path).map(str::to_owned).ok_or_else(absent)
    }

    fn mode(&self, path: &str) -> io::Result<u32> {
        self.of(path).map(|_| 0o100_644).ok_or_else(absent)
    }

    fn write(&self, _: &str, _: &str) -> io::Result<()> {
        Err(absent())
    }

    fn keep(&self, path: &str, _: &str) -> io::Result<()> {
        Err(io::Error::new(io::ErrorKind::PermissionDenied, path.to_owned()))
    }

    fn run(&self, program: &'static str, args: &[&str]) -> Result<String, String> {
        let command = [&[program], args].concat().join(" ");
        self.of(&command).map(str::to_owned).ok_or_else(|| format!("{program} is not there"))
    }

    fn call(
        &self,
        object: &str,
        method: &str,
        _: &Map<String, Value>,
    ) -> Result<Map<String, Value>, String> {
        let text = self.of(&format!("{object} {method}")).unwrap_or_default();
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    fn ethtool(&self, device: &str) -> Result<Ethtool, String> {
        let rings = Rings { rx: 1, rx_max: 2, tx: 1, tx_max: 2 };
        let on = Feature { on: true, fixed: false, wanted: true };
        let features = BTreeMap::from([(device.to_owned(), on)]);
        Ok(Ethtool { features, rings: Some(rings), channels: None })
    }

    fn set_feature(&self, _: &str, _: &str, _: bool) -> Result<(), String> {
        Err("refused".to_owned())
    }

    fn crypt(&self, word: &str, setting: &str) -> Option<String> {
        setting.rsplit_once('$').map(|(salt, _)| format!("{salt}${word}"))
    }

    fn echo(&self, _: Ipv4Addr, size: u16) -> Result<Echo, String> {
        Ok(if size > 1492 { Echo::Lost } else { Echo::Answered })
    }

    fn pause(&self, _: Duration) {}

    fn now_ms(&self) -> u64 {
        1_790_000_000_000
    }
}

/// Runs the checks of a group on a router with these `texts`. An unknown group selects all checks.
/// The answer omits most checks without a finding, whose formatting would dominate the run time.
#[must_use]
pub fn run(group: &str, texts: BTreeMap<&str, &str>) -> Value {
    let checks = CHECKS.iter().flat_map(|checks| *checks).filter(|check| check.group == group);
    let only: Vec<String> = checks.map(|check| check.id.to_owned()).collect();
    let only = (!only.is_empty()).then_some(&*only);
    let mut report = report::run(&Answers(texts), only, Duration::from_secs(1), Audience::Writer);
    report.shorten();
    serde_json::json!({"findings": report.findings(&TEXTS)})
}
