// SPDX-License-Identifier: GPL-2.0-or-later
//! `PATH` of our programs, and how they start others without capabilities. Deadlines are in
//! `supervise.rs`; limits of memory and CPU time in crate `plugin`, `process.rs`.

mod supervise;

use std::ffi::OsStr;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::thread::{
    CapabilitySet, CapabilitySets, clear_ambient_capability_set, set_capabilities, set_no_new_privs,
};

pub use supervise::{Piece, Stopped, supervise};

/// Where `OpenWrt` has its programs.
pub const PATH: &str = "/usr/sbin:/usr/bin:/sbin:/bin";

/// Gives this process a `PATH` if it has none. ujail starts a program with an environment of its
/// own, and libc's own list has no `/usr/sbin`, where nft is.
///
/// # Safety
/// No other thread has been started: a thread may read the environment at any time.
pub unsafe fn ensure_path() {
    if lacks_path(std::env::var_os("PATH").as_deref()) {
        // SAFETY: the caller vouches for being alone.
        unsafe { std::env::set_var("PATH", PATH) };
    }
}

fn lacks_path(path: Option<&OsStr>) -> bool {
    path.is_none_or(OsStr::is_empty)
}

/// Starts the program without capabilities and without means to get any: neither a file's
/// capabilities nor a set-user-ID bit counts. Without this it inherits the ambient ones.
pub fn without_capabilities(command: &mut Command) -> &mut Command {
    // SAFETY: between fork and exec only async-signal-safe calls may be made; `drop_capabilities`
    // makes system calls and allocates nothing.
    unsafe { command.pre_exec(drop_capabilities) }
}

fn drop_capabilities() -> io::Result<()> {
    set_no_new_privs(true)?;
    clear_ambient_capability_set()?;
    let none = CapabilitySet::empty();
    let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
    set_capabilities(None, sets)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_is_there_stays() {
        assert!(lacks_path(None));
        assert!(lacks_path(Some(OsStr::new(""))));
        assert!(!lacks_path(Some(OsStr::new("/opt/bin"))));
    }

    /// A line of a program's own `/proc/self/status`.
    fn line<'a>(status: &'a str, name: &str) -> &'a str {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_default().trim_start_matches(':').trim()
    }

    fn status(command: &mut Command) -> String {
        let output = command.output().expect("cat can be run");
        String::from_utf8(output.stdout).expect("text")
    }

    #[test]
    fn a_program_starts_without_capabilities() {
        let mut cat = Command::new("cat");
        let bare = status(without_capabilities(cat.arg("/proc/self/status")));
        // Root gets its permitted set back with each exec, up to the bounding set.
        if line(&bare, "Uid").starts_with('0') {
            eprintln!("skipped: as root every exec gives all capabilities");
        } else {
            for set in ["CapInh", "CapPrm", "CapEff", "CapAmb"] {
                assert_eq!(line(&bare, set), "0000000000000000", "{set}");
            }
        }
        assert_eq!(line(&bare, "NoNewPrivs"), "1");
        assert_eq!(line(&bare, "CapAmb"), "0000000000000000");
    }
}
