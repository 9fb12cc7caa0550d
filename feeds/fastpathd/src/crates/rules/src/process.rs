// SPDX-License-Identifier: GPL-2.0-or-later
//! Runs a program with a timeout and collects its output.

use std::process::{Command, ExitStatus};
use std::time::Duration;

use launch::{Piece, Stopped, supervise};

/// Maximum size of the stored standard error in bytes.
const MAX_STDERR: usize = 256 * 1024;

#[derive(Debug)]
pub(crate) struct Ended {
    pub status: ExitStatus,
    /// Beginning of the standard error.
    pub stderr: Vec<u8>,
}

/// Runs `command` with `input`, and passes chunks of its standard output to `take`. On a timeout or
/// an error of `take`, kills the program's process group.
///
/// # Errors
/// Fails if the program does not exit by itself. A nonzero exit status is not an error here.
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
            let capacity = MAX_STDERR.saturating_sub(stderr.len());
            stderr.extend_from_slice(&bytes[..bytes.len().min(capacity)]);
            Ok(())
        }
    });
    Ok(Ended { status: status?, stderr })
}
