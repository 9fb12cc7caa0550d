// SPDX-License-Identifier: GPL-2.0-or-later
//! Merges the rules of all sources into one file, and maps its lines to their origins.

use std::collections::HashMap;
use std::io::{self, Write};
use std::ops::RangeInclusive;

use sha2::{Digest, Sha256};

use crate::collect::{Collected, Wanted};
use crate::rule::DEFAULT_GID;
use crate::verify::hex;

#[derive(Debug)]
pub(crate) struct Part {
    pub name: String,
    pub rules: Collected,
    /// fastpath's own rules, which take precedence over rules with the same number.
    pub own: bool,
}

#[derive(Debug, Clone, Copy)]
struct Origin {
    part: usize,
    rule: usize,
}

#[derive(Debug)]
pub(crate) struct Merged<'a> {
    parts: &'a [Part],
    origins: Vec<Origin>,
    /// Number of merged rules of each part.
    pub counts: Vec<u32>,
    /// Number of rules that drop or reject.
    pub stopping: u32,
    /// Number of rules omitted because of a duplicate number.
    pub duplicates: u32,
    /// First twelve hexadecimal digits of the SHA-256 of all rules.
    pub version: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Source<'a> {
    pub part: usize,
    pub name: &'a str,
    /// Path in the archive.
    pub file: &'a str,
    /// Line of `file`, from 1.
    pub line: u32,
}

/// First line of a merged file; the version follows.
const HEADER: &str = "# fastpath rules, version ";
const HEADER_LINES: usize = 2;

/// Signature numbers of `handshake.rules` and `encrypted.rules`, which Suricata loads in addition.
const RESERVED: RangeInclusive<u32> = 8_100_090..=8_100_099;

/// Merges the parts. For each number, fastpath's own rule takes precedence, then the first source,
/// then the latest revision within a source. So a source cannot replace another source's rules by
/// higher revisions.
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
    config::sort::by_key(&mut origins, |origin| (origin.part, origin.rule));
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

    /// Writes a header with the version and one rule per line.
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

/// Parses the version in the first line of a merged file.
#[must_use]
pub(crate) fn version_of(first_line: &str) -> Option<&str> {
    let version = first_line.strip_prefix(HEADER)?.trim_end();
    (version.len() == 12 && version.bytes().all(|b| b.is_ascii_hexdigit())).then_some(version)
}

#[cfg(test)]
mod tests;
