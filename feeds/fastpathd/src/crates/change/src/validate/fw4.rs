// SPDX-License-Identifier: GPL-2.0-or-later
//! What fw4 would make of a change is tried on the kernel before: `fw4 check`, which applies
//! nothing.
//!
//! It runs as root and quotes what it reads: its output is logged in part and never answered.

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use plugin::Map;
use plugin::process::{self, Limits, RunError};

use crate::diff::label;
use crate::draft::Draft;
use crate::package::{Package, Packages, Section};
use crate::problem::Problem;
use crate::write::text;

const PROGRAM: &str = "/sbin/fw4";
/// What fw4 reads; the program cannot be told of another folder.
const CONFIG: &str = "/etc/config";
/// It is asked twice at most, within rpcd's 30 s.
const LIMITS: Limits = Limits::short(10);
/// Errors that are logged, and bytes of each.
const MOST_ERRORS: usize = 3;
const LONGEST_ERROR: usize = 160;
/// fw4 marks what it makes of a section that has a name with it.
const MARK: &str = "!fw4: ";

/// fw4's program; none where it is not installed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Firewall(pub(crate) Option<PathBuf>);

/// What it says of a configuration.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Takes,
    /// With its words.
    Refuses(String),
    /// It could not be started, or not be waited for.
    Silent(String),
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
        let words = match &after {
            Verdict::Takes => return None,
            Verdict::Refuses(words) | Verdict::Silent(words) => words,
        };
        let before = verdict(program, &draft.before);
        let about = match (&after, &before) {
            (Verdict::Silent(_), Verdict::Refuses(_) | Verdict::Silent(_)) => "could not be asked",
            (_, Verdict::Takes) => "refused a change",
            _ => "refuses the present configuration, so changes are not checked with it",
        };
        crate::log::say(&format!("{} {about}: {}", program.display(), errors(words)));
        (before == Verdict::Takes).then(|| problem(draft, words))
    }
}

fn verdict(program: &Path, packages: &Packages) -> Verdict {
    let asked = || -> Result<std::process::Output, RunError> {
        let folder = Folder::with(Path::new(CONFIG), packages)?;
        let mut command = Command::new(program);
        over_config(command.arg("check"), &folder.0)?;
        process::run(&mut command, b"", LIMITS)
    };
    match asked() {
        Ok(output) if output.status.success() => Verdict::Takes,
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

fn problem(draft: &Draft, words: &str) -> Problem {
    let culprit = culprit(draft, words);
    let none = Package::default();
    let package = draft.after.get("firewall").unwrap_or(&none);
    let text = match culprit {
        Some(section) => format!(
            "firewall, section '{}': the firewall (fw4) cannot make a rule of it",
            label(package, section).escape_debug()
        ),
        None => "firewall: the firewall (fw4) would not take these settings; the router's log has \
                 its error"
            .to_owned(),
    };
    Problem {
        config: "firewall".to_owned(),
        section: culprit.map(|section| section.name.clone()).unwrap_or_default(),
        option: String::new(),
        code: "fw4",
        params: Map::new(),
        text,
    }
}

/// The changed section that the words are about: the only one, or the one whose mark they quote.
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
        let found = problem(&both, SAID);
        assert_eq!((found.code, found.section.as_str()), ("fw4", "b"));
        assert!(found.text.contains("'Web'"), "{}", found.text);
        let other = problem(&both, "/etc/seen:1:5-5: Error: syntax error\nroot:$6$salt$hash:19000");
        assert_eq!(other.section, "");
        for text in [found.text, other.text, errors(SAID)] {
            assert!(!text.contains("hash") && !text.contains("dnat"), "{text}");
        }
        assert!(errors(SAID).contains("/dev/stdin:109:60-66: Error: syntax error"));
        let one = draft(json!([
            {"config": "firewall", "op": "add", "type": "rule", "id": "a", "values": {}},
        ]));
        assert_eq!(problem(&one, "").section, "a");
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
