// SPDX-License-Identifier: GPL-2.0-or-later
//! Limits of programs that run as root for a call: time (`LONGEST` is 25 s) and as much on a CPU,
//! bytes of output, address space of half the memory (64 to 512 MiB), no core. They are killed if
//! the call ends first.
#![expect(unsafe_code, reason = "limits are set between fork and exec")]

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, Output};
use std::time::Duration;

use launch::{Piece, Stopped, supervise};
pub use launch::{ended, killed};

/// Bytes of address space that a program has at least and at most; half of the memory in between.
const LEAST_MEMORY: u64 = 64 << 20;
const MOST_MEMORY: u64 = 512 << 20;
/// The kernel sends SIGXCPU at the limit, and SIGKILL this many seconds later.
const CPU_GRACE: u64 = 1;

/// Limits of a program.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// From its start to its end; as much on a CPU.
    pub time: Duration,
    /// Bytes of its standard output, and as many of its standard error.
    pub output: usize,
    /// Whether memory and time on a CPU are limited. Processes that a program leaves behind
    /// keep these limits, so an init script has none: its services would inherit them.
    pub resources: bool,
}

impl Limits {
    /// rpcd kills us after 30 s, and then processes that the program has started would live on.
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
/// It has a process group of its own, which is killed when it goes beyond its limits, and when this
/// process ends before it.
///
/// # Errors
/// It did not come to its own end. A bad exit status is not an error here.
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

/// Sets the kernel's limits for the program and its children.
fn limit(command: &mut Command, limits: Limits) {
    let seconds = limits.time.as_secs().max(1);
    let memory = memory();
    let set = [
        (libc::RLIMIT_AS, memory, memory),
        (libc::RLIMIT_CPU, seconds, seconds + CPU_GRACE),
        // Its input is stored nowhere.
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
    // SAFETY: between fork and exec it makes system calls, allocates nothing and takes no lock.
    unsafe { command.pre_exec(confine) };
}

fn done(status: libc::c_int) -> io::Result<()> {
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Forks again and returns in the child, which the program replaces. The process between it
/// and `parent` passes on how the child ends. If the parent dies, it kills the process group: the
/// kernel would send a signal to our child only, and not to the children of it.
fn guard(parent: u32) -> io::Result<()> {
    let is_parent = |id: u32| {
        // SAFETY: it takes nothing and returns a plain number.
        u32::try_from(unsafe { libc::getppid() }).ok() == Some(id)
    };
    let dies_with = |id: u32, signal: libc::c_int| -> io::Result<()> {
        // SAFETY: it takes plain numbers.
        done(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::c_long::from(signal)) })?;
        // A death before the call above sends no signal.
        if is_parent(id) { Ok(()) } else { Err(io::ErrorKind::Interrupted.into()) }
    };
    // SAFETY: system calls on values of this stack; the kernel reads and writes no other memory.
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
            child => pass_on(child, &signals),
        }
    }
}

/// Ends as the child does. Holds no file open, so that their readers see the end.
///
/// # Safety
/// This process does nothing else any more.
unsafe fn pass_on(child: libc::pid_t, signals: &libc::sigset_t) -> ! {
    // SAFETY: the caller vouches for it that no file is needed; plain numbers otherwise.
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

/// Bytes of address space for a program on this router.
fn memory() -> u64 {
    // SAFETY: both take and return plain numbers.
    let (pages, size) =
        unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    let number = |value: libc::c_long| u64::try_from(value).unwrap_or(0);
    let total = number(pages).saturating_mul(number(size));
    (total / 2).clamp(LEAST_MEMORY, MOST_MEMORY)
}

#[cfg(test)]
#[path = "process_tests.rs"]
mod tests;
