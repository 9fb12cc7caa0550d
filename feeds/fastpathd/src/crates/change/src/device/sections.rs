// SPDX-License-Identifier: GPL-2.0-or-later
//! Edits sections `device` in the text of `/etc/config/fastpath`. All other lines stay as they are.

use config::sort::Collect;
use std::collections::BTreeMap;
use std::fmt;

use ::uci::{Options, Package, ParseError, Section, Setting, parse, text};
use config::device::MAX_SECTIONS;

use crate::validate::is_mac;

const KIND: &str = "device";

/// New values of options. `None` removes an option.
pub(super) type Values = BTreeMap<&'static str, Option<String>>;

#[derive(Debug)]
pub(super) enum Target {
    Mac(String),
    Group(String),
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unedited {
    Broken(ParseError),
    NoGroup(String),
    /// Another section would exceed the maximum.
    Full,
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mac(mac) => f.write_str(mac),
            Self::Group(group) => write!(f, "@{group}"),
        }
    }
}

impl Target {
    fn has(&self, section: &Section) -> bool {
        section.kind == KIND
            && match self {
                Self::Mac(of) => section.text("mac").and_then(mac).is_some_and(|mac| mac == *of),
                Self::Group(group) => section.text("group") == Some(group),
            }
    }
}

/// Returns the MAC of a device in lower case. `None` for other texts and multicast.
pub(super) fn mac(text: &str) -> Option<String> {
    let mac = text.to_ascii_lowercase();
    let first = u8::from_str_radix(mac.get(..2)?, 16).ok()?;
    (is_mac(&mac) && first & 1 == 0 && mac != "00:00:00:00:00:00").then_some(mac)
}

/// Sets options of the sections, or removes the sections without `values`. Returns the new text, or
/// `None` if nothing changes. A device gets a section with its first value.
pub(super) fn edited(
    old: &[u8],
    target: &Target,
    values: Option<&Values>,
) -> Result<Option<Vec<u8>>, Unedited> {
    let before = parse(old).map_err(Unedited::Broken)?;
    let mut package = before.clone();
    let found: Vec<bool> = package.sections.iter().map(|section| target.has(section)).collect();
    let mut lines = Lines::of(old);
    match (values, target) {
        (None, _) => {
            let mut found = found.iter();
            package.sections.retain(|_| found.next() != Some(&true));
        }
        (Some(values), _) if found.contains(&true) => {
            let sections = package.sections.iter_mut().zip(&found).filter(|(_, found)| **found);
            sections.for_each(|(section, _)| set(&mut section.options, values));
        }
        (Some(_), Target::Group(group)) => return Err(Unedited::NoGroup(group.clone())),
        (Some(values), Target::Mac(mac)) => {
            let mut options = Options::new();
            set(&mut options, values);
            if !options.is_empty() {
                if package.of(KIND).count() >= MAX_SECTIONS {
                    return Err(Unedited::Full);
                }
                options.insert("mac".to_owned(), Setting::Text(mac.clone()));
                let (name, kind) = (String::new(), KIND.to_owned());
                let section = Section { name, anonymous: true, kind, options };
                lines.append(&section);
                package.sections.push(section);
            }
        }
    }
    if package == before {
        return Ok(None);
    }
    for (index, section) in before.sections.iter().enumerate().rev().filter(|(at, _)| found[*at]) {
        lines.edit(index, values.map(|values| changed(section, values)).as_ref());
    }
    Ok(Some(lines.text(&package)))
}

pub(super) fn set(options: &mut Options, values: &Values) {
    for (name, value) in values {
        match value {
            Some(value) => options.insert((*name).to_owned(), Setting::Text(value.clone())),
            None => options.remove(*name),
        };
    }
}

/// Returns the values that the section does not have.
fn changed(section: &Section, values: &Values) -> Values {
    let has = |name: &str, value: &Option<String>| {
        section.options.get(name) == value.clone().map(Setting::Text).as_ref()
    };
    let changed = values.iter().filter(|(name, value)| !has(name, value));
    changed.map(|(name, value)| (*name, value.clone())).into_map()
}

/// Lines of a file, with their ends.
pub(super) struct Lines(Vec<Vec<u8>>);

impl Lines {
    pub(super) fn of(text: &[u8]) -> Self {
        Self(text.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect())
    }

    fn append(&mut self, section: &Section) {
        if let Some(last) = self.0.last_mut().filter(|last| !last.ends_with(b"\n")) {
            last.push(b'\n');
        }
        let package = Package { sections: vec![section.clone()] };
        self.0.extend(Self::of(text(&package).as_bytes()).0);
    }

    /// Returns the text of the edited package.
    pub(super) fn text(&self, package: &Package) -> Vec<u8> {
        let new = self.0.concat();
        // Statements may span lines or share one, which libuci writes anew, too.
        let is_right = parse(&new).is_ok_and(|new| new.says(package));
        if is_right { new } else { text(package).into_bytes() }
    }

    /// Sets options of the section with this index, or removes its lines.
    pub(super) fn edit(&mut self, index: usize, values: Option<&Values>) {
        let word = |at: &usize| words(&self.0[*at])[0].clone();
        let is_start = |at: &usize| matches!(&*word(at), "config" | "c");
        let is_option = |at: &usize| matches!(&*word(at), "option" | "o" | "list" | "l");
        let mut starts = (0..self.0.len()).filter(is_start).skip(index);
        let Some(start) = starts.next() else { return };
        let limit = starts.next().unwrap_or(self.0.len());
        // Comments behind the options may be about the next section.
        let end = (start + 1..limit).rfind(is_option).unwrap_or(start) + 1;
        let Some(values) = values else {
            let blank = start > 0 && self.0[start - 1].trim_ascii().is_empty();
            self.0.drain(start - usize::from(blank)..end);
            return;
        };
        let mut missing = values.clone();
        let mut section = Vec::new();
        for mut line in self.0.drain(start..end) {
            if !line.ends_with(b"\n") {
                line.push(b'\n');
            }
            let [_, name] = words(&line);
            match values.get(&*name) {
                None => section.push(line),
                Some(_) => section.extend(missing.remove(&*name).and_then(|of| option(&name, of))),
            }
        }
        section.extend(missing.into_iter().filter_map(|(name, value)| option(name, value)));
        self.0.splice(start..start, section);
    }
}

/// Returns the first two words of a line, without quotes.
fn words(line: &[u8]) -> [String; 2] {
    let line = String::from_utf8_lossy(line);
    let mut words = line.split_ascii_whitespace();
    std::array::from_fn(|_| words.next().unwrap_or_default().replace(['\'', '"'], ""))
}

/// Returns the line of an option.
fn option(name: &str, value: Option<String>) -> Option<Vec<u8>> {
    let options = Options::from([(name.to_owned(), Setting::Text(value?))]);
    let section = Section { name: String::new(), anonymous: true, kind: String::new(), options };
    let text = text(&Package { sections: vec![section] });
    Some(text.trim_start_matches("\nconfig \n").as_bytes().to_vec())
}

#[cfg(test)]
mod tests;
