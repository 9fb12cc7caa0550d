// SPDX-License-Identifier: GPL-2.0-or-later

use super::*;
use crate::machine::fake::Fake;

#[test]
fn finds_accounts_with_a_password_and_weak_passwords() {
    let shadow = "root::0:0:99999:7:::\ndaemon:*:0:::::\nops:$6$salt$admin:0:::::\n\
        viewer:$6$salt$viewer:0:::::\nsafe:$6$salt$kQ8w:0:::::\nold:!:0:::::\n";
    let read = accounts(&Fake::new().file(SHADOW, shadow));
    let seen: Vec<_> = read.get().unwrap().iter().map(|a| (a.name.as_str(), a.guess)).collect();
    let common = Some(Guess::Common);
    let want = [("root", Some(Guess::Empty)), ("ops", common), ("viewer", common), ("safe", None)];
    assert_eq!(seen, want);
}

#[test]
fn detects_the_hash_of_an_empty_password() {
    let read = accounts(&Fake::new().file(SHADOW, "root:$6$salt$:0:::::\n"));
    assert_eq!(read.get().unwrap()[0].guess, Some(Guess::Empty));
}

#[test]
fn parses_the_free_space_of_df() {
    let said = "Filesystem 1024-blocks Used Available Capacity Mounted on\n\
        overlayfs:/overlay 1000 900 100 90% /\ntmpfs 500 5 495 1% /tmp\n";
    let fake = Fake::new().prints("df -kP /etc/config /tmp", said);
    let want = [
        FreeSpace { place: "/etc/config", free: 100, used: 90 },
        FreeSpace { place: "/tmp", free: 495, used: 1 },
    ];
    assert_eq!(free_space(&fake).get().unwrap(), &want);
}

#[test]
fn the_root_is_the_last_mount() {
    let mounts =
        "rootfs / rootfs rw 0 0\noverlay / overlay rw,noatime 0 0\nproc /proc proc rw 0 0\n";
    let read = root(&Fake::new().file(MOUNTS, mounts));
    assert_eq!(read.get().unwrap(), &("overlay".to_owned(), "rw,noatime".to_owned()));
}

#[test]
fn finds_missing_programs_for_notifications() {
    let fake = Fake::new().file("/bin/sendmail", "").file("/usr/libexec/fastpath/notify.sh", "");
    assert_eq!(missing_senders(&fake), [("curl", "curl")]);
    assert_eq!(missing_senders(&fake.file("/usr/bin/curl", "")), []);
}

#[test]
fn finds_missing_files_of_the_package() {
    let all = PARTS.iter().fold(Fake::new(), |fake, (path, _)| fake.file(path, ""));
    assert_eq!(missing(&all), []);
    let all = all.without("/usr/libexec/fastpath-rules");
    assert_eq!(missing(&all), [("/usr/libexec/fastpath-rules", "fastpathd")]);
}

#[test]
fn finds_programs_by_name() {
    let fake = Fake::new().file("/proc/9/comm", "chronyd\n").file("/proc/net/comm", "fastpathd\n");
    let system = read(&fake, Audience::Writer);
    assert_eq!((system.clock.as_str(), system.daemon), ("chronyd", false));
    assert_eq!(killed("pgfault 3\noom_kill 2\noom_kill_x 9\n"), 2);
}
