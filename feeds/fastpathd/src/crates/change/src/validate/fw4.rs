// SPDX-License-Identifier: GPL-2.0-or-later
//! Tries a draft with `fw4 check` in mounts of its own, which applies nothing: time limit, which of
//! its warnings mean that a section is left out, and the section that an error is about.
//!
//! It runs as root and quotes its input: its errors are logged in part and never answered. Of its
//! warnings one kind is answered: that it ignores a section, which is a success for it. These
//! messages quote nothing but options.
#![expect(
    unsafe_code,
    reason = "the program gets a mount namespace of its own between fork and exec"
)]

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use plugin::process::{self, Limits, RunError};

use crate::diff::{label, place};
use crate::draft::Draft;
use crate::problem::Problem;
use ::uci::text;
use ::uci::{Package, Packages, Section};

const PROGRAM: &str = "/sbin/fw4";
/// The file that fw4 reads; its folder cannot be configured.
const CONFIG: &str = "/etc/config";
/// It is asked twice at most, within rpcd's 30 s.
const LIMITS: Limits = Limits::short(10);
/// Errors that are logged, and bytes of each.
const MOST_ERRORS: usize = 3;
const LONGEST_ERROR: usize = 160;
/// fw4 adds a mark to the output of a section that has a name with it.
const MARK: &str = "!fw4: ";
/// The texts before the section and the reason, and how the reason ends or begins if fw4 ignores
/// the section; as of firewall4 b6e5157.
const WARNING: &str = "[!] Section ";
const SKIPS: &[&str] = &["skipping", "ignoring section", "skipped due to invalid options"];
const STOPS: &[&str] = &["has no ", "must not ", "must specify ", "references unknown set"];
/// This is wanted.
const SWITCHED_OFF: &str = "is disabled, ignoring section";

config::coded! {
    /// Why it does not accept a change. `label` is the name or place of the section, `said` the
    /// reason of fw4.
    enum FirewallFault {
        Refused = "fw4",
            "firewall: the firewall (fw4) would not take these settings; the router's log has its \
             error";
        NoRule { label: String } = "fw4-no-rule",
            "firewall, section '{label}': the firewall (fw4) cannot make a rule of it";
        LeftOut { label: String, said: String } = "fw4-left-out",
            "firewall, section '{label}': the firewall (fw4) would leave it out: {said}";
    }
}

/// fw4's program; none where it is not installed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Firewall(pub(crate) Option<PathBuf>);

/// The messages about a configuration.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Takes(Vec<LeftOut>),
    /// With its messages.
    Refuses(String),
    /// It could not be started, or not be waited for.
    Silent(String),
}

/// A section that it makes nothing of.
#[derive(Clone, Debug, PartialEq, Eq)]
struct LeftOut {
    /// The section's name, or its place such as `@rule[2]`.
    section: String,
    /// The value of its option `name`.
    name: String,
    reason: String,
}

impl LeftOut {
    /// From a warning of its `warn_section()`.
    fn read(line: &str) -> Option<Self> {
        let (section, rest) = line.strip_prefix(WARNING)?.split_once(' ')?;
        let (name, reason) = match rest.strip_prefix('(').and_then(|rest| rest.split_once(") ")) {
            Some((name, reason)) => (name, reason),
            None => ("", rest),
        };
        let skips = SKIPS.iter().any(|end| reason.ends_with(end))
            || STOPS.iter().any(|begin| reason.starts_with(begin));
        let section = section.to_owned();
        let of = Self { section, name: name.to_owned(), reason: reason.to_owned() };
        (skips && reason != SWITCHED_OFF).then_some(of)
    }

    /// Whether it is about the same, whatever the section's place is.
    fn is_as(&self, other: &Self) -> bool {
        let unnumbered = |section: &str| section.split('[').next().map(str::to_owned);
        (&self.name, &self.reason) == (&other.name, &other.reason)
            && unnumbered(&self.section) == unnumbered(&other.section)
    }
}

