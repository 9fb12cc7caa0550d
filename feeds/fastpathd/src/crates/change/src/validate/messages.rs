// SPDX-License-Identifier: GPL-2.0-or-later
//! Parses the messages of `fw4 check`: skipped sections with cause and option, and nft errors with
//! section and value. Ignores errors about files other than fw4's output, which quote the file.

use ::uci::Section;

/// Prefix of a warning. fw4 skips the section if the reason ends with one of `SKIPS` or begins with
/// one of `STOPS` (firewall4 b6e5157).
const WARNING: &str = "[!] Section ";
const SKIPS: &[&str] = &["skipping", "ignoring section", INVALID];
const STOPS: &[&str] = &["has no ", "must not ", "must specify ", UNKNOWN_SET];
/// Reason of a disabled section, which is not a fault.
const SWITCHED_OFF: &str = "is disabled, ignoring section";
/// Reason that follows a warning about an option.
const INVALID: &str = "skipped due to invalid options";
const UNKNOWN_SET: &str = "references unknown set";
const NO_PORTS: &str = "no UDP/TCP protocol, ignoring section";
/// Prefix of an option's name, and texts after the name that indicate an error.
const OPTION: &str = "option '";
const WRONG: &[&str] = &["is mandatory", "must not be", "specifies invalid value"];
/// Prefix of a section's name in fw4's comments.
const MARK: &str = "!fw4: ";
/// File names of fw4's output in messages of nft.
const OUTPUT: &[&str] = &["/dev/stdin:", "/proc/self/fd/0:"];
const ERROR: &str = ": Error: ";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    Option,
    /// Addresses have different families, or another family than the section.
    Families,
    Ports,
    Set,
    Other,
}

/// A section that fw4 skips.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LeftOut {
    /// Name of the section, or a place such as `@rule[2]`.
    pub(super) section: String,
    pub(super) name: String,
    /// fw4's text, for the log.
    pub(super) reason: String,
    /// Option in the message. Empty if there is none.
    pub(super) option: String,
}

impl LeftOut {
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

    /// Returns whether both have the same section and reason. Ignores the position of the section.
    pub(super) fn is_as(&self, other: &Self) -> bool {
        let unnumbered = |section: &str| section.split('[').next().map(str::to_owned);
        (&self.name, &self.reason) == (&other.name, &other.reason)
            && unnumbered(&self.section) == unnumbered(&other.section)
    }
}

/// Parses a warning of fw4's `warn_section()` into section, name and reason.
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

/// Returns the option of a warning that makes the section invalid.
fn wrong_option(reason: &str) -> Option<&str> {
    let (option, rest) = reason.strip_prefix(OPTION)?.split_once("' ")?;
    (is_option(option) && WRONG.iter().any(|begin| rest.starts_with(begin))).then_some(option)
}

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
    line: &'a str,
    /// Erroneous part of the line.
    part: &'a str,
    /// First column of `part`, from 0.
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

    /// Returns whether the line belongs to this section.
    pub(super) fn is_of(&self, section: &Section) -> bool {
        let name = section.text("name").filter(|name| !name.is_empty());
        name.is_some_and(|name| self.line.contains(&format!("{MARK}{name}\"")))
    }

    /// Returns the option with the erroneous value. An error in the comment is about the name.
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

/// Parses first and last column of `FILE:LINE:FIRST-LAST: Error: `. `None` for a file other than
/// fw4's output.
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

    fn parse_one(words: &str) -> LeftOut {
        let mut all = LeftOut::all(words);
        assert_eq!(all.len(), 1, "{words}: {all:?}");
        all.remove(0)
    }

    // Messages of firewall4 b6e5157.
    #[test]
    fn parses_cause_and_option_of_a_warning() {
        let of = parse_one(
            "[!] Section @rule[2] (x) is restricted to IPv4 but referenced source IP is IPv6 \
             only, skipping",
        );
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
            let of = parse_one(line);
            assert_eq!((of.cause(), of.option.as_str()), (cause, option), "{line}");
        }
        let moved = LeftOut { section: "@rule[1]".to_owned(), ..of.clone() };
        assert!(of.is_as(&moved));
    }

    // Messages of nft 1.1.3.
    #[test]
    fn finds_the_option_of_an_nft_error() {
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
        // Ignores errors about other files.
        for other in ["/etc/seen", "/etc/dev/stdin", "internal:0:0-0: Error: /dev/stdin"] {
            assert_eq!(Refused::all(&words.replace("/dev/stdin", other)), [], "{other}");
        }
        for bad in ["0-9", "13-99", "9-3", "18446744073709551616-1", "1", "-", ""] {
            let words = words.replace("13-17", bad);
            assert!(Refused::all(&words).iter().all(|of| of.part.is_empty()), "{bad}");
        }
    }
}
