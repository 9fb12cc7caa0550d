// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads the messages of `fw4 check`: which warnings of fw4 mean that a section is left out, why,
//! and by which option; the section and the value that an error of nft is about. An error counts
//! only if it is about the output of fw4: those about other files quote them.

use ::uci::Section;

/// The texts before the section and the reason, and how the reason ends or begins if fw4 ignores
/// the section; as of firewall4 b6e5157.
const WARNING: &str = "[!] Section ";
const SKIPS: &[&str] = &["skipping", "ignoring section", INVALID];
const STOPS: &[&str] = &["has no ", "must not ", "must specify ", UNKNOWN_SET];
/// This is wanted.
const SWITCHED_OFF: &str = "is disabled, ignoring section";
/// The reason after a warning about one option.
const INVALID: &str = "skipped due to invalid options";
const UNKNOWN_SET: &str = "references unknown set";
const NO_PORTS: &str = "no UDP/TCP protocol, ignoring section";
/// Such a warning: the text before the option's name, and the texts behind it that mean an error.
const OPTION: &str = "option '";
const WRONG: &[&str] = &["is mandatory", "must not be", "specifies invalid value"];
/// fw4 adds a mark to the output of a section that has a name with it.
const MARK: &str = "!fw4: ";
/// The names of fw4's output in the messages of nft.
const OUTPUT: &[&str] = &["/dev/stdin:", "/proc/self/fd/0:"];
const ERROR: &str = ": Error: ";

/// Why fw4 leaves a section out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// It does not accept an option.
    Option,
    /// Its addresses are of both families, or not of that of the section.
    Families,
    /// It has ports, but neither TCP nor UDP.
    Ports,
    /// It refers to a set that does not exist.
    Set,
    Other,
}

/// A section that fw4 makes nothing of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LeftOut {
    /// The section's name, or its place such as `@rule[2]`.
    pub(super) section: String,
    /// The value of its option `name`.
    pub(super) name: String,
    /// Its own text; for the log.
    pub(super) reason: String,
    /// The option that the message is about; "" if it is about none.
    pub(super) option: String,
}

impl LeftOut {
    /// Those of all warnings.
    pub(super) fn all(words: &str) -> Vec<Self> {
        let mut wrong: Option<(String, String)> = None;
        let mut all = Vec::new();
        for line in words.lines() {
            let Some((section, name, reason)) = warning(line) else { continue };
            if let Some(option) = wrong_option(reason) {
                wrong = Some((section.to_owned(), option.to_owned()));
            }
            if !skips(reason) {
                continue;
            }
            let before = || {
                let (of, option) = wrong.as_ref()?;
                (reason == INVALID && of == section).then_some(&**option)
            };
            let option = named_option(reason).or_else(before).unwrap_or_default();
            all.push(Self {
                section: section.to_owned(),
                name: name.to_owned(),
                reason: reason.to_owned(),
                option: option.to_owned(),
            });
        }
        all
    }

    pub(super) fn cause(&self) -> Cause {
        let reason = &*self.reason;
        if reason.starts_with(UNKNOWN_SET) {
            Cause::Set
        } else if reason.ends_with(NO_PORTS) {
            Cause::Ports
        } else if reason.contains(" IPv") && reason.ends_with(", skipping") {
            Cause::Families
        } else if !self.option.is_empty() {
            Cause::Option
        } else {
            Cause::Other
        }
    }

    /// Whether it is about the same, whatever the section's place is.
    pub(super) fn is_as(&self, other: &Self) -> bool {
        let unnumbered = |section: &str| section.split('[').next().map(str::to_owned);
        (&self.name, &self.reason) == (&other.name, &other.reason)
            && unnumbered(&self.section) == unnumbered(&other.section)
    }
}

/// Section, name and text of a warning of its `warn_section()`.
fn warning(line: &str) -> Option<(&str, &str, &str)> {
    let (section, rest) = line.strip_prefix(WARNING)?.split_once(' ')?;
    match rest.strip_prefix('(').and_then(|rest| rest.split_once(") ")) {
        Some((name, reason)) => Some((section, name, reason)),
        None => Some((section, "", rest)),
    }
}

fn skips(reason: &str) -> bool {
    let skips = SKIPS.iter().any(|end| reason.ends_with(end))
        || STOPS.iter().any(|begin| reason.starts_with(begin));
    skips && reason != SWITCHED_OFF
}

/// The option of a warning that is about one and makes the section invalid.
fn wrong_option(reason: &str) -> Option<&str> {
    let (option, rest) = reason.strip_prefix(OPTION)?.split_once("' ")?;
    (is_option(option) && WRONG.iter().any(|begin| rest.starts_with(begin))).then_some(option)
}

/// The first option in quotes.
fn named_option(reason: &str) -> Option<&str> {
    reason
        .split('\'')
        .skip(1)
        .step_by(2)
        .find(|quoted| reason.starts_with("must ") && is_option(quoted))
}

fn is_option(text: &str) -> bool {
    let letter = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'_';
    !text.is_empty() && text.bytes().all(letter)
}

/// An error of nft about the output of fw4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Refused<'a> {
    /// The line of the output.
    line: &'a str,
    /// The part of it that the error is about.
    part: &'a str,
    /// The first column of that part, from 0.
    start: usize,
}