impl Firewall {
    pub(super) fn installed() -> Self {
        Self(Some(PathBuf::from(PROGRAM)).filter(|path| path.exists()))
    }

    /// Whether it would refuse the files after the change, and takes those before.
    pub(super) fn judge(&self, draft: &Draft) -> Option<Problem> {
        let program = self.0.as_ref()?;
        let touched = draft.touched();
        if !touched.iter().any(|config| matches!(*config, "firewall" | "network")) {
            return None;
        }
        let after = verdict(program, &draft.after);
        if after == Verdict::Takes(Vec::new()) {
            return None;
        }
        let before = verdict(program, &draft.before);
        let quoted = program.display();
        let about = match (&after, &before) {
            (Verdict::Takes(of), Verdict::Takes(known)) => {
                let new = newly(of, known)?;
                crate::log::say(&format!("{quoted} leaves a section out: {}", new.reason));
                return Some(left_out(draft, new));
            }
            (Verdict::Takes(_), Verdict::Refuses(_) | Verdict::Silent(_)) => return None,
            (Verdict::Silent(_), Verdict::Refuses(_) | Verdict::Silent(_)) => "could not be asked",
            (Verdict::Refuses(_) | Verdict::Silent(_), Verdict::Takes(_)) => "refused a change",
            (Verdict::Refuses(_), Verdict::Refuses(_) | Verdict::Silent(_)) => {
                "refuses the present configuration, so changes are not checked with it"
            }
        };
        let (Verdict::Refuses(words) | Verdict::Silent(words)) = &after else { return None };
        crate::log::say(&format!("{quoted} {about}: {}", errors(words)));
        matches!(before, Verdict::Takes(_)).then(|| refused(draft, words))
    }
}

/// The first that is left out only now.
fn newly<'a>(after: &'a [LeftOut], before: &[LeftOut]) -> Option<&'a LeftOut> {
    let same = |of: &LeftOut, list: &[LeftOut]| list.iter().filter(|one| one.is_as(of)).count();
    after.iter().find(|of| same(of, after) > same(of, before))
}

fn verdict(program: &Path, packages: &Packages) -> Verdict {
    let asked = || -> Result<std::process::Output, RunError> {
        let folder = Folder::with(Path::new(CONFIG), packages)?;
        let mut command = Command::new(program);
        over_config(command.arg("check"), &folder.0)?;
        process::run(&mut command, b"", LIMITS)
    };
    match asked() {
        Ok(output) if output.status.success() => {
            let said = String::from_utf8_lossy(&output.stderr);
            Verdict::Takes(said.lines().filter_map(LeftOut::read).collect())
        }
        Ok(output) => {
            let said = [output.stderr, output.stdout].concat();
            Verdict::Refuses(String::from_utf8_lossy(&said).into_owned())
        }
        Err(error) => Verdict::Silent(format!(" Error: {error}")),
    }
}

/// The lines with errors, without those that quote the place.
fn errors(words: &str) -> String {
    let mut errors = Vec::new();
    for line in words.lines().filter(|line| line.contains(" Error: ")).take(MOST_ERRORS) {
        let line: String = line.chars().filter(|c| !c.is_control()).take(LONGEST_ERROR).collect();
        errors.push(line.trim().to_owned());
    }
    if errors.is_empty() { "it printed no error".to_owned() } else { errors.join("; ") }
}

fn refused(draft: &Draft, words: &str) -> Problem {
    let Some(section) = culprit(draft, words) else {
        return problem("", &FirewallFault::Refused);
    };
    let label = label(firewall(draft), section).escape_debug().to_string();
    problem(&section.name, &FirewallFault::NoRule { label })
}

