// SPDX-License-Identifier: GPL-2.0-or-later
//! Runs tests in a network namespace, with connections over loopback.
#![expect(unsafe_code, reason = "the test runs in a network namespace of its own")]

pub(crate) mod recording;

use std::io::Write;
use std::net::UdpSocket;
use std::process::{Command, Stdio};
use std::time::Duration;

use ctnetlink::{Dump, Entry};

const RULES: &str = "table inet t {
    chain o {
        type filter hook output priority 0
        ct state new counter
    }
}
";

/// Runs `test` in a new namespace that tracks connections over loopback.
pub(crate) fn in_namespace<F: Future<Output = ()>>(test: impl FnOnce() -> F + Send + 'static) {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: needs root");
        return;
    }
    let run = move || {
        // SAFETY: only this thread enters the namespace, and it runs nothing but this test.
        unsafe { rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::NEWNET) }
            .expect("a network namespace");
        if !std::path::Path::new("/proc/sys/net/netfilter/nf_conntrack_acct").exists() {
            println!("skipped: no conntrack in this kernel");
            return;
        }
        shell("ip link set lo up", "");
        shell("nft -f -", RULES);
        // /proc/sys/net belongs to the namespace of the main thread, so write from a child process.
        shell("sh -c 'echo 1 > /proc/sys/net/netfilter/nf_conntrack_acct'", "");
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().build().expect("a runtime");
        let limit = Duration::from_secs(20);
        let done = runtime.block_on(async { tokio::time::timeout(limit, test()).await });
        done.expect("ends in time");
    };
    std::thread::spawn(run).join().expect("the test holds");
}

pub(crate) fn shell(command: &str, input: &str) {
    let mut child =
        Command::new("sh").args(["-c", command]).stdin(Stdio::piped()).spawn().expect("a shell");
    child.stdin.take().expect("piped").write_all(input.as_bytes()).expect("written");
    assert!(child.wait().expect("ended").success(), "{command}");
}

/// Exchanges a datagram in each direction between two sockets and returns the sockets.
pub(crate) fn talk() -> (UdpSocket, UdpSocket) {
    let client = UdpSocket::bind("127.0.0.1:0").expect("bound");
    let server = UdpSocket::bind("127.0.0.2:0").expect("bound");
    let address = server.local_addr().expect("bound");
    client.send_to(b"question", address).expect("sent");
    server.send_to(b"answer", client.local_addr().expect("bound")).expect("sent");
    (client, server)
}

pub(crate) async fn whole_table() -> Vec<Entry> {
    let mut dump = Dump::start().expect("a dump");
    let mut entries = Vec::new();
    while dump.next(&mut entries).await.expect("a batch") {}
    assert!(!dump.next(&mut entries).await.expect("ended"), "an ended dump stays ended");
    entries
}
