// SPDX-License-Identifier: GPL-2.0-or-later
//! Runs programs for a call, with limits of time, output and memory. A program is killed if its
//! call ends first.
#![expect(unsafe_code, reason = "limits are set between fork and exec")]

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, Output};
use std::time::Duration;

use launch::{Piece, Stopped, supervise};
pub use launch::{ended, killed};

/// Bounds of a program's address space in bytes, which is half of the router's memory.
const MIN_MEMORY: u64 = 64 << 20;
const MAX_MEMORY: u64 = 512 << 20;
/// Seconds between SIGXCPU at the CPU limit and SIGKILL.
const CPU_GRACE: u64 = 1;

#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Limit of run time and CPU time.
    pub time: Duration,
    /// Maximum bytes of standard output and of standard error, each.
    pub output: usize,
    /// Limit memory and CPU time. Must be off for init scripts, whose services inherit the limits.
    pub resources: bool,
}

impl Limits {
    /// Time limit below rpcd's 30 s, so that a program is stopped before rpcd kills this process.
    pub const TIMEOUT: Duration = Duration::from_secs(25);

    /// Limits for a program with little output.
    #[must_use]
    pub const fn short(seconds: u64) -> Self {
        Self { time: Duration::from_secs(seconds), output: 64 << 10, resources: true }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error(transparent)]
    System(#[from] io::Error),
    #[error("it did not finish within {0} s")]
    Late(u64),
    #[error("it wrote more than {0} bytes")]
    Loud(usize),
}

/// Runs a program with `input` on its standard input until it ends.
///
/// The program's process group is killed when it exceeds a limit or when this process ends. A
/// non-zero exit status is not an error.
pub fn run(command: &mut Command, input: &[u8], limits: Limits) -> Result<Output, RunError> {
    limit(command, limits);
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let status = supervise(command, input, limits.time, |piece| {
        let (into, bytes) = match piece {
            Piece::Output(bytes) => (&mut stdout, bytes),
            Piece::Stderr(bytes) => (&mut stderr, bytes),
        };
        into.extend_from_slice(&bytes);
        if into.len() > limits.output { Err(RunError::Loud(limits.output)) } else { Ok(()) }
    });
    match status {
        Ok(status) => Ok(Output { status, stdout, stderr }),
        Err(Stopped::Start(cause) | Stopped::Wait(cause)) => Err(cause.into()),
        Err(Stopped::Late) => Err(RunError::Late(limits.time.as_secs())),
        Err(Stopped::Refused(why)) => Err(why),
    }
}

fn limit(command: &mut Command, limits: Limits) {
    let seconds = limits.time.as_secs().max(1);
    let memory = memory_limit();
    let set = [
        (libc::RLIMIT_AS, memory, memory),
        (libc::RLIMIT_CPU, seconds, seconds + CPU_GRACE),
        // Core dumps would store the program's input on flash.
        (libc::RLIMIT_CORE, 0, 0),
    ];
    let count = if limits.resources { set.len() } else { 0 };
    let parent = std::process::id();
    let confine = move || {
        guard(parent)?;
        for (what, soft, hard) in set.into_iter().take(count) {
            let limit = libc::rlimit { rlim_cur: soft as _, rlim_max: hard as _ };
            // SAFETY: the kernel reads `limit`, which lives until the call returns.
            done(unsafe { libc::setrlimit(what, &raw const limit) })?;
        }
        Ok(())
    };
    // SAFETY: between fork and exec this only makes system calls, without allocation or locks.
    unsafe { command.pre_exec(confine) };
}

fn done(status: libc::c_int) -> io::Result<()> {
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Forks again and returns in the child, which becomes the program. The intermediate process
/// forwards the child's exit status, and kills the process group if `parent` dies. The kernel's
/// death signal alone would not reach the program's descendants.
fn guard(parent: u32) -> io::Result<()> {
    let is_parent = |id: u32| {
        // SAFETY: getppid has no arguments and returns a plain number.
        u32::try_from(unsafe { libc::getppid() }).ok() == Some(id)
    };
    let dies_with = |id: u32, signal: libc::c_int| -> io::Result<()> {
        // SAFETY: prctl takes plain numbers here.
        done(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::c_long::from(signal)) })?;
        // If the parent died before the call above, no signal will arrive.
        if is_parent(id) { Ok(()) } else { Err(io::ErrorKind::Interrupted.into()) }
    };
    // SAFETY: system calls on values of this stack; the kernel accesses no other memory.
    unsafe {
        let mut signals: libc::sigset_t = std::mem::zeroed();
        let mut before: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut signals);
        libc::sigaddset(&raw mut signals, libc::SIGTERM);
        libc::sigaddset(&raw mut signals, libc::SIGCHLD);
        libc::signal(libc::SIGCHLD, libc::SIG_DFL);
        done(libc::setpgid(0, 0))?;
        done(libc::sigprocmask(libc::SIG_BLOCK, &raw const signals, &raw mut before))?;
        dies_with(parent, libc::SIGTERM)?;
        let own = std::process::id();
        match libc::fork() {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                dies_with(own, libc::SIGKILL)?;
                done(libc::sigprocmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut()))
            }
            child => forward_exit(child, &signals),
        }
    }
}

/// Waits for the child and exits with its status. Closes all files first, so that readers of pipes
/// see end-of-file.
///
/// # Safety
/// The caller must not need open files.
unsafe fn forward_exit(child: libc::pid_t, signals: &libc::sigset_t) -> ! {
    // SAFETY: the caller guarantees that no file is needed; the other calls take plain numbers.
    unsafe {
        let (first, last, flags): (libc::c_uint, _, libc::c_uint) = (0, libc::c_uint::MAX, 0);
        libc::syscall(libc::SYS_close_range, first, last, flags);
        loop {
            let mut signal = 0;
            libc::sigwait(signals, &raw mut signal);
            if signal == libc::SIGTERM {
                libc::kill(0, libc::SIGKILL);
            }
            let mut status = 0;
            if libc::waitpid(child, &raw mut status, libc::WNOHANG) != child {
                continue;
            }
            if libc::WIFSIGNALED(status) {
                let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
                libc::setrlimit(libc::RLIMIT_CORE, &raw const none);
                let signal = libc::WTERMSIG(status);
                libc::signal(signal, libc::SIG_DFL);
                libc::sigprocmask(libc::SIG_UNBLOCK, signals, std::ptr::null_mut());
                libc::raise(signal);
            }
            libc::_exit(libc::WEXITSTATUS(status));
        }
    }
}

/// Returns the limit of a program's address space, in bytes.
fn memory_limit() -> u64 {
    // SAFETY: sysconf takes and returns plain numbers.
    let (pages, size) =
        unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    let number = |value: libc::c_long| u64::try_from(value).unwrap_or(0);
    let total = number(pages).saturating_mul(number(size));
    (total / 2).clamp(MIN_MEMORY, MAX_MEMORY)
}

#[cfg(test)]
mod tests;
