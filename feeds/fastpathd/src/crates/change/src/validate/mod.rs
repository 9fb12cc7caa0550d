// SPDX-License-Identifier: GPL-2.0-or-later
//! Checks a draft before a service reads it: checks per UCI file, the daemon's own check, files
//! that fw4 would read, and `fw4 check`. Existing problems do not block a change.
//!
//! netifd, fw4 and dnsmasq silently ignore or misinterpret most of these faults.

mod common;
mod daemon;
mod dhcp;
mod files;
mod firewall;
mod fw4;
mod interface;
mod lines;
mod messages;
mod network;
mod resolvers;
mod system;
mod wireless;

use std::collections::BTreeSet;

use config::sort::Collect;

use config::Fault;
use plugin::Map;
use serde_json::Value;

use crate::draft::Draft;
use crate::problem::{Problem, texts};
use ::uci::{Packages, Section};

pub(crate) use common::is_mac;
pub(crate) use daemon::Daemon;
pub(crate) use fw4::Firewall;
pub(crate) use interface::networks;
pub(crate) use network::Port;

#[derive(Clone, Debug, Default)]
pub(crate) struct Validators {
    pub(crate) devices: BTreeSet<String>,
    pub(crate) daemon: Daemon,
    pub(crate) firewall: Firewall,
    /// Contents of `/etc/board.json`.
    pub(crate) board: Value,
}

impl Validators {
    pub(crate) fn of_router() -> Self {
        let mut devices = BTreeSet::new();
        for entry in std::fs::read_dir("/sys/class/net").into_iter().flatten().flatten() {
            devices.extend(entry.file_name().into_string());
        }
        let (daemon, firewall) = (Daemon::installed(), Firewall::installed());
        Self { devices, daemon, firewall, board: ::wireless::board::read() }
    }
}

/// Returns the problems that a draft adds.
pub(crate) fn problems(draft: &Draft, validators: &Validators) -> Vec<Problem> {
    let before = examine(&draft.before, validators);
    let mut problems = examine(&draft.after, validators);
    // Do not compare texts, which contain labels that the draft may change.
    let place = |of: &Problem, section: &str| {
        (of.config.clone(), section.to_owned(), of.option.clone(), of.code, of.params.clone())
    };
    let known: Vec<_> = before.iter().map(|of| place(of, &new_name(draft, of))).collect();
    problems.retain(|problem| !known.contains(&place(problem, &problem.section)));
    if draft.touched().contains(&"fastpath") {
        problems.extend(validators.daemon.judge(draft));
    }
    problems.extend(files::judge(draft));
    // Run fw4 last: it is slow and imprecise, and must not read a new file.
    if problems.is_empty() {
        problems.extend(validators.firewall.judge(draft));
    }
    problems
}

/// Returns the firewall sections with problems. fw4 skips most of them.
pub(crate) fn faulty_sections(packages: &Packages) -> BTreeSet<String> {
    let problems = examine(packages, &Validators::default()).into_iter();
    problems.filter(|of| of.config == "firewall").map(|problem| problem.section).into_set()
}

/// Returns the name of a problem's section after the draft.
fn new_name(draft: &Draft, problem: &Problem) -> String {
    let pairs = draft.changed();
    let same = |pair: &&crate::draft::Pair<'_>| {
        pair.config == problem.config
            && pair.before.is_some_and(|before| before.name == problem.section)
    };
    let after = pairs.iter().find(same).and_then(|pair| pair.after);
    after.map_or_else(|| problem.section.clone(), |after| after.name.clone())
}

type Judge = (&'static str, fn(&mut Report<'_>));

