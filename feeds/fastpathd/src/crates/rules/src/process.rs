// SPDX-License-Identifier: GPL-2.0-or-later
//! Runs a program with a deadline. Crate `launch` kills it, see `supervise.rs`.

use std::process::{Command, ExitStatus};
use std::time::Duration;

use launch::{Piece, Stopped, supervise};

/// Maximum size of the stored part of a program's standard error, bytes.
const MAX_WORDS: usize = 256 * 1024;

/// How a program ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub status: ExitStatus,
    /// Beginning of the standard error.
    pub stderr: Vec<u8>,
}

/// Runs `command` with `input`, and passes its standard output to `take` piece by piece. The
/// program gets its own process group, which is killed on a timeout or if `take` fails.
///
/// # Errors
/// The program did not exit by itself. A bad exit status is not an error here.
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
            let room = MAX_WORDS.saturating_sub(stderr.len());
            stderr.extend_from_slice(&bytes[..bytes.len().min(room)]);
            Ok(())
        }
    });
    Ok(Ended { status: status?, stderr })
}
