// SPDX-License-Identifier: GPL-2.0-or-later
//! Runs a program with a deadline, and keeps 256 KiB of its standard error. Killing it is in crate
//! `launch`, `supervise.rs`.

use std::process::{Command, ExitStatus};
use std::time::Duration;

use launch::{Piece, Stopped, supervise};

/// Bytes of a program's standard error that are kept.
const MOST_WORDS: usize = 256 * 1024;

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
) -> Result<Ended, Stopped<E>> {
    let mut stderr = Vec::new();
    let status = supervise(command, input, time, |piece| match piece {
        Piece::Output(bytes) => take(&bytes),
        Piece::Stderr(bytes) => {
            let room = MOST_WORDS.saturating_sub(stderr.len());
            stderr.extend_from_slice(&bytes[..bytes.len().min(room)]);
            Ok(())
        }
    });
    Ok(Ended { status: status?, stderr })
}
