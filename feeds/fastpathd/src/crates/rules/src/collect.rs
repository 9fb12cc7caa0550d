// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads an archive down to the selected rules, made drops where the settings say so; at most
//! 500,000 rules and 20 notes of a source. The selection is in `select.rs`; which rules are left
//! out or never made a drop: `rule.rs`.

use std::io::BufRead;

use crate::archive::{self, ArchiveError, ArchiveLimits, Refusal};
use crate::lines::{LONGEST_RULE, Line, LineError, Lines};
use crate::rule::{Rule, is_disabled_rule};
use crate::select::{Choice, Selector, category_of};

/// Notes about single rules are kept up to this number for each source.
const MOST_NOTES: usize = 20;
/// Far more than Suricata can hold on a gateway.
const MOST_RULES: usize = 500_000;

/// A rule that is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// Generator.
    pub gid: u32,
    /// Number within the generator.
    pub sid: u32,
    /// Revision.
    pub rev: u32,
    /// Place of its file in [`Collected::files`].
    pub file: u32,
    /// First line in that file, from 1.
    pub line: u32,
    /// Whether it drops or rejects.
    pub stops: bool,
    start: usize,
    len: u32,
}

/// The rules selected from one archive.
#[derive(Debug, Default)]
pub struct Collected {
    /// Paths in the archive.
    pub files: Vec<String>,
    /// In the order of the archive.
    pub rules: Vec<Wanted>,
    /// Bytes the archive unpacked to.
    pub unpacked: u64,
    /// Alerts made drops.
    pub converted: u32,
    /// Rules switched off by the settings.
    pub disabled: u32,
    /// Rules that the source itself has switched off.
    pub disabled_by_source: u32,
    /// Rules that cannot be used here; `notes` says why.
    pub left_out: u32,
    /// The source's own word for its version, if it has a `version.txt`.
    pub version: String,
    /// Notes for the user, the first 20.
    pub notes: Vec<String>,
    text: String,
}

impl Collected {
    /// The text of one rule, on one line.
    #[must_use]
    pub fn text(&self, rule: &Wanted) -> &str {
        &self.text[rule.start..rule.start + rule.len as usize]
    }

    /// A note about the rules that end inspection: one may do so for all traffic.
    fn passing(&self) -> Option<String> {
        let is_pass = |text: &str| text.split_ascii_whitespace().next() == Some("pass");
        let mut passing = self.rules.iter().filter(|rule| is_pass(self.text(rule)));
        let first = passing.next()?.sid;
        let number = 1 + passing.count();
        Some(format!(
            "rules with the action pass: {number}, the first has sid {first}. Suricata lets \
             through what they match, whatever other rules say"
        ))
    }

    fn note(&mut self, note: String) {
        if self.notes.len() < MOST_NOTES {
            self.notes.push(note);
        }
    }
}

/// Reads an archive and keeps the rules that `choice` wants of it.
///
/// # Errors
/// The archive is refused, with file and line where the fault is in one.
pub fn collect(
    packed: impl BufRead,
    plain_name: &str,
    limits: &ArchiveLimits,
    mut choice: Choice,
) -> Result<Collected, ArchiveError> {
    let mut collected = Collected::default();
    let mut visit = |path: &str, file: &mut dyn BufRead| {
        if let Some(category) = category_of(path) {
            return take_file(&mut collected, &mut choice, path, category, file);
        }
        if path.rsplit('/').next() == Some("version.txt") {
            collected.version = version(file)?;
        }
        Ok(())
    };
    let unpacked = archive::read(packed, plain_name, limits, &mut visit)?;
    collected.unpacked = unpacked;
    if let Some(note) = collected.passing() {
        // Before all others: there may be more than are kept.
        collected.notes.insert(0, note);
        collected.notes.truncate(MOST_NOTES);
    }
    for note in choice.unused() {
        collected.note(note);
    }
    Ok(collected)
}

fn version(file: &mut dyn BufRead) -> Result<String, Refusal> {
    let line = Lines::new(file).next_line().map_err(refusal)?;
    let Some(Line::Rule { text, .. }) = line else { return Ok(String::new()) };
    Ok(text.chars().filter(char::is_ascii_graphic).take(32).collect())
}

