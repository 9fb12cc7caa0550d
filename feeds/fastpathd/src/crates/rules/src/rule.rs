// SPDX-License-Identifier: GPL-2.0-or-later
//! Parses Suricata rules. Rules with `noalert`, state for other rules or an action other than alert
//! are never converted to drops. Rules with reserved flow bits, files, or keywords missing in
//! `keywords.txt` are omitted. Lines that Suricata may parse differently are rejected; Suricata's
//! test (`trial.rs`) checks the rest.

use std::ops::RangeInclusive;

use thiserror::Error;

use crate::fault::SourceFault;

pub(crate) const DEFAULT_GID: u32 = 1;

/// Actions that a source may use. An action also distinguishes a disabled rule from text in a
/// comment.
const ACTIONS: [&str; 7] =
    ["alert", "drop", "pass", "reject", "rejectsrc", "rejectdst", "rejectboth"];

/// Keywords of Suricata 8.0.8 that a source may use: matches, descriptions, and state within
/// Suricata. Excludes keywords that access files, run code, set marks, change packets or end
/// inspection.
const KEYWORDS: &str = include_str!("keywords.txt");

/// Prefix of the flow bits of fastpath's own rules (`handshake.rules`, `encrypted.rules`).
const RESERVED: &str = "fastpath.";

