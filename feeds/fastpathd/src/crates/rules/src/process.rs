// SPDX-License-Identifier: GPL-2.0-or-later
//! A program run to its end or to a deadline, whichever comes first.

use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use thiserror::Error;

/// What a program wrote to its standard error is kept up to this.
const MOST_WORDS: usize = 256 * 1024;

/// Why a program did not come to its own end.
#[derive(Debug, Error)]
pub enum RunError<E> {
    /// It does not exist, or may not be run.
    #[error("cannot run {program}: {cause}")]
    Start {
        /// Its path.
        program: String,
        /// What the kernel said.
        cause: io::Error,
    },
    /// Killed, after this many seconds.
    #[error("{program} did not finish within {seconds} s")]
    Late {
        /// Its path.
        program: String,
        /// The time it had.
        seconds: u64,
    },
    /// Waiting for it failed.
    #[error("cannot wait for {program}: {cause}")]
    Wait {
        /// Its path.
        program: String,
        /// What the kernel said.
        cause: io::Error,
    },
    /// Who takes its output wants no more.
    #[error(transparent)]
    Taker(E),
}

/// How a program ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// Its exit status.
    pub status: ExitStatus,
    /// The beginning of its standard error.
    pub words: Vec<u8>,
}

enum Said {
    Output(Vec<u8>),
    Words(Vec<u8>),
}

/// Runs `command` without input and hands its standard output to `take`, piece by piece. It gets
/// a process group of its own, which is killed if `take` fails or the time is over.
///
/// # Errors
/// It did not come to its own end. A bad exit status is no error here.
pub(crate) fn run<E>(
    command: &mut Command,
    time: Duration,
    mut take: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<Ended, RunError<E>> {
    let program = || command_name(command);
    let deadline = Instant::now() + time;
    let name = program();
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let child = command.spawn();
    let child = child.map_err(|cause| RunError::Start { program: name.clone(), cause })?;
    let mut group = Group { child, ended: false };
    let said = listen(&mut group.child);
    let late = || RunError::Late { program: name.clone(), seconds: time.as_secs() };
    let mut words = Vec::new();
    loop {
        match said.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(Said::Output(bytes)) => take(&bytes).map_err(RunError::Taker)?,
            Ok(Said::Words(bytes)) => {
                let room = MOST_WORDS.saturating_sub(words.len());
                words.extend_from_slice(&bytes[..bytes.len().min(room)]);
            }
            Err(RecvTimeoutError::Timeout) => return Err(late()),
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    // It may have closed its outputs and live on.
    loop {
        let waited = group.child.try_wait();
        if let Some(status) =
            waited.map_err(|cause| RunError::Wait { program: name.clone(), cause })?
        {
            group.ended = true;
            return Ok(Ended { status, words });
        }
        if Instant::now() >= deadline {
            return Err(late());
        }
        thread::sleep(Duration::from_millis(5));
    }
}

fn command_name(command: &Command) -> String {
    command.get_program().to_string_lossy().into_owned()
}

/// Kills what is left of a program when nobody waits for it any more.
struct Group {
    child: Child,
    ended: bool,
}

impl Drop for Group {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        let group = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        if let Some(group) = group {
            // It can only fail because the group is gone, which is what is wanted.
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.wait();
    }
}

fn listen(child: &mut Child) -> Receiver<Said> {
    // Small: a fast download waits here for the disk instead of filling the memory.
    let (say, said) = sync_channel(4);
    if let Some(output) = child.stdout.take() {
        pass_on(output, say.clone(), Said::Output);
    }
    if let Some(words) = child.stderr.take() {
        pass_on(words, say, Said::Words);
    }
    said
}

fn pass_on(
    mut from: impl Read + Send + 'static,
    say: SyncSender<Said>,
    wrap: impl Fn(Vec<u8>) -> Said + Send + 'static,
) {
    thread::spawn(move || {
        let mut buffer = vec![0; 64 * 1024];
        loop {
            match from.read(&mut buffer) {
                Ok(count) if count > 0 => {
                    if say.send(wrap(buffer[..count].to_vec())).is_err() {
                        return;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                _ => return,
            }
        }
    });
}
