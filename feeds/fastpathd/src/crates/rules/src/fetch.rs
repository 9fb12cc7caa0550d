// SPDX-License-Identifier: GPL-2.0-or-later
//! Downloads with curl, uclient-fetch or wget: retries without a connection, maps exit codes to
//! reasons, and masks secrets in URLs.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use config::secret::{MASK, shown_url};
use launch::Stopped;

use crate::process::{self, Ended};
use crate::reason::SourceReason;

#[derive(Debug, Clone)]
pub struct Fetcher {
    program: PathBuf,
    kind: Kind,
    time: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Curl,
    /// `uclient-fetch`, which takes wget's options.
    Uclient,
    /// GNU or `BusyBox` wget.
    Wget,
}

impl Kind {
    /// Reports whether an exit status means a failed connection. uclient-fetch exits with 1 if the
    /// server aborts the TLS handshake, and with 8 for an HTTP error; `BusyBox` always exits with
    /// 1.
    fn no_connection(self, code: Option<i32>) -> bool {
        match self {
            Kind::Curl => matches!(code, Some(6 | 7 | 35)),
            Kind::Uclient => matches!(code, Some(1 | 4)),
            Kind::Wget => code == Some(4),
        }
    }
}

impl Fetcher {
    /// Finds curl, uclient-fetch or wget in `path` (like `$PATH`). `time` is the timeout per
    /// attempt. Prefers curl, which reads the URL from its input: a URL may contain a password, and
    /// arguments of processes are visible to all users.
    #[must_use]
    pub fn find(path: &str, time: Duration) -> Option<Self> {
        let known = [("curl", Kind::Curl), ("uclient-fetch", Kind::Uclient), ("wget", Kind::Wget)];
        known.into_iter().find_map(|(name, kind)| {
            let folders = path.split(':').filter(|folder| !folder.is_empty());
            let mut programs = folders.map(|folder| Path::new(folder).join(name));
            Some(Self { program: programs.find(|program| program.is_file())?, kind, time })
        })
    }

    /// Downloads at most `limit` bytes of `url` into `to`, with one retry if the connection failed.
    /// Returns the number of bytes.
    ///
    /// # Errors
    /// Fails if the download is incomplete; the contents of `to` are unusable then.
    pub fn fetch(&self, url: &str, limit: u64, to: &mut impl Write) -> Result<u64, SourceReason> {
        let (mut received, mut ended) = self.attempt(url, limit, to)?;
        if received == 0 && self.kind.no_connection(ended.status.code()) {
            (received, ended) = self.attempt(url, limit, to)?;
        }
        if ended.status.success() { Ok(received) } else { Err(self.failure(url, &ended)) }
    }

    fn attempt(
        &self,
        url: &str,
        limit: u64,
        to: &mut impl Write,
    ) -> Result<(u64, Ended), SourceReason> {
        let mut received = 0u64;
        let take = |bytes: &[u8]| {
            received += bytes.len() as u64;
            if received > limit {
                return Err(SourceReason::TooLarge { url: shown_url(url), limit });
            }
            to.write_all(bytes).map_err(|error| SourceReason::NotStored {
                url: shown_url(url),
                said: error.to_string(),
            })
        };
        let input = self.input(url);
        let ended = process::run(&mut self.command(url), input.as_bytes(), self.time, take);
        let ended = ended.map_err(|stopped| self.stopped(shown_url(url), stopped))?;
        Ok((received, ended))
    }

    fn stopped(&self, url: String, stopped: Stopped<SourceReason>) -> SourceReason {
        let program = self.program.display().to_string();
        match stopped {
            Stopped::Start(error) => SourceReason::Start { url, program, said: error.to_string() },
            Stopped::Wait(error) => SourceReason::Wait { url, program, said: error.to_string() },
            Stopped::Late => SourceReason::Late { url, program, seconds: self.time.as_secs() },
            Stopped::Refused(reason) => reason,
        }
    }

    fn command(&self, url: &str) -> Command {
        let mut command = Command::new(&self.program);
        if self.kind == Kind::Curl {
            // Redirects must not lead to files or from TLS to plain text.
            let then = if url.starts_with("https:") { "=https" } else { "=http,https" };
            command.args(["-q", "-fsSL", "--max-redirs", "5", "--connect-timeout", "30"]);
            command.args(["--proto", "=http,https", "--proto-redir", then, "-o", "-", "-K", "-"]);
        } else {
            // uclient-fetch and wget cannot restrict redirects.
            command.args(["-q", "-T", "30", "-O", "-", url]);
        }
        command
    }

