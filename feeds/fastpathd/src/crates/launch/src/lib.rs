// SPDX-License-Identifier: GPL-2.0-or-later
//! Starts programs with a `PATH` and only the necessary capabilities. Also supervises programs,
//! describes their failures and reads files of other users.

mod ended;
pub mod foreign;
mod supervise;

use std::ffi::OsStr;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::{Gid, Uid};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capability_is_in_bounding_set, clear_ambient_capability_set,
    configure_capability_in_ambient_set, remove_capability_from_bounding_set, set_capabilities,
    set_keep_capabilities, set_no_new_privs, set_thread_groups, set_thread_res_gid,
    set_thread_res_uid,
};

pub use ended::{ended, killed, no_memory};
pub use supervise::{Piece, Stopped, supervise};

pub const PATH: &str = "/usr/sbin:/usr/bin:/sbin:/bin";

/// Sets `PATH` if it is missing. ujail clears the environment, and libc's default path lacks
/// `/usr/sbin`, where nft is.
///
/// # Safety
/// No other thread may run, because any thread may read the environment.
#[expect(unsafe_code, reason = "the environment belongs to all threads")]
pub unsafe fn ensure_path() {
    if lacks_path(std::env::var_os("PATH").as_deref()) {
        // SAFETY: the caller guarantees that no other thread runs.
        unsafe { std::env::set_var("PATH", PATH) };
    }
}

fn lacks_path(path: Option<&OsStr>) -> bool {
    path.is_none_or(OsStr::is_empty)
}

/// Clears the ambient capabilities, so that programs do not inherit them; [`with_net_admin`]
/// exempts a program. Call this before the first thread starts, because each thread has its own
/// set.
pub fn withhold_capabilities() -> io::Result<()> {
    Ok(clear_ambient_capability_set()?)
}

/// Changes irrevocably from root to this user with `CAP_NET_ADMIN` alone, like ujail. Builds for
/// small flash have no ujail, without which procd cannot apply capabilities. Call this before the
/// first thread starts.
///
/// Fails if `users`, the text of `/etc/passwd`, lacks this user, or for root.
pub fn become_user(name: &str, users: &str) -> io::Result<()> {
    let (user, group) = ids(name, users)
        .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, format!("no user {name}")))?;
    for number in 0..u64::BITS {
        let one = CapabilitySet::from_bits_retain(1 << number);
        let is_set = capability_is_in_bounding_set(one).unwrap_or(false);
        if is_set && one != CapabilitySet::NET_ADMIN {
            remove_capability_from_bounding_set(one)?;
        }
    }
    set_keep_capabilities(true)?;
    set_thread_groups(&[group])?;
    set_thread_res_gid(group, group, group)?;
    set_thread_res_uid(user, user, user)?;
    set_keep_capabilities(false)?;
    let one = CapabilitySet::NET_ADMIN;
    set_capabilities(None, CapabilitySets { effective: one, permitted: one, inheritable: one })?;
    set_no_new_privs(true)?;
    Ok(())
}

/// Parses user and group ids of a line `name:password:user:group:…`. `None` for root.
fn ids(name: &str, users: &str) -> Option<(Uid, Gid)> {
    let mut lines = users.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let line = lines.find(|line| line.first() == Some(&name))?;
    let number = |at: usize| line.get(at)?.parse::<u32>().ok().filter(|number| *number != 0);
    Some((Uid::from_raw(number(2)?), Gid::from_raw(number(3)?)))
}

/// Passes `CAP_NET_ADMIN` to the program if this process has it. Only for the router's own programs
/// that change its network and process no data from the network.
#[expect(unsafe_code, reason = "a step between fork and exec")]
pub fn with_net_admin(command: &mut Command) -> &mut Command {
    // SAFETY: between fork and exec only async-signal-safe calls are allowed; `raise_net_admin`
    // makes one system call and does not allocate.
    unsafe { command.pre_exec(raise_net_admin) }
}

#[expect(clippy::unnecessary_wraps, reason = "the form of a step before exec")]
fn raise_net_admin() -> io::Result<()> {
    // Fails without a jail, but root's programs have all capabilities then.
    let _ = configure_capability_in_ambient_set(CapabilitySet::NET_ADMIN, true);
    Ok(())
}

/// Starts the program without capabilities. File capabilities and set-user-ID bits have no effect.
#[expect(unsafe_code, reason = "a step between fork and exec")]
pub fn without_capabilities(command: &mut Command) -> &mut Command {
    // SAFETY: between fork and exec only async-signal-safe calls are allowed; `drop_capabilities`
    // only makes system calls and does not allocate.
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

    use super::*;

    #[test]
    fn sets_only_a_missing_or_empty_path() {
        assert!(lacks_path(None));
        assert!(lacks_path(Some(OsStr::new(""))));
        assert!(!lacks_path(Some(OsStr::new("/opt/bin"))));
    }

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
        // exec restores root's permitted set, up to the bounding set.
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
    fn finds_a_user_by_full_name_except_root() {
        let users = "root:x:0:0::/root:/bin/ash\nfast:x:7:8\nfastpath:x:455:456::/:/bin/false\n\
                     toor:x:0:9\nwheel:x:9:0\nbroken:x\n";
        assert_eq!(ids("fastpath", users), Some((Uid::from_raw(455), Gid::from_raw(456))));
        for name in ["root", "toor", "wheel", "broken", "path", ""] {
            assert_eq!(ids(name, users), None, "{name}");
        }
    }

    /// Runs in its own thread, because the bounding set and the user cannot be restored.
    #[test]
    fn root_becomes_a_user_with_one_capability() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: needs root");
            return;
        }
        let run = || {
            become_user("fastpath", "fastpath:x:65533:65532::/:/bin/false\n").unwrap();
            let own = std::fs::read_to_string("/proc/thread-self/status").unwrap();
            for (name, value) in [
                ("Uid", "65533\t65533\t65533\t65533"),
                ("Gid", "65532\t65532\t65532\t65532"),
                ("Groups", "65532"),
                ("NoNewPrivs", "1"),
                ("CapPrm", NET_ADMIN),
                ("CapEff", NET_ADMIN),
                ("CapBnd", NET_ADMIN),
                ("CapAmb", "0000000000000000"),
            ] {
                assert_eq!(line(&own, name), value, "{name}");
            }
            let nothing = status(Command::new("cat").arg("/proc/self/status"));
            assert_eq!(line(&nothing, "CapEff"), "0000000000000000");
            let named = status(with_net_admin(Command::new("cat").arg("/proc/self/status")));
            assert_eq!(line(&named, "CapEff"), NET_ADMIN, "nft gets the capability");
            set_thread_res_uid(Uid::ROOT, Uid::ROOT, Uid::ROOT)
                .expect_err("the change is irrevocable");
        };
        thread::spawn(run).join().unwrap();
        let unknown = thread::spawn(|| become_user("fastpath", "root:x:0:0\n").unwrap_err());
        assert_eq!(unknown.join().unwrap().to_string(), "no user fastpath");
    }

    #[test]
    fn only_programs_with_net_admin_inherit_the_capability() {
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
            assert_eq!(
                line(&status(&mut cat()), "CapEff"),
                "0000000000000000",
                "other programs still do not inherit it"
            );
        });
    }
}
