// SPDX-License-Identifier: GPL-2.0-or-later

use std::os::unix::process::CommandExt;
use std::process::{Command, Output};

fn started_as(name: &str, args: &[&str]) -> std::io::Result<Output> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fastpath"));
    command.arg0(name).args(args).env("UBUS_SOCKET", "/nonexistent").output()
}

#[test]
fn every_link_name_starts_its_program() {
    let version = format!(" {}\n", env!("CARGO_PKG_VERSION"));
    for (name, args, expected) in [
        ("fastpathd", "--version", format!("fastpathd{version}")),
        ("/usr/bin/fastpathctl", "--version", format!("fastpathctl{version}")),
        ("/usr/libexec/rpcd/fastpath.doctor", "list", "{\"".to_owned()),
    ] {
        let output = started_as(name, &[args]).unwrap();
        assert!(output.status.success(), "{name}: {output:?}");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.starts_with(&expected), "{name} says {said}");
    }
    for (name, status, expected) in [
        ("fastpath-rpcd", 2, "usage: fastpath-rpcd "),
        ("fastpath-rules", 4, "usage: fastpath-rules "),
        ("fastpath-bpf", 1, "fastpath-bpf: usage: fastpath-bpf "),
        ("fastpath", 2, "fastpath: start it by a link named fastpathd, "),
    ] {
        let output = started_as(name, &[]).unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{name}: {output:?}");
        assert!(said.starts_with(expected), "{name} says {said}");
    }
}
