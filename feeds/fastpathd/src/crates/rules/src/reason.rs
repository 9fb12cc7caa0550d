// SPDX-License-Identifier: GPL-2.0-or-later
//! Coded reasons why sources or updates fail.

use std::io;
use std::path::Path;

use config::Cause;

use crate::archive::ArchiveError;
use crate::fault::SourceFault;

config::coded! {
    /// Why a source failed. `said` is a message of another program or of the operating system,
    /// `why` a [`SourceFault`].
    pub enum SourceReason {
        NoProgram = "no-download-program",
            "no download program found (curl, uclient-fetch or wget)";
        Unreachable { url: String } = "unreachable",
            "download of {url} failed: the server is unreachable";
        Certificate { url: String } = "certificate",
            "download of {url} failed: the server's certificate is not trusted";
        ServerError { url: String } = "server-error",
            "download of {url} failed: the server answered with an error";
        Refused { url: String, said: String } = "download-failed",
            "download of {url} failed: {said}";
        TooLarge { url: String, limit: u64 } = "too-large",
            "download of {url}: it is larger than {limit} bytes";
        NotStored { url: String, said: String } = "not-stored",
            "download of {url}: it cannot be stored: {said}";
        Start { url: String, program: String, said: String } = "download-start",
            "download of {url}: cannot run {program}: {said}";
        Late { url: String, program: String, seconds: u64 } = "download-late",
            "download of {url}: {program} did not finish within {seconds} s";
        Wait { url: String, program: String, said: String } = "download-wait",
            "download of {url}: cannot wait for {program}: {said}";
        Checksum { url: String, expected: String, found: String } = "checksum",
            "{url}: its SHA-256 is {found}, not {expected}";
        NoChecksum { url: String, file: String } = "no-checksum",
            "{url}: the checksum file has no entry for {file}";
        Key { url: String, said: String } = "public-key",
            "{url}: the key is not a usign public key: {said}";
        Form { url: String, said: String } = "signature-form",
            "{url}: the signature is not a usign signature: {said}";
        OtherKey { url: String, expected: String, found: String } = "other-key",
            "{url}: it is signed with key {found}, not with {expected}";
        Signature { url: String } = "signature", "{url}: the signature does not match";
        Older { found: String, kept: String } = "older",
            "its version {found} is older than {kept}, which was fetched before";
        Unreadable { url: String, said: String } = "unreadable",
            "{url}: it cannot be read back: {said}";
        File { path: String, said: String } = "file", "{path}: {said}";
        Settings { option: String, said: String } = "settings", "{option}: {said}";
        NothingYet = "nothing-yet", "nothing of it has been downloaded yet";
        Unpacked { limit: u64 } = "unpacked", "it unpacks to more than {limit} bytes";
        Entries { limit: u32 } = "entries", "it has more than {limit} entries";
        Entry { name: String, why: String } = "archive-entry", "entry '{name}' {why}";
        Format = "format", "it is neither gzip, tar nor text";
        Truncated = "truncated", "it is truncated";
        TruncatedEntry { name: String } = "truncated-entry", "it is truncated within {name}";
        Damaged { said: String } = "damaged", "it cannot be unpacked: {said}";
        NoneSelected = "none-selected", "none of its rules is selected";
        Passing { number: usize, sid: u32 } = "pass-rules",
            "rules with the action pass: {number}, the first has sid {sid}. Suricata lets \
             through what they match, whatever other rules say";
        NoneUsable { why: String } = "none-usable", "none of its rules is selected: {why}";
        Line { file: String, line: u32, why: String } = "rule-line",
            "{file} line {line}: {why}";
        Rule { file: String, line: u32, said: String } = "rule", "{file} line {line}: {said}";
        Rules { file: String, line: u32, said: String, more: usize } = "rules",
            "{file} line {line}: {said} (and {more} more)";
    }
}

