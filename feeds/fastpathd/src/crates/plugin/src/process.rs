// SPDX-License-Identifier: GPL-2.0-or-later
//! Programs that are run for a call. They run as root, on what others have written, on routers
//! with little memory: each has limits, and is killed if its call ends before it.

use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

/// Bytes of address space that a program has at least and at most; half of the memory in between.
const LEAST_MEMORY: u64 = 64 << 20;
const MOST_MEMORY: u64 = 512 << 20;
/// The kernel sends SIGXCPU at the limit, and SIGKILL this many seconds later.
const CPU_GRACE: u64 = 1;

/// What a program may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// From its start to its end; as much on a CPU.
    pub time: Duration,
    /// Bytes of its standard output, and as many of its standard error.
    pub output: usize,
    /// Whether memory and time on a CPU are limited. What a program starts and leaves behind keeps
    /// these limits, so an init script has none: its services would inherit them.
    pub resources: bool,
}

impl Limits {
    /// rpcd kills us after 30 s, and then what the program has started would live on.
    pub const LONGEST: Duration = Duration::from_secs(25);

    /// For a program that says little.
    #[must_use]
    pub const fn short(seconds: u64) -> Self {
        Self { time: Duration::from_secs(seconds), output: 64 << 10, resources: true }
    }
}

/// Why a program did not come to its own end.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// It could not be started, or not be waited for.
    #[error(transparent)]
    System(#[from] io::Error),
    /// Killed: its time was over.
    #[error("it did not finish within {0} s")]
    Late(u64),
    /// Killed: it wrote more than it may.
    #[error("it wrote more than {0} bytes")]
    Loud(usize),
}

/// Runs a program to its end, with `input` as its standard input.
///
/// It has a process group of its own, which is killed when it goes beyond its limits. It is killed
/// as well when this process ends before it.
///
/// # Errors
/// It did not come to its own end. A bad exit status is not an error here.
pub fn run(command: &mut Command, input: &[u8], limits: Limits) -> Result<Output, RunError> {
    command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.stdin(if input.is_empty() { Stdio::null() } else { Stdio::piped() });
    limit(command, limits);
    let deadline = Instant::now() + limits.time;
    let mut group = Group { child: command.spawn()?, ended: false };
    write(&mut group.child, input);
    let said = listen(&mut group.child);
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let late = || RunError::Late(limits.time.as_secs());
    loop {
        let (into, bytes) =
            match said.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(Said::Output(bytes)) => (&mut stdout, bytes),
                Ok(Said::Words(bytes)) => (&mut stderr, bytes),
                Err(RecvTimeoutError::Timeout) => return Err(late()),
                Err(RecvTimeoutError::Disconnected) => break,
            };
        into.extend_from_slice(&bytes);
        if into.len() > limits.output {
            return Err(RunError::Loud(limits.output));
        }
    }
    // It may have closed its outputs and live on.
    loop {
        if let Some(status) = group.child.try_wait()? {
            group.ended = true;
            return Ok(Output { status, stdout, stderr });
        }
        if Instant::now() >= deadline {
            return Err(late());
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// Sets the kernel's limits for the program and what it starts.
fn limit(command: &mut Command, limits: Limits) {
    let seconds = limits.time.as_secs().max(1);
    let memory = memory();
    let set = [
        (libc::RLIMIT_AS, memory, memory),
        (libc::RLIMIT_CPU, seconds, seconds + CPU_GRACE),
        // What it has read is left nowhere.
        (libc::RLIMIT_CORE, 0, 0),
    ];
    let parent = std::process::id();
    let count = if limits.resources { set.len() } else { 0 };
    let confine = move || {
        for (what, soft, hard) in set.into_iter().take(count) {
            let limit = libc::rlimit { rlim_cur: soft as _, rlim_max: hard as _ };
            // SAFETY: the kernel reads `limit`, which lives until the call returns.
            if unsafe { libc::setrlimit(what, &raw const limit) } != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        // SAFETY: both take and return plain numbers.
        let orphan = unsafe {
            if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong) != 0 {
                return Err(io::Error::last_os_error());
            }
            // Our death before the call above sends no signal.
            u32::try_from(libc::getppid()).ok() != Some(parent)
        };
        if orphan { Err(io::ErrorKind::Interrupted.into()) } else { Ok(()) }
    };
    // SAFETY: between fork and exec it makes system calls, allocates nothing and takes no lock.
    unsafe { command.pre_exec(confine) };
}

/// Bytes of address space for a program on this router.
fn memory() -> u64 {
    // SAFETY: both take and return plain numbers.
    let (pages, size) =
        unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    let number = |value: libc::c_long| u64::try_from(value).unwrap_or(0);
    let total = number(pages).saturating_mul(number(size));
    (total / 2).clamp(LEAST_MEMORY, MOST_MEMORY)
}

/// Kills a program and what it has started, unless it has ended.
struct Group {
    child: Child,
    ended: bool,
}

impl Drop for Group {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        if let Ok(group) = i32::try_from(self.child.id()) {
            // SAFETY: plain numbers. The child has not been waited for, so its id is its own yet.
            unsafe { libc::kill(-group, libc::SIGKILL) };
        }
        let _ = self.child.wait();
    }
}

enum Said {
    Output(Vec<u8>),
    Words(Vec<u8>),
}

/// A program that does not read must not keep us waiting.
fn write(child: &mut Child, input: &[u8]) {
    if let Some(mut stdin) = child.stdin.take() {
        let input = input.to_vec();
        thread::spawn(move || stdin.write_all(&input));
    }
}

fn listen(child: &mut Child) -> Receiver<Said> {
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
        let mut buffer = vec![0; 16 << 10];
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

#[cfg(test)]
#[path = "process_tests.rs"]
mod tests;
