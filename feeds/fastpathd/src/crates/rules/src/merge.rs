// SPDX-License-Identifier: GPL-2.0-or-later
//! Merges several sources into one rule file, and finds the source of each of its lines.

use std::collections::HashMap;
use std::io::{self, Write};
use std::ops::RangeInclusive;

use sha2::{Digest, Sha256};

use crate::collect::{Collected, Wanted};
use crate::rule::DEFAULT_GID;
use crate::verify::hex;

/// Rules of one source.
#[derive(Debug)]
pub(crate) struct Part {
    /// Name of the source.
    pub name: String,
    pub rules: Collected,
    /// The part has our own rules, which win over others with the same number.
    pub own: bool,
}

#[derive(Debug, Clone, Copy)]
struct Origin {
    part: usize,
    rule: usize,
}

/// Merged rules, in the order of the parts.
#[derive(Debug)]
pub(crate) struct Merged<'a> {
    parts: &'a [Part],
    origins: Vec<Origin>,
    /// Number of merged rules of each part.
    pub counts: Vec<u32>,
    /// Number of rules that drop or reject.
    pub stopping: u32,
    /// Number of rules left out because another rule has their number.
    pub duplicates: u32,
    /// Twelve hexadecimal digits of a hash of all rules.
    pub version: String,
}

/// Origin of a line of the merged file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Source<'a> {
    /// Index of the part.
    pub part: usize,
    /// Name of the source.
    pub name: &'a str,
    /// Path of the file in its archive.
    pub file: &'a str,
    /// Line in that file, from 1.
    pub line: u32,
}

/// Start of the first line of our rule files. The version follows.
const HEADER: &str = "# fastpath rules, version ";
/// Number of lines before the first rule.
const HEADER_LINES: usize = 2;

/// Rule numbers of `handshake.rules` and `encrypted.rules`, which Suricata loads next to our file.
const RESERVED: RangeInclusive<u32> = 8_100_090..=8_100_099;

/// Merges the parts. Among rules with the same number our own win, then rules of the first source,
/// and among these the latest revision. So a source cannot replace rules of another by revisions.
#[must_use]
pub(crate) fn merge(parts: &[Part]) -> Merged<'_> {
    let mut best: HashMap<(u32, u32), (bool, u32, Origin)> = HashMap::new();
    let mut duplicates = 0;
    for (part, of) in parts.iter().enumerate() {
        for (rule, wanted) in of.rules.rules.iter().enumerate() {
            if !of.own && wanted.gid == DEFAULT_GID && RESERVED.contains(&wanted.sid) {
                duplicates += 1;
                continue;
            }
            let candidate = (of.own, wanted.rev, Origin { part, rule });
            best.entry((wanted.gid, wanted.sid))
                .and_modify(|held| {
                    duplicates += 1;
                    let later = held.2.part == part && candidate.1 > held.1;
                    if later || candidate.0 && !held.0 {
                        *held = candidate;
                    }
                })
                .or_insert(candidate);
        }
    }
    let mut origins: Vec<Origin> = best.into_values().map(|(_, _, origin)| origin).collect();
    origins.sort_unstable_by_key(|origin| (origin.part, origin.rule));
    let (mut counts, mut stopping) = (vec![0; parts.len()], 0);
    let mut digest = Sha256::new();
    for Origin { part, rule } in &origins {
        let wanted = &parts[*part].rules.rules[*rule];
        digest.update(parts[*part].rules.text(wanted));
        digest.update(b"\n");
        counts[*part] += 1;
        stopping += u32::from(wanted.stops);
    }
    let version = hex(&digest.finalize()[..6]);
    Merged { parts, origins, counts, stopping, duplicates, version }
}

impl Merged<'_> {
    #[must_use]
    pub(crate) fn len(&self) -> usize {
        self.origins.len()
    }

    fn wanted(&self, origin: Origin) -> (&Part, &Wanted) {
        let part = &self.parts[origin.part];
        (part, &part.rules.rules[origin.rule])
    }

    /// Writes a header with the version, then one rule per line.
    ///
    /// # Errors
    /// The writer failed.
    pub(crate) fn write(&self, to: &mut impl Write) -> io::Result<()> {
        writeln!(to, "{HEADER}{}", self.version)?;
        writeln!(to, "# {} rules. Made by fastpath-rules; changes here are lost.", self.len())?;
        for origin in &self.origins {
            let (part, wanted) = self.wanted(*origin);
            writeln!(to, "{}", part.rules.text(wanted))?;
        }
        Ok(())
    }

    /// Returns the origin of a line of the written file, counted from 1.
    #[must_use]
    pub(crate) fn source(&self, line: usize) -> Option<Source<'_>> {
        let origin = *self.origins.get(line.checked_sub(HEADER_LINES + 1)?)?;
        let (part, wanted) = self.wanted(origin);
        let file = part.rules.files.get(wanted.file as usize)?;
        Some(Source { part: origin.part, name: &part.name, file, line: wanted.line })
    }
}

/// Returns the version in the first line of one of our rule files.
#[must_use]
pub(crate) fn version_of(first_line: &str) -> Option<&str> {
    let version = first_line.strip_prefix(HEADER)?.trim_end();
    (version.len() == 12 && version.bytes().all(|b| b.is_ascii_hexdigit())).then_some(version)
}

#[cfg(test)]
mod tests;
