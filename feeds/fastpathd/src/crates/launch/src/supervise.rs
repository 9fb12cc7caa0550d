// SPDX-License-Identifier: GPL-2.0-or-later
//! Runs a program in its own process group with a deadline, and passes its output to the caller in
//! pieces.

use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

#[derive(Debug)]
pub enum Piece {
    Output(Vec<u8>),
    Stderr(Vec<u8>),
}

/// Why a program was stopped, after its process group was killed.
#[derive(Debug)]
pub enum Stopped<E> {
    Start(io::Error),
    Wait(io::Error),
    Late,
    Refused(E),
}

/// Runs a program with `input` on its standard input, and passes its output to `take` in pieces.
/// The program's process group is killed unless the program ends within `time`.
/// A non-zero exit status is not an error.
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
    let pieces = collect_output(&mut group.child);
    loop {
        match pieces.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(piece) => take(piece).map_err(Stopped::Refused)?,
            Err(RecvTimeoutError::Timeout) => return Err(Stopped::Late),
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    // The program may close its outputs before it ends.
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
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.wait();
    }
}

/// Writes in a thread, because a program that does not read would block the caller.
fn write(child: &mut Child, input: &[u8]) {
    if let Some(mut stdin) = child.stdin.take() {
        let input = input.to_vec();
        thread::spawn(move || stdin.write_all(&input));
    }
}

fn collect_output(child: &mut Child) -> Receiver<Piece> {
    // A small queue blocks a program that writes faster than its reader, which bounds memory.
    let (sender, pieces) = sync_channel(4);
    if let Some(output) = child.stdout.take() {
        forward(output, sender.clone(), Piece::Output);
    }
    if let Some(stderr) = child.stderr.take() {
        forward(stderr, sender, Piece::Stderr);
    }
    pieces
}

fn forward(
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
