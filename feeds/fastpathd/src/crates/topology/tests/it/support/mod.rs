// SPDX-License-Identifier: GPL-2.0-or-later
//! Runs tests and commands in a new network namespace.
#![expect(unsafe_code, reason = "the test runs in a network namespace of its own")]

use std::future::Future;
use std::io::Write;
use std::net::IpAddr;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use topology::{Topology, Watcher};

pub(crate) fn in_namespace<F: Future<Output = ()>>(test: impl FnOnce() -> F + Send + 'static) {
    let ran = thread::spawn(move || {
        // SAFETY: a plain system call; only this thread changes its namespace.
        if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
            eprintln!("skipped: no new network namespace: {}", std::io::Error::last_os_error());
            return;
        }
        // Under qemu-user, a missing program is visible only in the exit status.
        if !Command::new("ip").arg("-V").output().is_ok_and(|output| output.status.success()) {
            eprintln!("skipped: no ip command (iproute2)");
            return;
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            tokio::time::timeout(Duration::from_secs(30), test()).await.expect("in time");
        });
    });
    ran.join().unwrap();
}

pub(crate) fn ip(lines: &str) {
    let mut child =
        Command::new("ip").args(["-batch", "-"]).stdin(Stdio::piped()).spawn().expect("ip starts");
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success(), "ip refused: {lines:.200}");
}

pub(crate) async fn until(
    watcher: &mut Watcher,
    model: &mut Topology,
    holds: impl Fn(&Topology) -> bool,
) {
    while !holds(model) {
        for change in watcher.next().await.unwrap() {
            model.apply(change);
        }
    }
}

pub(crate) fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}
