// SPDX-License-Identifier: GPL-2.0-or-later
//! Commands `fastpath-rpcd login close` and `login open`: whether rpcd's file
//! `acl.d/unauthenticated.json` lets the web call rpcd's own `session login`, which slows nobody
//! down. rpcd is reloaded after a change.
//!
//! rpcd's package grants it to everybody in `acl.d/unauthenticated.json`, and grants can only be
//! removed from the file that grants them. `LuCI` does not need this one: its pages log in inside
//! of uhttpd, on the bus and as root.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::{Command, ExitCode};

use plugin::process::{self, Limits};
use serde_json::{Value, json};

/// rpcd reads the grants when it starts and when it is reloaded: then it executes itself again and
/// keeps its sessions.
const RPCD: &str = "/etc/init.d/rpcd";
/// The file of rpcd's package.
const FILE: &str = "/usr/share/rpcd/acl.d/unauthenticated.json";
/// An init script waits for procd as long as it takes, and the start of fastpathd waits for this.
/// It starts services, which would inherit limits of memory.
const RELOAD: Limits = Limits { resources: false, ..Limits::short(20) };

/// `close` takes the grant away, `open` gives it back; rpcd is reloaded if it runs.
#[must_use]
pub fn login_grant(words: &[String]) -> ExitCode {
    let done = match words {
        [word] if word == "close" => settle(Path::new(FILE), true, Path::new(RPCD), RELOAD),
        [word] if word == "open" => settle(Path::new(FILE), false, Path::new(RPCD), RELOAD),
        _ => Err("usage: fastpath-rpcd login close|open".to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("fastpath-rpcd: {why}");
            ExitCode::FAILURE
        }
    }
}

fn settle(file: &Path, closed: bool, rpcd: &Path, limits: Limits) -> Result<(), String> {
    if !turn(file, closed)? || !rpcd.exists() {
        return Ok(());
    }
    let failed = |cause: &dyn std::fmt::Display| format!("{} reload: {cause}", rpcd.display());
    let mut reload = Command::new(rpcd);
    let ran = process::run(reload.arg("reload"), b"", limits).map_err(|cause| failed(&cause))?;
    if ran.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&ran.stderr);
    let said = said.lines().next().unwrap_or_default();
    let end = process::killed(ran.status).unwrap_or_else(|| format!("{}: {said}", ran.status));
    Err(failed(&end))
}

/// Whether it was otherwise before.
fn turn(file: &Path, closed: bool) -> Result<bool, String> {
    let failed =
        |what: &str, cause: &dyn std::fmt::Display| format!("{what} {}: {cause}", file.display());
    let text = std::fs::read_to_string(file).map_err(|cause| failed("reading", &cause))?;
    let before: Value = serde_json::from_str(&text).map_err(|cause| failed("reading", &cause))?;
    let after = turned(&before, closed);
    if after == before {
        return Ok(false);
    }
    // Written to a second file and renamed, so that rpcd never sees half of it. Flushed before:
    // after a power cut it could be empty otherwise, and then no login over the web works.
    let aside = file.with_extension("new");
    let written = File::create(&aside).and_then(|mut new| {
        new.write_all(format!("{after:#}\n").as_bytes())?;
        new.sync_all()
    });
    written.map_err(|cause| failed("writing", &cause))?;
    std::fs::rename(&aside, file).map_err(|cause| failed("replacing", &cause))?;
    Ok(true)
}

/// The groups with the grant as wanted, and everything else as it was.
fn turned(groups: &Value, closed: bool) -> Value {
    let mut groups = groups.clone();
    let place = "/unauthenticated/read/ubus/session";
    if let Some(Value::Array(methods)) = groups.pointer_mut(place) {
        let login = json!("login");
        if closed {
            methods.retain(|method| *method != login);
        } else if !methods.contains(&login) {
            methods.push(login);
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(methods: &[&str]) -> Value {
        json!({"unauthenticated": {
            "description": "Access controls for unauthenticated requests",
            "read": {"ubus": {"session": methods, "luci": ["getFeatures"]}},
        }})
    }

    #[test]
    fn only_the_login_goes_and_comes_back() {
        assert_eq!(turned(&groups(&["access", "login"]), true), groups(&["access"]));
        assert_eq!(turned(&groups(&["access"]), false), groups(&["access", "login"]));
        assert_eq!(turned(&groups(&["access", "login"]), false), groups(&["access", "login"]));
    }

    #[test]
    fn a_file_that_is_not_rpcds_stays() {
        for other in [json!({}), json!([1]), json!({"unauthenticated": {"read": 3}})] {
            assert_eq!(turned(&other, true), other);
        }
    }

    #[test]
    fn rpcd_is_reloaded_only_after_a_change_and_in_limited_time() {
        use std::os::unix::fs::PermissionsExt;
        use std::time::Duration;

        let folder = std::env::temp_dir().join(format!("access-rpcd-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder for the test");
        let (file, rpcd) = (folder.join("unauthenticated.json"), folder.join("rpcd"));
        std::fs::write(&file, groups(&["access"]).to_string()).expect("a file");
        std::fs::write(&rpcd, "#!/bin/sh\necho \"$1\" >>\"$0.calls\"\n").expect("a script");
        let executable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&rpcd, executable).expect("a script that can be run");
        let calls = || std::fs::read_to_string(folder.join("rpcd.calls")).unwrap_or_default();
        for (closed, expected) in
            [(true, ""), (false, "reload\n"), (false, "reload\n"), (true, "reload\nreload\n")]
        {
            assert_eq!(settle(&file, closed, &rpcd, RELOAD), Ok(()));
            assert_eq!(calls(), expected);
        }
        let none = folder.join("none");
        assert_eq!(settle(&file, false, &none, RELOAD), Ok(()), "rpcd is not installed");
        // One that fails, and one that does not end.
        let reloaded = |script: &str| {
            std::fs::write(&rpcd, script).expect("a script");
            std::fs::write(&file, groups(&["access", "login"]).to_string()).expect("a file");
            let limits = Limits { time: Duration::from_millis(200), ..RELOAD };
            settle(&file, true, &rpcd, limits).expect_err("not reloaded")
        };
        let failed = reloaded("#!/bin/sh\necho no bus >&2\nexit 4\n");
        assert!(failed.ends_with("rpcd reload: exit status: 4: no bus"), "{failed}");
        let killed = reloaded("#!/bin/sh\necho no bus >&2\nkill -9 $$\n");
        assert!(killed.contains("signal 9") && !killed.contains("bus"), "{killed}");
        let late = reloaded("#!/bin/sh\nexec sleep 60\n");
        assert!(late.ends_with("rpcd reload: it did not finish within 0 s"), "{late}");
        std::fs::remove_dir_all(&folder).expect("the folder");
    }

    #[test]
    fn a_file_is_replaced_as_a_whole_or_stays() {
        let folder = std::env::temp_dir().join(format!("access-grant-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder for the test");
        let file = folder.join("unauthenticated.json");
        std::fs::write(&file, groups(&["access", "login"]).to_string()).expect("a file");
        assert_eq!(turn(&file, true), Ok(true));
        assert_eq!(turn(&file, true), Ok(false));
        let text = std::fs::read_to_string(&file).expect("the file");
        assert_eq!(serde_json::from_str::<Value>(&text).ok(), Some(groups(&["access"])));
        std::fs::write(&file, "{ broken").expect("a file");
        assert!(turn(&file, true).is_err_and(|why| why.starts_with("reading ")));
        assert_eq!(std::fs::read_to_string(&file).ok().as_deref(), Some("{ broken"));
    }
}