fn examine(packages: &Packages, validators: &Validators) -> Vec<Problem> {
    let mut report = Report { packages, validators, config: "", problems: Vec::new() };
    for (config, package) in packages {
        report.config = config;
        for section in &package.sections {
            common::values(&mut report, section);
            if common::UNQUOTED.contains(&&**config) {
                common::unquoted(&mut report, section);
            }
        }
    }
    let judges: [Judge; 11] = [
        ("network", network::judge),
        ("network", interface::judge),
        ("firewall", firewall::judge),
        ("dhcp", dhcp::judge),
        ("system", system::judge),
        ("rpcd", system::judge_logins),
        ("wireless", wireless::judge),
        ("mwan3", lines::judge_mwan3),
        ("igmpproxy", lines::judge_igmpproxy),
        ("https-dns-proxy", resolvers::judge_https),
        ("stubby", resolvers::judge_stubby),
    ];
    for (config, judge) in judges {
        if packages.contains_key(config) {
            report.config = config;
            judge(&mut report);
        }
    }
    report.problems
}

struct Report<'a> {
    packages: &'a Packages,
    validators: &'a Validators,
    config: &'a str,
    problems: Vec<Problem>,
}

impl<'a> Report<'a> {
    /// Returns the sections of a type in the checked package.
    fn of(&self, kind: &'a str) -> Vec<&'a Section> {
        self.others(self.config, kind)
    }

    fn others(&self, config: &str, kind: &'a str) -> Vec<&'a Section> {
        self.packages.get(config).map(|package| package.of(kind).collect()).unwrap_or_default()
    }

    /// Adds a problem. `text` follows a prefix such as "network, section 'lan': ".
    fn note(
        &mut self,
        section: &Section,
        option: &str,
        code: &'static str,
        params: &[(&str, &str)],
        text: &str,
    ) {
        self.add(section, option, (code, texts(params)), text);
    }

    fn fault(&mut self, section: &Section, option: &str, fault: &Fault) {
        self.add(section, option, (fault.code(), fault.params()), &fault.to_string());
    }

    fn add(
        &mut self,
        section: &Section,
        option: &str,
        (code, params): (&'static str, Map),
        text: &str,
    ) {
        let label = match self.packages.get(self.config) {
            Some(package) => crate::diff::label(package, section),
            None => section.name.clone(),
        };
        let place = format!("{}, section '{}'", self.config, label.escape_debug());
        let of = if option.is_empty() { String::new() } else { format!(", option '{option}'") };
        self.problems.push(Problem {
            config: self.config.to_owned(),
            section: section.name.clone(),
            option: option.to_owned(),
            code,
            params,
            text: format!("{place}{of}: {text}"),
        });
    }

    /// Adds a problem for a value of a wrong format. Masks a secret value.
    fn wrong(&mut self, section: &Section, option: &str, value: &str, expected: &str) {
        let shown = config::secret::shown(&section.kind, option, value);
        let text = format!("'{}' is not {expected}", shown.escape_debug());
        let params = [("value", &*shown), ("expected", expected)];
        self.note(section, option, "value", &params, &text);
    }

    /// Checks a text option that is set.
    fn text(
        &mut self,
        section: &Section,
        option: &str,
        expected: &str,
        fits: impl Fn(&str) -> bool,
    ) {
        match section.options.get(option).map(crate::Setting::texts) {
            None => {}
            Some([text]) if fits(text) => {}
            Some(texts) => self.wrong(section, option, &texts.join(" "), expected),
        }
    }

    fn each(
        &mut self,
        section: &Section,
        option: &str,
        expected: &str,
        fits: impl Fn(&str) -> bool,
    ) {
        for word in section.words(option) {
            if !fits(word) {
                self.wrong(section, option, word, expected);
            }
        }
    }

    fn number(&mut self, section: &Section, option: &str, range: std::ops::RangeInclusive<u32>) {
        let expected = format!("a number from {} to {}", range.start(), range.end());
        let fits = |text: &str| config::number(text).is_ok_and(|number| range.contains(&number));
        self.text(section, option, &expected, fits);
    }

    fn switches(&mut self, section: &Section, options: &[&str]) {
        for option in options {
            self.text(section, option, "1 or 0", |text| config::switch(text).is_ok());
        }
    }
}

#[cfg(test)]
mod tests;