fn refusal(error: LineError) -> Refusal {
    match error {
        LineError::Read(error) => Refusal::Read(error),
        LineError::TooLong { number, .. } => {
            Refusal::Line { line: number, what: error.to_string() }
        }
    }
}

fn take_file(
    collected: &mut Collected,
    choice: &mut Choice,
    path: &str,
    category: &str,
    file: &mut dyn BufRead,
) -> Result<(), Refusal> {
    if !choice.takes(category) {
        return Ok(());
    }
    let index = u32::try_from(collected.files.len()).unwrap_or(u32::MAX);
    collected.files.push(path.to_owned());
    let mut lines = Lines::new(file);
    while let Some(line) = lines.next_line().map_err(refusal)? {
        match line {
            Line::Comment(text) => {
                collected.disabled_by_source += u32::from(is_disabled_rule(&text));
            }
            Line::NotText { number } => {
                collected.left_out += 1;
                collected.note(format!("{path} line {number}: left out, it is not UTF-8"));
            }
            Line::Rule { number, text } => {
                let at = Place { path, category, file: index, line: number };
                take_rule(collected, choice, &at, &text)
                    .map_err(|what| Refusal::Line { line: number, what })?;
            }
        }
    }
    Ok(())
}

struct Place<'a> {
    path: &'a str,
    category: &'a str,
    file: u32,
    line: u32,
}

impl Place<'_> {
    fn says(&self, rule: &Rule<'_>, what: &str) -> String {
        format!("{} line {}: sid {} {what}", self.path, self.line, rule.sid)
    }
}

fn take_rule(
    collected: &mut Collected,
    choice: &mut Choice,
    at: &Place<'_>,
    text: &str,
) -> Result<(), String> {
    let rule = Rule::parse(text).map_err(|error| error.to_string())?;
    if choice.disables(&rule, at.category) {
        collected.disabled += 1;
        return Ok(());
    }
    if let Some(reason) = rule.unusable {
        collected.left_out += 1;
        let what = format!("left out, {reason}");
        collected.note(at.says(&rule, &what));
        return Ok(());
    }
    if text.len() >= LONGEST_RULE {
        collected.left_out += 1;
        collected.note(at.says(&rule, "left out, it is longer than Suricata reads"));
        return Ok(());
    }
    if collected.rules.len() >= MOST_RULES {
        return Err(format!("there are more than {MOST_RULES} rules"));
    }
    let dropping =
        choice.drops(&rule, at.category).and_then(|by| as_drop(collected, at, &rule, &by));
    let (start, stops) = (collected.text.len(), rule.stops() || dropping.is_some());
    collected.text.push_str(dropping.as_deref().unwrap_or(rule.text()));
    let len = u32::try_from(collected.text.len() - start).unwrap_or(u32::MAX);
    let Rule { gid, sid, rev, .. } = rule;
    let (file, line) = (at.file, at.line);
    collected.rules.push(Wanted { gid, sid, rev, file, line, stops, start, len });
    Ok(())
}

fn as_drop(
    collected: &mut Collected,
    at: &Place<'_>,
    rule: &Rule<'_>,
    by: &Selector,
) -> Option<String> {
    match rule.as_drop() {
        Ok(text) => {
            collected.converted += 1;
            Some(text)
        }
        Err(_) if rule.stops() => None,
        Err(reason) => {
            collected.note(
                at.says(rule, &format!("stays {} though drop says {by}: {reason}", rule.action)),
            );
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_that_end_inspection_are_counted() {
        let collected = |text: &str| {
            let limits = ArchiveLimits::of_bytes(1 << 20);
            collect(text.as_bytes(), "x.rules", &limits, Choice::default()).expect("good rules")
        };
        let alert = "alert ip any any -> any any (sid:1;)\n";
        let pass = "pass ip any any -> any any (sid:7;)\npass ip any any -> any any (sid:8;)\n";
        assert_eq!(collected(alert).notes, [""; 0]);
        let long = "alert ip any any -> any any (filemd5:x; sid:1;)\n".repeat(2 * MOST_NOTES);
        for text in [[alert, pass].concat(), [long, pass.to_owned()].concat()] {
            let notes = collected(&text).notes;
            let start = "rules with the action pass: 2, the first has sid 7.";
            assert!(notes[0].starts_with(start) && notes.len() <= MOST_NOTES, "{notes:?}");
        }
    }
}
