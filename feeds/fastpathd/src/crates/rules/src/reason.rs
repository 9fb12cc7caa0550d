// SPDX-License-Identifier: GPL-2.0-or-later
//! The faults of sources and of an update as reasons with a code.

use crate::acquire::AcquireError;
use crate::archive::ArchiveError;
use crate::fetch::{DownloadFailure, FetchError, TakeError};
use crate::process::RunError;
use crate::store::RuleStoreError;
use crate::trial::TrialError;
use crate::verify::VerifyError;

config::coded! {
    /// Why a source is not used, or not as it is now. `said` is of another program or the
    /// operating system.
    pub enum SourceReason {
        NoProgram = "no-download-program",
            "no download program found (uclient-fetch, curl or wget)";
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
        Entry { name: String, said: String } = "entry", "entry '{name}' {said}";
        Format = "format", "it is neither gzip, tar nor text";
        Truncated = "truncated", "it is truncated";
        TruncatedEntry { name: String } = "truncated-entry", "it is truncated within {name}";
        Damaged { said: String } = "damaged", "it cannot be unpacked: {said}";
        NoneSelected = "none-selected", "none of its rules is selected";
        NoneSelectedNote { note: String } = "none-selected-note",
            "none of its rules is selected: {note}";
        Rule { file: String, line: u32, said: String } = "rule", "{file} line {line}: {said}";
        Rules { file: String, line: u32, said: String, more: usize } = "rules",
            "{file} line {line}: {said} (and {more} more)";
    }
}