/// Why an alert is not converted to a drop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum KeepReason {
    #[error("it has noalert: it only sets state for other rules and matches harmless packets")]
    NoAlert,
    /// The rule sets state (a bit, counter or dataset entry) that other rules match.
    #[error("it sets {0}, which other rules depend on: dropped packets would break them")]
    Sets(&'static str),
    #[error("its action is not alert")]
    OtherAction,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unusable<'a> {
    /// Keyword or action that sources may not use.
    NotAllowed(&'a str),
    /// Keyword of state with a reserved name.
    Reserved(&'static str),
    /// Keyword that needs a list or a script, which no source provides.
    File(&'static str),
    /// Keyword that sets packet marks, which only the firewall and fastpath may set.
    Mark(&'static str),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule<'a> {
    text: &'a str,
    /// `alert`, `drop`, `pass`, …
    pub action: &'a str,
    /// Generator; 1 by default.
    pub gid: u32,
    /// Signature number, unique per generator.
    pub sid: u32,
    /// Revision; 0 by default.
    pub rev: u32,
    /// Why the rule is omitted.
    pub unusable: Option<Unusable<'a>>,
    /// Why the rule must not become a drop.
    keep: Option<KeepReason>,
}

impl<'a> Rule<'a> {
    /// Parses a rule on one line.
    pub fn parse(text: &'a str) -> Result<Self, SourceFault> {
        let text = text.trim_matches(BLANKS);
        let (header, options) = text.split_once('(').ok_or(SourceFault::NoOptions)?;
        let action = action_of(header)?;
        if text.contains(|c: char| c.is_ascii_control() && c != '\t') {
            return Err(SourceFault::Control);
        }
        // Suricata skips blanks before the options.
        if options.trim_start_matches(BLANKS).starts_with('(') {
            return Err(SourceFault::Header);
        }
        let options = options.strip_suffix(')').ok_or(SourceFault::NotClosed)?;
        let unusable = (!ACTIONS.contains(&action)).then_some(Unusable::NotAllowed(action));
        let mut found = Found { unusable, ..Found::default() };
        let mut pieces = Pieces { rest: options };
        while let Some((name, value)) = pieces.next_option()? {
            found.take(name, value)?;
        }
        let other = (action != "alert").then_some(KeepReason::OtherAction);
        Ok(Self {
            text,
            action,
            gid: found.gid.unwrap_or(DEFAULT_GID),
            sid: found.sid.ok_or(SourceFault::NoSid)?,
            rev: found.rev.unwrap_or(0),
            unusable: found.unusable,
            keep: other.or(found.keep),
        })
    }

    /// Returns the rule with the action `drop`.
    ///
    /// # Errors
    /// Why the rule must not become a drop.
    pub fn as_drop(&self) -> Result<String, KeepReason> {
        match self.keep {
            Some(reason) => Err(reason),
            None => Ok(format!("drop{}", &self.text[self.action.len()..])),
        }
    }

    /// Returns the rule without surrounding blanks.
    #[must_use]
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// Reports whether the action is drop or reject.
    #[must_use]
    pub fn stops(&self) -> bool {
        self.action == "drop" || self.action.starts_with("reject")
    }
}

/// Blanks that Suricata skips, except control characters.
const BLANKS: [char; 2] = [' ', '\t'];

/// Returns the action of a header. Suricata reads seven parts, separated by blanks outside
/// brackets.
fn action_of(header: &str) -> Result<&str, SourceFault> {
    let action = header.split(BLANKS).find(|part| !part.is_empty()).unwrap_or_default();
    if !action.starts_with(|first: char| first.is_ascii_lowercase()) {
        return Err(SourceFault::NoAction);
    }
    let good = |c: char| c.is_ascii_alphanumeric() || "_-.:,$!/<>=[]".contains(c);
    let (mut parts, mut depth, mut within) = (Vec::new(), 0_u32, false);
    for (at, c) in header.char_indices() {
        depth = match c {
            '[' => depth + 1,
            ']' => depth.checked_sub(1).ok_or(SourceFault::Header)?,
            _ => depth,
        };
        let blank = BLANKS.contains(&c);
        if !blank && !good(c) {
            return Err(SourceFault::Header);
        }
        if !blank && !within {
            parts.push(&header[at..]);
        }
        within = !blank || depth > 0;
    }
    let direction = parts.get(4).and_then(|rest| rest.split(BLANKS).next());
    let known = direction.is_some_and(|word| ["->", "<>", "=>"].contains(&word));
    // For action and direction, Suricata ignores brackets.
    let same_as_suricata =
        !action.contains('[') && parts.len() == 7 && depth == 0 && !within && known;
    same_as_suricata.then_some(action).ok_or(SourceFault::Header)
}

#[must_use]
pub fn is_disabled_rule(comment: &str) -> bool {
    let text = comment.trim_start_matches(|c: char| c == '#' || c.is_ascii_whitespace());
    let action = text.split(BLANKS).next().unwrap_or_default();
    ACTIONS.contains(&action) && Rule::parse(text).is_ok()
}

/// Options of a rule, split at each `;` without a preceding backslash. Like Suricata, ignores
/// quotes.
struct Pieces<'a> {
    rest: &'a str,
}

impl<'a> Pieces<'a> {
    fn next_option(&mut self) -> Result<Option<(&'a str, &'a str)>, SourceFault> {
        let rest = self.rest.trim_start_matches(BLANKS);
        if rest.is_empty() {
            return Ok(None);
        }
        let end = unescaped_semicolon(rest).ok_or(SourceFault::NotClosed)?;
        self.rest = &rest[end + 1..];
        let (name, value) = rest[..end].split_once(':').unwrap_or((&rest[..end], ""));
        let (name, value) = (name.trim_end_matches(BLANKS), value.trim_matches(BLANKS));
        let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
        if name.is_empty() || !name.chars().all(good) {
            return Err(SourceFault::OptionName { name: name.chars().take(40).collect() });
        }
        Ok(Some((name, value)))
    }
}

/// Returns the first `;` without a preceding backslash. Like Suricata, checks only one byte, so an
/// escaped backslash protects a `;`, too.
fn unescaped_semicolon(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    (0..bytes.len()).find(|&at| bytes[at] == b';' && (at == 0 || bytes[at - 1] != b'\\'))
}

#[derive(Default)]
struct Found<'a> {
    gid: Option<u32>,
    sid: Option<u32>,
    rev: Option<u32>,
    unusable: Option<Unusable<'a>>,
    keep: Option<KeepReason>,
}

impl<'a> Found<'a> {
    fn take(&mut self, written: &'a str, value: &str) -> Result<(), SourceFault> {
        // Suricata's keywords are case-insensitive.
        let name = written.to_ascii_lowercase();
        match name.as_str() {
            "sid" => once(&mut self.sid, "sid", value, 1..=u32::MAX),
            "gid" => once(&mut self.gid, "gid", value, 0..=u32::MAX),
            "rev" => once(&mut self.rev, "rev", value, 0..=u32::MAX),
            name => {
                self.keep = self.keep.or_else(|| keep_reason(name, value));
                let allowed = KEYWORDS.split_ascii_whitespace().any(|keyword| keyword == name);
                let other = (!allowed).then_some(Unusable::NotAllowed(written));
                self.unusable = self.unusable.or_else(|| unusable(name, value)).or(other);
                Ok(())
            }
        }
    }
}

fn once(
    slot: &mut Option<u32>,
    option: &'static str,
    value: &str,
    range: RangeInclusive<u32>,
) -> Result<(), SourceFault> {
    if slot.is_some() {
        return Err(SourceFault::Twice { option });
    }
    let number = value.parse().ok().filter(|number| range.contains(number));
    *slot = Some(number.ok_or_else(|| SourceFault::Number {
        option,
        value: value.chars().take(40).collect(),
        first: *range.start(),
        last: *range.end(),
    })?);
    Ok(())
}

fn keep_reason(name: &str, value: &str) -> Option<KeepReason> {
    const STATE: [&str; 5] = ["flowbits", "xbits", "hostbits", "dataset", "flowint"];
    /// Verbs that only read state.
    const READS: [&str; 9] = ["isset", "isnotset", "notset", "<", "<=", "==", "!=", ">=", ">"];
    let state = STATE.into_iter().find(|state| *state == name);
    // In a flowint, the name precedes the verb.
    let verb = value.split(',').nth(usize::from(name == "flowint")).unwrap_or_default().trim();
    match (name, state, verb) {
        ("noalert", ..) | ("flowbits", _, "noalert") => Some(KeepReason::NoAlert),
        (_, None, _) => None,
        (_, Some(_), verb) if READS.contains(&verb) => None,
        (_, Some(state), _) => Some(KeepReason::Sets(state)),
    }
}

/// Returns why a keyword makes a rule unusable: it needs files, sets packet marks that control
/// offloading, or uses reserved state.
fn unusable(name: &str, value: &str) -> Option<Unusable<'static>> {
    const FILES: [&str; 5] = ["lua", "luaxform", "filemd5", "filesha1", "filesha256"];
    // Keywords with the number of value parts before the options.
    const SETS: [(&str, usize); 2] = [("dataset", 2), ("datarep", 3)];
    const STATE: [&str; 6] = ["flowbits", "xbits", "hostbits", "flowint", "flowvar", "pktvar"];
    let of = |known: &[&'static str]| known.iter().copied().find(|keyword| *keyword == name);
    let option = |part: &str| part.split_ascii_whitespace().next().unwrap_or_default().to_owned();
    let in_memory = |part: &str| ["type", "memcap", "hashsize"].contains(&option(part).as_str());
    let set = SETS.into_iter().find(|(keyword, _)| *keyword == name);
    let set = set.filter(|(_, before)| !value.split(',').skip(*before).all(in_memory));
    let reserved = of(&STATE).filter(|_| value.to_ascii_lowercase().contains(RESERVED));
    of(&FILES)
        .or(set.map(|(keyword, _)| keyword))
        .map(Unusable::File)
        .or_else(|| of(&["nfq_set_mark"]).map(Unusable::Mark))
        .or_else(|| reserved.map(Unusable::Reserved))
}

#[cfg(test)]
mod tests;