fn left_out(draft: &Draft, of: &LeftOut) -> Problem {
    let package = firewall(draft);
    let section = package.sections.iter().find(|section| place(package, section) == of.section);
    let label = section.map_or_else(|| of.section.clone(), |section| label(package, section));
    let (label, said) = (label.escape_debug().to_string(), of.reason.escape_debug().to_string());
    let fault = FirewallFault::LeftOut { label, said };
    problem(section.map_or("", |section| &section.name), &fault)
}

fn firewall(draft: &Draft) -> &Package {
    static NONE: Package = Package { sections: Vec::new() };
    draft.after.get("firewall").unwrap_or(&NONE)
}

fn problem(section: &str, fault: &FirewallFault) -> Problem {
    Problem {
        config: "firewall".to_owned(),
        section: section.to_owned(),
        option: String::new(),
        code: fault.code(),
        params: fault.params(),
        text: fault.to_string(),
    }
}

/// The changed section that the message is about: the only one, or the one whose mark it
/// quotes.
fn culprit<'a>(draft: &'a Draft, words: &str) -> Option<&'a Section> {
    let changed = draft.changed();
    let mut sections = Vec::new();
    for pair in changed.iter().filter(|pair| pair.config == "firewall") {
        sections.extend(pair.after);
    }
    if let ([section], 1) = (&sections[..], changed.len()) {
        return Some(section);
    }
    let quoted = |section: &&Section| {
        let name = section.text("name").filter(|name| !name.is_empty());
        name.is_some_and(|name| words.contains(&format!("{MARK}{name}\"")))
    };
    sections.into_iter().find(quoted)
}

/// A copy of the configuration with other packages in it; gone with the value.
struct Folder(PathBuf);

