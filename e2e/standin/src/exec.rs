// SPDX-License-Identifier: GPL-2.0-or-later
//! Programs that are run for a caller, with input, output and timeout.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;
use ubus::{Map, Reply, Status};

use crate::reply::Answer;

/// rpcd's umask, inherited by the programs it starts.
const UMASK: libc::mode_t = 0o077;
/// Capacity of a pipe. rpcd writes the input once, so bytes beyond this are lost.
const PIPE: usize = 65_536;
/// rpcd's limit of a program's output.
const MAX_OUTPUT: usize = 4096 * 64;
const BACKGROUND_TIMEOUT: Duration = Duration::from_secs(600);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    pub path: PathBuf,
    pub words: Vec<OsString>,
    /// Bytes for standard input.
    pub input: Vec<u8>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Exit status; `None` if the program was killed.
    pub code: Option<i32>,
    /// Standard output, up to the timeout if there was one.
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    /// Whether the timeout expired.
    pub late: bool,
}

impl Program {
    pub fn new<W: AsRef<str>>(path: impl Into<PathBuf>, words: &[W]) -> Program {
        let words = words.iter().map(|word| OsString::from(word.as_ref())).collect();
        Program { path: path.into(), words, input: Vec::new() }
    }

    /// Runs the program until it has ended and closed its output, for at most `limit`.
    ///
    /// # Errors
    /// Returns an error if the program cannot be started.
    pub async fn run(&self, limit: Duration) -> io::Result<Outcome> {
        let mut outcome = Outcome::default();
        match tokio::time::timeout(limit, self.talk(&mut outcome)).await {
            Ok(ended) => ended?,
            Err(_) => outcome.late = true,
        }
        Ok(outcome)
    }

    #[expect(unsafe_code, reason = "sets the umask of the child")]
    async fn talk(&self, outcome: &mut Outcome) -> io::Result<()> {
        let mut command = Command::new(&self.path);
        command.args(&self.words).kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // SAFETY: umask is async-signal-safe.
        unsafe {
            command.pre_exec(|| {
                libc::umask(UMASK);
                Ok(())
            });
        }
        let mut child = command.spawn()?;
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let write = async {
            if let Some(mut stdin) = stdin {
                // A program that ignores its input may already have ended.
                let _ = stdin.write_all(&self.input[..self.input.len().min(PIPE)]).await;
            }
        };
        let print = async {
            let Some(mut stdout) = stdout else { return Ok(0) };
            stdout.read_to_end(&mut outcome.stdout).await
        };
        let complain = async {
            let Some(mut stderr) = stderr else { return Ok(0) };
            stderr.read_to_end(&mut outcome.stderr).await
        };
        let ((), printed, complained) = tokio::join!(write, print, complain);
        printed?;
        complained?;
        outcome.code = child.wait().await?.code();
        Ok(())
    }
}

/// Resolves a command: an existing file itself, else the first file of that name in `PATH`.
pub(crate) fn lookup(command: &str) -> Option<PathBuf> {
    if Path::new(command).is_file() {
        return Some(PathBuf::from(command));
    }
    let search = std::env::var_os("PATH");
    let search = search.unwrap_or_else(|| "/bin:/usr/bin:/sbin:/usr/sbin".into());
    std::env::split_paths(&search).map(|folder| folder.join(command)).find(|path| path.is_file())
}

/// An action that answers a call, usually by running a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Answer without running a program.
    Done,
    /// Answer with the program's exit status and output.
    Output(Program),
    /// Answer with the JSON object that the program prints.
    Json(Program),
    /// Wait for the program, then answer without data.
    Wait(Program),
    /// Answer immediately; the program continues in the background.
    Background(Program),
}

impl Action {
    pub(crate) async fn run(self, limit: Duration, reply: Reply) {
        let answer = match self {
            Action::Done => Ok(Map::new()),
            Action::Output(program) => output(program.run(limit).await),
            Action::Json(program) => match program.run(limit).await.map_err(status) {
                Ok(outcome) => {
                    serde_json::from_slice(&outcome.stdout).map_err(|_| Status::InvalidArgument)
                }
                Err(error) => Err(error),
            },
            Action::Wait(program) => program.run(limit).await.map(|_| Map::new()).map_err(status),
            Action::Background(program) => {
                tokio::task::spawn_local(async move {
                    // A reboot kills this process before the program ends.
                    if let Err(error) = program.run(BACKGROUND_TIMEOUT).await {
                        log::error!("{}: {error}", program.path.display());
                    }
                });
                Ok(Map::new())
            }
        };
        match answer {
            Ok(map) => {
                if let Err(error) = reply.data(&map) {
                    log::warn!("answering: {error}");
                }
            }
            Err(status) => reply.status(status),
        }
    }
}

fn output(outcome: io::Result<Outcome>) -> Answer {
    let outcome = outcome.map_err(status)?;
    if outcome.late {
        return Err(Status::Timeout);
    }
    if outcome.stdout.len().max(outcome.stderr.len()) >= MAX_OUTPUT {
        return Err(Status::NotSupported);
    }
    let mut map = Map::from_iter([("code".to_owned(), json!(outcome.code.unwrap_or(0)))]);
    for (name, bytes) in [("stdout", outcome.stdout), ("stderr", outcome.stderr)] {
        if !bytes.is_empty() {
            map.insert(name.to_owned(), json!(String::from_utf8_lossy(&bytes)));
        }
    }
    Ok(map)
}

/// Maps a kernel error to rpcd's status.
#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
pub(crate) fn status(error: io::Error) -> Status {
    match error.raw_os_error() {
        Some(libc::EACCES) => Status::PermissionDenied,
        Some(libc::ENOTDIR | libc::EINVAL) => Status::InvalidArgument,
        Some(libc::ENOENT) => Status::NotFound,
        _ => Status::UnknownError,
    }
}
