// SPDX-License-Identifier: GPL-2.0-or-later
//! Checks a draft with `fw4 check`, which applies nothing, in a separate mount namespace.
//!
//! Messages of fw4 quote files that only root may read. The log has only their errors, and answers
//! have our own texts with section and option.
#![expect(
    unsafe_code,
    reason = "the program gets a mount namespace of its own between fork and exec"
)]

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use plugin::process::{self, Limits, RunError};

use super::messages::{Cause, LeftOut, Refused};
use crate::diff::{label, place};
use crate::draft::Draft;
use crate::problem::Problem;
use ::uci::text;
use ::uci::{Package, Packages, Section};

const PROGRAM: &str = "/sbin/fw4";
/// Folder that fw4 reads. fw4 has no option for another folder.
const CONFIG: &str = "/etc/config";
/// Prefix of the name of a copied configuration folder, before the process id.
const FOLDER: &str = "fastpath.fw4.";
/// Limits of the checks of the changed and the current configuration. rpcd ends a call after 30 s.
const CHANGED_LIMITS: Limits = Limits::short(14);
const CURRENT_LIMITS: Limits = Limits::short(10);
/// Maximum number of logged errors, and maximum characters of an error.
const MAX_ERRORS: usize = 3;
const MAX_ERROR_LEN: usize = 160;
config::coded! {
    /// Reason why fw4 does not accept a change. `label` is the name or place of the section.
    enum FirewallFault {
        Refused = "fw4",
            "firewall: the firewall (fw4) would not take these settings; the router's log has its \
             error";
        Silent = "fw4-silent",
            "firewall: the firewall (fw4) could not check these settings; the router's log has the \
             reason";
        NoRule { label: String } = "fw4-no-rule",
            "firewall, section '{label}': the firewall (fw4) cannot make a rule of it";
        Option { label: String } = "fw4-option",
            "firewall, section '{label}': the firewall (fw4) would leave it out, because it does \
             not accept one of its options";
        Families { label: String } = "fw4-families",
            "firewall, section '{label}': the firewall (fw4) would leave it out, because it mixes \
             IPv4 and IPv6";
        Ports { label: String } = "fw4-ports",
            "firewall, section '{label}': the firewall (fw4) would leave it out, because it has \
             ports but neither TCP nor UDP";
        Set { label: String } = "fw4-set",
            "firewall, section '{label}': the firewall (fw4) would leave it out, because it names \
             a set that does not exist";
        LeftOut { label: String } = "fw4-left-out",
            "firewall, section '{label}': the firewall (fw4) would leave it out; the router's log \
             has the reason";
    }
}

/// Path of fw4. `None` if fw4 is not installed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Firewall(pub(crate) Option<PathBuf>);

/// Result of a check.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Takes(Vec<LeftOut>),
    /// Refused, with fw4's messages.
    Refuses(String),
    /// The program could not be started, or did not run to its end.
    Silent(String),
}

impl Firewall {
    pub(super) fn installed() -> Self {
        Self(Some(PathBuf::from(PROGRAM)).filter(|path| path.exists()))
    }

    /// Returns a problem if fw4 refuses or skips more of the changed configuration than of the
    /// current one, or if a check has no result.
    pub(super) fn judge(&self, draft: &Draft) -> Option<Problem> {
        let program = self.0.as_ref()?;
        let touched = draft.touched();
        if !touched.iter().any(|config| matches!(*config, "firewall" | "network")) {
            return None;
        }
        let after = verdict(program, &draft.after, CHANGED_LIMITS);
        let (text, problem) = match &after {
            Verdict::Takes(of) if of.is_empty() => return None,
            Verdict::Silent(_) => compare(draft, &after, &after),
            Verdict::Takes(_) | Verdict::Refuses(_) => {
                compare(draft, &after, &verdict(program, &draft.before, CURRENT_LIMITS))
            }
        }?;
        crate::log::say(&format!("{} {text}", program.display()));
        problem
    }
}