config::coded! {
    /// Step of an update, or the reason why it failed. `said` is a message of another program or of
    /// the operating system.
    pub enum UpdateReason {
        Download { source: String } = "download", "downloading {source}";
        Unpack { source: String } = "unpack", "unpacking {source}";
        Test = "test", "Suricata is testing the rules";
        Swap = "swap", "replacing the rules in force";
        // Reports of the sources, each with its name.
        Sources { said: String } = "sources", "{said}";
        NoRules { said: String } = "no-rules", "no source has rules that can be used: {said}";
        NothingUsable = "nothing-usable", "no source has rules that can be used";
        TestFailed { said: String } = "test-failed", "Suricata's test failed: {said}";
        TestStart { program: String, said: String } = "test-start",
            "Suricata's test: cannot run {program}: {said}";
        TestLate { program: String, seconds: u64 } = "test-late",
            "Suricata's test: {program} did not finish within {seconds} s";
        TestWait { program: String, said: String } = "test-wait",
            "Suricata's test: cannot wait for {program}: {said}";
        Busy = "busy", "another update is running";
        Store { what: &'static str, path: String, said: String } = "store",
            "cannot {what} {path}: {said}";
        NoPrevious = "no-previous", "there is no previous rule set";
        Restored = "restored", "the previous rule set was restored manually";
        Request { said: String } = "request", "{said}";
        // Reasons of fastpathd.
        Updater { what: &'static str, program: &'static str, said: String } = "updater",
            "{what} {program}: {said}";
        NoResult { program: &'static str, status: String } = "no-result",
            "{program} ended without a result ({status})";
        State { said: String } = "state", "{said}";
    }
}

impl UpdateReason {
    /// Returns the reason for a step; `None` if its name is unknown.
    #[must_use]
    pub fn of_step(source: &str, step: &str) -> Option<Self> {
        let source = source.to_owned();
        match step {
            "download" => Some(Self::Download { source }),
            "unpack" => Some(Self::Unpack { source }),
            "test" => Some(Self::Test),
            "swap" => Some(Self::Swap),
            _ => None,
        }
    }
}

impl SourceReason {
    pub(crate) fn of_file(path: &Path, error: &io::Error) -> Self {
        Self::File { path: path.display().to_string(), said: error.to_string() }
    }
}

impl From<&ArchiveError> for Cause {
    fn from(error: &ArchiveError) -> Self {
        let around =
            |reason: SourceReason, fault: &SourceFault| reason.cause().around(fault.cause());
        match error {
            ArchiveError::TooLarge { limit } => SourceReason::Unpacked { limit: *limit }.into(),
            ArchiveError::TooMany { limit } => SourceReason::Entries { limit: *limit }.into(),
            ArchiveError::Entry { name, fault } => {
                let (name, why) = (name.clone(), fault.to_string());
                around(SourceReason::Entry { name, why }, fault)
            }
            ArchiveError::Format => SourceReason::Format.into(),
            ArchiveError::Truncated { within } if within.is_empty() => {
                SourceReason::Truncated.into()
            }
            ArchiveError::Truncated { within } => {
                SourceReason::TruncatedEntry { name: within.clone() }.into()
            }
            ArchiveError::Damaged(error) => {
                SourceReason::Damaged { said: error.to_string() }.into()
            }
            ArchiveError::Line { file, line, fault } => {
                let (file, line, why) = (file.clone(), *line, fault.to_string());
                around(SourceReason::Line { file, line, why }, fault)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use serde_json::json;

    use super::*;

    #[test]
    fn reasons_have_the_text_of_the_error() {
        let io = || io::Error::from_raw_os_error(28);
        for error in [
            ArchiveError::TooLarge { limit: 7 },
            ArchiveError::TooMany { limit: 7 },
            ArchiveError::Entry { name: "x".into(), fault: SourceFault::Absolute },
            ArchiveError::Format,
            ArchiveError::Truncated { within: String::new() },
            ArchiveError::Truncated { within: "x".into() },
            ArchiveError::Damaged(io()),
            ArchiveError::Line { file: "x".into(), line: 7, fault: SourceFault::NoSid },
        ] {
            assert_eq!(Cause::from(&error).text, error.to_string());
        }
        let fault = SourceFault::Twice { option: "sid" };
        let cause = Cause::from(&ArchiveError::Line { file: "x".into(), line: 7, fault });
        let params = json!({"file": "x", "line": "7", "option": "sid", "inner": "twice"});
        assert_eq!((cause.code, json!(cause.params)), ("rule-line", params));
    }

    #[test]
    fn each_step_of_an_update_has_a_reason() {
        for step in ["download", "unpack", "test", "swap"] {
            assert_eq!(UpdateReason::of_step("et", step).map(|reason| reason.code()), Some(step));
        }
        assert_eq!(UpdateReason::of_step("et", "rest"), None);
    }
}
