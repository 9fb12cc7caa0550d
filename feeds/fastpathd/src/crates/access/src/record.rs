// SPDX-License-Identifier: GPL-2.0-or-later
//! The record of failed logins, shared by all processes under a file lock. Its times are those of
//! `/proc/uptime`.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use plugin::CallReason;

use crate::throttle::LoginThrottle;

/// A file in memory, in a folder where only root can create files.
const FILE: &str = "/var/run/fastpath-access.json";
/// Read limit in bytes. A record has up to 64 names, and 16 browsers of 100 bytes per account.
const MAX_FILE_LEN: u64 = 1024 * 1024;

#[derive(Debug)]
pub struct RecordError {
    attempt: &'static str,
    path: PathBuf,
    cause: std::io::Error,
}

impl RecordError {
    pub(crate) fn reason(&self) -> CallReason {
        let (path, said) = (self.path.display().to_string(), self.cause.to_string());
        CallReason::File { what: self.attempt, path, said }
    }
}

impl std::fmt::Display for RecordError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.reason().fmt(out)
    }
}

impl std::error::Error for RecordError {}

#[derive(Clone, Debug)]
pub struct Record {
    file: PathBuf,
    uptime: PathBuf,
}

impl Default for Record {
    fn default() -> Self {
        Self { file: FILE.into(), uptime: "/proc/uptime".into() }
    }
}

impl Record {
    #[must_use]
    pub fn at(file: PathBuf, uptime: PathBuf) -> Self {
        Self { file, uptime }
    }

    /// Runs `work` on the throttle under an exclusive lock. An invalid file counts as empty, so
    /// that it cannot prevent a login.
    pub fn update<T>(
        &self,
        work: impl FnOnce(&mut LoginThrottle, Duration) -> T,
    ) -> Result<T, RecordError> {
        let mut file = self.open()?;
        let now = self.now()?;
        let mut text = String::new();
        let read = Read::by_ref(&mut file).take(MAX_FILE_LEN).read_to_string(&mut text);
        let throttle = read.ok().and_then(|_| serde_json::from_slice(text.as_bytes()).ok());
        let mut throttle: LoginThrottle = throttle.unwrap_or_default();
        let before = throttle.clone();
        let result = work(&mut throttle, now);
        if throttle != before {
            self.write(&throttle)?;
        }
        Ok(result)
    }

    /// Opens and locks the file. Retries if another process replaced it between the two steps.
    fn open(&self) -> Result<File, RecordError> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        loop {
            let file = options.open(&self.file).map_err(|cause| self.failed("opening", cause))?;
            file.lock().map_err(|cause| self.failed("locking", cause))?;
            let inode = |data: std::io::Result<Metadata>| data.map(|data| data.ino()).ok();
            if inode(file.metadata()) == inode(std::fs::metadata(&self.file)) {
                return Ok(file);
            }
        }
    }

    /// Replaces the file atomically, because a half-written record would reset all delays.
    fn write(&self, throttle: &LoginThrottle) -> Result<(), RecordError> {
        let text = serde_json::to_string(throttle).unwrap_or_default();
        let new = self.file.with_extension("new");
        let mut options = OpenOptions::new();
        let created = options.write(true).create(true).truncate(true).mode(0o600).open(&new);
        let written = created
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .and_then(|()| std::fs::rename(&new, &self.file));
        written.map_err(|cause| {
            let _ = std::fs::remove_file(&new);
            self.failed("writing", cause)
        })
    }

    fn now(&self) -> Result<Duration, RecordError> {
        let read = |path: &Path| {
            let text = std::fs::read_to_string(path)?;
            let seconds = text.split_whitespace().next().and_then(|word| word.parse::<f64>().ok());
            seconds
                .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
                .ok_or_else(|| std::io::Error::other(format!("'{}' is not a time", text.trim())))
        };
        let failed = |cause| RecordError { attempt: "reading", path: self.uptime.clone(), cause };
        read(&self.uptime).map_err(failed)
    }

    fn failed(&self, attempt: &'static str, cause: std::io::Error) -> RecordError {
        RecordError { attempt, path: self.file.clone(), cause }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::throttle::Client;

    fn place(name: &str) -> (PathBuf, Record) {
        let folder = std::env::temp_dir().join(format!("access-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("a folder for the test");
        std::fs::write(folder.join("uptime"), "100.25 380.00\n").expect("a clock for the test");
        let record = Record::at(folder.join("failures"), folder.join("uptime"));
        (folder, record)
    }

    fn admitted(record: &Record) -> Result<u32, Duration> {
        record
            .update(|throttle, now| throttle.admit(Client::Account("root"), now))
            .expect("a usable file")
    }

    #[test]
    fn processes_share_the_count_of_failures() {
        let (folder, record) = place("kept");
        for count in 1..=4 {
            assert_eq!(admitted(&record.clone()), Ok(count));
        }
        assert_eq!(admitted(&record), Err(Duration::from_secs(1)));
        std::fs::write(folder.join("uptime"), "101.25 0\n").expect("a later time");
        assert_eq!(admitted(&record), Ok(5));
    }

    #[test]
    fn the_record_is_readable_only_by_root() {
        use std::os::unix::fs::PermissionsExt;
        let (folder, record) = place("mode");
        assert!(admitted(&record).is_ok());
        let mode =
            std::fs::metadata(folder.join("failures")).expect("the file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn an_invalid_file_counts_as_empty() {
        let (folder, record) = place("broken");
        for text in ["", "{", "[]", "{\"names\": 3}", "\u{0}\u{0}"] {
            std::fs::write(folder.join("failures"), text).expect("a broken file");
            assert_eq!(admitted(&record), Ok(1), "{text:?}");
        }
    }

    #[test]
    fn a_failed_write_keeps_all_failures() {
        const LIMIT: &str = "ulimit -f 1; trap '' XFSZ; exec \"$0\" \"$@\"";
        if let Some(folder) = std::env::var_os("FILLED_RECORD") {
            let folder = PathBuf::from(folder);
            let record = Record::at(folder.join("failures"), folder.join("uptime"));
            let full = record.update(|throttle, now| throttle.admit(Client::Account("a"), now));
            assert!(full.expect_err("a full disk").to_string().starts_with("writing "));
            return;
        }
        let (folder, record) = place("full");
        for number in 0..15 {
            let name = format!("{number} {}", "n".repeat(50));
            let _ = record.update(|throttle, now| throttle.admit(Client::Unknown(&name), now));
            let _ = admitted(&record);
        }
        let test = std::env::current_exe().expect("this program");
        let mut limited = std::process::Command::new("sh");
        limited.args(["-c", LIMIT]).arg(test).args(["--exact", "--test-threads=1"]);
        limited.arg("record::tests::a_failed_write_keeps_all_failures");
        let ended = limited.env("FILLED_RECORD", &folder).output().expect("a shell");
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stdout));
        assert_eq!(admitted(&record), Err(Duration::from_secs(1)));
    }

    #[test]
    fn an_error_names_the_failed_operation() {
        let (folder, _) = place("clock");
        let record = Record::at(folder.join("failures"), folder.join("none"));
        let error = record.update(|_, _| ()).expect_err("there is no clock");
        assert!(error.to_string().starts_with("reading "), "{error}");
        let record = Record::at(folder.join("no/failures"), folder.join("uptime"));
        let error = record.update(|_, _| ()).expect_err("there is no folder");
        assert!(error.to_string().starts_with("opening "), "{error}");
    }
}