/// Compares the results before and after a change. Returns a text for the log, and the problem.
fn compare(draft: &Draft, after: &Verdict, before: &Verdict) -> Option<(String, Option<Problem>)> {
    let silent = || Some(problem("", "", &FirewallFault::Silent));
    Some(match (after, before) {
        (Verdict::Silent(words), _) => (format!("could not be asked: {}", errors(words)), silent()),
        // Without a result for the current configuration, the change may be the cause.
        (Verdict::Takes(_) | Verdict::Refuses(_), Verdict::Silent(words)) => {
            let words = errors(words);
            (format!("could not be asked about the present configuration: {words}"), silent())
        }
        (Verdict::Takes(of), Verdict::Takes(known)) => {
            let new = newly_skipped(of, known)?;
            (format!("leaves a section out: {}", new.reason), Some(left_out(draft, new)))
        }
        (Verdict::Takes(_), Verdict::Refuses(_)) => return None,
        (Verdict::Refuses(words), Verdict::Takes(_)) => {
            (format!("refused a change: {}", errors(words)), Some(refused(draft, words)))
        }
        (Verdict::Refuses(words), Verdict::Refuses(_)) => {
            let about = "refuses the present configuration, so changes are not checked with it";
            (format!("{about}: {}", errors(words)), None)
        }
    })
}

/// Returns the first section that fw4 skips only after the change.
fn newly_skipped<'a>(after: &'a [LeftOut], before: &[LeftOut]) -> Option<&'a LeftOut> {
    let same = |of: &LeftOut, list: &[LeftOut]| list.iter().filter(|one| one.is_as(of)).count();
    after.iter().find(|of| same(of, after) > same(of, before))
}

fn verdict(program: &Path, packages: &Packages, limits: Limits) -> Verdict {
    let asked = || -> Result<std::process::Output, RunError> {
        let folder = Folder::with(&std::env::temp_dir(), Path::new(CONFIG), packages)?;
        let mut command = Command::new(program);
        mount_over_config(command.arg("check"), &folder.0)?;
        process::run(&mut command, b"", limits)
    };
    match asked() {
        Ok(output) if output.status.success() => {
            Verdict::Takes(LeftOut::all(&String::from_utf8_lossy(&output.stderr)))
        }
        Ok(output) => {
            // The output of a killed process is incomplete.
            if let Some(how) = process::killed(output.status) {
                return Verdict::Silent(format!(" Error: {how}"));
            }
            let said = [output.stderr, output.stdout].concat();
            Verdict::Refuses(String::from_utf8_lossy(&said).into_owned())
        }
        Err(error) => Verdict::Silent(format!(" Error: {error}")),
    }
}

/// Returns the lines with errors. Omits lines that quote the input.
fn errors(words: &str) -> String {
    let mut errors = Vec::new();
    for line in words.lines().filter(|line| line.contains(" Error: ")).take(MAX_ERRORS) {
        let line: String = line.chars().filter(|c| !c.is_control()).take(MAX_ERROR_LEN).collect();
        errors.push(line.trim().to_owned());
    }
    if errors.is_empty() { "it printed no error".to_owned() } else { errors.join("; ") }
}

fn refused(draft: &Draft, words: &str) -> Problem {
    let errors = Refused::all(words);
    let Some(section) = culprit(draft, &errors) else {
        return problem("", "", &FirewallFault::Refused);
    };
    let label = label(firewall(draft), section).escape_debug().to_string();
    // Use the first error if no error names the section.
    let own = errors.iter().find(|error| error.is_of(section)).or(errors.first());
    let option = own.and_then(|error| error.option(section)).unwrap_or_default();
    problem(&section.name, &option, &FirewallFault::NoRule { label })
}

fn left_out(draft: &Draft, of: &LeftOut) -> Problem {
    let package = firewall(draft);
    let section = package.sections.iter().find(|section| place(package, section) == of.section);
    let label = section.map_or_else(|| of.section.clone(), |section| label(package, section));
    let label = label.escape_debug().to_string();
    let fault = match of.cause() {
        Cause::Option => FirewallFault::Option { label },
        Cause::Families => FirewallFault::Families { label },
        Cause::Ports => FirewallFault::Ports { label },
        Cause::Set => FirewallFault::Set { label },
        Cause::Other => FirewallFault::LeftOut { label },
    };
    problem(section.map_or("", |section| &section.name), &of.option, &fault)
}

fn firewall(draft: &Draft) -> &Package {
    static NONE: Package = Package { sections: Vec::new() };
    draft.after.get("firewall").unwrap_or(&NONE)
}

fn problem(section: &str, option: &str, fault: &FirewallFault) -> Problem {
    Problem {
        config: "firewall".to_owned(),
        section: section.to_owned(),
        option: option.to_owned(),
        code: fault.code(),
        params: fault.params(),
        text: fault.to_string(),
    }
}

