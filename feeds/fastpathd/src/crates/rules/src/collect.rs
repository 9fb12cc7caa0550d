// SPDX-License-Identifier: GPL-2.0-or-later
//! Collects the selected rules of an archive, and converts alerts to drops according to the
//! settings.

use std::io::BufRead;

use config::Cause;

use crate::archive::{self, ArchiveError, ArchiveLimits, Refusal};
use crate::fault::SourceFault;
use crate::lines::{Line, LineError, Lines, MAX_RULE_LEN};
use crate::reason::SourceReason;
use crate::rule::{Rule, Unusable, is_disabled_rule};
use crate::select::{Choice, Selector, category_of};

const MAX_NOTES: usize = 20;
/// Maximum number of rules per source, far beyond the capacity of Suricata on a gateway.
const MAX_RULES: usize = 500_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    pub gid: u32,
    /// Signature number, unique per generator.
    pub sid: u32,
    pub rev: u32,
    /// Index into [`Collected::files`].
    pub file: u32,
    /// First line in the file, from 1.
    pub line: u32,
    /// The action is drop or reject.
    pub stops: bool,
    start: usize,
    len: u32,
}

#[derive(Debug, Default)]
pub struct Collected {
    /// Paths in the archive.
    pub files: Vec<String>,
    pub rules: Vec<Wanted>,
    pub unpacked: u64,
    pub converted: u32,
    pub disabled: u32,
    /// Number of rules that the source has disabled in comments.
    pub disabled_by_source: u32,
    /// Number of unusable rules; `notes` has the reasons.
    pub left_out: u32,
    /// Version in `version.txt`; empty without such a file.
    pub version: String,
    /// First 20 notes for the user. Notes about rules that are not converted have no code.
    pub notes: Vec<Cause>,
    text: String,
}

impl Collected {
    #[must_use]
    pub fn text(&self, rule: &Wanted) -> &str {
        &self.text[rule.start..rule.start + rule.len as usize]
    }

    /// Returns a note about rules with the action pass, which may end inspection of all traffic.
    fn passing(&self) -> Option<SourceReason> {
        let is_pass = |text: &str| text.split_ascii_whitespace().next() == Some("pass");
        let mut passing = self.rules.iter().filter(|rule| is_pass(self.text(rule)));
        let sid = passing.next()?.sid;
        Some(SourceReason::Passing { sid, number: 1 + passing.count() })
    }

    fn note(&mut self, note: impl Into<Cause>) {
        if self.notes.len() < MAX_NOTES {
            self.notes.push(note.into());
        }
    }
}

/// Reads an archive and collects the rules that `choice` selects.
///
/// # Errors
/// Fails if the archive is rejected; the error names file and line of an invalid rule.
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
        // Insert the note first, because the number of notes is limited.
        collected.notes.insert(0, note.cause());
        collected.notes.truncate(MAX_NOTES);
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
        LineError::TooLong { number, limit } => {
            Refusal::Line { line: number, fault: SourceFault::LongLine { limit } }
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
                collected.note(SourceFault::NotText { file: path.to_owned(), line: number });
            }
            Line::Rule { number, text } => {
                let at = Place { path, category, file: index, line: number };
                take_rule(collected, choice, &at, &text)
                    .map_err(|fault| Refusal::Line { line: number, fault })?;
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

fn take_rule(
    collected: &mut Collected,
    choice: &mut Choice,
    at: &Place<'_>,
    text: &str,
) -> Result<(), SourceFault> {
    let rule = Rule::parse(text)?;
    if choice.disables(&rule, at.category) {
        collected.disabled += 1;
        return Ok(());
    }
    if let Some(reason) = rule.unusable {
        collected.left_out += 1;
        let (file, line, sid) = (at.path.to_owned(), at.line, rule.sid);
        collected.note(match reason {
            Unusable::NotAllowed(keyword) => {
                SourceFault::NotAllowed { file, line, sid, keyword: keyword.to_owned() }
            }
            Unusable::Reserved(keyword) => SourceFault::Reserved { file, line, sid, keyword },
            Unusable::File(keyword) => SourceFault::NeedsFile { file, line, sid, keyword },
            Unusable::Mark(keyword) => SourceFault::SetsMark { file, line, sid, keyword },
        });
        return Ok(());
    }
    if text.len() >= MAX_RULE_LEN {
        collected.left_out += 1;
        let (file, line, sid) = (at.path.to_owned(), at.line, rule.sid);
        collected.note(SourceFault::LongRule { file, line, sid });
        return Ok(());
    }
    if collected.rules.len() >= MAX_RULES {
        return Err(SourceFault::ManyRules { limit: MAX_RULES });
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
            let Place { path, line, .. } = at;
            let Rule { sid, action, .. } = rule;
            let text = format!(
                "{path} line {line}: sid {sid} stays {action} though drop says {by}: {reason}"
            );
            collected.note(Cause { text, ..Cause::default() });
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_the_number_of_pass_rules() {
        let collected = |text: &str| {
            let limits = ArchiveLimits::of_bytes(1 << 20);
            collect(text.as_bytes(), "x.rules", &limits, Choice::default()).expect("good rules")
        };
        let alert = "alert ip any any -> any any (sid:1;)\n";
        let pass = "pass ip any any -> any any (sid:7;)\npass ip any any -> any any (sid:8;)\n";
        assert!(collected(alert).notes.is_empty());
        let long = "alert ip any any -> any any (filemd5:x; sid:1;)\n".repeat(2 * MAX_NOTES);
        for text in [[alert, pass].concat(), [long, pass.to_owned()].concat()] {
            let notes = collected(&text).notes;
            let start = "rules with the action pass: 2, the first has sid 7.";
            assert!(notes[0].text.starts_with(start) && notes.len() <= MAX_NOTES, "{notes:?}");
        }
    }
}
