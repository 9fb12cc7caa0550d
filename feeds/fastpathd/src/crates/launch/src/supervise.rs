// SPDX-License-Identifier: GPL-2.0-or-later
//! Runs a program in its own process group to its end or to a deadline, passes its output on piece
//! by piece, and kills the group otherwise. The callers choose the time: `process.rs` of crates
//! `plugin` and `rules`.

use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

/// A piece of a program's output.
#[derive(Debug)]
pub enum Piece {
    /// To its standard output.
    Output(Vec<u8>),
    /// To its standard error.
    Stderr(Vec<u8>),
}

/// Why a program did not come to its own end. In each case it is killed.
#[derive(Debug)]
pub enum Stopped<E> {
    /// It does not exist, or may not be run.
    Start(io::Error),
    /// Waiting for it failed.
    Wait(io::Error),
    /// The time was over.
    Late,
    /// The receiver of its output refused a piece.
    Refused(E),
}

/// Runs a program with `input` as its standard input and passes its output to `take`, piece by
/// piece. It gets a process group of its own, which is killed unless the program ends in time.
///
/// # Errors
/// It did not come to its own end. A bad exit status is not an error here.
pub fn supervise<E>(
    command: &mut Command,
    input: &[u8],
    time: Duration,
    mut take: impl FnMut(Piece) -> Result<(), E>,
) -> Result<ExitStatus, Stopped<E>> {
    let deadline = Instant::now() + time;
    command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.stdin(if input.is_empty() { Stdio::null() } else { Stdio::piped() });
    let child = command.spawn().map_err(Stopped::Start)?;
    let mut group = Group { child, ended: false };
    write(&mut group.child, input);
    let pieces = listen(&mut group.child);
    loop {
        match pieces.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(piece) => take(piece).map_err(Stopped::Refused)?,
            Err(RecvTimeoutError::Timeout) => return Err(Stopped::Late),
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    // It may have closed its outputs and live on.
    loop {
        if let Some(status) = group.child.try_wait().map_err(Stopped::Wait)? {
            group.ended = true;
            return Ok(status);
        }
        if Instant::now() >= deadline {
            return Err(Stopped::Late);
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// Kills a program and its children, unless it has ended.
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
            // Fails only if the group has already exited.
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.wait();
    }
}

/// A program that does not read must not keep its caller waiting.
fn write(child: &mut Child, input: &[u8]) {
    if let Some(mut stdin) = child.stdin.take() {
        let input = input.to_vec();
        thread::spawn(move || stdin.write_all(&input));
    }
}

fn listen(child: &mut Child) -> Receiver<Piece> {
    // Small: a fast writer waits here for its reader instead of filling the memory.
    let (sender, pieces) = sync_channel(4);
    if let Some(output) = child.stdout.take() {
        pass_on(output, sender.clone(), Piece::Output);
    }
    if let Some(stderr) = child.stderr.take() {
        pass_on(stderr, sender, Piece::Stderr);
    }
    pieces
}

fn pass_on(
    mut from: impl Read + Send + 'static,
    to: SyncSender<Piece>,
    wrap: impl Fn(Vec<u8>) -> Piece + Send + 'static,
) {
    thread::spawn(move || {
        let mut buffer = vec![0; 64 << 10];
        loop {
            match from.read(&mut buffer) {
                Ok(count) if count > 0 => {
                    if to.send(wrap(buffer[..count].to_vec())).is_err() {
                        return;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                _ => return,
            }
        }
    });
}