    /// Returns curl's configuration with the URL; the other programs get the URL as argument.
    fn input(&self, url: &str) -> String {
        if self.kind != Kind::Curl {
            return String::new();
        }
        let mut quoted = String::new();
        for c in url.chars() {
            match c {
                '\\' | '"' => quoted.extend(['\\', c]),
                '\n' => quoted.push_str("\\n"),
                '\r' => quoted.push_str("\\r"),
                _ => quoted.push(c),
            }
        }
        format!("url = \"{quoted}\"\n")
    }

    /// Returns the reason of a failure: curl's message, or the meaning of an exit status.
    fn failure(&self, fetched: &str, ended: &Ended) -> SourceReason {
        let url = shown_url(fetched);
        let printed = String::from_utf8_lossy(&ended.stderr);
        if let Some(said) = launch::killed(ended.status) {
            return SourceReason::Refused { url, said };
        }
        if let Some(line) = printed.lines().map(str::trim).rfind(|line| !line.is_empty()) {
            return SourceReason::Refused { url, said: shown_output(line, fetched) };
        }
        match (self.kind, ended.status.code()) {
            (Kind::Uclient | Kind::Wget, Some(4)) => SourceReason::Unreachable { url },
            (Kind::Uclient | Kind::Wget, Some(5)) => SourceReason::Certificate { url },
            (Kind::Uclient | Kind::Wget, Some(8)) => SourceReason::ServerError { url },
            _ => SourceReason::Refused { url, said: ended.status.to_string() },
        }
    }
}

fn masked(said: &str, url: &str) -> String {
    let shown = shown_url(url);
    let parts = url.split(|c: char| !c.is_alphanumeric() && !"-._~+".contains(c));
    let mut parts: Vec<&str> =
        parts.filter(|part| part.len() > 2 && !shown.contains(part)).collect();
    config::sort::by_key(&mut parts, |part| std::cmp::Reverse(part.len()));
    parts.iter().fold(said.to_owned(), |said, part| said.replace(part, MASK))
}

/// Masks secrets in a program's output and truncates it.
fn shown_output(said: &str, url: &str) -> String {
    // Mask before truncating, which could split a secret.
    readable(&masked(said, url))
}

