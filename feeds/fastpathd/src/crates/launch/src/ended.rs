// SPDX-License-Identifier: GPL-2.0-or-later
//! Describes why a program failed: a signal with its likely cause, a failed allocation, or the
//! program's own message.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// Offset of signal numbers in a shell's exit status.
const SHELL_SIGNAL_BASE: i32 = 128;
/// Signals and likely causes. A shell's exit status with any other number is not a signal.
const SIGNALS: &[(i32, &str, &str)] = &[
    (libc::SIGABRT, "SIGABRT", "it aborted itself, for lack of memory or by a fault of its own"),
    (libc::SIGBUS, "SIGBUS", "it crashed"),
    (libc::SIGFPE, "SIGFPE", "it crashed"),
    (libc::SIGHUP, "SIGHUP", "its session ended"),
    (libc::SIGILL, "SIGILL", "the CPU lacks an instruction that it uses"),
    (libc::SIGINT, "SIGINT", "another program ended it"),
    (libc::SIGKILL, "SIGKILL", "the router ran out of memory, or another program ended it"),
    (libc::SIGPIPE, "SIGPIPE", "nobody reads its output any more"),
    (libc::SIGQUIT, "SIGQUIT", "another program ended it"),
    (libc::SIGSEGV, "SIGSEGV", "it crashed"),
    (libc::SIGSYS, "SIGSYS", "it made a system call that its jail forbids"),
    (libc::SIGTERM, "SIGTERM", "another program ended it"),
    (libc::SIGTRAP, "SIGTRAP", "it crashed"),
    (libc::SIGXCPU, "SIGXCPU", "it reached its limit of CPU time"),
    (libc::SIGXFSZ, "SIGXFSZ", "it reached the limit of a file's size"),
];
const NO_MEMORY: &[&str] = &[
    "cannot allocate memory",
    "out of memory",
    "memory allocation of",
    "failed to allocate",
    "memory allocation failed",
    "memory exhausted",
];
const MAX_LEN: usize = 200;

/// Describes the signal that ended the program, possibly reported by a shell. `None` without one.
#[must_use]
pub fn killed(status: ExitStatus) -> Option<String> {
    let by_shell = || status.code().map(|code| code - SHELL_SIGNAL_BASE);
    let number = status.signal().or_else(by_shell)?;
    match SIGNALS.iter().find(|(known, ..)| *known == number) {
        Some((_, name, cause)) => Some(format!("ended by signal {number} ({name}): {cause}")),
        None => status.signal().map(|number| format!("ended by signal {number}")),
    }
}

/// Describes why a program failed. A signal takes precedence over the output, which seldom has the
/// reason then.
#[must_use]
pub fn ended(status: ExitStatus, said: &str) -> String {
    if let Some(killed) = killed(status) {
        return killed;
    }
    if let Some(line) = no_memory(said) {
        return format!("not enough memory: {line}");
    }
    match said.trim() {
        "" => status.to_string(),
        said => said.to_owned(),
    }
}

/// Returns the line that reports a failed allocation, truncated to 200 characters.
#[must_use]
pub fn no_memory(said: &str) -> Option<String> {
    let reports = |line: &&str| {
        let line = line.to_ascii_lowercase();
        NO_MEMORY.iter().any(|words| line.contains(words))
    };
    let line = said.lines().find(reports)?.trim();
    Some(line.chars().filter(|c| !c.is_control()).take(MAX_LEN).collect())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use proptest::prelude::*;

    use super::*;

    fn status(script: &str) -> ExitStatus {
        Command::new("sh").args(["-c", script]).status().expect("a shell")
    }

    #[test]
    fn reports_a_signal_with_its_likely_cause() {
        for (script, expected) in [
            ("kill -KILL $$", "signal 9 (SIGKILL): the router ran out of memory"),
            ("kill -SEGV $$", "signal 11 (SIGSEGV): it crashed"),
            ("kill -XCPU $$", "signal 24 (SIGXCPU): it reached its limit of CPU time"),
            ("sh -c 'kill -KILL $$'; exit $?", "signal 9 (SIGKILL)"),
            ("kill -USR1 $$", "signal 10"),
        ] {
            let text = ended(status(script), "Loading rules: 100 %");
            assert!(text.contains(expected) && !text.contains("rules"), "{script}: {text}");
        }
    }

    #[test]
    fn reports_the_output_of_a_program_that_exited() {
        assert_eq!(ended(status("exit 3"), " no such table\n"), "no such table");
        assert_eq!(ended(status("exit 3"), "\n"), "exit status: 3");
        assert_eq!(ended(status("exit 255"), "usage"), "usage");
        let said = "reading\nE: util-mem: Cannot allocate memory (12)\nbye";
        let expected = "not enough memory: E: util-mem: Cannot allocate memory (12)";
        assert_eq!(ended(status("exit 1"), said), expected);
    }

    proptest! {
        #[test]
        fn a_signal_takes_precedence_over_output(number in 1i32..32, said: String) {
            let text = ended(ExitStatus::from_raw(number), &said);
            prop_assert!(text.starts_with(&format!("ended by signal {number}")), "{}", text);
        }

        #[test]
        fn an_exit_status_up_to_128_is_not_a_signal(code in 0i32..=128, said: String) {
            prop_assert_eq!(killed(ExitStatus::from_raw(code << 8)), None);
            prop_assert!(!ended(ExitStatus::from_raw(code << 8), &said).is_empty());
        }
    }
}
