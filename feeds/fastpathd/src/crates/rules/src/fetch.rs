// SPDX-License-Identifier: GPL-2.0-or-later
//! Downloads, by the program the router has.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use thiserror::Error;

use crate::process::{self, Ended, RunError};

/// Why there is no download.
#[derive(Debug, Error)]
pub enum FetchError {
    /// None of the programs is installed.
    #[error("there is no program to download with (uclient-fetch, curl or wget)")]
    NoProgram,
    /// It took too long, or could not be run.
    #[error("download of {url}: {cause}")]
    Run {
        /// The URL.
        url: String,
        /// What happened to the program.
        cause: RunError<TakeError>,
    },
    /// The program ended with an error.
    #[error("download of {url} failed: {words}")]
    Refused {
        /// The URL.
        url: String,
        /// What the program said, cut.
        words: String,
    },
}

/// Why a download was broken off.
#[derive(Debug, Error)]
pub enum TakeError {
    /// More than was allowed.
    #[error("it is larger than {limit} bytes")]
    TooLarge {
        /// The most it may have.
        limit: u64,
    },
    /// A full disk, for example.
    #[error("it cannot be stored: {0}")]
    Store(#[from] io::Error),
}

/// A program that downloads.
#[derive(Debug, Clone)]
pub struct Fetcher {
    program: PathBuf,
    kind: Kind,
    time: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Curl,
    /// Wget and what takes its options: uclient-fetch, busybox.
    Wget,
}

impl Fetcher {
    /// The first of uclient-fetch, curl and wget in `path` (as in `$PATH`). Each download has
    /// `time`.
    #[must_use]
    pub fn find(path: &str, time: Duration) -> Option<Self> {
        let known = [("uclient-fetch", Kind::Wget), ("curl", Kind::Curl), ("wget", Kind::Wget)];
        known.into_iter().find_map(|(name, kind)| {
            let folders = path.split(':').filter(|folder| !folder.is_empty());
            let mut programs = folders.map(|folder| Path::new(folder).join(name));
            let program = programs.find(|program| program.is_file())?;
            Some(Self { program, kind, time })
        })
    }

    /// Downloads `url` into `to`, at most `limit` bytes. Answers how many there were.
    ///
    /// # Errors
    /// It failed or is incomplete. The contents of `to` are unusable then.
    pub fn fetch(&self, url: &str, limit: u64, to: &mut impl Write) -> Result<u64, FetchError> {
        let mut taken = 0u64;
        let take = |bytes: &[u8]| {
            taken += bytes.len() as u64;
            if taken > limit {
                return Err(TakeError::TooLarge { limit });
            }
            Ok(to.write_all(bytes)?)
        };
        let shown = || shown_url(url);
        let ended = process::run(&mut self.command(url), self.time, take)
            .map_err(|cause| FetchError::Run { url: shown(), cause })?;
        if !ended.status.success() {
            let words = self.words(&ended);
            return Err(FetchError::Refused { url: shown(), words });
        }
        Ok(taken)
    }

    fn command(&self, url: &str) -> Command {
        let mut command = Command::new(&self.program);
        if self.kind == Kind::Curl {
            // A redirection must not lead to a file, nor out of TLS.
            let then = if url.starts_with("https:") { "=https" } else { "=http,https" };
            command.args(["-q", "-fsSL", "--max-redirs", "5", "--connect-timeout", "30"]);
            command.args(["--proto", "=http,https", "--proto-redir", then, "-o", "-"]);
        } else {
            // None of these can be kept from following one out of TLS.
            command.args(["-q", "-T", "30", "-O", "-"]);
        }
        command.arg(url);
        command
    }

    /// The error: curl prints a text, the others only have their exit status.
    fn words(&self, ended: &Ended) -> String {
        let words = String::from_utf8_lossy(&ended.words);
        if let Some(line) = words.lines().map(str::trim).rfind(|line| !line.is_empty()) {
            return readable(line);
        }
        let known = match (self.kind, ended.status.code()) {
            (Kind::Wget, Some(4)) => "the server cannot be reached",
            (Kind::Wget, Some(5)) => "the server's certificate is not trusted",
            (Kind::Wget, Some(8)) => "the server answered with an error",
            _ => return ended.status.to_string(),
        };
        known.to_owned()
    }
}

/// Output of another program, safe to show and bounded.
pub(crate) fn readable(words: &str) -> String {
    words.chars().map(|c| if c.is_control() { ' ' } else { c }).take(300).collect()
}

/// A URL without user and password, for messages and state.
pub(crate) fn shown_url(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return String::new() };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    match host.rsplit_once('@') {
        Some((secret, _)) => format!("{scheme}://{}", &rest[secret.len() + 1..]),
        None => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirection_leads_neither_to_a_file_nor_out_of_tls() {
        let time = Duration::from_secs(1);
        let curl = Fetcher { program: "curl".into(), kind: Kind::Curl, time };
        for (url, then) in [
            ("https://h.example/x", "=https"),
            ("http://h.example/https:", "=http,https"),
            ("file:///etc/shadow", "=http,https"),
        ] {
            let command = curl.command(url);
            let words: Vec<_> = command.get_args().filter_map(|word| word.to_str()).collect();
            let after =
                |option| words.windows(2).find(|pair| pair[0] == option).map(|pair| pair[1]);
            assert_eq!(after("--proto"), Some("=http,https"), "{url}");
            assert_eq!(after("--proto-redir"), Some(then), "{url}");
            assert_eq!(words.last(), Some(&url));
            // The first word, or the user's own configuration could say otherwise.
            assert_eq!(words.first(), Some(&"-q"));
        }
    }

    #[test]
    fn user_and_password_are_not_shown() {
        assert_eq!(shown_url("https://me:a@b@h.example/x@y"), "https://h.example/x@y");
        assert_eq!(shown_url("https://me@h.example"), "https://h.example");
        assert_eq!(shown_url("https://h.example/x@y?z@"), "https://h.example/x@y?z@");
    }
}
