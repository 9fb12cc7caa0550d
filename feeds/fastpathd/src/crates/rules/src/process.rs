// SPDX-License-Identifier: GPL-2.0-or-later
//! Runs a program with a deadline, and keeps 256 KiB of its standard error. Killing it is in crate
//! `launch`, `supervise.rs`.

use std::io;
use std::process::{Command, ExitStatus};
use std::time::Duration;

use launch::{Piece, Stopped, supervise};
use thiserror::Error;

/// Bytes of a program's standard error that are kept.
const MOST_WORDS: usize = 256 * 1024;

/// Why a program did not come to its own end.
#[derive(Debug, Error)]
pub enum RunError<E> {
    /// It does not exist, or may not be run.
    #[error("cannot run {program}: {cause}")]
    Start {
        /// Its path.
        program: String,
        /// The kernel's error.
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
        /// The kernel's error.
        cause: io::Error,
    },
    /// The taker of its output wants no more.
    #[error(transparent)]
    Taker(E),
}

/// How a program ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// Its exit status.
    pub status: ExitStatus,
    /// The beginning of its standard error.
    pub stderr: Vec<u8>,
}

/// Runs `command` with `input` and hands its standard output to `take`, piece by piece. It gets
/// a process group of its own, which is killed if `take` fails or on a timeout.
///
/// # Errors
/// It did not exit by itself. A bad exit status does not count as an error here.
pub(crate) fn run<E>(
    command: &mut Command,
    input: &[u8],
    time: Duration,
    mut take: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<Ended, RunError<E>> {
    let program = command.get_program().to_string_lossy().into_owned();
    let mut stderr = Vec::new();
    let status = supervise(command, input, time, |piece| match piece {
        Piece::Output(bytes) => take(&bytes),
        Piece::Stderr(bytes) => {
            let room = MOST_WORDS.saturating_sub(stderr.len());
            stderr.extend_from_slice(&bytes[..bytes.len().min(room)]);
            Ok(())
        }
    });
    match status {
        Ok(status) => Ok(Ended { status, stderr }),
        Err(Stopped::Start(cause)) => Err(RunError::Start { program, cause }),
        Err(Stopped::Wait(cause)) => Err(RunError::Wait { program, cause }),
        Err(Stopped::Late) => Err(RunError::Late { program, seconds: time.as_secs() }),
        Err(Stopped::Refused(why)) => Err(RunError::Taker(why)),
    }
}