impl Folder {
    fn with(config: &Path, packages: &Packages) -> io::Result<Self> {
        let path = std::env::temp_dir().join(format!("fastpath.fw4.{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::DirBuilder::new().mode(0o700).create(&path)?;
        let folder = Self(path);
        for entry in fs::read_dir(config)?.flatten() {
            // uci reads no folders, and a pipe would be waited for.
            if fs::metadata(entry.path()).is_ok_and(|of| of.is_file()) {
                fs::copy(entry.path(), folder.0.join(entry.file_name()))?;
            }
        }
        for (name, package) in packages {
            fs::write(folder.0.join(name), text(package))?;
        }
        Ok(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Has the command see the folder as `/etc/config`, in mounts of its own that end with it.
fn over_config(command: &mut Command, folder: &Path) -> io::Result<()> {
    let folder = CString::new(folder.as_os_str().as_bytes())?;
    let config = CString::new(CONFIG)?;
    let done = |status: i32| if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) };
    let isolate = move || {
        let (none, private) = (std::ptr::null(), libc::MS_REC | libc::MS_PRIVATE);
        // SAFETY: system calls on texts that live as long as this closure; nothing is allocated.
        unsafe {
            done(libc::unshare(libc::CLONE_NEWNS))?;
            done(libc::mount(none, c"/".as_ptr(), none, private, none.cast()))?;
            done(libc::mount(folder.as_ptr(), config.as_ptr(), none, libc::MS_BIND, none.cast()))
        }
    };
    // SAFETY: between fork and exec it makes three system calls and touches no lock.
    unsafe { command.pre_exec(isolate) };
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::sample::draft;

    const SAID: &str = "[!] Skipping invalid entry 'root:$6$salt$hash' in file '/etc/seen'\n\
        /dev/stdin:109:60-66: Error: syntax error, unexpected comment\n\
        meta nfproto ipv4 counter dnat ip to comment \"!fw4: Web\"\n\
        ^^^^^^^\n\
        /etc/seen:1:5-5: Error: syntax error, unexpected colon\n\
        root:$6$salt$hash:19000:0:99999:7:::\n";

    #[test]
    fn no_file_is_quoted() {
        let both = draft(json!([
            {"config": "firewall", "op": "add", "type": "rule", "id": "a", "values": {"name": "A"}},
            {"config": "firewall", "op": "add", "type": "redirect", "id": "b",
                "values": {"name": "Web"}},
        ]));
        let found = refused(&both, SAID);
        assert_eq!((found.code, found.section.as_str()), ("fw4-no-rule", "b"));
        assert_eq!(found.params["label"], "Web");
        assert!(found.text.contains("'Web'"), "{}", found.text);
        let other = refused(&both, "/etc/seen:1:5-5: Error: syntax error\nroot:$6$salt$hash:19000");
        assert_eq!((other.code, other.section.as_str()), ("fw4", ""));
        for text in [found.text, other.text, errors(SAID)] {
            assert!(!text.contains("hash") && !text.contains("dnat"), "{text}");
        }
        assert!(errors(SAID).contains("/dev/stdin:109:60-66: Error: syntax error"));
        let one = draft(json!([
            {"config": "firewall", "op": "add", "type": "rule", "id": "a", "values": {}},
        ]));
        assert_eq!(refused(&one, "").section, "a");
    }

    /// Messages of firewall4 b6e5157.
    #[test]
    fn what_it_leaves_out_is_wrong() {
        let one = "[!] Section @rule[2] (x) is restricted to IPv4 but referenced source IP is \
                   IPv6 only, skipping";
        let of = LeftOut::read(one).unwrap();
        assert_eq!((of.section.as_str(), of.name.as_str()), ("@rule[2]", "x"));
        for line in [
            "[!] Section web option 'reflection' is not supported by fw4",
            "[!] Section web is disabled, ignoring section",
            "[!] Section @redirect[0] (Web) does not specify a destination, assuming 'lan'",
            "[!] Skipping invalid entry 'root:$6$salt$hash' in file '/etc/seen', skipping",
            "Ruleset passes nftables check.",
        ] {
            assert_eq!(LeftOut::read(line), None, "{line}");
        }
        for line in [
            "[!] Section web skipped due to invalid options",
            "[!] Section @redirect[0] has no source specified",
            "[!] Section @nat[0] (a) specifies ports but no UDP/TCP protocol, ignoring section",
        ] {
            assert!(LeftOut::read(line).is_some(), "{line}");
        }
        let moved = LeftOut { section: "@rule[1]".to_owned(), ..of.clone() };
        assert_eq!(newly(std::slice::from_ref(&of), &[moved]), None);
        assert_eq!(newly(&[of.clone(), of.clone()], std::slice::from_ref(&of)), Some(&of));

        let draft = draft(json!([
            {"config": "firewall", "op": "add", "type": "rule", "id": "a", "values": {"name": "x"}},
        ]));
        let package = firewall(&draft);
        let place = place(package, package.sections.last().unwrap());
        let found = left_out(&draft, &LeftOut { section: place, ..of });
        assert_eq!((found.code, found.section.as_str()), ("fw4-left-out", "a"));
        let said = found.params["said"].as_str();
        assert!(said.is_some_and(|said| said.starts_with("is restricted to IPv4")), "{said:?}");
        let needed = "section 'x': the firewall (fw4) would leave it out: is restricted to IPv4";
        assert!(found.text.contains(needed), "{}", found.text);
    }

    /// Nothing but files is copied: a folder there, as editors and backups leave behind, must
    /// not switch the examination off, and a pipe must not stop it.
    #[test]
    fn what_is_no_file_is_left_out() {
        let config = std::env::temp_dir().join(format!("change-etc-config-{}", std::process::id()));
        let _ = fs::remove_dir_all(&config);
        fs::create_dir_all(config.join("old")).unwrap();
        fs::write(config.join("system"), "config system\n").unwrap();
        std::os::unix::fs::symlink("nowhere", config.join("gone")).unwrap();
        let folder = Folder::with(&config, &crate::sample::lab());
        fs::remove_dir_all(&config).unwrap();
        let folder = folder.unwrap();
        let mut names: Vec<_> =
            fs::read_dir(&folder.0).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["firewall", "network", "system"]);
    }
}