/// Returns the section that caused the errors: the only changed section, or a section that an error
/// names.
fn culprit<'a>(draft: &'a Draft, errors: &[Refused<'_>]) -> Option<&'a Section> {
    let changed = draft.changed();
    let mut sections = Vec::new();
    for pair in changed.iter().filter(|pair| pair.config == "firewall") {
        sections.extend(pair.after);
    }
    if let ([section], 1) = (&sections[..], changed.len()) {
        return Some(section);
    }
    let mut found = errors.iter().filter_map(|error| sections.iter().find(|of| error.is_of(of)));
    found.next().copied()
}

/// A copy of the configuration folder with packages of a draft, removed on drop.
struct Folder(PathBuf);

impl Folder {
    fn with(temporary: &Path, config: &Path, packages: &Packages) -> io::Result<Self> {
        remove_leftovers(temporary);
        let path = temporary.join(format!("{FOLDER}{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::DirBuilder::new().mode(0o700).create(&path)?;
        let folder = Self(path);
        for entry in fs::read_dir(config)?.flatten() {
            copy_file(&entry.path(), &folder.0.join(entry.file_name()))?;
        }
        for (name, package) in packages {
            fs::write(folder.0.join(name), text(package))?;
        }
        Ok(folder)
    }
}

/// Copies a regular file, and skips other kinds of files. Also skips a missing file, which may have
/// been a temporary file of uci.
fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    let opened = fs::File::options().read(true).custom_flags(libc::O_NONBLOCK).open(from);
    let mut file = match opened {
        Ok(file) => file,
        Err(error) if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ENXIO)) => {
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    if file.metadata()?.is_file() {
        io::copy(&mut file, &mut fs::File::create(to)?)?;
    }
    Ok(())
}

/// Removes the copies of killed checks, because they contain secrets.
fn remove_leftovers(temporary: &Path) {
    for entry in fs::read_dir(temporary).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| name.strip_prefix(FOLDER)?.parse::<u32>().ok());
        if pid.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Mounts the folder over `/etc/config` in a mount namespace of the command.
fn mount_over_config(command: &mut Command, folder: &Path) -> io::Result<()> {
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
    // SAFETY: between fork and exec, `isolate` makes three system calls and takes no lock.
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
    fn problems_and_log_do_not_quote_files() {
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

    #[test]
    fn an_unchecked_change_is_refused() {
        let none = Firewall(Some(PathBuf::from("/no/such/fw4")));
        let rule = json!([
            {"config": "firewall", "op": "add", "type": "rule", "id": "a", "values": {"name": "A"}},
        ]);
        let found = none.judge(&draft(rule)).map(|problem| (problem.code, problem.text));
        let (code, text) = found.expect("a problem");
        assert_eq!(code, "fw4-silent");
        assert!(text.contains("could not check") && !text.contains("such"), "{text}");
    }

    #[test]
    fn a_change_is_refused_if_either_check_has_no_result() {
        let draft = draft(json!([
            {"config": "firewall", "op": "add", "type": "rule", "id": "a", "values": {"name": "A"}},
        ]));
        let left = LeftOut::all("[!] Section @rule[0] (x) has no quoted, for a new reason");
        let refuses = || Verdict::Refuses("/dev/stdin:1:1-2: Error: syntax error".to_owned());
        let silent = || Verdict::Silent(" Error: it did not finish within 20 s".to_owned());
        let code = |after: Verdict, before: Verdict| {
            compare(&draft, &after, &before).map(|(_, problem)| problem.map(|one| one.code))
        };
        let known = || Verdict::Takes(left.clone());
        let cases = [
            (code(silent(), silent()), Some(Some("fw4-silent"))),
            (code(refuses(), silent()), Some(Some("fw4-silent"))),
            (code(known(), silent()), Some(Some("fw4-silent"))),
            (code(refuses(), known()), Some(Some("fw4-no-rule"))),
            (code(refuses(), refuses()), Some(None)),
            (code(known(), refuses()), None),
            (code(known(), known()), None),
        ];
        for (number, (found, expected)) in cases.into_iter().enumerate() {
            assert_eq!(found, expected, "case {number}");
        }
    }

    #[test]
    fn answers_do_not_quote_warnings_of_fw4() {
        let said = "[!] Section PLACE (x) is restricted to IPv4 but referenced source IP is \
                    IPv6 only, skipping";
        let draft = draft(json!([
            {"config": "firewall", "op": "add", "type": "rule", "id": "a", "values": {"name": "x"}},
        ]));
        let package = firewall(&draft);
        let place = place(package, package.sections.last().unwrap());
        let found = |said: &str| left_out(&draft, &LeftOut::all(&said.replace("PLACE", &place))[0]);
        let families = found(said);
        assert_eq!((families.code, families.section.as_str()), ("fw4-families", "a"));
        let option = found(
            "[!] Section PLACE (x) option 'limit' specifies invalid value 'quoted'\n\
             [!] Section PLACE (x) skipped due to invalid options",
        );
        assert_eq!((option.code, option.option.as_str()), ("fw4-option", "limit"));
        let other = found("[!] Section PLACE (x) has no quoted, for a new reason");
        assert_eq!((other.code, other.option.as_str()), ("fw4-left-out", ""));
        for problem in [families, option, other] {
            let shown = format!("{} {:?}", problem.text, problem.params);
            assert!(!shown.contains("quoted") && !shown.contains("restricted"), "{shown}");
            assert!(shown.contains("section 'x': the firewall (fw4) would leave it out"));
        }
        let of = LeftOut::all(said).remove(0);
        assert_eq!(newly_skipped(std::slice::from_ref(&of), std::slice::from_ref(&of)), None);
        assert_eq!(newly_skipped(&[of.clone(), of.clone()], std::slice::from_ref(&of)), Some(&of));
    }

    // An included file may contain lines that look like the output of fw4.
    #[test]
    fn quoted_lines_of_a_file_are_not_attributed_to_a_section() {
        let both = draft(json!([
            {"config": "firewall", "op": "add", "type": "rule", "id": "a", "values": {"name": "A"}},
            {"config": "firewall", "op": "add", "type": "rule", "id": "b",
                "values": {"name": "Web"}},
        ]));
        let said = "/etc/seen:1:5-5: Error: syntax error\nkey comment \"!fw4: Web\"\n";
        let found = refused(&both, said);
        assert_eq!((found.code, found.section.as_str()), ("fw4", ""));
        let said = "/dev/stdin:7:7-11: Error: Service out of range\n\
            dport 99999 comment \"!fw4: Web\"\n";
        let one = draft(json!([
            {"config": "firewall", "op": "add", "type": "rule", "id": "b",
                "values": {"name": "Web", "dest_port": "99999"}},
        ]));
        let found = refused(&one, said);
        assert_eq!((found.section.as_str(), found.option.as_str()), ("b", "dest_port"));
    }

    #[test]
    fn copies_only_regular_files() {
        let (temporary, config) = folders("change-etc-config");
        fs::create_dir_all(config.join("old")).unwrap();
        fs::write(config.join("system"), "config system\n").unwrap();
        std::os::unix::fs::symlink("nowhere", config.join("gone")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(config.join("socket")).unwrap();
        assert!(Command::new("mkfifo").arg(config.join("pipe")).status().unwrap().success());
        let folder = Folder::with(&temporary, &config, &crate::sample::lab()).unwrap();
        let mut names: Vec<_> =
            fs::read_dir(&folder.0).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["firewall", "network", "system"]);
        drop(folder);
        fs::remove_dir_all(&temporary).unwrap();
    }

    // A file may be renamed after its folder was read.
    #[test]
    fn skips_a_file_that_disappeared() {
        let (temporary, config) = folders("change-gone");
        let copy = temporary.join("copy");
        copy_file(&config.join(".network.uci-1"), &copy).unwrap();
        assert!(!copy.exists());
        fs::remove_dir_all(&temporary).unwrap();
    }

    fn folders(name: &str) -> (PathBuf, PathBuf) {
        let temporary = std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&temporary);
        let config = temporary.join("config");
        fs::create_dir_all(&config).unwrap();
        (temporary, config)
    }

    #[test]
    fn removes_the_copies_of_killed_checks() {
        let folder = std::env::temp_dir().join(format!("change-leftovers-{}", std::process::id()));
        // Above the kernel's maximum process id.
        let names = ["fastpath.fw4.4194305", "fastpath.fw4.x", "other.4194305"];
        let mine = format!("fastpath.fw4.{}", std::process::id());
        for name in names.into_iter().chain([&*mine]) {
            fs::create_dir_all(folder.join(name)).unwrap();
            fs::write(folder.join(name).join("network"), "").unwrap();
        }
        remove_leftovers(&folder);
        let left = [names[0], names[1], names[2], &mine].map(|name| folder.join(name).exists());
        assert_eq!(left, [false, true, true, true]);
        fs::remove_dir_all(&folder).unwrap();
    }
}
