// SPDX-License-Identifier: GPL-2.0-or-later
//! Parses one Suricata rule. Rules with `noalert`, with state for other rules or with an action
//! other than alert never become drops. Rules that use our own flow bits, files, or keywords
//! missing in `keywords.txt` are left out. Lines that Suricata may read differently are refused;
//! Suricata's own test (`trial.rs`) checks the rest.

use std::ops::RangeInclusive;

use thiserror::Error;

use crate::fault::SourceFault;

/// Generator of rules that name none.
pub(crate) const DEFAULT_GID: u32 = 1;

/// Actions that a source may use. They also distinguish a disabled rule from a sentence in a
/// comment.
const ACTIONS: [&str; 7] =
    ["alert", "drop", "pass", "reject", "rejectsrc", "rejectdst", "rejectboth"];

/// Keywords of Suricata 8.0.8 that a source may use: they match, describe, or keep state within
/// Suricata. Keywords that read or write files, run code, set marks, change packets or end
/// inspection are missing.
const KEYWORDS: &str = include_str!("keywords.txt");

/// Prefix of flow bits that our own rules set (`handshake.rules`, `encrypted.rules`).
const RESERVED: &str = "fastpath.";

/// Why an alert does not become a drop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum KeepReason {
    /// A match of the rule alone means nothing.
    #[error("it has noalert: it only sets state for other rules and matches harmless packets")]
    NoAlert,
    /// The rule sets state (a bit, a counter, an entry of a dataset) that other rules match.
    #[error("it sets {0}, which other rules depend on: dropped packets would break them")]
    Sets(&'static str),
    /// The action is `pass`, `reject` or similar.
    #[error("its action is not alert")]
    OtherAction,
}

/// Why a rule of a source is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unusable<'a> {
    /// A keyword or an action that is missing in our lists.
    NotAllowed(&'a str),
    /// State with a name that belongs to our own rules.
    Reserved(&'static str),
    /// A list or a script, which no source provides.
    File(&'static str),
    /// Packet marks, which belong to the firewall and to fastpath.
    Mark(&'static str),
}

/// Identity of a rule, and the properties that matter here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule<'a> {
    text: &'a str,
    /// Action as written: `alert`, `drop`, `pass`, …
    pub action: &'a str,
    /// Generator; 1 if the rule names none.
    pub gid: u32,
    /// Number of the rule, unique within its generator.
    pub sid: u32,
    /// Revision; 0 if the rule names none.
    pub rev: u32,
    /// Why the rule cannot be used here.
    pub unusable: Option<Unusable<'a>>,
    /// Why the rule must not become a drop.
    keep: Option<KeepReason>,
}

impl<'a> Rule<'a> {
    /// Parses one rule, on one line.
    ///
    /// # Errors
    /// The text is not a rule, or has no valid `sid`.
    pub fn parse(text: &'a str) -> Result<Self, SourceFault> {
        let text = text.trim_matches(BLANKS);
        let (header, options) = text.split_once('(').ok_or(SourceFault::NoOptions)?;
        let action = action_of(header)?;
        if text.contains(|c: char| c.is_ascii_control() && c != '\t') {
            return Err(SourceFault::Control);
        }
        // Suricata skips any number of blanks.
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

    /// Returns the rule as written, without blanks around it.
    #[must_use]
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// Reports whether the rule drops or rejects.
    #[must_use]
    pub fn stops(&self) -> bool {
        self.action == "drop" || self.action.starts_with("reject")
    }
}

/// Characters that Suricata skips, without control characters.
const BLANKS: [char; 2] = [' ', '\t'];

/// Returns the action of a header. Suricata reads seven parts, each up to a blank outside of
/// brackets, and then the options.
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
    // Suricata reads action and direction up to a blank, even in brackets.
    let read_alike = !action.contains('[') && parts.len() == 7 && depth == 0 && !within && known;
    read_alike.then_some(action).ok_or(SourceFault::Header)
}

/// Reports whether a comment is a rule that its author has disabled.
#[must_use]
pub fn is_disabled_rule(comment: &str) -> bool {
    let text = comment.trim_start_matches(|c: char| c == '#' || c.is_ascii_whitespace());
    let action = text.split(BLANKS).next().unwrap_or_default();
    ACTIONS.contains(&action) && Rule::parse(text).is_ok()
}

/// Options of a rule, split at each `;` without a preceding backslash. As in Suricata, quotes do
/// not protect a `;`.
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

/// Returns the position of the first `;` without a preceding backslash. Like Suricata, checks only
/// the byte before, so an escaped backslash protects a `;`, too.
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
        // Suricata ignores the case of keywords.
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
    /// Verbs that change nothing.
    const READS: [&str; 9] = ["isset", "isnotset", "notset", "<", "<=", "==", "!=", ">=", ">"];
    let state = STATE.into_iter().find(|state| *state == name);
    // The name of a flowint precedes its verb.
    let verb = value.split(',').nth(usize::from(name == "flowint")).unwrap_or_default().trim();
    match (name, state, verb) {
        ("noalert", ..) | ("flowbits", _, "noalert") => Some(KeepReason::NoAlert),
        (_, None, _) => None,
        (_, Some(_), verb) if READS.contains(&verb) => None,
        (_, Some(state), _) => Some(KeepReason::Sets(state)),
    }
}

/// Returns why a keyword makes a rule unusable. A source provides text only, and a foreign rule
/// must not name files of the router, set the marks that decide about offloading, or use the bits
/// that prove an address.
fn unusable(name: &str, value: &str) -> Option<Unusable<'static>> {
    const FILES: [&str; 5] = ["lua", "luaxform", "filemd5", "filesha1", "filesha256"];
    // Keywords, and the number of parts in their values before the options.
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