/// Replaces control characters and truncates to 300 characters.
pub(crate) fn readable(output: &str) -> String {
    output.chars().map(|c| if c.is_control() { ' ' } else { c }).take(300).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curl_follows_no_redirect_to_a_file_or_out_of_tls() {
        let time = Duration::from_secs(1);
        let curl = Fetcher { program: "curl".into(), kind: Kind::Curl, time };
        for (url, then) in [
            ("https://h.example/x", "=https"),
            ("http://h.example/https:", "=http,https"),
            ("file:///etc/shadow", "=http,https"),
        ] {
            let command = curl.command(url);
            let args: Vec<_> = command.get_args().filter_map(|word| word.to_str()).collect();
            let after = |option| args.windows(2).find(|pair| pair[0] == option).map(|pair| pair[1]);
            assert_eq!(after("--proto"), Some("=http,https"), "{url}");
            assert_eq!(after("--proto-redir"), Some(then), "{url}");
            // `-q` disables the user's configuration only as the first argument.
            assert_eq!(args.first(), Some(&"-q"));
        }
    }

    #[test]
    fn curl_reads_the_url_from_its_input() {
        let folder = std::env::temp_dir().join(format!("fetch-secret-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        for name in ["uclient-fetch", "curl"] {
            std::fs::write(folder.join(name), "").unwrap();
        }
        let curl = Fetcher::find(&folder.to_string_lossy(), Duration::from_secs(60)).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!((&curl.program, curl.kind), (&folder.join("curl"), Kind::Curl));
        for (url, input) in [
            ("https://h.example", "url = \"https://h.example\"\n"),
            ("https://ann:geheim@h.example/x", "url = \"https://ann:geheim@h.example/x\"\n"),
            ("https://h.example/550e8400-e29b/x", "url = \"https://h.example/550e8400-e29b/x\"\n"),
            ("https://h.example/x?oinkcode=1", "url = \"https://h.example/x?oinkcode=1\"\n"),
            ("https://a:\"\\\nb@h.example/", "url = \"https://a:\\\"\\\\\\nb@h.example/\"\n"),
        ] {
            let command = curl.command(url);
            let args: Vec<_> = command.get_args().filter_map(|word| word.to_str()).collect();
            assert!(args.ends_with(&["-K", "-"]), "{args:?}");
            assert!(!args.iter().any(|word| word.contains("h.example")), "{args:?}");
            assert_eq!(curl.input(url), input);
        }
    }

    /// `BusyBox` quotes an invalid URL; curl quotes the part that it parses as the host.
    #[test]
    fn masks_secrets_of_the_url_in_output() {
        for url in [
            "https://ann:geheim@h.example/x",
            "https://geheim@h.example/",
            "https://ann:x#geheim@h.example/",
            "https://h.example/550e8400-geheim/rules.tar.gz?k=geheim#geheim",
            "https:/ann:geheim@h.example",
            "geheim",
            "https://[2001:db8::1]/geheim%20x",
        ] {
            for said in ["not an http or ftp url: URL", "Could not resolve host: geheim", "'URL'"] {
                let said = masked(&said.replace("URL", url), url);
                assert!(!said.contains("geheim"), "{url}: {said}");
            }
        }
        for before in 0..400 {
            let url = format!("https:/h.example/{}/geheimgeheim/x", "x/".repeat(before / 2));
            let said = shown_output(&format!("{}'{url}'", "!".repeat(before % 2)), &url);
            assert!(!said.contains("gehe"), "{before}: {said}");
        }
        let said = "Could not resolve host: h.example";
        assert_eq!(masked(said, "https://ann:geheim@h.example/x"), said);
    }

    /// Downloads with a fake program whose first run writes `first` and exits with `code`; later
    /// runs succeed. Returns the number of runs and the download.
    fn attempts(name: &str, code: i32, first: &str) -> (usize, Result<Vec<u8>, String>) {
        let folder = format!("fastpath-fetch-{}-{name}-{code}-{first}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        std::fs::create_dir_all(&folder).unwrap();
        let program = folder.join(name);
        let script = format!(
            "#!/bin/sh\necho >>{0}/runs\n[ $(wc -l <{0}/runs) = 1 ] || {{ printf whole; exit; }}\n\
             printf '{first}'\nexit {code}\n",
            folder.display(),
        );
        std::fs::write(&program, script).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&program, mode).unwrap();
        let path = folder.to_string_lossy().into_owned();
        let fetcher = Fetcher::find(&path, Duration::from_secs(60)).unwrap();
        let mut to = Vec::new();
        let outcome = fetcher.fetch("https://h.example/x", 100, &mut to);
        let runs = std::fs::read_to_string(folder.join("runs")).unwrap().lines().count();
        std::fs::remove_dir_all(&folder).unwrap();
        (runs, outcome.map(|_| to).map_err(|error| error.to_string()))
    }

    #[test]
    fn retries_a_failed_connection() {
        for (name, code) in [
            ("uclient-fetch", 4),
            // The server aborts the TLS handshake.
            ("uclient-fetch", 1),
            ("curl", 6),
            ("curl", 7),
            ("curl", 35),
            ("wget", 4),
        ] {
            assert_eq!(attempts(name, code, ""), (2, Ok(b"whole".to_vec())), "{name} {code}");
        }
    }

    #[test]
    fn does_not_retry_a_rejected_or_interrupted_download() {
        for (name, code, first) in [
            ("uclient-fetch", 8, ""),
            ("uclient-fetch", 5, ""),
            ("uclient-fetch", 4, "part"),
            ("curl", 22, ""),
            ("curl", 60, ""),
            ("curl", 35, "part"),
            ("wget", 8, ""),
            // BusyBox exits with 1 for every error.
            ("wget", 1, ""),
        ] {
            let (runs, outcome) = attempts(name, code, first);
            assert_eq!(runs, 1, "{name} {code}");
            assert!(outcome.is_err(), "{name} {code}: {outcome:?}");
        }
    }
}
