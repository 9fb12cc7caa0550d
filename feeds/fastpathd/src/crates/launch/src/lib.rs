// SPDX-License-Identifier: GPL-2.0-or-later
//! `PATH` of our programs, and which of the programs they start inherit `CAP_NET_ADMIN`: none
//! unless named. Files of other users are read in `foreign.rs`. Deadlines are in `supervise.rs`;
//! limits of memory and CPU time in crate `plugin`, `process.rs`.

pub mod foreign;
mod supervise;

use std::ffi::OsStr;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::thread::{
    CapabilitySet, CapabilitySets, clear_ambient_capability_set,
    configure_capability_in_ambient_set, set_capabilities, set_no_new_privs,
};

pub use supervise::{Piece, Stopped, supervise};

/// Where `OpenWrt` has its programs.
pub const PATH: &str = "/usr/sbin:/usr/bin:/sbin:/bin";

/// Gives this process a `PATH` if it has none. ujail starts a program with an environment of its
/// own, and libc's own list has no `/usr/sbin`, where nft is.
///
/// # Safety
/// No other thread has been started: a thread may read the environment at any time.
#[expect(unsafe_code, reason = "the environment belongs to all threads")]
pub unsafe fn ensure_path() {
    if lacks_path(std::env::var_os("PATH").as_deref()) {
        // SAFETY: the caller vouches for being alone.
        unsafe { std::env::set_var("PATH", PATH) };
    }
}

fn lacks_path(path: Option<&OsStr>) -> bool {
    path.is_none_or(OsStr::is_empty)
}

/// Keeps the capabilities of this process from the programs it starts: the ambient ones, which
/// any program inherits that runs as a user other than root. Call it before the first thread
/// starts, since each thread has a set of its own. `with_net_admin` is the exception.
///
/// # Errors
/// The kernel knows no ambient capabilities; then there are none to inherit.
pub fn withhold_capabilities() -> io::Result<()> {
    Ok(clear_ambient_capability_set()?)
}

/// Starts the program with `CAP_NET_ADMIN`, if this process may pass it on. Only for programs of
/// the router itself that change its network, and that read data of no other machine.
#[expect(unsafe_code, reason = "a step between fork and exec")]
pub fn with_net_admin(command: &mut Command) -> &mut Command {
    // SAFETY: between fork and exec only async-signal-safe calls may be made; `pass_on_net_admin`
    // makes one system call and allocates nothing.
    unsafe { command.pre_exec(pass_on_net_admin) }
}

#[expect(clippy::unnecessary_wraps, reason = "the form of a step before exec")]
fn pass_on_net_admin() -> io::Result<()> {
    // Fails without a jail. Root's programs have all capabilities there.
    let _ = configure_capability_in_ambient_set(CapabilitySet::NET_ADMIN, true);
    Ok(())
}

/// Starts the program without capabilities and without means to get any: neither a file's
/// capabilities nor a set-user-ID bit counts.
#[expect(unsafe_code, reason = "a step between fork and exec")]
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
    use std::thread;

    use rustix::process::Uid;
    use rustix::thread::{set_keep_capabilities, set_thread_res_uid};

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

    const NET_ADMIN: &str = "0000000000001000";

    /// Runs `test` in a thread with the user and capabilities that ujail gives the daemon.
    fn as_the_daemon(test: impl FnOnce() + Send + 'static) {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: needs root");
            return;
        }
        let run = move || {
            let (nobody, one) = (Uid::from_raw(65534), CapabilitySet::NET_ADMIN);
            set_keep_capabilities(true).unwrap();
            set_thread_res_uid(nobody, nobody, nobody).unwrap();
            let sets = CapabilitySets { effective: one, permitted: one, inheritable: one };
            set_capabilities(None, sets).unwrap();
            configure_capability_in_ambient_set(one, true).unwrap();
            test();
        };
        thread::spawn(run).join().unwrap();
    }

    #[test]
    fn only_a_named_program_inherits_a_capability() {
        as_the_daemon(|| {
            let cat = || {
                let mut cat = Command::new("cat");
                cat.arg("/proc/self/status");
                cat
            };
            assert_eq!(line(&status(&mut cat()), "CapEff"), NET_ADMIN, "ujail's set is inherited");
            withhold_capabilities().unwrap();
            for set in ["CapPrm", "CapEff", "CapAmb"] {
                assert_eq!(line(&status(&mut cat()), set), "0000000000000000", "{set}");
            }
            let named = status(with_net_admin(&mut cat()));
            for set in ["CapPrm", "CapEff", "CapAmb"] {
                assert_eq!(line(&named, set), NET_ADMIN, "{set}");
            }
            assert_eq!(line(&status(&mut cat()), "CapEff"), "0000000000000000", "afterwards");
        });
    }
}