impl<'a> Refused<'a> {
    pub(super) fn all(words: &'a str) -> Vec<Self> {
        let mut all = Vec::new();
        let mut lines = words.lines().peekable();
        while let Some(error) = lines.next() {
            let Some((from, to)) = columns(error) else { continue };
            let Some(line) = lines.peek().copied() else { continue };
            let part = from.checked_sub(1).and_then(|from| line.get(from..to));
            let part = part.unwrap_or_default().trim_matches('"');
            all.push(Self { line, part, start: from.saturating_sub(1) });
        }
        all
    }

    /// Whether it is about the output of this section.
    pub(super) fn is_of(&self, section: &Section) -> bool {
        let name = section.text("name").filter(|name| !name.is_empty());
        name.is_some_and(|name| self.line.contains(&format!("{MARK}{name}\"")))
    }

    /// The option of the section that has the value which the error is about. The name is in the
    /// comment, at the end of the line.
    pub(super) fn option(&self, section: &Section) -> Option<String> {
        let comment = self.line.find(&format!("\"{MARK}")).is_some_and(|at| self.start >= at);
        if comment && !self.part.is_empty() {
            return Some("name".to_owned());
        }
        let has = |text: &String| text.split_whitespace().any(|word| word == self.part);
        let mut options = section.options.iter().filter(|(option, _)| *option != "name");
        let found = options.find(|(_, setting)| setting.texts().iter().any(has));
        found.filter(|_| !self.part.is_empty()).map(|(option, _)| option.clone())
    }
}

/// First and last column of `FILE:LINE:FIRST-LAST: Error: `, if the file is the output of fw4.
fn columns(line: &str) -> Option<(usize, usize)> {
    let place = OUTPUT.iter().find_map(|file| line.strip_prefix(file))?.split_once(ERROR)?.0;
    let (from, to) = place.split_once(':')?.1.split_once('-')?;
    Some((from.parse().ok()?, to.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::sample::draft;

    fn one(words: &str) -> LeftOut {
        let mut all = LeftOut::all(words);
        assert_eq!(all.len(), 1, "{words}: {all:?}");
        all.remove(0)
    }

    /// Messages of firewall4 b6e5157.
    #[test]
    fn a_warning_has_a_cause_and_an_option() {
        let of =
            one("[!] Section @rule[2] (x) is restricted to IPv4 but referenced source IP is IPv6 \
             only, skipping");
        assert_eq!((of.section.as_str(), of.name.as_str()), ("@rule[2]", "x"));
        assert_eq!((of.cause(), of.option.as_str()), (Cause::Families, ""));
        for line in [
            "[!] Section web option 'reflection' is not supported by fw4",
            "[!] Section web is disabled, ignoring section",
            "[!] Section @redirect[0] (Web) does not specify a destination, assuming 'lan'",
            "[!] Skipping invalid entry 'root:$6$salt$hash' in file '/etc/seen', skipping",
            "Ruleset passes nftables check.",
        ] {
            assert_eq!(LeftOut::all(line), [], "{line}");
        }
        for (line, cause, option) in [
            ("[!] Section web skipped due to invalid options", Cause::Other, ""),
            ("[!] Section @redirect[0] has no source specified", Cause::Other, ""),
            (
                "[!] Section a must not use 'src_mac' option for snat target",
                Cause::Option,
                "src_mac",
            ),
            ("[!] Section a (b) references unknown set 'x'", Cause::Set, ""),
            (
                "[!] Section @nat[0] (a) specifies ports but no UDP/TCP protocol, ignoring section",
                Cause::Ports,
                "",
            ),
            (
                "[!] Section web option 'limit' specifies invalid value '/x'\n\
                 [!] Section web option 'extra' is not supported by fw4\n\
                 [!] Section web skipped due to invalid options",
                Cause::Option,
                "limit",
            ),
            (
                "[!] Section other option 'limit' specifies invalid value '/x'\n\
                 [!] Section web skipped due to invalid options",
                Cause::Other,
                "",
            ),
        ] {
            let of = one(line);
            assert_eq!((of.cause(), of.option.as_str()), (cause, option), "{line}");
        }
        let moved = LeftOut { section: "@rule[1]".to_owned(), ..of.clone() };
        assert!(of.is_as(&moved));
    }

    /// Messages of nft 1.1.3.
    #[test]
    fn an_error_names_an_option() {
        let draft = draft(json!([{"config": "firewall", "op": "add", "type": "rule", "id": "a",
            "values": {"name": "P", "dest_port": "80 99999"}}]));
        let section = draft.after["firewall"].sections.last().unwrap();
        let words = "/dev/stdin:4:13-17: Error: Service out of range\n\
            \t\ttcp dport 99999 accept comment \"!fw4: P\"\n\t\t          ^^^^^\n";
        let all = Refused::all(words);
        assert_eq!(all.len(), 1);
        assert!(all[0].is_of(section));
        assert_eq!(all[0].option(section).as_deref(), Some("dest_port"));
        let syntax = words.replace("13-17", "26-32");
        assert_eq!(Refused::all(&syntax)[0].option(section), None);
        let comment = words.replace("13-17", "34-42");
        assert_eq!(Refused::all(&comment)[0].option(section).as_deref(), Some("name"));
        // Other files may say anything.
        for other in ["/etc/seen", "/etc/dev/stdin", "internal:0:0-0: Error: /dev/stdin"] {
            assert_eq!(Refused::all(&words.replace("/dev/stdin", other)), [], "{other}");
        }
        for bad in ["0-9", "13-99", "9-3", "18446744073709551616-1", "1", "-", ""] {
            let words = words.replace("13-17", bad);
            assert!(Refused::all(&words).iter().all(|of| of.part.is_empty()), "{bad}");
        }
    }
}