config::coded! {
    /// The step of an update, or why there are no new rules. `said` is of another program or the
    /// operating system.
    pub enum UpdateReason {
        Download { source: String } = "download", "downloading {source}";
        Unpack { source: String } = "unpack", "unpacking {source}";
        Test = "test", "Suricata is testing the rules";
        Swap = "swap", "replacing the rules in force";
        // The reports of the sources, each with its name.
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
        // Of fastpathd.
        Updater { what: &'static str, program: &'static str, said: String } = "updater",
            "{what} {program}: {said}";
        NoResult { program: &'static str, status: String } = "no-result",
            "{program} ended without a result ({status})";
        State { said: String } = "state", "{said}";
    }
}

impl UpdateReason {
    /// A step by its name; none if it is unknown.
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

impl From<&AcquireError> for SourceReason {
    fn from(error: &AcquireError) -> Self {
        match error {
            AcquireError::Fetch(error) => error.into(),
            AcquireError::Verify { url, cause } => distrusted(url.clone(), cause),
            AcquireError::Store { path, cause } => {
                Self::File { path: path.display().to_string(), said: cause.to_string() }
            }
            AcquireError::Settings(option, fault) => {
                Self::Settings { option: (*option).to_owned(), said: fault.to_string() }
            }
            AcquireError::NothingYet => Self::NothingYet,
        }
    }
}

impl From<&FetchError> for SourceReason {
    fn from(error: &FetchError) -> Self {
        match error {
            FetchError::NoProgram => Self::NoProgram,
            FetchError::Run { url, cause } => not_run(url.clone(), cause),
            FetchError::Refused { url, why } => {
                let url = url.clone();
                match why {
                    DownloadFailure::Unreachable => Self::Unreachable { url },
                    DownloadFailure::Certificate => Self::Certificate { url },
                    DownloadFailure::ServerError => Self::ServerError { url },
                    DownloadFailure::Said(said) => Self::Refused { url, said: said.clone() },
                }
            }
        }
    }
}

fn not_run(url: String, error: &RunError<TakeError>) -> SourceReason {
    match error {
        RunError::Start { program, cause } => {
            SourceReason::Start { url, program: program.clone(), said: cause.to_string() }
        }
        RunError::Late { program, seconds } => {
            SourceReason::Late { url, program: program.clone(), seconds: *seconds }
        }
        RunError::Wait { program, cause } => {
            SourceReason::Wait { url, program: program.clone(), said: cause.to_string() }
        }
        RunError::Taker(TakeError::TooLarge { limit }) => {
            SourceReason::TooLarge { url, limit: *limit }
        }
        RunError::Taker(TakeError::Store(error)) => {
            SourceReason::NotStored { url, said: error.to_string() }
        }
    }
}

fn distrusted(url: String, error: &VerifyError) -> SourceReason {
    match error {
        VerifyError::Checksum { expected, found } => {
            SourceReason::Checksum { url, expected: expected.clone(), found: found.clone() }
        }
        VerifyError::NoChecksum(file) => SourceReason::NoChecksum { url, file: file.clone() },
        VerifyError::Key(said) => SourceReason::Key { url, said: (*said).to_owned() },
        VerifyError::Form(said) => SourceReason::Form { url, said: (*said).to_owned() },
        VerifyError::OtherKey { expected, found } => {
            SourceReason::OtherKey { url, expected: expected.clone(), found: found.clone() }
        }
        VerifyError::Signature => SourceReason::Signature { url },
        VerifyError::Read(error) => SourceReason::Unreadable { url, said: error.to_string() },
    }
}

impl From<&ArchiveError> for SourceReason {
    fn from(error: &ArchiveError) -> Self {
        match error {
            ArchiveError::TooLarge { limit } => Self::Unpacked { limit: *limit },
            ArchiveError::TooMany { limit } => Self::Entries { limit: *limit },
            ArchiveError::Name { name, why } => {
                Self::Entry { name: name.clone(), said: (*why).to_owned() }
            }
            ArchiveError::Kind { name, kind } => {
                let said = format!("is {kind}, which a rule set does not have");
                Self::Entry { name: name.clone(), said }
            }
            ArchiveError::Format => Self::Format,
            ArchiveError::Truncated { within } if within.is_empty() => Self::Truncated,
            ArchiveError::Truncated { within } => Self::TruncatedEntry { name: within.clone() },
            ArchiveError::Damaged(error) => Self::Damaged { said: error.to_string() },
            ArchiveError::Line { file, line, what } => {
                Self::Rule { file: file.clone(), line: *line, said: what.clone() }
            }
        }
    }
}

impl From<&RuleStoreError> for UpdateReason {
    fn from(error: &RuleStoreError) -> Self {
        match error {
            RuleStoreError::Busy => Self::Busy,
            RuleStoreError::Io { what, path, cause } => {
                Self::Store { what, path: path.display().to_string(), said: cause.to_string() }
            }
            RuleStoreError::NoPrevious => Self::NoPrevious,
        }
    }
}

impl From<&RunError<std::convert::Infallible>> for UpdateReason {
    fn from(error: &RunError<std::convert::Infallible>) -> Self {
        match error {
            RunError::Start { program, cause } => {
                Self::TestStart { program: program.clone(), said: cause.to_string() }
            }
            RunError::Late { program, seconds } => {
                Self::TestLate { program: program.clone(), seconds: *seconds }
            }
            RunError::Wait { program, cause } => {
                Self::TestWait { program: program.clone(), said: cause.to_string() }
            }
            RunError::Taker(never) => match *never {},
        }
    }
}

impl From<&TrialError> for UpdateReason {
    fn from(error: &TrialError) -> Self {
        match error {
            TrialError::Rules(_) => Self::TestFailed { said: error.to_string() },
            TrialError::Other(said) => Self::TestFailed { said: said.clone() },
            TrialError::Run(error) => error.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    fn refused(why: DownloadFailure) -> AcquireError {
        FetchError::Refused { url: "https://h.example/x".into(), why }.into()
    }

    fn distrust(cause: VerifyError) -> AcquireError {
        AcquireError::Verify { url: "https://h.example/x".into(), cause }
    }

    #[test]
    fn a_reason_has_the_text_of_its_error() {
        let io = || io::Error::from_raw_os_error(28);
        let run = |cause| AcquireError::Fetch(FetchError::Run { url: "u".into(), cause });
        let (program, seconds) = ("curl".to_owned(), 7);
        for (error, code) in [
            (FetchError::NoProgram.into(), "no-download-program"),
            (refused(DownloadFailure::Unreachable), "unreachable"),
            (refused(DownloadFailure::Certificate), "certificate"),
            (refused(DownloadFailure::ServerError), "server-error"),
            (refused(DownloadFailure::Said("404".into())), "download-failed"),
            (run(RunError::Taker(TakeError::TooLarge { limit: 7 })), "too-large"),
            (run(RunError::Taker(TakeError::Store(io()))), "not-stored"),
            (run(RunError::Start { program: program.clone(), cause: io() }), "download-start"),
            (run(RunError::Late { program: program.clone(), seconds }), "download-late"),
            (run(RunError::Wait { program, cause: io() }), "download-wait"),
            (distrust(VerifyError::NoChecksum("x".into())), "no-checksum"),
            (distrust(VerifyError::Key("it is empty")), "public-key"),
            (distrust(VerifyError::Form("it is empty")), "signature-form"),
            (distrust(VerifyError::Signature), "signature"),
            (distrust(VerifyError::Read(io())), "unreadable"),
            (AcquireError::Store { path: "/x".into(), cause: io() }, "file"),
            (AcquireError::NothingYet, "nothing-yet"),
        ] {
            let cause = SourceReason::from(&error).cause();
            assert_eq!((cause.code, cause.text), (code, error.to_string()));
        }
        let (expected, found) = ("a".to_owned(), "b".to_owned());
        for error in [
            distrust(VerifyError::Checksum { expected: expected.clone(), found: found.clone() }),
            distrust(VerifyError::OtherKey { expected, found }),
        ] {
            assert_eq!(SourceReason::from(&error).to_string(), error.to_string());
        }
        for error in [
            ArchiveError::TooLarge { limit: 7 },
            ArchiveError::TooMany { limit: 7 },
            ArchiveError::Name { name: "x".into(), why: "is absolute" },
            ArchiveError::Kind { name: "x".into(), kind: "a link" },
            ArchiveError::Format,
            ArchiveError::Truncated { within: String::new() },
            ArchiveError::Truncated { within: "x".into() },
            ArchiveError::Damaged(io()),
            ArchiveError::Line { file: "x".into(), line: 7, what: "wrong".into() },
        ] {
            assert_eq!(SourceReason::from(&error).to_string(), error.to_string());
        }
    }

    #[test]
    fn so_has_that_of_an_update() {
        let io = || io::Error::from_raw_os_error(28);
        for error in [
            RuleStoreError::Busy,
            RuleStoreError::Io { what: "open", path: "/x".into(), cause: io() },
            RuleStoreError::NoPrevious,
        ] {
            assert_eq!(UpdateReason::from(&error).to_string(), error.to_string());
        }
        let (program, seconds) = ("suricata".to_owned(), 7);
        for error in [
            TrialError::Other("no".into()),
            TrialError::Run(RunError::Start { program: program.clone(), cause: io() }),
            TrialError::Run(RunError::Late { program: program.clone(), seconds }),
            TrialError::Run(RunError::Wait { program, cause: io() }),
        ] {
            assert_eq!(UpdateReason::from(&error).to_string(), error.to_string());
        }
        for step in ["download", "unpack", "test", "swap"] {
            assert_eq!(UpdateReason::of_step("et", step).map(|reason| reason.code()), Some(step));
        }
        assert_eq!(UpdateReason::of_step("et", "rest"), None);
    }
}
